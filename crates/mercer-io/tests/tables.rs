//! Tables in and out: every format, every kind of broken file.
#![allow(missing_docs)]

use std::path::PathBuf;

use mercer_io::{
    Column, Error, FORMATS, Format, Header, Missing, Note, ReadOptions, Remedy, Table, Values, read, read_bytes,
    read_with, write_table,
};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path: PathBuf = self.0.path().join(name);
        std::fs::write(&path, bytes).expect("writes");
        path.to_str().expect("text").to_string()
    }
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match &table.column(name).expect(name).values {
        Values::Numbers(v) => v.clone(),
        Values::Text(_) => panic!("{name} is text"),
    }
}

#[test]
fn csv_of_many_dialects() {
    let folder = Folder::new();
    let cases = [
        ("plain.csv", "a,b,who\n1,2.5,x\n-3e2,4,y\n"),
        ("windows.csv", "\u{feff}a,b,who\r\n1,2.5,x\r\n-3e2,4,y\r\n"),
        ("spaces.csv", " a , b , who \n 1 , 2.5 , x \n -3e2 , 4 , y \n"),
        ("quoted.csv", "\"a\",\"b\",\"who\"\n\"1\",\"2.5\",\"x\"\n-3e2,4,y\n"),
        ("blank.csv", "\na,b,who\n\n1,2.5,x\n-3e2,4,y\n\n\n"),
        ("tabs.tsv", "a\tb\twho\n1\t2.5\tx\n-3e2\t4\ty\n"),
        ("tabs.csv", "a\tb\twho\n1\t2.5\tx\n-3e2\t4\ty\n"),
        ("semicolons.csv", "a;b;who\n1;2.5;x\n-3e2;4;y\n"),
        ("noend.csv", "a,b,who\n1,2.5,x\n-3e2,4,y"),
        ("noname", "a,b,who\n1,2.5,x\n-3e2,4,y"),
    ];
    for (name, text) in cases {
        let table = read(&folder.put(name, text)).expect(name);
        assert_eq!(table.names(), ["a", "b", "who"], "{name}");
        assert_eq!(numbers(&table, "a"), [1.0, -300.0], "{name}");
        assert_eq!(numbers(&table, "b"), [2.5, 4.0], "{name}");
        assert_eq!(table.column("who").expect("who").values, Values::Text(vec!["x".into(), "y".into()]), "{name}");
    }
}

#[test]
fn headers_may_be_absent() {
    let folder = Folder::new();
    let path = folder.put("n.csv", "1,2\n3,4\n");
    let table = read(&path).expect("reads");
    assert_eq!((table.names(), table.rows()), (vec!["x1", "x2"], 2));
    assert_eq!(table.notes, [Note::FirstLineIsData]);
    let table = read_with(&path, &ReadOptions { header: Header::Yes, ..Default::default() }).expect("reads");
    assert_eq!((table.names(), table.rows()), (vec!["1", "2"], 1));
    let path = folder.put("t.csv", "a,1\nb,2\n");
    let table = read_with(&path, &ReadOptions { header: Header::No, ..Default::default() }).expect("reads");
    assert_eq!((table.names(), table.rows()), (vec!["x1", "x2"], 2));
    let path = folder.put("s.csv", "a comment\nanother\na,b\n1,2\n");
    let table = read_with(&path, &ReadOptions { skip: 2, ..Default::default() }).expect("reads");
    assert_eq!(table.names(), ["a", "b"]);
}

#[test]
fn a_first_line_with_numbers_is_data() {
    let folder = Folder::new();
    let rows = |name: &str, text: &str| read(&folder.put(name, text)).expect(name).rows();
    assert_eq!(rows("labelled.csv", "5.1,3.5,setosa\n4.9,3,setosa\n7,3.2,versicolor\n"), 3);
    assert_eq!(rows("gap.csv", "1,2,\n3,4,5\n"), 2);
    // years as names, over a column of numbers that has a word for a name
    assert_eq!(rows("years.csv", "who,share,2019,2020\na,0.5,1,2\nb,0.7,3,4\n"), 2);
    assert_eq!(rows("words.csv", "name,class\na,x\nb,y\n"), 2);
}

#[test]
fn a_word_among_numbers_is_an_error_in_any_row() {
    let folder = Folder::new();
    for text in ["a,b\noops,2\n3,4\n5,6\n", "a,b\n1,2\n3,4\noops,6\n"] {
        let error = read(&folder.put("w.csv", text)).expect_err("a word").to_string();
        assert!(error.contains("column 'a': \"oops\" is not a number"), "{error}");
    }
    // mostly words: a column of text
    let table = read(&folder.put("codes.csv", "a,b\n1,2\nA3,4\nB7,6\n")).expect("reads");
    assert!(!table.columns[0].is_numeric());
    // what is shown of a value is short and harmless
    let long = format!("a,b\n1,2\n3,4\n\u{1b}[31m{},6\n", "x".repeat(100_000));
    let error = read(&folder.put("long.csv", long)).expect_err("a word").to_string();
    assert!(error.len() < 300 && !error.contains('\u{1b}'), "{error}");
}

#[test]
fn broken_tables_say_where() {
    let folder = Folder::new();
    let says = |name: &str, bytes: &[u8], parts: &[&str]| {
        let error = read(&folder.put(name, bytes)).expect_err(name);
        let text = format!("{error}; {}", error.remedy().map(|r| r.to_string()).unwrap_or_default());
        for part in parts {
            assert!(text.contains(part), "{name}: {text}");
        }
    };
    says("text.csv", b"a,b\n1,2\n3,oops\n", &["text.csv:3: column 'b': \"oops\"", "keep column 'b' as text"]);
    says("ragged.csv", b"a,b\n1,2\n3,4,5\n", &["ragged.csv:3: 3 fields, expected 2", "delimiter"]);
    says("short.csv", b"a,b\n1,2\n3\n", &["short.csv:3: 1 field, expected 2"]);
    says("empty.csv", b"", &["no rows"]);
    says("onlyheader.csv", b"a,b\n", &["no rows"]);
    says("blank.csv", b"\n\n\n", &["no rows"]);
    says("twice.csv", b"a,b,a\n1,2,3\n", &["duplicate column name 'a' (columns 1 and 3)"]);
    says("latin.csv", b"a,b\n1,caf\xe9\n", &["latin.csv:2:", "not UTF-8"]);
    says("cut.npy", b"\x93NUMPY\x01\x00\xff\xff{   ", &["NPY", "longer than the file"]);
    says("lies.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr': '<f8'}\n", &["NPY", "longer than the file"]);
    says("short.npy", b"\x93NUMPY", &["NPY"]);
    says("cut.parquet", b"PAR1 and then nothing", &["Parquet", "cut off"]);
    says("lies.parquet", b"PAR1\xff\xff\xff\x7fPAR1", &["Parquet", "longer than the file"]);
    says("garbage.parquet", b"PAR1garbagegarbage\x08\x00\x00\x00PAR1", &["Parquet"]);
    let error = read(folder.0.path().to_str().expect("text")).expect_err("a directory");
    assert!(error.to_string().contains("a directory"));
    assert!(matches!(read("no/such/file.csv"), Err(Error::NotFound { .. })));
    assert_eq!(read("irs").expect_err("no file").remedy(), Some(Remedy::DidYouMean { name: "iris".into() }));
}

#[test]
fn forged_lengths_allocate_nothing() {
    let folder = Folder::new();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1000000), }\n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend([0; 64]);
    let error = read(&folder.put("lies.npy", &bytes)).expect_err("too long").to_string();
    assert!(error.contains("1000000000000 x 1000000 values in a file of"), "{error}");
    let path = folder.put("large.csv", "a\n".to_string() + &"1\n".repeat(1000));
    let error = read_with(&path, &ReadOptions { limit: Some(100), ..Default::default() }).expect_err("over the limit");
    assert!(error.to_string().contains("100 bytes"), "{error}");
}

/// An NPY file of version 1 with this header and data.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn npy_headers_of_any_text_are_refused_at_once() {
    // A parser that goes back and tries again takes two to four times longer for each brace.
    let quoted = "{'".repeat(2000);
    for header in
        ["{".repeat(61), "(".repeat(9999), quoted, "[".repeat(9999), "{'descr': ".to_string() + &"[".repeat(900)]
    {
        assert!(read_bytes("braces.npy", &npy(&header, &[0; 64]), &ReadOptions::default()).is_err(), "{header:.20}");
    }
    let says = |header: &str, part: &str| {
        let error = read_bytes("x.npy", &npy(header, &[0; 24]), &ReadOptions::default()).expect_err(header);
        assert!(error.to_string().contains(part), "{error}");
    };
    says("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,)}", "values of type structured");
    says("{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}", "values of type <c16, not real numbers");
    says("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1)}", "has 3 dimensions; a table has 2");
    says("{'descr': '<f8', 'fortran_order': False, 'shape': (3, )", "no '}' at byte 55");
    let long = npy(&" ".repeat(10_001), &[0; 24]);
    let error = read_bytes("x.npy", &long, &ReadOptions::default()).expect_err("long").to_string();
    assert!(error.contains("header has 10001 bytes; that of a table has at most 10000"), "{error}");
    let mut version = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", &[0; 24]);
    assert!(read_bytes("x.npy", &version, &ReadOptions::default()).is_ok());
    version[6] = 4;
    let error = read_bytes("x.npy", &version, &ReadOptions::default()).expect_err("version 4").to_string();
    assert!(error.contains("it has version 4.0"), "{error}");
}

#[test]
fn small_values_need_the_memory_of_numbers() {
    let bytes = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1000, 1)}", &[1; 1000]);
    let limited = |limit| read_bytes("x.npy", &bytes, &ReadOptions { limit: Some(limit), ..Default::default() });
    assert!(matches!(limited(7999), Err(Error::TooLarge { .. })));
    assert_eq!(limited(8000).expect("reads").rows(), 1000);
}

#[test]
fn missing_values() {
    let folder = Folder::new();
    let path = folder.put("gaps.csv", "a,b,c,who\n1,2,3,x\n,NA,4,y\n5,nan,5,z\n");
    let split = || {
        let (numbers, words): (Vec<Column>, Vec<Column>) =
            read(&path).expect("reads").columns.into_iter().partition(Column::is_numeric);
        (Table::new("gaps", numbers).expect("numbers"), Table::new("gaps", words).expect("words"))
    };
    let (mut data, mut kept) = split();
    let error = data.resolve_missing(Missing::Error, &mut kept).expect_err("gaps");
    assert!(error.to_string().contains("3 missing values in 2 columns (a, b), the first in row 2"), "{error}");
    assert!(data.points().is_err());
    let (mut data, mut kept) = split();
    let note = data.resolve_missing(Missing::Mean, &mut kept).expect("fills");
    assert_eq!(note, Some(Note::FilledWithColumnMeans { values: 3, columns: 2 }));
    assert_eq!((numbers(&data, "a"), numbers(&data, "b")), (vec![1.0, 3.0, 5.0], vec![2.0, 2.0, 2.0]));
    let (mut data, mut kept) = split();
    let note = data.resolve_missing(Missing::Drop, &mut kept).expect("drops");
    assert_eq!(note, Some(Note::DroppedRows { rows: 2 }));
    assert_eq!((data.rows(), kept.rows()), (1, 1));
    assert_eq!(kept.column("who").expect("who").as_text(0), "x");
    // infinite values are not missing, and are refused with their place
    let path = folder.put("inf.csv", "a,b\n1,2\n3,inf\n");
    let error = read(&path).and_then(|t| t.points()).expect_err("not finite");
    assert!(error.to_string().contains("row 2, column 'b': value inf"), "{error}");
}

#[test]
fn every_format_reads_back_what_it_wrote() {
    let folder = Folder::new();
    let table = Table::new(
        "t",
        vec![
            Column::text("id, or name", vec!["001".into(), "a \"quoted\" one".into(), "née".into()]),
            Column::numbers("x", vec![0.1 + 0.2, -1e-300, 1e300]),
            Column::numbers("y", vec![1.0, 2.0, f64::MIN_POSITIVE]),
        ],
    )
    .expect("a table");
    for &format in FORMATS {
        let path = folder.put(&format!("t.{}", format.name()), write_table(&table, format).expect("writes"));
        let options = ReadOptions { text: vec!["id, or name".into()], ..Default::default() };
        let back = read_with(&path, &options).expect("reads");
        if format == Format::NPY {
            assert_eq!(numbers(&back, "x1"), numbers(&table, "x"));
            assert_eq!(numbers(&back, "x2"), numbers(&table, "y"));
        } else {
            assert_eq!(back.columns, table.columns, "{format:?}");
        }
    }
}

#[test]
fn npy_of_every_type_and_order() {
    let folder = Folder::new();
    let file = |descr: &str, order: &str, shape: &str, data: Vec<u8>| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    };
    let f8 = |v: &[f64]| v.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let read_bytes = |bytes: Vec<u8>| read(&folder.put("a.npy", bytes));
    let c = read_bytes(file("<f8", "False", "(2, 3)", f8(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))).expect("C order");
    assert_eq!(numbers(&c, "x3"), [3.0, 6.0]);
    let f = read_bytes(file("<f8", "True", "(2, 3)", f8(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]))).expect("Fortran order");
    assert_eq!(c.columns, f.columns);
    let be: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_be_bytes()).collect();
    assert_eq!(numbers(&read_bytes(file(">f4", "False", "(2,)", be)).expect("big-endian"), "x1"), [1.5, -2.0]);
    let i4: Vec<u8> = [7i32, -9].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(numbers(&read_bytes(file("<i4", "False", "(2, 1)", i4)).expect("integers"), "x1"), [7.0, -9.0]);
    assert_eq!(numbers(&read_bytes(file("|u1", "False", "(2,)", vec![3, 250])).expect("bytes"), "x1"), [3.0, 250.0]);
    assert!(
        read_bytes(file("<c16", "False", "(1, 1)", vec![0; 16])).is_err_and(|e| e.to_string().contains("not real"))
    );
    assert!(read_bytes(file("<f8", "False", "(1, 1, 1)", f8(&[1.0]))).is_err_and(|e| e.to_string().contains("3 dim")));
    assert!(read_bytes(file("<f8", "False", "(2, 2)", f8(&[1.0]))).is_err());
    assert!(
        read_bytes(file("<f8", "False", "(0, 100000000)", vec![])).is_err_and(|e| e.to_string().contains("no rows"))
    );
    assert!(read_bytes(file("|O", "False", "(1, 1)", vec![0; 8])).is_err());
}

#[test]
fn damaged_files_never_panic() {
    let folder = Folder::new();
    let table = read("iris").expect("iris");
    for &format in FORMATS {
        let bytes = write_table(&table, format).expect("writes");
        let name = format!("d.{}", format.name());
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 60) {
            let _ = read(&folder.put(&name, &bytes[..at]));
            for flip in [0x01, 0xff] {
                let mut bad = bytes.clone();
                bad[at] ^= flip;
                let _ = read(&folder.put(&name, &bad));
            }
        }
        // the footer and the head, byte by byte
        for at in (0..bytes.len().min(128)).chain(bytes.len().saturating_sub(600)..bytes.len()) {
            let mut bad = bytes.clone();
            bad[at] ^= 0xff;
            let _ = read(&folder.put(&name, &bad));
        }
    }
}

#[test]
fn embedded_sets_match_their_descriptions() {
    for set in mercer_io::DATA_SETS {
        let table = read(set.name).expect(set.name);
        assert_eq!(table.rows(), set.rows);
        assert_eq!(table.position(set.label).expect("a label"), set.columns, "{}", set.name);
        assert!(table.columns[..set.columns].iter().all(Column::is_numeric), "{}", set.name);
    }
}

/// Errors and remedies are for every front: none of them names a flag of the command.
#[test]
fn no_message_names_a_flag() {
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("reads");
            for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
                let flag = line.match_indices("--").any(|(at, _)| {
                    line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()) && line[..at].contains('"')
                });
                assert!(!flag, "{}:{}: {line}", path.display(), at + 1);
            }
        }
    }
}
