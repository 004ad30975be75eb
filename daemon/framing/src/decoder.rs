//! Frames coming in.

use std::{collections::VecDeque, mem};

use crate::{
    header::{self, Block, ProtocolError},
    message::Message,
};

/// What is searched for among junk.
const MARK: &[u8] = b"content-length:";
/// How much of the junk is shown, in bytes.
const SAMPLE: usize = 256;

/// The bounds of what a peer may send, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The body of a frame; 64 MiB unless told otherwise.
    pub frame: usize,
    /// A header block; 8 KiB unless told otherwise.
    pub header: usize,
    /// What stands between two frames; 1 MiB unless told otherwise.
    pub junk: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { frame: 64 << 20, header: 8 << 10, junk: 1 << 20 }
    }
}

/// What was found in the bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A frame.
    Message(Message),
    /// A frame whose body is no JSON object; what follows it is read on.
    Dropped {
        /// The length of its body, in bytes.
        length: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Bytes that belong to no frame; told when the next frame begins.
    Junk {
        /// How many.
        bytes: usize,
        /// How they begin: at most 256 bytes, without control characters.
        sample: String,
    },
}

/// What has come of a frame that is not complete: the reader gives it a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Nothing: the peer is between two frames, and may be so for ever.
    Nothing,
    /// Some bytes that are no frame yet.
    Header {
        /// How many are held.
        held: usize,
    },
    /// A body.
    Body {
        /// Bytes that came.
        held: usize,
        /// Bytes that were announced.
        length: usize,
    },
}

/// The decoder of one connection. Push what was read, take events until there is none, read again.
///
/// ```
/// # use ccd_framing::{Decoder, Event, Limits, encode};
/// let mut decoder = Decoder::new(Limits::default());
/// decoder.push(b"Listening...");
/// decoder.push(&encode(b"{\"id\":1}"));
/// assert!(matches!(decoder.next()?, Some(Event::Junk { bytes: 12, .. })));
/// let Some(Event::Message(message)) = decoder.next()? else { panic!("a frame came") };
/// assert_eq!(message.get(), "{\"id\":1}");
/// assert_eq!(decoder.next()?, None);
/// # Ok::<(), ccd_framing::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    /// Bytes that are not understood yet; those before `at` are done with.
    buffer: Vec<u8>,
    at: usize,
    /// A body under way, and how long it shall be.
    body: Option<(Vec<u8>, usize)>,
    junk: Junk,
    /// Found, and not taken yet: at most two.
    ready: VecDeque<Event>,
    failed: Option<ProtocolError>,
}

#[derive(Debug, Default)]
struct Junk {
    bytes: usize,
    sample: Vec<u8>,
}

impl Junk {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        let room = SAMPLE - self.sample.len();
        self.sample.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn sample(&self) -> String {
        String::from_utf8_lossy(&self.sample).chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
    }
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, buffer: Vec::new(), at: 0, body: None, junk: Junk::default(), ready: VecDeque::new(), failed: None }
    }

    /// Takes what was read. Take events until there is none before the next push: what is pushed is kept until then.
    pub fn push(&mut self, chunk: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let mut rest = chunk;
        if self.at == self.buffer.len()
            && let Some((body, length)) = &mut self.body
        {
            // Straight to its place: a large body is not copied twice.
            let (part, after) = rest.split_at(rest.len().min(*length - body.len()));
            append(body, part, *length);
            rest = after;
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.extend_from_slice(rest);
    }

    /// The next event, or none until more bytes are pushed.
    ///
    /// # Errors
    /// If the connection must be closed; it says so again to every further call.
    // It is not an iterator: it goes on after `None`, and fails.
    #[allow(clippy::should_implement_trait, reason = "the name of the field for it")]
    pub fn next(&mut self) -> Result<Option<Event>, ProtocolError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if let Some(error) = &self.failed {
                return Err(error.clone());
            }
            let moved = if self.body.is_some() { self.fill() } else { self.look() };
            match moved {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => {
                    (self.buffer, self.at, self.body) = (Vec::new(), 0, None);
                    self.failed = Some(error);
                }
            }
        }
    }

    /// What of a frame has come and is not complete. Ask after [`Decoder::next`] gave none.
    #[must_use]
    pub fn pending(&self) -> Pending {
        match &self.body {
            Some((body, length)) => Pending::Body { held: body.len(), length: *length },
            None if self.buffer.len() > self.at => Pending::Header { held: self.buffer.len() - self.at },
            None => Pending::Nothing,
        }
    }

    /// The bytes since the last frame that belong to none, and how they begin. A peer that never speaks the protocol has
    /// often said there why.
    #[must_use]
    pub fn junk(&self) -> Option<(usize, String)> {
        (self.junk.bytes > 0).then(|| (self.junk.bytes, self.junk.sample()))
    }

    /// The bytes of memory that it holds, for those who count.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.buffer.capacity() + self.body.as_ref().map_or(0, |(body, _)| body.capacity()) + self.junk.sample.capacity()
    }

    /// Fills the body under way. Whether something was found.
    fn fill(&mut self) -> Result<bool, ProtocolError> {
        let Some((body, length)) = &mut self.body else { return Ok(false) };
        let held = &self.buffer[self.at..];
        let part = held.len().min(*length - body.len());
        append(body, &held[..part], *length);
        self.at += part;
        if body.len() < *length {
            return Ok(false);
        }
        let (body, length) = (mem::take(body), *length);
        self.body = None;
        self.ready.push_back(match Message::check(body) {
            Ok(message) => Event::Message(message),
            Err(reason) => Event::Dropped { length, reason },
        });
        Ok(true)
    }

    /// Looks for a header block. Whether something was found.
    fn look(&mut self) -> Result<bool, ProtocolError> {
        // Right after a frame a block is expected in its place; after junk it may begin anywhere.
        let searching = self.junk.bytes > 0;
        if searching && !self.search()? {
            return Ok(false);
        }
        let held = &self.buffer[self.at..];
        let bounded = &held[..held.len().min(self.limits.header)];
        match header::read(bounded, self.limits.frame) {
            Block::Complete { size, length } => match held.get(size) {
                None => Ok(false),
                Some(b'{') if length > 0 => {
                    self.at += size;
                    self.body = Some((Vec::new(), length));
                    self.tell_junk();
                    Ok(true)
                }
                Some(_) => self.skip(1),
            },
            Block::Unfinished { .. } if held.len() < self.limits.header => Ok(false),
            Block::Unfinished { announced: true } if !searching => {
                Err(ProtocolError::HeaderTooLong { limit: self.limits.header })
            }
            Block::Wrong(error) if !searching => Err(error),
            Block::Unfinished { .. } | Block::None | Block::Wrong(_) => self.skip(1),
        }
    }

    /// Goes to the next place where a header may begin. Whether there is one; what may become one is kept.
    fn search(&mut self) -> Result<bool, ProtocolError> {
        let held = &self.buffer[self.at..];
        let is_hit = |(at, window): (usize, &[u8])| {
            let hit = window.eq_ignore_ascii_case(MARK) && header::may_be_length(&held[at + MARK.len()..]);
            hit.then_some(at)
        };
        let found = held.windows(MARK.len()).enumerate().find_map(is_hit);
        let junk = found.unwrap_or_else(|| {
            let kept = (1..MARK.len().min(held.len() + 1)).rev();
            let kept = kept.into_iter().find(|size| held[held.len() - size..].eq_ignore_ascii_case(&MARK[..*size]));
            held.len() - kept.unwrap_or(0)
        });
        self.skip(junk)?;
        Ok(found.is_some())
    }

    /// Gives up some bytes as junk.
    fn skip(&mut self, bytes: usize) -> Result<bool, ProtocolError> {
        self.junk.add(&self.buffer[self.at..self.at + bytes]);
        self.at += bytes;
        if self.junk.bytes > self.limits.junk {
            return Err(ProtocolError::TooMuchJunk { bytes: self.junk.bytes, sample: self.junk.sample() });
        }
        Ok(true)
    }

    fn tell_junk(&mut self) {
        if self.junk.bytes > 0 {
            self.ready.push_back(Event::Junk { bytes: self.junk.bytes, sample: self.junk.sample() });
            self.junk = Junk::default();
        }
    }
}

/// Appends to a body that will have `length` bytes: room is made as bytes come, and never for more than will.
fn append(body: &mut Vec<u8>, part: &[u8], length: usize) {
    let needed = body.len() + part.len();
    if needed > body.capacity() {
        let room = (body.capacity() * 2).max(needed).min(length);
        body.reserve_exact(room - body.len());
    }
    body.extend_from_slice(part);
}
