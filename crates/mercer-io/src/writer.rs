//! Tables out.

use crate::error::{Error, Result};
use crate::reader::Format;
use crate::table::Table;
use crate::{npy, parquet_file};

/// The bytes of a table in a format. NPY takes the numeric columns only.
///
/// # Errors
/// When a column cannot be expressed in the format.
pub fn write_table(table: &Table, format: Format) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let done = match format {
        Format::Csv => delimited(table, b',', &mut out),
        Format::Tsv => delimited(table, b'\t', &mut out),
        Format::Npy => npy::write(table, &mut out).map_err(|e| e.to_string()),
        Format::Parquet => parquet_file::write(table, &mut out).map_err(|e| e.to_string()),
    };
    done.map_err(|what| Error::damaged(&table.source, format.extension(), what))?;
    Ok(out)
}

fn delimited(table: &Table, delimiter: u8, out: &mut Vec<u8>) -> std::result::Result<(), String> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
    let mut write = |fields: Vec<String>| writer.write_record(fields).map_err(|e| e.to_string());
    write(table.names().into_iter().map(String::from).collect())?;
    for i in 0..table.rows() {
        write(table.columns.iter().map(|c| c.as_text(i)).collect())?;
    }
    writer.flush().map_err(|e| e.to_string())
}
