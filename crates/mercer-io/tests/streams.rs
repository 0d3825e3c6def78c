//! Tables read batch by batch: the same as read whole, in every format, and nothing worse than an error when damaged.
#![allow(missing_docs)]

use std::io::Write;
use std::sync::Arc;

use mercer_io::{
    Column, Error, FORMATS, Format, Header, MappedNpy, MappedPoints, Note, Outputs, ReadOptions, Stream, StreamOptions,
    Table, TableWriter, Values, read, read_with, write_table,
};
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use proptest::prelude::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
        std::fs::write(&path, bytes).expect("writes");
        path.to_str().expect("text").to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("text").to_string()
    }
}

fn options(batch_bytes: usize) -> StreamOptions {
    StreamOptions { batch_bytes, ..Default::default() }
}

fn open(name: &str, batch_bytes: usize) -> Result<Stream, Error> {
    Stream::open(&[name.to_string()], options(batch_bytes))
}

/// All batches of a pass as one table.
fn gathered(stream: &Stream) -> Result<Vec<Column>, Error> {
    let mut whole: Vec<Column> = Vec::new();
    let mut before = (String::new(), 0);
    for batch in stream.batches()? {
        let batch = batch?;
        if before.0 != batch.file {
            before = (batch.file.clone(), 0);
        }
        assert_eq!(batch.first_row, before.1, "{}", batch.file);
        assert!(batch.table.rows() > 0);
        before.1 += batch.table.rows() as u64;
        if whole.is_empty() {
            whole = batch.table.columns;
            continue;
        }
        for (whole, more) in whole.iter_mut().zip(batch.table.columns) {
            assert_eq!(whole.name, more.name);
            match (&mut whole.values, more.values) {
                (Values::Numbers(v), Values::Numbers(more)) => v.extend(more),
                (Values::Text(v), Values::Text(more)) => v.extend(more),
                _ => panic!("the type of {} changed", whole.name),
            }
        }
    }
    Ok(whole)
}

/// Columns with their numbers as bits, so that missing ones are equal.
fn bits(columns: &[Column]) -> Vec<(String, Vec<u64>, Vec<String>)> {
    let canonical = |v: &f64| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() };
    columns
        .iter()
        .map(|c| match &c.values {
            Values::Numbers(v) => (c.name.clone(), v.iter().map(canonical).collect(), Vec::new()),
            Values::Text(v) => (c.name.clone(), Vec::new(), v.clone()),
        })
        .collect()
}

fn same(name: &str, whole: &Table) {
    for batch_bytes in [1, 100, 1000, 77_777, 16_000_000] {
        let stream = open(name, batch_bytes).expect(name);
        let first = gathered(&stream).expect(name);
        assert_eq!(bits(&first), bits(&whole.columns), "{name}, batches of {batch_bytes}");
        let again = gathered(&stream).expect(name);
        assert_eq!(bits(&first), bits(&again), "{name}, the second pass");
    }
}

fn table(rows: usize) -> Table {
    let x = |i: usize| (i as f64 * 0.37).sin() * 10f64.powi(i as i32 % 7 - 3);
    Table::new(
        "t",
        vec![
            Column::numbers("x", (0..rows).map(x).collect()),
            Column::text("who", (0..rows).map(|i| format!("n{}", i % 13)).collect()),
            Column::numbers("y", (0..rows).map(|i| if i % 11 == 3 { f64::NAN } else { i as f64 }).collect()),
            Column::numbers("z", (0..rows).map(|i| -(i as f64) / 3.0).collect()),
        ],
    )
    .expect("a table")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).expect("packs");
    out.finish().expect("packs")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("packs")
}

#[test]
fn batches_together_are_the_table() {
    let folder = Folder::new();
    let table = table(2500);
    for &format in FORMATS {
        let bytes = write_table(&table, format).expect("writes");
        let end = format.name();
        let name = folder.put(&format!("t.{end}"), &bytes);
        let whole = read(&name).expect("reads");
        assert_eq!(whole.rows(), 2500);
        same(&name, &whole);
        if format.is_text() {
            for (name, bytes) in [(format!("t.{end}.gz"), gzip(&bytes)), (format!("t.{end}.zst"), zstd(&bytes))] {
                let name = folder.put(&name, bytes);
                let unpacked = read(&name).expect("unpacks");
                assert_eq!(bits(&unpacked.columns), bits(&whole.columns));
                same(&name, &whole);
            }
        } else {
            let stream = open(&name, 1000).expect("opens");
            let kept = stream.columns().len() as u64;
            assert_eq!((stream.rows(), stream.table_bytes()), (Some(2500), Some(2500 * 8 * kept)));
            assert_eq!((stream.file_bytes(), stream.source()), (bytes.len() as u64, name));
        }
    }
}

#[test]
fn csv_of_many_dialects_in_batches() {
    let folder = Folder::new();
    let mut quoted = String::from("a,\"who, then\",b\r\n");
    let mut plain = String::from("\u{feff}a;who;b\n\n");
    let mut returns = String::from("a,b\r");
    for i in 0..500 {
        let who = if i % 7 == 0 { format!("\"{i},\n \"\"x\"\"\"") } else { format!("w{i}") };
        quoted += &format!("{i},{who}, {} \r\n", f64::from(i) / 7.0);
        plain += &format!(
            "{i};w{i};{}\r\n{}",
            if i % 5 == 0 { "NA".into() } else { i.to_string() },
            "\n".repeat(i as usize % 3)
        );
        returns += &format!("{i},{}\r", 2 * i);
    }
    for (name, text) in [("quoted.csv", quoted), ("plain.csv", plain), ("returns.csv", returns)] {
        let name = folder.put(name, text.trim_end_matches(['\n']));
        let whole = read(&name).expect("reads");
        assert_eq!(whole.rows(), 500, "{name}");
        same(&name, &whole);
    }
    // without names, with lines before them, and as text
    let name = folder.put("n.csv", "1,2\n3,4\n");
    let stream = open(&name, 1).expect("opens");
    assert_eq!(stream.notes(), [Note::FirstLineIsData]);
    assert_eq!(gathered(&stream).expect("reads"), read(&name).expect("reads").columns);
    let name = folder.put("s.csv", "a comment\nanother\n1,2\n3,oops\n5,6\n");
    let read = ReadOptions { skip: 2, header: Header::No, ..Default::default() };
    let stream = Stream::open(std::slice::from_ref(&name), StreamOptions { read: read.clone(), ..Default::default() });
    let error = gathered(&stream.expect("opens")).expect_err("a word").to_string();
    assert!(error.contains("s.csv:4: column 'x2': \"oops\""), "{error}");
    let read = ReadOptions { text: vec!["x2".into()], ..read };
    let stream = Stream::open(&[name], StreamOptions { read, ..Default::default() }).expect("opens");
    assert_eq!(gathered(&stream).expect("reads")[1].as_text(0), "2");
    assert_eq!(gathered(&open("iris", 500).expect("opens")).expect("reads").len(), 5);
}

fn every_type(rows: usize, groups: usize) -> Vec<u8> {
    let field = |name: &'static str, physical, repetition, converted| {
        let field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        field.with_converted_type(converted).with_length(2)
    };
    let (required, optional) = (Repetition::REQUIRED, Repetition::OPTIONAL);
    let plain = ConvertedType::NONE;
    let nanos = Some(LogicalType::timestamp(true, TimeUnit::NANOS));
    let fields = vec![
        field("bool", Physical::BOOLEAN, optional, plain),
        field("int", Physical::INT32, optional, plain),
        field("unsigned", Physical::INT32, required, ConvertedType::UINT_32),
        field("date", Physical::INT32, optional, ConvertedType::DATE),
        field("money", Physical::INT64, required, ConvertedType::DECIMAL).with_precision(18).with_scale(2),
        field("when", Physical::INT64, optional, plain).with_logical_type(nanos),
        field("float", Physical::FLOAT, required, plain),
        field("double", Physical::DOUBLE, optional, plain),
        field("text", Physical::BYTE_ARRAY, optional, ConvertedType::UTF8),
        field("half", Physical::FIXED_LEN_BYTE_ARRAY, required, plain).with_logical_type(Some(LogicalType::Float16)),
        field("empty", Physical::DOUBLE, optional, plain),
    ];
    let fields = fields.into_iter().map(|f| Arc::new(f.build().expect("a field"))).collect();
    let schema = Arc::new(Type::group_type_builder("t").with_fields(fields).build().expect("a schema"));
    let properties = WriterProperties::builder().set_data_page_size_limit(700).set_write_batch_size(50).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("a writer");
    for g in 0..groups {
        let i = || (g * rows..(g + 1) * rows).map(|i| i as i32);
        let there = |k: i32| move |i: &i32| i % k != 1;
        let levels = |k: i32| i().map(|i| i16::from(i % k != 1)).collect::<Vec<i16>>();
        let mut group = file.next_row_group().expect("a group");
        let mut at = 0;
        while let Some(mut column) = group.next_column().expect("a column") {
            macro_rules! write {
                ($t:ty, $k:expr, $f:expr) => {{
                    let values: Vec<_> = i().filter(there($k)).map($f).collect();
                    let levels = if $k == i32::MAX { None } else { Some(levels($k)) };
                    column.typed::<$t>().write_batch(&values, levels.as_deref(), None).expect("writes");
                }};
            }
            match at {
                0 => write!(BoolType, 5, |i| i % 3 == 0),
                1 => write!(Int32Type, 4, |i| i - 70),
                2 => column
                    .typed::<Int32Type>()
                    .write_batch(&i().map(|i| -i).collect::<Vec<_>>(), None, None)
                    .map(|_| ())
                    .expect("writes"),
                3 => write!(Int32Type, 6, |i| 18_000 + i),
                4 => column
                    .typed::<Int64Type>()
                    .write_batch(&i().map(|i| i64::from(i) * 1_000_003).collect::<Vec<_>>(), None, None)
                    .map(|_| ())
                    .expect("writes"),
                5 => write!(Int64Type, 7, |i| 1_700_000_000_000_000_000 + i64::from(i) * 1_000_000_007),
                6 => column
                    .typed::<FloatType>()
                    .write_batch(&i().map(|i| i as f32 / 3.0).collect::<Vec<_>>(), None, None)
                    .map(|_| ())
                    .expect("writes"),
                7 => write!(DoubleType, 3, |i| f64::from(i) / 7.0),
                8 => write!(ByteArrayType, 5, |i| ByteArray::from(format!("née {}", i % 10).as_str())),
                9 => {
                    let half = |i: i32| FixedLenByteArray::from(vec![0u8, 0x3c + (i % 3) as u8]);
                    column
                        .typed::<FixedLenByteArrayType>()
                        .write_batch(&i().map(half).collect::<Vec<_>>(), None, None)
                        .map(|_| ())
                        .expect("writes")
                }
                _ => {
                    let none = vec![0i16; rows];
                    column.typed::<DoubleType>().write_batch(&[], Some(&none), None).map(|_| ()).expect("writes");
                }
            }
            column.close().expect("closes");
            at += 1;
        }
        group.close().expect("closes");
    }
    file.into_inner().expect("closes")
}

#[test]
fn parquet_of_every_type_and_several_row_groups() {
    let folder = Folder::new();
    let name = folder.put("types.parquet", every_type(331, 3));
    let whole = read(&name).expect("reads");
    same(&name, &whole);
    let numbers = |name: &str| match &whole.column(name).expect(name).values {
        Values::Numbers(v) => v.clone(),
        Values::Text(_) => panic!("{name} is text"),
    };
    let text = |name: &str, i: usize| whole.column(name).expect(name).as_text(i);
    assert_eq!(whole.rows(), 993);
    assert_eq!(
        numbers("bool")[..3].iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
        [1.0, f64::NAN, 0.0].map(f64::to_bits)
    );
    assert_eq!(numbers("int")[500], 430.0);
    assert!(numbers("int")[501].is_nan());
    assert_eq!(numbers("unsigned")[7], f64::from(u32::MAX - 6));
    assert_eq!(text("date", 0), "2019-04-14");
    assert_eq!(text("date", 1), "");
    assert_eq!(numbers("money")[992], 992.0 * 1_000_003.0 / 100.0);
    assert_eq!(text("when", 0), "2023-11-14 22:13:20.000000 +00:00");
    assert_eq!(numbers("float")[10], f64::from(10f32 / 3.0));
    assert_eq!(numbers("double")[990], 990.0 / 7.0);
    assert!(numbers("double")[991].is_nan());
    assert_eq!((text("text", 5), text("text", 6)), ("née 5".into(), String::new()));
    assert_eq!(numbers("half")[..2], [1.0, 1.25f64.powi(0) * 1.0 * 2f64.powi(0) * half(0x3d00)]);
    assert!(numbers("empty").iter().all(|v| v.is_nan()));
    // numbers as text, and a choice of columns
    let read = ReadOptions { text: vec!["int".into()], ..Default::default() };
    let mut stream = Stream::open(&[name], StreamOptions { read, batch_bytes: 5000 }).expect("opens");
    stream.keep(&["double".into(), "int".into()]).expect("keeps");
    assert_eq!(stream.columns().iter().map(|c| c.is_numeric).collect::<Vec<_>>(), [false, true]);
    let kept = gathered(&stream).expect("reads");
    assert_eq!((kept[0].as_text(500), kept[0].as_text(501)), ("430".into(), String::new()));
    assert_eq!(bits(&kept[1..]), bits(std::slice::from_ref(whole.column("double").expect("double"))));
    assert!(matches!(stream.keep(&["nobody".into()]), Err(Error::UnknownColumn { .. })));
}

/// The value of a float16 between 1 and 2.
fn half(bits: u16) -> f64 {
    1.0 + f64::from(bits & 0x3ff) / 1024.0
}

#[test]
fn npy_of_every_order() {
    let folder = Folder::new();
    let file = |descr: &str, order: &str, data: Vec<u8>| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': (300, 4), }}");
        let header = format!("{header:<117}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    };
    let f8: Vec<u8> = (0..1200).flat_map(|v| f64::from(v).to_le_bytes()).collect();
    let f4: Vec<u8> = (0..1200).flat_map(|v| (v as f32).to_be_bytes()).collect();
    let i2: Vec<u8> = (0..1200i16).flat_map(|v| (v - 600).to_le_bytes()).collect();
    let cases = [("<f8", "False", &f8), ("<f8", "True", &f8), (">f4", "True", &f4), ("<i2", "False", &i2)];
    for (at, (descr, order, data)) in cases.into_iter().enumerate() {
        let name = folder.put(&format!("{at}.npy"), file(descr, order, data.clone()));
        same(&name, &read(&name).expect("reads"));
        let mut stream = open(&name, 100).expect("opens");
        stream.keep(&["x2".into(), "x4".into()]).expect("keeps");
        let whole = read(&name).expect("reads").columns;
        assert_eq!(gathered(&stream).expect("reads"), [whole[1].clone(), whole[3].clone()]);
    }
    let mapped = MappedNpy::open(&folder.path("0.npy")).expect("maps");
    assert_eq!((mapped.n(), mapped.d()), (300, 4));
    match mapped.points() {
        MappedPoints::F64(points) => assert_eq!(points.row(2), [8.0, 9.0, 10.0, 11.0]),
        MappedPoints::F32(_) => panic!("it is of float64"),
    }
    let f4: Vec<u8> = (0..1200).flat_map(|v| (v as f32).to_le_bytes()).collect();
    match MappedNpy::open(&folder.put("f4.npy", file("<f4", "False", f4))).expect("maps").points() {
        MappedPoints::F32(points) => assert_eq!(points.row(299), [1196.0, 1197.0, 1198.0, 1199.0]),
        MappedPoints::F64(_) => panic!("it is of float32"),
    }
    for at in 1..4 {
        let refused = MappedNpy::open(&folder.path(&format!("{at}.npy")));
        assert!(refused.is_err_and(|e| e.to_string().contains("cannot be mapped")), "{at}");
    }
    let cut = &file("<f8", "False", f8)[..5000];
    assert!(MappedNpy::open(&folder.put("cut.npy", cut)).is_err());
}

#[test]
fn files_and_folders_as_one_table() {
    let folder = Folder::new();
    let part = |from: usize, to: usize, order: &[usize]| {
        let whole = table(300);
        let columns = order.iter().map(|c| {
            let values = match &whole.columns[*c].values {
                Values::Numbers(v) => Values::Numbers(v[from..to].to_vec()),
                Values::Text(v) => Values::Text(v[from..to].to_vec()),
            };
            Column { name: whole.columns[*c].name.clone(), values }
        });
        Table::new("part", columns.collect()).expect("a table")
    };
    let parts = [part(0, 120, &[0, 1, 2, 3]), part(120, 121, &[3, 1, 0, 2]), part(121, 300, &[2, 3, 1, 0])];
    for format in [Format::CSV, Format::PARQUET] {
        let end = format.name();
        let names: Vec<String> = parts
            .iter()
            .enumerate()
            .map(|(i, t)| folder.put(&format!("{end}/part-{i}.{end}"), write_table(t, format).expect("writes")))
            .collect();
        folder.put(&format!("{end}/.hidden"), "x");
        folder.put(&format!("{end}/_SUCCESS"), "");
        let whole = bits(&table(300).columns);
        for batch_bytes in [1, 999, 1 << 20] {
            let stream = Stream::open(&names, options(batch_bytes)).expect("opens");
            assert_eq!(bits(&gathered(&stream).expect("reads")), whole);
            assert_eq!(stream.source(), format!("{} and 2 other files", names[0]));
            let stream = open(&folder.path(end), batch_bytes).expect("opens");
            assert_eq!(bits(&gathered(&stream).expect("reads")), whole);
            assert!(stream.source().ends_with(&format!("{end} (3 files)")), "{}", stream.source());
        }
    }
    // compressed and plain, of one format
    let csv = write_table(&parts[0], Format::CSV).expect("writes");
    folder.put("packed/a.csv", &csv);
    folder.put("packed/b.csv.gz", gzip(&csv));
    folder.put("packed/c.csv.zst", zstd(&csv));
    assert_eq!(gathered(&open(&folder.path("packed"), 5000).expect("opens")).expect("reads")[0].len(), 360);

    let says = |names: &[String], parts: &[&str]| {
        let stream = Stream::open(names, options(1000));
        let error = stream.and_then(|s| gathered(&s)).expect_err("other columns").to_string();
        assert!(parts.iter().all(|p| error.contains(p)), "{error}");
    };
    let first = folder.path("csv/part-0.csv");
    says(&[first.clone(), folder.put("less.csv", "x,who,y\n1,a,2\n")], &["less.csv", "no column 'z'"]);
    says(&[first.clone(), folder.put("more.csv", "x,who,y,z,w\n1,a,2,3,4\n")], &["more.csv", "a column 'w'"]);
    says(&[first.clone(), folder.put("word.csv", "x,who,y,z\n1,a,2,three\n")], &["word.csv:2: column 'z': \"three\""]);
    let text = Table::new("t", vec![Column::text("x", vec!["a".into()])]).expect("a table");
    let number = Table::new("t", vec![Column::numbers("x", vec![1.0])]).expect("a table");
    let number = folder.put("number.parquet", write_table(&number, Format::PARQUET).expect("writes"));
    let text = folder.put("text.parquet", write_table(&text, Format::PARQUET).expect("writes"));
    says(&[number, text], &["text.parquet", "column 'x' is text"]);
    let npy = |d: usize| {
        let columns = (0..d).map(|j| Column::numbers(format!("x{j}"), vec![1.0, 2.0])).collect();
        write_table(&Table::new("t", columns).expect("a table"), Format::NPY).expect("writes")
    };
    says(&[folder.put("two.npy", npy(2)), folder.put("three.npy", npy(3))], &["three.npy", "3 columns", "has 2"]);
    folder.put("mixed/a.csv", &csv);
    folder.put("mixed/b.npy", npy(2));
    says(&[folder.path("mixed")], &["b.npy", "is NPY"]);
    folder.put("odd/a.csv", &csv);
    folder.put("odd/readme.md", "hello");
    says(&[folder.path("odd")], &["readme.md", "is not a table"]);
    folder.put("none/.hidden", "x");
    says(&[folder.path("none")], &["none", "no tables"]);
    says(&[folder.path("nobody.csv")], &["nobody.csv", "no such file"]);
    says(&["-".into()], &["standard input", "only once"]);
    says(&[], &["no file is named"]);
    says(&[folder.put("names.csv", "a,b\n")], &["names.csv", "no rows"]);
}

#[test]
fn errors_in_the_middle_name_their_line() {
    let folder = Folder::new();
    let lines = |at: usize, line: &str| {
        let mut text = String::from("a,b\n");
        (2..40_000).for_each(|i| text += &if i == at { format!("{line}\n") } else { format!("{i},{}\n", i * 2) });
        text
    };
    for (name, line, parts) in [
        ("word.csv", "1,oops", "word.csv:25000: column 'b': \"oops\""),
        ("ragged.csv", "1,2,3", "ragged.csv:25000: 3 fields, expected 2"),
        ("short.csv", "1", "short.csv:25000: 1 field, expected 2"),
        ("quoted.csv", "\"1\",\"oops\"", "quoted.csv:25000: column 'b': \"oops\""),
    ] {
        let text = lines(25_000, line);
        for name in [folder.put(name, &text), folder.put(&format!("{name}.zst"), zstd(text.as_bytes()))] {
            for batch_bytes in [1000, 100_000, 16_000_000] {
                let error = gathered(&open(&name, batch_bytes).expect("opens")).expect_err("trouble").to_string();
                assert!(error.replace(".zst", "").contains(parts), "{error}");
            }
        }
    }
    // lines are those of the file, read whole or not
    let name = folder.put("blank.csv", "\n# about\r\n\r\na,b\r\n\r\n1,2\r\n\r\n\r\n3,oops\r\n5,6\r\n");
    let read = ReadOptions { skip: 2, ..Default::default() };
    let stream = Stream::open(std::slice::from_ref(&name), StreamOptions { read: read.clone(), ..Default::default() });
    for error in [read_with(&name, &read).expect_err("a word"), gathered(&stream.expect("opens")).expect_err("a word")]
    {
        assert!(error.to_string().contains("blank.csv:9: column 'b': \"oops\""), "{error}");
    }
    // a column that is not read is not checked
    let mut stream = open(&folder.put("word.csv", lines(25_000, "1,oops")), 1000).expect("opens");
    stream.keep(&["a".into()]).expect("keeps");
    assert_eq!(gathered(&stream).expect("reads")[0].len(), 39_998);
}

#[test]
fn truncated_compressed_files_are_detected() {
    let folder = Folder::new();
    let mut text = String::from("a,b\n");
    (0..100_000).for_each(|i| text += &format!("{i},{}\n", (f64::from(i) * 0.7).sin()));
    for (name, packed) in [("cut.csv.zst", zstd(text.as_bytes())), ("cut.csv.gz", gzip(text.as_bytes()))] {
        for part in [3, 2] {
            let name = folder.put(name, &packed[..packed.len() * (part - 1) / part]);
            for whole in [false, true] {
                let error = match whole {
                    true => read(&name).expect_err("cut off").to_string(),
                    false => open(&name, 50_000).and_then(|s| gathered(&s)).expect_err("cut off").to_string(),
                };
                let line = error.split("line ").nth(1).and_then(|l| l.split(' ').next()).expect(&error);
                let line: usize = line.parse().expect("a number");
                assert!(error.contains("cut off") && line > 10_000 && line < 100_000, "{error}");
            }
        }
    }
    for format in [Format::PARQUET, Format::NPY] {
        let bytes = write_table(&table(1000), format).expect("writes");
        let name = folder.put(&format!("cut.{}", format.name()), &bytes[..bytes.len() / 2]);
        assert!(matches!(open(&name, 1000), Err(Error::Damaged { .. })));
    }
    // a small file that decompresses to a large one
    let name = folder.put("bomb.csv.zst", zstd(&b"1,2\n".repeat(1 << 20)));
    let error = read_with(&name, &ReadOptions { limit: Some(1 << 20), ..Default::default() }).expect_err("too large");
    assert!(error.to_string().contains("more than"), "{error}");
    assert_eq!(gathered(&open(&name, 1 << 20).expect("opens")).expect("reads")[0].len(), 1 << 20);
}

#[test]
fn a_pass_may_end_early() {
    let folder = Folder::new();
    let name = folder.put("t.parquet", write_table(&table(5000), Format::PARQUET).expect("writes"));
    let stream = open(&name, 100).expect("opens");
    for count in 0..5 {
        assert_eq!(stream.batches().expect("a thread").take(count).filter(Result::is_ok).count(), count);
    }
    let mut batches = stream.batches().expect("a thread");
    assert_eq!(batches.by_ref().filter(Result::is_ok).map(|b| b.map_or(0, |b| b.table.rows())).sum::<usize>(), 5000);
    assert!(batches.next().is_none());
}

/// A field of a CSV file, quoted or not.
fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (-99i32..99).prop_map(|v| v.to_string()),
        2 => (-1e3f64..1e3).prop_map(|v| v.to_string()),
        3 => "[a-c]{1,3}",
        1 => "\"[a-c0-9, \n]{0,4}\"",
        1 => prop::sample::select(vec!["", "NA", "NAN", "nan", " ", "inf", "-Infinity", "?", "1e999", "\u{fc}", "0x1", "+1"])
            .prop_map(String::from),
    ]
}

/// A text of few columns, now and then with a line of the wrong length.
fn text() -> impl Strategy<Value = String> {
    let row = |width: usize| {
        prop_oneof![
            30 => prop::collection::vec(field(), width),
            1 => prop::collection::vec(field(), 0..5),
        ]
    };
    let delimiter = prop::sample::select(vec![",", ";", "\t"]);
    let end = prop::sample::select(vec!["\n", "\r\n", "\n\n"]);
    // Rows of numbers in front, so that the first line beyond the sample is met as well.
    let long = prop_oneof![6 => Just(0usize), 1 => 9_990..10_010usize];
    let rows =
        (1usize..4).prop_flat_map(move |width| (Just(width), prop::collection::vec(row(width), 1..12), any::<bool>()));
    (rows, delimiter, end, long).prop_map(|((width, rows, names), delimiter, end, long)| {
        let line = |fields: Vec<String>| fields.join(delimiter) + end;
        let mut text = String::new();
        if names {
            text += &line((0..width).map(|c| format!("name{c}")).collect());
        }
        (0..long).for_each(|i| text += &line((0..width).map(|c| (i + c).to_string()).collect()));
        rows.into_iter().for_each(|fields| text += &line(fields));
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Types, values, notes and errors are the same whether a text is read whole or batch by batch.
    #[test]
    fn whole_and_batches_agree(text in text(), batch in prop::sample::select(vec![1usize, 40, 300, 100_000]), packed: bool, header in prop::sample::select(vec![Header::Auto, Header::Yes, Header::No]), skip in 0usize..2) {
        let folder = Folder::new();
        let name = if packed { folder.put("t.csv.gz", gzip(text.as_bytes())) } else { folder.put("t.csv", &text) };
        let read = ReadOptions { header, skip, text: vec!["name1".into()], ..Default::default() };
        let whole = read_with(&name, &read).map(|t| (bits(&t.columns), t.notes)).map_err(|e| e.to_string());
        let options = StreamOptions { read: read.clone(), batch_bytes: batch };
        let stream = Stream::open(std::slice::from_ref(&name), options);
        let batches = stream.and_then(|s| Ok((s.notes().to_vec(), gathered(&s)?)));
        let batches = batches.map(|(notes, columns)| (bits(&columns), notes)).map_err(|e| e.to_string());
        prop_assert_eq!(&whole, &batches);
        let memory = mercer_io::read_bytes(&name, &std::fs::read(&name).expect("reads"), &read);
        prop_assert_eq!(whole, memory.map(|t| (bits(&t.columns), t.notes)).map_err(|e| e.to_string()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn damaged_files_are_errors(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut in any::<Option<prop::sample::Index>>()) {
        let folder = Folder::new();
        let table = table(200);
        let csv = write_table(&table, Format::CSV).expect("writes");
        let files = [
            ("d.parquet", write_table(&table, Format::PARQUET).expect("writes")),
            ("e.parquet", every_type(60, 2)),
            ("d.npy", write_table(&table, Format::NPY).expect("writes")),
            ("d.csv.gz", gzip(&csv)),
            ("d.csv.zst", zstd(&csv)),
            ("d.csv", csv),
        ];
        for (name, mut bytes) in files {
            for (place, value) in &places {
                let at = place.index(bytes.len());
                bytes[at] = *value;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let name = folder.put(name, bytes);
            let _ = open(&name, 3000).and_then(|s| gathered(&s));
            let _ = read(&name);
            let _ = MappedNpy::open(&name);
        }
    }
}

#[test]
fn tables_written_in_parts_equal_those_written_at_once() {
    let folder = Folder::new();
    let whole = table(700);
    let part = |from: usize, to: usize| {
        let cut = |c: &Column| match &c.values {
            Values::Numbers(v) => Column::numbers(&c.name, v[from..to].to_vec()),
            Values::Text(v) => Column::text(&c.name, v[from..to].to_vec()),
        };
        Table::new("part", whole.columns.iter().map(cut).collect()).expect("a table")
    };
    for &format in FORMATS {
        let path = folder.path(&format!("t.{}", format.name()));
        let mut outputs = Outputs::new();
        let mut writer = TableWriter::new(Outputs::stage_file(&path).expect("a file"), format);
        for (from, to) in [(0, 300), (300, 300), (300, 301), (301, 700)] {
            writer.write(&part(from, to)).expect("writes");
        }
        let other = Table::new("other", vec![Column::numbers("x", vec![1.0])]).expect("a table");
        assert!(writer.write(&other).is_err_and(|e| e.to_string().contains("other columns")));
        assert_eq!(writer.rows(), 700);
        outputs.join(writer.finish().expect("finishes")).expect("joins");
        assert!(!std::path::Path::new(&path).exists());
        outputs.commit().expect("commits");
        assert_eq!(std::fs::read(&path).expect("reads"), write_table(&whole, format).expect("writes"), "{format:?}");
        let forward = TableWriter::new(Vec::new(), format).finish_forward();
        assert_eq!(forward.is_ok(), format.writes_forward());
    }
    // large parts are row groups of their own
    let large = Table::new("t", (0..90).map(|j| Column::numbers(format!("x{j}"), vec![0.5; 60_000])).collect());
    let large = large.expect("a table");
    let mut writer = TableWriter::new(std::io::Cursor::new(Vec::new()), Format::PARQUET);
    (0..3).for_each(|_| writer.write(&large).expect("writes"));
    let bytes = writer.finish().expect("finishes").into_inner();
    let name = folder.put("large.parquet", bytes);
    assert_eq!(open(&name, 1 << 24).expect("opens").rows(), Some(180_000));
}

/// The error of a file, which is the same by batches and whole.
fn refused(name: &str) -> String {
    let whole = read(name).expect_err(name).to_string();
    let by_batches = open(name, 1000).and_then(|stream| gathered(&stream)).expect_err(name).to_string();
    assert_eq!(whole, by_batches);
    whole
}

#[test]
fn a_line_without_an_end_is_refused_by_its_length() {
    let folder = Folder::new();
    let too_long = |name: &str, line: u64| {
        let error = refused(name);
        assert!(error.ends_with(&format!("the record at line {line} is longer than 64 MB")), "{error}");
    };
    // 100 GB of zero bytes, none of them a line end, in a file without content
    let name = folder.put("endless.csv", "");
    let file = std::fs::File::options().write(true).open(&name).expect("opens");
    file.set_len(100 << 30).expect("a file with a hole");
    too_long(&name, 1);
    // compressed, behind some lines, with a quote that is never closed, and in lines that are skipped
    let more = |before: &str, piece: &str| before.to_string() + &piece.repeat((66 << 20) / piece.len());
    too_long(&folder.put("one.csv.gz", gzip(more("", "a").as_bytes())), 1);
    too_long(&folder.put("one.csv.zst", zstd(more("a,b\n1,2\n3,", "4").as_bytes())), 3);
    too_long(&folder.put("quote.csv.zst", zstd(more("a,b\n1,2\n\"", "3,4\n").as_bytes())), 3);
    too_long(&folder.put("blank.csv.zst", zstd(more("", "\n").as_bytes())), 1);
    let skipped = folder.put("skipped.csv.zst", zstd(more("a\n", "b").as_bytes()));
    let options = ReadOptions { skip: 2, ..ReadOptions::default() };
    let error = read_with(&skipped, &options).expect_err("skipped").to_string();
    assert!(error.ends_with("the record at line 2 is longer than 64 MB"), "{error}");
    // long lines within the limit are read
    let wide = "1".repeat(9 << 20);
    let table = read(&folder.put("wide.csv", format!("a,b\nx,{wide}\n"))).expect("reads");
    assert_eq!(table.rows(), 1);
}

#[test]
fn a_line_of_endless_fields_is_refused_by_their_number() {
    let folder = Folder::new();
    for (name, before, line) in [("a", "", 1), ("b", "\"\n\"", 1), ("c", "\na", 2)] {
        let text = before.to_string() + &",".repeat(5 << 20);
        for end in ["", "\n1\n"] {
            let error = refused(&folder.put(&format!("{name}.csv"), text.clone() + end));
            assert!(error.ends_with(&format!("the record at line {line} has more than 4194304 fields")), "{error}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_without_line_ends_is_refused_while_it_comes() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let to = pipe.clone();
    let writer = std::thread::spawn(move || {
        let mut pipe = std::fs::File::options().write(true).open(to).expect("opens");
        let block = [b'7'; 1 << 16];
        pipe.write_all(b"a\r\nb\r\n").expect("somebody reads");
        // Without a reader a write fails.
        (0..1 << 20).take_while(|_| pipe.write_all(&block).is_ok()).count()
    });
    let error = read(&pipe).expect_err("endless").to_string();
    assert!(error.ends_with("pipe: the record at line 3 is longer than 64 MB"), "{error}");
    let blocks = writer.join().expect("no panic");
    assert!((1024..1100).contains(&blocks), "{blocks} blocks of 64 KB were taken");
}

#[test]
fn every_spelling_of_nan_is_a_missing_value() {
    let folder = Folder::new();
    for (at, spelling) in ["NaN", "nan", "Nan", "NAN", "-nan", "+NaN", "-NAN"].into_iter().enumerate() {
        for text in [
            format!("a,b\n{spelling},1\n{spelling},2\n"),
            format!("a,b\n1,1\n{spelling},2\n"),
            format!("a,b\n\"{spelling}\",1\n2,2\n"),
        ] {
            let name = folder.put(&format!("{at}.csv"), text);
            let whole = read(&name).expect("reads");
            let missing = matches!(&whole.columns[0].values, Values::Numbers(v) if v.iter().any(|v| v.is_nan()));
            assert!(missing, "{spelling}");
            same(&name, &whole);
        }
    }
}

#[test]
fn a_footer_that_claims_exabytes_is_refused() {
    let folder = Folder::new();
    let columns = vec![Column::numbers("a", vec![1.0, 2.0, 3.0]), Column::numbers("b", vec![4.0, 5.0, 6.5])];
    let table = Table::new("t", columns).expect("a table");
    let bytes = write_table(&table, Format::PARQUET).expect("writes");
    // In the footer 3 values are followed by the size of the column, each a field of 8 bytes, zigzag.
    let at = bytes.windows(3).rposition(|w| w == [0x16, 6, 0x16]).expect("the number of values") + 3;
    let end = at + bytes[at..].iter().position(|b| *b < 0x80).expect("the end of a number") + 1;
    // -1 as u64 is 18 EB; and a size that is positive, but not by far possible
    for size in [&[1u8][..], &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]] {
        let mut bad = bytes[..at].to_vec();
        bad.extend(size);
        bad.extend(&bytes[end..bytes.len() - 8]);
        let length = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().expect("four"));
        let length = length as usize + size.len() - (end - at);
        bad.extend((length as u32).to_le_bytes());
        bad.extend(b"PAR1");
        let error = refused(&folder.put("bad.parquet", bad));
        assert!(error.contains("its footer says that a column has"), "{error}");
    }
}
