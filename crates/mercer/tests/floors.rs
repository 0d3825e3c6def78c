//! The floors of the library: a module uses its own floor and those below, as lib.rs lists them.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_module_uses_a_higher_floor() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let lib = fs::read_to_string(src.join("lib.rs")).expect("lib.rs");
    let mut floors: BTreeMap<String, u32> = BTreeMap::new();
    let mut floor = None;
    for line in lib.lines() {
        if let Some(rest) = line.strip_prefix("// floor ") {
            floor = rest.split(',').next().and_then(|n| n.parse().ok());
        } else if line == "// beside" {
            floor = None;
        } else if let (Some(floor), Some((_, name))) = (floor, line.split_once("mod ")) {
            floors.insert(name.trim_end_matches(';').to_string(), floor);
        }
    }
    assert!(floors.len() > 15 && floors.values().max() == Some(&5), "lib.rs lists the floors: {floors:?}");

    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut uses = 0;
    for file in files {
        let relative = file.strip_prefix(&src).expect("below src");
        let module = relative.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
        let Some(own) = floors.get(module.trim_end_matches(".rs")) else { continue };
        let text = fs::read_to_string(&file).expect("a source");
        for (at, line) in text.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//")) {
            for part in line.split("crate::").skip(1) {
                let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if let Some(floor) = floors.get(&name) {
                    uses += 1;
                    assert!(
                        floor <= own,
                        "{}:{}: floor {own} uses '{name}' of floor {floor}",
                        relative.display(),
                        at + 1
                    );
                }
            }
        }
    }
    assert!(uses > 50, "the sources were read");
}
