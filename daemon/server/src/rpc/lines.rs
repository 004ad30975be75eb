//! A connection that speaks newline-delimited JSON: one task owns the socket, reads, dispatches and writes.
//!
//! One task and not two: an instant call is read, answered and written without waking anything else. Back-pressure is
//! "not reading": while too many calls are under way, while large requests fill the byte budget, or while the client
//! leaves more than [`UNREAD`] bytes of answers unread, nothing is taken from the socket, and the kernel's buffer makes
//! the client wait. Instant calls and `rpc.cancel` are answered as they are read, also while all workers are busy.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use jsonrpsee::{core::server::MethodResponse, types::Id};
use rustix::event::{PollFd, PollFlags, Timespec};
use tokio::{net::UnixStream, task::JoinSet};

use crate::{
    daemon::Daemon,
    rpc::{
        answer::{refuse, request_too_large},
        dispatch::Reply,
        peer::Peer,
    },
};

/// A client that leaves more than this unread is not read from.
const UNREAD: usize = 1 << 20;
/// Larger requests count against the connection's byte budget and are parsed off the shared threads.
const LARGE: usize = 1 << 20;
/// A client that takes nothing for this long is given up.
const STALLED: Duration = Duration::from_secs(30);
/// How often a half-closed or unread connection is asked whether the peer is gone.
const HANG_UP: Duration = Duration::from_millis(50);
/// Lines in a row that are no JSON before the connection is closed: pretty-printed JSON gives one a line.
const BROKEN: u32 = 8;
/// Bytes read at a time.
const CHUNK: usize = 16 << 10;
/// A buffer that grew beyond this is given back when it is empty.
const KEPT: usize = 256 << 10;

/// Why a connection ended, for the log.
#[derive(Debug)]
enum End {
    Closed,
    HungUp,
    Stalled,
    NotJson,
    Failed(io::Error),
}

struct Answered {
    response: Option<MethodResponse>,
    /// Bytes of a large request that count no more.
    large: usize,
}

struct Lines {
    daemon: Arc<Daemon>,
    peer: Arc<Peer>,
    stream: UnixStream,
    input: Vec<u8>,
    /// Where the line that is not handled yet begins.
    start: usize,
    /// Up to where it was searched for its end.
    scanned: usize,
    /// The rest of an over-long line is thrown away.
    skipping: bool,
    broken: u32,
    eof: bool,
    output: Vec<u8>,
    written: usize,
    last_progress: Instant,
    calls: JoinSet<Answered>,
    large: usize,
    /// Calls that may be read ahead: as many as may be under way, twice.
    read_ahead: usize,
}

/// Serves a connection whose first bytes were read.
pub(crate) async fn serve(daemon: Arc<Daemon>, peer: Arc<Peer>, stream: UnixStream, input: Vec<u8>, eof: bool) {
    let read_ahead = 2 * daemon.settings().in_flight() as usize;
    let mut lines = Lines {
        daemon,
        peer,
        stream,
        input,
        start: 0,
        scanned: 0,
        skipping: false,
        broken: 0,
        eof,
        output: Vec::new(),
        written: 0,
        last_progress: Instant::now(),
        calls: JoinSet::new(),
        large: 0,
        read_ahead,
    };
    let end = lines.run().await;
    // Whoever is gone wants no answers: the calls' tokens are set, then their tasks are dropped.
    lines.peer.cancel_all();
    match end {
        End::Failed(error) => tracing::debug!(peer = lines.peer.id, %error, "connection failed"),
        End::Stalled => {
            lines.daemon.metrics.counters.connections_stalled.add();
            tracing::info!(peer = lines.peer.id, "connection given up: the client does not read");
        }
        end => tracing::debug!(peer = lines.peer.id, ?end, "connection ended"),
    }
}

impl Lines {
    async fn run(&mut self) -> End {
        let mut hang_up = tokio::time::interval(HANG_UP);
        hang_up.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let daemon = Arc::clone(&self.daemon);
        let peer = Arc::clone(&self.peer);
        loop {
            self.take_lines();
            self.take_events();
            if let Err(error) = self.write() {
                return End::Failed(error);
            }
            if self.broken >= BROKEN && self.unread() == 0 {
                return End::NotJson;
            }
            let draining = daemon.is_draining();
            if self.calls.is_empty() && self.unread() == 0 {
                let subscribed = self.peer.subscriptions.len() > 0;
                if self.eof && self.start == self.input.len() && !subscribed {
                    return End::Closed;
                }
                if draining && !self.more_to_read() {
                    return End::Closed;
                }
            }
            // An endless stream of instant calls must leave the thread to others now and then.
            tokio::task::consume_budget().await;
            let reading = self.wants_input();
            let pending = !self.calls.is_empty() || self.peer.subscriptions.len() > 0 || self.unread() > 0;
            tokio::select! {
                biased;
                ready = self.stream.readable(), if reading => {
                    if let Err(error) = ready.and_then(|()| self.read()) {
                        return End::Failed(error);
                    }
                }
                ready = self.stream.writable(), if self.unread() > 0 => {
                    if let Err(error) = ready {
                        return End::Failed(error);
                    }
                }
                Some(done) = self.calls.join_next(), if self.unread() <= UNREAD => self.answered(done),
                () = peer.wake.notified() => {}
                () = tokio::time::sleep_until((self.last_progress + STALLED).into()), if self.unread() > 0 => return End::Stalled,
                () = daemon.draining(), if !draining => {}
                _ = hang_up.tick(), if !reading && pending => {
                    if self.is_gone() {
                        return End::HungUp;
                    }
                }
            }
        }
    }

    /// Bytes of answers that the client has not taken.
    fn unread(&self) -> usize {
        self.output.len() - self.written
    }

    fn may_handle(&self) -> bool {
        let budget = self.daemon.settings().connection_bytes();
        let line = self.input.len() - self.start;
        self.broken < BROKEN
            && self.unread() <= UNREAD
            && self.calls.len() < self.read_ahead
            && (self.large == 0 || self.large + line <= budget)
    }

    fn wants_input(&self) -> bool {
        !self.eof && self.may_handle()
    }

    fn more_to_read(&self) -> bool {
        let mut one = [0_u8; 1];
        matches!(
            rustix::net::recv(&self.stream, &mut one, rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT),
            Ok((1.., _))
        )
    }

    fn read(&mut self) -> io::Result<()> {
        let limit = self.daemon.settings().request_bytes();
        // Grown by doubling, but never beyond what a line may hold: a line over the limit costs the limit, not more.
        let room = (self.input.len() - self.start).clamp(CHUNK, (limit + CHUNK).saturating_sub(self.input.len()).max(CHUNK));
        self.input.reserve_exact(room);
        match self.stream.try_read_buf(&mut self.input) {
            Ok(0) => self.eof = true,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Handles the lines that have come in, as far as the limits allow.
    fn take_lines(&mut self) {
        let limit = self.daemon.settings().request_bytes();
        while self.may_handle() {
            let from = self.scanned.max(self.start);
            let end = match memchr::memchr(b'\n', &self.input[from..]) {
                Some(at) => from + at,
                None => {
                    self.scanned = self.input.len();
                    if self.input.len() - self.start > limit {
                        self.skip(limit);
                    } else if self.skipping {
                        self.start = self.input.len();
                    } else if self.eof && self.start < self.input.len() {
                        // `printf '{…}' | nc -U`: the last line needs no line end.
                        self.line(self.start, self.input.len());
                        self.start = self.input.len();
                        continue;
                    }
                    break;
                }
            };
            let start = self.start;
            if std::mem::take(&mut self.skipping) {
                // The end of a line that was answered already.
            } else if end - start > limit {
                self.skip(limit);
                self.skipping = false;
            } else {
                self.line(start, end);
            }
            self.start = end + 1;
            self.scanned = self.start;
        }
        self.compact();
    }

    /// Answers an over-long line and throws away what has come of it.
    fn skip(&mut self, limit: usize) {
        if !std::mem::replace(&mut self.skipping, true) {
            self.daemon.metrics.counters.too_long.add();
            self.push(&refuse(Id::Null, &request_too_large(limit)));
        }
        self.start = self.input.len();
    }

    fn compact(&mut self) {
        if self.start == self.input.len() {
            if self.input.capacity() > KEPT {
                self.input = Vec::new();
            } else {
                self.input.clear();
            }
        } else if self.start > CHUNK {
            self.input.drain(..self.start);
        } else {
            return;
        }
        self.scanned = self.scanned.saturating_sub(self.start).min(self.input.len());
        self.start = 0;
    }

    fn line(&mut self, start: usize, end: usize) {
        let text = &self.input[start..end];
        if text.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let large = if text.len() > LARGE { text.len() } else { 0 };
        let handle = || self.daemon.dispatcher.handle(&self.daemon, &self.peer, text);
        // Parsing many MiB takes long enough to be felt by the other connections of this thread.
        let reply = if large > 0 { tokio::task::block_in_place(handle) } else { handle() };
        match reply {
            Reply::Now(response) => {
                self.broken = 0;
                self.push(&response);
            }
            Reply::Broken(response) => {
                self.broken += 1;
                self.push(&response);
            }
            Reply::Silent => self.broken = 0,
            Reply::Later(later) => {
                self.broken = 0;
                self.large += large;
                self.calls.spawn(async move { Answered { response: later.await, large } });
            }
        }
    }

    fn answered(&mut self, done: Result<Answered, tokio::task::JoinError>) {
        match done {
            Ok(answered) => {
                self.large -= answered.large;
                if let Some(response) = answered.response {
                    self.push(&response);
                }
            }
            // Handlers are guarded; only the end of the runtime aborts a task.
            Err(error) => tracing::error!(%error, "a call ended without an answer"),
        }
    }

    fn push(&mut self, response: &MethodResponse) {
        if self.unread() == 0 {
            self.last_progress = Instant::now();
        }
        self.output.extend_from_slice(response.as_ref().as_bytes());
        self.output.push(b'\n');
    }

    fn take_events(&mut self) {
        let idle = self.unread() == 0;
        let mut any = false;
        while self.unread() <= UNREAD && self.peer.subscriptions.next_line(&mut self.output) {
            any = true;
        }
        if any && idle {
            self.last_progress = Instant::now();
        }
    }

    /// Writes all that waits, as far as the socket takes it.
    fn write(&mut self) -> io::Result<()> {
        while self.unread() > 0 {
            match self.stream.try_write(&self.output[self.written..]) {
                Ok(bytes) => {
                    self.written += bytes;
                    self.last_progress = Instant::now();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.unread() == 0 {
            self.written = 0;
            if self.output.capacity() > KEPT {
                self.output = Vec::new();
            } else {
                self.output.clear();
            }
        } else if self.written > UNREAD {
            self.output.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }

    /// Whether the peer has closed both directions. A half-close is a legal way to ask one question and is not that.
    fn is_gone(&self) -> bool {
        let mut fds = [PollFd::new(&self.stream, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match rustix::event::poll(&mut fds, Some(&now)) {
            Ok(_) => fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR),
            Err(_) => false,
        }
    }
}
