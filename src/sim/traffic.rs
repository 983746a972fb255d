//! A scenario as a stream: events one by one, in the order in which a log takes them, with the truth about each.
//!
//! Memory holds the people and what is under way, however long the stream is. The same scenario, seed and scale give
//! the same bytes on every machine. Nothing here can fail.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::act::outbox::{Draft, Outbox};
use super::act::{Actor, Stage};
use super::dice::{Dice, Stream};
use super::event::{Action, Truth};
use super::labels;
use super::record::{self, Scribe};
use super::scenario::{Entry, Gang, Setting};
use super::world::World;

/// One event, told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told<'a> {
    /// Its id.
    pub event_id: String,
    /// When the log takes it: milliseconds since the Unix epoch, never falling from one event to the next.
    pub at_ms: i64,
    /// When it happened, milliseconds since the Unix epoch.
    pub occurred_at_ms: i64,
    /// The account whose act it is or whose name it bears; a sign-up bears it in truth only, not in its JSON.
    pub user_id: String,
    /// What it was done to.
    pub target_id: Option<String>,
    /// What was done.
    pub action: Action,
    /// Who did it.
    pub truth: Truth,
    /// Whether somebody else did it in the account's name.
    pub forged: bool,
    /// The label row of the event, where the row of its account does not say it: of a sign-up, which bears no
    /// account, and of what somebody did in another's name.
    pub label: Option<String>,
    /// The event as JSON, without a line end.
    pub json: &'a [u8],
}

/// A campaign of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignTruth {
    /// Its name, as the labels have it.
    pub name: String,
    /// What it is about, as far as that has names.
    pub target_ids: Vec<String>,
    /// Accounts that take part.
    pub accounts: u32,
    /// Events of it told so far.
    pub events: u64,
    /// When the first of them happened.
    pub first_at_ms: Option<i64>,
}

/// See the module.
pub struct Traffic {
    scenario: &'static Entry,
    world: World,
    actors: Vec<Actor>,
    turns: BinaryHeap<Reverse<(i64, u32)>>,
    out: Outbox,
    dice: [Dice; 2],
    scribe: Scribe,
    gangs: Vec<Gang>,
    tallies: Vec<(u64, Option<i64>)>,
    seen: Vec<bool>,
    line: Vec<u8>,
    /// How far the telling of account labels has come.
    labelled: usize,
}

impl Traffic {
    /// Prepares a scenario. `seed` may be any number; `scale` multiplies honest people and attackers, 0.001 to 100.
    pub fn new(scenario: &'static Entry, seed: u64, scale: f64) -> Self {
        let mut setting = Setting::new(seed, scale.clamp(0.001, 100.0));
        (scenario.plan)(&mut setting);
        let (world, cast, gangs) = setting.ready();
        let mut turns = BinaryHeap::with_capacity(cast.len());
        let mut actors = Vec::with_capacity(cast.len());
        for (number, (at, actor)) in (0..).zip(cast) {
            turns.push(Reverse((at, number)));
            actors.push(actor);
        }
        Self {
            scenario,
            actors,
            turns,
            out: Outbox::new(seed),
            dice: [Dice::new(seed, Stream::Ordinary), Dice::new(seed ^ 0x6261_6400, Stream::Ordinary)],
            scribe: Scribe::new(&world),
            tallies: vec![(0, None); gangs.len()],
            gangs,
            seen: vec![false; world.people.members.len()],
            line: Vec::new(),
            labelled: 0,
            world,
        }
    }

    /// The next event; `None` at the end.
    pub fn next_event(&mut self) -> Option<Told<'_>> {
        let draft = loop {
            let now = self.turns.peek().map(|Reverse((at, _))| *at);
            if let Some(draft) = self.out.due(now) {
                break draft;
            }
            now?;
            self.turn();
        };
        Some(self.tell(&draft))
    }

    /// Whoever is next acts.
    fn turn(&mut self) {
        let Some(Reverse((at, number))) = self.turns.pop() else { return };
        let actor = &mut self.actors[number as usize];
        // Honest people draw apart, so that the same people do the same beside whatever attack.
        let dice = &mut self.dice[usize::from(matches!(actor, Actor::Worker(_)))];
        let mut stage = Stage { world: &self.world, dice, out: &mut self.out };
        if let Some(again) = actor.step(at, &mut stage) {
            self.turns.push(Reverse((again.max(at), number)));
        }
    }

    fn tell(&mut self, draft: &Draft) -> Told<'_> {
        let truth = self.truth(draft);
        if let Truth::Attacker { campaign } = truth
            && let Some((events, first)) = self.tallies.get_mut(campaign as usize)
        {
            *events += 1;
            *first = Some(first.map_or(draft.at, |first| first.min(draft.at)));
        }
        self.seen[draft.account as usize] |= draft.action != Action::SignUp;
        self.line.clear();
        self.scribe.write(&self.world, draft, &mut self.line);
        let event_id = record::event_id(self.world.seed, draft.number);
        let user_id = record::user_id(self.world.seed, draft.account);
        let alone = draft.action == Action::SignUp || draft.forged.is_some();
        Told {
            label: alone.then(|| self.row(&event_id, draft.account, truth, None)),
            event_id,
            at_ms: draft.append,
            occurred_at_ms: draft.at,
            user_id,
            target_id: record::target_id(&self.world, draft.object),
            action: draft.action,
            truth,
            forged: draft.forged.is_some(),
            json: &self.line,
        }
    }

    fn truth(&self, draft: &Draft) -> Truth {
        let member = &self.world.people.members[draft.account as usize];
        match draft.forged {
            Some(truth) => truth,
            None if draft.at < member.from => Truth::Honest,
            None => member.truth,
        }
    }

    /// The label row of the next account that has acted; `None` when all are told. Call it after the last event.
    pub fn account_label(&mut self) -> Option<String> {
        let at = (self.labelled..self.seen.len()).find(|at| self.seen[*at])?;
        self.labelled = at + 1;
        let member = &self.world.people.members[at];
        let from = (member.from > 0).then_some(member.from);
        Some(self.row("", at as u32, member.truth, from))
    }

    fn row(&self, event_id: &str, account: u32, truth: Truth, from: Option<i64>) -> String {
        let gang = match truth {
            Truth::Honest => None,
            Truth::Attacker { campaign } => self.gangs.get(campaign as usize),
        };
        let target = gang.and_then(|gang| record::target_id(&self.world, gang.target_of(account)));
        let user_id = record::user_id(self.world.seed, account);
        let group = gang.map(|gang| gang.name.as_str()).unwrap_or_default();
        labels::row(event_id, &user_id, self.scenario.name, truth, group, target.as_deref(), from)
    }

    /// The campaigns, with what was told of them so far.
    pub fn campaigns(&self) -> Vec<CampaignTruth> {
        let told = |(gang, (events, first)): (&Gang, &(u64, Option<i64>))| CampaignTruth {
            name: gang.name.clone(),
            target_ids: gang.targets.iter().filter_map(|one| record::target_id(&self.world, *one)).collect(),
            accounts: gang.accounts,
            events: *events,
            first_at_ms: *first,
        };
        self.gangs.iter().zip(&self.tallies).map(told).collect()
    }

    /// Accounts that have acted so far: honest ones and others.
    pub fn accounts(&self) -> (u64, u64) {
        let seen = self.world.people.members.iter().zip(&self.seen).filter(|(_, seen)| **seen);
        let honest = seen.clone().filter(|(member, _)| member.truth == Truth::Honest).count() as u64;
        (honest, seen.count() as u64 - honest)
    }
}
