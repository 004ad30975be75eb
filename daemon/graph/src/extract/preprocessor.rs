//! Macros of C and C++ that the grammar takes for something else.
//!
//! `class API Name {` is read as a function of the type `API`, and a word that stands alone on its line (`Q_OBJECT`,
//! `EXTERN_C_BEGIN`) as the type of what follows. The preprocessor would take them away, so they are blanked before the
//! parse, in a copy of the same length.

use ccd_grammars::LanguageId;

/// The text without them; none if there is nothing to take away.
pub(crate) fn cleared(language: LanguageId, text: &[u8]) -> Option<Vec<u8>> {
    if language.family() != LanguageId::C {
        return None;
    }
    let mut out: Option<Vec<u8>> = None;
    let mut at = 0;
    // The last byte of code, comments and lines of the preprocessor left out.
    let mut last = b';';
    // For each open bracket whether `if` or the like stands before it, and the same of the last that was closed.
    let mut brackets: Vec<bool> = Vec::new();
    let mut in_condition = false;
    let (mut word, mut before): (&[u8], &[u8]) = (b"", b"");
    // Where brackets close that are blanked.
    let mut closing: Option<usize> = None;
    while at < text.len() {
        let byte = text[at];
        match byte {
            b'/' if text.get(at + 1) == Some(&b'/') => at = line_end(text, at),
            b'/' if text.get(at + 1) == Some(&b'*') => at = comment_end(text, at),
            b'"' | b'\'' => {
                // A digit separator (`1'000`) is no quote.
                if byte == b'"' || !last.is_ascii_alphanumeric() {
                    at = quote_end(text, at);
                } else {
                    at += 1;
                }
                last = byte;
            }
            b'#' if alone(text, at) => {
                let end = directive_end(text, at);
                for star in stars_in_strings(text, at, end) {
                    out.get_or_insert_with(|| text.to_vec())[star] = b' ';
                }
                at = end;
            }
            _ if is_word(byte) => {
                let end = word_end(text, at);
                let of_namespace = before == b"namespace";
                before = word;
                word = &text[at..end];
                if let Some(close) = doubled(text, at, end, (last, before)).filter(|_| last != b')' || !in_condition) {
                    let out = out.get_or_insert_with(|| text.to_vec());
                    out[at..=end].fill(b' ');
                    out[close] = b' ';
                    closing = Some(close);
                    at = end + 1;
                    continue;
                }
                let blank = match word {
                    b"class" | b"struct" | b"union" => export(text, end),
                    _ if alone_on_its_line(text, at, end, last)
                        || before_a_type(text, at, end, last)
                        || before_a_name(text, (at, end), (last, before)) =>
                    {
                        Some((at, end))
                    }
                    // `namespace std VISIBILITY(default) {`
                    _ if of_namespace && is_capitals(word) && text.get(end) == Some(&b'(') => {
                        text[end..].iter().take(200).position(|&byte| byte == b')').map(|length| (at, end + length + 1))
                    }
                    _ => after_parameters(text, (at, end), (last, before), in_condition).map(|to| (at, to)),
                };
                if let Some((from, to)) = blank {
                    out.get_or_insert_with(|| text.to_vec())[from..to].fill(b' ');
                    if from == at {
                        at = to;
                        continue;
                    }
                }
                last = text[end - 1];
                at = blank.map_or(end, |(_, to)| to);
            }
            _ => {
                if closing.take_if(|close| *close == at).is_some() {
                    at += 1;
                    continue;
                }
                match byte {
                    b'(' => brackets.push(last.is_ascii_alphabetic() && matches!(word, b"if" | b"while" | b"for" | b"switch")),
                    b')' => in_condition = brackets.pop().unwrap_or(false),
                    _ => {}
                }
                if !byte.is_ascii_whitespace() {
                    last = byte;
                }
                at += 1;
            }
        }
    }
    out
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn word_end(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|&byte| !is_word(byte)).map_or(text.len(), |length| from + length)
}

pub(super) fn line_end(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |length| from + length)
}

pub(super) fn comment_end(text: &[u8], from: usize) -> usize {
    text[from + 2..].windows(2).position(|pair| pair == b"*/").map_or(text.len(), |length| from + 2 + length + 2)
}

/// After the quote that ends a string or character, at most to the end of the line.
pub(super) fn quote_end(text: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 1,
            b'\n' => return at,
            byte if byte == text[from] => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// After a line of the preprocessor and those that a backslash joins to it.
pub(super) fn directive_end(text: &[u8], from: usize) -> usize {
    let mut end = line_end(text, from);
    while end < text.len() && text[..end].trim_ascii_end().ends_with(b"\\") {
        end = line_end(text, end + 1);
    }
    end
}

/// Whether only blank space stands before on the line.
pub(super) fn alone(text: &[u8], at: usize) -> bool {
    text[..at].iter().rev().take_while(|&&byte| byte != b'\n').all(u8::is_ascii_whitespace)
}

pub(super) fn skip_blank(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|byte| !byte.is_ascii_whitespace()).map_or(text.len(), |length| from + length)
}

/// The macros between `class` and the name of the class, with their arguments.
fn export(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let start = skip_blank(text, from);
    let mut end = start;
    loop {
        let at = skip_blank(text, end);
        let word_end = word_end(text, at);
        if word_end == at || text[at].is_ascii_digit() || text[at..word_end].iter().any(u8::is_ascii_lowercase) {
            break;
        }
        let mut next = word_end;
        if text.get(next) == Some(&b'(') {
            let length = text[next..].iter().take(200).position(|&byte| byte == b')')?;
            next += length + 1;
        }
        let name = skip_blank(text, next);
        if !text.get(name).is_some_and(|&byte| is_word(byte)) || text[name..].starts_with(b"final") {
            break;
        }
        end = next;
    }
    if end == start {
        return None;
    }
    let mut next = skip_blank(text, word_end(text, skip_blank(text, end)));
    if text[next..].starts_with(b"final") {
        next = skip_blank(text, next + b"final".len());
    }
    // Its body or its bases follow; `struct POINT origin;` names a variable.
    let opens = matches!(text.get(next), Some(b'{' | b'<')) || text.get(next) == Some(&b':') && text.get(next + 1) != Some(&b':');
    opens.then_some((start, end))
}

pub(super) fn is_capitals(word: &[u8]) -> bool {
    word.len() > 3 && word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// A word in capitals before a whole declaration (`API int f(void);`): two more words follow on the line.
fn before_a_type(text: &[u8], at: usize, end: usize, last: u8) -> bool {
    if !is_capitals(&text[at..end]) || !matches!(last, b';' | b'{' | b'}' | b':') {
        return false;
    }
    let line = &text[end..line_end(text, end)];
    let mut rest = line;
    for count in 0..2 {
        let trimmed = rest.trim_ascii_start();
        let length = trimmed.iter().position(|&byte| !is_word(byte)).unwrap_or(trimmed.len());
        let word = &trimmed[..length];
        let qualifier = matches!(word, b"const" | b"volatile" | b"CALLBACK" | b"WINAPI");
        if length == 0 || trimmed.len() == rest.len() && count == 0 || word[0].is_ascii_digit() || qualifier {
            return false;
        }
        // `API char *f(void)`, `API void *(*f)(void)`
        rest = trimmed[length..].trim_ascii_start();
        if rest.starts_with(b"*(") || rest.starts_with(b"(*") {
            return true;
        }
        rest = rest.strip_prefix(b"*").or(rest.strip_prefix(b"&")).unwrap_or(rest);
    }
    true
}

/// A word in capitals between the type of a function and its name (`int WINAPI f(void)`).
fn before_a_name(text: &[u8], (at, end): (usize, usize), (last, before): (u8, &[u8])) -> bool {
    // What stands before may say that the word is the type.
    let is_type = matches!(
        before,
        b"static"
            | b"extern"
            | b"inline"
            | b"const"
            | b"constexpr"
            | b"volatile"
            | b"register"
            | b"virtual"
            | b"explicit"
            | b"friend"
            | b"typedef"
            | b"typename"
            | b"struct"
            | b"class"
            | b"union"
            | b"enum"
            | b"return"
            | b"else"
            | b"new"
            | b"case"
            | b"goto"
            | b"throw"
            | b"operator"
            | b"using"
            | b"define"
    );
    if !is_capitals(&text[at..end]) || is_type || !is_word(last) {
        return false;
    }
    let name = skip_blank(text, end);
    let name_end = word_end(text, name);
    // `int EXPORT f OF((int a))`
    let follows = text.get(skip_blank(text, name_end)).is_some_and(|&byte| byte == b'(' || byte.is_ascii_uppercase());
    name > end && name_end > name && text[name].is_ascii_lowercase() && follows
}

/// Comments that the grammar sees in the strings of a line of the preprocessor (`#define ALL "refs/*"`): their second byte.
fn stars_in_strings(text: &[u8], from: usize, end: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = from;
    while at < end {
        match text[at] {
            b'/' if text.get(at + 1) == Some(&b'/') => return found,
            b'/' if text.get(at + 1) == Some(&b'*') => at = comment_end(text, at),
            b'"' => {
                let close = quote_end(text, at).min(end);
                let pairs = text[at..close].windows(2).enumerate();
                found.extend(
                    pairs
                        .filter(|(_, pair)| pair.starts_with(b"/") && matches!(pair[1], b'*' | b'/'))
                        .map(|(offset, _)| at + offset + 1),
                );
                at = close.max(at + 1);
            }
            _ => at += 1,
        }
    }
    found
}

/// `int f OF((int a));`: where the outer brackets of the macro close.
fn doubled(text: &[u8], at: usize, end: usize, (last, before): (u8, &[u8])) -> Option<usize> {
    let capitals = end - at > 1 && text[at..end].iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    let keyword = matches!(before, b"return" | b"else" | b"do" | b"case" | b"goto" | b"sizeof");
    if !capitals || keyword || !is_word(last) && last != b')' || !text[end..].starts_with(b"((") {
        return None;
    }
    let length = text[end..].iter().take(4000).position(|&byte| byte == b';')?;
    let inner = text[end..end + length].trim_ascii_end();
    inner.ends_with(b"))").then(|| end + inner.len() - 1)
}

/// Where a macro ends that follows the parameters of a function on their line (`void f(void) LOCKED(mutex);`).
fn after_parameters(
    text: &[u8],
    (at, mut end): (usize, usize),
    (last, before): (u8, &[u8]),
    in_condition: bool,
) -> Option<usize> {
    let same_line = || text[..at].iter().rev().find(|&&byte| byte != b' ') == Some(&b')');
    let of_function = last == b')' && !in_condition && same_line()
        || is_word(last) && matches!(before, b"const" | b"noexcept" | b"override" | b"final");
    if !of_function || !is_capitals(&text[at..end]) {
        return None;
    }
    if text.get(end) == Some(&b'(') {
        end += text[end..].iter().take(200).position(|&byte| byte == b')')? + 1;
    }
    matches!(text.get(skip_blank(text, end)), Some(b';' | b'{')).then_some(end)
}

/// A word in capitals that begins a declaration and has its line for itself.
fn alone_on_its_line(text: &[u8], at: usize, end: usize, last: u8) -> bool {
    if !is_capitals(&text[at..end]) || !matches!(last, b';' | b'{' | b'}' | b':') || !alone(text, at) {
        return false;
    }
    let rest = &text[end..line_end(text, end)];
    let rest = rest.trim_ascii();
    if !rest.is_empty() && !rest.starts_with(b"//") && !rest.starts_with(b"/*") {
        return false;
    }
    // The first member of an enum is followed by its end.
    let next = text.get(skip_blank(text, line_end(text, end)));
    matches!(last, b';' | b'}') || next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, b'_' | b'/' | b'~'))
}
