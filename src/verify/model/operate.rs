//! What commands do. A person outranks the machine.

use super::look::{Except, Exception};
use super::{Answer, COMMAND_HORIZON, Model};
use crate::engine::address::Address;
use crate::engine::ban::{Ban, BanChange, Origin};
use crate::engine::case::{CaseOutcome, Resolution};
use crate::engine::command::{Command, CommandAction};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::event::Arrival;
use crate::engine::input::Outcome;
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;

/// No more exceptions stand together.
const EXCEPTIONS_MAX: usize = 10_000;

impl Model {
    /// An operator's command.
    pub fn command(&mut self, command: &Command, arrival: Arrival<'_>) -> Answer {
        let at = command.at.min(arrival.append_time);
        let mut answer = Answer::of(Outcome::CommandRepeated);
        self.advance(at, &mut answer);
        if self.commands.get(&command.id).is_some_and(|earlier| at.since(*earlier) < COMMAND_HORIZON) {
            return answer;
        }
        self.commands.insert(command.id.clone(), at);
        let done = self.operate(command, at, &mut answer);
        answer.outcome = if done { Outcome::CommandApplied } else { Outcome::CommandRefused };
        answer
    }

    fn operate(&mut self, command: &Command, at: Timestamp, answer: &mut Answer) -> bool {
        match &command.action {
            CommandAction::Ban { entity, verdict, length } => {
                self.ban_by_hand(command, entity, (*verdict, *length), at, answer)
            }
            CommandAction::Unban { entity, ban } | CommandAction::Appeal { entity, ban, granted: true } => {
                self.unban(command, entity, ban.as_deref(), at, answer)
            }
            CommandAction::Appeal { entity, ban, granted: false } => {
                self.normal(entity).is_some_and(|entity| self.bans.has(&entity, ban.as_deref()))
            }
            CommandAction::Exempt { rules, .. } if rules.iter().any(|rule| !self.has_rule(rule)) => false,
            CommandAction::Exempt { entity, rules, length } if rules.is_empty() => {
                self.except(entity, Except::Exempt, None, at.after(*length))
            }
            CommandAction::Exempt { entity, rules, length } => {
                let until = at.after(*length);
                let done: Vec<bool> =
                    rules.iter().map(|rule| self.except(entity, Except::Exempt, Some(rule), until)).collect();
                done.contains(&true)
            }
            CommandAction::Snooze { entity, rule, length } => {
                self.except(entity, Except::Snoozed, Some(rule), at.after(*length))
            }
            CommandAction::Resolve { case, outcome } => self.resolve(command, case, *outcome, at, answer),
        }
    }

    fn ban_by_hand(
        &mut self,
        command: &Command,
        entity: &Entity,
        (verdict, length): (Verdict, Option<Span>),
        at: Timestamp,
        answer: &mut Answer,
    ) -> bool {
        let Some(entity) = self.normal(entity) else { return false };
        let expires_at = length.map(|length| at.after(length));
        if expires_at.is_some_and(|end| end <= self.now) {
            return false;
        }
        let ban = Ban {
            id: command.id.clone(),
            entity,
            verdict,
            origin: Origin::Actor(command.actor.clone()),
            code: "OPERATOR".to_owned(),
            reason: command.reason.clone(),
            issued_at: at,
            expires_at,
        };
        self.bans.issue(ban, &mut answer.bans);
        true
    }

    fn unban(
        &mut self,
        command: &Command,
        entity: &Entity,
        ban: Option<&str>,
        at: Timestamp,
        answer: &mut Answer,
    ) -> bool {
        let Some(entity) = self.normal(entity) else { return false };
        let means = |known: &Ban| ban.is_none_or(|id| id == known.id);
        let lifted = self.bans.lift(&entity, means, notice(command, &entity, at), &mut answer.bans);
        let stood = self.pardon(&entity, at);
        lifted || stood
    }

    /// Sets, replaces or takes back an exception.
    fn except(&mut self, entity: &Entity, what: Except, rule: Option<&String>, until: Timestamp) -> bool {
        let Some(entity) = self.normal(entity) else { return false };
        let same =
            |known: &Exception| (&known.entity, known.what, known.rule.as_ref()) == (&entity, what, rule);
        let before = self.exceptions.len();
        if until <= self.now {
            self.exceptions.retain(|known| !same(known));
            return self.exceptions.len() < before;
        }
        if rule.is_some_and(|rule| !self.has_rule(rule)) {
            return false;
        }
        match self.exceptions.iter_mut().find(|known| same(known)) {
            Some(known) => known.until = until,
            None if before >= EXCEPTIONS_MAX => return false,
            None => self.exceptions.push(Exception { entity, what, rule: rule.cloned(), until }),
        }
        true
    }

    /// Whether a rule, limit, pool or penalty step has this id.
    fn has_rule(&self, id: &str) -> bool {
        let policy = &self.policy;
        policy.rules.iter().any(|rule| rule.info.id == id)
            || policy.limits.iter().any(|limit| limit.info.id == id)
            || policy.observations.iter().any(|pool| pool.info.id == id)
            || policy.settings.penalties.steps.iter().any(|step| step.info.id == id)
    }

    fn resolve(
        &mut self,
        command: &Command,
        case: &str,
        outcome: CaseOutcome,
        at: Timestamp,
        answer: &mut Answer,
    ) -> bool {
        let (actor, reason) = (command.actor.clone(), command.reason.clone());
        let resolution = Resolution { outcome, actor, reason, at, undone: None };
        let Some(case) = self.cases.resolve(case, resolution, &mut answer.cases) else { return false };
        if outcome == CaseOutcome::Cleared {
            self.clear(command, &case.entity, &case.rule, at, answer);
            self.pardon(&case.entity, at);
            for account in case.accounts {
                self.clear(command, &Entity::new(EntityKind::User, account), &case.rule, at, answer);
            }
        }
        true
    }

    /// Lifts the bans that a rule made of an entity, and pardons it when there were any.
    fn clear(&mut self, command: &Command, entity: &Entity, rule: &str, at: Timestamp, answer: &mut Answer) {
        let made = |ban: &Ban| matches!(&ban.origin, Origin::Policy(maker) if maker == rule);
        if self.bans.lift(entity, made, notice(command, entity, at), &mut answer.bans) {
            self.pardon(entity, at);
        }
    }

    /// What was done up to a time makes no ban any more, and the penalty is forgotten; true when something stood.
    fn pardon(&mut self, entity: &Entity, at: Timestamp) -> bool {
        self.bans.pardon(entity, at);
        if !matches!(entity.kind, EntityKind::User | EntityKind::Device) {
            return false;
        }
        let idle = self.policy.settings.profile_idle;
        let person = self.people.get_mut(&(entity.kind, entity.value.clone()));
        person.filter(|person| !person.is_forgotten(at, idle)).is_some_and(|person| person.pardon(at))
    }

    /// Addresses in their normal form; `None` when a value is none.
    fn normal(&self, entity: &Entity) -> Option<Entity> {
        if entity.kind != EntityKind::Ip {
            return Some(entity.clone());
        }
        let prefix = self.policy.settings.ipv6_prefix;
        let bare = entity.value.strip_suffix(&format!("/{prefix}")).unwrap_or(&entity.value);
        let address = Address::parse(bare, prefix)?;
        Some(Entity::new(EntityKind::Ip, address.to_string()))
    }
}

/// What is told when the last bans of an entity are lifted.
fn notice(command: &Command, entity: &Entity, at: Timestamp) -> impl FnOnce(Ban) -> BanChange {
    let (entity, actor, reason) = (entity.clone(), command.actor.clone(), command.reason.clone());
    move |ban| BanChange::Lifted { entity, ban: Box::new(ban), actor, reason, at }
}
