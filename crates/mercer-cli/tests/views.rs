//! Pictures, the report and the page, as a user of the command meets them.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use common::Run;

#[test]
fn every_kind_in_every_format() {
    let run = Run::new();
    let kinds: [(&'static str, &[&'static str]); 8] = [
        ("scores", &["iris"]),
        ("scores", &["rings", "--kernel", "gaussian", "--gamma", "3", "--axes", "2,3"]),
        ("scree", &["iris", "--kernel", "gaussian"]),
        ("loadings", &["iris"]),
        ("kernel", &["iris", "--kernel", "laplacian"]),
        ("contours", &["rings", "--kernel", "gaussian", "-k", "3"]),
        ("reconstruction", &["iris", "-k", "1", "--axes", "petal_length,petal_width"]),
        ("reconstruction", &["rings", "--kernel", "gaussian", "-k", "4"]),
    ];
    for (kind, words) in kinds {
        let with = |more: &[&'static str]| [&["plot", "--kind", kind], words, more].concat();
        for (name, begins) in [("a.svg", &b"<svg"[..]), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")] {
            assert_eq!(run.ok(&with(&["-o", name])), "");
            assert!(fs::read(run.path().join(name)).expect(name).starts_with(begins), "{kind} {name}");
        }
        let drawn = run.ok(&with(&["--terminal"]));
        assert!(drawn.lines().count() > 4 && drawn.contains(words[0]), "{drawn}");
        assert!(run.ok(&with(&[])).starts_with("<svg"), "a pipe gets SVG");
    }
}

#[test]
fn models_and_scores_are_drawn_as_well() {
    let run = Run::new();
    run.ok(&["fit", "iris", "-o", "p"]);
    run.ok(&["fit", "rings", "--kernel", "gaussian", "-k", "3", "-o", "q"]);
    assert!(run.ok(&["plot", "p.scores.csv", "--terminal"]).contains("o setosa"));
    assert!(run.ok(&["plot", "p.scores.csv", "--by", "PC3", "--terminal"]).contains("PC3 from"));
    assert!(run.ok(&["plot", "p.mercer.safetensors", "--kind", "scree", "--terminal"]).contains("92.46 %"));
    assert!(
        run.ok(&["plot", "p.mercer.safetensors", "iris", "--kind", "loadings", "--terminal"]).contains("petal_length")
    );
    assert!(run.ok(&["plot", "p.mercer.safetensors", "iris", "--terminal"]).contains("x virginica"));
    assert!(run.ok(&["plot", "q.mercer.safetensors", "--kind", "contours", "--terminal"]).contains("PC3"));
    assert!(run.ok(&["plot", "q.mercer.safetensors", "--terminal"]).contains("PC2"));
    // The picture of the file is that of the data.
    run.ok(&["plot", "q.mercer.safetensors", "rings", "-o", "a.svg"]);
    run.ok(&["plot", "rings", "--kernel", "gaussian", "-k", "3", "-o", "b.svg"]);
    assert_eq!(run.text("a.svg").matches("<circle").count(), run.text("b.svg").matches("<circle").count());
}

#[test]
fn impossible_plots_are_refused_and_no_file_is_lost() {
    let run = Run::new();
    run.ok(&["fit", "iris", "-o", "p"]);
    run.put("a.svg", "mine");
    for (words, told) in [
        (&["plot", "p.mercer.safetensors"][..], "name the data after the model"),
        (&["plot", "p.scores.csv", "--kind", "scree"], "no model"),
        (&["plot", "iris", "--kind", "contours"], "contours needs 2 columns, found 4"),
        (&["plot", "iris", "--kind", "kernel"], "PCA has no kernel matrix"),
        (&["plot", "iris", "--kind", "loadings", "--kernel", "gaussian"], "no loadings"),
        (&["plot", "rings", "--kind", "reconstruction", "--kernel", "cosine"], "no reconstruction"),
        (&["plot", "iris", "--by", "clas"], "clas"),
        (&["plot", "nothing.csv"], "no such file"),
    ] {
        let error = run.fails(1, &[words, &["-o", "a.svg"]].concat());
        assert!(error.contains(told) && error.contains("help:"), "{words:?}: {error}");
    }
    for (words, told) in [
        (&["plot", "iris", "--axes", "1,99"][..], "two of the 4 components"),
        (&["plot", "iris", "iris"], "only a model file"),
        (&["plot", "p.mercer.safetensors", "iris", "--kernel", "gaussian"], "already fitted"),
        (&["plot", "iris", "-o", "a.gif"], ".svg, .png or .pdf"),
    ] {
        let error = run.fails(2, words);
        assert!(error.contains(told), "{words:?}: {error}");
    }
    run.fails(1, &["plot", "iris", "-o", "no/folder/a.svg"]);
    let error = run.fails(1, &["report", "p.scores.csv", "-o", "a.html"]);
    assert!(error.contains("a report needs a model and its data"), "{error}");
    run.fails(2, &["report", "iris", "-o", "a.svg"]);
    run.fails(2, &["plot", "iris", "--format", "pdf", "-o", "a.svg"]);
    assert_eq!(run.text("a.svg"), "mine");
}

#[test]
fn a_report_is_one_page_with_the_command_to_reproduce_it() {
    let run = Run::new();
    assert_eq!(run.ok(&["report", "iris", "--kernel", "gaussian(gamma=0.5)", "-o", "r.html"]), "");
    let page = run.text("r.html");
    assert!(page.contains("mercer report iris --kernel &#39;gaussian(gamma=0.5)&#39; -o r.html"));
    for told in ["What was done, and why", "few points (150)", "Numerical error", "side by side"] {
        assert!(page.contains(told), "{told}");
    }
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"));
    assert_eq!(run.ok(&["report", "iris", "--kernel", "gaussian(gamma=0.5)", "-o", "-"]).len() / 100, page.len() / 100);
    run.ok(&["fit", "rings", "--kernel", "gaussian", "-k", "3", "-o", "q"]);
    run.ok(&["report", "q.mercer.safetensors", "rings"]);
    assert!(run.text("report.html").contains("rings"));
}

/// A server of the page, which ends with this.
struct Page {
    child: std::process::Child,
    out: BufReader<std::process::ChildStdout>,
    port: u16,
    token: String,
}

impl Page {
    fn new(run: &Run, words: &[&str]) -> Self {
        let mut child = run
            .command(&[&["explore", "--no-open"], words].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut out = BufReader::new(child.stdout.take().expect("output"));
        let mut url = String::new();
        out.read_line(&mut url).expect("a line");
        let address = url.trim().strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{words:?}: {url:?}"));
        let (port, token) = address.split_once("/#token=").expect("a token");
        let (port, token) = (port.parse().expect("a port"), token.to_string());
        Page { child, out, port, token }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        let Page { port, token, .. } = self;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: application/json"
        );
        let text = format!("{head}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).expect("writes");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answers");
        answer.split_once("\r\n\r\n").expect("a body").1.to_string()
    }

    /// The result of a fit of the first table.
    fn fit(&self, change: serde_json::Value) -> serde_json::Value {
        let start: serde_json::Value = serde_json::from_str(&self.ask("GET", "/api/start", "")).expect("JSON");
        let path = format!("/api/data/{}", start["first"]);
        let data: serde_json::Value = serde_json::from_str(&self.ask("GET", &path, "")).expect("JSON");
        let mut request = serde_json::json!({
            "choice": {
                "table": start["first"], "columns": data["chosen"], "label": data["label"], "missing": data["missing"],
            },
            "spec": {"method": "kernel_pca", "kernel": "gaussian", "components": {"up_to": 3}, "approx": "auto"},
        });
        for (name, value) in change.as_object().expect("an object") {
            match name.as_str() {
                "spec" => request["spec"] = value.clone(),
                "kernel" | "components" | "standardise" => request["spec"][name] = value.clone(),
                _ => request["choice"][name] = value.clone(),
            }
        }
        let events = self.ask("POST", "/api/fit", &request.to_string());
        let last = events.lines().rfind(|l| l.starts_with("data: ")).unwrap_or_else(|| panic!("{request}: {events}"));
        serde_json::from_str(&last[6..]).expect("JSON")
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[test]
fn the_command_that_is_copied_gives_the_scores_that_are_shown() {
    use serde_json::json;
    let run = Run::new();
    let numbers = |head: &str, delimiter: char, label: bool| {
        let mut text = head.to_string();
        for i in 0..40 {
            let cells: Vec<String> = (0..4).map(|j| format!("{}", (i * (j + 3) + i * i * j) % 23)).collect();
            text += &cells.join(&delimiter.to_string());
            if label {
                text += &format!("{delimiter}{}", i % 3);
            }
            text.push('\n');
        }
        text
    };
    run.put("a.csv", &numbers("a,b,c,d,y\n", ',', true));
    run.put("odd.csv", &numbers("\"a,b\",c:d,!e,12,y y\n", ',', true));
    run.put("-f.csv", &numbers("-a,b,c,d,-y\n", ',', true));
    run.put("skip.csv", &numbers("made by hand\non a day\na;b;c;d\n", ';', false));
    run.put("bare.csv", &numbers("", ',', false));
    run.put("gaps.csv", &numbers("a,b,c,d,y\n1,,2,3,0\n", ',', true));
    let cases = [
        (vec!["iris"], json!({"spec": {"method": "pca", "components": {"up_to": 10}}})),
        (vec!["digits"], json!({"label": "x_3_4", "components": 4})),
        (vec!["a.csv"], json!({"label": "y", "columns": ["a", "b", "y"]})),
        (vec!["a.csv", "--label", "y"], json!({"label": null})),
        (vec!["a.csv", "--id", "y", "--select", "b,d"], json!({"label": null, "standardise": true})),
        (vec!["odd.csv"], json!({"label": "y y", "columns": ["a,b", "!e", "12"]})),
        (vec!["skip.csv", "--skip", "2", "-d", ";"], json!({"kernel": "0.5*gaussian(gamma=median) + linear"})),
        (vec!["bare.csv", "--no-headers"], json!({"label": null, "columns": ["x1", "x3"]})),
        (vec!["gaps.csv", "--label", "y", "--missing", "drop"], json!({})),
        (
            vec!["gaps.csv", "--label", "y"],
            json!({"missing": "mean", "spec": {"method": "pca", "components": {"up_to": 3}, "standardise": true}}),
        ),
        (vec!["a.csv", "--seed", "5"], json!({"kernel": "laplacian"})),
        (vec!["./-f.csv"], json!({"label": "-y", "columns": ["-a", "c"]})),
    ];
    for (words, change) in cases {
        let page = Page::new(&run, &words);
        let mut change = change;
        if words[0] == "digits" {
            // A column of pixels as the label: a label column is not used in the fit, whatever its name.
            let names = run.ok(&["data", "digits"]);
            change["label"] = json!(names.lines().next().expect("names").split(',').nth(20));
        }
        let told = page.fit(change.clone());
        let command = told["command"].as_str().unwrap_or_else(|| panic!("{words:?} {change}: {told}"));
        let shown = page.ask("GET", &format!("/api/results/{}/files/scores.csv", told["id"]), "");
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_mercer")).parent().expect("a folder");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        let output = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(run.path())
            .env("PATH", path)
            .output()
            .expect("runs");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let prefix = command.rsplit(' ').next().expect("a prefix");
        let columns = |text: &str| -> Vec<Vec<String>> {
            // Labels may be more or fewer; the scores are what counts.
            let cells = |line: &str| line.split(',').map(String::from).collect::<Vec<_>>();
            let k = told["components"].as_u64().expect("a number") as usize;
            text.lines().map(|l| cells(l).split_off(cells(l).len() - k)).collect()
        };
        let written = run.text(&format!("{prefix}.scores.csv"));
        assert_eq!(columns(&written), columns(&shown), "{command}");
    }
}

#[cfg(unix)]
#[test]
fn the_page_is_served_until_it_is_interrupted() {
    let run = Run::new();
    run.put("my data.csv", "a;b;kind\n1;2;x\n3;4;y\n5;9;x\n");
    let mut page = Page::new(&run, &["my data.csv", "-d", ";", "--label", "kind"]);
    assert!(page.token.len() >= 32, "{}", page.token);
    let start = page.ask("GET", "/api/start", "");
    assert!(start.contains("\"name\":\"my data.csv\"") && start.contains("\"first\":4"), "{start}");
    let token = std::mem::replace(&mut page.token, "0".into());
    assert!(page.ask("GET", "/api/start", "").contains("token is missing or wrong"), "{token}");
    let error = run.fails(1, &["explore", "--no-open", "--port", &page.port.to_string()]);
    assert!(error.contains("cannot listen") && error.contains("--port"), "{error}");
    std::process::Command::new("kill").args(["-INT", &page.child.id().to_string()]).status().expect("kill");
    assert_eq!(page.child.wait().expect("ends").code(), Some(0));
    let mut rest = String::new();
    page.out.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "", "the address is the one line on standard output");
}
