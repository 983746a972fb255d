//! A trial: labelled lines through the engine, into the book.
//!
//! The engine and the way to it are those of a replay; behind the last line time goes on ([`Settling`]).

use super::book::Book;
use super::label::Label;
use super::read::Ear;
use crate::engine::Engine;
use crate::replay::{Drive, Heard, Options, Settling};

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
        let mut settling = Settling::default();
        while let Some(after) = settling.next(self.drive.engine().remembered().waiting > 0) {
            let outputs = self.drive.tick(self.book.now.after(after));
            settling.told(!outputs.revisions.is_empty());
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
