//! HTTP/1.1 on the same socket: POST with one JSON value, `GET /metrics`, nothing else.
//!
//! The body goes through the same dispatcher as a line. Nothing is remembered between requests, so events are not
//! offered here. Hanging up cancels the call: hyper drops the future, and that sets the tokens of its work.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body, Bytes, Incoming},
    header::{ALLOW, CONTENT_TYPE, HeaderValue},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use jsonrpsee::{core::server::MethodResponse, types::Id};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::UnixStream,
};

use crate::{
    daemon::Daemon,
    rpc::{
        answer::{refuse, request_too_large},
        dispatch::Reply,
        peer::Peer,
    },
};

/// A request's head and body must arrive within this.
const ARRIVES: Duration = Duration::from_secs(30);

/// Serves a connection whose first bytes were read.
pub(crate) async fn serve(daemon: Arc<Daemon>, peer: Arc<Peer>, stream: UnixStream, input: Vec<u8>) {
    let io = TokioIo::new(Prefixed { prefix: Bytes::from(input), stream });
    let service = service_fn(|request| {
        let (daemon, peer) = (Arc::clone(&daemon), Arc::clone(&peer));
        async move { Ok::<_, Infallible>(respond(&daemon, &peer, request).await) }
    });
    let mut connection = std::pin::pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(ARRIVES)
            .max_buf_size(64 << 10)
            .serve_connection(io, service)
    );
    tokio::select! {
        result = connection.as_mut() => return log(result),
        () = daemon.draining() => connection.as_mut().graceful_shutdown(),
    }
    log(connection.await);
}

fn log(result: Result<(), hyper::Error>) {
    if let Err(error) = result {
        tracing::debug!(%error, "HTTP connection ended");
    }
}

async fn respond(daemon: &Arc<Daemon>, peer: &Arc<Peer>, request: Request<Incoming>) -> Response<Full<Bytes>> {
    if request.method() == Method::GET && request.uri().path() == "/metrics" {
        return text(StatusCode::OK, "text/plain; version=0.0.4", daemon.prometheus());
    }
    if request.method() != Method::POST {
        let mut response = text(
            StatusCode::METHOD_NOT_ALLOWED,
            "text/plain",
            "POST one JSON-RPC 2.0 value as the body; GET is for /metrics only.\n".to_owned(),
        );
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        return response;
    }
    let limit = daemon.settings().request_bytes();
    // What is announced to be too large need not come.
    if request.body().size_hint().lower() > limit as u64 {
        return too_long(daemon, limit);
    }
    let body = match tokio::time::timeout(ARRIVES, Limited::new(request.into_body(), limit).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return too_long(daemon, limit),
        Ok(Err(error)) => {
            return text(StatusCode::BAD_REQUEST, "text/plain", format!("The body cannot be read: {error}\n"));
        }
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "text/plain", "The body did not arrive in time.\n".to_owned()),
    };
    match daemon.dispatcher.handle(daemon, peer, &body) {
        Reply::Now(response) | Reply::Broken(response) => json(StatusCode::OK, &response),
        Reply::Silent => empty(),
        Reply::Later(later) => match later.await {
            Some(response) => json(StatusCode::OK, &response),
            None => empty(),
        },
    }
}

fn too_long(daemon: &Daemon, limit: usize) -> Response<Full<Bytes>> {
    daemon.metrics.counters.too_long.add();
    json(StatusCode::PAYLOAD_TOO_LARGE, &refuse(Id::Null, &request_too_large(limit)))
}

fn json(status: StatusCode, response: &MethodResponse) -> Response<Full<Bytes>> {
    text(status, "application/json", format!("{}\n", response.as_ref()))
}

fn empty() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

fn text(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A stream of which some bytes were read already.
struct Prefixed {
    prefix: Bytes,
    stream: UnixStream,
}

impl AsyncRead for Prefixed {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.prefix.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let bytes = self.prefix.len().min(buffer.remaining());
        let first = self.prefix.split_to(bytes);
        buffer.put_slice(&first);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
