//! Several engines before the same records: each record is decoded once, and every engine decides it with a state of
//! its own, since other refusals mean other windows, penalties and bans.
//!
//! Some records at a time: they are decoded together, then one engine after the other decides all of them while its
//! state is at hand, then all that was said of each record is told, in the order of the records.

use crate::engine::event::{Arrival, Event};
use crate::engine::time::{Span, Timestamp};
use crate::engine::{Ahead, Engine, Input, Outcome, Outputs};
use crate::wire::error::DecodeError;
use crate::wire::interaction::{Decoded, Spare, decode_with};

use super::drive::{Heard, Options, refused};
use super::record::Record;

/// What is to be done with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// No engine sees it.
    Skip,
    /// All engines apply it.
    Apply,
    /// All engines apply it, and are told before that time has come to here: what they remember begins then.
    ApplyFrom(Timestamp),
}

/// One engine and what it said last.
#[derive(Debug)]
struct Seat {
    engine: Engine,
    ahead: Ahead,
    said: Vec<Said>,
}

/// What one engine said of one record.
#[derive(Debug)]
pub struct Said {
    /// What became of it.
    pub outcome: Outcome,
    /// Why the engine would not have it.
    refused: Option<DecodeError>,
    /// All that it tells with it.
    pub outputs: Outputs,
}

/// Nothing was said.
impl Default for Said {
    fn default() -> Self {
        Self { outcome: Outcome::Ticked, refused: None, outputs: Outputs::default() }
    }
}

/// One record after all engines had it.
#[derive(Debug)]
pub struct Told<'t> {
    /// Number of the record, from 1.
    pub number: u64,
    /// The event and where it stood; `None` when the record is none.
    pub event: Option<(&'t Event<'t>, Arrival<'t>)>,
    /// Why it is no event.
    fault: Option<&'t DecodeError>,
    seats: &'t [Seat],
    index: usize,
    /// The smallest of all engines' policies.
    grace: Span,
}

impl<'t> Told<'t> {
    /// What one engine made of it.
    pub fn heard(&self, seat: usize) -> Heard<'t> {
        let said = &self.seats[seat].said[self.index];
        Heard {
            line: self.number,
            outcome: said.outcome,
            event: self.event,
            fault: self.fault.or(said.refused.as_ref()),
            outputs: &said.outputs,
            grace: self.grace,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Panel {
    seats: Vec<Seat>,
    options: Options,
    spare: Spare,
    number: u64,
}

impl Panel {
    /// How many records are decoded together.
    pub const RECORDS: usize = Ahead::EVENTS;

    /// A panel of these engines, in this order.
    pub fn new(engines: Vec<Engine>, options: Options) -> Self {
        let seat = |engine| Seat { engine, ahead: Ahead::default(), said: Vec::new() };
        Self { seats: engines.into_iter().map(seat).collect(), options, spare: Spare::default(), number: 0 }
    }

    /// One of the engines.
    pub fn engine(&self, seat: usize) -> &Engine {
        &self.seats[seat].engine
    }

    /// The next records, [`Panel::RECORDS`] of them or as many as there are. `turn` says what is to be done with each
    /// event, by itself and its append time; what came of each that was not skipped is told to `hear`. Returns how many it took.
    pub fn together<'r>(
        &mut self,
        records: impl Iterator<Item = Record<'r>>,
        mut turn: impl FnMut(&Event<'_>, Timestamp) -> Turn,
        mut hear: impl FnMut(&Told<'_>),
    ) -> usize {
        let records: Vec<Record<'r>> = records.take(Self::RECORDS).collect();
        let limits = &self.options.limits;
        let decode = |record: &Record<'r>| match record.unread {
            Some(unread) => Err(unread.into()),
            None => decode_with(&mut self.spare, record.bytes, record.headers, limits),
        };
        let together: Vec<_> = records.iter().map(decode).collect();
        let placed: Vec<Option<(&Event<'_>, Arrival<'_>)>> = (records.iter().zip(&together))
            .map(|(record, decoded)| decoded.as_ref().ok().map(|decoded| self.options.place(record, decoded)))
            .collect();
        let turns: Vec<Turn> = placed
            .iter()
            .map(|placed| {
                placed.as_ref().map_or(Turn::Apply, |(event, arrival)| turn(event, arrival.append_time))
            })
            .collect();
        for seat in &mut self.seats {
            seat.decide(&together, &placed, &turns);
        }
        let grace = self.grace();
        for (index, event) in placed.iter().enumerate() {
            self.number += 1;
            if turns[index] != Turn::Skip {
                let fault = together[index].as_ref().err();
                hear(&Told { number: self.number, event: *event, fault, seats: &self.seats, index, grace });
            }
        }
        drop((placed, turns));
        let count = together.len();
        for decoded in together.into_iter().flatten() {
            self.spare.keep(decoded.event);
        }
        count
    }

    fn grace(&self) -> Span {
        let graces = self.seats.iter().map(|seat| seat.engine.policy().settings.grace);
        graces.min().unwrap_or_default()
    }

    /// The engines, in the order of the seats.
    pub fn engines_mut(&mut self) -> impl Iterator<Item = &mut Engine> {
        self.seats.iter_mut().map(|seat| &mut seat.engine)
    }

    /// Puts an input that is no event before every engine; what each tells then is told to `hear`.
    pub fn input(&mut self, input: &Input<'_>, mut hear: impl FnMut(usize, &Outputs)) {
        for (number, seat) in self.seats.iter_mut().enumerate() {
            let mut outputs = Outputs::default();
            seat.engine.apply(input.clone(), &mut outputs);
            hear(number, &outputs);
        }
    }

    /// Lets time come to `now` before every engine although nothing happens; what each tells then is told to `hear`.
    pub fn tick(&mut self, now: Timestamp, hear: impl FnMut(usize, &Outputs)) {
        self.input(&Input::Tick(now), hear);
    }
}

impl Seat {
    fn decide(
        &mut self,
        decoded: &[Result<Decoded<'_>, DecodeError>],
        placed: &[Option<(&Event<'_>, Arrival<'_>)>],
        turns: &[Turn],
    ) {
        if self.said.len() < placed.len() {
            self.said.resize_with(placed.len(), Said::default);
        }
        let wanted = |index: usize| placed[index].filter(|_| turns[index] != Turn::Skip);
        self.ahead.look(&self.engine, (0..placed.len()).map(|index| wanted(index).map(|(event, _)| event)));
        for index in 0..placed.len() {
            let said = &mut self.said[index];
            said.outputs.clear();
            said.refused = None;
            if let Turn::ApplyFrom(begin) = turns[index] {
                self.engine.apply(Input::Tick(begin), &mut said.outputs);
                said.outputs.clear();
            }
            let prepared = self.ahead.turn(&self.engine, index);
            match (wanted(index), &decoded[index]) {
                (Some((event, arrival)), _) => {
                    said.outcome = self.engine.apply_prepared(event, arrival, prepared, &mut said.outputs);
                    if let Outcome::DeadLettered(reason) = said.outcome {
                        said.refused = Some(refused(reason, event.occurred_at, arrival.append_time));
                    }
                }
                (None, Err(error)) => said.outcome = Outcome::DeadLettered(error.reason),
                (None, Ok(_)) => {}
            }
        }
    }
}

impl Options {
    /// The event of a record and where it stood.
    fn place<'d>(&'d self, record: &Record<'_>, decoded: &'d Decoded<'d>) -> (&'d Event<'d>, Arrival<'d>) {
        let event = &decoded.event;
        let told = record.append_time.or(decoded.append_time).unwrap_or(event.occurred_at);
        let append_time = told.min(self.as_of);
        let arrival =
            Arrival { topic: &self.name, partition: record.partition, offset: record.offset, append_time };
        (event, arrival)
    }
}
