//! Frames going out.

use std::io::Write as _;

use serde::Serialize;

/// Room for `Content-Length: `, twenty digits, and two line ends.
const HEADER: usize = 40;

/// The frame of a body, as one piece: a frame that is written in pieces may be torn by whoever writes beside it.
#[must_use]
pub fn encode(body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEADER + body.len());
    write!(frame, "Content-Length: {}\r\n\r\n", body.len()).expect("writing into memory does not fail");
    frame.extend_from_slice(body);
    frame
}

/// The frame of a value.
///
/// # Errors
/// If the value cannot be written as JSON (a map whose keys are no strings, say).
pub fn encode_value<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(value).map(|body| encode(&body))
}

#[cfg(test)]
mod tests {
    use super::{encode, encode_value};

    #[test]
    fn a_frame_counts_bytes_and_not_characters() {
        assert_eq!(encode("{\"a\":\"é\"}".as_bytes()), "Content-Length: 10\r\n\r\n{\"a\":\"é\"}".as_bytes());
        assert_eq!(encode_value(&serde_json::json!({"a": 1})).unwrap(), b"Content-Length: 7\r\n\r\n{\"a\":1}");
    }
}
