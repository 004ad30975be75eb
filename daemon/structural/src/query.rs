//! A spec, compiled for one grammar, and the search of one file.

use ccd_grammars::{LanguageId, Rung, Syntax, SyntaxNode, scaffold};
use memchr::memmem::Finder;

use crate::{
    Attempt, Counted, Explanation, FindError, Found, Match, QueryError, Reading,
    machine::{Bound, Held, Kinds, Machine},
    meta::Kind,
    near::closest,
    print,
    program::{self, Program, Slots},
    reading::{Fragment, Refusal, Source},
    rules::{self, Asker, Compiled},
    spec::Spec,
};

/// Bytes of a pattern.
const PATTERN: usize = 16 << 10;

/// Brackets in brackets in a pattern.
const NESTING: usize = 256;

/// Metavariables in a pattern.
const METAS: usize = 256;

/// Candidates between two looks at the caller's flag.
const LOOK: usize = 1024;

/// A spec, compiled for one grammar.
#[derive(Debug)]
pub struct Query {
    pub(crate) language: LanguageId,
    readings: Vec<Reading>,
    programs: Vec<Program>,
    trees: Vec<String>,
    finders: Vec<Vec<Finder<'static>>>,
    searched: usize,
    /// Those of the pattern come first.
    slots: Slots,
    bound: usize,
    filters: Compiled,
    relaxed: bool,
    hints: Vec<String>,
    kinds: Kinds,
}

/// The ways that were tried.
#[derive(Default)]
pub(crate) struct Attempts {
    tried: Vec<Attempt>,
    best: Option<Refusal>,
}

impl Attempts {
    /// Tries a way and notes what came of it.
    pub(crate) fn note(&mut self, source: &Source, rung: &'static Rung) -> Option<Fragment> {
        match source.read(rung) {
            Ok(fragment) => {
                self.tried.push(Attempt { reading: &rung.name, reason: None, at: None });
                Some(fragment)
            }
            Err(refusal) => {
                self.tried.push(Attempt { reading: &rung.name, reason: Some(refusal.reason.clone()), at: refusal.at });
                if self.best.as_ref().is_none_or(|best| refusal.is_nearer_than(best)) {
                    self.best = Some(refusal);
                }
                None
            }
        }
    }

    fn tree(&self, source: &Source) -> String {
        let tree = self.best.as_ref().and_then(|best| best.tree.as_deref());
        tree.map(|(syntax, text, span)| print::part(syntax, text, span, source)).unwrap_or_default()
    }

    /// The error for a pattern that cannot be read in any way.
    pub(crate) fn unparsable(self, source: &Source, wanted: Option<&str>) -> QueryError {
        let tree = self.tree(source);
        let named = wanted.and_then(|wanted| self.tried.iter().find(|attempt| attempt.reading == wanted));
        let told = named.or(self.tried.first());
        let first = told.and_then(|attempt| attempt.reason.as_deref()).unwrap_or("there is no way to read it");
        let name = source.language.name();
        let message = format!(
            "The pattern is no code of {name} that stands alone: as a {}, {first}. Write a whole expression, statement or \
             definition; to search for a part of one, give the whole as `context` and the kind of the part as `selector`.",
            told.map_or("statement", |attempt| attempt.reading),
        );
        QueryError::Unparsable { message, attempts: self.tried, tree }
    }
}

/// What is wrong with a pattern before it is read.
pub(crate) fn check_source(source: &Source) -> Result<(), QueryError> {
    let invalid = |message: &str| Err(QueryError::Invalid { field: "pattern", message: message.to_owned() });
    if source.text.trim().is_empty() {
        return invalid(
            "The pattern is empty. Write the code to look for, with `$NAME` for any one node and `$$$NAME` for any run.",
        );
    }
    if source.text.len() > PATTERN {
        return invalid("The pattern is longer than 16 KiB. Search for the part that tells it from other code.");
    }
    if nesting(&source.text) > NESTING {
        return invalid(
            "The brackets of the pattern nest more than 256 deep. Search for the part that tells it from other code.",
        );
    }
    if source.metas.len() > METAS {
        return invalid("The pattern has more than 256 metavariables. Put `$$$` for those that do not matter.");
    }
    Ok(())
}

/// How deep brackets stand in brackets.
fn nesting(text: &str) -> usize {
    let (mut open, mut most) = (0usize, 0usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => {
                open += 1;
                most = most.max(open);
            }
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// What is wrong with the metavariables where code is.
fn check_metas(source: &Source, fragment: &Fragment) -> Result<(), QueryError> {
    let bad = fragment.holes.iter().find_map(|(_, meta)| match &source.metas[*meta].kind {
        Kind::Bad(why) => Some(why),
        _ => None,
    });
    bad.map_or(Ok(()), |why| Err(QueryError::Invalid { field: "pattern", message: format!("{why}.") }))
}

/// Metavariables that cannot be what they look like, in whatever way the pattern is read.
fn first_bad(source: &Source) -> Option<QueryError> {
    source.metas.iter().find_map(|meta| match &meta.kind {
        Kind::Bad(why) => Some(QueryError::Invalid { field: "pattern", message: format!("{why}.") }),
        _ => None,
    })
}

impl Query {
    /// Compiles a spec.
    pub fn new(language: LanguageId, spec: &Spec) -> Result<Self, QueryError> {
        let invalid = |field, message: &str| QueryError::Invalid { field, message: message.to_owned() };
        let mut query = Self {
            language,
            readings: Vec::new(),
            programs: Vec::new(),
            trees: Vec::new(),
            finders: Vec::new(),
            searched: 0,
            slots: Slots::default(),
            bound: 0,
            filters: Compiled::default(),
            relaxed: spec.relaxed,
            hints: Vec::new(),
            kinds: Kinds::new(language),
        };
        match (&spec.pattern, &spec.kind, &spec.context, &spec.selector) {
            (Some(pattern), None, None, None) => query.read(pattern, spec.reading.as_deref())?,
            (None, Some(kind), None, None) => {
                if spec.reading.is_some() {
                    return Err(invalid("reading", "A `kind` is not read. Leave `reading` out."));
                }
                let number = rules::kind(language, kind)?;
                query.programs = number.into_iter().map(|number| program::of_kind(number, kind)).collect();
            }
            (None, None, Some(context), Some(selector)) => query.select(context, selector)?,
            (None, None, Some(_), None) | (_, _, None, Some(_)) => {
                return Err(invalid(
                    "selector",
                    "`context` and `selector` go together: code, and the kind of the node in it that is the pattern.",
                ));
            }
            (None, None, None, None) => {
                return Err(invalid("pattern", "Give a `pattern`, a `kind`, or `context` with `selector`."));
            }
            _ => return Err(invalid("pattern", "Give only one of `pattern`, `kind`, and `context` with `selector`.")),
        }
        query.bound = query.slots.names.len();
        query.filters = rules::compile(language, &spec.filters, &mut query.slots, 0)?;
        query.finders = query
            .programs
            .iter()
            .map(|program| program.literals.iter().map(|literal| Finder::new(literal).into_owned()).collect())
            .collect();
        Ok(query)
    }

    /// Reads a pattern in every way.
    fn read(&mut self, pattern: &str, wanted: Option<&str>) -> Result<(), QueryError> {
        let rungs = &scaffold(self.language).readings;
        if let Some(wanted) = wanted
            && !rungs.iter().any(|rung| rung.name == wanted)
        {
            let names: Vec<String> = rungs.iter().map(|rung| rung.name.clone()).collect();
            return Err(QueryError::BadSelector {
                message: format!("{} has no reading `{wanted}`; there are: {}.", self.language.name(), names.join(", ")),
                selector: wanted.to_owned(),
                closest: names,
            });
        }
        let source = Source::new(self.language, pattern);
        check_source(&source)?;
        self.hints.extend(source.hints.iter().cloned());
        let mut attempts = Attempts::default();
        let mut refused = None;
        // A block is an object first, if it can be one; a keyword is the name of a member only if it can be nothing else.
        let (mut late, mut odd) = (Vec::new(), Vec::new());
        for (at, rung) in rungs.iter().enumerate() {
            if at > 0 && rungs[at - 1].name == "expression" {
                for (reading, program, tree) in std::mem::take(&mut late) {
                    self.add(reading, program, tree);
                }
            }
            let Some(fragment) = attempts.note(&source, rung) else { continue };
            check_metas(&source, &fragment)?;
            let mut slots = self.slots.clone();
            match program::compile(&source, &fragment, &mut slots) {
                Ok(program) => {
                    self.slots = slots;
                    self.note_literal(&source, &fragment);
                    let reading = Reading { name: &rung.name, kind: program.kind.clone() };
                    let tree = print::roots(&fragment, &source);
                    if fragment.odd {
                        odd.push((reading, program, tree));
                    } else if rung.last.contains(&program.kind) {
                        late.push((reading, program, tree));
                    } else {
                        self.add(reading, program, tree);
                    }
                }
                Err(message) => refused = Some(message),
            }
        }
        for (reading, program, tree) in late.into_iter().chain(odd) {
            self.add(reading, program, tree);
        }
        if self.programs.is_empty() {
            return Err(match refused {
                Some(message) => QueryError::Invalid { field: "pattern", message },
                None => first_bad(&source).unwrap_or_else(|| attempts.unparsable(&source, wanted)),
            });
        }
        self.hint_repeats(&source);
        if let Some(wanted) = wanted {
            let at = self.readings.iter().position(|reading| reading.name == wanted);
            // The same steps may stand under the name of an earlier reading.
            let same = || attempts.tried.iter().any(|attempt| attempt.reading == wanted && attempt.reason.is_none());
            self.searched = match at {
                Some(at) => at,
                None if same() => self.same_as(&source, wanted).unwrap_or(0),
                None => return Err(attempts.unparsable(&source, Some(wanted))),
            };
        }
        Ok(())
    }

    fn add(&mut self, reading: Reading, program: Program, tree: String) {
        if !self.programs.contains(&program) {
            self.readings.push(reading);
            self.programs.push(program);
            self.trees.push(tree);
        }
    }

    fn same_as(&self, source: &Source, wanted: &str) -> Option<usize> {
        let rung = scaffold(self.language).readings.iter().find(|rung| rung.name == wanted)?;
        let program = program::compile(source, &source.read(rung).ok()?, &mut self.slots.clone()).ok()?;
        self.programs.iter().position(|known| *known == program)
    }

    /// Takes a node of a larger piece of code as the pattern.
    fn select(&mut self, context: &str, selector: &str) -> Result<(), QueryError> {
        let wanted = rules::kind(self.language, selector)?;
        let source = Source::new(self.language, context);
        check_source(&source)?;
        self.hints.extend(source.hints.iter().cloned());
        let rung = whole();
        let fragment = match source.read_file(rung) {
            Ok(fragment) => fragment,
            Err(refusal) => {
                let mut attempts = Attempts::default();
                attempts.tried.push(Attempt { reading: &rung.name, reason: Some(refusal.reason.clone()), at: refusal.at });
                attempts.best = Some(refusal);
                return Err(attempts.unparsable(&source, None));
            }
        };
        check_metas(&source, &fragment)?;
        let Some(root) = fragment.syntax.nodes.iter().position(|node| wanted.contains(&node.kind)) else {
            let present = fragment
                .syntax
                .nodes
                .iter()
                .filter(|node| node.is_named())
                .map(|node| self.language.kind_name(node.kind).to_owned());
            let present = rules::unique(present);
            return Err(QueryError::BadSelector {
                message: format!("There is no `{selector}` in the context; it has: {}.", present.join(", ")),
                selector: selector.to_owned(),
                closest: closest(selector, present.iter().map(String::as_str), 5),
            });
        };
        let fragment = Fragment { roots: vec![root], ..fragment };
        let program = program::compile(&source, &fragment, &mut self.slots)
            .map_err(|message| QueryError::Invalid { field: "context", message })?;
        self.note_literal(&source, &fragment);
        let tree = print::roots(&fragment, &source);
        self.add(Reading { name: "context", kind: program.kind.clone() }, program, tree);
        Ok(())
    }

    fn note_literal(&mut self, source: &Source, fragment: &Fragment) {
        for meta in &fragment.literal {
            let meta = &source.metas[*meta];
            if !matches!(meta.kind, Kind::Bad(_)) {
                let hint = format!(
                    "`{}` stands in a string or comment and is literal text there. For any string write `{}` without quotes.",
                    meta.written(),
                    meta.written()
                );
                if !self.hints.contains(&hint) {
                    self.hints.push(hint);
                }
            }
        }
    }

    fn hint_repeats(&mut self, source: &Source) {
        let unbound: Vec<&str> =
            source.metas.iter().map(|meta| meta.name.as_str()).filter(|name| name.len() > 1 && name.starts_with('_')).collect();
        if let Some(name) = unbound.iter().enumerate().find_map(|(at, name)| unbound[..at].contains(name).then_some(*name)) {
            self.hints.push(format!(
                "`${name}` twice need not be the same: names that begin with `_` are not bound. `${}` must be.",
                name.trim_start_matches('_')
            ));
        }
    }

    /// Every reading that holds; the first is the one to search, unless the spec names another. Empty for a kind.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Which of [`Self::readings`] is searched.
    pub fn searched(&self) -> usize {
        self.searched
    }

    /// What the caller may want to know.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The pattern as it was read, as an S-expression.
    pub fn tree(&self, reading: usize) -> &str {
        self.trees.get(reading).map_or("", String::as_str)
    }

    /// The names that the pattern binds, and whether they are runs.
    pub(crate) fn names(&self) -> &[(String, bool)] {
        &self.slots.names[..self.bound]
    }

    /// Whether a pattern ends in `,` or `;`.
    pub(crate) fn ends_in_separator(&self) -> bool {
        self.programs[self.searched].ends_in_separator
    }

    /// Whether a file of this text can hold a match: the literals of some reading are all in it.
    pub fn may_match(&self, text: &[u8]) -> bool {
        self.finders.iter().any(|finders| finders.iter().all(|finder| finder.find(text).is_some()))
    }

    /// Searches a file for one of [`Self::readings`] (0 where there are none).
    pub fn find(&self, reading: usize, syntax: &Syntax, text: &[u8], cancelled: &dyn Fn() -> bool) -> Result<Found, FindError> {
        let mut matches = Vec::new();
        self.each(reading, syntax, text, cancelled, &mut |machine, held| {
            matches.push(self.matched(&self.programs[reading], machine, held))
        })?;
        matches.sort_by_key(|found| (found.range.start, found.range.end));
        Ok(Found { matches, macro_bodies: self.macro_bodies(&self.programs[reading], syntax, text) })
    }

    /// As [`Self::find`], but only counts the matches.
    pub fn count(
        &self,
        reading: usize,
        syntax: &Syntax,
        text: &[u8],
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Counted, FindError> {
        let mut matches = 0;
        self.each(reading, syntax, text, cancelled, &mut |_, _| matches += 1)?;
        Ok(Counted { matches, macro_bodies: self.macro_bodies(&self.programs[reading], syntax, text) })
    }

    fn each(
        &self,
        reading: usize,
        syntax: &Syntax,
        text: &[u8],
        cancelled: &dyn Fn() -> bool,
        matched: &mut dyn FnMut(&Machine<'_>, &Held<'_>),
    ) -> Result<(), FindError> {
        let program = &self.programs[reading];
        if !self.finders[reading].iter().all(|finder| finder.find(text).is_some()) {
            return Ok(());
        }
        let mut machine = Machine::new(&self.kinds, syntax, text, self.relaxed);
        let parents = self.filters.needs_parents().then(|| syntax.parents());
        let asker = Asker { parents: parents.as_deref() };
        let given: Vec<Bound> = vec![None; self.slots.names.len()];
        let final_say = !self.filters.is_empty();
        // The ends of the lists around a candidate.
        let mut lists: Vec<u32> = Vec::new();
        for at in 0..syntax.nodes.len() as u32 {
            let next = syntax.nodes[at as usize].next;
            if program.run {
                while lists.last().is_some_and(|&end| end <= at) {
                    lists.pop();
                }
                lists.push(next);
            }
            if (at as usize).is_multiple_of(LOOK) && cancelled() {
                return Err(FindError::Cancelled);
            }
            if !machine.may_begin(program, at) || (program.run && lists.len() < 2) {
                continue;
            }
            let end = if program.run { lists[lists.len() - 2] } else { next };
            machine.run(program, at, end, &given, final_say, &mut |machine, held| {
                if final_say && !asker.holds(machine, &self.filters, &held)? {
                    return Ok(false);
                }
                matched(machine, &held);
                Ok(true)
            })?;
        }
        Ok(())
    }

    fn matched(&self, program: &Program, machine: &Machine<'_>, held: &Held<'_>) -> Match {
        let (mut captures, mut multi) = (Vec::new(), Vec::new());
        for (slot, ((name, many), bound)) in self.names().iter().zip(held.slots).enumerate() {
            let Some(bound) = *bound else { continue };
            let mut span = (bound.0 < bound.1).then(|| machine.span(bound));
            if let Some(span) =
                span.as_mut().filter(|span| program.cut.contains(&(slot as u16)) && machine.text[span.end - 1] == b';')
            {
                span.end = span.start + machine.text[span.start..span.end - 1].trim_ascii_end().len();
            }
            if *many {
                let of = |at: u32| machine.span((at, machine.syntax.nodes[at as usize].next));
                let items = machine.items(bound).into_iter().map(of).collect();
                multi.push((name.clone(), span, items));
            } else if let Some(span) = span {
                captures.push((name.clone(), span));
            }
        }
        Match { range: machine.span((held.first, held.after)), captures, multi }
    }

    /// Regions that are not parsed and hold the tokens of the pattern in order.
    fn macro_bodies(&self, program: &Program, syntax: &Syntax, text: &[u8]) -> usize {
        if self.kinds.opaque.is_empty() || program.tokens.is_empty() {
            return 0;
        }
        let (mut count, mut at) = (0, 0);
        while at < syntax.nodes.len() {
            let node: &SyntaxNode = &syntax.nodes[at];
            if !self.kinds.opaque.contains(&node.kind) {
                at += 1;
                continue;
            }
            let mut rest = &text[node.range()];
            let mut all = program.tokens.iter();
            let holds = all.all(|token| match memchr::memmem::find(rest, token) {
                Some(found) => {
                    rest = &rest[found + token.len()..];
                    true
                }
                None => false,
            });
            count += usize::from(holds);
            at = node.next as usize;
        }
        count
    }
}

/// The way to read a whole file.
fn whole() -> &'static Rung {
    static WHOLE: std::sync::OnceLock<Rung> = std::sync::OnceLock::new();
    WHOLE.get_or_init(|| Rung {
        name: "context".to_owned(),
        before: String::new(),
        after: "\n".to_owned(),
        terminator: None,
        sequence: true,
        last: Vec::new(),
        indent: String::new(),
    })
}

/// Tells how a pattern is read.
pub fn explain(language: LanguageId, pattern: &str) -> Explanation {
    let source = Source::new(language, pattern);
    let mut attempts = Attempts::default();
    let mut tree = None;
    let mut hints = source.hints.clone();
    if let Err(error) = check_source(&source) {
        hints.push(error.to_string());
    } else {
        for rung in &scaffold(language).readings {
            if let Some(fragment) = attempts.note(&source, rung)
                && tree.is_none()
            {
                tree = Some(print::roots(&fragment, &source));
            }
        }
        match Query::new(language, &Spec { pattern: Some(pattern.to_owned()), ..Spec::default() }) {
            Ok(query) => {
                hints.clone_from(&query.hints);
                // A block may be read last.
                tree = query.trees.first().cloned();
            }
            Err(QueryError::Unparsable { .. }) => {}
            Err(error) => hints.push(error.to_string()),
        }
    }
    let metas = source.metas.iter().filter(|meta| !matches!(meta.kind, Kind::Bad(_))).map(crate::meta::Meta::written);
    Explanation {
        tree: tree.unwrap_or_else(|| attempts.tree(&source)),
        attempts: attempts.tried,
        metavariables: rules::unique(metas),
        hints,
    }
}
