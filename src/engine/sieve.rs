//! What the action of an event alone decides: most filters ask for nothing else, and so it is known before any state is
//! looked at which tables an event cannot reach. Those are neither asked for nor fetched.
//!
//! What is known here is what the filters say with all other names unknown: a filter that is true or false then stays
//! so whatever else is learnt, unless it asks whether a name is known at all (`has`); those are left open. It is memory
//! of a pure function: an engine that forgets it decides the same.

use super::event::Event;
use super::expr::Slot;
use super::plan::Plan;
use super::policy::{EventField, Mode, Origin, Policy};

/// Actions that are remembered.
const ACTIONS_MAX: usize = 32;
/// Filters and dimensions that have a bit; what is beyond is left open.
const BITS: usize = u64::BITS as usize;

/// What one action decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sifted {
    /// Filters that are decided, and how.
    known: u64,
    passes: u64,
    /// Dimensions that a signal or limit may look at.
    reached: u64,
}

/// Nothing is known.
impl Default for Sifted {
    fn default() -> Self {
        Self { known: 0, passes: 0, reached: u64::MAX }
    }
}

impl Sifted {
    /// Whether a filter passes, when that is decided.
    pub(crate) fn passes(self, filter: usize) -> Option<bool> {
        (filter < BITS && self.known >> filter & 1 == 1).then(|| self.passes >> filter & 1 == 1)
    }

    /// Whether a signal or limit of a dimension may look at the event.
    pub(crate) fn reaches(self, dimension: usize) -> bool {
        dimension >= BITS || self.reached >> dimension & 1 == 1
    }

    fn of(action: &str, policy: &Policy, plan: &Plan) -> Self {
        let mut slots = vec![Slot::Unknown; policy.catalogue.len()];
        let is_action = |slot: &usize| policy.catalogue[*slot].origin == Origin::Field(EventField::Action);
        for slot in (0..slots.len()).filter(is_action) {
            slots[slot] = Slot::Text(action);
        }
        let mut sifted = Self { known: 0, passes: 0, reached: 0 };
        for (bit, filter) in plan.filters.iter().take(BITS).enumerate() {
            if let Some(passes) = filter.eval(&slots).filter(|_| !filter.text.contains("has")) {
                sifted.known |= 1 << bit;
                sifted.passes |= u64::from(passes) << bit;
            }
        }
        for (bit, dimension) in plan.dimensions.iter().take(BITS).enumerate() {
            let open =
                |filter: Option<usize>| filter.is_none_or(|filter| sifted.passes(filter) != Some(false));
            let acts = |limit: usize| policy.limits[limit].mode != Mode::Off;
            let reached = dimension.signals.iter().any(|signal| open(signal.filter))
                || dimension.limits.iter().any(|cells| acts(cells.limit) && open(cells.filter));
            sifted.reached |= u64::from(reached) << bit;
        }
        sifted
    }
}

/// The actions that came so far.
#[derive(Debug, Default)]
pub(crate) struct Sieve {
    known: Vec<(u64, Sifted)>,
}

impl Sieve {
    /// What is remembered of an action, by its hash.
    pub(crate) fn get(&self, action: u64) -> Sifted {
        self.known
            .iter()
            .find(|(known, _)| *known == action)
            .map_or_else(Sifted::default, |(_, sifted)| *sifted)
    }

    /// Remembers an action.
    pub(crate) fn learn(&mut self, action: u64, event: &Event<'_>, policy: &Policy, plan: &Plan) {
        if self.known.len() < ACTIONS_MAX && self.known.iter().all(|(known, _)| *known != action) {
            self.known.push((action, Sifted::of(&event.action, policy, plan)));
        }
    }
}
