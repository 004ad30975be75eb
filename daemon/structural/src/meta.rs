//! Metavariables in the text of a pattern or a template.

use std::ops::Range;

/// What a `$…` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `$NAME` or `$_`: one node.
    One,
    /// `$$$NAME` or `$$$`: any run of siblings.
    Many,
    /// None of these; what to tell if it is not in a string or comment.
    Bad(String),
}

/// A metavariable where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) kind: Kind,
    /// Without `$`; empty for `$$$`. One that begins with `_` is not bound.
    pub(crate) name: String,
    /// In the text.
    pub(crate) at: Range<usize>,
}

impl Meta {
    /// The name that it binds.
    pub(crate) fn bound(&self) -> Option<&str> {
        let binds = !self.name.is_empty() && !self.name.starts_with('_') && !matches!(self.kind, Kind::Bad(_));
        binds.then_some(self.name.as_str())
    }

    /// As it is written.
    pub(crate) fn written(&self) -> String {
        let dollars = if self.kind == Kind::Many { "$$$" } else { "$" };
        format!("{dollars}{}", self.name)
    }
}

/// All of a text, in order, and hints about what looks like one. `dollar`: `$` is a character of identifiers.
pub(crate) fn scan(text: &str, dollar: bool) -> (Vec<Meta>, Vec<String>) {
    let (mut found, mut hints) = (Vec::new(), Vec::new());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(ahead) = memchr::memchr(b'$', &bytes[at..]) {
        let start = at + ahead;
        let dollars = bytes[start..].iter().take_while(|&&byte| byte == b'$').count();
        let name_at = start + dollars;
        let name = &text[name_at..][..upper(&bytes[name_at..])];
        let word = &text[name_at..][..word(&text[name_at..])];
        at = name_at + word.len();
        let joined = text[..start].chars().next_back().is_some_and(|before| before.is_alphanumeric() || before == '_');
        let written = &text[start..at];
        if !joined && name == word && ((dollars == 1 && !name.is_empty()) || dollars == 3) {
            let kind = if dollars == 1 { Kind::One } else { Kind::Many };
            found.push(Meta { kind, name: name.to_owned(), at: start..at });
            continue;
        }
        let why = match dollars {
            _ if joined && !word.is_empty() => format!(
                "`{}{written}`: a metavariable stands for a whole node, not for a part of a name. To narrow the name, write a metavariable alone and a regex for it in `where`",
                &text[text[..start].rfind(|before: char| !before.is_alphanumeric() && before != '_').map_or(0, |at| at + 1)
                    ..start]
            ),
            1 if word.is_empty() => continue,
            1 => format!("`{written}` is no metavariable: their names are upper case. Write `${}`", upper_name(word)),
            2 if !word.is_empty() => format!(
                "`{written}`: there are no metavariables for tokens. Write the token, or use a `kind` in `where`, or `relaxed` for modifiers"
            ),
            3 => format!("`{written}` is no metavariable: their names are upper case. Write `$$${}`", upper_name(word)),
            _ => format!("`{written}` is no metavariable: `$NAME` is one node, `$$$NAME` any run of nodes"),
        };
        if dollar && (dollars == 1 || joined) {
            hints.push(format!("{why}; it is searched for as it stands."));
        } else {
            found.push(Meta { kind: Kind::Bad(why), name: String::new(), at: start..at });
        }
    }
    (found, hints)
}

fn upper(bytes: &[u8]) -> usize {
    if bytes.first().is_some_and(u8::is_ascii_digit) {
        return 0;
    }
    bytes.iter().take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b'_').count()
}

fn word(text: &str) -> usize {
    text.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(text.len())
}

fn upper_name(word: &str) -> String {
    let name: String = word.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').map(|c| c.to_ascii_uppercase()).collect();
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) { format!("X{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, dollar: bool) -> Vec<String> {
        let (found, _) = scan(text, dollar);
        found.iter().map(|meta| if matches!(meta.kind, Kind::Bad(_)) { "bad".to_owned() } else { meta.written() }).collect()
    }

    #[test]
    fn names_are_upper_case_and_whole() {
        assert_eq!(written("f($A, $$$B, $_, $$$, $_X, $A1)", false), ["$A", "$$$B", "$_", "$$$", "$_X", "$A1"]);
        assert_eq!(written("$a $Name pre$X $$X $1 $$$rest", false), ["bad"; 6]);
        assert_eq!(written("$a $Name pre$X $1", true), [""; 0]);
        assert_eq!(written("$$X", true), ["bad"]);
        assert_eq!(scan("$a", true).1.len(), 1);
        assert_eq!(written("cost: $ 5", false), [""; 0]);
    }

    #[test]
    fn some_bind_nothing() {
        let (found, _) = scan("$A $_B $$$ $$$_C $$$D", false);
        assert_eq!(found.iter().filter_map(Meta::bound).collect::<Vec<_>>(), ["A", "D"]);
    }
}
