//! The server: routes, limits, and shutdown.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use mercer::Exec;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::data::{self, Data, Given};
use crate::error::Refusal;
use crate::guard::{Guard, guard};
use crate::state::{App, Limits};
use crate::{connection, fit, page, results, start};

/// Bytes of an uploaded table at most; less where memory is short.
const MOST_UPLOAD: usize = 512 << 20;
/// Bytes of any other request at most.
const MOST_REQUEST: usize = 1 << 20;
/// Points that are refitted while a slider moves.
const LIVE: usize = 2500;
/// Connections at the same time at most.
const CONNECTIONS: usize = 256;
const TOO_LARGE: &str = "use the command for tables of this size: mercer fit";

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
        // A table in memory takes several times the bytes of its text.
        let upload = usize::try_from(options.exec.get_memory() / 8).unwrap_or(MOST_UPLOAD).min(MOST_UPLOAD);
        let limits = Limits {
            upload,
            request: MOST_REQUEST,
            live: LIVE,
            head_within: Duration::from_secs(5),
            body_within: Duration::from_secs(60),
            taken_within: Duration::from_secs(30),
            // Of which work may wait two minutes for its turn.
            answer_within: Duration::from_secs(180),
            // Longer fits are for the command.
            fit_within: Duration::from_secs(120),
        };
        Server::with_limits(options, limits)
    }

    fn with_limits(options: ServerOptions, limits: Limits) -> io::Result<Self> {
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
                () = accept(listener, router, &self.app) => {}
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
    let body = || middleware::from_fn_with_state(Arc::clone(app), read_body);
    let small = DefaultBodyLimit::max(app.limits.request);
    let upload = Router::new().route("/api/data", post(data::upload));
    let upload = upload.layer(body()).layer(DefaultBodyLimit::max(app.limits.upload));
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
        .layer(body())
        .layer(small)
        .merge(upload)
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
        .layer(middleware::from_fn_with_state(Arc::clone(app), limit_time))
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
async fn limit_time(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(app.limits.answer_within, next.run(request)).await {
        Ok(response) => response,
        Err(_) => too_long("the request took too long", "use fewer points"),
    }
}

/// Reads the body of a request in a limited time, before anything is done about it.
async fn read_body(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let whole = Bytes::from_request(Request::from_parts(parts.clone(), body), &());
    match tokio::time::timeout(app.limits.body_within, whole).await {
        Ok(Ok(bytes)) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Ok(Err(refused)) => refused.into_response(),
        Err(_) => too_long("the body of the request took too long to arrive", "try it again"),
    }
}

fn too_long(what: &str, help: &str) -> Response {
    Refusal::new(StatusCode::REQUEST_TIMEOUT, what, help).into_response()
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
async fn accept(listener: TcpListener, router: Router, app: &Arc<App>) {
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
        let (router, app) = (router.clone(), Arc::clone(app));
        tokio::spawn(async move {
            connection::serve(stream, router, &app.limits).await;
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    use super::*;

    /// A server with limits so short that a test can wait for them.
    fn impatient(change: fn(&mut Limits)) -> (SocketAddr, String) {
        let mut limits = Limits {
            upload: 64 << 20,
            request: MOST_REQUEST,
            live: LIVE,
            head_within: Duration::from_secs(5),
            body_within: Duration::from_secs(60),
            taken_within: Duration::from_secs(60),
            answer_within: Duration::from_secs(60),
            fit_within: Duration::from_secs(60),
        };
        change(&mut limits);
        let options = ServerOptions { given: None, exec: Exec::new().memory(1 << 30), port: 0 };
        let server = Server::with_limits(options, limits).expect("a port");
        let (address, token) = (server.address, server.guard.token().to_string());
        std::thread::spawn(move || server.run());
        (address, token)
    }

    fn begun(
        (address, token): &(SocketAddr, String),
        method: &str,
        path: &str,
        length: usize,
        body: &[u8],
    ) -> TcpStream {
        let mut stream = TcpStream::connect(address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}");
        let head = format!("{head}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).expect("writes");
        stream
    }

    fn rest(mut stream: TcpStream) -> String {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Ten thousand points of four columns without structure.
    fn noise(rows: usize) -> String {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{:.6}", (seed >> 11) as f64 / (1u64 << 53) as f64)
        };
        let mut row = || [next(), next(), next(), next()].join(",") + "\n";
        (0..rows).fold("a,b,c,d\n".to_string(), |text, _| text + &row())
    }

    fn uploaded(to: &(SocketAddr, String), csv: &str) -> serde_json::Value {
        let mut stream = begun(to, "POST", "/api/data?name=x.csv", csv.len(), csv.as_bytes());
        stream.shutdown(std::net::Shutdown::Write).expect("half closed");
        let mut all = String::new();
        stream.read_to_string(&mut all).expect("an answer");
        let body = all.split_once("\r\n\r\n").expect("a body").1;
        serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {all}"))
    }

    fn request(table: &serde_json::Value, kernel: &str, components: usize) -> String {
        let choice = serde_json::json!({"table": table["id"], "columns": null, "label": null});
        let components = serde_json::json!({"up_to": components});
        let spec =
            serde_json::json!({"method": "kernel_pca", "kernel": kernel, "components": components, "approx": "auto"});
        serde_json::json!({"choice": choice, "spec": spec}).to_string()
    }

    #[test]
    fn a_body_that_trickles_is_refused() {
        let server = impatient(|limits| limits.body_within = Duration::from_millis(400));
        for path in ["/api/fit", "/api/data?name=x.csv"] {
            let mut stream = begun(&server, "POST", path, 1000, b"1");
            let mut trickle = stream.try_clone().expect("a handle");
            let sender = std::thread::spawn(move || {
                while trickle.write_all(b"1").is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
            let mut head = [0; 12];
            stream.read_exact(&mut head).expect("an answer");
            assert_eq!(&head, b"HTTP/1.1 408", "{path}");
            drop(stream);
            sender.join().expect("the connection was closed");
        }
    }

    #[test]
    fn a_reader_that_takes_nothing_is_left() {
        let server = impatient(|limits| limits.taken_within = Duration::from_millis(500));
        let table = uploaded(&server, &noise(200_000));
        let choice = serde_json::json!({"table": table["id"], "columns": null, "label": null});
        let spec = serde_json::json!({"method": "pca", "components": {"up_to": 4}});
        let fit = serde_json::json!({"choice": choice, "spec": spec}).to_string();
        let stream = begun(&server, "POST", "/api/fit", fit.len(), fit.as_bytes());
        stream.shutdown(std::net::Shutdown::Write).expect("half closed");
        let told = rest(stream);
        let last = told.lines().rfind(|l| l.starts_with("data: ")).unwrap_or_else(|| panic!("{told}"));
        let told: serde_json::Value = serde_json::from_str(&last[6..]).expect("JSON");
        // Much more than the buffers of the system take.
        let path = format!("/api/results/{}/files/scores.csv", told["id"]);
        let size = |wait: Duration| {
            let stream = begun(&server, "GET", &path, 0, b"");
            stream.shutdown(std::net::Shutdown::Write).expect("half closed");
            std::thread::sleep(wait);
            rest(stream).len()
        };
        let whole = size(Duration::ZERO);
        assert!(whole > 10 << 20, "{whole} bytes");
        assert!(size(Duration::from_secs(10)) < whole, "the rest was not sent after the time limit");
    }

    #[test]
    fn a_fit_has_a_time_limit() {
        let server = impatient(|limits| limits.fit_within = Duration::from_millis(300));
        let table = uploaded(&server, &noise(20_000));
        let fit = request(&table, "gaussian(gamma=20)", 60);
        let stream = begun(&server, "POST", "/api/fit", fit.len(), fit.as_bytes());
        stream.shutdown(std::net::Shutdown::Write).expect("half closed");
        let told = rest(stream);
        assert!(told.contains("event: failed") && told.contains("the fit took longer than"), "{told}");
    }

    #[test]
    fn who_closes_one_side_gets_the_answer_and_who_leaves_stops_the_work() {
        let server = impatient(|_| {});
        let table = uploaded(&server, &noise(3000));
        // As large as a kernel may be.
        let slow = format!("{}{}{}", "normalised(".repeat(60), vec!["laplacian"; 100].join(" + "), ")".repeat(60));
        let slow = request(&table, &slow, 60);
        let quick = request(&table, "linear", 2);
        // Half closed: answered, after interim answers if it takes long.
        let stream = begun(&server, "POST", "/api/sweep", quick.len(), quick.as_bytes());
        stream.shutdown(std::net::Shutdown::Write).expect("half closed");
        let told = rest(stream);
        assert!(told.contains("HTTP/1.1 200"), "{told}");
        // Both places are taken by clients who leave.
        let both: Vec<TcpStream> =
            (0..2).map(|_| begun(&server, "POST", "/api/fit", slow.len(), slow.as_bytes())).collect();
        std::thread::sleep(Duration::from_millis(1500));
        drop(both);
        let start = Instant::now();
        let stream = begun(&server, "POST", "/api/fit", quick.len(), quick.as_bytes());
        stream.shutdown(std::net::Shutdown::Write).expect("half closed");
        let told = rest(stream);
        assert!(told.contains("event: done"), "{told}");
        assert!(start.elapsed() < Duration::from_secs(20), "it went on for {:?}", start.elapsed());
    }
}
