//! What came of each account: how many of its events ended in which verdict, honest ones and attacks apart.

use std::collections::HashMap;

use crate::engine::verdict::Verdict;
use crate::evaluate::cause::Cause;
use crate::evaluate::label::{GroupId, Kind, Label};

/// Verdicts above allow.
pub const ABOVE_ALLOW: usize = Verdict::ALL.len() - 1;

/// One side of an account: its honest events, or its attacks.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Events decided.
    pub events: u32,
    /// Those acted on, by last verdict and cause; `None` when there are none.
    acted: Option<Box<[[u32; Cause::ALL.len()]; ABOVE_ALLOW]>>,
    /// The highest score of any of its decisions, revisions included.
    pub top: Option<i32>,
}

impl Side {
    /// Events whose last verdict is this one for this cause; `verdict` is above allow.
    pub fn count(&self, verdict: Verdict, cause: Cause) -> u32 {
        let place = (verdict as usize).checked_sub(1);
        place.zip(self.acted.as_ref()).map_or(0, |(place, acted)| acted[place][cause as usize])
    }

    /// Events whose last verdict is at least this one; `verdict` is above allow.
    pub fn at_least(&self, verdict: Verdict) -> u32 {
        let from = (verdict as usize).saturating_sub(1);
        self.acted.as_ref().map_or(0, |acted| acted[from..].iter().flatten().sum())
    }

    /// The strongest last verdict.
    pub fn strongest(&self) -> Verdict {
        let above = || Verdict::ALL.into_iter().skip(1).rev();
        above().find(|verdict| self.at_least(*verdict) > 0).unwrap_or_default()
    }

    /// One event more, or one less, whose last verdict is this.
    fn change(&mut self, verdict: Verdict, cause: Cause, by: i32) {
        let Some(place) = (verdict as usize).checked_sub(1) else { return };
        let cell = &mut self.acted.get_or_insert_default()[place][cause as usize];
        *cell = cell.saturating_add_signed(by);
    }

    fn scored(&mut self, score: i32) {
        self.top = Some(self.top.map_or(score, |top| top.max(score)));
    }
}

/// One account.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its honest events and its attacks.
    sides: [Side; 2],
    /// An attacker's, by any of its labels.
    is_attacker: bool,
    /// The group of its first labelled event; of its first attack, once there is one.
    pub group: GroupId,
    /// The largest exit it was seen at, once all is read.
    pub exit: Option<u32>,
    /// It was banned, by cause.
    pub banned: [bool; Cause::ALL.len()],
    /// It is a user; else events without one, from one address.
    pub is_user: bool,
}

impl Account {
    /// Attack, as soon as one of its labels says that it is an attacker's. What others forge in its name does not.
    pub fn kind(&self) -> Kind {
        if self.is_attacker { Kind::Attack } else { Kind::Honest }
    }

    /// Its events of one kind.
    pub fn side(&self, kind: Kind) -> &Side {
        &self.sides[kind as usize]
    }

    /// The events that it is judged by: its attacks, or what it did itself when it is honest.
    pub fn judged(&self) -> &Side {
        self.side(self.kind())
    }

    fn has_attacked(&self) -> bool {
        self.is_attacker && self.side(Kind::Attack).events > 0
    }

    /// One decision on one of its events.
    pub fn decided(&mut self, label: Label, verdict: Verdict, cause: Cause, score: i32) {
        if label.kind == Kind::Attack && label.account == Kind::Attack && !self.has_attacked() {
            self.group = label.group;
        }
        self.is_attacker |= label.account == Kind::Attack;
        let side = &mut self.sides[label.kind as usize];
        side.events = side.events.saturating_add(1);
        side.change(verdict, cause, 1);
        side.scored(score);
    }

    /// The last verdict on one of its events is another now.
    pub fn revised(&mut self, kind: Kind, before: (Verdict, Cause), now: (Verdict, Cause), score: i32) {
        let side = &mut self.sides[kind as usize];
        side.change(before.0, before.1, -1);
        side.change(now.0, now.1, 1);
        side.scored(score);
    }
}

/// All accounts with a labelled event, by name.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    numbers: HashMap<Box<str>, u32>,
    list: Vec<Account>,
}

impl Accounts {
    /// The number of an account, which is made when it is new.
    pub fn number(&mut self, name: &str, is_user: bool, group: GroupId) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.list.len()).expect("fewer than 2^32 accounts fit into memory");
        let account = Account {
            sides: Default::default(),
            is_attacker: false,
            group,
            exit: None,
            banned: Default::default(),
            is_user,
        };
        self.list.push(account);
        self.numbers.insert(name.into(), number);
        number
    }

    /// The account of this name.
    pub fn named(&self, name: &str) -> Option<&Account> {
        self.numbers.get(name).map(|number| &self.list[*number as usize])
    }

    /// The account of this name, to change it.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut Account> {
        self.numbers.get(name).map(|number| &mut self.list[*number as usize])
    }

    /// An account by its number.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Account> {
        self.list.get_mut(number as usize)
    }

    /// All of them, in the order of appearance; the number is the index.
    pub fn list(&self) -> &[Account] {
        &self.list
    }
}
