//! What a topic holds, put before the policies of a backtest.

use super::live::Live;
use crate::backtest::Pass;
use crate::commands::progress::Progress;
use crate::engine::Input;
use crate::engine::event::Arrival;
use crate::engine::policy::Settings;
use crate::engine::time::Timestamp;
use crate::evaluate::read::Session;
use crate::pipeline::Batch;
use crate::replay::{Record, Unread};
use crate::stream::{self, Coordinates, RecordRef, Topic, TopicNames};
use crate::wire::headers::Header;
use crate::wire::interaction::DecodeLimits;
use crate::wire::{command, feedback};

/// Listens to batches.
pub(super) struct Hearing {
    pub(super) pass: Pass,
    pub(super) session: Session,
    pub(super) live: Live,
    /// Name of the topic.
    topic: String,
    pub(super) progress: Progress,
    /// What is to be known of what was read.
    pub(super) notes: Vec<String>,
    /// Interactions so far.
    heard: u64,
}

impl Hearing {
    pub(super) fn new(pass: Pass, session: Session, live: Live, progress: Progress, topic: String) -> Self {
        Self { pass, session, live, topic, progress, notes: Vec::new(), heard: 0 }
    }

    /// Operators' actions and feedback of a batch, which come before its events.
    pub(super) fn people(&mut self, batch: &Batch, names: &TopicNames) {
        for record in batch.in_lanes(Topic::Commands) {
            let headers: Vec<Header<'_>> = record.headers.iter().collect();
            // What cannot be read was a dead letter, and is nothing here.
            if let Ok(command) = command::decode(record.value, &headers) {
                let arrival = arrival(names, &record, command.at);
                self.pass.input(&Input::Command(&command, arrival));
            }
        }
        for record in batch.in_lanes(Topic::Feedback) {
            if let Ok(feedback) = feedback::decode(record.value) {
                let arrival = arrival(names, &record, feedback.at);
                self.pass.input(&Input::Feedback(&feedback, arrival));
            }
        }
    }

    /// The interactions of a batch, merged; those that were `skipped` live are dead letters here, too.
    pub(super) fn events(
        &mut self,
        batch: &Batch,
        settings: &Settings,
        limits: &DecodeLimits,
        skipped: &[Coordinates],
    ) {
        let records = batch.in_order(settings, limits);
        let headers: Vec<Vec<Header<'_>>> =
            records.iter().map(|record| record.headers.iter().collect()).collect();
        let feed = records.iter().zip(&headers).map(|(record, headers)| Record {
            bytes: record.value,
            headers,
            partition: record.at.partition,
            offset: record.at.offset,
            append_time: stamp(record),
            unread: unread(record, skipped),
        });
        self.feed(feed, |index| (records[index].at.partition, records[index].at.offset));
    }

    /// Interactions in their order; `place` says where each of them stood.
    pub(super) fn feed<'r>(
        &mut self,
        mut records: impl Iterator<Item = Record<'r>>,
        place: impl Fn(usize) -> (i32, i64),
    ) {
        let Self { pass, session, live, topic, heard, progress, .. } = self;
        let before = *heard;
        let place = |line: u64| {
            let (partition, offset) = place((line - before) as usize - 1);
            format!("{topic}/{partition}@{offset}")
        };
        loop {
            let count = pass.records(&mut records, |told| {
                live.compare(told);
                session.truth(told, || place(told.line))
            });
            if count == 0 {
                break;
            }
            *heard += count as u64;
        }
        progress.events(*heard);
    }
}

fn unread(record: &RecordRef<'_>, skipped: &[Coordinates]) -> Option<Unread> {
    match record.headers.unreadable() {
        0 => skipped.contains(&record.at).then_some(Unread::EngineFault),
        _ => Some(Unread::HeaderName),
    }
}

pub(super) fn stamp(record: &RecordRef<'_>) -> Option<Timestamp> {
    match record.timestamp {
        stream::Timestamp::Append(millis) | stream::Timestamp::Create(millis) => {
            Some(Timestamp::from_millis(millis))
        }
        stream::Timestamp::None => None,
    }
}

fn arrival<'n>(names: &'n TopicNames, record: &RecordRef<'_>, at: Timestamp) -> Arrival<'n> {
    Arrival {
        topic: names.get(record.at.topic),
        partition: record.at.partition,
        offset: record.at.offset,
        append_time: stamp(record).unwrap_or(at),
    }
}
