//! Looks for the event among all, and stops there.

use super::explanation::Explanation;
use super::state::{State, before};
use crate::engine::event::Event;
use crate::engine::{Engine, Outcome};
use crate::evaluate::Label;
use crate::evaluate::read::Ear;
use crate::replay::{Drive, Heard, Options, Panel};

/// See the module.
#[derive(Debug)]
pub struct Explainer<'e> {
    drive: Drive<'e>,
    id: String,
    user: Option<String>,
    explanation: Option<Explanation>,
    /// How often the id came without a decision, and what became of it last.
    undecided: Option<(u64, Outcome)>,
}

impl<'e> Explainer<'e> {
    /// Looks for the event of this id; of this user, when one is named.
    pub fn new(engine: &'e mut Engine, options: &'e Options, id: &str, user: Option<&str>) -> Self {
        Self {
            drive: Drive::new(engine, options),
            id: id.to_owned(),
            user: user.map(str::to_owned),
            explanation: None,
            undecided: None,
        }
    }

    /// The explanation.
    ///
    /// # Errors
    /// There is none, in words.
    pub fn end(self) -> Result<Explanation, String> {
        let Self { id, explanation, undecided, .. } = self;
        explanation.ok_or_else(|| match undecided {
            Some((count, outcome)) => {
                format!("event `{id}` came {count} times and was never decided: {}", outcome.name())
            }
            None => format!("there is no event `{id}`"),
        })
    }
}

impl Ear for Explainer<'_> {
    fn together<'l>(
        &mut self,
        lines: impl Iterator<Item = &'l [u8]>,
        mut truth: impl FnMut(&Heard<'_>) -> Option<Label>,
    ) -> usize {
        let mut count = 0;
        for line in lines.take(Panel::RECORDS) {
            if self.has_enough() {
                break;
            }
            self.line(line, &mut truth);
            count += 1;
        }
        count
    }

    fn has_enough(&self) -> bool {
        self.explanation.is_some()
    }
}

impl Explainer<'_> {
    fn line(&mut self, line: &[u8], truth: &mut impl FnMut(&Heard<'_>) -> Option<Label>) {
        let wanted = |event: &Event<'_>| {
            event.id == self.id && self.user.as_deref().is_none_or(|user| event.user.as_deref() == Some(user))
        };
        let mut states: Option<Vec<State>> = None;
        let look = |engine: &mut Engine, event: &Event<'_>| {
            if wanted(event) {
                states = Some(before(engine, event));
                engine.trace_next();
            }
        };
        let (mut told, mut outcome) = (None, None);
        self.drive.one(line, look, |heard| {
            truth(heard);
            outcome = Some(heard.outcome);
            if let (Some((event, arrival)), Some(judgement)) = (heard.event, &heard.outputs.judgement)
                && wanted(event)
            {
                told =
                    Some(Explanation::begin(heard.line, event, &arrival, judgement, &heard.outputs.shadow));
            }
        });
        let Some(states) = states else { return };
        match (told, self.drive.take_trace()) {
            (Some(mut explanation), Some(trace)) => {
                explanation.fill(self.drive.engine().policy(), states, &trace);
                self.explanation = Some(explanation);
            }
            _ => {
                let count = self.undecided.map_or(0, |(count, _)| count) + 1;
                self.undecided = outcome.map(|outcome| (count, outcome));
            }
        }
    }
}
