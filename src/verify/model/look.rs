//! What the model sees before it judges: one event, its keys, what every counter says.

use super::quota::Reading;
use super::range::Range;
use crate::engine::address::Address;
use crate::engine::decision::QualityCode;
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::event::Event;
use crate::engine::policy::{LimitRule, Policy};
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;

use super::expected::Shortcoming;

/// Everything one decision is made from.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) at: Timestamp,
    pub(super) address: Option<Address>,
    pub(super) trusted: bool,
    /// Whether many settled accounts share the address; `None` where that cannot be told from outside.
    pub(super) shared: Option<bool>,
    pub(super) binding: Option<Binding>,
    pub(super) limits: Vec<LimitLook>,
    pub(super) quality: Vec<Shortcoming>,
    pub(super) followed: usize,
    /// Somebody else may act in the user's name: the device is not the one he is known by.
    pub(super) unfamiliar: bool,
    /// Points by which a crowd raises the prior, as told.
    pub(super) crowd_prior: i32,
    /// What is asked of those who belong to the campaign on the target, as told.
    pub(super) campaign: Option<Verdict>,
}

/// A ban or penalty step that binds.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) id: String,
    pub(super) verdict: Verdict,
    pub(super) left: Option<Span>,
}

/// What one limit says.
#[derive(Clone, Debug)]
pub(super) struct LimitLook {
    pub(super) rule: usize,
    pub(super) refusal: Option<Refusal>,
    /// Whether it is known that it refuses, or that it does not.
    pub(super) sure: bool,
    pub(super) cost: u64,
    /// Its key; `None` when the event has none and the limit refuses for that.
    pub(super) key: Option<String>,
}

/// Why it refuses.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// Milliseconds; `None` when no wait helps.
    pub(super) wait: Option<Range>,
    pub(super) used: Range,
    pub(super) maxima: Vec<f64>,
    pub(super) repeated: bool,
}

impl Look {
    /// A shortcoming that must be told, or only may.
    pub(super) fn note(&mut self, code: QualityCode, counter: Option<&str>, must: bool) {
        let counter = counter.map(str::to_owned);
        match self.quality.iter_mut().find(|known| known.code == code && known.counter == counter) {
            Some(known) => known.must |= must,
            None => self.quality.push(Shortcoming { code, counter, must }),
        }
    }
}

/// Whether any of a limit's spans refuses; `None` where that cannot be told from outside.
pub(super) fn refuses(spans: &[Reading]) -> Option<bool> {
    if spans.iter().any(|span| span.refused == Some(true)) {
        return Some(true);
    }
    if spans.iter().any(|span| span.refused.is_none()) { None } else { Some(false) }
}

/// The refusal that lasts longest; where that cannot be told, one of them.
pub(super) fn refusal(spans: &[Reading]) -> Refusal {
    let candidates: Vec<&Reading> = spans.iter().filter(|span| span.refused != Some(false)).collect();
    let never = candidates.iter().find(|span| span.wait.is_none() && span.refused == Some(true));
    if let Some(span) = never {
        return Refusal { wait: None, used: span.used, maxima: vec![span.max as f64], repeated: false };
    }
    let exact = |span: &&&Reading| span.refused == Some(true) && span.wait.is_some_and(Range::is_exact);
    let longest = |span: &&Reading| span.wait.map_or(0.0, |wait| wait.hi);
    let chosen = if candidates.iter().filter(exact).count() == candidates.len() {
        // Of equal ones the first.
        let most = candidates.iter().map(longest).fold(0.0, f64::max);
        candidates.into_iter().filter(|span| longest(span) >= most).take(1).collect()
    } else {
        candidates
    };
    let used = chosen.iter().map(|span| span.used).reduce(Range::or).unwrap_or(Range::exact(0.0));
    let wait = chosen.iter().filter_map(|span| span.wait).reduce(Range::or);
    Refusal { wait, used, maxima: chosen.iter().map(|span| span.max as f64).collect(), repeated: false }
}

/// Whether a limit counts the event: always when it counts what it refused, else when it let it through and the event
/// happens. A refusal that an exemption took back is none.
pub(super) fn counts(
    rule: &LimitRule,
    acts: bool,
    look: &LimitLook,
    asked: Option<Verdict>,
    verdict: Verdict,
) -> bool {
    let refused = look.refusal.is_some() && (asked.is_some() || !acts);
    rule.count_refused || (!refused && verdict < Verdict::Reject)
}

/// What a policy or a person asked a rule not to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Except {
    /// It is heard and does not act.
    Snoozed,
    /// It is not heard.
    Exempt,
}

/// One such request by a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exception {
    pub(super) entity: Entity,
    pub(super) what: Except,
    /// `None` for all rules.
    pub(super) rule: Option<String>,
    pub(super) until: Timestamp,
}

impl Exception {
    pub(super) fn covers(&self, id: &str, at: Timestamp) -> bool {
        at < self.until && self.rule.as_deref().is_none_or(|rule| rule == id)
    }
}

/// What a rule or limit is not to do with an event.
pub(super) fn exception(
    policy: &Policy,
    asked: &[Exception],
    id: &str,
    look: &Look,
    event: &Event<'_>,
) -> Option<Except> {
    let meant = |entity: &Entity| {
        let value = match entity.kind {
            EntityKind::User => event.user.as_deref().map(str::to_owned),
            EntityKind::Device => event.device.id.as_deref().map(str::to_owned),
            EntityKind::Target => event.target.as_deref().map(str::to_owned),
            EntityKind::Ip => look.address.map(|address| address.to_string()),
        };
        value.as_ref() == Some(&entity.value)
    };
    let stated = policy.exemptions.iter().any(|exemption| {
        let named = exemption.rules.is_empty() || exemption.rules.iter().any(|rule| rule == id);
        named && look.at < exemption.until && meant(&exemption.entity)
    });
    if stated {
        return Some(Except::Exempt);
    }
    let covering = asked.iter().filter(|exception| exception.covers(id, look.at) && meant(&exception.entity));
    covering.map(|exception| exception.what).max()
}
