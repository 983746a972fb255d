//! Pace: how often a key does something in a window, against how often keys do it that are usual now.
//!
//! Windows are aligned; a cell counts the present one. A baseline is kept for each action: a histogram of the counts that
//! all keys of a window came to, learnt when the window is over. What is usual is a quantile of it: of the same hour of the
//! week where enough of it is known, else of the last days. It is learnt from no window in which an attack is under way,
//! which is one in which too large a share of the keys is beyond the threshold, or ten times as many as usual act at once;
//! counts beyond the threshold are learnt as the threshold; and it grows by a fifth an hour at the most. So who wants to be
//! usual must be so for days, with more than the share of keys above the quantile. The first windows are learnt as they are.
//!
//! It does not stay frozen for ever. After a day at a stretch, or days of which half was frozen, it thaws: of windows that
//! look like an attack it learns from the keys within the threshold, so that honest habits are followed while an attack goes
//! on and on; from all, as the threshold, where most keys lie beyond it, which no minority of attackers can bring about.
//! What is usual then grows by a fifth a day, so that an attack by most of the keys, for days, gains little by little, and a
//! lasting rise to five times as much is usual within a week. Decisions say `approximate` meanwhile.
//!
//! Memory: 1.1 KB for each action, and 0.6 KB for each of its hours of the week; 16 actions, so 1.6 MB for each signal.

mod group;
mod histogram;
mod saved;

use self::group::Group;
use super::policy::{Measure, Policy};
use super::time::{Span, Timestamp};

/// Actions that have a baseline; of others nothing is known.
const ACTIONS_MAX: usize = 16;

/// A measurement of pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaceSpec {
    /// The window.
    pub window: Span,
    /// What is usual is this quantile of the counts of keys.
    pub quantile: f64,
    /// The threshold is so many times what is usual ...
    pub times: f64,
    /// ... and so many events in a window at the least.
    pub least: f64,
    /// So many keys must have been learnt from.
    pub keys: f64,
    /// Windows with a larger share (0 to 1) of keys beyond the threshold are not learnt from.
    pub freeze_above: f64,
}

impl PaceSpec {
    /// Words of a cell: the window, the count in it.
    pub(crate) const WORDS: usize = 2;

    /// The number of the window that holds an instant.
    pub(crate) fn number(&self, at: Timestamp) -> i64 {
        at.millis().div_euclid(self.window.millis().max(1))
    }
}

/// What is usual of one signal, by action.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    groups: Vec<(u64, Group)>,
}

/// What is said of one event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Noted {
    /// The key's count over the threshold; `None` while too little is known.
    pub(crate) pace: Option<f64>,
    /// The last window looked like an attack, and was not learnt from, or only in part.
    pub(crate) is_frozen: bool,
}

impl Baseline {
    /// Counts an event of a key in its cell, and says how that compares.
    pub(crate) fn note(&mut self, spec: &PaceSpec, action: u64, cell: &mut [u32], at: Timestamp) -> Noted {
        let known = self.groups.iter().position(|(known, _)| *known == action);
        let number = match known {
            Some(number) => number,
            None if self.groups.len() < ACTIONS_MAX => {
                self.groups.push((action, Group::new(spec.number(at))));
                self.groups.len() - 1
            }
            None => return Noted::default(),
        };
        self.groups[number].1.note(spec, cell, spec.number(at))
    }
}

/// A baseline for each signal of a policy that needs one, in their order.
pub(super) fn fresh(policy: &Policy) -> Vec<Baseline> {
    identities(policy).map(|_| Baseline::default()).collect()
}

/// The same under another policy: baselines go by what identifies their signal.
pub(super) fn carry(old: &Policy, baselines: Vec<Baseline>, new: &Policy) -> Vec<Baseline> {
    let mut known: Vec<(u64, Option<Baseline>)> =
        identities(old).zip(baselines.into_iter().map(Some)).collect();
    let taken = |identity| {
        let before = known.iter_mut().find(|(known, _)| *known == identity);
        before.and_then(|(_, baseline)| baseline.take()).unwrap_or_default()
    };
    identities(new).map(taken).collect()
}

fn identities(policy: &Policy) -> impl Iterator<Item = u64> + '_ {
    let paced = policy.signals.iter().filter(|signal| matches!(signal.measure, Measure::Pace(_)));
    paced.map(|signal| signal.identity)
}
