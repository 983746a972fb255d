//! Operate: what commands do. A person outranks the machine.

use super::Engine;
use super::ban::{Ban, BanChange, Origin};
use super::bans::Lift;
use super::command::{Command, CommandAction};
use super::entity::{Entity, EntityKind};
use super::input::{Outcome, Outputs};
use super::profile;
use super::time::{Span, Timestamp};
use super::verdict::Verdict;

impl Engine {
    /// Applies an operator's command that was not seen before.
    pub(super) fn operate(&mut self, command: &Command, at: Timestamp, out: &mut Outputs) -> Outcome {
        match &command.action {
            CommandAction::Ban { entity, verdict, length } => {
                self.ban_by_hand(command, entity, *verdict, *length, at, out)
            }
            CommandAction::Unban { entity, ban } => self.unban(command, entity, ban.as_deref(), at, out),
        }
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
    ) -> Outcome {
        let Some((key, entity)) = self.normalise(entity) else { return Outcome::CommandRefused };
        let expires_at = length.map(|length| at.after(length));
        if expires_at.is_some_and(|end| end <= self.now) {
            return Outcome::CommandRefused;
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
        Outcome::CommandApplied
    }

    /// Lifts bans and forgets the penalty: what happened up to now makes no new one.
    fn unban(
        &mut self,
        command: &Command,
        entity: &Entity,
        ban: Option<&str>,
        at: Timestamp,
        out: &mut Outputs,
    ) -> Outcome {
        let Some((key, entity)) = self.normalise(entity) else { return Outcome::CommandRefused };
        let lift = Lift { entity: &entity, ban, actor: &command.actor, reason: &command.reason, at };
        let lifted = self.bans.lift(key, &lift, &mut out.bans);
        self.bans.pardon(&entity, at);
        let pardoned = self.pardon(&entity, at);
        if lifted || pardoned { Outcome::CommandApplied } else { Outcome::CommandRefused }
    }

    fn pardon(&mut self, entity: &Entity, at: Timestamp) -> bool {
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
