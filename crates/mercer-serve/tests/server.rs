//! The server as an attacker and as a clumsy client see it: raw requests over a socket.
#![allow(missing_docs, clippy::unwrap_used, clippy::type_complexity)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use mercer::Exec;
use mercer_serve::{Server, ServerOptions};
use serde_json::{Value, json};

struct Running {
    address: SocketAddr,
    token: String,
}

/// One server for all tests, as one server has many clients.
fn server() -> &'static Running {
    static RUNNING: OnceLock<Running> = OnceLock::new();
    RUNNING.get_or_init(|| {
        let exec = Exec::new().memory(800_000_000);
        let server = Server::new(ServerOptions { given: None, exec, port: 0 }).expect("a port");
        let url = server.url();
        let (address, token) = url.strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
        let running = Running { address: address.parse().unwrap(), token: token.into() };
        std::thread::spawn(move || server.run());
        running
    })
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let found = self.head.lines().find(|l| l.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(found.split_once(':')?.1.trim())
    }
}

/// Sends these bytes and reads until the server closes.
fn raw(bytes: &[u8]) -> Answer {
    raw_to(server().address, bytes)
}

fn raw_to(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // A server that refuses a body early may close before all of it was written.
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let end = all.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or(all.len());
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    Answer { status, body: all.get(end + 4..).unwrap_or_default().to_vec(), head }
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let host = server().address.to_string();
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        text += &format!("Host: {host}\r\n");
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    let mut bytes = (text + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    raw(&bytes)
}

fn bearer() -> String {
    format!("Bearer {}", server().token)
}

/// As the page asks.
fn asked(method: &str, path: &str, body: &[u8]) -> Answer {
    let origin = format!("http://{}", server().address);
    request(
        method,
        path,
        &[("Authorization", &bearer()), ("Origin", &origin), ("Content-Type", "application/json")],
        body,
    )
}

fn fit(request: &Value) -> Value {
    let answer = asked("POST", "/api/fit", request.to_string().as_bytes());
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let last = text.lines().rfind(|l| l.starts_with("data: ")).unwrap_or_else(|| panic!("{} {text}", answer.status));
    serde_json::from_str(&last[6..]).unwrap()
}

fn rings(kernel: &str) -> Value {
    let start = asked("GET", "/api/start", b"").json();
    let rings = start["data"].as_array().unwrap().iter().find(|d| d["name"] == "rings").unwrap()["id"].clone();
    let choice = json!({"table": rings, "columns": null, "label": "ring"});
    json!({"choice": choice, "spec": kernel_pca(kernel, 3)})
}

fn kernel_pca(kernel: &str, components: usize) -> Value {
    json!({"method": "kernel_pca", "kernel": kernel, "components": {"up_to": components}, "approx": "auto"})
}

fn pca(components: usize) -> Value {
    json!({"method": "pca", "components": {"up_to": components}})
}

#[test]
fn without_the_token_nothing_is_told() {
    let token = &server().token;
    let almost = format!("{}{}", &token[..token.len() - 1], if token.ends_with('0') { '1' } else { '0' });
    let cookie = format!("mercer-{}={token}; token={token}", server().address.port());
    let tries: [(&str, String); 7] = [
        ("X-Nothing", String::new()),
        ("Authorization", "Bearer ".into()),
        ("Authorization", format!("Bearer {almost}")),
        ("Authorization", format!("Bearer {token}0")),
        ("Authorization", format!("Basic {token}")),
        ("Authorization", token.clone()),
        // What a browser would send to every port of this machine is worth nothing.
        ("Cookie", cookie),
    ];
    for (name, value) in &tries {
        for path in ["/api/start", "/api/results/5/files/model", "/nowhere", &format!("/api/start?token={token}")] {
            let answer = request("GET", path, &[(name, value)], b"");
            assert_eq!(answer.status, 403, "{path} {name}");
            let said = answer.json();
            assert!(said["error"].is_string() && said["help"].is_string(), "{said}");
            assert!(answer.header("set-cookie").is_none(), "{path}");
        }
        assert_eq!(request("POST", "/api/fit", &[(name, value)], b"{}").status, 403);
    }
    assert!(token.len() * 4 >= 128, "bits of the token");
}

#[test]
fn the_files_of_the_page_need_no_token_and_hold_no_data() {
    for path in ["/", "/app.js", "/app.css", "/icon.svg"] {
        let (without, with) = (request("GET", path, &[], b""), asked("GET", path, b""));
        assert_eq!((without.status, with.status), (200, 200), "{path}");
        assert_eq!(without.body, with.body, "{path}");
        assert!(without.header("set-cookie").is_none(), "{path}");
        let text = String::from_utf8_lossy(&without.body).into_owned();
        assert!(!text.contains(&server().token), "{path}");
        // With a method that could change something they are refused.
        assert!(request("POST", path, &[], b"").status >= 400, "{path}");
    }
    assert_eq!(asked("GET", "/api/start", b"").status, 200);
}

#[test]
fn the_token_of_one_server_opens_no_other() {
    let other = Server::new(ServerOptions { given: None, exec: Exec::new(), port: 0 }).expect("a port");
    let url = other.url();
    let (address, token) = url.strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
    let address: SocketAddr = address.parse().unwrap();
    std::thread::spawn(move || other.run());
    let status = |token: &str, origin: &SocketAddr| {
        let head =
            format!("GET /api/start HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{origin}\r\nConnection: close");
        raw_to(address, format!("{head}\r\nAuthorization: Bearer {token}\r\n\r\n").as_bytes()).status
    };
    assert_eq!(status(token, &address), 200);
    assert_eq!(status(&server().token, &address), 403);
    assert_eq!(status(token, &server().address), 403, "a page of the first server asks the second");
    let answer = request("GET", "/api/start", &[("Authorization", &format!("Bearer {token}"))], b"");
    assert_eq!(answer.status, 403);
}

#[test]
fn every_answer_has_the_safe_headers() {
    for (method, path, with) in [
        ("GET", "/", true),
        ("GET", "/api/start", true),
        ("GET", "/nowhere", true),
        ("GET", "/", false),
        ("DELETE", "/", true),
    ] {
        let answer = if with { asked(method, path, b"") } else { request(method, path, &[], b"") };
        let policy = answer.header("content-security-policy").expect(path);
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert!(!answer.head.to_lowercase().contains("access-control-allow"), "{}", answer.head);
    }
    let page = asked("GET", "/", b"");
    let text = String::from_utf8_lossy(&page.body).into_owned();
    assert!(!text.contains("http://") && !text.contains("https://"), "the page asks nobody else");
    assert_eq!(asked("OPTIONS", "/api/fit", b"").header("access-control-allow-origin"), None);
}

#[test]
fn other_names_and_other_origins_are_refused() {
    let port = server().address.port();
    let token = bearer();
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", &format!("127.0.0.1:{}", port ^ 1), ""] {
        let answer = request("GET", "/api/start", &[("Host", host), ("Authorization", &token)], b"");
        assert!(answer.status == 421 || answer.status == 400, "{host}: {}", answer.status);
    }
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}")] {
        assert_eq!(
            request("GET", "/api/start", &[("Host", &host), ("Authorization", &token)], b"").status,
            200,
            "{host}"
        );
    }
    for origin in ["http://evil.example", "null", "https://127.0.0.1", &format!("http://127.0.0.1:{}", port ^ 1)] {
        let answer = request("POST", "/api/data", &[("Origin", origin), ("Authorization", &token)], b"a\n1\n2\n");
        assert_eq!(answer.status, 403, "{origin}");
    }
    let answer = request("GET", "/api/start", &[("Sec-Fetch-Site", "cross-site"), ("Authorization", &token)], b"");
    assert_eq!(answer.status, 403);
    // A link on another page may open the page, and nothing with data.
    let link = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
    assert_eq!(request("GET", "/", &link, b"").status, 200);
    assert_eq!(request("GET", "/api/start", &link, b"").status, 403);
    for site in ["cross-site", "same-site"] {
        assert_eq!(request("GET", "/app.js", &[("Sec-Fetch-Site", site)], b"").status, 403, "{site}");
    }
}

#[test]
fn a_fit_is_what_the_library_gives() {
    let told = fit(&rings("gaussian(gamma=3)"));
    assert_eq!(told["n"], 400);
    assert_eq!(told["agreement"]["first"]["correct"], 400);
    assert!(told["pca"]["agreement"]["first"]["correct"].as_u64().unwrap() < 300);
    assert_eq!(told["kernel"], "gaussian(gamma=3)");
    assert_eq!(told["command"], "mercer fit rings --kernel 'gaussian(gamma=3)' -k 3 -o rings");
    let x = mercer_io::read("rings").unwrap().points().unwrap();
    let kernel: mercer::Kernel = "gaussian(gamma=3)".parse().unwrap();
    let model = mercer::KernelPca::new(kernel).components(3).fit(&x).unwrap();
    let id = &told["id"];
    let bytes = asked("GET", &format!("/api/results/{id}/columns?of=scores&x=0&y=2"), b"").body;
    let found: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    let scores = model.scores();
    let expected: Vec<f32> = scores.column(0).into_iter().chain(scores.column(2)).map(|v| v as f32).collect();
    assert_eq!(found, expected);
    // The way to a pre-image, a field, rows, files.
    let point = asked("GET", &format!("/api/results/{id}/points/7"), b"").json();
    assert_eq!(point["kind"], "pre-image", "{point}");
    assert_eq!(point["path"].as_array().unwrap().len(), model.preimage_path(x.row(7), &Exec::new()).unwrap().n());
    let field = asked("GET", &format!("/api/results/{id}/field?component=1"), b"").json();
    assert_eq!(field["values"].as_array().unwrap().len() as u64, field["size"].as_u64().unwrap().pow(2));
    let rows = asked("POST", &format!("/api/results/{id}/rows"), br#"{"rows": [0, 399, 400, 1000000]}"#).json();
    assert_eq!(rows["rows"].as_array().unwrap().len(), 2);
    for (name, begins) in [
        ("scores.csv", &b"ring,PC1"[..]),
        ("report.html", b"<!doctype html>"),
        ("scores.svg", b"<svg"),
        ("scree.png", b"\x89PNG"),
        ("contours.pdf", b"%PDF"),
        ("kernel.svg", b"<svg"),
    ] {
        let file = asked("GET", &format!("/api/results/{id}/files/{name}"), b"");
        assert!(file.status == 200 && file.body.starts_with(begins), "{name} {}", file.status);
        assert!(file.header("content-disposition").unwrap().starts_with("attachment"), "{name}");
    }
    let bytes = asked("GET", &format!("/api/results/{id}/files/model"), b"").body;
    let saved = mercer_io::SavedModel::from_bytes("model", &bytes).unwrap();
    assert_eq!(saved.columns, ["x", "y"]);
    let spec = mercer::KernelPca::new("gaussian(gamma=3)".parse().unwrap()).components(3).approx(mercer::Approx::Auto);
    assert_eq!(saved.spec, Some(spec.into()), "what the command stores");
}

#[test]
fn fits_of_the_same_columns_share_their_points() {
    let first = fit(&rings("gaussian(gamma=1.5)"));
    let second = fit(&rings("gaussian(gamma=2.5)"));
    assert_ne!(first["id"], second["id"]);
    assert_eq!(first["selection"], second["selection"], "another width changes no points");
    let mut other = rings("gaussian(gamma=2.5)");
    other["choice"]["columns"] = json!(["x"]);
    let third = fit(&other);
    assert_ne!(second["selection"], third["selection"]);
    assert_ne!(second["pca"]["id"], third["pca"]["id"]);
    other["choice"]["label"] = json!(null);
    assert_ne!(third["selection"], fit(&other)["selection"], "the label says the colours");
}

#[test]
fn the_page_is_told_which_plots_there_are() {
    let told = fit(&rings("gaussian(gamma=1)"));
    let plots = told["plots"].as_array().unwrap();
    assert_eq!(plots.len(), mercer_view::PLOT_KINDS.len());
    for plot in plots {
        let path = format!("/api/results/{}/files/{}.svg", told["id"], plot["name"].as_str().unwrap());
        let answer = asked("GET", &path, b"");
        match plot["unavailable"].as_str() {
            None => assert!(answer.status == 200 && answer.body.starts_with(b"<svg"), "{plot}"),
            Some(why) => assert_eq!((answer.status, &answer.json()["error"]), (422, &json!(why)), "{plot}"),
        }
    }
    let beyond = asked("GET", &format!("/api/results/{}/files/scores.svg?x=0&y=9", told["id"]), b"");
    assert_eq!((beyond.status, &beyond.json()["error"]), (422, &json!("there are only 3 components")));
    assert_eq!(asked("GET", &format!("/api/results/{}/files/nothing.svg", told["id"]), b"").status, 404);
}

/// The texts of `tests/copied` are run: those of Rust as documentation tests, those of Python by its tests, which compare
/// the scores with those here.
#[test]
fn what_is_copied_is_what_is_tested() {
    let start = asked("GET", "/api/start", b"").json();
    let wine = start["data"].as_array().unwrap().iter().find(|d| d["name"] == "wine").unwrap()["id"].clone();
    let columns = asked("GET", &format!("/api/data/{wine}"), b"").json()["chosen"].clone();
    let some: Vec<Value> = columns.as_array().unwrap()[1..].to_vec();
    let kernel = |kernel: &str| {
        let mut spec = kernel_pca(kernel, 3);
        spec["standardise"] = json!(true);
        json!({"choice": {"table": wine, "columns": some, "label": "class"}, "spec": spec})
    };
    let choice = json!({"table": wine, "columns": columns, "label": "class", "missing": "mean"});
    let pca = json!({"choice": choice, "spec": pca(2)});
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/copied");
    let again = std::env::var_os("MERCER_COPY").is_some();
    let cases = [("kernel", kernel("gaussian(gamma=0.05)")), ("pca", pca), ("default", kernel("polynomial"))];
    for (name, request) in cases {
        let told = fit(&request);
        let file = format!("/api/results/{}/files/scores.csv", told["id"]);
        let scores = String::from_utf8(asked("GET", &file, b"").body).unwrap();
        for (end, text) in
            [("rs", told["rust"].as_str().unwrap()), ("py", told["python"].as_str().unwrap()), ("csv", &scores)]
        {
            let path = folder.join(format!("{name}.{end}"));
            if again {
                std::fs::write(&path, text).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap();
            if end == "csv" {
                close(&kept, text);
            } else {
                assert_eq!(kept, text, "{}: MERCER_COPY=1 writes it anew", path.display());
            }
        }
    }
}

/// Tables with equal words and nearly equal numbers: the last digits are the processor's.
fn close(a: &str, b: &str) {
    assert_eq!(a.lines().count(), b.lines().count());
    for (x, y) in a.split([',', '\n']).zip(b.split([',', '\n'])) {
        match (x.parse::<f64>(), y.parse::<f64>()) {
            (Ok(x), Ok(y)) => assert!((x - y).abs() < 1e-9, "{x} {y}"),
            _ => assert_eq!(x, y),
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let good = rings("gaussian");
    let with = |change: fn(&mut Value)| {
        let mut request = good.clone();
        change(&mut request);
        let answer = asked("POST", "/api/fit", request.to_string().as_bytes());
        if answer.status == 200 { fit(&request) } else { answer.json() }
    };
    let cases: [(&str, fn(&mut Value)); 23] = [
        ("no such table", |r| r["choice"]["table"] = json!(99_999)),
        ("gausian", |r| r["spec"]["kernel"] = json!("gausian")),
        ("gamma = -1", |r| r["spec"]["kernel"] = json!("gaussian(gamma=-1)")),
        ("components = 0", |r| r["spec"]["components"] = json!(0)),
        ("between 1 and 100", |r| r["spec"]["components"] = json!({"up_to": 1_000_000})),
        ("not a number", |r| r["spec"]["components"] = json!("all")),
        ("not a number", |r| r["spec"]["components"] = json!(0.95)),
        ("cannot be read", |r| r["spec"] = json!({"method": "magic"})),
        ("cannot be read", |r| r["spec"] = json!([])),
        ("components <= 2", |r| r["spec"] = json!({"method": "pca", "components": 3})),
        // Options that no control sets.
        ("no controls", |r| r["spec"]["approx"] = json!("none")),
        ("no controls", |r| r["spec"]["approx"] = json!({"landmarks": {"uniform": 100_000}})),
        ("no controls", |r| r["spec"]["tolerance"] = json!(1e-14)),
        ("no controls", |r| r["spec"]["dense"] = json!(true)),
        ("no controls", |r| r["spec"] = json!({"method": "pca", "components": 1, "embedding": "monomials:9"})),
        ("zz", |r| r["choice"]["columns"] = json!(["zz"])),
        ("more than once", |r| r["choice"]["columns"] = json!(["x", "x"])),
        ("leaves = 101", |r| r["spec"]["kernel"] = json!(vec!["linear"; 101].join("+"))),
        ("length = 979999", |r| r["spec"]["kernel"] = json!(vec!["linear"; 140_000].join("+"))),
        ("ring", |r| {
            r["choice"]["columns"] = json!(["ring"]);
            r["choice"]["label"] = json!(null);
        }),
        ("no column", |r| r["choice"]["columns"] = json!([])),
        ("unknown field", |r| r["choice"]["path"] = json!("/etc/passwd")),
        ("unknown field", |r| r["spec"]["path"] = json!("/etc/passwd")),
    ];
    for (what, change) in cases {
        let said = with(change);
        let error = said["error"].as_str().unwrap_or_else(|| panic!("{what}: {said}"));
        assert!(what == "no such table" || error.contains(what), "{what}: {said}");
        assert!(said["help"].is_string(), "{what}: {said}");
    }
    for (method, path, body) in [
        ("POST", "/api/fit", &b"not json"[..]),
        ("POST", "/api/fit", b"[]"),
        ("GET", "/api/data/x", b""),
        ("GET", "/api/data/123456", b""),
        ("GET", "/api/results/123456/field", b""),
        ("GET", "/api/results/-1/columns?of=scores", b""),
        ("GET", "/api/results/1/files/..%2f..%2fetc%2fpasswd", b""),
        ("GET", "/../../etc/passwd", b""),
        ("GET", "/app.js/../../Cargo.toml", b""),
        ("PUT", "/api/start", b""),
    ] {
        let answer = asked(method, path, body);
        assert!((400..500).contains(&answer.status), "{method} {path}: {}", answer.status);
        let said = answer.json();
        assert!(said["error"].is_string() && said["help"].is_string(), "{path}: {said}");
    }
}

#[test]
fn uploads_good_bad_and_huge() {
    let good = asked("POST", "/api/data?name=..%2F..%2Fmy%20data.csv", b"a,b,kind\n1,2,x\n3,4,y\n5,7,x\n");
    let said = good.json();
    assert_eq!((good.status, &said["name"], &said["rows"]), (200, &json!("my data.csv"), &json!(3)), "{said}");
    assert_eq!(said["label"], "kind");
    let choice = json!({"table": said["id"], "columns": ["a", "b"], "label": "kind"});
    let told = fit(&json!({"choice": choice, "spec": pca(10)}));
    assert_eq!(told["command"], "mercer fit 'my data.csv' --label kind -k 2 -o 'my data'", "{told}");
    assert_eq!(told["asked"], 2, "PCA of two columns has two components");
    for (body, what) in [
        (&b"a,b\n1,2\n3\n"[..], "x.csv:3: 1 field, expected 2"),
        (b"", "no rows"),
        (b"\xff\xfe\x00\x01binary\x00", ""),
        (b"PAR1not a parquet filePAR1", ""),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': 'nonsense'}", ""),
        (b"a,a\n1,2\n", "duplicate column name"),
    ] {
        let answer = asked("POST", "/api/data?name=x.csv", body);
        assert!((400..500).contains(&answer.status), "{} {}", answer.status, String::from_utf8_lossy(&answer.body));
        let said = answer.json();
        assert!(said["error"].as_str().unwrap().contains(what), "{said}");
    }
    // More than the limit, told by its length: refused before it is read.
    let head = format!(
        "POST /api/data?name=x.csv HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nConnection: close\r\nContent-Length: 900000000\r\n\r\n1,2\n",
        server().address,
        bearer()
    );
    let huge = raw(head.as_bytes());
    assert_eq!(huge.status, 413);
    assert!(huge.json()["help"].is_string());
    // And one that does not tell.
    let mut endless = format!(
        "POST /api/data?name=x.csv HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
        server().address,
        bearer()
    )
    .into_bytes();
    for _ in 0..110 {
        endless.extend_from_slice(b"100000\r\n");
        endless.extend(std::iter::repeat_n(b'1', 0x10_0000));
        endless.extend_from_slice(b"\r\n");
    }
    let answer = raw(&endless);
    assert!(answer.status == 413 || answer.status == 0, "{}", answer.status);
    assert_eq!(asked("GET", "/api/start", b"").status, 200, "the server goes on");
}

#[test]
fn names_of_columns_are_checked_before_anything_is_copied() {
    // A table of 16 MB: copied once for each of two hundred thousand names it would be 3 TB.
    let csv = (0..1_000_000)
        .fold(String::from("a,b,kind\n"), |text, i| text + if i % 2 == 0 { "1,2,x\n" } else { "2,1,y\n" });
    let data = asked("POST", "/api/data?name=long.csv", csv.as_bytes()).json();
    let refused = |columns: Vec<String>| {
        let request = json!({"choice": {"table": data["id"], "columns": columns, "label": "kind"}, "spec": pca(2)});
        let said = fit(&request);
        (said["error"].as_str().unwrap_or_else(|| panic!("{said}")).to_string(), said["help"].clone())
    };
    let (error, help) = refused(vec!["a".into(); 200_000]);
    assert_eq!(error, "200000 columns are chosen, but the table has 3");
    assert!(help.is_string());
    assert_eq!(refused(vec!["a".into(), "b".into(), "a".into()]).0, "column 'a' is chosen more than once");
    assert!(refused((0..3).map(|i| format!("c{i}")).collect()).0.contains("c0"));
    // A table of very many columns is looked up name by name, too.
    let many = 40_000;
    let names: Vec<String> = (0..many).map(|i| format!("c{i}")).collect();
    let row = |of: usize| (0..many).map(|i| ((i * of) % 7).to_string()).collect::<Vec<_>>().join(",");
    let csv = format!("{}\n{}\n{}\n{}\n", names.join(","), row(1), row(2), row(4));
    let data = asked("POST", "/api/data?name=wide.csv", csv.as_bytes()).json();
    let some = &names[1..];
    let told = fit(&json!({"choice": {"table": data["id"], "columns": some, "label": null}, "spec": pca(2)}));
    assert_eq!(told["d"], many - 1, "{}", told["error"]);
}

#[test]
fn many_requests_at_once_neither_starve_nor_crash_it() {
    let request = rings("laplacian");
    let start = Instant::now();
    std::thread::scope(|scope| {
        // Connections that say nothing, and some that begin and do not go on.
        let mut idle: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(server().address).unwrap()).collect();
        idle.iter_mut().for_each(|s| s.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap());
        let fits: Vec<_> = (0..16).map(|_| scope.spawn(|| fit(&request))).collect();
        let quick: Vec<_> = (0..16).map(|_| scope.spawn(|| asked("GET", "/api/start", b"").status)).collect();
        for answer in quick {
            assert_eq!(answer.join().unwrap(), 200);
        }
        for told in fits {
            assert_eq!(told.join().unwrap()["n"], 400);
        }
    });
    assert!(start.elapsed() < Duration::from_secs(120));
    assert_eq!(asked("GET", "/api/start", b"").status, 200);
}

#[test]
fn who_stops_listening_stops_the_fit() {
    // A fit of many seconds: 30,000 points without structure, many components.
    let mut seed = 1u64;
    let mut csv = String::from("a,b,c,d,e,f\n");
    for _ in 0..30_000 {
        for j in 0..6 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            csv += &format!("{:.6}{}", (seed >> 11) as f64 / (1u64 << 53) as f64, if j == 5 { '\n' } else { ',' });
        }
    }
    let small = fit(&rings("gaussian(gamma=1)"));
    let data = asked("POST", "/api/data?name=noise.csv", csv.as_bytes()).json();
    let choice = json!({"table": data["id"], "columns": null, "label": null});
    let request = json!({"choice": choice, "spec": kernel_pca("gaussian(gamma=20)", 40)});
    let begin = |method: &str, path: &str, body: &str| {
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            server().address,
            bearer(),
            body.len()
        );
        let mut stream = TcpStream::connect(server().address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    // Two of them take both turns.
    let long: Vec<TcpStream> = (0..2).map(|_| begin("POST", "/api/fit", &request.to_string())).collect();
    for mut stream in &long {
        let mut some = [0u8; 2000];
        let mut seen = String::new();
        while !seen.contains("event: progress") {
            let n = stream.read(&mut some).unwrap();
            assert!(n > 0, "{seen}");
            seen += &String::from_utf8_lossy(&some[..n]);
        }
    }
    // Many that are given up while they wait leave the queue, and reports that nobody wants any more are not written.
    for _ in 0..40 {
        drop(begin("POST", "/api/fit", &request.to_string()));
        drop(begin("GET", &format!("/api/results/{}/files/report.html", small["id"]), ""));
    }
    drop(long);
    let start = Instant::now();
    assert_eq!(fit(&rings("gaussian(gamma=2)"))["n"], 400);
    assert!(start.elapsed() < Duration::from_secs(20), "the fits went on for {:?}", start.elapsed());
}
