//! A consistent cut of the whole state while scoring goes on, and an engine restored from it.
//!
//! [`Engine::begin_cut`] fixes the moment, between two inputs. From then on [`Engine::copy_pages`] hands out the state as
//! it was at that moment, a few pages at a time, with any inputs in between. It works by undo: the first write to an entry
//! that is not copied yet keeps its old words (`watch.rs`), and who takes the pages lays them over ([`Page::finish`]).
//! What is no array of entries is small and taken down as a whole at the beginning (`sets.rs`). The restored engine is the
//! one that was cut: same places in tables, same free blocks, same order of eviction and of sweeping, so it goes on with
//! the same answers. Nothing here reads or writes files. A policy that takes effect abandons the cut.
//!
//! Published names of the kind: zigzag, ping-pong and CALC checkpointing (Cao et al., SIGMOD 2011; Ren et al., 2016).

mod nouns;
mod page;
mod restore;
mod sets;
mod watch;
mod words;

pub use self::page::{NoPage, Page};
pub use self::restore::{Restore, RestoreError};

pub(crate) use self::page::{Kind, Place, entries_of};
pub(crate) use self::restore::{Array, Awaited};
pub(crate) use self::watch::{Room, Watch};
pub(crate) use self::words::{Damaged, Reader, Saved, Writer, load_of, saved};

use std::collections::VecDeque;

use self::sets::{ANSWERS_SEEN, COMMANDS_SEEN, EVENTS_SEEN};
use super::Engine;
use super::crowd::Crowds;
use super::table::Table;

/// How far a cut has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutProgress {
    /// There are more pages.
    More,
    /// All pages have been handed out; the cut is over.
    Complete,
    /// No cut is under way: none was begun, it is over, or it was abandoned. Pages that were handed out are worth
    /// nothing.
    NoCut,
}

/// A cut under way.
#[derive(Debug)]
pub(super) struct Cut {
    /// Pages of the sets that were not handed out yet.
    sets: VecDeque<Page>,
    /// Tables that are not copied yet, the smallest last. Each is written to about as often as any other, so the sooner it
    /// is copied the less has to be kept: the small ones go first.
    tables: Vec<usize>,
    /// Room for pages.
    spare: Vec<Vec<u32>>,
}

impl Engine {
    /// Begins a cut at this moment, between two inputs. One that is under way is abandoned.
    pub fn begin_cut(&mut self) {
        self.abandon_cut();
        let mut tables = Vec::new();
        self.each_table_mut(|part, table| {
            table.begin_cut(part);
            tables.push((table.bytes(), part));
        });
        tables.sort_unstable_by(|a, b| b.cmp(a));
        let tables = tables.into_iter().map(|(_, part)| part).collect();
        self.cut = Some(Cut { sets: self.set_pages().into(), tables, spare: Vec::new() });
        self.duplicates.begin_cut(EVENTS_SEEN);
        self.commands.begin_cut(COMMANDS_SEEN);
        self.answers.begin_cut(ANSWERS_SEEN);
        if let Some(crowds) = &mut self.crowds {
            crowds.begin_cut();
        }
    }

    /// Hands out the next pages of the cut: those that begin within the next `bytes`, the sets first. Inputs may be
    /// applied between two calls.
    pub fn copy_pages(&mut self, bytes: usize, out: &mut Vec<Page>) -> CutProgress {
        let Some(mut cut) = self.cut.take() else { return CutProgress::NoCut };
        let mut room = Room { bytes, out, spare: &mut cut.spare };
        while !room.is_full()
            && let Some(page) = cut.sets.pop_front()
        {
            room.put(page);
        }
        let done = cut.sets.is_empty()
            && self.duplicates.copy_pages(&mut room)
            && self.commands.copy_pages(&mut room)
            && self.answers.copy_pages(&mut room)
            && self.crowds.as_mut().is_none_or(|crowds| crowds.copy_pages(&mut room));
        let mut done = done && !room.is_full();
        while let Some(part) = cut.tables.last().filter(|_| done) {
            done = self.tables_mut().nth(*part).is_none_or(|table| table.copy_pages(&mut room));
            if done {
                cut.tables.pop();
            }
        }
        if !done || !cut.tables.is_empty() {
            self.cut = Some(cut);
            return CutProgress::More;
        }
        CutProgress::Complete
    }

    /// Takes room of pages that nobody needs any more, for the next pages of the cut under way.
    pub fn reuse(&mut self, words: impl Iterator<Item = Vec<u32>>) {
        if let Some(cut) = &mut self.cut {
            cut.spare.extend(words);
        }
    }

    /// Forgets the cut under way, if there is one.
    pub fn abandon_cut(&mut self) {
        if self.cut.take().is_some() {
            self.each_table_mut(|_, table| table.abandon_cut());
            self.duplicates.abandon_cut();
            self.commands.abandon_cut();
            self.answers.abandon_cut();
            if let Some(crowds) = &mut self.crowds {
                crowds.abandon_cut();
            }
        }
    }

    /// Whether a cut is under way.
    pub fn is_cutting(&self) -> bool {
        self.cut.is_some()
    }

    /// Every table with its part of the cut.
    fn each_table_mut(&mut self, mut each: impl FnMut(usize, &mut Table)) {
        self.tables_mut().enumerate().for_each(|(part, table)| each(part, table));
    }

    /// The tables in the order of their parts.
    fn tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        let profiles = [&mut self.users, &mut self.devices, &mut self.addresses];
        let crowds = self.crowds.iter_mut().map(Crowds::table_mut);
        self.tables.iter_mut().chain(profiles).chain(crowds)
    }

    /// Takes an awaited array.
    fn fill(&mut self, array: Array) -> Result<(), Damaged> {
        let Place { kind, part, .. } = array.place();
        match (kind, part as usize) {
            (Kind::Index | Kind::Records | Kind::Blocks | Kind::Sketch, part) => {
                self.tables_mut().nth(part).ok_or(Damaged)?.fill(array)
            }
            (Kind::Entries, EVENTS_SEEN) => self.duplicates.fill(&array),
            (Kind::Entries, COMMANDS_SEEN) => self.commands.fill(&array),
            (Kind::Entries, ANSWERS_SEEN) => self.answers.fill(&array),
            (Kind::Trail, _) => self.crowds.as_mut().ok_or(Damaged)?.fill(array),
            _ => Err(Damaged),
        }
    }

    fn check_tables(&self) -> Result<(), Damaged> {
        let crowds = self.crowds.iter().map(Crowds::table);
        let mut tables =
            self.tables.iter().chain([&self.users, &self.devices, &self.addresses]).chain(crowds);
        tables.try_for_each(Table::check)
    }
}
