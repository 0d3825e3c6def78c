//! The `console` blocks of README and documents are run, each document in a folder of its own, and their output compared.
//!
//! A line `$ command` is given to the shell with `mercer` on its path; the lines after it are what it prints, standard
//! error included; a line `...` stands for any lines, and `...` within one for any text.
#![allow(missing_docs)]

use std::path::Path;
use std::process::Command;

use mercer::kernel::registry::{Entry, KERNELS, entry};

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
    assert_eq!(titles.len(), 27, "equations M1 to M27");
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

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).expect(name)
}

fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_mercer")).args(arguments).env("NO_COLOR", "1").output();
    let output = output.expect("the command runs");
    String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
}

/// The columns of a row of `mercer kernels`.
fn row(entry: &Entry) -> [String; 3] {
    let aliases = if entry.aliases.is_empty() { String::new() } else { format!(" ({})", entry.aliases.join(", ")) };
    let defaults = entry.parameters.iter().filter(|p| !p.default.is_empty());
    let defaults: Vec<String> = defaults.map(|p| format!("{}={}", p.name, p.default)).collect();
    [format!("{}{aliases}", entry.name), defaults.join(", "), entry.formula.to_string()]
}

/// README and the command list every kernel of the table, in order, and no other.
#[test]
fn tables_of_kernels_are_complete() {
    let readme = read("README.md");
    let section = readme.split("## Kernels").nth(1).and_then(|s| s.split("\n## ").next()).expect("a section");
    for (place, text) in [("README.md", section), ("mercer kernels", &printed(&["kernels"]))] {
        let lines = text.lines().skip_while(|l| !l.starts_with("  kernel ")).skip(1);
        let lines: Vec<&str> = lines.take_while(|l| !l.is_empty()).collect();
        assert_eq!(lines.len(), KERNELS.len(), "{place} has a line per kernel:\n{text}");
        for (line, entry) in lines.iter().zip(KERNELS) {
            let mut rest = *line;
            for part in row(entry) {
                let (before, after) =
                    rest.split_once(&part).unwrap_or_else(|| panic!("{place}: no `{part}` in {line}"));
                assert!(before.trim().is_empty(), "{place}: `{before}` before `{part}`");
                rest = after;
            }
            assert_eq!(rest.trim(), if entry.psd { "" } else { "(not a Mercer kernel)" }, "{place}: {line}");
        }
    }
}

/// The command shows every kernel by each of its names, with all parameters, and suggests them all for a wrong name.
#[test]
fn the_command_shows_every_kernel() {
    let listed: serde_json::Value = serde_json::from_str(&printed(&["kernels", "--json"])).expect("JSON");
    let names: Vec<&str> = listed.as_array().expect("a list").iter().filter_map(|e| e["name"].as_str()).collect();
    assert_eq!(names, KERNELS.iter().map(|e| e.name).collect::<Vec<_>>());
    let unknown = printed(&["fit", "rings", "--kernel", "zzz"]);
    for entry in KERNELS {
        assert!(unknown.contains(entry.name), "no {} in: {unknown}", entry.name);
        for name in std::iter::once(entry.name).chain(entry.aliases.iter().copied()) {
            let text = printed(&["kernels", name]);
            let parameters = entry.parameters.iter().map(|p| p.about);
            for part in [entry.name, entry.formula, entry.about].into_iter().chain(parameters) {
                assert!(text.contains(part), "`mercer kernels {name}`: no `{part}` in\n{text}");
            }
        }
    }
}

/// Python's stubs have a function per name, with the parameters of the table.
#[test]
fn stubs_have_every_kernel() {
    let stubs = read("python/mercer/kernels.pyi");
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for function in stubs.split("\ndef ").skip(1) {
        let (name, rest) = function.split_once('(').expect("arguments");
        let arguments = rest.split(") -> ").next().expect("arguments").split(" = ...");
        let names = arguments.filter_map(|a| a.trim_matches([' ', ',', '*', '\n']).split_once(':'));
        found.push((name.into(), names.map(|(name, _)| name.to_string()).collect()));
    }
    let mut expected: Vec<(String, Vec<String>)> = Vec::new();
    for entry in KERNELS {
        let parameters: Vec<String> = entry.parameters.iter().map(|p| p.name.to_string()).collect();
        let names = std::iter::once(entry.name).chain(entry.aliases.iter().copied());
        expected.extend(names.map(|name| (name.to_string(), parameters.clone())));
    }
    assert_eq!(found, expected);
}

/// The docstring of `KernelPCA` says of `gamma`, `degree` and `coef0` which kernels have them.
#[test]
fn docstrings_name_the_kernels_of_each_parameter() {
    let source = read("python/mercer/_kernel_pca.py");
    for parameter in ["gamma", "degree", "coef0"] {
        let (_, text) = source.split_once(&format!("\n    {parameter} : ")).expect("a parameter");
        let (_, text) = text.split_once("Parameter of ").expect("the kernels of a parameter");
        let (list, _) = text.split_once('.').expect("a sentence");
        let named = list.split([',', ' ', '\n']).filter(|w| !matches!(*w, "" | "and"));
        let mut named: Vec<&str> = named.map(|n| entry(n).expect("a kernel of the table").name).collect();
        let mut having: Vec<&str> =
            KERNELS.iter().filter(|e| e.parameters.iter().any(|p| p.name == parameter)).map(|e| e.name).collect();
        named.sort_unstable();
        having.sort_unstable();
        assert_eq!(named, having, "kernels with {parameter}");
    }
}

/// The library has a constructor of `Kernel` for every kernel, documented by a file of its own.
#[test]
fn every_kernel_has_a_constructor() {
    for entry in KERNELS {
        let source = read(&format!("crates/mercer/src/kernel/kernels/{}.rs", entry.name));
        assert!(source.starts_with("//! "), "{}.rs has no documentation", entry.name);
        assert!(source.contains(&format!("    pub fn {}(", entry.name)), "no Kernel::{}", entry.name);
    }
}

#[test]
fn every_public_type_of_the_library_has_an_example() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../mercer/src")];
    let (mut types, mut without) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            let lines: Vec<&str> = text.lines().collect();
            for (at, line) in lines.iter().enumerate() {
                let Some(name) = ["pub struct ", "pub enum "].iter().find_map(|kind| line.strip_prefix(kind)) else {
                    continue;
                };
                types += 1;
                let above = lines[..at].iter().rev().take_while(|l| l.starts_with("///") || l.starts_with("#["));
                if !above.into_iter().any(|l| l.contains("```")) {
                    without.push(format!("{}: {name}", path.display()));
                }
            }
        }
    }
    assert!(types > 90, "{types} types were found");
    assert!(without.is_empty(), "without an example: {without:#?}");
}
