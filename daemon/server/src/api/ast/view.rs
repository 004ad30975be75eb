//! Matches and stages, as they stand on the wire.

use std::ops::Range;

use ccd_edit::Stage;
use ccd_protocol::{Range as WireRange, TextPosition, ast as wire};
use ccd_text::{LineIndex, clip};

use crate::{search::Place, workspaces::place::shown};

/// Bytes of one text.
const TEXT: usize = 4 << 10;
/// Items of a run that are listed, in bytes of their texts.
const ITEMS: usize = 64 << 10;
/// Bytes of a site.
pub(super) const SITE: usize = 400;
/// Sites of a stage.
pub(super) const SITES: usize = 100;

fn position(text: &[u8], lines: &LineIndex, at: usize) -> TextPosition {
    let place = lines.place(text, at);
    TextPosition { line: place.line, column: place.column }
}

fn range(text: &[u8], lines: &LineIndex, range: &Range<usize>) -> WireRange {
    WireRange { start: position(text, lines, range.start), end: position(text, lines, range.end) }
}

/// A match, and about how many bytes its texts take.
pub(super) fn found(root: &str, place: &Place<'_>, reading: Option<&'static str>) -> (wire::AstMatch, usize) {
    let mut bytes = 200;
    let mut cut = |range: &Range<usize>| {
        let whole = &place.text[range.clone()];
        let text = clip(whole, if whole.len() > TEXT { TEXT - '…'.len_utf8() } else { TEXT });
        bytes += text.len() + 100;
        text
    };
    let text = cut(&place.found.range);
    let captures = place
        .found
        .captures
        .iter()
        .map(|(name, at)| (name.clone(), wire::Capture { text: cut(at), range: range(place.text, place.lines, at) }));
    let captures = captures.collect();
    let mut multi = std::collections::BTreeMap::new();
    for (name, at, items) in &place.found.multi {
        let (mut listed, mut taken) = (Vec::new(), 0);
        for item in items {
            let item = cut(item);
            taken += item.len();
            listed.push(item);
            if taken > ITEMS {
                listed.push("…".to_owned());
                break;
            }
        }
        multi.insert(name.clone(), wire::MultiCapture { text: at.as_ref().map(&mut cut).unwrap_or_default(), items: listed });
    }
    let found = wire::AstMatch {
        path: std::path::Path::new(root).join(place.rel).to_string_lossy().into_owned(),
        rel: place.rel.to_owned(),
        range: range(place.text, place.lines, &place.found.range),
        text,
        captures,
        multi,
        reading: reading.map(str::to_owned),
    };
    (found, bytes)
}

/// A stage; its preview has at most `max_bytes`, and at most `sites` of its sites are listed.
pub(super) fn stage(stage: &Stage, max_bytes: usize, sites: usize) -> wire::Stage {
    let draft = &stage.draft;
    let (preview, next) = piece(&draft.diff, 0, max_bytes);
    let absolute = |rel: &std::path::Path| shown(&std::path::Path::new(&draft.root).join(rel));
    wire::Stage {
        stage_id: Some(stage.id.clone()),
        run_id: draft.run.clone(),
        root: draft.root.clone(),
        files: draft
            .files
            .iter()
            .map(|file| wire::StagedFile {
                path: shown(&file.path),
                rel: shown(&file.rel),
                sites: file.sites,
                version: file.version.to_string(),
                new_parse_errors: 0,
            })
            .collect(),
        sites: draft.sites,
        matches: draft
            .shown
            .iter()
            .take(sites)
            .map(|site| wire::StagedSite {
                path: absolute(&site.rel),
                rel: shown(&site.rel),
                line: site.line,
                text: site.text.clone(),
            })
            .collect(),
        nested_skipped: draft.nested_skipped,
        preview: preview.to_owned(),
        truncated: next.is_some(),
        warnings: draft.warnings.clone(),
        expires_at: Some(stage.expires_at),
        epoch: draft.epoch,
    }
}

/// A piece of a text that begins at `from`: whole lines of at most `max_bytes`, or a part of one that is longer; and where
/// the next one begins.
pub(super) fn piece(text: &str, from: usize, max_bytes: usize) -> (&str, Option<usize>) {
    let rest = &text[from..];
    if rest.len() <= max_bytes {
        return (rest, None);
    }
    let end = match rest.as_bytes()[..max_bytes].iter().rposition(|&byte| byte == b'\n') {
        Some(at) => at + 1,
        None => (1..=max_bytes).rev().find(|&at| rest.is_char_boundary(at)).unwrap_or_else(|| {
            // The first character is longer than asked for.
            rest.chars().next().map_or(rest.len(), char::len_utf8)
        }),
    };
    (&rest[..end], Some(from + end))
}

#[cfg(test)]
mod tests {
    use super::piece;

    #[test]
    fn pieces_end_at_lines_and_hold_everything() {
        let text = "one\ntwo\näöü\n";
        assert_eq!(piece(text, 0, 100), (text, None));
        assert_eq!(piece(text, 0, 9), ("one\ntwo\n", Some(8)));
        assert_eq!(piece(text, 0, 2), ("on", Some(2)));
        assert_eq!(piece(text, 8, 1), ("ä", Some(10)), "a character is not cut");
        let (mut at, mut whole) = (Some(0), String::new());
        while let Some(from) = at {
            let (part, next) = piece(text, from, 3);
            whole.push_str(part);
            at = next;
        }
        assert_eq!(whole, text);
    }
}
