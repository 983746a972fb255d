//! Somebody who works off a list: bought accounts and scripts, and honest people whom one occasion brings together.
//!
//! The list is made beforehand and is as long as the account's quota. After a pause of 40 minutes the account comes
//! anew: with another session and, by its way in, another address.

use super::super::event::{Action, Truth};
use super::super::world::MINUTE;
use super::outbox::{Object, Outbox};
use super::{Kit, Sitting, Stage, session};

const BREAK: i64 = 40 * MINUTE;

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sim) struct Task {
    pub(in crate::sim) at: i64,
    pub(in crate::sim) action: Action,
    pub(in crate::sim) object: Object,
    pub(in crate::sim) text: Option<u64>,
    pub(in crate::sim) success: Option<bool>,
    pub(in crate::sim) detail: Option<u64>,
    /// In whose name, when not in one's own.
    pub(in crate::sim) name: Option<u32>,
}

impl Task {
    pub(in crate::sim) fn new(at: i64, action: Action, object: Object) -> Self {
        Self { at, action, object, text: None, success: None, detail: None, name: None }
    }
}

/// See the module.
pub(in crate::sim) struct Worker {
    account: u32,
    /// Latest first.
    tasks: Vec<Task>,
    /// What it acts from, when that is not the account's own.
    kit: Option<Kit>,
    sitting: Option<Sitting>,
    last: i64,
}

impl Worker {
    /// The tasks may be in any order.
    pub(in crate::sim) fn new(account: u32, mut tasks: Vec<Task>) -> Self {
        tasks.sort_by_key(|task| std::cmp::Reverse(task.at));
        Self { account, tasks, kit: None, sitting: None, last: i64::MIN / 2 }
    }

    /// The same with things that are not the account's own.
    pub(in crate::sim) fn with_kit(self, kit: Kit) -> Self {
        Self { kit: Some(kit), ..self }
    }

    /// When it begins.
    pub(in crate::sim) fn first(&self) -> Option<i64> {
        self.tasks.last().map(|task| task.at)
    }

    pub(super) fn step(&mut self, at: i64, stage: &mut Stage<'_>) -> Option<i64> {
        let task = self.tasks.pop().filter(|_| at < stage.world.stretch.end)?;
        let sitting = match self.sitting.take().filter(|_| at - self.last < BREAK) {
            Some(sitting) => sitting,
            None => match self.kit {
                Some(kit) => Sitting::with(kit, self.account, at, stage),
                None => Sitting::begin(self.account, at, stage),
            },
        };
        self.sitting = Some(sitting);
        self.last = at;
        let mut draft = Outbox::draft(&sitting, at, task.action, task.object);
        (draft.text, draft.success, draft.detail) = (task.text, task.success, task.detail);
        if let Some(name) = task.name {
            draft.account = name;
            draft.session = session(stage.dice);
            draft.forged = Some(self.truth(stage));
        }
        stage.out.send(draft);
        self.first()
    }

    fn truth(&self, stage: &Stage<'_>) -> Truth {
        stage.world.people.members[self.account as usize].truth
    }
}
