//! Tables: whole and batch by batch, from memory and from a file, which must agree.

use std::io::Write;
use std::sync::Arc;

use mercer::text::checksum;
use mercer_io::{
    Column, Error, Format, Header, MappedNpy, MappedPoints, ReadOptions, Stream, StreamOptions, Table, Values,
    read_bytes, write_table,
};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

use super::{Target, put};
use crate::dice::Dice;
use crate::mutate;

/// Memory for a table that is read whole.
const LIMIT: u64 = 64_000_000;

/// Rows that are read of a table: a few bytes of Parquet may stand for any number of rows.
const MOST_ROWS: usize = 1_000_000;

const TEXTS: &[&str] = &[
    "a,b,who\n1,2.5,x\n-3e2,4,y\n0.1,,z\n",
    "\u{feff}a;b;c\r\n1;2;3\r\n4;5;6\r\n",
    "\"a\",\"b, c\",\"d \"\"e\"\"\"\n\"1\",2,\"x\ny\"\n3,4,z\n",
    "a\tb\twho\n1\t2.5\tx\n-3e2\tNaN\ty\n",
    "5.1,3.5,setosa\n4.9,3,setosa\n7,3.2,versicolor\n",
    "x,y\n1,NA\n2,nan\n3,-inf\n4,?\n5,.\n\n6,null\n",
];

const WORDS: &[&[u8]] = &[
    b",",
    b";",
    b"\t",
    b"\"",
    b"\"\"",
    b"\n",
    b"\r",
    b"\r\n",
    b" ",
    b"a",
    b"1",
    b"-2.5e3",
    b"1e999",
    b"-0",
    b"nan",
    b"-NaN",
    b"+inf",
    b"Infinity",
    b"NA",
    b"null",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3\xa9",
    b"\0",
    b"0x10",
    b"1_000",
    b"x1",
];

/// Tables of one format.
struct Tables {
    name: &'static str,
    file: &'static str,
    valid: Vec<Vec<u8>>,
    make: fn(&mut Dice, &[Vec<u8>]) -> Vec<u8>,
    folder: TempDir,
}

pub(super) fn targets() -> Vec<Box<dyn Target>> {
    let texts: Vec<Vec<u8>> = TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect();
    let of = |name, file, valid, make| {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        Box::new(Tables { name, file, valid, make, folder }) as Box<dyn Target>
    };
    vec![
        of("csv", "t.csv", texts.clone(), text),
        of("tsv", "t.tsv", texts.clone(), text),
        of("gz", "t.csv.gz", texts.clone(), |dice, valid| compressed(dice, valid, gzip)),
        of("zst", "t.csv.zst", texts, |dice, valid| compressed(dice, valid, zstd)),
        of("npy", "t.npy", vec![written(3, Format::NPY), written(40, Format::NPY)], npy),
        of("parquet", "t.parquet", parquet_files(), parquet),
    ]
}

fn text(dice: &mut Dice, valid: &[Vec<u8>]) -> Vec<u8> {
    let input = dice.pick(valid).clone();
    mutate::text(dice, &input, WORDS)
}

/// A damaged text in a sound file, a damaged file, or several files in one.
fn compressed(dice: &mut Dice, valid: &[Vec<u8>], compress: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let file = compress(&text(dice, valid));
    match dice.below(4) {
        0 => mutate::bytes(dice, &file, &[]),
        1 => [file, compress(&text(dice, valid))].concat(),
        _ => file,
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes all bytes")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes all bytes")
}

/// A header whose parts may be anything, or a file with changed bytes.
fn npy(dice: &mut Dice, valid: &[Vec<u8>]) -> Vec<u8> {
    if dice.one_in(3) {
        let input = dice.pick(valid).clone();
        return mutate::bytes(dice, &input, valid);
    }
    let descr =
        dice.pick(&["'<f8'", "'>f4'", "'|u1'", "'<i8'", "'|b1'", "'<f2'", "'<c16'", "[('a', '<f8')]", "\"<u2\""]);
    let order = dice.pick(&["False", "True", "0"]);
    let shape = dice.pick(&["(3, 4)", "(4,)", "()", "(2, 3, 4)", "(0, 3)", "(12L, 1L)", "(4294967296, 4294967296)"]);
    let header = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}");
    let mut header = format!("{header:<117}\n").into_bytes();
    if dice.one_in(2) {
        let words: &[&[u8]] =
            &[b"{", b"}", b"(", b")", b"[", b"'", b"\"", b",", b":", b"9", b"True", b"'descr'", b"\\"];
        header = mutate::text(dice, &header, words);
    }
    let version = *dice.pick(&[1u8, 1, 1, 2, 3, 4]);
    let mut file = [&b"\x93NUMPY"[..], &[version, 0]].concat();
    match version {
        1 => file.extend((header.len() as u16).to_le_bytes()),
        _ => file.extend((header.len() as u32).to_le_bytes()),
    }
    file.extend(header);
    file.extend((0..dice.below(400)).map(|i| i as u8));
    file
}

fn written(rows: usize, format: Format) -> Vec<u8> {
    let number = |i: usize, j: usize| if (i + j) % 7 == 3 { f64::NAN } else { (i * (j + 2)) as f64 / 8.0 };
    let mut columns: Vec<Column> =
        (0..3).map(|j| Column::numbers(format!("n{j}"), (0..rows).map(|i| number(i, j)).collect())).collect();
    columns.push(Column::text("who", (0..rows).map(|i| format!("w{}", i % 3)).collect()));
    let table = Table::new("t", columns).expect("different names");
    write_table(&table, format).expect("memory takes all bytes")
}

fn parquet_files() -> Vec<Vec<u8>> {
    vec![written(3, Format::PARQUET), written(200, Format::PARQUET), every_type(5), every_type(60)]
}

/// Columns of types that mercer reads and does not write, in two row groups.
fn every_type(rows: usize) -> Vec<u8> {
    let schema = "message table {
        optional int32 small (UINT_8);
        required boolean flag;
        optional int64 time (TIMESTAMP_MILLIS);
        required fixed_len_byte_array(5) money (DECIMAL(10, 2));
        optional binary word (UTF8);
        required float single;
        optional int96 old;
    }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::builder().build()))
        .expect("memory takes all bytes");
    for _ in 0..2 {
        let mut group = writer.next_row_group().expect("a row group");
        let levels: Vec<i16> = (0..rows).map(|i| i16::from(i % 4 != 1)).collect();
        let present = levels.iter().filter(|level| **level == 1).count();
        macro_rules! column {
            ($kind:ty, $count:expr, $levels:expr, $value:expr) => {{
                let mut column = group.next_column().expect("in order").expect("a column");
                let values: Vec<_> = (0..$count).map($value).collect();
                column.typed::<$kind>().write_batch(&values, $levels, None).expect("as many values");
                column.close().expect("complete");
            }};
        }
        column!(Int32Type, present, Some(&levels), |i| i as i32 * 3);
        column!(BoolType, rows, None, |i| i % 3 == 0);
        column!(Int64Type, present, Some(&levels), |i| 1_500_000_000_000 + i as i64);
        column!(FixedLenByteArrayType, rows, None, |i| ByteArray::from(vec![0, 0, 0, 1, i as u8]).into());
        column!(ByteArrayType, present, Some(&levels), |i| ByteArray::from(format!("w{}", i % 5).into_bytes()));
        column!(FloatType, rows, None, |i| i as f32 / 3.0);
        column!(Int96Type, present, Some(&levels), |i| {
            let mut day = Int96::new();
            day.set_data(i as u32, 0, 2_450_000);
            day
        });
        group.close().expect("complete");
    }
    writer.into_inner().expect("memory takes all bytes")
}

/// Most changes are in the footer, whose length and end stay right.
fn parquet(dice: &mut Dice, valid: &[Vec<u8>]) -> Vec<u8> {
    let file = dice.pick(valid).clone();
    if dice.one_in(3) {
        return mutate::bytes(dice, &file, valid);
    }
    let (body, end) = file.split_at(file.len() - 8);
    let length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize;
    let (pages, footer) = body.split_at(body.len() - length);
    let (pages, footer) = match dice.one_in(3) {
        true => {
            let mut pages = pages.to_vec();
            let at = 4 + dice.below(pages.len() - 4);
            let byte = dice.below(256) as u8;
            pages[at] = byte;
            (pages, footer.to_vec())
        }
        false => (pages.to_vec(), mutate::bytes(dice, footer, &[])),
    };
    [&pages[..], &footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

impl Target for Tables {
    fn name(&self) -> &'static str {
        self.name
    }

    fn input(&self, dice: &mut Dice) -> Vec<u8> {
        (self.make)(dice, &self.valid)
    }

    fn read(&self, input: &[u8]) -> Result<bool, String> {
        let path = self.folder.path().join(self.file).to_str().expect("a plain name").to_string();
        put(path.as_ref(), input)?;
        // Options follow from the input, so that it says all.
        let choice = checksum(input);
        let pick = |shift: u64, count: u64| ((choice >> shift) % count) as usize;
        let read = ReadOptions {
            header: [Header::Auto, Header::Auto, Header::Yes, Header::No][pick(0, 4)],
            skip: usize::from(pick(8, 8) == 0),
            text: if pick(16, 8) == 0 { vec!["b".into(), "small".into()] } else { Vec::new() },
            limit: Some(LIMIT),
            ..ReadOptions::default()
        };
        let batch_bytes = [1, 40, 300, 100_000][pick(24, 4)];
        let whole = read_bytes(&path, input, &read);
        let batches = Stream::open(std::slice::from_ref(&path), StreamOptions { read, batch_bytes });
        let batches = batches.and_then(|stream| gathered(&stream));
        match (whole, batches) {
            // A stream has no limit.
            (Err(Error::TooLarge { .. }), _) | (_, Ok(None)) => Ok(false),
            (Ok(whole), Ok(Some(batches))) if bits(&whole.columns) == bits(&batches) => {
                if self.file == "t.npy" && whole.columns.iter().all(Column::is_numeric) {
                    same_when_mapped(&path, &whole)?;
                }
                let _ = whole.points();
                Ok(true)
            }
            // Which of several damaged columns is met first depends on the batches; which of several lines does not.
            (Err(_), Err(_)) if self.file == "t.parquet" => Ok(false),
            (Err(whole), Err(batches)) if whole.to_string() == batches.to_string() => Ok(false),
            (whole, batches) => {
                let said = |r: Result<String, Error>| r.unwrap_or_else(|e| e.to_string());
                let shape = |columns: &[Column]| format!("{} columns: {columns:.200?}", columns.len());
                let whole = said(whole.map(|t| shape(&t.columns)));
                let batches = said(batches.map(|c| shape(&c.unwrap_or_default())));
                Err(format!("read whole: {whole}\n  by batches: {batches}"))
            }
        }
    }
}

/// All batches as one table; `None` for more than [`MOST_ROWS`].
fn gathered(stream: &Stream) -> Result<Option<Vec<Column>>, Error> {
    let mut whole: Vec<Column> = Vec::new();
    for batch in stream.batches()? {
        let columns = batch?.table.columns;
        if whole.is_empty() {
            whole = columns;
        } else {
            for (column, more) in whole.iter_mut().zip(columns) {
                match (&mut column.values, more.values) {
                    (Values::Numbers(v), Values::Numbers(more)) => v.extend(more),
                    (Values::Text(v), Values::Text(more)) => v.extend(more),
                    _ => column.name += " has several types",
                }
            }
        }
        if whole.first().is_some_and(|column| column.len() > MOST_ROWS) {
            return Ok(None);
        }
    }
    Ok(Some(whole))
}

/// Columns with the bits of their numbers: missing values are equal, and zeros of different signs are not.
fn bits(columns: &[Column]) -> Vec<(&str, Vec<u64>, &[String])> {
    let of = |column| match column {
        &Column { ref name, values: Values::Numbers(ref v) } => {
            (name.as_str(), v.iter().map(|v| v.to_bits()).collect(), &[][..])
        }
        Column { name, values: Values::Text(v) } => (name.as_str(), Vec::new(), v.as_slice()),
    };
    columns.iter().map(of).collect()
}

fn same_when_mapped(path: &str, whole: &Table) -> Result<(), String> {
    let Ok(mapped) = MappedNpy::open(path) else { return Ok(()) };
    let points = match mapped.points() {
        MappedPoints::F64(points) => points.to_f64(),
        MappedPoints::F32(points) => points.to_f64(),
    };
    let columns: Vec<Column> = (0..points.d())
        .map(|j| Column::numbers(format!("x{}", j + 1), points.rows().map(|row| row[j]).collect()))
        .collect();
    match bits(&columns) == bits(&whole.columns) {
        true => Ok(()),
        false => Err("the mapped array is not the table".into()),
    }
}
