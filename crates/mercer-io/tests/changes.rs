//! Files that change between two passes over them are errors.
#![allow(missing_docs)]

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use mercer_io::{Column, Error, Format, MappedNpy, Stream, StreamOptions, Table, read, write_table};

fn table(rows: usize) -> Table {
    let column = |name: &str, by: f64| Column::numbers(name, (0..rows).map(|i| (i as f64 * by).sin()).collect());
    Table::new("rows", vec![column("a", 0.1), column("b", 0.7)]).expect("a table")
}

/// Rows of a pass.
fn pass(stream: &Stream) -> Result<usize, Error> {
    stream.batches()?.map(|batch| Ok(batch?.table.rows())).sum()
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).expect("opens").write_all(bytes).expect("appends");
}

/// Changes a byte near the end; the time of the change may be the old one on file systems with coarse clocks.
fn overwrite(path: &Path) {
    let mut file = OpenOptions::new().write(true).open(path).expect("opens");
    file.seek(SeekFrom::End(-3)).expect("seeks");
    file.write_all(b"1").expect("writes");
    file.set_modified(SystemTime::now() + Duration::from_millis(20)).expect("sets");
}

fn replace(path: &Path) {
    let bytes = fs::read(path).expect("reads");
    let other = path.with_extension("new");
    fs::write(&other, bytes).expect("writes");
    fs::rename(other, path).expect("renames");
}

#[test]
fn a_file_that_changes_between_passes_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in [Format::CSV, Format::NPY, Format::PARQUET] {
        let bytes = write_table(&table(3000), format).expect("writes");
        let cut = bytes.len() as u64 / 2;
        type Change<'a> = (&'a str, &'a dyn Fn(&Path));
        let changes: [Change<'_>; 5] = [
            ("appended", &|path| append(path, b"0.5,0.5\n0.1,0.1\n")),
            ("cut", &|path| {
                OpenOptions::new().write(true).open(path).expect("opens").set_len(cut).expect("cuts");
            }),
            ("overwritten", &overwrite),
            ("replaced", &replace),
            ("removed", &|path| fs::remove_file(path).expect("removes")),
        ];
        for (what, change) in changes {
            // The second of two files of a folder.
            let parts = folder.path().join("parts");
            fs::create_dir_all(&parts).expect("makes");
            let path = parts.join(format!("2.{}", format.name()));
            fs::write(parts.join(format!("1.{}", format.name())), &bytes).expect("writes");
            fs::write(&path, &bytes).expect("writes");
            let options = StreamOptions { batch_bytes: 4000, ..Default::default() };
            let mut stream = Stream::open(&[parts.display().to_string()], options).expect("opens");
            assert_eq!(pass(&stream).expect("reads"), 6000);
            // A clone of some columns has the same rows.
            stream.keep(&[stream.columns()[1].name.clone()]).expect("keeps");
            assert_eq!(pass(&stream.clone()).expect("reads"), 6000);
            change(&path);
            let error = pass(&stream).expect_err(what);
            let file = format!("2.{}", format.name());
            assert!(error.to_string().contains(&file), "{what}: {error}");
            let right = match what {
                "removed" => matches!(error, Error::Io { .. }),
                _ => matches!(error, Error::Changed { .. }) && error.remedy().is_some(),
            };
            assert!(right, "{what}: {error}");
            fs::remove_dir_all(&parts).expect("removes");
        }
    }
}

/// The change comes in the middle of a pass, behind the place that is being read.
#[test]
fn a_file_that_changes_within_a_pass_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.csv");
    fs::write(&path, write_table(&table(50_000), Format::CSV).expect("writes")).expect("writes");
    let options = StreamOptions { batch_bytes: 8000, ..Default::default() };
    let stream = Stream::open(&[path.display().to_string()], options).expect("opens");
    let mut batches = stream.batches().expect("begins");
    batches.next().expect("a batch").expect("rows");
    append(&path, b"0.5,0.5\n");
    let last = batches.last().expect("batches");
    assert!(matches!(last, Err(Error::Changed { .. })), "{last:?}");
}

#[test]
fn a_mapped_file_tells_that_it_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.npy");
    let name = path.display().to_string();
    for change in [&overwrite as &dyn Fn(&Path), &replace, &|path| append(path, &[0])] {
        fs::write(&path, write_table(&table(300), Format::NPY).expect("writes")).expect("writes");
        let mapped = MappedNpy::open(&name).expect("maps");
        mapped.check_unchanged().expect("nothing has changed");
        change(&path);
        assert!(matches!(mapped.check_unchanged(), Err(Error::Changed { .. })));
    }
    assert_eq!(read("iris").expect("reads").rows(), 150, "data without a file cannot change");
}
