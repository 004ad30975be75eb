//! Facts as bytes for the store: variable-length integers, lines as differences, compressed.

use ccd_text::Place;

use crate::{
    SymbolKind,
    facts::{Definition, Facts, Import, ImportKind, Join, NONE, Segment, SiteFact, SiteKind, Strings},
};

/// The bytes are not what was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

/// Writes integers.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// [`NONE`] is written as 0.
    pub(crate) fn index(&mut self, value: u32) {
        self.number(u64::from(value.wrapping_add(1)));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A difference of either sign.
    pub(crate) fn delta(&mut self, from: u32, to: u32) {
        let delta = i64::from(to) - i64::from(from);
        self.number(((delta << 1) ^ (delta >> 63)) as u64);
    }
}

/// Reads integers.
pub(crate) struct Reader<'b>(pub(crate) &'b [u8]);

impl<'b> Reader<'b> {
    pub(crate) fn number(&mut self) -> Result<u64, Damaged> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(Damaged)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Damaged)
    }

    pub(crate) fn small(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.number()?).map_err(|_| Damaged)
    }

    pub(crate) fn index(&mut self) -> Result<u32, Damaged> {
        let value = self.number()?;
        if value > u64::from(u32::MAX) { Err(Damaged) } else { Ok((value as u32).wrapping_sub(1)) }
    }

    pub(crate) fn bytes(&mut self) -> Result<&'b [u8], Damaged> {
        let len = self.number()? as usize;
        if len > self.0.len() {
            return Err(Damaged);
        }
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn delta(&mut self, from: u32) -> Result<u32, Damaged> {
        let coded = self.number()?;
        let delta = (coded >> 1) as i64 ^ -((coded & 1) as i64);
        u32::try_from(i64::from(from) + delta).map_err(|_| Damaged)
    }

    /// A count of things that take at least one byte each.
    pub(crate) fn count(&mut self) -> Result<usize, Damaged> {
        let count = self.number()? as usize;
        if count > self.0.len() { Err(Damaged) } else { Ok(count) }
    }
}

pub(crate) fn encode(facts: &Facts) -> Vec<u8> {
    let mut w = Writer::default();
    w.number(u64::from(facts.parse_error) | u64::from(facts.generated) << 1);
    w.number(u64::from(facts.lines));
    w.index(facts.package);
    w.number(facts.strings.len() as u64);
    let mut last = 0;
    for &end in &facts.strings.ends {
        w.number(u64::from(end - last));
        last = end;
    }
    w.bytes(facts.strings.text.as_bytes());
    w.bytes(facts.signatures.as_bytes());

    w.number(facts.exprs.len() as u64);
    let mut next = 0;
    for &(start, len) in &facts.exprs {
        debug_assert_eq!(start, next, "expressions stand one behind the other");
        w.number(u64::from(len));
        next = start + len;
    }
    for segment in &facts.segments {
        w.number(u64::from(segment.name.wrapping_add(1)) << 3 | segment.join as u64);
    }

    w.number(facts.definitions.len() as u64);
    let (mut byte, mut line, mut signature) = (0, 0, 0);
    for d in &facts.definitions {
        w.number(u64::from(d.kind as u8));
        w.number(u64::from(d.flags));
        w.index(d.name);
        w.index(d.container);
        w.number(u64::from(d.ordinal));
        w.index(d.owner);
        w.index(d.of_trait);
        w.delta(byte, d.bytes.0);
        w.number(u64::from(d.bytes.1 - d.bytes.0));
        w.number(u64::from(d.bytes.2 - d.bytes.1));
        byte = d.bytes.0;
        for place in [d.range.0, d.range.1, d.name_range.0, d.name_range.1] {
            w.delta(line, place.line);
            w.number(u64::from(place.column));
            line = place.line;
        }
        line = d.range.0.line;
        w.delta(signature, d.signature.0);
        w.number(u64::from(d.signature.1));
        signature = d.signature.0 + d.signature.1;
    }

    w.number(facts.sites.len() as u64);
    let (mut line, mut expr) = (0, 0);
    for site in &facts.sites {
        w.number(u64::from(site.kind as u8) << 1 | u64::from(site.local));
        w.number(u64::from(site.scope));
        w.delta(line, site.place.line);
        w.number(u64::from(site.place.column));
        w.delta(expr, site.expr);
        line = site.place.line;
        expr = site.expr;
    }

    w.number(facts.imports.len() as u64);
    let (mut line, mut expr) = (0, 0);
    for import in &facts.imports {
        w.number(u64::from(import.kind as u8) << 2 | u64::from(import.exported) << 1 | u64::from(import.only_export));
        w.number(u64::from(import.scope));
        w.delta(line, import.place.line);
        w.number(u64::from(import.place.column));
        w.delta(expr, import.path);
        w.index(import.item);
        w.index(import.binding);
        line = import.place.line;
        expr = import.path;
    }
    for pairs in [&facts.exports, &facts.mod_paths] {
        w.number(pairs.len() as u64);
        for &(a, b) in pairs {
            w.index(a);
            w.index(b);
        }
    }
    w.0
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Facts, Damaged> {
    let mut r = Reader(bytes);
    let flags = r.number()?;
    let mut facts = Facts { parse_error: flags & 1 != 0, generated: flags & 2 != 0, ..Facts::default() };
    facts.lines = r.small()?;
    facts.package = r.index()?;
    let strings = r.count()?;
    let mut ends = Vec::with_capacity(strings);
    let mut end = 0u32;
    for _ in 0..strings {
        end = end.checked_add(r.small()?).ok_or(Damaged)?;
        ends.push(end);
    }
    let text = std::str::from_utf8(r.bytes()?).map_err(|_| Damaged)?.to_owned();
    if ends.last().copied().unwrap_or(0) as usize != text.len() || ends.iter().any(|&end| !text.is_char_boundary(end as usize)) {
        return Err(Damaged);
    }
    facts.strings = Strings { text, ends };
    facts.signatures = std::str::from_utf8(r.bytes()?).map_err(|_| Damaged)?.to_owned();

    let name = |id: u32| if id == NONE || (id as usize) < strings { Ok(id) } else { Err(Damaged) };
    let count = r.count()?;
    let mut next = 0u32;
    facts.exprs.reserve(count);
    for _ in 0..count {
        let len = r.small()?;
        facts.exprs.push((next, len));
        next = next.checked_add(len).ok_or(Damaged)?;
    }
    if next as usize > r.0.len() {
        return Err(Damaged);
    }
    facts.segments.reserve(next as usize);
    for _ in 0..next {
        let coded = r.number()?;
        let join = match coded & 7 {
            0 => Join::Root,
            1 => Join::This,
            2 => Join::Other,
            3 => Join::Member,
            4 => Join::Path,
            5 => Join::Call,
            6 => Join::Index,
            7 => Join::Super,
            _ => return Err(Damaged),
        };
        let id = u32::try_from(coded >> 3).map_err(|_| Damaged)?.wrapping_sub(1);
        facts.segments.push(Segment { join, name: name(id)? });
    }
    let exprs = facts.exprs.len() as u32;
    let expr = |id: u32| if id == NONE || id < exprs { Ok(id) } else { Err(Damaged) };

    let count = r.count()?;
    facts.definitions.reserve(count);
    let (mut byte, mut line, mut signature) = (0, 0, 0);
    for at in 0..count {
        let kind = symbol_kind(r.number()?)?;
        let flags = r.number()? as u8;
        let name = name(r.index()?)?;
        let container = r.index()?;
        // Containers stand before what they hold, so chains end.
        if !(container == NONE && at == 0 || (container as usize) < at) {
            return Err(Damaged);
        }
        let ordinal = r.number()? as u16;
        let (owner, of_trait) = (expr(r.index()?)?, expr(r.index()?)?);
        byte = r.delta(byte)?;
        let head = byte.checked_add(r.small()?).ok_or(Damaged)?;
        let end = head.checked_add(r.small()?).ok_or(Damaged)?;
        let mut places = [Place::default(); 4];
        for place in &mut places {
            place.line = r.delta(line)?;
            place.column = r.small()?;
            line = place.line;
        }
        line = places[0].line;
        let start = r.delta(signature)?;
        let len = r.small()?;
        signature = start.checked_add(len).ok_or(Damaged)?;
        if facts.signatures.get(start as usize..signature as usize).is_none() || name == NONE {
            return Err(Damaged);
        }
        facts.definitions.push(Definition {
            kind,
            flags,
            name,
            container,
            ordinal,
            owner,
            of_trait,
            bytes: (byte, head, end),
            range: (places[0], places[1]),
            name_range: (places[2], places[3]),
            signature: (start, len),
        });
    }
    if facts.definitions.is_empty() {
        return Err(Damaged);
    }
    let definitions = facts.definitions.len() as u32;
    let scope = |id: u32| if id < definitions { Ok(id) } else { Err(Damaged) };
    let some_expr = |id: u32| if id < exprs && facts.exprs[id as usize].1 > 0 { Ok(id) } else { Err(Damaged) };

    let count = r.count()?;
    let mut sites = Vec::with_capacity(count);
    let (mut line, mut last) = (0, 0);
    for _ in 0..count {
        let coded = r.number()?;
        let kind = match coded >> 1 {
            0 => SiteKind::Call,
            1 => SiteKind::New,
            2 => SiteKind::Macro,
            3 => SiteKind::Extends,
            4 => SiteKind::Implements,
            5 => SiteKind::Instance,
            _ => return Err(Damaged),
        };
        let scope = scope(r.small()?)?;
        line = r.delta(line)?;
        let column = r.small()?;
        last = r.delta(last)?;
        sites.push(SiteFact { kind, scope, place: Place { line, column }, expr: some_expr(last)?, local: coded & 1 != 0 });
    }

    let count = r.count()?;
    let mut imports = Vec::with_capacity(count);
    let (mut line, mut last) = (0, 0);
    for _ in 0..count {
        let coded = r.number()?;
        let kind = match coded >> 2 {
            0 => ImportKind::Path,
            1 => ImportKind::Module,
            2 => ImportKind::Item,
            3 => ImportKind::Glob,
            4 => ImportKind::SideEffect,
            _ => return Err(Damaged),
        };
        let scope = scope(r.small()?)?;
        line = r.delta(line)?;
        let column = r.small()?;
        last = r.delta(last)?;
        let (item, binding) = (name(r.index()?)?, name(r.index()?)?);
        imports.push(Import {
            kind,
            scope,
            place: Place { line, column },
            path: some_expr(last)?,
            item,
            binding,
            exported: coded & 2 != 0,
            only_export: coded & 1 != 0,
        });
    }
    let mut pairs = [Vec::new(), Vec::new()];
    for list in &mut pairs {
        for _ in 0..r.count()? {
            list.push((r.index()?, name(r.index()?)?));
        }
    }
    let [exports, mod_paths] = pairs;
    facts.sites = sites;
    facts.imports = imports;
    facts.exports = exports;
    facts.mod_paths = mod_paths;
    name(facts.package)?;
    if facts.exports.iter().any(|&(outer, inner)| outer == NONE || inner == NONE || outer as usize >= strings) {
        Err(Damaged)
    } else {
        Ok(facts)
    }
}

pub(crate) fn symbol_kind(number: u64) -> Result<SymbolKind, Damaged> {
    use SymbolKind as K;
    const ALL: [SymbolKind; 18] = [
        K::Module,
        K::Function,
        K::Method,
        K::Constructor,
        K::Field,
        K::Constant,
        K::Variable,
        K::Struct,
        K::Class,
        K::Enum,
        K::EnumMember,
        K::Interface,
        K::Trait,
        K::Impl,
        K::TypeAlias,
        K::Macro,
        K::Property,
        K::Test,
    ];
    ALL.get(number as usize).copied().filter(|kind| *kind as u64 == number).ok_or(Damaged)
}
