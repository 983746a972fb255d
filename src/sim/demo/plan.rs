//! The plan of a simulation: every event as a few numbers, put into order at the end.
//!
//! The order is by sending time, then by number and occurrence: total, so that equal times cannot swap.

use std::net::IpAddr;

use super::super::dice::Dice;
use super::super::event::Action;
use super::population::Access;

/// One event, by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Planned {
    pub(super) sent: i64,
    pub(super) number: u32,
    pub(super) occurred: i64,
    pub(super) account: u32,
    pub(super) device: u32,
    pub(super) session: u32,
    pub(super) ip: IpAddr,
    pub(super) action: Action,
    pub(super) target: Option<u32>,
    pub(super) text: Option<u64>,
    pub(super) success: Option<bool>,
}

/// Collects events.
#[derive(Default)]
pub(super) struct Plan {
    events: Vec<Planned>,
    sessions: u32,
    numbers: u32,
}

/// One login session: the events of an account from one device and address.
#[derive(Clone, Copy)]
pub(super) struct Session {
    account: u32,
    device: u32,
    ip: IpAddr,
    number: u32,
}

impl Plan {
    /// A new session of an account.
    pub(super) fn session(&mut self, account: u32, access: Access, dice: &mut Dice) -> Session {
        self.sessions += 1;
        Session { account, device: access.device, ip: access.line.address(dice), number: self.sessions }
    }

    /// Adds an event and returns it for details.
    pub(super) fn add(
        &mut self,
        session: Session,
        at: i64,
        action: Action,
        target: Option<u32>,
    ) -> &mut Planned {
        let number = self.numbers;
        self.numbers += 1;
        self.events.push(Planned {
            sent: at,
            number,
            occurred: at,
            account: session.account,
            device: session.device,
            session: session.number,
            ip: session.ip,
            action,
            target,
            text: None,
            success: None,
        });
        let last = self.events.len() - 1;
        &mut self.events[last]
    }

    /// Sends the event just added again after `delay` milliseconds, as clients do when no answer comes.
    pub(super) fn retry(&mut self, delay: i64) {
        if let Some(last) = self.events.last().copied() {
            self.events.push(Planned { sent: last.sent + delay, ..last });
        }
    }

    /// All events before `end`, in order.
    pub(super) fn into_order(mut self, end: i64) -> Vec<Planned> {
        self.events.retain(|event| event.sent < end);
        self.events.sort_unstable();
        self.events
    }
}
