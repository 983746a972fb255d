//! Rows to a Parquet file: zstd, row groups of [`GROUP`] rows, which is also what is held in memory.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::columns::{TEXTS, message};
use super::row::{Row, Told};
use super::shown::Shown;

/// Rows of a group.
const GROUP: usize = 20_000;

/// See the module.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: Vec<(Row, Shown)>,
    count: u64,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(to: W) -> Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(concat!("weir version ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let schema = Arc::new(parse_message_type(&message())?);
        let file = SerializedFileWriter::new(to, schema, Arc::new(properties))?;
        Ok(Self { file, rows: Vec::new(), count: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, row: Row) -> Result<()> {
        let shown = row.shown();
        self.rows.push((row, shown));
        self.count += 1;
        if self.rows.len() >= GROUP { self.group() } else { Ok(()) }
    }

    /// Ends the file. Returns the number of rows, and the writer.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(mut self) -> Result<(u64, W)> {
        if !self.rows.is_empty() {
            self.group()?;
        }
        Ok((self.count, self.file.into_inner()?))
    }

    fn group(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let mut group = self.file.next_row_group()?;
        whole::<Int32Type, W>(&mut group, rows.iter().map(|(row, _)| row.partition))?;
        whole::<Int64Type, W>(&mut group, rows.iter().map(|(row, _)| row.offset))?;
        part::<Int64Type, W>(&mut group, rows.iter().map(|(_, shown)| shown.append_time))?;
        part::<Int64Type, W>(&mut group, rows.iter().map(|(_, shown)| shown.occurred_at))?;
        part::<Int64Type, W>(&mut group, rows.iter().map(|(_, shown)| shown.account_created_at))?;
        for number in 0..TEXTS.len() {
            let text = |(_, shown): &(Row, Shown)| shown.texts[number].as_deref().map(ByteArray::from);
            part::<ByteArrayType, W>(&mut group, rows.iter().map(text))?;
        }
        let told = || rows.iter().map(|(row, _)| row.told.as_ref());
        let text = |text: fn(&Told) -> Option<&str>| {
            told().map(move |told| told.and_then(text).map(ByteArray::from))
        };
        part::<ByteArrayType, W>(&mut group, text(|told| Some(told.verdict.name())))?;
        part::<ByteArrayType, W>(
            &mut group,
            text(|told| told.first_verdict.map(crate::engine::verdict::Verdict::name)),
        )?;
        part::<Int32Type, W>(&mut group, told().map(|told| told.map(|told| told.score)))?;
        part::<Int32Type, W>(&mut group, told().map(|told| told.map(|told| told.revision.cast_signed())))?;
        part::<ByteArrayType, W>(&mut group, text(|told| Some(&told.codes)))?;
        part::<ByteArrayType, W>(&mut group, text(|told| Some(&told.policy)))?;
        whole::<ByteArrayType, W>(
            &mut group,
            rows.iter().map(|(row, _)| ByteArray::from(row.line.as_str())),
        )?;
        group.close()?;
        Ok(())
    }
}

/// A column without gaps.
fn whole<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = T::T>,
) -> Result<()> {
    write::<T, W>(group, &values.collect::<Vec<_>>(), None)
}

/// A column with gaps.
fn part<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut there, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        there.extend(value);
    }
    write::<T, W>(group, &there, Some(&levels))
}

fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let short = || ParquetError::General("the table has fewer columns than are written".to_owned());
    let mut column = group.next_column()?.ok_or_else(short)?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}
