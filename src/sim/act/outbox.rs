//! Records under way: each gets its number and its delay, and leaves in the order in which a log takes them.
//!
//! Most records take some hundredths of a second, one in a hundred some seconds (a phone in a tunnel), one in two
//! thousand up to 50 s. Delays are drawn for all alike. What is under way is held in memory: seconds of traffic.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

use super::super::dice::{Dice, Stream};
use super::super::event::{Action, Truth};
use super::Sitting;

/// What is acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sim) enum Object {
    /// Nothing that has a name.
    Nothing,
    /// An article, by number.
    Article(u32),
    /// An account, by number.
    Account(u32),
}

/// One event, by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sim) struct Draft {
    /// When the log takes it.
    pub(in crate::sim) append: i64,
    pub(in crate::sim) number: u64,
    pub(in crate::sim) at: i64,
    pub(in crate::sim) account: u32,
    pub(in crate::sim) device: u32,
    pub(in crate::sim) ip: IpAddr,
    pub(in crate::sim) session: u64,
    pub(in crate::sim) action: Action,
    pub(in crate::sim) object: Object,
    /// Text of a comment or message, as a number.
    pub(in crate::sim) text: Option<u64>,
    /// Whether a login or claim worked.
    pub(in crate::sim) success: Option<bool>,
    /// A coupon code or the tag of a tried password, as a number.
    pub(in crate::sim) detail: Option<u64>,
    /// Set when somebody else acts in the account's name.
    pub(in crate::sim) forged: Option<Truth>,
}

/// See the module.
pub(in crate::sim) struct Outbox {
    waiting: BinaryHeap<Reverse<Draft>>,
    numbers: u64,
    dice: Dice,
}

impl Outbox {
    pub(in crate::sim) fn new(seed: u64) -> Self {
        let dice = Dice::new(seed, Stream::Delay);
        Self { waiting: BinaryHeap::new(), numbers: 0, dice }
    }

    /// A plain event of a sitting.
    pub(in crate::sim) fn tell(&mut self, sitting: &Sitting, at: i64, action: Action, object: Object) {
        self.send(Self::draft(sitting, at, action, object));
    }

    /// An event of a sitting, for details.
    pub(in crate::sim) fn draft(sitting: &Sitting, at: i64, action: Action, object: Object) -> Draft {
        Draft {
            append: at,
            number: 0,
            at,
            account: sitting.account,
            device: sitting.device,
            ip: sitting.ip,
            session: sitting.session,
            action,
            object,
            text: None,
            success: None,
            detail: None,
            forged: None,
        }
    }

    /// Sends an event; one client in 400 sends it twice, for want of an answer.
    pub(in crate::sim) fn send(&mut self, draft: Draft) {
        self.numbers += 1;
        let sent = Draft { number: self.numbers, append: draft.at + self.delay(), ..draft };
        self.waiting.push(Reverse(sent));
        if self.dice.chance(0.0025) {
            let again = (self.dice.lognormal(1_500.0, 0.6) as i64).clamp(300, 8_000);
            self.waiting.push(Reverse(Draft { append: sent.append + again, ..sent }));
        }
    }

    fn delay(&mut self) -> i64 {
        let usual = (self.dice.lognormal(60.0, 0.7) as i64).clamp(8, 2_000);
        match self.dice.unit() {
            ..0.0005 => usual + self.dice.below_i64(50_000),
            ..0.01 => usual + (self.dice.lognormal(2_000.0, 0.7) as i64).min(9_000),
            _ => usual,
        }
    }

    /// The next record, if it leaves no later than `now`.
    pub(in crate::sim) fn due(&mut self, now: Option<i64>) -> Option<Draft> {
        let first = self.waiting.peek()?;
        let leaves = now.is_none_or(|now| first.0.append <= now);
        if leaves { self.waiting.pop().map(|Reverse(draft)| draft) } else { None }
    }
}
