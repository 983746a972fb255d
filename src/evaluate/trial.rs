//! A trial: labelled lines through the engine, into the book.
//!
//! The engine and the way to it are those of a replay. When all lines are through, time goes on for a minute in steps
//! of a second, as it does on an idle stream; then the engine is asked on until nothing waits and it has told nothing
//! for a while, for corrections are made a few with each input.

use super::book::Book;
use super::label::Label;
use super::read::Ear;
use crate::engine::Engine;
use crate::engine::time::Span;
use crate::replay::{Drive, Heard, Options};

/// How long time goes on after the last line, seconds.
const SETTLE_SECONDS: i64 = 60;
/// So many ticks without a revision are the end.
const SILENT_TICKS: u32 = 256;
/// The end, whatever comes: 64 revisions a tick are 64 million.
const TICKS_MAX: i64 = 1_000_000;

/// See the module.
#[derive(Debug)]
pub struct Trial<'e> {
    drive: Drive<'e>,
    book: Book,
}

impl<'e> Trial<'e> {
    /// A trial before this engine, which is to be new.
    pub fn new(engine: &'e mut Engine, options: &'e Options) -> Self {
        let book = Book::new(engine.policy());
        Self { drive: Drive::new(engine, options), book }
    }

    /// Ends the trial.
    pub fn end(mut self) -> Book {
        let mut silent = 0;
        for second in 1..=TICKS_MAX {
            let waits = self.drive.engine().remembered().waiting > 0;
            if second > SETTLE_SECONDS && !waits && silent >= SILENT_TICKS {
                break;
            }
            // Beyond the minute only what is under way goes on; nothing else is to expire.
            let passed = Span::from_secs(second.min(SETTLE_SECONDS));
            let outputs = self.drive.tick(self.book.now.after(passed));
            silent = if outputs.revisions.is_empty() { silent.saturating_add(1) } else { 0 };
            self.book.told(outputs);
        }
        self.book.close();
        self.book
    }
}

impl Ear for Trial<'_> {
    fn together<'l>(
        &mut self,
        lines: impl Iterator<Item = &'l [u8]>,
        mut truth: impl FnMut(&Heard<'_>) -> Option<Label>,
    ) -> usize {
        let book = &mut self.book;
        self.drive.together(lines, |heard| book.hear(heard, truth(heard)))
    }
}
