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
use crate::engine::command::{Command, CommandAction};
use crate::engine::input::DeadLetterReason;
use crate::engine::time::Span;
use crate::engine::verdict::Verdict;

/// The most bytes of an id, a name or a reason.
const TEXT_MAX: usize = 1024;

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
    /// Whom it is about.
    pub entity: EntityText,
    /// `ban` only: what readers do while it holds; `block` when absent, never `allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictWord>,
    /// `ban` only: for how long, from `at`; until lifted when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_ms: Option<Millis>,
    /// `unban` only: the ban to lift; all of the entity when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), example = &"cmd-01J0Z4T5R0A1B2C3D4E5F6G7H8")]
    pub ban_id: Option<String>,
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

/// The record key: the entity, `kind:value`.
pub fn key(command: &Command) -> String {
    match &command.action {
        CommandAction::Ban { entity, .. } | CommandAction::Unban { entity, .. } => entity.to_string(),
    }
}

impl CommandRecord {
    fn into_command(self) -> Result<Command, DecodeError> {
        text::required(&self.command_id, "command_id", TEXT_MAX)?;
        text::required(&self.actor, "actor", TEXT_MAX)?;
        text::required(&self.reason, "reason", TEXT_MAX)?;
        text::required(&self.entity.0.value, "entity", TEXT_MAX)?;
        let at = self.at.read("at")?;
        let action = match self.action {
            CommandWord::Ban => {
                ban(self.entity, self.verdict.as_ref(), self.length_ms, self.ban_id.as_ref())?
            }
            CommandWord::Unban => unban(self.entity, self.verdict.as_ref(), self.length_ms, self.ban_id)?,
        };
        Ok(Command { id: self.command_id, actor: self.actor, at, reason: self.reason, action })
    }
}

fn ban(
    entity: EntityText,
    verdict: Option<&VerdictWord>,
    length: Option<Millis>,
    ban_id: Option<&String>,
) -> Result<CommandAction, DecodeError> {
    let verdict = match verdict {
        None => Verdict::Block,
        Some(VerdictWord::Known(verdict)) if *verdict > Verdict::Allow => *verdict,
        Some(word) => {
            return Err(invalid("verdict", format!("`{}` is no verdict to ban with", word.as_str())));
        }
    };
    if length.is_some_and(|length| length.0 <= 0) {
        return Err(invalid("length_ms", "a ban lasts longer than 0; leave it out for one until lifted"));
    }
    if ban_id.is_some() {
        return Err(invalid("ban_id", "belongs to `unban`: the id of a new ban is that of its command"));
    }
    Ok(CommandAction::Ban { entity: entity.0, verdict, length: length.map(Span::from) })
}

fn unban(
    entity: EntityText,
    verdict: Option<&VerdictWord>,
    length: Option<Millis>,
    ban: Option<String>,
) -> Result<CommandAction, DecodeError> {
    if verdict.is_some() {
        return Err(invalid("verdict", "belongs to `ban`"));
    }
    if length.is_some() {
        return Err(invalid("length_ms", "belongs to `ban`"));
    }
    if let Some(id) = &ban {
        text::required(id, "ban_id", TEXT_MAX)?;
    }
    Ok(CommandAction::Unban { entity: entity.0, ban })
}

impl From<&Command> for CommandRecord {
    fn from(command: &Command) -> Self {
        let (action, entity, verdict, length_ms, ban_id) = match &command.action {
            CommandAction::Ban { entity, verdict, length } => {
                (CommandWord::Ban, entity, Some((*verdict).into()), length.map(Millis::from), None)
            }
            CommandAction::Unban { entity, ban } => (CommandWord::Unban, entity, None, None, ban.clone()),
        };
        Self {
            command_id: command.id.clone(),
            actor: command.actor.clone(),
            at: command.at.into(),
            reason: command.reason.clone(),
            action,
            entity: EntityText(entity.clone()),
            verdict,
            length_ms,
            ban_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::entity::{Entity, EntityKind};
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
        ] {
            let command = command(action);
            assert_eq!(decode(Some(&encode(&command)), &[]), Ok(command.clone()));
            assert_eq!(key(&command), "user:u:1");
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
            (r#","at":1750000000,"action":"unban","entity":"user:1"}"#, InvalidTimestamp, "at"),
        ] {
            let json = format!("{head}{rest}");
            let error = decode(Some(json.as_bytes()), &[]).expect_err(rest);
            assert_eq!(error.reason, reason, "{rest}: {error}");
            assert!(error.place.starts_with(place) || error.message.contains(place), "{rest}: {error}");
        }
    }
}
