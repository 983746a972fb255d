//! The road of one input through the engine.

use std::sync::Arc;

use super::bans::Bans;
use super::blast::Blast;
use super::cases::Cases;
use super::command::Command;
use super::crowd::Crowds;
use super::cut::Cut;
use super::decide::{Judged, decide};
use super::decision::{DecisionId, Hold, Judgement, Quality, QualityCode};
use super::duplicates::{Duplicates, Seen};
use super::event::{Arrival, Event};
use super::exceptions::Exceptions;
use super::expr::Slot;
use super::input::{Input, Outcome, Outputs};
use super::key::HashSeed;
use super::look::{LimitLook, Look};
use super::observe::Pool;
use super::pace::Baseline;
use super::plan::{ACTION, Plan, USER};
use super::policy::Policy;
use super::prepare::Prepared;
use super::recall::Recall;
use super::sieve::Sieve;
use super::stats::Stats;
use super::table::Table;
use super::time::{Span, Timestamp};
use super::timers::{Timer, Timers};
use super::trace::Tracing;
use super::verdict::Verdict;
use super::window::distinct::DistinctSpec;

/// After so many events each table is swept a little: the least number of places looked at for dead records, and as
/// many more for each record that was made since, so that the dead never outnumber a third of the living.
const SWEEP_EVERY: u64 = 64;
const SWEEP_LEAST: usize = 16;
const SWEEP_FOR_A_RECORD: usize = 4;

/// The whole state of one shard, and the policy that holds.
#[derive(Debug)]
pub struct Engine {
    pub(super) policy: Arc<Policy>,
    pub(super) plan: Plan,
    /// How many policies took effect.
    pub(super) activation: u64,
    pub(super) seed: HashSeed,
    /// One for each dimension of the policy.
    pub(super) tables: Vec<Table>,
    pub(super) users: Table,
    pub(super) devices: Table,
    pub(super) addresses: Table,
    /// The window of settled accounts in an address profile.
    pub(super) settled_accounts: DistinctSpec,
    pub(super) bans: Bans,
    pub(super) cases: Cases,
    /// What operators have asked rules not to do.
    pub(super) exceptions: Exceptions,
    /// Those who act on one target together, when the policy watches them.
    pub(super) crowds: Option<Crowds>,
    /// Decisions that may be answered, and revisions that are not told yet.
    pub(super) recall: Recall,
    /// What the budgets of rules have spent.
    pub(super) blast: Blast,
    /// What is usual, for each signal that is held against it.
    pub(super) paces: Vec<Baseline>,
    /// One for each observation pool of the policy.
    pub(super) pools: Vec<Pool>,
    pub(super) duplicates: Duplicates,
    pub(super) commands: Duplicates,
    /// Ids of feedback.
    pub(super) answers: Duplicates,
    pub(super) timers: Timers,
    pub(super) stats: Stats,
    /// The latest time of any input: effective time of events, time of ticks and commands. Never goes back.
    pub(super) now: Timestamp,
    /// Time of the first input.
    pub(super) started_at: Timestamp,
    pub(super) watermark: super::arrive::Watermark,
    pub(super) events: u64,
    pub(super) sieve: Sieve,
    pub(super) scratch: Scratch,
    pub(super) tracing: Tracing,
    /// The cut under way.
    pub(super) cut: Option<Cut>,
}

/// Room that is used again for each event.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) slots: Vec<Slot<'static>>,
    pub(super) limits: Vec<LimitLook>,
    pub(super) passes: Vec<bool>,
    pub(super) prepared: Prepared,
    pub(super) quality: Vec<Quality>,
    pub(super) judged: Judged,
    /// Pools that would have banned, had they not fallen back.
    pub(super) fallen: Vec<usize>,
}

impl Engine {
    /// Applies one input. `out` is to be empty; it holds what is to be told about this input.
    pub fn apply(&mut self, input: Input<'_>, out: &mut Outputs) -> Outcome {
        match input {
            Input::Event(event, arrival) => self.unprepared(event, arrival, out),
            Input::Command(command, arrival) => self.command(command, &arrival, out),
            Input::Feedback(feedback, arrival) => self.feedback(feedback, &arrival, out),
            Input::Policy(policy) => self.activate(policy),
            Input::Tick(now) => self.tick(now, out),
        }
    }

    /// The policy that holds.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The latest time of any input.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The longest window of any counter: what lies further back changes nothing any more.
    pub fn longest_window(&self) -> Span {
        self.plan.longest_window
    }

    /// The same for an engine that a policy would lay out.
    pub fn longest_window_of(policy: &Policy) -> Span {
        Plan::new(policy, None).longest_window
    }

    /// Applies [`Input::Event`] with what [`Engine::prepare`] of this engine worked out of the same event.
    pub fn apply_prepared(
        &mut self,
        event: &Event<'_>,
        arrival: Arrival<'_>,
        prepared: &Prepared,
        out: &mut Outputs,
    ) -> Outcome {
        if self.is_ready(prepared) {
            self.event(event, arrival, prepared, out)
        } else {
            self.unprepared(event, arrival, out)
        }
    }

    fn unprepared(&mut self, event: &Event<'_>, arrival: Arrival<'_>, out: &mut Outputs) -> Outcome {
        let mut prepared = std::mem::take(&mut self.scratch.prepared);
        self.prepare(event, &mut prepared);
        let outcome = self.event(event, arrival, &prepared, out);
        self.scratch.prepared = prepared;
        outcome
    }

    /// Arrive, look, decide, record, tell.
    fn event(
        &mut self,
        event: &Event<'_>,
        arrival: Arrival<'_>,
        prepared: &Prepared,
        out: &mut Outputs,
    ) -> Outcome {
        let (at, late) = match self.arrive(event, &arrival) {
            Ok(arrived) => arrived,
            Err(reason) => return Outcome::DeadLettered(reason),
        };
        self.advance(at, out);
        let slowest = self.watermark.slowest();
        let seen = self.duplicates.check_behind(prepared.identity, prepared.content, at, slowest);
        if seen == Seen::Duplicate {
            return Outcome::Duplicate;
        }
        if let Some(action) = prepared.hashes[ACTION] {
            self.sieve.learn(action, event, &self.policy, &self.plan);
        }
        (self.scratch.judged.reasons, self.scratch.quality) = out.room();
        self.blast.see(prepared.hashes[USER], at);
        let text = prepared.address.filter(|_| self.plan.reads_address).map(|address| address.to_string());
        let places = if self.plan.places.is_empty() { None } else { self.policy.places.clone() };
        let place = places.as_deref().zip(prepared.address);
        let place = place.and_then(|(places, address)| places.find(address.full()));
        let mut look = self.look(event, at, prepared, (text.as_deref(), place));
        look.quality.extend(late.map(whole_event));
        look.quality.extend((seen == Seen::Conflict).then(|| whole_event(QualityCode::IdConflict)));
        let room = std::mem::take(&mut self.scratch.judged);
        let law = (&*self.policy, &self.plan);
        let mut judged = decide(law, &self.exceptions, &self.blast, event, &look, room);
        if !judged.touched.is_empty() {
            judged = self.within_budget(event, &look, judged, out);
        }
        self.trace(event, &look, &judged);
        let id = DecisionId::first(&arrival, &event.id);
        self.record(event, &look, &judged, id, out);
        if !self.scratch.fallen.is_empty() {
            self.tell_fallen_pools(&mut judged);
        }
        self.follow_crowd(event, &arrival, &look, &judged, id, &mut out.cases);
        out.shadow.append(&mut judged.shadow);
        out.standing = look.standing;
        let judgement = self.tell(&mut look, &mut judged, id);
        self.remember(event, arrival, &judgement);
        out.judgement = Some(judgement);
        self.scratch.judged = judged;
        self.close(look);
        Outcome::Decided
    }

    fn tell(&self, look: &mut Look<'_>, judged: &mut Judged, id: DecisionId) -> Judgement {
        let settings = &self.policy.settings;
        let mut quality = std::mem::take(&mut look.quality);
        if look.at.since(self.started_at) < self.plan.longest_window {
            quality.push(whole_event(QualityCode::WarmingUp));
        }
        let hold = Hold { until: look.at.after(settings.hold_timeout), default: settings.hold_default };
        Judgement {
            id,
            supersedes: None,
            address: look.address,
            effective_at: look.at,
            verdict: judged.verdict,
            score: judged.score,
            reasons: std::mem::take(&mut judged.reasons),
            without: std::mem::take(&mut judged.without),
            retry_after: judged.retry_after,
            hold: (judged.verdict == Verdict::Hold).then_some(hold),
            policy: Arc::clone(&self.policy.hash),
            quality,
            revisable_until: look.at.after(settings.retroactive_window),
        }
    }

    fn tick(&mut self, now: Timestamp, out: &mut Outputs) -> Outcome {
        self.advance(now, out);
        Outcome::Ticked
    }

    /// Moves time: timers that are due fire first, in order.
    pub(super) fn advance(&mut self, at: Timestamp, out: &mut Outputs) {
        if self.started_at == Timestamp::default() {
            self.started_at = at;
        }
        self.now = self.now.max(at);
        while let Some((due, timer)) = self.timers.next_due(self.now) {
            match timer {
                Timer::BanEnds { key, ban } => self.bans.expire(key, &ban, &mut out.bans),
                Timer::CaseQuiet { key } => self.cases.quiet(key, due, &mut self.timers, &mut out.cases),
                Timer::ExceptionEnds { key } => self.exceptions.expire(key, due),
                Timer::CaseSettled { key } => self.cases.unsettle(key, due),
                Timer::CrowdEnds { key } => self.crowd_ends(key, due),
            }
        }
        self.correct(&mut out.cases);
        self.recall.tell(Outputs::REVISIONS_MAX, &mut out.revisions);
    }

    /// Removes some dead records, by the time of the slowest partition: what still comes from there finds its state.
    pub(super) fn sweep(&mut self) {
        self.events += 1;
        if self.events.is_multiple_of(SWEEP_EVERY) {
            let now = self.watermark.slowest();
            let crowds = self.crowds.iter_mut().map(Crowds::table_mut);
            let tables = self.tables.iter_mut().chain(crowds);
            for table in tables.chain([&mut self.users, &mut self.devices, &mut self.addresses]) {
                let places = SWEEP_LEAST + SWEEP_FOR_A_RECORD.saturating_mul(table.take_made());
                table.sweep(now, places);
            }
        }
    }

    fn command(&mut self, command: &Command, arrival: &Arrival<'_>, out: &mut Outputs) -> Outcome {
        let at = self.command_time(command, arrival);
        self.advance(at, out);
        let key = self.seed.bytes(command.id.as_bytes());
        match self.commands.check_and_record(key, 0, at) {
            Seen::New => self.operate(command, at, out),
            Seen::Duplicate | Seen::Conflict => Outcome::CommandRepeated,
        }
    }
}

fn whole_event(code: QualityCode) -> Quality {
    Quality { code, counter: None }
}

/// How long commands are recognised as repeated.
pub(super) const COMMAND_HORIZON: Span = Span::from_secs(7 * 86_400);
/// Memory for recognising repeated commands, bytes.
pub(super) const COMMAND_BUDGET: u64 = 8 << 20;
