//! Lines and columns.

/// A place in a text: line and column, both 1-based, the column in Unicode scalar values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// 1-based.
    pub line: u32,
    /// 1-based, in Unicode scalar values; a byte that is no UTF-8 counts as one.
    pub column: u32,
}

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnding {
    /// LF everywhere, or no line end at all.
    Lf,
    /// CR LF everywhere.
    Crlf,
    /// Both.
    Mixed,
}

impl LineEnding {
    /// The line ending of a text.
    pub fn of(bytes: &[u8]) -> Self {
        let (mut lf, mut crlf) = (false, false);
        let mut previous = 0;
        for &byte in bytes {
            if byte == b'\n' {
                if previous == b'\r' {
                    crlf = true
                } else {
                    lf = true
                }
                if lf && crlf {
                    return Self::Mixed;
                }
            }
            previous = byte;
        }
        if crlf { Self::Crlf } else { Self::Lf }
    }
}

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
    ascii: bool,
}

impl LineIndex {
    /// Reads the text once. Texts of 4 GiB and more are not indexed by this type.
    pub fn new(text: &[u8]) -> Self {
        debug_assert!(u32::try_from(text.len()).is_ok());
        let mut starts = vec![0];
        for (at, &byte) in text.iter().enumerate() {
            if byte == b'\n' {
                starts.push(at as u32 + 1);
            }
        }
        Self { starts, ascii: text.is_ascii() }
    }

    /// The number of lines; a text that ends in a line end has no further, empty line.
    pub fn lines(&self, text: &[u8]) -> usize {
        if text.last().is_none_or(|&byte| byte == b'\n') { self.starts.len() - 1 } else { self.starts.len() }
    }

    /// The place of a byte offset; one behind the end is the end.
    pub fn place(&self, text: &[u8], offset: usize) -> Place {
        let offset = offset.min(text.len());
        let line = self.starts.partition_point(|&start| start as usize <= offset) - 1;
        let start = self.starts[line] as usize;
        let column = if self.ascii { offset - start } else { scalars(&text[start..offset]) };
        Place { line: line as u32 + 1, column: column as u32 + 1 }
    }

    /// The byte offset of a place, if the text has that line and column (the end of a line included).
    pub fn offset(&self, text: &[u8], place: Place) -> Option<usize> {
        let line = self.line(text, place.line)?;
        let start = self.starts[place.line as usize - 1] as usize;
        let wanted = place.column.checked_sub(1)? as usize;
        let mut at = 0;
        for _ in 0..wanted {
            at += scalar_len(line.get(at..).filter(|rest| !rest.is_empty())?);
        }
        Some(start + at)
    }

    /// A line without its line end, 1-based.
    pub fn line<'t>(&self, text: &'t [u8], line: u32) -> Option<&'t [u8]> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.starts.get(index)? as usize;
        let end = self.starts.get(index + 1).map_or(text.len(), |&next| next as usize - 1);
        let bytes = &text[start..end];
        Some(bytes.strip_suffix(b"\r").unwrap_or(bytes))
    }

    /// The byte offset at which a line begins, 1-based; the end of the text for a line behind the last.
    pub fn start_of(&self, text: &[u8], line: u32) -> usize {
        let index = (line as usize).saturating_sub(1);
        self.starts.get(index).map_or(text.len(), |&start| start as usize)
    }
}

fn scalars(bytes: &[u8]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        at += scalar_len(&bytes[at..]);
        count += 1;
    }
    count
}

/// The length in bytes of the scalar value that begins here; 1 for a byte that begins none.
fn scalar_len(bytes: &[u8]) -> usize {
    let wanted = match bytes[0] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return 1,
    };
    match bytes.get(..wanted) {
        Some(piece) if std::str::from_utf8(piece).is_ok() => wanted,
        _ => 1,
    }
}

/// The text as a string of at most `limit` bytes, cut at a character and then ended by `…`.
pub fn clip(bytes: &[u8], limit: usize) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(limit + 4)]);
    if text.len() <= limit && bytes.len() <= limit {
        return text.into_owned();
    }
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], offset: usize, line: u32, column: u32) {
        let index = LineIndex::new(text);
        let place = Place { line, column };
        assert_eq!(index.place(text, offset), place);
        assert_eq!(index.offset(text, place), Some(offset));
    }

    #[test]
    fn columns_are_scalar_values() {
        check(b"ab\ncd\n", 0, 1, 1);
        check(b"ab\ncd\n", 4, 2, 2);
        check("é€😀x\n".as_bytes(), 9, 1, 4);
        check("a\r\né b".as_bytes(), 6, 2, 3);
        check(b"\xffx", 1, 1, 2);
        check(b"\xc3", 1, 1, 2);
        check(b"", 0, 1, 1);
    }

    #[test]
    fn a_column_behind_the_line_is_none() {
        let text = b"ab\ncd";
        let index = LineIndex::new(text);
        assert_eq!(index.offset(text, Place { line: 1, column: 4 }), None);
        assert_eq!(index.offset(text, Place { line: 3, column: 1 }), None);
        assert_eq!(index.offset(text, Place { line: 0, column: 1 }), None);
    }

    #[test]
    fn lines_and_their_ends() {
        let text = b"a\r\nb\n";
        let index = LineIndex::new(text);
        assert_eq!(index.lines(text), 2);
        assert_eq!(index.line(text, 1), Some(&b"a"[..]));
        assert_eq!(LineEnding::of(text), LineEnding::Mixed);
        assert_eq!(LineEnding::of(b"a\r\n"), LineEnding::Crlf);
        assert_eq!(LineEnding::of(b"a"), LineEnding::Lf);
    }

    #[test]
    fn clipping_keeps_characters_whole() {
        assert_eq!(clip("aé".as_bytes(), 2), "a…");
        assert_eq!(clip("aé".as_bytes(), 3), "aé");
        assert_eq!(clip(b"abc", 2), "ab…");
    }
}
