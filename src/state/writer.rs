//! Writes one checkpoint into a directory of its own, under a name that nobody reads.
//!
//! Files of about 48 MB, each synced when it is full. An unfinished or unpublished checkpoint removes its files when it
//! is dropped; after a crash the next start does. A full disk is an error here and costs nothing else. So is a disk that
//! could not be synced: what it holds then is not known, so it is not asked again. The next checkpoint has files of its own.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::StateError;
use super::meta::{Generation, Meta};
use super::segment::{FORMAT, Head, SegmentWriter};
use crate::engine::cut::Page;

/// A file gets no further page once it is so large, in bytes.
const FULL: u64 = 48 << 20;

/// The steps of a checkpoint, in order. Each is told before it begins, so that a test can end the process there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A segment file has its pages, and no foot yet.
    SegmentHalfWritten,
    /// All files are on the disk, under the name of an unfinished checkpoint.
    Rename,
    /// The checkpoint has its name; the manifest does not know it.
    Manifest,
    /// The manifest knows it; those that are too many are still there.
    Prune,
}

/// Is told each step.
type Told = dyn Fn(Step) + Send + Sync;

/// Stands for the disk where a file is synced.
type Synced = dyn Fn(&Path) -> io::Result<()> + Send + Sync;

/// What a test is told, or does instead.
#[derive(Clone, Default)]
pub struct Steps {
    told: Option<Arc<Told>>,
    synced: Option<Arc<Synced>>,
}

impl Steps {
    /// Tells each step to `before`.
    pub fn told(before: impl Fn(Step) + Send + Sync + 'static) -> Self {
        Self { told: Some(Arc::new(before)), synced: None }
    }

    /// Asks whether a file can be synced before the disk is asked.
    pub fn synced(by: impl Fn(&Path) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self { told: None, synced: Some(Arc::new(by)) }
    }

    fn sync(&self, segment: &SegmentWriter) -> Result<(), StateError> {
        let path = segment.path();
        self.synced.as_ref().map_or(Ok(()), |by| by(path)).map_err(StateError::io("syncing", path))?;
        segment.sync()
    }

    pub(super) fn tell(&self, step: Step) {
        if let Some(before) = &self.told {
            before(step);
        }
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Steps")
    }
}

/// A checkpoint that is being written.
pub struct Writer {
    meta: Meta,
    segment: Option<SegmentWriter>,
    files: u32,
    bytes: u64,
    full: u64,
    steps: Steps,
    files_of: Files,
}

/// The directory of an unfinished checkpoint; removed when dropped.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) generation: u64,
    /// Its directory.
    pub(super) dir: PathBuf,
    /// Only one is under way at a time.
    pub(super) _token: Arc<()>,
}

impl Drop for Files {
    fn drop(&mut self) {
        // Already renamed, or removed at the next start.
        fs::remove_dir_all(&self.dir).unwrap_or_default();
    }
}

impl Writer {
    pub(super) fn create(files_of: Files, meta: Meta, steps: Steps) -> Result<Self, StateError> {
        fs::create_dir(&files_of.dir).map_err(StateError::io("creating", &files_of.dir))?;
        Ok(Self { meta, segment: None, files: 0, bytes: 0, full: FULL, steps, files_of })
    }

    /// The number of the checkpoint.
    pub fn generation(&self) -> u64 {
        self.files_of.generation
    }

    /// The same with files of another size, for tests of what happens at their borders.
    #[must_use]
    pub fn with_files_of(self, bytes: u64) -> Self {
        Self { full: bytes, ..self }
    }

    /// Writes the next page; finishes it first. Gives the room of its words back.
    ///
    /// # Errors
    /// The disk is full, or the file cannot be written. The checkpoint is lost then: drop the writer.
    pub fn write(&mut self, mut page: Page) -> Result<Vec<u32>, StateError> {
        page.finish();
        if self.segment.as_ref().is_some_and(|segment| !segment.is_empty() && segment.bytes() >= self.full) {
            self.close(false)?;
        }
        let mut segment = match self.segment.take() {
            Some(segment) => segment,
            None => self.open()?,
        };
        segment.page(&page)?;
        self.segment = Some(segment);
        Ok(page.into_words())
    }

    /// Writes what is left and waits until the disk has it all.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn finish(mut self) -> Result<Written, StateError> {
        self.close(true)?;
        sync_dir(&self.files_of.dir)?;
        let generation = Generation::of(self.files_of.generation, &self.meta, self.files, self.bytes);
        Ok(Written { generation, files: self.files_of })
    }

    fn open(&mut self) -> Result<SegmentWriter, StateError> {
        let path = self.files_of.dir.join(segment_name(self.files));
        let meta = (self.files == 0).then(|| self.meta.clone());
        let head = Head { format: FORMAT, generation: self.files_of.generation, file: self.files, meta };
        SegmentWriter::create(path, head)
    }

    fn close(&mut self, last: bool) -> Result<(), StateError> {
        let mut segment = match self.segment.take() {
            Some(segment) => segment,
            None => self.open()?,
        };
        segment.flush()?;
        self.steps.tell(Step::SegmentHalfWritten);
        segment.foot(last, &self.meta)?;
        self.steps.sync(&segment)?;
        self.bytes += segment.bytes();
        self.files += 1;
        Ok(())
    }
}

/// A checkpoint that is on the disk and not yet published; removed when dropped.
#[derive(Debug)]
pub struct Written {
    pub(super) generation: Generation,
    pub(super) files: Files,
}

impl Written {
    /// What it is.
    pub fn generation(&self) -> &Generation {
        &self.generation
    }
}

pub(super) fn segment_name(file: u32) -> String {
    format!("segment-{file:04}")
}

/// Waits until the disk knows the names in a directory.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StateError> {
    fs::File::open(dir).and_then(|dir| dir.sync_all()).map_err(StateError::io("syncing", dir))
}
