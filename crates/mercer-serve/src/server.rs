//! The server: routes, limits, and shutdown.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use mercer::Exec;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::data::{self, Data, Given};
use crate::error::Refusal;
use crate::guard::{Guard, guard};
use crate::state::{App, Limits};
use crate::{fit, page, results, start};

/// Bytes of an uploaded table at most; less where memory is short.
const MOST_UPLOAD: usize = 512 << 20;
/// Bytes of any other request at most.
const MOST_REQUEST: usize = 1 << 20;
/// Points that are refitted while a slider moves.
const LIVE: usize = 2500;
/// Connections at the same time at most.
const CONNECTIONS: usize = 256;
/// Time limits for the head of a request, and for the whole request.
const HEAD_WITHIN: Duration = Duration::from_secs(5);
const TOO_LARGE: &str = "use the command for tables of this size: mercer fit";
const ALL_WITHIN: Duration = Duration::from_secs(300);

/// Options of a server.
pub struct ServerOptions {
    /// A table besides the embedded sets, shown first.
    pub given: Option<Given>,
    /// Execution settings of the fits.
    pub exec: Exec,
    /// The port; 0 for a free one.
    pub port: u16,
}

/// A server that is bound to its port, and answers once it runs.
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    guard: Arc<Guard>,
}

impl Server {
    /// Binds a port on the loopback interface.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn new(options: ServerOptions) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let guard = Arc::new(Guard::new(address.port())?);
        let mut data = Data::embedded();
        // On the rings the difference between PCA and kernel PCA is easy to see.
        let mut first = data.iter().position(|d| d.name == "rings").unwrap_or(0);
        if let Some(given) = options.given {
            first = data.len();
            data.push(Data::given(first, given));
        }
        // A table in memory takes several times the bytes of its text.
        let upload = usize::try_from(options.exec.memory_budget() / 8).unwrap_or(MOST_UPLOAD).min(MOST_UPLOAD);
        let limits = Limits { upload, request: MOST_REQUEST, live: LIVE };
        Ok(Server { listener, address, app: Arc::new(App::new(data, first, options.exec, limits)), guard })
    }

    /// Returns the address of the page, with its token in the fragment, which browsers send to no server.
    pub fn url(&self) -> String {
        format!("http://{}/#token={}", self.address, self.guard.token())
    }

    /// Serves until Ctrl-C or SIGTERM.
    ///
    /// # Errors
    /// When the runtime cannot be started.
    pub fn run(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let app = Arc::clone(&self.app);
        let done = runtime.block_on(async move {
            let listener = TcpListener::from_std(self.listener)?;
            let router = router(&self.app, &self.guard);
            tokio::select! {
                () = accept(listener, router) => {}
                () = shutdown_signal() => {}
            }
            Ok(())
        });
        // Connections end with the runtime, which cancels their jobs; jobs that do not stop in time are abandoned.
        app.ending.store(true, Ordering::Relaxed);
        runtime.shutdown_timeout(Duration::from_millis(200));
        done
    }
}

/// Completes at Ctrl-C or SIGTERM.
async fn shutdown_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

fn router(app: &Arc<App>, guarded: &Arc<Guard>) -> Router {
    let small = DefaultBodyLimit::max(app.limits.request);
    let upload = post(data::upload).layer(DefaultBodyLimit::max(app.limits.upload));
    let page = page::FILES.iter().fold(Router::new(), |router, file| {
        router.route(file.path, get(move || async { ([(CONTENT_TYPE, file.media_type)], file.text) }))
    });
    page.route("/api/start", get(start::start))
        .route("/api/data/{id}", get(data::describe))
        .route("/api/fit", post(fit::fit))
        .route("/api/sweep", post(fit::sweep))
        .route("/api/results/{id}/columns", get(results::columns))
        .route("/api/results/{id}/colours", get(results::colours))
        .route("/api/results/{id}/rows", post(results::rows))
        .route("/api/results/{id}/points/{row}", get(results::point))
        .route("/api/results/{id}/field", get(results::field))
        .route("/api/results/{id}/files/{name}", get(results::file))
        .layer(small)
        .route("/api/data", upload)
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
        .layer(middleware::from_fn(limit_time))
        .layer(middleware::from_fn_with_state(Arc::clone(app), limit_size))
        .layer(middleware::from_fn(errors_as_json))
        .layer(middleware::from_fn_with_state(Arc::clone(guarded), guard))
        .with_state(Arc::clone(app))
}

async fn not_found() -> Refusal {
    Refusal::gone("not found", "open the page at /")
}

/// Rejects a request by its Content-Length, before its body is read.
async fn limit_size(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let limit = if request.uri().path() == "/api/data" { app.limits.upload } else { app.limits.request };
    let length = request.headers().get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        let what = format!("the request is larger than {}", mercer::text::Bytes(limit as u128));
        return Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, what, TOO_LARGE).into_response();
    }
    next.run(request).await
}

/// Ends requests that take too long. Event streams have begun to answer by then, and continue.
async fn limit_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(ALL_WITHIN, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long", "use fewer points").into_response()
        }
    }
}

/// Turns errors of the framework (a bad number in an address, invalid JSON, too large a body) into JSON like all others.
async fn errors_as_json(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let plain = response.headers().get("content-type").is_some_and(|t| t.as_bytes().starts_with(b"text/plain"));
    if !(response.status().is_client_error() || response.status().is_server_error()) || !plain {
        return response;
    }
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap_or_default();
    let help = match status {
        StatusCode::PAYLOAD_TOO_LARGE => TOO_LARGE,
        _ => "load the page again",
    };
    Refusal::new(status, String::from_utf8_lossy(&body).into_owned(), help).into_response()
}

/// Accepts connections, a limited number at once.
async fn accept(listener: TcpListener, router: Router) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Perhaps out of file descriptors: wait until one is closed.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let mut http = hyper::server::conn::http1::Builder::new();
            // An error ends this connection only.
            let _ = http
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_WITHIN)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            drop(place);
        });
    }
}
