//! The `console` blocks of README and documents are run, each document in a folder of its own, and their output compared.
//!
//! A line `$ command` is given to the shell with `mercer` on its path; the lines after it are what it prints, standard
//! error included; a line `...` stands for any lines, and `...` within one for any text.
#![allow(missing_docs)]

use std::path::Path;
use std::process::Command;

struct Snippet {
    line: usize,
    command: String,
    expected: Vec<String>,
}

fn snippets(text: &str) -> Vec<Snippet> {
    let (mut found, mut inside): (Vec<Snippet>, bool) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside {
            match line.strip_prefix("$ ") {
                Some(command) => {
                    found.push(Snippet { line: at + 1, command: command.into(), expected: Vec::new() });
                }
                None => {
                    let snippet = found.last_mut().expect("a block begins with a command");
                    snippet.expected.push(line.trim_end().to_string());
                }
            }
        }
    }
    found
}

/// Whether lines match a pattern in which `...` stands for any number of lines.
fn matches(pattern: &[String], lines: &[String]) -> bool {
    match pattern.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "..." => (0..=lines.len()).any(|skip| matches(rest, &lines[skip..])),
        Some((first, rest)) => {
            // `...` within a line stands for any text.
            let same = |line: &String| match first.split_once("...") {
                Some((beginning, end)) => line.starts_with(beginning) && line.ends_with(end),
                None => line == first,
            };
            lines.first().is_some_and(same) && matches(rest, &lines[1..])
        }
    }
}

fn run_document(name: &str, at_least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(name)).expect(name);
    let folder = tempfile::tempdir().expect("a folder");
    let bin = Path::new(env!("CARGO_BIN_EXE_mercer")).parent().expect("a folder of binaries");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let snippets = snippets(&text);
    assert!(snippets.len() >= at_least, "{name} has {} commands", snippets.len());
    for snippet in snippets {
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {}", snippet.command)])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .output()
            .expect("a shell");
        let text = String::from_utf8(output.stdout).expect("text");
        let lines: Vec<String> = text.lines().map(|l| l.trim_end().to_string()).collect();
        assert!(
            matches(&snippet.expected, &lines),
            "{name}, line {}: `{}` prints\n{text}",
            snippet.line,
            snippet.command
        );
    }
}

#[test]
fn readme() {
    run_document("README.md", 12);
}

#[test]
fn guide_beyond_memory() {
    run_document("docs/guide/beyond_memory.md", 4);
}

#[test]
fn guide_to_pictures() {
    run_document("docs/guide/look.md", 4);
}

/// What the documents say of functions exists: every name in backticks after an equation's title in MATHS.md is code.
#[test]
fn equations_name_code_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let maths = std::fs::read_to_string(root.join("MATHS.md")).expect("MATHS.md");
    let mut sources = String::new();
    let mut folders = vec![root.join("crates/mercer/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                sources += &std::fs::read_to_string(path).expect("a source");
            }
        }
    }
    let titles: Vec<&str> = maths.lines().filter(|l| l.starts_with("**M")).collect();
    assert_eq!(titles.len(), 22, "equations M1 to M22");
    for (at, title) in titles.iter().enumerate() {
        assert!(title.starts_with(&format!("**M{}.", at + 1)), "{title}");
        for name in title.split('`').skip(1).step_by(2).filter(|n| !n.ends_with(".rs")) {
            let last = name.rsplit("::").next().expect("a name");
            let defined = ["fn", "struct", "enum", "trait"].iter().any(|k| sources.contains(&format!("{k} {last}")));
            assert!(defined, "MATHS.md names `{name}`, which is nowhere defined");
        }
    }
    // Comments cite an equation by its number: "(MATHS.md, M7)", "M7  K~ = HKH".
    for number in 1..=titles.len() {
        let name = format!("M{number}");
        let cited = sources.match_indices(&name).any(|(at, _)| {
            let next = sources[at + name.len()..].chars().next();
            sources[..at].ends_with([' ', '-', '(']) && next.is_some_and(|c| !c.is_ascii_digit())
        });
        assert!(cited, "no comment cites {name}");
    }
}
