//! What was decided and may not be as it was meant: told beside what could not be read, and no part of any decision.

use serde::Serialize;

use super::drive::Heard;
use super::leader::Leaders;
use super::unheeded::Unheeded;
use crate::engine::address::Address;
use crate::engine::decision::Judgement;
use crate::engine::event::Event;
use crate::engine::policy::{Policy, actions};
use crate::engine::time::{Span, Timestamp};

/// One oddity of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Oddity {
    /// What kind, one word.
    pub kind: &'static str,
    /// Decisions of which it was seen.
    pub count: u64,
    /// Where it was seen first.
    pub first: String,
    /// What it means, and what to do about it.
    pub message: String,
}

/// What is seen of all decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Odd {
    kinds: Vec<Oddity>,
    /// The latest effective time.
    latest: Option<Timestamp>,
    leaders: Leaders,
    unheeded: Unheeded,
}

impl Odd {
    /// Actions that neither this policy nor another one so told names are odd from now on.
    pub fn heed(&mut self, policy: &Policy) {
        self.unheeded.name(actions(policy));
    }

    /// One line of a file, as it was decided. Files are to be in order of time.
    pub fn line(&mut self, heard: &Heard<'_>, place: impl Fn() -> String) {
        let Some(judgement) = &heard.outputs.judgement else { return };
        let at = judgement.effective_at;
        // Further back than the grace no event is taken at its key's newest time.
        if self.latest.is_some_and(|latest| at.after(heard.grace) < latest) {
            self.note("out_of_order", || out_of_order(heard.grace), &place);
        }
        self.latest = self.latest.max(Some(at));
        self.leaders.note(at, &place);
        self.record(heard, place);
    }

    /// One record of a topic, as it was decided. The order of a topic is what it is.
    pub fn record(&mut self, heard: &Heard<'_>, place: impl Fn() -> String) {
        if let (Some((event, _)), Some(judgement)) = (heard.event, &heard.outputs.judgement) {
            self.unheeded.note(&event.action, &place);
            if is_unreadable(event, judgement) {
                self.note("unreadable_address", || UNREADABLE_ADDRESS.to_owned(), &place);
            }
        }
    }

    /// What was seen: kinds in the order in which they were met, rows that others are late by, actions that none names.
    pub fn list(&self) -> Vec<Oddity> {
        self.told(str::to_owned)
    }

    /// The same, where places are lines of a file of this name.
    pub fn in_file(&self, name: &str) -> Vec<Oddity> {
        self.told(|line| format!("{name}:{line}"))
    }

    fn told(&self, at: impl Fn(&str) -> String) -> Vec<Oddity> {
        let list = [self.kinds.clone(), self.leaders.told(&at), self.unheeded.told()].concat();
        list.into_iter().map(|odd| Oddity { first: at(&odd.first), ..odd }).collect()
    }

    /// One more of a kind, at a place.
    pub fn note(
        &mut self,
        kind: &'static str,
        message: impl FnOnce() -> String,
        place: &impl Fn() -> String,
    ) {
        match self.kinds.iter_mut().find(|known| known.kind == kind) {
            Some(known) => known.count += 1,
            None => self.kinds.push(Oddity { kind, count: 1, first: place(), message: message() }),
        }
    }
}

const UNREADABLE_ADDRESS: &str = "`ip` is no address: it is taken for unknown, and nothing is counted by it (write it as 198.51.100.7 or 2001:db8::1)";

fn out_of_order(grace: Span) -> String {
    format!(
        "happened longer before an event above it than the policy's grace of {grace}: the input is not in order of time, and \
         what comes late is counted otherwise than live, or not at all (sort it by time, oldest first)"
    )
}

/// Whether the event names an address of which nothing can be made. A prefix does not change what can be read.
fn is_unreadable(event: &Event<'_>, judgement: &Judgement) -> bool {
    const ANY_PREFIX: u8 = 128;
    judgement.address.is_none()
        && event.ip.as_deref().is_some_and(|ip| Address::parse(ip, ANY_PREFIX).is_none())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::standard;
    use crate::engine::Engine;
    use crate::engine::key::HashSeed;
    use crate::engine::policy::Policy;
    use crate::engine::policy::load::load;
    use crate::replay::{Drive, Options};
    use crate::wire::interaction::DecodeLimits;

    fn odd(events: &[(i64, &str)]) -> Vec<(&'static str, u64, String)> {
        let odd = odd_by(load(&standard::files()).expect("the standard policy loads").policy, events);
        odd.list().iter().map(|odd| (odd.kind, odd.count, odd.first.clone())).collect()
    }

    fn odd_by(policy: Arc<Policy>, events: &[(i64, &str)]) -> Odd {
        let mut engine = Engine::new(policy, HashSeed(1, 2));
        let as_of = Timestamp::from_millis(1_800_000_000_000);
        let options = Options { name: "t".to_owned(), as_of, limits: DecodeLimits::default() };
        let (mut drive, mut odd) = (Drive::new(&mut engine, &options), Odd::default());
        for (number, (second, ip)) in events.iter().enumerate() {
            let at = 1_750_000_000_000 + second * 1000;
            let line = format!(
                r#"{{"event_id":"{number}","occurred_at":{at},"action":"like","user_id":"u","ip":"{ip}"}}"#
            );
            drive.one(line.as_bytes(), |_, _| {}, |heard| odd.line(heard, || heard.line.to_string()));
        }
        odd
    }

    #[test]
    fn addresses_that_are_none_are_counted() {
        let told = odd(&[
            (0, "::ffff:198.51.100.7"),
            (1, "n/a"),
            (2, "198.51.100.7:443"),
            (3, "198.51.100.256"),
            (4, " "),
        ]);
        assert_eq!(told, [("unreadable_address", 2, "2".to_owned())]);
    }

    /// What is late by no more than the grace is nothing odd.
    #[test]
    fn what_comes_long_after_later_events_is_counted() {
        let ip = "198.51.100.7";
        assert_eq!(odd(&[(100, ip), (40, ip), (101, ip)]), []);
        let told = odd(&[(100, ip), (39, ip), (200, ip), (100, ip)]);
        assert_eq!(told, [("out_of_order", 2, "2".to_owned())]);
    }

    /// The grace is the policy's own, and told.
    #[test]
    fn late_is_what_comes_later_than_the_grace_of_the_policy() {
        for (grace, expected) in [("5s", 2), ("10s", 1), ("90s", 0)] {
            let text = format!("version: 1\ntime: {{ grace: {grace} }}\n");
            let policy = load(&[("p.yaml".to_owned(), text)]).expect("a policy").policy;
            let odd = odd_by(policy, &[(100, "n/a"), (90, "n/a"), (11, "n/a")]);
            let late = odd.list().into_iter().find(|odd| odd.kind == "out_of_order");
            assert_eq!(late.as_ref().map_or(0, |odd| odd.count), expected, "{grace}");
            assert!(
                late.as_ref().is_none_or(|odd| odd.message.contains(&format!("grace of {grace}:"))),
                "{late:?}"
            );
        }
    }
}
