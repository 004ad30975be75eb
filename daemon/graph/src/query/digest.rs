//! A hash of the whole graph.

use std::fmt::Write as _;

use ccd_corpus::Cancel;

use crate::{Answer, Digest, Freshness, QueryError, edges::Target, engine::Graph, facts::NONE, names};

impl Graph {
    /// A hash over all symbols and edges in the order of their paths, without ids and absolute paths: two states that
    /// say the same have the same.
    pub fn digest(&self, cancel: &Cancel) -> Result<Answer<Digest>, QueryError> {
        let contents = self.contents();
        self.ready_for_answers(&contents)?;
        if let Freshness::Indexing { done, total } = self.state_of(&contents).freshness {
            return Err(QueryError::NotReady { done, total });
        }
        let model = &contents.model;
        let mut files: Vec<_> = model.entries().map(|(_, entry)| entry).collect();
        files.sort_unstable_by(|a, b| a.rel.cmp(&b.rel));
        let mut hasher = blake3::Hasher::new();
        let mut line = String::new();
        let (mut symbols, mut edges) = (0u64, 0u64);
        for entry in files {
            if cancel.is_cancelled() {
                return Err(QueryError::Cancelled);
            }
            let facts = &entry.facts;
            for (at, d) in facts.definitions.iter().enumerate() {
                line.clear();
                let key = names::local_key(facts, at as u32);
                let _ = writeln!(
                    line,
                    "s {} {} {key} {} {:?} {:?} {} {}",
                    entry.rel,
                    names::kind_word(d.kind),
                    d.ordinal,
                    d.range,
                    d.name_range,
                    d.flags,
                    facts.signature(d)
                );
                hasher.update(line.as_bytes());
                symbols += 1;
                edges += u64::from(at > 0);
            }
            for edge in &entry.edges.edges {
                line.clear();
                let name = if edge.name == NONE { "" } else { facts.strings.get(edge.name) };
                let _ = write!(
                    line,
                    "e {} {:?} {:?} {:?} {} {name} ",
                    entry.rel,
                    edge.place,
                    edge.kind,
                    edge.confidence,
                    names::local_key(facts, edge.from)
                );
                match edge.to {
                    Target::Symbol(symbol) => {
                        if let Some((other, definition)) = model.place(symbol) {
                            let d = &other.facts.definitions[definition as usize];
                            let key = names::local_key(&other.facts, definition);
                            let _ = writeln!(line, "{} {} {key} {}", other.rel, names::kind_word(d.kind), d.ordinal);
                        }
                    }
                    Target::Undecided(class) => {
                        let _ = writeln!(line, "one of {class:?}");
                    }
                    Target::External(path) => {
                        let _ = writeln!(line, "out {}", entry.edges.paths.get(path));
                    }
                }
                hasher.update(line.as_bytes());
                edges += 1;
            }
        }
        let digest = hasher.finalize().to_hex()[..32].to_owned();
        Ok(self.answer(&contents, Digest { digest, symbols, edges }))
    }
}
