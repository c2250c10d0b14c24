//! HTTP/2 over TLS over the kernel's TCP.

use super::{Log, asked, piece};
use crate::Error;
use crate::args::Server;
use crate::transport::RECEIVE_WINDOW;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::{Domain, Socket, Type};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Serves for ever.
pub async fn serve(server: &Server, tls: rustls::ServerConfig, log: Log) -> Result<(), Error> {
    let listener = listen(server)?;
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    loop {
        let (stream, _) = listener.accept().await.map_err(|e| Error::new(server.listen, e))?;
        let (acceptor, log) = (acceptor.clone(), log.clone());
        tokio::task::spawn_local(async move {
            let number = log.open(None);
            let ended = connection(stream, acceptor, &log, number).await;
            log.close(number, ended.err());
        });
    }
}

fn listen(server: &Server) -> Result<TcpListener, Error> {
    let protocol = server.common.protocol();
    let socket = Socket::new(Domain::for_address(server.listen), Type::STREAM.nonblocking(), Some(protocol));
    let socket = socket.map_err(|e| Error::new(server.listen, e))?;
    if let Some(congestion) = &server.common.congestion {
        congestion.set(&socket)?;
    }
    let bound = socket
        .set_reuse_address(true)
        .and_then(|()| socket.bind(&server.listen.into()))
        .and_then(|()| socket.listen(BACKLOG))
        .and_then(|()| TcpListener::from_std(socket.into()));
    bound.map_err(|e| Error::new(server.listen, format!("cannot listen there: {e}")))
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, log: &Log, number: usize) -> Result<(), String> {
    stream.set_nodelay(true).map_err(|e| e.to_string())?;
    let stream = acceptor.accept(stream).await.map_err(|e| format!("TLS: {e}"))?;
    let service = service_fn(|request: Request<Incoming>| {
        let answered = answer(&request, log, number);
        async move { Ok::<_, Infallible>(answered) }
    });
    Builder::new(Local)
        .initial_stream_window_size(RECEIVE_WINDOW)
        .initial_connection_window_size(RECEIVE_WINDOW)
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(|e| e.to_string())
}

fn answer(request: &Request<Incoming>, log: &Log, number: usize) -> Response<Zeros> {
    let size = asked(request.uri().path());
    log.note(number, |c| c.requests += 1);
    let mut response = Response::new(Zeros { head: Head::Pending, left: size.unwrap_or(0), log: log.clone(), number });
    if size.is_none() {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

/// Whether the head of the answer has been sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    Pending,
    Sent,
}

/// A body of zeros. The head is sent first, in a TLS record of its own, as web servers do: a record with the head and
/// 16 KiB of body would be larger than an initial window of ten segments.
struct Zeros {
    head: Head,
    left: u64,
    log: Log,
    number: usize,
}

impl Body for Zeros {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        if self.head == Head::Pending {
            self.head = Head::Sent;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = piece(self.left);
        self.left -= next.len() as u64;
        self.log.note(self.number, |c| c.bytes += next.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// hyper's tasks run on this thread.
#[derive(Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}
