//! What narrows matches: constraints on captures, and rules on the nodes around.

use std::collections::BTreeSet;

use crate::near::closest;
use ccd_grammars::{LanguageId, SyntaxNode, scaffold};

use crate::{
    FindError, QueryError,
    machine::{Bound, Held, Machine},
    program::{self, Program, Slots},
    reading::Source,
    spec::{Constraint, Filters, Rule, Stop},
};

/// Rules nest this deep.
const DEPTH: usize = 16;

/// A constraint, compiled.
#[derive(Debug)]
struct Check {
    regex: Option<regex::bytes::Regex>,
    kind: Option<Vec<u16>>,
    equals: Option<Equals>,
    not: Option<Box<Check>>,
}

#[derive(Debug)]
enum Equals {
    Text(String),
    Slot(usize),
}

/// Filters, compiled.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    captures: Vec<(usize, Check)>,
    inside: Option<Box<CompiledRule>>,
    has: Option<Box<CompiledRule>>,
    follows: Option<Box<CompiledRule>>,
    precedes: Option<Box<CompiledRule>>,
    not: Option<Box<CompiledRule>>,
}

#[derive(Debug)]
struct CompiledRule {
    /// One of these, if there are any.
    programs: Vec<Program>,
    kind: Option<Vec<u16>>,
    field: Option<u8>,
    stop: CompiledStop,
    filters: Compiled,
}

#[derive(Debug)]
enum CompiledStop {
    Neighbour,
    End,
    Kind(Vec<u16>),
}

impl Compiled {
    /// Whether there is nothing to fulfil.
    pub(crate) fn is_empty(&self) -> bool {
        self.captures.is_empty() && self.rules().next().is_none()
    }

    fn rules(&self) -> impl Iterator<Item = &CompiledRule> {
        [&self.inside, &self.has, &self.follows, &self.precedes, &self.not].into_iter().flatten().map(|rule| &**rule)
    }
}

/// Compiles filters; `slots`: the names that are bound where they are asked.
pub(crate) fn compile(language: LanguageId, filters: &Filters, slots: &mut Slots, depth: usize) -> Result<Compiled, QueryError> {
    if depth > DEPTH {
        return Err(QueryError::Invalid { field: "not", message: format!("Rules nest at most {DEPTH} deep.") });
    }
    let mut captures = Vec::new();
    for (name, constraint) in &filters.captures {
        let name = name.trim_start_matches('$');
        captures.push((slot(name, slots)?, check(language, constraint, slots, depth)?));
    }
    let mut rule = |rule: &Option<Box<Rule>>| -> Result<Option<Box<CompiledRule>>, QueryError> {
        rule.as_deref().map(|rule| compile_rule(language, rule, slots, depth + 1).map(Box::new)).transpose()
    };
    Ok(Compiled {
        inside: rule(&filters.inside)?,
        has: rule(&filters.has)?,
        follows: rule(&filters.follows)?,
        precedes: rule(&filters.precedes)?,
        not: rule(&filters.not)?,
        captures,
    })
}

fn slot(name: &str, slots: &Slots) -> Result<usize, QueryError> {
    slots.find(name).ok_or_else(|| {
        let bound: Vec<String> = slots.names.iter().map(|(name, _)| name.clone()).collect();
        QueryError::Unbound {
            message: format!("`where` names {name}, which the pattern does not bind; it binds {}.", list(&bound)),
            name: name.to_owned(),
            bound,
        }
    })
}

/// Names for a sentence.
pub(crate) fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn check(language: LanguageId, constraint: &Constraint, slots: &Slots, depth: usize) -> Result<Check, QueryError> {
    if depth > DEPTH {
        return Err(QueryError::Invalid { field: "where", message: format!("Constraints nest at most {DEPTH} deep.") });
    }
    if constraint.regex.is_none() && constraint.kind.is_none() && constraint.equals.is_none() && constraint.not.is_none() {
        let message = "A constraint says nothing: give it a `regex`, a `kind`, `equals`, or `not`.".to_owned();
        return Err(QueryError::Invalid { field: "where", message });
    }
    let regex = constraint.regex.as_deref().map(|regex| {
        regex::bytes::RegexBuilder::new(regex).size_limit(1 << 20).build().map_err(|error| QueryError::Invalid {
            field: "where",
            message: format!("The regular expression `{regex}` is none: {error}."),
        })
    });
    let equals = constraint.equals.as_deref().map(|text| match text.strip_prefix('$') {
        Some(name) if slots.find(name).is_some() => Ok(Equals::Slot(slot(name, slots)?)),
        Some(name)
            if !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_') =>
        {
            slot(name, slots).map(Equals::Slot)
        }
        _ => Ok(Equals::Text(text.to_owned())),
    });
    Ok(Check {
        regex: regex.transpose()?,
        kind: constraint.kind.as_deref().map(|name| kind(language, name)).transpose()?,
        equals: equals.transpose()?,
        not: constraint.not.as_deref().map(|inner| check(language, inner, slots, depth + 1).map(Box::new)).transpose()?,
    })
}

/// The numbers of a kind: of the named one, else of the token.
pub(crate) fn kind(language: LanguageId, name: &str) -> Result<Vec<u16>, QueryError> {
    if let Some(kind) = language.kind_id(name, true).or_else(|| language.kind_id(name, false)) {
        return Ok(vec![kind]);
    }
    if name == "ERROR" {
        return Ok(vec![u16::MAX]);
    }
    let closest = closest(name, language.kind_names().into_iter(), 5);
    Err(QueryError::BadSelector {
        message: format!("The grammar of {} has no kind `{name}`; close to it: {}.", language.name(), list(&closest)),
        selector: name.to_owned(),
        closest,
    })
}

fn compile_rule(language: LanguageId, rule: &Rule, slots: &mut Slots, depth: usize) -> Result<CompiledRule, QueryError> {
    let known = slots.names.len();
    let programs = match &rule.pattern {
        Some(pattern) => programs(language, pattern, slots)?,
        None => Vec::new(),
    };
    let field = rule.field.as_deref().map(|name| {
        language.field_id(name).ok_or_else(|| {
            let closest = closest(name, language.field_names().into_iter(), 5);
            QueryError::BadSelector {
                message: format!("The grammar of {} has no field `{name}`; close to it: {}.", language.name(), list(&closest)),
                selector: name.to_owned(),
                closest,
            }
        })
    });
    let compiled = CompiledRule {
        kind: rule.kind.as_deref().map(|name| kind(language, name)).transpose()?,
        field: field.transpose()?,
        stop: match &rule.stop {
            Stop::Neighbour => CompiledStop::Neighbour,
            Stop::End => CompiledStop::End,
            Stop::Kind(name) => CompiledStop::Kind(kind(language, name)?),
        },
        filters: compile(language, &rule.filters, slots, depth)?,
        programs,
    };
    if compiled.programs.is_empty() && compiled.kind.is_none() && compiled.filters.is_empty() {
        return Err(QueryError::Invalid {
            field: "rule",
            message: "A rule says nothing: give it a `pattern`, a `kind`, or a rule of its own.".to_owned(),
        });
    }
    // What a rule binds is bound in it and its own rules only. The names stay taken, so that their numbers do.
    for (name, _) in &mut slots.names[known..] {
        if !name.ends_with('\'') {
            name.push('\'');
        }
    }
    Ok(compiled)
}

/// All ways to read the pattern of a rule.
fn programs(language: LanguageId, pattern: &str, slots: &mut Slots) -> Result<Vec<Program>, QueryError> {
    let source = Source::new(language, pattern);
    crate::query::check_source(&source)?;
    let mut programs: Vec<Program> = Vec::new();
    let mut attempts = crate::query::Attempts::default();
    for rung in &scaffold(language).readings {
        let Some(fragment) = attempts.note(&source, rung) else { continue };
        let program =
            program::compile(&source, &fragment, slots).map_err(|message| QueryError::Invalid { field: "pattern", message })?;
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    if programs.is_empty() { Err(attempts.unparsable(&source, None)) } else { Ok(programs) }
}

/// Asks filters of a match. `parents` is made where a rule looks up.
pub(crate) struct Asker<'p> {
    pub(crate) parents: Option<&'p [u32]>,
}

impl Compiled {
    /// Whether some rule looks up or sideways.
    pub(crate) fn needs_parents(&self) -> bool {
        self.inside.is_some()
            || self.follows.is_some()
            || self.precedes.is_some()
            || self.rules().any(|rule| rule.filters.needs_parents())
            || self.rules().any(|rule| rule.programs.iter().any(|program| program.run))
    }
}

impl Asker<'_> {
    pub(crate) fn holds(&self, machine: &mut Machine<'_>, filters: &Compiled, held: &Held<'_>) -> Result<bool, FindError> {
        for (slot, check) in &filters.captures {
            // A name that is bound on another way to read the pattern only.
            let Some(bound) = held.slots[*slot] else { return Ok(false) };
            if !self.fulfils(machine, check, bound, held.slots) {
                return Ok(false);
            }
        }
        if let Some(rule) = &filters.not
            && self.is(machine, rule, held.first, held.slots)?
        {
            return Ok(false);
        }
        Ok(self.inside(machine, filters.inside.as_deref(), held)?
            && self.has(machine, filters.has.as_deref(), held)?
            && self.beside(machine, filters.follows.as_deref(), held, false)?
            && self.beside(machine, filters.precedes.as_deref(), held, true)?)
    }

    fn fulfils(&self, machine: &mut Machine<'_>, check: &Check, bound: (u32, u32), slots: &[Bound]) -> bool {
        let empty = bound.0 == bound.1;
        let text = if empty { &[][..] } else { &machine.text[machine.span(bound)] };
        if check.regex.as_ref().is_some_and(|regex| !regex.is_match(text)) {
            return false;
        }
        if let Some(kinds) = &check.kind {
            let nodes = &machine.syntax.nodes;
            let of_kind = |at: u32| {
                let range = nodes[at as usize].range();
                let chain = nodes[at as usize..].iter().take_while(|node| node.range() == range);
                let mut chain = chain.take(8);
                chain.any(|node| kinds.contains(&node.kind))
            };
            if empty || !machine.items(bound).into_iter().all(of_kind) {
                return false;
            }
        }
        let equal = match &check.equals {
            None => true,
            Some(Equals::Slot(slot)) => slots[*slot].is_some_and(|other| machine.same(other, bound)),
            Some(Equals::Text(wanted)) => is_text(machine, bound, wanted),
        };
        equal && !check.not.as_ref().is_some_and(|not| self.fulfils(machine, not, bound, slots))
    }

    /// Whether a node is what a rule says.
    fn is(&self, machine: &mut Machine<'_>, rule: &CompiledRule, at: u32, slots: &[Bound]) -> Result<bool, FindError> {
        if rule.kind.as_ref().is_some_and(|kinds| !kinds.contains(&machine.syntax.nodes[at as usize].kind)) {
            return Ok(false);
        }
        machine.steps += 1;
        if rule.programs.is_empty() {
            let after = machine.syntax.nodes[at as usize].next;
            return self.holds(machine, &rule.filters, &Held { slots, first: at, after });
        }
        for program in &rule.programs {
            if !machine.may_begin(program, at) {
                continue;
            }
            let end = match self.parents {
                Some(parents) if program.run => machine.syntax.nodes[parents[at as usize] as usize].next,
                _ => machine.syntax.nodes[at as usize].next,
            };
            let final_say = !rule.filters.is_empty();
            let found = machine
                .run(program, at, end, slots, final_say, &mut |machine, held| self.holds(machine, &rule.filters, &held))?;
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn inside(&self, machine: &mut Machine<'_>, rule: Option<&CompiledRule>, held: &Held<'_>) -> Result<bool, FindError> {
        let Some(rule) = rule else { return Ok(true) };
        let parents = self.parents.expect("made for rules that look up");
        let mut child = held.first;
        while child != 0 {
            let parent = parents[child as usize];
            let in_field = rule.field.is_none_or(|field| machine.syntax.nodes[child as usize].field == field);
            if in_field && self.is(machine, rule, parent, held.slots)? {
                return Ok(true);
            }
            if stops(&rule.stop, &machine.syntax.nodes[parent as usize]) {
                return Ok(false);
            }
            child = parent;
        }
        Ok(false)
    }

    fn has(&self, machine: &mut Machine<'_>, rule: Option<&CompiledRule>, held: &Held<'_>) -> Result<bool, FindError> {
        let Some(rule) = rule else { return Ok(true) };
        // A run of siblings has what one of them has.
        let mut top = held.first;
        while top < held.after {
            let end = machine.syntax.nodes[top as usize].next;
            let mut at = top + 1;
            while at < end {
                let node = machine.syntax.nodes[at as usize];
                let in_field = rule.field.is_none_or(|field| node.field == field);
                if !node.is_extra() && in_field && self.is(machine, rule, at, held.slots)? {
                    return Ok(true);
                }
                at = if stops(&rule.stop, &node) { node.next } else { at + 1 };
            }
            top = end;
        }
        Ok(false)
    }

    fn beside(
        &self,
        machine: &mut Machine<'_>,
        rule: Option<&CompiledRule>,
        held: &Held<'_>,
        after: bool,
    ) -> Result<bool, FindError> {
        let Some(rule) = rule else { return Ok(true) };
        if held.first == 0 {
            return Ok(false);
        }
        let parents = self.parents.expect("made for rules that look sideways");
        let parent = parents[held.first as usize];
        let end = machine.syntax.nodes[parent as usize].next;
        let mut siblings = Vec::new();
        let (mut at, until) = if after { (held.after, end) } else { (parent + 1, held.first) };
        while at < until {
            let node = machine.syntax.nodes[at as usize];
            if node.is_named() && !node.is_extra() {
                siblings.push(at);
            }
            at = node.next;
        }
        if !after {
            siblings.reverse();
        }
        for at in siblings {
            let node = machine.syntax.nodes[at as usize];
            let in_field = rule.field.is_none_or(|field| node.field == field);
            if in_field && self.is(machine, rule, at, held.slots)? {
                return Ok(true);
            }
            if stops(&rule.stop, &node) {
                return Ok(false);
            }
        }
        Ok(false)
    }
}

fn stops(stop: &CompiledStop, node: &SyntaxNode) -> bool {
    match stop {
        CompiledStop::Neighbour => true,
        CompiledStop::End => false,
        CompiledStop::Kind(kinds) => kinds.contains(&node.kind),
    }
}

/// Whether the tokens of a capture are those of a text, however that is spaced.
fn is_text(machine: &Machine<'_>, (from, to): (u32, u32), wanted: &str) -> bool {
    let mut rest = wanted.as_bytes();
    let mut at = from;
    while at < to {
        let node = &machine.syntax.nodes[at as usize];
        if node.is_extra() {
            at = node.next;
            continue;
        }
        at += 1;
        if node.next == at && node.start < node.end {
            rest = rest.trim_ascii_start();
            match rest.strip_prefix(&machine.text[node.range()]) {
                Some(after) => rest = after,
                None => return false,
            }
        }
    }
    rest.trim_ascii().is_empty()
}

/// The names in an order without repeats.
pub(crate) fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}
