//! A registry with one server, and lists written as text: `E3 name` is an error in line 3.

use std::path::{Path, PathBuf};

use ccd_diagnostics::{
    Attributed, Baseline, Cause, Change, Diagnostic, Level, Limits, Position, Publish, Range, Reads, Registry, Report, Server,
    ServerState, Severity, Told, Written,
};

pub(crate) const ROOT: &str = "/p";

pub(crate) struct World {
    pub(crate) registry: Registry,
}

/// `E1 a, W2 b [code] @source`: severity, line and message; the code and the source can be left out.
pub(crate) fn list(text: &str) -> Vec<Diagnostic> {
    text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(one).collect()
}

fn one(text: &str) -> Diagnostic {
    let severity = match &text[..1] {
        "E" => Severity::Error,
        "W" => Severity::Warning,
        "I" => Severity::Information,
        "H" => Severity::Hint,
        other => panic!("{other} is no severity"),
    };
    let (line, rest) = text[1..].split_once(' ').unwrap();
    let (rest, source) = rest.split_once(" @").map_or((rest, None), |(rest, source)| (rest, Some(source.to_owned())));
    let (message, code) = rest.split_once(" [").map_or((rest, None), |(rest, code)| (rest, code.strip_suffix(']')));
    let line = line.parse().unwrap();
    let at = |column| Position { line, column };
    Diagnostic {
        severity,
        code: code.map(str::to_owned),
        source,
        message: message.to_owned(),
        range: Range { start: at(1), end: at(2) },
        related: Vec::new(),
    }
}

fn shown(told: &[Told]) -> String {
    let words: Vec<String> = told
        .iter()
        .map(|told| {
            let how = if told.attributed == Some(Attributed::ByRange) { "~" } else { "" };
            let name = told.path.file_name().unwrap().to_string_lossy();
            let letter = told.diagnostic.severity.word()[..1].to_uppercase();
            format!("{how}{name}:{letter}{} {}", told.diagnostic.range.start.line, told.diagnostic.message)
        })
        .collect();
    words.join(", ")
}

/// `new x | elsewhere y | old z | carried w | fixed 1 | suppressed 2`, without what is empty.
pub(crate) fn told(report: &Report) -> String {
    let lists = [
        ("new", &report.new),
        ("elsewhere", &report.elsewhere),
        ("unattributed", &report.unattributed),
        ("carried", &report.carried_over),
    ];
    let mut parts: Vec<String> =
        lists.iter().filter(|(_, list)| !list.is_empty()).map(|(name, list)| format!("{name} {}", shown(list))).collect();
    for (name, count) in [("fixed", report.fixed), ("suppressed", report.suppressed)] {
        if count > 0 {
            parts.push(format!("{name} {count}"));
        }
    }
    parts.join(" | ")
}

pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(ROOT).join(name)
}

pub(crate) fn settled() -> Vec<Server> {
    state_of("ls", ServerState::Settled)
}

pub(crate) fn state_of(publisher: &str, state: ServerState) -> Vec<Server> {
    vec![Server { id: publisher.to_owned(), publishers: vec![publisher.into()], state, waited_ms: 0 }]
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self { registry: Registry::new(limits) }
    }

    /// The list of the old text of a file.
    pub(crate) fn baseline(&mut self, name: &str, text: &str) {
        self.registry.note_baseline("ls", &path(name), list(text));
    }

    /// A change of one file that wrote its line 1.
    pub(crate) fn begin(&mut self, run: &str, name: &str) -> Change {
        self.begin_lines(run, name, &[(1, 1)])
    }

    pub(crate) fn begin_lines(&mut self, run: &str, name: &str, lines: &[(u32, u32)]) -> Change {
        let written = Written { path: path(name), lines: lines.to_vec(), made: false };
        self.registry.begin(run, Path::new(ROOT), vec![written])
    }

    pub(crate) fn publish(&mut self, name: &str, text: &str) {
        self.publish_as("ls", name, text, Cause::Latest, Reads::Text);
    }

    pub(crate) fn publish_as(&mut self, publisher: &str, name: &str, text: &str, cause: Cause, reads: Reads) {
        let path = path(name);
        assert!(self.registry.publish(Publish { publisher, path: &path, version: None, items: list(text), cause, reads }));
    }

    /// What is told, delivered at once.
    pub(crate) fn told(&mut self, change: &Change) -> String {
        self.told_at(change, Level::Warnings)
    }

    pub(crate) fn told_at(&mut self, change: &Change, level: Level) -> String {
        self.told_with(change, level, settled())
    }

    pub(crate) fn told_with(&mut self, change: &Change, level: Level, servers: Vec<Server>) -> String {
        let (report, ticket) = self.registry.report(change, level, servers);
        self.registry.delivered(ticket);
        told(&report)
    }

    /// A change of a file, the answer to it, and what is told.
    pub(crate) fn write(&mut self, run: &str, name: &str, text: &str) -> String {
        let change = self.begin(run, name);
        self.publish(name, text);
        self.told(&change)
    }

    pub(crate) fn known(&self, change: &Change) -> Baseline {
        self.registry.baseline("ls", change)
    }
}
