//! Requests to the page: heads, addresses and bodies, sent to a server as a browser would.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use mercer::Exec;
use mercer_serve::{Server, ServerOptions};
use serde_json::{Value, json};

use super::Target;
use crate::dice::Dice;
use crate::mutate;

pub(super) fn targets() -> Vec<Box<dyn Target>> {
    vec![Box::new(Page)]
}

/// How long a client waits for the beginning of an answer before it says that there is no more to the request.
const PATIENCE: Duration = Duration::from_millis(300);
/// The longest time until an answer ends.
const ANSWER: Duration = Duration::from_secs(20);
/// A small table, so that fits are quick.
const TABLE: &str = "a,b,who\n1,2,x\n2,3.5,y\n0.5,7,x\n4,1,y\n3,3,x\n";

const WORDS: &[&[u8]] = &[
    b"\r\n",
    b":",
    b"/",
    b"..",
    b"%2e%2e",
    b"%00",
    b"?",
    b"&",
    b"=",
    b"-1",
    b"0",
    b"18446744073709551616",
    b"Content-Length: 99999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Host: evil\r\n",
    b"Authorization: Bearer \r\n",
    b"HTTP/0.9",
    b"\xc3\xa9",
];

/// A server that runs as long as the process.
struct Running {
    address: SocketAddr,
    token: String,
    table: Value,
}

fn running() -> &'static Running {
    static RUNNING: OnceLock<Running> = OnceLock::new();
    RUNNING.get_or_init(|| {
        let exec = Exec::new().memory(100_000_000).threads(1);
        let server = Server::new(ServerOptions { given: None, exec, port: 0 }).expect("a free port");
        let url = server.url();
        let parts = url.strip_prefix("http://").and_then(|rest| rest.split_once("/#token="));
        let (address, token) = parts.expect("an address and a token");
        let (address, token) = (address.parse().expect("an address"), token.to_string());
        std::thread::spawn(move || server.run());
        let mut running = Running { address, token, table: Value::Null };
        let (_, body) = running.sent(&running.request("POST", "/api/data?name=small.csv", TABLE.as_bytes()));
        running.table = serde_json::from_slice::<Value>(&body).map(|v| v["id"].clone()).expect("a table");
        running
    })
}

impl Running {
    fn request(&self, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        let Running { address, token, .. } = self;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    /// Sends a request; returns the status and the body of the answer. 0 if there is none.
    fn sent(&self, request: &[u8]) -> (u16, Vec<u8>) {
        let Ok(mut stream) = TcpStream::connect(self.address) else { return (0, Vec::new()) };
        let _ = stream.set_read_timeout(Some(PATIENCE));
        // A server that refuses a body early may close before all of it was written.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let mut first = [0; 1];
        match stream.read(&mut first) {
            Ok(count) => answer.extend(&first[..count]),
            // It waits for more: there is none.
            Err(_) => drop(stream.shutdown(Shutdown::Write)),
        }
        let _ = stream.set_read_timeout(Some(ANSWER));
        let _ = stream.read_to_end(&mut answer);
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        (status, answer.split_off(end))
    }
}

struct Page;

impl Page {
    /// The requests that the page sends, of which one is picked.
    fn valid(dice: &mut Dice) -> (&'static str, String, Value) {
        let table = running().table.clone();
        let choice = json!({"table": table, "columns": ["a", "b"], "label": "who", "missing": "error"});
        let kernel = json!({
            "method": "kernel_pca", "kernel": "gaussian(gamma=0.5)", "components": {"up_to": 2},
            "standardise": true, "approx": "auto",
        });
        let pca = json!({"method": "pca", "components": {"up_to": 2}, "standardise": false});
        let id = dice.below(4);
        match dice.below(9) {
            0..3 => ("POST", "/api/fit".into(), json!({"choice": choice, "spec": kernel})),
            3 => ("POST", "/api/fit".into(), json!({"choice": choice, "spec": pca})),
            4 => ("POST", "/api/sweep".into(), json!({"choice": choice, "spec": kernel})),
            5 => ("POST", format!("/api/results/{id}/rows"), json!({"rows": [0, 1, 2]})),
            6 => ("GET", format!("/api/results/{id}/points/{}", dice.below(6)), Value::Null),
            7 => ("GET", format!("/api/results/{id}/field?x=a&y=b&component=0"), Value::Null),
            _ => ("GET", format!("/api/results/{id}/files/scores.csv"), Value::Null),
        }
    }
}

impl Target for Page {
    fn name(&self) -> &'static str {
        "page"
    }

    fn input(&self, dice: &mut Dice) -> Vec<u8> {
        let (method, path, mut body) = Page::valid(dice);
        let whole = dice.one_in(4);
        if !whole {
            mutate::value(dice, &mut body);
        }
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let path = if dice.one_in(3) {
            String::from_utf8_lossy(&mutate::text(dice, path.as_bytes(), WORDS)).replace(['\r', '\n', ' '], "_")
        } else {
            path
        };
        let request = running().request(method, &path, text.as_bytes());
        if whole { mutate::text(dice, &request, WORDS) } else { request }
    }

    fn read(&self, input: &[u8]) -> Result<bool, String> {
        let (status, body) = running().sent(input);
        let text = String::from_utf8_lossy(&body);
        if status >= 500 && status != 503 {
            return Err(format!("the server answers {status}: {text}"));
        }
        // What is no request at all need not be answered; the next one must be.
        let (alive, _) = running().sent(&running().request("GET", "/api/start", b""));
        if alive != 200 {
            return Err(format!("after this request the server answers {alive}"));
        }
        Ok(status == 200 && !text.contains("event: failed"))
    }
}
