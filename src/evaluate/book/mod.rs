//! The book of one evaluation: what is kept of decisions, revisions, bans and cases while they come.
//!
//! Kept per account, per attack group, per address, and a few bytes an event (see `events.rs`). Events without a label
//! go through the engine like all others and are counted, no more. A revision replaces what was said of its event
//! before: the last verdict counts.

mod account;
mod events;
mod exits;
mod group;

use std::collections::{BTreeMap, HashMap};

pub use self::account::{ABOVE_ALLOW, Account, Accounts, Side};
pub use self::events::{Events, Word};
pub use self::exits::Exits;
pub use self::group::{Counted, GroupBook, seconds};

use self::group::earliest;
use super::cause::Causes;
use super::label::{GroupId, Kind, Label};
use crate::engine::Outputs;
use crate::engine::ban::{Ban, BanChange};
use crate::engine::case::Case;
use crate::engine::entity::EntityKind;
use crate::engine::feedback::Revision;
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::pipeline::Tally;
use crate::replay::Heard;

/// How many events ended in which verdict, weakest first.
pub type Verdicts = [u64; Verdict::ALL.len()];

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Book {
    causes: Causes,
    /// What became of the lines.
    pub tally: Tally,
    /// Accounts with a labelled event.
    pub accounts: Accounts,
    /// Where they act from.
    pub exits: Exits,
    /// The last word on each labelled event.
    pub events: Events,
    /// Attack groups.
    pub groups: HashMap<GroupId, GroupBook>,
    /// Labelled events by action, then by kind: how many ended in which verdict.
    pub actions: BTreeMap<String, [Verdicts; 2]>,
    /// When a case on a target was first opened.
    pub target_cases: HashMap<String, Timestamp>,
    /// Decisions on events without a label.
    pub unlabelled: u64,
    /// Revisions told.
    pub revisions: u64,
    /// Case records told.
    pub case_records: u64,
    /// Changes of bans told.
    pub ban_changes: u64,
    /// The latest effective time.
    pub now: Timestamp,
}

impl Book {
    /// An empty book for what this policy decides.
    pub fn new(policy: &Policy) -> Self {
        Self { causes: Causes::of(policy), ..Self::default() }
    }

    /// Enters one line and all that is told with it.
    pub fn hear(&mut self, heard: &Heard<'_>, label: Option<Label>) {
        self.tally.count(heard.outcome);
        if let Some(judgement) = &heard.outputs.judgement {
            self.tally.decide(judgement.verdict);
            self.now = self.now.max(judgement.effective_at);
        }
        match label {
            Some(label) => self.decided(heard, label),
            None => self.unlabelled += u64::from(heard.outputs.judgement.is_some()),
        }
        // The judgement comes first: a case or revision that is told with it may be about this very event.
        self.told(heard.outputs);
    }

    /// Enters what is told beside a judgement.
    pub fn told(&mut self, outputs: &Outputs) {
        self.revisions += outputs.revisions.len() as u64;
        self.case_records += outputs.cases.len() as u64;
        self.ban_changes += outputs.bans.len() as u64;
        outputs.revisions.iter().for_each(|revision| self.revised(revision));
        outputs.cases.iter().for_each(|case| self.case(case));
        for change in &outputs.bans {
            if let BanChange::InForce(bans) = change {
                bans.iter().for_each(|ban| self.ban(ban));
            }
        }
    }

    /// All is read: settles what can be told only then.
    pub fn close(&mut self) {
        for (account, exit) in self.exits.largest() {
            if let Some(account) = self.accounts.get_mut(account) {
                account.exit = Some(exit);
            }
        }
    }

    fn decided(&mut self, heard: &Heard<'_>, label: Label) {
        let (Some(judgement), Some((event, _))) = (&heard.outputs.judgement, heard.event) else { return };
        let (verdict, cause) = (judgement.verdict, self.causes.judgement(judgement));
        let number = match (&event.user, judgement.address) {
            (Some(user), _) => self.accounts.number(user, true, label.group),
            // A blank cannot begin a user's name: an address is never taken for one.
            (None, address) => {
                let name = address.map_or(" ".to_owned(), |address| format!(" {address}"));
                self.accounts.number(&name, false, label.group)
            }
        };
        if let Some(address) = judgement.address {
            self.exits.saw(number, address);
        }
        if let Some(account) = self.accounts.get_mut(number) {
            account.decided(label, verdict, cause, judgement.score);
        }
        self.action(&event.action, label.kind)[verdict as usize] += 1;
        let score = events::held(judgement.score);
        self.events.set(heard.line, Word { label, verdict, cause, score });
        if label.kind == Kind::Attack {
            let group = self.groups.entry(label.group).or_default();
            let allowed = verdict == Verdict::Allow;
            group.decided(&event.action, event.target.as_deref(), allowed, judgement.effective_at);
        }
    }

    fn revised(&mut self, revision: &Revision) {
        let judgement = &revision.judgement;
        let (verdict, cause) = (judgement.verdict, self.causes.judgement(judgement));
        let line = judgement.id.offset.cast_unsigned().saturating_add(1);
        let score = events::held(judgement.score);
        let Some(before) = self.events.revise(line, verdict, cause, score) else { return };
        let event = &revision.event;
        let verdicts = self.action(&event.action, before.label.kind);
        verdicts[before.verdict as usize] = verdicts[before.verdict as usize].saturating_sub(1);
        verdicts[verdict as usize] += 1;
        let name = match (&event.user, judgement.address) {
            (Some(user), _) => user.to_string(),
            (None, address) => address.map_or(" ".to_owned(), |address| format!(" {address}")),
        };
        if let Some(account) = self.accounts.named_mut(&name) {
            let (was, is) = ((before.verdict, before.cause), (verdict, cause));
            account.revised(before.label.kind, was, is, judgement.score);
        }
        if before.label.kind == Kind::Attack {
            let group = self.groups.entry(before.label.group).or_default();
            let aim = (&*event.action, event.target.as_deref());
            let allowed = |verdict| verdict == Verdict::Allow;
            group.revised(aim, allowed(before.verdict), allowed(verdict), self.now);
        }
    }

    fn action(&mut self, action: &str, kind: Kind) -> &mut Verdicts {
        if !self.actions.contains_key(action) {
            self.actions.insert(action.to_owned(), Default::default());
        }
        let kinds = self.actions.get_mut(action).expect("it was put there above");
        &mut kinds[kind as usize]
    }

    fn case(&mut self, case: &Case) {
        let at = case.opened_at;
        if case.entity.kind == EntityKind::Target {
            match self.target_cases.get_mut(&case.entity.value) {
                Some(first) => *first = (*first).min(at),
                None => drop(self.target_cases.insert(case.entity.value.clone(), at)),
            }
        }
        let user = (case.entity.kind == EntityKind::User).then_some(&case.entity.value);
        for name in user.into_iter().chain(&case.accounts) {
            let Some(account) = self.accounts.named(name) else { continue };
            if account.kind() == Kind::Attack {
                earliest(&mut self.groups.entry(account.group).or_default().member_case, case.updated_at);
            }
        }
    }

    fn ban(&mut self, ban: &Ban) {
        let cause = self.causes.ban(ban);
        let blocks = ban.verdict == Verdict::Block && ban.entity.kind == EntityKind::User;
        if let (true, Some(account)) = (blocks, self.accounts.named_mut(&ban.entity.value)) {
            account.banned[cause as usize] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::standard;
    use crate::engine::Outcome;
    use crate::engine::decision::{DecisionId, Judgement};
    use crate::engine::event::{Arrival, Event};
    use crate::engine::policy::load::load;
    use crate::evaluate::cause::Cause;

    const GROUP: GroupId = GroupId(0);

    fn judgement(line: i64, revision: u32, verdict: Verdict, second: i64) -> Judgement {
        Judgement {
            id: DecisionId { partition: 0, offset: line - 1, digest: 0, revision },
            supersedes: None,
            address: None,
            effective_at: Timestamp::from_millis(second * 1000),
            verdict,
            score: if verdict == Verdict::Allow { -50 } else { 20 },
            reasons: Vec::new(),
            retry_after: None,
            hold: None,
            policy: "p".into(),
            quality: Vec::new(),
            without: Vec::new(),
            revisable_until: Timestamp::default(),
        }
    }

    fn event(user: &'static str) -> Event<'static> {
        Event { user: Some(user.into()), action: "like".into(), target: Some("t".into()), ..Event::default() }
    }

    fn decide(book: &mut Book, line: i64, user: &'static str, kind: Kind, verdict: Verdict) {
        let mut outputs = Outputs::default();
        outputs.judgement = Some(judgement(line, 0, verdict, line));
        let event = event(user);
        let arrival =
            Arrival { topic: "t", partition: 0, offset: line - 1, append_time: Timestamp::default() };
        let event = Some((&event, arrival));
        let outcome = Outcome::Decided;
        let (line, grace) = (line.unsigned_abs(), crate::engine::time::Span::ZERO);
        let heard = Heard { line, outcome, event, fault: None, outputs: &outputs, grace };
        book.hear(&heard, Some(Label::plain(kind, GROUP)));
    }

    fn revise(book: &mut Book, line: i64, user: &'static str, revision: u32, verdict: Verdict) {
        let judgement = judgement(line, revision, verdict, line);
        let (event, topic, append_time) = (event(user), "t".to_owned(), Timestamp::default());
        let mut outputs = Outputs::default();
        outputs.revisions.push(Revision { event, topic, append_time, judgement });
        book.told(&outputs);
    }

    /// Two attacks are allowed at 1 s and 2 s, a third is acted on at 9 s; then the first two are taken back, and one of
    /// them is cleared again.
    #[test]
    fn the_last_verdict_counts() {
        let policy = load(&standard::files()).expect("the standard policy loads").policy;
        let mut book = Book::new(&policy);
        decide(&mut book, 1, "a", Kind::Attack, Verdict::Allow);
        decide(&mut book, 2, "b", Kind::Attack, Verdict::Allow);
        decide(&mut book, 5, "h", Kind::Honest, Verdict::Allow);
        decide(&mut book, 9, "a", Kind::Attack, Verdict::Hold);
        let counts = |book: &Book| {
            let all = book.groups[&GROUP].all;
            (all.events, all.at_first, all.at_last)
        };
        assert_eq!(counts(&book), (3, 2, 2));
        revise(&mut book, 1, "a", 1, Verdict::Demote);
        revise(&mut book, 2, "b", 1, Verdict::Demote);
        revise(&mut book, 5, "h", 1, Verdict::Challenge);
        assert_eq!(counts(&book), (3, 2, 0));
        revise(&mut book, 2, "b", 2, Verdict::Allow);
        assert_eq!(counts(&book), (3, 2, 1));
        let strongest = |name| book.accounts.named(name).expect("it acted").judged().strongest();
        assert_eq!(["a", "b", "h"].map(strongest), [Verdict::Hold, Verdict::Allow, Verdict::Challenge]);
        let h = book.accounts.named("h").expect("it acted").judged();
        assert_eq!((h.count(Verdict::Challenge, Cause::Suspicion), h.top), (1, Some(20)));
        assert_eq!(book.actions["like"], [[0, 0, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0]]);
        assert_eq!(book.groups[&GROUP].acted, Some(Timestamp::from_millis(9000)));
        let (aim, counted) = book.groups[&GROUP].pushed(&[]).expect("it has a target");
        assert_eq!((aim.0.as_str(), aim.1.as_str(), counted.at_last), ("like", "t", 1));
        assert_eq!(book.events.iter().filter(|word| word.verdict == Verdict::Allow).count(), 1);
    }

    #[test]
    fn a_revision_of_what_was_not_decided_changes_nothing() {
        let policy = load(&standard::files()).expect("the standard policy loads").policy;
        let mut book = Book::new(&policy);
        revise(&mut book, 7, "a", 1, Verdict::Reject);
        assert!(book.accounts.list().is_empty() && book.groups.is_empty());
        assert_eq!(book.revisions, 1);
    }
}
