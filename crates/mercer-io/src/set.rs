//! The files of one fit, and whether those on disk belong together.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::formats::FORMATS;

/// The end of the name of a model file.
const MODEL: &str = ".mercer.safetensors";
/// Tables that are written beside a model.
const TABLES: [&str; 3] = ["scores", "eigenvalues", "loadings"];
/// No header of a model file is longer.
const HEADER_LIMIT: u64 = 100_000_000;

/// The 64-bit fingerprint of bytes.
pub(crate) fn fingerprint(mut bytes: impl Read) -> io::Result<u64> {
    let mix = |h: u64, v: u64| {
        let h = (h ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^ (h >> 29)
    };
    let (mut hash, mut length, mut word, mut filled) = (0x6d65_7263_6572, 0u64, [0; 8], 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match bytes.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        length += count as u64;
        for byte in &buffer[..count] {
            word[filled] = *byte;
            filled += 1;
            if filled == word.len() {
                (hash, filled) = (mix(hash, u64::from_le_bytes(word)), 0);
            }
        }
    }
    word[filled..].fill(0);
    Ok(mix(mix(hash, u64::from_le_bytes(word)), length))
}

/// The tables that a fit wrote beside its model, which stores this record. Files that were mixed with those of another
/// fit, or changed later, are found by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    /// The fingerprint of all tables, which names the fit. Equal fits have equal names.
    pub run: String,
    /// Ends of file names, as `scores.csv`, and fingerprints of the files.
    pub files: BTreeMap<String, String>,
}

impl FileSet {
    /// The record of files named PREFIX.END, with the fingerprints of their bytes.
    pub fn new(prefix: &str, fingerprints: &[(PathBuf, u64)]) -> Self {
        let prefix = format!("{}.", Path::new(prefix).file_name().unwrap_or_default().to_string_lossy());
        let end = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.strip_prefix(&prefix).map(String::from).unwrap_or(name)
        };
        let files: BTreeMap<String, String> =
            fingerprints.iter().map(|(path, found)| (end(path), format!("{found:016x}"))).collect();
        let all: String = files.iter().map(|(end, found)| format!("{end} {found}\n")).collect();
        let run = fingerprint(all.as_bytes()).unwrap_or_default();
        FileSet { run: format!("{run:016x}"), files }
    }

    /// The record among what the command stores in a model file.
    pub fn of_front(front: Option<&Value>) -> Option<Self> {
        FileSet::deserialize(front?).ok()
    }

    /// The record in a model file, of which only the header is read.
    fn of_model(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let mut length = [0; 8];
        file.read_exact(&mut length).ok()?;
        let length = u64::from_le_bytes(length);
        let mut header = Vec::new();
        file.take(length.min(HEADER_LIMIT)).read_to_end(&mut header).ok()?;
        let header: Value = serde_json::from_slice(&header).ok()?;
        let facts: Value = serde_json::from_str(header["__metadata__"]["mercer"].as_str()?).ok()?;
        FileSet::of_front(Some(&facts["front"]))
    }

    /// Tables of this record beside a model file that are not as the fit wrote them. One that is not there is no mistake.
    pub fn strangers(&self, model: &str) -> Vec<String> {
        let Some(prefix) = model.strip_suffix(MODEL) else { return Vec::new() };
        let paths = self.files.keys().map(|end| (end, format!("{prefix}.{end}")));
        paths.filter(|(end, path)| self.is_stranger(end, Path::new(path))).map(|(_, path)| path).collect()
    }

    /// Whether a file is not the one of the record. One that cannot be read is not known to be another.
    fn is_stranger(&self, end: &str, path: &Path) -> bool {
        let Some(known) = self.files.get(end).filter(|_| path.is_file()) else { return false };
        let found = File::open(path).and_then(|file| fingerprint(BufReader::new(file)));
        found.is_ok_and(|found| format!("{found:016x}") != *known)
    }
}

/// The model file beside a table that is not of the same fit: the table was changed, or a fit ended while its files
/// took their places. `None` if they belong together, or if there is no such model.
pub fn foreign_model(table: &str) -> Option<String> {
    let ends = TABLES.iter().flat_map(|t| FORMATS.iter().map(move |f| format!("{t}.{}", f.name())));
    let (end, prefix) = ends.into_iter().find_map(|end| {
        let prefix = table.strip_suffix(end.as_str())?.strip_suffix('.')?.to_string();
        Some((end, prefix))
    })?;
    let model = format!("{prefix}{MODEL}");
    FileSet::of_model(Path::new(&model))?.is_stranger(&end, Path::new(table)).then_some(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_depend_on_every_byte_and_the_length() {
        let of = |bytes: &[u8]| fingerprint(bytes).expect("bytes can be read");
        let bytes: Vec<u8> = (0..100u8).collect();
        let mut seen = std::collections::HashSet::new();
        for length in 0..=bytes.len() {
            assert!(seen.insert(of(&bytes[..length])), "{length}");
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0x80;
            assert!(seen.insert(of(&other)), "{at}");
        }
        // However the bytes come.
        let parts = bytes[..13].chain(&bytes[13..50]).chain(&bytes[50..]);
        assert_eq!(fingerprint(parts).expect("bytes can be read"), of(&bytes));
        // Zeros at the end are not those that fill the last word.
        assert!(of(&[1, 0]) != of(&[1]));
    }
}
