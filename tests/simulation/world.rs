//! The stream outside: people who act, out of order and sometimes twice, records that cannot be read, operators who ban.

use weir::engine::verdict::Verdict;
use weir::stream::Topic;
use weir::wire::decision;

use crate::broker::Broker;
use crate::dice::Dice;

/// Partitions of the interactions.
pub const PARTITIONS: i32 = 3;
const BEGIN: i64 = 1_750_000_000_000;

/// The partitions of all topics.
pub fn topics() -> Vec<(Topic, i32)> {
    Topic::ALL.map(|topic| (topic, if topic == Topic::Interactions { PARTITIONS } else { 1 })).to_vec()
}

/// Where time begins.
pub fn begin() -> i64 {
    BEGIN
}

/// Writes what comes in.
#[derive(Default)]
pub struct World {
    number: u64,
    last: Option<(i32, String, Vec<u8>)>,
}

impl World {
    /// Time passes, and something may happen.
    pub fn turn(&mut self, broker: &mut Broker, dice: &mut Dice) {
        broker.now += match dice.below(50) {
            0 => 40_000,
            1..10 => 900,
            _ => dice.below(40) as i64,
        };
        match dice.below(100) {
            0 | 12 | 13 => self.operator(broker, dice),
            1 => self.poison(broker, dice),
            8..12 => self.answer(broker, dice),
            2..5 => self.again(broker),
            5..8 => broker.mark(Topic::Interactions, dice.below(PARTITIONS as u64) as i32),
            _ => self.event(broker, dice),
        }
    }

    fn event(&mut self, broker: &mut Broker, dice: &mut Dice) {
        self.number += 1;
        // A few are busy, most are not: limits are met, and so are cases and penalties.
        let user = if dice.one_in(2) { dice.below(3) } else { dice.below(40) };
        let target = if dice.one_in(3) { 1 } else { dice.below(30) };
        // Within grace, before, and a little ahead.
        let ago = match dice.below(30) {
            0 => 50_000 + dice.below(60_000) as i64,
            1 => -(dice.below(9_000) as i64),
            2 => -400_000,
            _ => dice.below(2_000) as i64,
        };
        let action = ["like", "like", "like", "comment", "view", "follow"][dice.below(6) as usize];
        let value = format!(
            "{{\"event_id\":\"e{number}\",\"occurred_at\":{at},\"action\":\"{action}\",\"user_id\":\"u{user}\",\
             \"target_id\":\"t{target}\",\"target_owner_id\":\"o{owner}\",\"ip\":\"198.51.100.{ip}\",\
             \"device\":{{\"id\":\"d{device}\",\"canvas\":\"c{canvas}\",\"fonts\":\"f\"}},\
             \"account\":{{\"created_at\":{created}}}}}",
            number = self.number,
            at = broker.now - ago,
            owner = target % 7,
            ip = user % 5,
            device = user % 20,
            canvas = user % 4,
            created = BEGIN - 86_400_000 * (user as i64 % 90),
        );
        let partition = (user % PARTITIONS as u64) as i32;
        let key = format!("u{user}");
        broker.produce(Topic::Interactions, partition, &key, value.clone().into_bytes());
        self.last = Some((partition, key, value.into_bytes()));
    }

    /// A producer that was not sure whether it had sent a record.
    fn again(&self, broker: &mut Broker) {
        if let Some((partition, key, value)) = &self.last {
            broker.produce(Topic::Interactions, *partition, key, value.clone());
        }
    }

    /// A service that learnt something of a decision, sometimes told twice.
    fn answer(&mut self, broker: &mut Broker, dice: &mut Dice) {
        let recent: Vec<_> = broker.all(Topic::Decisions).collect();
        let recent = &recent[recent.len().saturating_sub(200)..];
        let decided = recent.iter().filter_map(|(_, record)| decision::decode(record.value.as_deref()).ok());
        let open: Vec<_> =
            decided.filter(|told| told.hold.is_some() || told.verdict() != Verdict::Allow).collect();
        if open.is_empty() {
            return;
        }
        let decision = &open[dice.below(open.len() as u64) as usize].decision_id;
        self.number += u64::from(!dice.one_in(5));
        let results = [
            "challenge_passed",
            "challenge_failed",
            "challenge_expired",
            "confirmed_abuse",
            "confirmed_honest",
        ];
        let (number, at) = (self.number, broker.now);
        let value = format!(
            "{{\"feedback_id\":\"f{number}\",\"decision_id\":\"{decision}\",\"result\":\"{}\",\"actor\":\"gateway\",\"at\":{at}}}",
            results[dice.below(5) as usize],
        );
        broker.produce(Topic::Feedback, 0, decision, value.into_bytes());
    }

    fn poison(&mut self, broker: &mut Broker, dice: &mut Dice) {
        let value = [&b"{"[..], b"\xff", b"[]", br#"{"event_id":"x"}"#][dice.below(4) as usize];
        broker.produce(Topic::Interactions, dice.below(PARTITIONS as u64) as i32, "poison", value.to_vec());
    }

    fn operator(&mut self, broker: &mut Broker, dice: &mut Dice) {
        self.number += 1;
        let (number, user, at) = (self.number, dice.below(6), broker.now);
        let what = if dice.one_in(3) {
            "\"action\":\"unban\"".to_owned()
        } else {
            // Most end soon, some within hours, some never.
            let length = match dice.below(6) {
                0 => String::new(),
                1 => ",\"length_ms\":7200000".to_owned(),
                _ => format!(",\"length_ms\":{}", 1000 + dice.below(60_000)),
            };
            format!("\"action\":\"ban\",\"verdict\":\"block\"{length}")
        };
        let value = format!(
            "{{\"command_id\":\"c{number}\",{what},\"entity\":\"user:u{user}\",\"actor\":\"ann\",\"reason\":\"r\",\"at\":{at}}}"
        );
        broker.produce(Topic::Commands, 0, &format!("user:u{user}"), value.into_bytes());
    }
}
