//! `risk.commands.v1`: what operators ask for.
//!
//! Strict, since an operator is there to be told: a field that is not known, or that does not belong to the
//! action, is an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::DecodeError;
use super::headers::{self, Envelope, Headers};
use super::moment::Moment;
use super::quantity::Millis;
use super::record::{self, invalid};
use super::text;
use super::words::{EntityText, VerdictWord};
use crate::engine::case::CaseOutcome;
use crate::engine::command::{Command, CommandAction};
use crate::engine::entity::Entity;
use crate::engine::input::DeadLetterReason;
use crate::engine::time::Span;
use crate::engine::verdict::Verdict;

/// The most bytes of an id, a name or a reason.
const TEXT_MAX: usize = 1024;
/// The most bytes of a case's id, which holds a rule's and an entity's.
const CASE_ID_MAX: usize = 4096;
/// The most rules that a command names.
const RULES_MAX: usize = 100;

/// One operator action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Command")]
pub struct CommandRecord {
    /// Identity; the same id twice is applied once.
    #[schemars(length(min = 1, max = 1024), example = &"cmd-01J0Z4T5R0A1B2C3D4E5F6G7H8")]
    pub command_id: String,
    /// Who asks: a person or a service.
    #[schemars(length(min = 1, max = 1024), example = &"alice@example.org")]
    pub actor: String,
    /// When it was asked.
    pub at: Moment,
    /// Why, for people.
    #[schemars(length(min = 1, max = 1024), example = &"confirmed bot ring, ticket 4711")]
    pub reason: String,
    /// What is asked.
    pub action: CommandWord,
    /// Whom it is about; for all actions but `resolve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<EntityText>,
    /// `ban` only: what readers do while it holds; `block` when absent, never `allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictWord>,
    /// For how long, from `at`. `ban`: until lifted when absent. `exempt` and `snooze`: required; 0 takes it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_ms: Option<Millis>,
    /// `unban` and `appeal` only: the ban concerned; all of the entity when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), example = &"cmd-01J0Z4T5R0A1B2C3D4E5F6G7H8")]
    pub ban_id: Option<String>,
    /// Ids of rules, limits, observation pools or penalty steps. `exempt`: all when absent or empty. `snooze`: exactly
    /// one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), example = serde_json::json!(["repeat-target"]))]
    pub rules: Vec<String>,
    /// `resolve` only: the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096), example = &"newcomer-crowd/target:post-9/1750000000000")]
    pub case_id: Option<String>,
    /// `resolve`: `confirmed`, `cleared` or `inconclusive`. `appeal`: `granted` or `denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"cleared", example = &"granted")]
    pub outcome: Option<OutcomeWord>,
}

/// What a command asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, extend("examples" = ["ban"], "x-unit" = "word"))]
pub enum CommandWord {
    /// Ban an entity.
    Ban,
    /// Lift a ban, or all bans, of an entity; its penalty becomes zero.
    Unban,
    /// Rules and limits hold nothing against the entity for a time.
    Exempt,
    /// One rule does not act on the entity for a time; it still counts, and is told as shadow.
    Snooze,
    /// A person has decided a case.
    Resolve,
    /// A person has decided an appeal against a ban.
    Appeal,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, extend("examples" = ["cleared"], "x-unit" = "word"))]
pub enum OutcomeWord {
    /// A case: it was abuse. What was done about it stays.
    Confirmed,
    /// A case: it was honest. The bans that its rule made are lifted, the penalty of its entity is forgotten.
    Cleared,
    /// A case: it cannot be told. What was done stays.
    Inconclusive,
    /// An appeal: the ban is lifted, as by `unban`.
    Granted,
    /// An appeal: the ban stays.
    Denied,
}

/// Reads a command. Plain JSON or CloudEvents in binary mode.
///
/// # Errors
/// The first thing found wrong, with its place.
pub fn decode(value: Option<&[u8]>, headers: &Headers<'_>) -> Result<Command, DecodeError> {
    if headers::read(headers)?.envelope != Envelope::None {
        let message = "commands are plain JSON, or CloudEvents in binary mode";
        return Err(DecodeError::new(DeadLetterReason::UnsupportedVersion, "header content-type", message));
    }
    record::read::<CommandRecord>(value)?.into_command()
}

/// The JSON of a command; the record key is its entity as text.
pub fn encode(command: &Command) -> Vec<u8> {
    record::write(&CommandRecord::from(command))
}

/// The record key: the entity, `kind:value`, or the id of the case.
pub fn key(command: &Command) -> String {
    match &command.action {
        CommandAction::Ban { entity, .. }
        | CommandAction::Unban { entity, .. }
        | CommandAction::Exempt { entity, .. }
        | CommandAction::Snooze { entity, .. }
        | CommandAction::Appeal { entity, .. } => entity.to_string(),
        CommandAction::Resolve { case, .. } => case.clone(),
    }
}

impl CommandRecord {
    fn into_command(mut self) -> Result<Command, DecodeError> {
        text::required(&self.command_id, "command_id", TEXT_MAX)?;
        text::required(&self.actor, "actor", TEXT_MAX)?;
        text::required(&self.reason, "reason", TEXT_MAX)?;
        let at = self.at.read("at")?;
        self.only_its_own_fields()?;
        let action = match self.action {
            CommandWord::Ban => self.ban(),
            CommandWord::Unban => self.unban(),
            CommandWord::Exempt => self.exempt(),
            CommandWord::Snooze => self.snooze(),
            CommandWord::Resolve => self.resolve(),
            CommandWord::Appeal => self.appeal(),
        }?;
        Ok(Command { id: self.command_id, actor: self.actor, at, reason: self.reason, action })
    }

    /// A field of another action is a mistake.
    fn only_its_own_fields(&self) -> Result<(), DecodeError> {
        use CommandWord::{Appeal, Ban, Exempt, Resolve, Snooze, Unban};
        let told: [(&str, bool, &[CommandWord]); 7] = [
            ("entity", self.entity.is_some(), &[Ban, Unban, Exempt, Snooze, Appeal]),
            ("verdict", self.verdict.is_some(), &[Ban]),
            ("length_ms", self.length_ms.is_some(), &[Ban, Exempt, Snooze]),
            ("ban_id", self.ban_id.is_some(), &[Unban, Appeal]),
            ("rules", !self.rules.is_empty(), &[Exempt, Snooze]),
            ("case_id", self.case_id.is_some(), &[Resolve]),
            ("outcome", self.outcome.is_some(), &[Resolve, Appeal]),
        ];
        match told.iter().find(|(_, is_there, of)| *is_there && !of.contains(&self.action)) {
            Some((field, ..)) => Err(invalid(field, "does not belong to this action")),
            None => Ok(()),
        }
    }

    fn entity(&mut self) -> Result<Entity, DecodeError> {
        let entity = self.entity.take().ok_or_else(|| text::missing("entity"))?.0;
        text::required(&entity.value, "entity", TEXT_MAX)?;
        Ok(entity)
    }

    fn ban_id(&mut self) -> Result<Option<String>, DecodeError> {
        if let Some(id) = &self.ban_id {
            text::required(id, "ban_id", TEXT_MAX)?;
        }
        Ok(self.ban_id.take())
    }

    fn rules(&mut self) -> Result<Vec<String>, DecodeError> {
        if self.rules.len() > RULES_MAX {
            return Err(invalid("rules", format!("names more than {RULES_MAX}")));
        }
        self.rules.iter().try_for_each(|rule| text::required(rule, "rules", TEXT_MAX))?;
        Ok(std::mem::take(&mut self.rules))
    }

    /// A time that must be told.
    fn length(&self) -> Result<Span, DecodeError> {
        match self.length_ms {
            None => Err(text::missing("length_ms")),
            Some(length) if length.0 < 0 => Err(invalid("length_ms", "is negative")),
            Some(length) => Ok(length.into()),
        }
    }

    fn ban(&mut self) -> Result<CommandAction, DecodeError> {
        let verdict = match &self.verdict {
            None => Verdict::Block,
            Some(VerdictWord::Known(verdict)) if *verdict > Verdict::Allow => *verdict,
            Some(word) => {
                return Err(invalid("verdict", format!("`{}` is no verdict to ban with", word.as_str())));
            }
        };
        if self.length_ms.is_some_and(|length| length.0 <= 0) {
            let message = "a ban lasts longer than 0; leave it out for one until lifted";
            return Err(invalid("length_ms", message));
        }
        Ok(CommandAction::Ban { entity: self.entity()?, verdict, length: self.length_ms.map(Span::from) })
    }

    fn unban(&mut self) -> Result<CommandAction, DecodeError> {
        Ok(CommandAction::Unban { entity: self.entity()?, ban: self.ban_id()? })
    }

    fn exempt(&mut self) -> Result<CommandAction, DecodeError> {
        Ok(CommandAction::Exempt { entity: self.entity()?, rules: self.rules()?, length: self.length()? })
    }

    fn snooze(&mut self) -> Result<CommandAction, DecodeError> {
        let (entity, length) = (self.entity()?, self.length()?);
        let rule = <[String; 1]>::try_from(self.rules()?);
        let [rule] = rule.map_err(|_| invalid("rules", "a snooze is of exactly one rule"))?;
        Ok(CommandAction::Snooze { entity, rule, length })
    }

    fn resolve(&mut self) -> Result<CommandAction, DecodeError> {
        let case = self.case_id.take().ok_or_else(|| text::missing("case_id"))?;
        text::required(&case, "case_id", CASE_ID_MAX)?;
        let outcome = match self.outcome {
            Some(OutcomeWord::Confirmed) => CaseOutcome::Confirmed,
            Some(OutcomeWord::Cleared) => CaseOutcome::Cleared,
            Some(OutcomeWord::Inconclusive) => CaseOutcome::Inconclusive,
            Some(_) => return Err(invalid("outcome", "is one of an appeal, not of a case")),
            None => return Err(text::missing("outcome")),
        };
        Ok(CommandAction::Resolve { case, outcome })
    }

    fn appeal(&mut self) -> Result<CommandAction, DecodeError> {
        let granted = match self.outcome {
            Some(OutcomeWord::Granted) => true,
            Some(OutcomeWord::Denied) => false,
            Some(_) => return Err(invalid("outcome", "is one of a case, not of an appeal")),
            None => return Err(text::missing("outcome")),
        };
        Ok(CommandAction::Appeal { entity: self.entity()?, ban: self.ban_id()?, granted })
    }

    fn bare(command: &Command, action: CommandWord, entity: Option<&Entity>) -> Self {
        Self {
            command_id: command.id.clone(),
            actor: command.actor.clone(),
            at: command.at.into(),
            reason: command.reason.clone(),
            action,
            entity: entity.cloned().map(EntityText),
            verdict: None,
            length_ms: None,
            ban_id: None,
            rules: Vec::new(),
            case_id: None,
            outcome: None,
        }
    }
}

impl From<&Command> for CommandRecord {
    fn from(command: &Command) -> Self {
        let bare = |action, entity| Self::bare(command, action, entity);
        match &command.action {
            CommandAction::Ban { entity, verdict, length } => Self {
                verdict: Some((*verdict).into()),
                length_ms: length.map(Millis::from),
                ..bare(CommandWord::Ban, Some(entity))
            },
            CommandAction::Unban { entity, ban } => {
                Self { ban_id: ban.clone(), ..bare(CommandWord::Unban, Some(entity)) }
            }
            CommandAction::Exempt { entity, rules, length } => Self {
                rules: rules.clone(),
                length_ms: Some((*length).into()),
                ..bare(CommandWord::Exempt, Some(entity))
            },
            CommandAction::Snooze { entity, rule, length } => Self {
                rules: vec![rule.clone()],
                length_ms: Some((*length).into()),
                ..bare(CommandWord::Snooze, Some(entity))
            },
            CommandAction::Resolve { case, outcome } => Self {
                case_id: Some(case.clone()),
                outcome: Some((*outcome).into()),
                ..bare(CommandWord::Resolve, None)
            },
            CommandAction::Appeal { entity, ban, granted } => Self {
                ban_id: ban.clone(),
                outcome: Some(if *granted { OutcomeWord::Granted } else { OutcomeWord::Denied }),
                ..bare(CommandWord::Appeal, Some(entity))
            },
        }
    }
}

impl From<CaseOutcome> for OutcomeWord {
    fn from(outcome: CaseOutcome) -> Self {
        match outcome {
            CaseOutcome::Confirmed => OutcomeWord::Confirmed,
            CaseOutcome::Cleared => OutcomeWord::Cleared,
            CaseOutcome::Inconclusive => OutcomeWord::Inconclusive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::entity::EntityKind;
    use crate::engine::time::Timestamp;

    fn command(action: CommandAction) -> Command {
        Command {
            id: "c1".into(),
            actor: "alice".into(),
            at: Timestamp::from_millis(1_750_000_000_000),
            reason: "ring".into(),
            action,
        }
    }

    #[test]
    fn commands_read_back_as_written() {
        let user = || Entity::new(EntityKind::User, "u:1");
        for action in [
            CommandAction::Ban { entity: user(), verdict: Verdict::Block, length: None },
            CommandAction::Ban { entity: user(), verdict: Verdict::Hold, length: Some(Span::from_secs(60)) },
            CommandAction::Unban { entity: user(), ban: None },
            CommandAction::Unban { entity: user(), ban: Some("b1".into()) },
            CommandAction::Exempt { entity: user(), rules: vec![], length: Span::from_secs(60) },
            CommandAction::Exempt { entity: user(), rules: vec!["a".into(), "b".into()], length: Span::ZERO },
            CommandAction::Snooze { entity: user(), rule: "a".into(), length: Span::from_secs(60) },
            CommandAction::Appeal { entity: user(), ban: Some("b1".into()), granted: true },
            CommandAction::Appeal { entity: user(), ban: None, granted: false },
        ] {
            let command = command(action);
            assert_eq!(decode(Some(&encode(&command)), &[]), Ok(command.clone()));
            assert_eq!(key(&command), "user:u:1");
        }
        for outcome in [CaseOutcome::Confirmed, CaseOutcome::Cleared, CaseOutcome::Inconclusive] {
            let command = command(CommandAction::Resolve { case: "r/user:1/9".into(), outcome });
            assert_eq!(decode(Some(&encode(&command)), &[]), Ok(command.clone()));
            assert_eq!(key(&command), "r/user:1/9");
        }
    }

    #[test]
    fn each_fault_is_named_with_its_place() {
        use DeadLetterReason::{InvalidField, InvalidTimestamp, MissingField, RepeatedKey};
        let head = r#"{"command_id":"c","actor":"a","reason":"r""#;
        for (rest, reason, place) in [
            (r#","at":1750000000000,"action":"unban"}"#, MissingField, "entity"),
            (
                r#","at":1750000000000,"action":"ban","entity":"user:1","entity":"user:2"}"#,
                RepeatedKey,
                "entity",
            ),
            (
                r#","at":1750000000000,"action":"ban","entity":"user:1","lenght_ms":1}"#,
                InvalidField,
                "lenght_ms",
            ),
            (r#","at":1750000000000,"action":"erase","entity":"user:1"}"#, InvalidField, "erase"),
            (r#","at":1750000000000,"action":"ban","entity":"u1"}"#, InvalidField, "line 1"),
            (
                r#","at":1750000000000,"action":"ban","entity":"user:1","verdict":"allow"}"#,
                InvalidField,
                "verdict",
            ),
            (
                r#","at":1750000000000,"action":"ban","entity":"user:1","verdict":"maim"}"#,
                InvalidField,
                "verdict",
            ),
            (
                r#","at":1750000000000,"action":"ban","entity":"user:1","length_ms":0}"#,
                InvalidField,
                "length_ms",
            ),
            (r#","at":1750000000000,"action":"ban","entity":"user:1","ban_id":"b"}"#, InvalidField, "ban_id"),
            (
                r#","at":1750000000000,"action":"unban","entity":"user:1","verdict":"hold"}"#,
                InvalidField,
                "verdict",
            ),
            (r#","at":1750000000000,"action":"exempt","entity":"user:1"}"#, MissingField, "length_ms"),
            (r#","at":1750000000000,"action":"exempt","length_ms":1}"#, MissingField, "entity"),
            (
                r#","at":1750000000000,"action":"snooze","entity":"user:1","length_ms":1}"#,
                InvalidField,
                "rules",
            ),
            (r#","at":1750000000000,"action":"resolve","outcome":"cleared"}"#, MissingField, "case_id"),
            (r#","at":1750000000000,"action":"resolve","case_id":"c"}"#, MissingField, "outcome"),
            (
                r#","at":1750000000000,"action":"resolve","case_id":"c","outcome":"granted"}"#,
                InvalidField,
                "outcome",
            ),
            (
                r#","at":1750000000000,"action":"resolve","case_id":"c","entity":"user:1"}"#,
                InvalidField,
                "entity",
            ),
            (
                r#","at":1750000000000,"action":"appeal","entity":"user:1","outcome":"cleared"}"#,
                InvalidField,
                "outcome",
            ),
            (r#","at":1750000000,"action":"unban","entity":"user:1"}"#, InvalidTimestamp, "at"),
        ] {
            let json = format!("{head}{rest}");
            let error = decode(Some(json.as_bytes()), &[]).expect_err(rest);
            assert_eq!(error.reason, reason, "{rest}: {error}");
            assert!(error.place.starts_with(place) || error.message.contains(place), "{rest}: {error}");
        }
    }
}
