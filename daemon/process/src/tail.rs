//! The last that a process wrote to its stderr.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::watch,
    time::timeout,
};

/// How much is kept, in bytes.
const KEPT: usize = 64 << 10;
/// A longer line is shown by its beginning, in characters.
const LINE: usize = 500;

#[derive(Debug, Default)]
struct Ring {
    bytes: VecDeque<u8>,
    total: u64,
}

/// The last 64 KiB of a stream that is always read, however much comes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tail {
    ring: Arc<Mutex<Ring>>,
    ended: watch::Receiver<bool>,
}

impl Tail {
    /// Starts the task that reads until the stream ends.
    pub(crate) fn drain(mut stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let (end, tail) = Self::new();
        let ring = tail.clone();
        tokio::spawn(async move {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                ring.push(&buffer[..count]);
            }
            end.send_replace(true);
        });
        tail
    }

    fn new() -> (watch::Sender<bool>, Self) {
        let (end, ended) = watch::channel(false);
        (end, Self { ring: Arc::default(), ended })
    }

    /// Waits so long for the end of the stream, which comes at most 200 ms after the exit of the process: who tells how a
    /// process ended wants its last words. False if more may come.
    pub async fn ended_within(&self, limit: Duration) -> bool {
        let mut ended = self.ended.clone();
        timeout(limit, ended.wait_for(|ended| *ended)).await.is_ok()
    }

    fn push(&self, bytes: &[u8]) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.total += bytes.len() as u64;
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let excess = (ring.bytes.len() + bytes.len()).saturating_sub(KEPT);
        ring.bytes.drain(..excess);
        ring.bytes.extend(bytes);
    }

    /// All that is kept, as it came.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.bytes.iter().copied().collect()
    }

    /// How many bytes came in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).total
    }

    /// The last lines that are not empty, at most `count`, without escapes and control characters, each of at most 500
    /// characters. It is still what a stranger wrote: show it as a quotation.
    #[must_use]
    pub fn lines(&self, count: usize) -> Vec<String> {
        let bytes = self.bytes();
        let text = String::from_utf8_lossy(&bytes);
        // A progress bar writes its states over each other; the last one stands.
        let lines = text.lines().map(|line| plain(line.trim_end().rsplit('\r').next().unwrap_or(line)));
        let mut lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
        lines.split_off(lines.len().saturating_sub(count))
    }
}

/// The text without terminal escapes and control characters, and not longer than a line is shown.
fn plain(line: &str) -> String {
    let mut plain = String::new();
    let mut chars = line.chars().peekable();
    let mut count = 0;
    while let Some(char) = chars.next() {
        if count == LINE {
            plain.push('…');
            break;
        }
        if char == '\u{1b}' {
            if chars.next_if_eq(&'[').is_some() {
                // A control sequence ends with a letter or one of a few signs.
                while chars.next_if(|char| !('@'..='~').contains(char)).is_some() {}
            }
            chars.next();
        } else if char == '\t' {
            plain.push(' ');
            count += 1;
        } else if !char.is_control() {
            plain.push(char);
            count += 1;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Tail};

    #[test]
    fn the_last_lines_are_shown_plain() {
        let tail = Tail::new().1;
        tail.push(b"first\n\x1b[1;31merror\x1b[0m: bad\tthing\x07\n\n10%\r50%\r100%\nno newline \xff");
        assert_eq!(tail.lines(3), ["error: bad thing", "100%", "no newline \u{fffd}"]);
        assert_eq!(tail.lines(99).len(), 4);
        assert_eq!(tail.lines(0), Vec::<String>::new());
    }

    #[test]
    fn only_the_last_is_kept() {
        let tail = Tail::new().1;
        for _ in 0..10 {
            tail.push(&[b'a'; 20 << 10]);
        }
        tail.push(&[b'b'; 100 << 10]);
        assert_eq!((tail.bytes().len(), tail.total()), (KEPT, 300 << 10));
        assert!(tail.bytes().iter().all(|byte| *byte == b'b'));
        assert_eq!(tail.lines(1)[0].chars().count(), 501);
    }
}
