//! One connection: a client that takes nothing has a time limit, and work ends soon after its client has left.

use std::io;
use std::net::TcpStream as Socket;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::Version;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::state::{Limits, locked};

/// How often a connection is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// A client that has closed its side gets an answer that is ready within this time without anything before it.
const GRACE: Duration = Duration::from_millis(500);
/// What is sent to learn whether a client is still there. Clients skip such answers until the final one.
const STILL_WORKING: &[u8] = b"HTTP/1.1 102 Processing\r\n\r\n";

/// What is known about a connection while it is served.
#[derive(Default)]
struct Flow {
    /// The last request is from a browser, which closes its side only when it leaves.
    is_browser: AtomicBool,
    /// A request is being worked on, and none of its answer was sent.
    working: AtomicBool,
    /// Since when the client has taken nothing of what was to be sent.
    blocked: Mutex<Option<Instant>>,
}

/// Serves a connection until it ends, its client is gone, or takes nothing for too long. Its work is cancelled then.
pub(crate) async fn serve(stream: TcpStream, router: Router, limits: &Limits) {
    let _ = stream.set_nodelay(true);
    // A second handle of the same socket: hyper owns the first.
    let Ok((stream, socket)) = stream.into_std().and_then(|s| Ok((s.try_clone()?, s))) else { return };
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let flow = Arc::new(Flow::default());
    let io = TokioIo::new(Watched { stream, flow: Arc::clone(&flow) });
    let (service, seen) = (TowerToHyperService::new(router), Arc::clone(&flow));
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        seen.is_browser.store(request.headers().contains_key("sec-fetch-mode"), Ordering::Relaxed);
        // HTTP/1.0 knows no answers before the final one.
        seen.working.store(request.version() == Version::HTTP_11, Ordering::Relaxed);
        let (answer, seen) = (service.call(request), Arc::clone(&seen));
        async move {
            let answer = answer.await;
            seen.working.store(false, Ordering::Relaxed);
            answer
        }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    // A client that closes its side after the request still gets the answer.
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_within).half_close(true);
    tokio::select! {
        // An error ends this connection only.
        _ = http.serve_connection(io, service) => {}
        () = gone(&socket, &flow, limits.taken_within) => {}
    }
}

/// Completes when the client is gone, or has taken nothing for too long.
async fn gone(socket: &Socket, flow: &Flow, taken_within: Duration) {
    let mut closed_since = None;
    loop {
        tokio::time::sleep(LOOK).await;
        let blocked = *locked(&flow.blocked);
        match blocked {
            Some(since) if since.elapsed() > taken_within => return,
            Some(_) => continue,
            None => {}
        }
        let (is_browser, working) = (flow.is_browser.load(Ordering::Relaxed), flow.working.load(Ordering::Relaxed));
        match socket.peek(&mut [0]) {
            Ok(0) if is_browser => return,
            // An answer has begun. Event streams send something all the time, which fails when nobody listens.
            Ok(0) if !working => closed_since = None,
            // It has closed its side. Whether it still listens is only seen when something is sent.
            Ok(0) if closed_since.get_or_insert_with(Instant::now).elapsed() >= GRACE => {
                match io::Write::write(&mut &*socket, STILL_WORKING) {
                    Err(e) if e.kind() != io::ErrorKind::WouldBlock => return,
                    _ => {}
                }
            }
            Err(e) if e.kind() != io::ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

/// A stream that records since when nothing can be written.
struct Watched {
    stream: TcpStream,
    flow: Arc<Flow>,
}

impl Watched {
    fn record<T>(&self, written: Poll<T>) -> Poll<T> {
        let mut blocked = locked(&self.flow.blocked);
        *blocked = if written.is_pending() { blocked.or_else(|| Some(Instant::now())) } else { None };
        drop(blocked);
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, to)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.record(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.record(written)
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
