//! A child's stdin: a bounded queue and one task that writes.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::AsyncWriteExt as _,
    net::unix::pipe,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    time::{Instant, sleep_until, timeout},
};

/// Pieces that may wait, whatever their size.
const PIECES: usize = 1024;
/// What waits when the input is closed may still go out for so long.
const CLOSING: Duration = Duration::from_millis(500);

/// Why something was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// There was no room in time: the process reads too slowly.
    #[error("the process does not read its input, and no more can wait for it")]
    Full,
    /// The input is closed: the process has ended, or we ended it.
    #[error("the input of the process is closed")]
    Closed,
    /// The process read nothing for the whole time that it is given; its input was closed.
    #[error("the process has stopped reading its input, which was closed")]
    Stalled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Closing,
    Closed,
    Stalled,
}

struct Piece {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

/// The way to a child's stdin. A process that does not read holds up only those who write to it, and those for as long as
/// they say. Pieces are written whole and in order. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Input {
    pieces: mpsc::Sender<Piece>,
    room: Arc<Semaphore>,
    budget: u32,
    state: watch::Sender<State>,
}

impl Input {
    /// Starts the task that writes.
    pub(crate) fn new(pipe: pipe::Sender, budget: usize, stall: Duration) -> Self {
        let budget = u32::try_from(budget).unwrap_or(u32::MAX).max(1);
        let (pieces, queue) = mpsc::channel(PIECES);
        let (state, seen) = watch::channel(State::Open);
        tokio::spawn(write(pipe, queue, state.clone(), seen, stall));
        Self { pieces, room: Arc::new(Semaphore::new(budget as usize)), budget, state }
    }

    /// Puts a piece into the queue, at once or not at all.
    ///
    /// # Errors
    /// [`InputError::Full`] if there is no room now.
    pub fn try_send(&self, bytes: Vec<u8>) -> Result<(), InputError> {
        if *self.state.borrow() != State::Open {
            return Err(self.refusal());
        }
        let room = Arc::clone(&self.room).try_acquire_many_owned(self.size(&bytes)).map_err(|_| self.refusal())?;
        self.pieces.try_send(Piece { bytes, _room: room }).map_err(|_| self.refusal())
    }

    /// Puts a piece into the queue, and waits so long for room in it. That it is queued does not say that it is read.
    ///
    /// # Errors
    /// If there was no room in time, or the input is closed.
    pub async fn send(&self, bytes: Vec<u8>, limit: Duration) -> Result<(), InputError> {
        let sent = async {
            // Pieces larger than all the room wait until the queue is empty.
            let room = Arc::clone(&self.room).acquire_many_owned(self.size(&bytes)).await.map_err(|_| self.refusal())?;
            self.pieces.send(Piece { bytes, _room: room }).await.map_err(|_| self.refusal())
        };
        let mut state = self.state.subscribe();
        tokio::select! {
            biased;
            _ = state.wait_for(|state| *state != State::Open) => Err(self.refusal()),
            sent = timeout(limit, sent) => sent.unwrap_or(Err(InputError::Full)),
        }
    }

    /// Closes the input; what waits goes out before, if it is read within 500 ms.
    pub fn close(&self) {
        self.state.send_if_modified(|state| {
            let open = *state == State::Open;
            if open {
                *state = State::Closing;
            }
            open
        });
    }

    /// Bytes that wait to be written.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.budget as usize - self.room.available_permits()
    }

    fn size(&self, bytes: &[u8]) -> u32 {
        u32::try_from(bytes.len()).unwrap_or(u32::MAX).min(self.budget)
    }

    fn refusal(&self) -> InputError {
        match *self.state.borrow() {
            State::Open => InputError::Full,
            State::Closing | State::Closed => InputError::Closed,
            State::Stalled => InputError::Stalled,
        }
    }
}

async fn write(
    mut pipe: pipe::Sender,
    mut queue: mpsc::Receiver<Piece>,
    state: watch::Sender<State>,
    mut seen: watch::Receiver<State>,
    stall: Duration,
) {
    let mut closing: Option<Instant> = None;
    let mut piece: Option<(Piece, usize)> = None;
    let end = loop {
        let Some((current, at)) = &mut piece else {
            tokio::select! {
                next = queue.recv() => match next {
                    Some(next) => piece = Some((next, 0)),
                    None => break State::Closed,
                },
                _ = seen.wait_for(|state| *state == State::Closing), if closing.is_none() => {
                    closing = Some(Instant::now() + CLOSING);
                    queue.close();
                }
            }
            continue;
        };
        let stalled = Instant::now() + stall;
        tokio::select! {
            written = pipe.write(&current.bytes[*at..]) => match written {
                Ok(count) => {
                    *at += count;
                    if *at >= current.bytes.len() {
                        piece = None;
                    }
                }
                Err(_) => break State::Closed,
            },
            () = sleep_until(closing.unwrap_or(stalled).min(stalled)) => {
                break if closing.is_some() { State::Closed } else { State::Stalled };
            }
            _ = seen.wait_for(|state| *state == State::Closing), if closing.is_none() => {
                closing = Some(Instant::now() + CLOSING);
                queue.close();
            }
        }
    };
    state.send_replace(end);
    // The pipe and the queue go, and with them everything that waits for room.
}
