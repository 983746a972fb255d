//! One pass over the events, before all policies at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::contrast::Contrast;
use super::ledger::Ledger;
use super::origin::{BeganEmpty, Origin, begins_empty};
use super::range::{Part, Passed, Range};
use super::thin::{Thin, Who};
use super::weighed::Strata;
use crate::engine::ban::Ban;
use crate::engine::case::Case;
use crate::engine::cut::RestoreError;
use crate::engine::event::Event;
use crate::engine::key::HashSeed;
use crate::engine::policy::Policy;
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;
use crate::engine::{Engine, Input, Outputs};
use crate::evaluate::read::Ear;
use crate::evaluate::{Book, Label};
use crate::replay::{Heard, Options, Panel, Record, Settling, Told, Turn};

/// One policy of a backtest.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its name for people: the folder it came from.
    pub name: String,
    /// What judges.
    pub policy: Arc<Policy>,
}

/// What one policy did, and the book on labelled events where there are labels.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) name: String,
    pub(super) ledger: Ledger,
    pub(super) book: Option<Book>,
}

/// How many decisions of the candidate had a label: allowed ones, and those acted on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Coverage {
    pub(super) allowed: [u64; 2],
    pub(super) acted_on: [u64; 2],
}

impl Coverage {
    /// Whether what was acted on is labelled far more often than what was allowed.
    pub(super) fn is_lopsided(self) -> bool {
        let ratio = |[labelled, all]: [u64; 2]| labelled as f64 / all.max(1) as f64;
        self.acted_on[1] > 0 && ratio(self.acted_on) > 2.0 * ratio(self.allowed)
    }
}

/// See the module.
#[derive(Debug)]
pub struct Pass {
    panel: Panel,
    range: Range,
    seed: HashSeed,
    /// What is applied now warms up, wherever it lies.
    muted: bool,
    thin: Option<Thin>,
    origin: Option<Origin>,
    books: Books,
}

/// All that is kept.
#[derive(Debug)]
struct Books {
    range: Range,
    seats: Vec<Seat>,
    /// The first seat is the candidate; each other one has its contrast with it.
    contrasts: Vec<Contrast>,
    /// Without any other policy: what is acted on.
    alone: Contrast,
    passed: Passed,
    coverage: Coverage,
    strata: Strata,
    /// Where the last record that could be placed lay.
    part: Part,
    now: Timestamp,
}

/// What a pass left behind.
#[derive(Debug)]
pub struct Ran {
    pub(super) range: Range,
    pub(super) seats: Vec<Seat>,
    pub(super) contrasts: Vec<Contrast>,
    pub(super) alone: Contrast,
    pub(super) passed: Passed,
    pub(super) coverage: Coverage,
    pub(super) strata: Strata,
    pub(super) origin: Option<Origin>,
}

impl Pass {
    /// A pass before the candidate and those it is held against, each with a state of its own. `labelled`: the truth
    /// about some events will be told.
    pub fn new(
        candidate: Side,
        against: Vec<Side>,
        seed: HashSeed,
        (options, range): (Options, Range),
        labelled: bool,
    ) -> Self {
        let sides: Vec<Side> = std::iter::once(candidate).chain(against).collect();
        let engines = sides.iter().map(|side| Engine::new(Arc::clone(&side.policy), seed)).collect();
        let seat = |side: Side| Seat {
            ledger: Ledger::new(&side.policy),
            book: labelled.then(|| Book::new(&side.policy)),
            name: side.name,
        };
        let contrasts = vec![Contrast::default(); sides.len() - 1];
        let books = Books {
            range,
            seats: sides.into_iter().map(seat).collect(),
            contrasts,
            alone: Contrast::default(),
            passed: Passed::default(),
            coverage: Coverage::default(),
            strata: Strata::default(),
            part: if range.since.is_some() { Part::Before } else { Part::Inside },
            now: Timestamp::default(),
        };
        Self {
            panel: Panel::new(engines, options),
            range,
            seed,
            muted: false,
            thin: None,
            origin: None,
            books,
        }
    }

    /// The same, over a sample of the actors.
    #[must_use]
    pub fn thinned(self, thin: Option<Thin>) -> Self {
        Self { thin, ..self }
    }

    /// The same, after a search for a checkpoint: from the `state` that was found, each policy begins with a copy of it
    /// on which it takes effect as a reload does live. Without one, it begins empty.
    ///
    /// # Errors
    /// The state does not fit together.
    pub fn beginning(mut self, state: Option<&mut Engine>, mut origin: Origin) -> Result<Self, RestoreError> {
        if let Some(state) = state {
            let before = Arc::clone(state.policy());
            for (engine, seat) in self.panel.engines_mut().zip(&self.books.seats) {
                let policy = Arc::clone(engine.policy());
                *engine = state.fork()?;
                if policy.hash == before.hash {
                    continue;
                }
                let counters = begins_empty(&before, &policy);
                engine.apply(Input::Policy(policy), &mut Outputs::default());
                if !counters.is_empty() {
                    origin.began_empty.push(BeganEmpty { policy: seat.name.clone(), counters });
                }
            }
        }
        self.origin = Some(origin);
        Ok(self)
    }

    /// How much earlier than a range events must be read for its windows to be whole: the longest of any policy.
    pub fn warm_up(sides: &[Side]) -> Span {
        let longest = sides.iter().map(|side| Engine::longest_window_of(&side.policy));
        longest.max().unwrap_or_default()
    }

    /// The next records, a few at a time; `truth` is asked about each that was not passed over. Returns how many it
    /// took, 0 at the end.
    pub fn records<'r>(
        &mut self,
        records: impl Iterator<Item = Record<'r>>,
        mut truth: impl FnMut(&Heard<'_>) -> Option<Label>,
    ) -> usize {
        let Self { panel, range, books, muted, thin, .. } = self;
        let mut passed = books.passed;
        let turn = |event: &Event<'_>, at: Timestamp| {
            let part = if *muted { Part::WarmUp } else { range.part(at) };
            let part = match thin.as_ref().map(|thin| thin.who(event)) {
                Some(Who::Stranger) => Part::Stranger,
                Some(Who::Neighbour) if part == Part::Inside => Part::Neighbour,
                _ => part,
            };
            let first = passed.first_applied.is_none() && passed.before > 0;
            passed.count(part, at);
            match (part, range.begins()) {
                (Part::Before | Part::After | Part::Stranger, _) => Turn::Skip,
                // Earlier ones are there and would change nothing in the windows: history begins with the warm-up.
                (_, Some(begin)) if first => Turn::ApplyFrom(begin),
                _ => Turn::Apply,
            }
        };
        let count = panel.together(records, turn, |told| books.hear(told, *muted, thin.as_ref(), &mut truth));
        books.passed = passed;
        books.passed.read += count as u64;
        count
    }

    /// Another input than an event: time, an operator's action, feedback, as the journal has them.
    pub fn input(&mut self, input: &Input<'_>) {
        let Books { seats, part, .. } = &mut self.books;
        let counts = *part == Part::Inside && !self.muted;
        self.panel.input(input, |seat, outputs| {
            if counts {
                seats[seat].told(outputs);
            }
        });
    }

    /// State begins anew, as it did when it was live.
    pub fn begin_anew(&mut self, revised_to: u32) {
        let seed = self.seed;
        for engine in self.panel.engines_mut() {
            *engine = Engine::new(Arc::clone(engine.policy()), seed);
            engine.begin_anew(revised_to);
        }
    }

    /// Whether what is applied from now on warms up only.
    pub fn mute(&mut self, muted: bool) {
        self.muted = muted;
    }

    /// Takes over bans and cases as a new state did when it was live; `first`: what stands in their place is forgotten.
    pub fn take_over(&mut self, first: bool, bans: &[Vec<Ban>], cases: &[Case]) {
        for engine in self.panel.engines_mut() {
            if first {
                engine.forget_bans();
            }
            bans.iter().for_each(|bans| drop(engine.restore_bans(bans.clone())));
            engine.restore_cases(cases.to_vec());
        }
    }

    /// All bans and cases are taken over.
    pub fn taken_over(&mut self) {
        self.panel.engines_mut().for_each(Engine::warmed_up);
    }

    /// Bytes of state by table, as the engines account for them, over all policies together.
    pub fn state_bytes(&self) -> BTreeMap<String, u64> {
        let mut tables = BTreeMap::new();
        for seat in 0..self.books.seats.len() {
            let engine = self.panel.engine(seat);
            let (crowds, recall) = (engine.crowds().unwrap_or_default(), engine.remembered());
            let others =
                [("crowds", crowds.bytes + crowds.trail_bytes), ("decisions to answer", recall.bytes)];
            let accounts = engine.accounts().into_iter().map(|table| (table.name, table.stats.bytes));
            for (name, bytes) in accounts.chain(others.map(|(name, bytes)| (name.to_owned(), bytes))) {
                *tables.entry(name).or_default() += bytes;
            }
        }
        tables
    }

    /// Whether any policy has corrections under way.
    fn waits(&self) -> bool {
        (0..self.books.seats.len()).any(|seat| self.panel.engine(seat).remembered().waiting > 0)
    }

    /// Ends the pass, once what is under way has settled.
    pub fn end(mut self) -> Ran {
        let mut settling = Settling::default();
        while let Some(after) = settling.next(self.waits()) {
            let (now, seats) = (self.books.now.after(after), &mut self.books.seats);
            let mut told = false;
            self.panel.tick(now, |seat, outputs| told |= seats[seat].told(outputs));
            settling.told(told);
        }
        let Books { seats, contrasts, alone, passed, coverage, strata, .. } = self.books;
        let (range, origin) = (self.range, self.origin);
        let mut ran = Ran { range, seats, contrasts, alone, passed, coverage, strata, origin };
        ran.seats.iter_mut().filter_map(|seat| seat.book.as_mut()).for_each(Book::close);
        if let Some((candidate, others)) = ran.seats.split_first() {
            let pairs = ran.contrasts.iter_mut().zip(others);
            pairs.for_each(|(contrast, now)| contrast.close(&now.ledger.touched, &candidate.ledger.touched));
        }
        ran
    }
}

impl Ear for Pass {
    fn together<'l>(
        &mut self,
        lines: impl Iterator<Item = &'l [u8]>,
        truth: impl FnMut(&Heard<'_>) -> Option<Label>,
    ) -> usize {
        let numbers = self.books.passed.read.cast_signed()..;
        self.records(lines.zip(numbers).map(|(bytes, number)| Record::line(bytes, number)), truth)
    }
}

impl Books {
    fn hear(
        &mut self,
        told: &Told<'_>,
        muted: bool,
        thin: Option<&Thin>,
        truth: &mut impl FnMut(&Heard<'_>) -> Option<Label>,
    ) {
        let candidate = told.heard(0);
        let label = truth(&candidate);
        if let Some((_, arrival)) = candidate.event {
            self.part = self.range.part(arrival.append_time);
            self.now = self.now.max(arrival.append_time);
        }
        let member = |(event, _): (&Event<'_>, _)| thin.is_none_or(|thin| thin.who(event) == Who::Member);
        if muted || self.part != Part::Inside || !candidate.event.is_none_or(member) {
            return;
        }
        let kind = label.map(|label| label.kind);
        for (number, seat) in self.seats.iter_mut().enumerate() {
            let heard = told.heard(number);
            seat.ledger.hear(&heard, kind);
            if let Some(book) = &mut seat.book {
                book.hear(&heard, label);
            }
        }
        if self.contrasts.is_empty() {
            self.alone.hear_alone(&candidate);
        }
        for (number, contrast) in self.contrasts.iter_mut().enumerate() {
            contrast.hear(&told.heard(number + 1), &candidate);
        }
        if let Some(judgement) = &candidate.outputs.judgement {
            let allowed = judgement.verdict == Verdict::Allow;
            let counts = if allowed { &mut self.coverage.allowed } else { &mut self.coverage.acted_on };
            counts[0] += u64::from(label.is_some());
            counts[1] += 1;
            // Who has a label hangs on what the policy in place did.
            let place = usize::from(!self.contrasts.is_empty());
            if let Some(now) = &told.heard(place).outputs.judgement {
                self.strata.count(now.verdict, judgement.verdict, kind);
            }
        }
    }
}

impl Seat {
    /// What is told when time moves; whether revisions were.
    fn told(&mut self, outputs: &Outputs) -> bool {
        self.ledger.told(outputs);
        if let Some(book) = &mut self.book {
            book.told(outputs);
        }
        !outputs.revisions.is_empty()
    }
}
