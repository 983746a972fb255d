//! The pages of one checkpoint, read file after file, every checksum verified on the way.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::error::StateError;
use super::meta::Meta;
use super::segment::{Foot, Head, SegmentReader};
use crate::engine::cut::Page;

/// Pages in the order in which they were written. After an error there are no more; only when the last one came without
/// an error is the checkpoint whole.
pub struct Pages {
    /// The files that are left, the next one last. They are open: a checkpoint that is removed meanwhile can be read to its
    /// end.
    left: Vec<(PathBuf, File)>,
    reader: Option<SegmentReader>,
    meta: Meta,
    generation: u64,
    /// The number of the file under way.
    file: u32,
    bytes: u64,
    over: bool,
}

impl Pages {
    /// Opens files in their order, the first of which has the meta.
    pub(super) fn open(files: Vec<PathBuf>) -> Result<Self, StateError> {
        let open = |path: PathBuf| match File::open(&path) {
            Ok(file) => Ok((path, file)),
            Err(error) => Err(StateError::io("opening", &path)(error)),
        };
        let mut files = files.into_iter().rev().map(open).collect::<Result<Vec<_>, _>>()?;
        let none = StateError::Io {
            doing: "looking for",
            path: PathBuf::from("segment-0000"),
            cause: std::io::ErrorKind::NotFound.into(),
        };
        let (path, file) = files.pop().ok_or(none)?;
        let reader = SegmentReader::of(path.clone(), file)?;
        let generation = reader.head.generation;
        let first = reader.head.meta.clone().filter(|_| reader.head.file == 0);
        let meta = first.ok_or_else(|| StateError::damaged(&path, 0, "it is not the first of its files"))?;
        Ok(Self { left: files, reader: Some(reader), meta, generation, file: 0, bytes: 0, over: false })
    }

    /// What the checkpoint says of itself.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Its number.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Bytes of pages given so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn advance(&mut self) -> Result<Option<Page>, StateError> {
        loop {
            let Some(reader) = &mut self.reader else { return Ok(None) };
            match reader.next()? {
                Ok(page) => {
                    self.bytes += page.bytes() as u64;
                    return Ok(Some(page));
                }
                Err(foot) => self.next_file(&foot)?,
            }
        }
    }

    fn next_file(&mut self, foot: &Foot) -> Result<(), StateError> {
        let Some(reader) = self.reader.take() else { return Ok(()) };
        let wrong = |what| Err(StateError::damaged(reader.path(), 0, what));
        let Foot { lineage, seq, chain, .. } = foot;
        let line = (&self.meta.lineage, self.meta.seq, &self.meta.chain);
        if (lineage, *seq, chain) != line || (foot.generation, foot.file) != (self.generation, self.file) {
            return wrong("it belongs to another checkpoint");
        }
        match (foot.last, self.left.pop()) {
            (true, None) => Ok(()),
            (true, Some(_)) => wrong("it is the last file, and more follow"),
            (false, None) => wrong("more files must follow, and there are none"),
            (false, Some((path, file))) => self.open_next(&path, file),
        }
    }

    fn open_next(&mut self, path: &Path, file: File) -> Result<(), StateError> {
        let next = SegmentReader::of(path.to_owned(), file)?;
        self.file += 1;
        let Head { generation, file, ref meta, .. } = next.head;
        if (generation, file) != (self.generation, self.file) || meta.is_some() {
            return Err(StateError::damaged(path, 0, "it belongs to another checkpoint"));
        }
        self.reader = Some(next);
        Ok(())
    }
}

impl Iterator for Pages {
    type Item = Result<Page, StateError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.advance().transpose();
        self.over = !matches!(next, Some(Ok(_)));
        next
    }
}
