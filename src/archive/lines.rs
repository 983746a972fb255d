//! A Parquet file read back as lines of JSON, one a row: what reads `.jsonl` reads it like that.

use std::fs::File;
use std::io::{self, Read};

use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::columns::EVENT;

/// Rows that are read together.
const ROWS: usize = 1_024;

/// See the module.
pub struct Lines {
    file: SerializedFileReader<File>,
    column: usize,
    /// The next row group.
    group: usize,
    reader: Option<ColumnReaderImpl<ByteArrayType>>,
    values: Vec<ByteArray>,
    /// Lines that were not handed out yet, from `at` on.
    text: Vec<u8>,
    at: usize,
}

impl Lines {
    /// Opens a file.
    ///
    /// # Errors
    /// It is no Parquet file, or has no column `event` with lines of JSON.
    pub fn open(file: File) -> io::Result<Self> {
        let file = SerializedFileReader::new(file).map_err(broken)?;
        let schema = file.metadata().file_metadata().schema_descr();
        let is_ours = |column: &usize| {
            let column = schema.column(*column);
            let single = column.max_def_level() == 0 && column.max_rep_level() == 0;
            column.name() == EVENT && single && column.physical_type() == parquet::basic::Type::BYTE_ARRAY
        };
        let column = (0..schema.num_columns()).find(is_ours).ok_or_else(|| {
            let words = format!(
                "no column `{EVENT}` with events as lines of JSON: it was not written by `weir export`"
            );
            io::Error::new(io::ErrorKind::InvalidData, words)
        })?;
        let (values, text) = (Vec::new(), Vec::new());
        Ok(Self { file, column, group: 0, reader: None, values, text, at: 0 })
    }

    /// Reads some more rows; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.text.clear();
        self.at = 0;
        loop {
            let Some(reader) = &mut self.reader else {
                if self.group == self.file.num_row_groups() {
                    return Ok(false);
                }
                let group = self.file.get_row_group(self.group).map_err(broken)?;
                let column = group.get_column_reader(self.column).map_err(broken)?;
                self.reader = Some(get_typed_column_reader::<ByteArrayType>(column));
                self.group += 1;
                continue;
            };
            self.values.clear();
            let (rows, _, _) = reader.read_records(ROWS, None, None, &mut self.values).map_err(broken)?;
            if rows == 0 {
                self.reader = None;
                continue;
            }
            for value in &self.values {
                self.text.extend_from_slice(value.data());
                self.text.push(b'\n');
            }
            return Ok(true);
        }
    }
}

impl Read for Lines {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() && !self.fill()? {
            return Ok(0);
        }
        let count = (&self.text[self.at..]).read(into)?;
        self.at += count;
        Ok(count)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn broken(error: ParquetError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}
