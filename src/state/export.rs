//! One checkpoint as one file, to carry elsewhere: a segment that is first and last at once.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::checkpoints::Checkpoints;
use super::error::StateError;
use super::meta::{Generation, Meta};
use super::pages::Pages;
use super::segment::{FORMAT, Head, SegmentWriter};

impl Archive {
    /// Writes a checkpoint into one file, verifying it on the way. Gives the bytes of the file, which appears under its
    /// name when it is whole.
    ///
    /// # Errors
    /// The checkpoint is not there or damaged, or the file cannot be written.
    pub fn export(&self, generation: u64, file: &Path) -> Result<u64, StateError> {
        let pages = self.load(generation)?;
        let mut partial = file.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let written = write(pages, &partial).and_then(|bytes| {
            fs::rename(&partial, file).map_err(StateError::io("renaming", &partial))?;
            Ok(bytes)
        });
        if written.is_err() {
            fs::remove_file(&partial).unwrap_or_default();
        }
        written
    }
}

fn write(pages: Pages, to: &Path) -> Result<u64, StateError> {
    let meta = pages.meta().clone();
    let mut out = SegmentWriter::create(to.to_owned(), head(&pages))?;
    for page in pages {
        out.page(&page?)?;
    }
    out.close(true, &meta)
}

fn head(pages: &Pages) -> Head {
    Head { format: FORMAT, generation: pages.generation(), file: 0, meta: Some(pages.meta().clone()) }
}

impl Pages {
    /// Writes what is left, before the first page was taken, as the bytes of the one file that [`Archive::export`] makes,
    /// verifying it on the way.
    ///
    /// # Errors
    /// The checkpoint is damaged, or `out` fails; what was written then has no foot.
    pub fn send(self, out: impl Write) -> Result<(), StateError> {
        let (meta, head) = (self.meta().clone(), head(&self));
        let mut out = SegmentWriter::onto(out, PathBuf::from("the copy"), head)?;
        for page in self {
            out.page(&page?)?;
        }
        out.foot(true, &meta)
    }
}

/// Reads a file that [`Archive::export`] or [`Pages::send`] wrote to its end; gives what the checkpoint says of itself.
///
/// # Errors
/// The first damage that is found.
pub fn verify_export(file: &Path) -> Result<Meta, StateError> {
    let mut pages = Pages::open(vec![file.to_owned()])?;
    while let Some(page) = pages.next().transpose()? {
        drop(page);
    }
    Ok(pages.meta().clone())
}

impl Checkpoints {
    /// Takes over a checkpoint from a file that [`Archive::export`] wrote, as the newest one here.
    ///
    /// # Errors
    /// The file is damaged, or the checkpoint cannot be written. Nothing is changed then.
    pub fn import(&mut self, file: &Path) -> Result<Generation, StateError> {
        let pages = Pages::open(vec![file.to_owned()])?;
        let mut writer = self.begin(pages.meta().clone())?;
        for page in pages {
            writer.write(page?)?;
        }
        let written = writer.finish()?;
        self.publish(written)
    }
}
