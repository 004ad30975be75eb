//! The header block of a frame.

/// Why the connection must be closed: where the next frame begins cannot be known any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The length is negative or no number.
    #[error("the header announces a length of `{0}`, which is no count of bytes; the connection is closed")]
    Length(String),
    /// Two lengths that differ.
    #[error("the header announces two lengths, {0} and {1} bytes; the connection is closed")]
    TwoLengths(u64, u64),
    /// More than a frame may have.
    #[error("the header announces {announced} bytes, and a frame may have {limit}; the connection is closed")]
    TooLong {
        /// As announced; `u64::MAX` stands for everything beyond.
        announced: u64,
        /// The limit.
        limit: usize,
    },
    /// A header block that does not end.
    #[error("the header has not ended after {limit} bytes; the connection is closed")]
    HeaderTooLong {
        /// The limit.
        limit: usize,
    },
    /// Bytes without a frame among them.
    #[error("{bytes} bytes came without a frame among them, beginning with `{sample}`; the connection is closed")]
    TooMuchJunk {
        /// How many, so far.
        bytes: usize,
        /// How they begin, without control characters.
        sample: String,
    },
}

/// What stands at the beginning of some bytes.
#[derive(Debug, PartialEq)]
pub(crate) enum Block {
    /// A block of `size` bytes, whose body has `length`.
    Complete { size: usize, length: usize },
    /// It may become one; `announced` if a length was among its lines.
    Unfinished { announced: bool },
    /// It is none: a line that is no header, or no length in it.
    None,
    /// It is one, and cannot be believed.
    Wrong(ProtocolError),
}

/// More lines than any peer writes; a block of junk is given up after them.
const LINES: usize = 32;
const NAME: &[u8] = b"content-length";

/// Reads the block at the beginning of `bytes`, whose body may have `limit` bytes.
pub(crate) fn read(bytes: &[u8], limit: usize) -> Block {
    let mut at = 0;
    let mut length = None;
    for _ in 0..LINES {
        let rest = &bytes[at..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return if may_begin_line(rest) { Block::Unfinished { announced: length.is_some() } } else { Block::None };
        };
        let Some(line) = rest[..end].strip_suffix(b"\r") else { return Block::None };
        at += end + 1;
        if line.is_empty() {
            return match length {
                Some(length) => Block::Complete { size: at, length },
                None => Block::None,
            };
        }
        let Some((name, value)) = split(line) else { return Block::None };
        if !name.eq_ignore_ascii_case(NAME) {
            continue;
        }
        let new = match number(value, limit) {
            Ok(new) => new,
            Err(error) => return Block::Wrong(error),
        };
        match length {
            Some(old) if old != new => return Block::Wrong(ProtocolError::TwoLengths(old as u64, new as u64)),
            _ => length = Some(new),
        }
    }
    Block::None
}

/// Whether what follows `content-length:` may be a length and a line end, or the beginning of them. It is decided by a few
/// bytes: among junk this is asked at every hit, and reading a whole block each time would take time in the square.
pub(crate) fn may_be_length(bytes: &[u8]) -> bool {
    const ENOUGH: usize = 40;
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut bytes = bytes.iter().take(ENOUGH).copied().peekable();
    while bytes.next_if(blank).is_some() {}
    while bytes.next_if(u8::is_ascii_digit).is_some() {}
    while bytes.next_if(blank).is_some() {}
    matches!((bytes.next(), bytes.next()), (None, _) | (Some(b'\r'), None | Some(b'\n')))
}

/// The name and the value of a line, if it is a header.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let is_header = !name.is_empty() && name.iter().copied().all(is_token) && value.iter().copied().all(is_value);
    is_header.then(|| (name, value.trim_ascii()))
}

/// Whether bytes without a line end may be the beginning of a header line.
fn may_begin_line(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    match bytes.iter().position(|byte| *byte == b':') {
        Some(colon) => split(bytes).is_some_and(|_| colon > 0),
        None => bytes.iter().copied().all(is_token),
    }
}

/// The characters that a name may have (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

fn number(value: &[u8], limit: usize) -> Result<usize, ProtocolError> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        let shown = &value[..value.len().min(40)];
        return Err(ProtocolError::Length(String::from_utf8_lossy(shown).into_owned()));
    }
    let text = str::from_utf8(value).expect("digits are UTF-8");
    // Only digits: what does not fit is too large.
    let announced = text.parse().unwrap_or(u64::MAX);
    match usize::try_from(announced) {
        Ok(length) if length <= limit => Ok(length),
        _ => Err(ProtocolError::TooLong { announced, limit }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, ProtocolError, read};

    fn check(text: &str, expected: Block) {
        assert_eq!(read(text.as_bytes(), 1000), expected, "{text:?}");
    }

    #[test]
    fn blocks_are_read_as_peers_write_them() {
        check("Content-Length: 5\r\n\r\nrest", Block::Complete { size: 21, length: 5 });
        check("content-LENGTH:5\r\n\r\n", Block::Complete { size: 20, length: 5 });
        check("Content-Type: x; charset=utf-8\r\nContent-Length: 5\r\n\r\n", Block::Complete { size: 53, length: 5 });
        check("Content-Length: 5\r\nContent-Length: 5\r\n\r\n", Block::Complete { size: 40, length: 5 });
        check("Content-Length: 5\r\n", Block::Unfinished { announced: true });
        check("Content-Length: 5\r\n\r", Block::Unfinished { announced: true });
        check("Conte", Block::Unfinished { announced: false });
        check("", Block::Unfinished { announced: false });
    }

    #[test]
    fn what_is_no_block_is_none() {
        check("Starting the server\n", Block::None);
        check("INFO: Content-Length: 5\nrest", Block::None);
        check("Type: x\r\n\r\n", Block::None);
        check("two words", Block::None);
        check("{\"a\":1}", Block::None);
        check(": 5\r\n", Block::None);
        check(&"a: b\r\n".repeat(40), Block::None);
    }

    #[test]
    fn lengths_that_cannot_be_believed_are_wrong() {
        let wrong = |value: &str| Block::Wrong(ProtocolError::Length(value.to_owned()));
        check("Content-Length: -1\r\n\r\n", wrong("-1"));
        check("Content-Length: +5\r\n\r\n", wrong("+5"));
        check("Content-Length: 0x5\r\n\r\n", wrong("0x5"));
        check("Content-Length:\r\n\r\n", wrong(""));
        check("Content-Length: 5\r\nContent-Length: 6\r\n\r\n", Block::Wrong(ProtocolError::TwoLengths(5, 6)));
        let too_long = |announced| Block::Wrong(ProtocolError::TooLong { announced, limit: 1000 });
        check("Content-Length: 10000000000\r\n\r\n", too_long(10_000_000_000));
        check("Content-Length: 99999999999999999999999\r\n\r\n", too_long(u64::MAX));
    }
}
