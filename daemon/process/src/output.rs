//! A child's stdout or stderr, which ends when the child does.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    net::unix::pipe,
    time::sleep,
};

use crate::exit::ExitWatch;

/// How long after the exit of the child its pipe is read.
const AFTER_EXIT: Duration = Duration::from_millis(200);
/// What is read then at most, of what stands in the pipe already: more than a pipe holds unless someone goes on writing.
const REST: usize = 1 << 20;

/// What a child writes. It ends at the end of the pipe, or 200 ms after the exit of the child was seen: a process that the
/// child left behind may hold the pipe open for ever. What stands in the pipe by then is read first.
pub struct Output {
    pipe: pipe::Receiver,
    cutoff: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
    rest: usize,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Output").field("pipe", &self.pipe).finish_non_exhaustive()
    }
}

impl Output {
    pub(crate) fn new(pipe: pipe::Receiver, mut exit: ExitWatch) -> Self {
        let cutoff = async move {
            exit.wait().await;
            sleep(AFTER_EXIT).await;
        };
        Self { pipe, cutoff: Some(Box::pin(cutoff)), rest: REST }
    }
}

impl AsyncRead for Output {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Some(cutoff) = &mut this.cutoff
            && cutoff.as_mut().poll(context).is_ready()
        {
            this.cutoff = None;
        }
        if this.cutoff.is_some() {
            return Pin::new(&mut this.pipe).poll_read(context, buffer);
        }
        if this.rest == 0 {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.pipe).poll_read(context, buffer);
        this.rest = this.rest.saturating_sub(buffer.filled().len() - before);
        if read.is_pending() {
            this.rest = 0;
            return Poll::Ready(Ok(()));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, time::Instant};

    use tokio::{io::AsyncReadExt as _, sync::watch, time::Duration};

    use super::{Output, pipe};
    use crate::exit::{Exit, ExitWatch, Fate};

    #[tokio::test]
    async fn it_ends_after_the_exit_although_someone_holds_the_pipe() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let (fate, watch) = watch::channel(Fate::default());
        let mut output = Output::new(pipe::Receiver::from_owned_fd(reader.into()).unwrap(), ExitWatch(watch));
        writer.write_all(b"the last word").unwrap();
        fate.send_replace(Fate { exit: Some(Exit::Code(0)), gone: None });
        let begun = Instant::now();
        let mut all = Vec::new();
        tokio::time::timeout(Duration::from_secs(5), output.read_to_end(&mut all)).await.unwrap().unwrap();
        assert_eq!(all, b"the last word");
        assert!(begun.elapsed() < 5 * super::AFTER_EXIT);
    }

    #[tokio::test]
    async fn a_slow_reader_gets_what_stands_in_the_pipe() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let (fate, watch) = watch::channel(Fate::default());
        let mut output = Output::new(pipe::Receiver::from_owned_fd(reader.into()).unwrap(), ExitWatch(watch));
        writer.write_all(&[b'x'; 50_000]).unwrap();
        fate.send_replace(Fate { exit: Some(Exit::Code(0)), gone: None });
        let mut first = [0; 1];
        output.read_exact(&mut first).await.unwrap();
        tokio::time::sleep(2 * super::AFTER_EXIT).await;
        let mut rest = Vec::new();
        tokio::time::timeout(Duration::from_secs(5), output.read_to_end(&mut rest)).await.unwrap().unwrap();
        assert_eq!(rest.len(), 49_999);
    }
}
