//! One segment file: a magic, a head, pages, a foot, and where the foot begins.
//!
//! The first file of a checkpoint has the whole [`Meta`] in its head; the foot of the last one says that it is the last.
//! A foot names the line of state, how many pages came before it and a hash over their checksums, so that a file that was
//! cut off, or put together from two, is noticed. The last eight bytes of a file lead to its foot without reading the rest.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::error::StateError;
use super::frame::{self, Frame, Kind};
use super::meta::Meta;
use crate::engine::cut::Page;

/// The form of the files. Another form gets another number and is not read.
pub(super) const FORMAT: u32 = 1;
const MAGIC: [u8; 8] = *b"weir-ckp";
/// Bytes after the foot: its length and this.
const TAIL: [u8; 4] = *b"TAIL";
const TAIL_BYTES: u64 = 8;
const BUFFER: usize = 1 << 20;

/// The first record of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) format: u32,
    pub(super) generation: u64,
    /// Number of the file, from 0.
    pub(super) file: u32,
    /// In the first file.
    pub(super) meta: Option<Meta>,
}

/// The last record of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Foot {
    pub(super) format: u32,
    pub(super) generation: u64,
    pub(super) file: u32,
    pub(super) last: bool,
    pub(super) lineage: String,
    pub(super) seq: u64,
    pub(super) chain: String,
    /// Pages in this file.
    pub(super) pages: u64,
    /// Over their checksums, in order.
    pub(super) hash: u64,
}

/// A file that is being written, or the like of one that goes elsewhere.
pub(super) struct SegmentWriter<W: Write = File> {
    path: PathBuf,
    out: BufWriter<W>,
    head: Head,
    pages: u64,
    hash: Xxh3,
    bytes: u64,
    payload: Vec<u8>,
}

impl SegmentWriter {
    /// Makes the file and writes its head.
    pub(super) fn create(path: PathBuf, head: Head) -> Result<Self, StateError> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(StateError::io("creating", &path))?;
        Self::onto(file, path, head)
    }

    /// Writes the foot and waits until the disk has it all. Gives the bytes of the file.
    pub(super) fn close(mut self, last: bool, meta: &Meta) -> Result<u64, StateError> {
        self.foot(last, meta)?;
        self.sync()?;
        Ok(self.bytes)
    }

    /// Waits until the disk has all that was handed to it.
    pub(super) fn sync(&self) -> Result<(), StateError> {
        self.out.get_ref().sync_all().map_err(StateError::io("syncing", &self.path))
    }
}

impl<W: Write> SegmentWriter<W> {
    /// Writes the head; `path` is what errors name.
    pub(super) fn onto(out: W, path: PathBuf, head: Head) -> Result<Self, StateError> {
        let out = BufWriter::with_capacity(BUFFER, out);
        let json = json(&head);
        let mut new = Self { path, out, head, pages: 0, hash: Xxh3::new(), bytes: 0, payload: json };
        new.put(&MAGIC)?;
        new.record(Kind::Head)?;
        Ok(new)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// Appends a finished page.
    pub(super) fn page(&mut self, page: &Page) -> Result<(), StateError> {
        let (head, words) = (page.head(), page.words());
        self.payload.resize((head.len() + words.len()) * 4, 0);
        for (bytes, word) in self.payload.as_chunks_mut().0.iter_mut().zip(head.iter().chain(words)) {
            *bytes = word.to_le_bytes();
        }
        let hash = self.record(Kind::Page)?;
        self.hash.update(&hash.to_le_bytes());
        self.pages += 1;
        Ok(())
    }

    /// Hands what is buffered to the operating system.
    pub(super) fn flush(&mut self) -> Result<(), StateError> {
        self.out.flush().map_err(StateError::io("writing", &self.path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the foot, behind which there is nothing more.
    pub(super) fn foot(&mut self, last: bool, meta: &Meta) -> Result<(), StateError> {
        let foot = Foot {
            format: FORMAT,
            generation: self.head.generation,
            file: self.head.file,
            last,
            lineage: meta.lineage.clone(),
            seq: meta.seq,
            chain: meta.chain.clone(),
            pages: self.pages,
            hash: self.hash.digest(),
        };
        self.payload = json(&foot);
        let len = (self.payload.len() + frame::HEAD) as u32;
        self.record(Kind::Foot)?;
        self.put(&len.to_le_bytes())?;
        self.put(&TAIL)?;
        self.flush()
    }

    /// Writes the payload as a record and gives its checksum.
    fn record(&mut self, kind: Kind) -> Result<u64, StateError> {
        let payload = std::mem::take(&mut self.payload);
        let too_long = || std::io::Error::other("a record of 4 GiB or more");
        let frame = Frame::of(kind, &payload).ok_or_else(too_long);
        let frame = frame.map_err(StateError::io("writing", &self.path))?;
        self.put(&frame.bytes())?;
        self.put(&payload)?;
        self.payload = payload;
        Ok(frame.hash)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.out.write_all(bytes).map_err(StateError::io("writing", &self.path))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// A file that is being read.
pub(super) struct SegmentReader {
    path: PathBuf,
    input: BufReader<File>,
    /// Where the next record begins.
    at: u64,
    len: u64,
    pub(super) head: Head,
    pages: u64,
    hash: Xxh3,
    payload: Vec<u8>,
}

impl SegmentReader {
    /// Reads the head of a file that is open.
    pub(super) fn of(path: PathBuf, file: File) -> Result<Self, StateError> {
        let len = file.metadata().map_err(StateError::io("reading", &path))?.len();
        let mut input = BufReader::with_capacity(BUFFER, file);
        let mut magic = [0; MAGIC.len()];
        if len < magic.len() as u64 {
            return Err(StateError::damaged(&path, 0, "it is too short"));
        }
        input.read_exact(&mut magic).map_err(StateError::io("reading", &path))?;
        if magic != MAGIC {
            return Err(StateError::damaged(&path, 0, "it is no segment of a checkpoint"));
        }
        let head = Head { format: FORMAT, generation: 0, file: 0, meta: None };
        let (at, hash) = (magic.len() as u64, Xxh3::new());
        let mut reader = Self { path, input, at, len, head, pages: 0, hash, payload: Vec::new() };
        reader.head = reader.read_head()?;
        Ok(reader)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn read_head(&mut self) -> Result<Head, StateError> {
        let at = self.at;
        if self.record()?.kind != Kind::Head {
            return Err(StateError::damaged(&self.path, at, "its head is missing"));
        }
        let form: Form = parse(&self.payload).ok_or_else(|| self.senseless(at))?;
        if form.format != FORMAT {
            return Err(StateError::Format { file: self.path.clone(), found: form.format, known: FORMAT });
        }
        parse(&self.payload).ok_or_else(|| self.senseless(at))
    }

    fn senseless(&self, at: u64) -> StateError {
        StateError::damaged(&self.path, at, "its text makes no sense")
    }

    /// The next page, or the foot, after which there is nothing more.
    pub(super) fn next(&mut self) -> Result<Result<Page, Foot>, StateError> {
        let at = self.at;
        let frame = self.record()?;
        match frame.kind {
            Kind::Head => Err(StateError::damaged(&self.path, at, "a second head")),
            Kind::Page => {
                self.hash.update(&frame.hash.to_le_bytes());
                self.pages += 1;
                page(&self.payload).map(Ok).ok_or_else(|| StateError::damaged(&self.path, at, "no page"))
            }
            Kind::Foot => {
                let foot: Foot = parse(&self.payload).ok_or_else(|| self.senseless(at))?;
                if foot.pages != self.pages || foot.hash != self.hash.digest() {
                    return Err(StateError::damaged(&self.path, at, "its pages are not those it ended with"));
                }
                self.tail((self.at - at) as u32)?;
                Ok(Err(foot))
            }
        }
    }

    /// After the foot there is its length, and nothing more.
    fn tail(&mut self, foot: u32) -> Result<(), StateError> {
        let damaged = |what| StateError::damaged(&self.path, self.at, what);
        if self.at + TAIL_BYTES != self.len {
            return Err(damaged("it does not end after its foot"));
        }
        let mut tail = [0; TAIL_BYTES as usize];
        read(&mut self.input, &mut tail, &self.path)?;
        let [a, b, c, d, magic @ ..] = tail;
        let sound = u32::from_le_bytes([a, b, c, d]) == foot && magic == TAIL;
        if sound { Ok(()) } else { Err(damaged("what stands after its foot is damaged")) }
    }

    /// Reads the next record into the payload.
    fn record(&mut self) -> Result<Frame, StateError> {
        let at = self.at;
        let torn = || StateError::damaged(&self.path, at, "it ends in the middle of a record");
        let mut head = [0; frame::HEAD];
        let left = self.len.saturating_sub(at);
        let payload_left = left.checked_sub(frame::HEAD as u64).ok_or_else(torn)?;
        read(&mut self.input, &mut head, &self.path)?;
        let frame = Frame::read(&head);
        let frame = frame.ok_or_else(|| StateError::damaged(&self.path, at, "no record begins there"))?;
        if u64::from(frame.len) > payload_left {
            return Err(torn());
        }
        self.payload.resize(frame.len as usize, 0);
        read(&mut self.input, &mut self.payload, &self.path)?;
        if !frame.fits(&self.payload) {
            return Err(StateError::damaged(&self.path, at, "the checksum of a record is wrong"));
        }
        self.at = at + frame::HEAD as u64 + u64::from(frame.len);
        Ok(frame)
    }
}

/// Only the version, of a head in any form.
#[derive(Deserialize)]
struct Form {
    format: u32,
}

/// The foot of a file and its length, without reading what is before it.
pub(super) fn foot(path: &Path) -> Result<(Foot, u64), StateError> {
    let io = || StateError::io("reading", path);
    let mut file = File::open(path).map_err(StateError::io("opening", path))?;
    let len = file.metadata().map_err(io())?.len();
    let torn = |what| StateError::damaged(path, len, what);
    let start = len.checked_sub(TAIL_BYTES).ok_or_else(|| torn("it is too short"))?;
    let mut tail = [0; TAIL_BYTES as usize];
    file.seek(SeekFrom::Start(start)).map_err(io())?;
    file.read_exact(&mut tail).map_err(io())?;
    let [a, b, c, d, magic @ ..] = tail;
    let foot_len = u64::from(u32::from_le_bytes([a, b, c, d]));
    let at = start.checked_sub(foot_len).filter(|_| magic == TAIL && foot_len >= frame::HEAD as u64);
    let at = at.ok_or_else(|| torn("it has no foot: it was not written to its end"))?;
    let mut bytes = vec![0; foot_len as usize];
    file.seek(SeekFrom::Start(at)).map_err(io())?;
    file.read_exact(&mut bytes).map_err(io())?;
    let (head, payload) = bytes.split_first_chunk().ok_or_else(|| torn("its foot is damaged"))?;
    let sound = Frame::read(head).filter(|frame| frame.kind == Kind::Foot && frame.fits(payload));
    let foot = sound.and_then(|_| parse(payload));
    Ok((foot.ok_or_else(|| StateError::damaged(path, at, "its foot is damaged"))?, len))
}

fn read(input: &mut BufReader<File>, into: &mut [u8], path: &Path) -> Result<(), StateError> {
    input.read_exact(into).map_err(StateError::io("reading", path))
}

fn page(payload: &[u8]) -> Option<Page> {
    let (words, rest) = payload.as_chunks::<4>();
    let (head, words) = words.split_first_chunk::<{ Page::HEAD }>()?;
    let words = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    if rest.is_empty() { Page::new(head.map(u32::from_le_bytes), words).ok() } else { None }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("text and numbers can be written")
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}
