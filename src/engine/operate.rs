//! Operate: what commands do. A person outranks the machine.

use super::Engine;
use super::ban::{Ban, BanChange, Origin};
use super::bans::{Lift, Which};
use super::case::{Case, CaseOutcome, Resolution};
use super::command::{Command, CommandAction};
use super::entity::{Entity, EntityKind};
use super::exceptions::{Exception, ExceptionKind};
use super::input::{Outcome, Outputs};
use super::profile;
use super::time::{Span, Timestamp};
use super::verdict::Verdict;

/// Why clearing a case took no decision back.
const UNKNOWN_CAMPAIGN: &str = "no decision was taken back: the campaign is not known any more, since state began anew or all of \
    its decisions are final; what it changed and was not found on the topic of decisions stands";

impl Engine {
    /// Applies an operator's command that was not seen before.
    pub(super) fn operate(&mut self, command: &Command, at: Timestamp, out: &mut Outputs) -> Outcome {
        let done = match &command.action {
            CommandAction::Ban { entity, verdict, length } => {
                self.ban_by_hand(command, entity, *verdict, *length, at, out)
            }
            CommandAction::Unban { entity, ban } => self.unban(command, entity, ban.as_deref(), at, out),
            CommandAction::Exempt { entity, rules, length } => self.exempt(entity, rules, *length, at),
            CommandAction::Snooze { entity, rule, length } => {
                self.except(entity, ExceptionKind::Snoozed, Some(rule), *length, at)
            }
            CommandAction::Resolve { case, outcome } => self.resolve(command, case, *outcome, at, out),
            CommandAction::Appeal { entity, ban, granted: true } => {
                self.unban(command, entity, ban.as_deref(), at, out)
            }
            CommandAction::Appeal { entity, ban, granted: false } => self.is_banned(entity, ban.as_deref()),
        };
        if done { Outcome::CommandApplied } else { Outcome::CommandRefused }
    }

    /// Takes over bans that were told earlier, before the first event. Returns what readers need to know of them.
    pub fn restore_bans(&mut self, bans: Vec<Ban>) -> Vec<BanChange> {
        let mut told = Vec::new();
        for ban in bans {
            if let Some((key, _)) = self.normalise(&ban.entity) {
                self.bans.issue(key, ban, &mut self.timers, &mut told);
            }
        }
        told
    }

    /// Takes over cases that were told earlier, in the order of their last change, untold. What of it is warmed up with
    /// does not count again until [`Engine::warmed_up`].
    pub fn restore_cases(&mut self, cases: Vec<Case>) {
        for case in cases {
            if let Some((key, _)) = self.normalise(&case.entity) {
                let key = key ^ self.seed.bytes(case.rule.as_bytes());
                self.cases.take_over(key, case, &mut self.timers);
            }
        }
    }

    /// State begins anew: what goes in until [`Engine::warmed_up`] was told of before, and revisions had numbers up to this
    /// one. Corrections that campaigns ask for wait.
    pub fn begin_anew(&mut self, revised_to: u32) {
        self.recall.begin_anew(revised_to);
    }

    /// The highest number of a revision, made here or told before state began anew.
    pub fn revised_to(&self) -> u32 {
        self.recall.highest()
    }

    /// State that began anew is warm: every event counts in its case again, and what was decided up to now may have been
    /// revised in ways that are not known any more.
    pub fn warmed_up(&mut self) {
        self.cases.taken_over();
        self.recall.warm(self.now);
    }

    /// Forgets all bans, untold; pardons stay.
    pub fn forget_bans(&mut self) {
        self.bans.clear();
    }

    /// All bans in force, by entity, strongest last.
    pub fn bans(&self) -> Vec<Ban> {
        self.bans.all().into_iter().cloned().collect()
    }

    /// When the next timer is due: until then, silence changes nothing.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.timers.first_due()
    }

    fn ban_by_hand(
        &mut self,
        command: &Command,
        entity: &Entity,
        verdict: Verdict,
        length: Option<Span>,
        at: Timestamp,
        out: &mut Outputs,
    ) -> bool {
        let Some((key, entity)) = self.normalise(entity) else { return false };
        let expires_at = length.map(|length| at.after(length));
        if expires_at.is_some_and(|end| end <= self.now) {
            return false;
        }
        let ban = Ban {
            id: command.id.clone(),
            entity,
            verdict,
            origin: Origin::Actor(command.actor.clone()),
            code: "OPERATOR".into(),
            reason: command.reason.clone(),
            issued_at: at,
            expires_at,
        };
        self.bans.issue(key, ban, &mut self.timers, &mut out.bans);
        true
    }

    /// Lifts bans and forgets the penalty: what happened up to now makes no new one.
    fn unban(
        &mut self,
        command: &Command,
        entity: &Entity,
        ban: Option<&str>,
        at: Timestamp,
        out: &mut Outputs,
    ) -> bool {
        let Some((key, entity)) = self.normalise(entity) else { return false };
        let which = ban.map_or(Which::All, Which::Id);
        let lift = Lift { entity: &entity, which, actor: &command.actor, reason: &command.reason, at };
        let lifted = self.bans.lift(key, &lift, &mut out.bans);
        let pardoned = self.pardon(&entity, at);
        lifted || pardoned
    }

    /// A denied appeal changes nothing; it is only refused when there is no such ban.
    fn is_banned(&self, entity: &Entity, ban: Option<&str>) -> bool {
        self.normalise(entity).is_some_and(|(key, entity)| self.bans.has(key, &entity, ban))
    }

    /// Exempts an entity from some rules, or from all: all of them or none.
    fn exempt(&mut self, entity: &Entity, rules: &[String], length: Span, at: Timestamp) -> bool {
        if rules.iter().any(|rule| !self.has_rule(rule)) {
            return false;
        }
        if rules.is_empty() {
            return self.except(entity, ExceptionKind::Exempt, None, length, at);
        }
        let each =
            rules.iter().map(|rule| self.except(entity, ExceptionKind::Exempt, Some(rule), length, at));
        each.fold(false, |any, done| any | done)
    }

    /// Sets or, with an end that has passed, takes back one exception.
    fn except(
        &mut self,
        entity: &Entity,
        kind: ExceptionKind,
        rule: Option<&String>,
        length: Span,
        at: Timestamp,
    ) -> bool {
        let Some((key, entity)) = self.normalise(entity) else { return false };
        let until = at.after(length);
        let exception = Exception { entity, kind, rule: rule.cloned(), until };
        if until <= self.now {
            return self.exceptions.lift(key, &exception);
        }
        rule.is_none_or(|rule| self.has_rule(rule)) && self.exceptions.set(key, exception, &mut self.timers)
    }

    /// Whether the policy has a rule, limit, pool or penalty step of this id.
    fn has_rule(&self, id: &str) -> bool {
        let policy = &self.policy;
        let rules = policy.rules.iter().map(|rule| &rule.info);
        let limits = policy.limits.iter().map(|limit| &limit.info);
        let pools = policy.observations.iter().map(|pool| &pool.info);
        let steps = policy.settings.penalties.steps.iter().map(|step| &step.info);
        let steps = steps.chain(policy.crowds.iter().map(|crowds| &crowds.campaign.info));
        rules.chain(limits).chain(pools).chain(steps).any(|info| info.id == id)
    }

    fn resolve(
        &mut self,
        command: &Command,
        case: &str,
        outcome: CaseOutcome,
        at: Timestamp,
        out: &mut Outputs,
    ) -> bool {
        let (actor, reason) = (command.actor.clone(), command.reason.clone());
        let resolution = Resolution { outcome, actor, reason, at, undone: None };
        let Some(case) = self.cases.resolve(case, resolution, &mut self.timers, &mut out.cases) else {
            return false;
        };
        if outcome == CaseOutcome::Cleared {
            self.clear(command, &case.entity, &case.rule, at, out);
            self.pardon(&case.entity, at);
            let campaigns = self.policy.crowds.as_ref().map(|crowds| crowds.campaign.info.id.as_str());
            if case.entity.kind == EntityKind::Target && campaigns == Some(case.rule.as_str()) {
                let is_known = self.clear_campaign(self.seed.bytes(case.entity.value.as_bytes()), at);
                let told = out.cases.last_mut().and_then(|case| case.resolution.as_mut());
                if let Some(resolution) = told.filter(|_| !is_known) {
                    resolution.undone = Some(UNKNOWN_CAMPAIGN.to_owned());
                }
            }
            for account in case.accounts {
                self.clear(command, &Entity::new(EntityKind::User, account), &case.rule, at, out);
            }
        }
        true
    }

    /// Lifts the bans that a rule made of an entity, and pardons it when there were any.
    fn clear(&mut self, command: &Command, entity: &Entity, rule: &str, at: Timestamp, out: &mut Outputs) {
        let Some((key, entity)) = self.normalise(entity) else { return };
        let which = Which::MadeBy(rule);
        let lift = Lift { entity: &entity, which, actor: &command.actor, reason: &command.reason, at };
        if self.bans.lift(key, &lift, &mut out.bans) {
            self.pardon(&entity, at);
        }
    }

    /// Sets the penalty of a user or device to zero, and has what it did up to `at` make no new one. True when a verdict
    /// stood because of it.
    fn pardon(&mut self, entity: &Entity, at: Timestamp) -> bool {
        self.bans.pardon(entity, at);
        let hash = self.seed.bytes(entity.value.as_bytes());
        let table = match entity.kind {
            EntityKind::User => &mut self.users,
            EntityKind::Device => &mut self.devices,
            EntityKind::Ip | EntityKind::Target => return false,
        };
        let Some(slot) = table.find(hash, at) else { return false };
        let words = table.cells_mut(slot);
        let stood = profile::standing(words, at).is_some();
        profile::pardon(words);
        stood
    }
}
