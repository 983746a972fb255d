//! What the last word on each event is, by line: 12 bytes an event. The one thing that grows with their number.
//!
//! It has to: a revision tells what holds now, and what held before must be taken back.

use crate::engine::verdict::Verdict;
use crate::evaluate::cause::Cause;
use crate::evaluate::label::Label;

/// The last word on one labelled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its label.
    pub label: Label,
    /// The verdict that holds.
    pub verdict: Verdict,
    /// What it comes from.
    pub cause: Cause,
    /// The score that holds, held within 16 bits.
    pub score: i16,
}

/// The words on all events, by line from 1. Lines without one have no label or no decision.
#[derive(Clone, Debug, Default)]
pub struct Events(Vec<Option<Word>>);

impl Events {
    /// Notes the first word on a line.
    pub fn set(&mut self, line: u64, word: Word) {
        let place = usize::try_from(line).unwrap_or(usize::MAX);
        if self.0.len() <= place {
            self.0.resize(place.saturating_add(1), None);
        }
        self.0[place] = Some(word);
    }

    /// Replaces the word on a line; returns the one before.
    pub fn revise(&mut self, line: u64, verdict: Verdict, cause: Cause, score: i16) -> Option<Word> {
        let word = self.0.get_mut(usize::try_from(line).ok()?)?.as_mut()?;
        let before = *word;
        *word = Word { verdict, cause, score, ..before };
        Some(before)
    }

    /// All of them, in the order of lines.
    pub fn iter(&self) -> impl Iterator<Item = &Word> {
        self.0.iter().flatten()
    }
}

/// A score as it is kept here.
pub(super) fn held(score: i32) -> i16 {
    i16::try_from(score).unwrap_or(if score < 0 { i16::MIN } else { i16::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_small() {
        assert!(size_of::<Option<Word>>() <= 12, "{}", size_of::<Option<Word>>());
    }
}
