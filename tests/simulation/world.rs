//! The stream outside: people who act, out of order and sometimes twice, records that cannot be read, operators who ban.
//! In some runs a bought crowd comes, and an operator who sometimes says that it was none.

use weir::engine::verdict::Verdict;
use weir::stream::Topic;
use weir::wire::{case, decision};

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

/// Accounts of a bought crowd, and how many of them come with one turn.
const BOUGHT: u64 = 90;
const AT_ONCE: u64 = 3;
/// Turns before it comes: what is usual must be known first.
const QUIET: u64 = 200;
/// People who come with each of them: a crowd is told from 200 accounts at least.
const PEOPLE: u64 = 3;

/// Writes what comes in.
#[derive(Default)]
pub struct World {
    number: u64,
    last: Option<(i32, String, Vec<u8>)>,
    crowd: Option<Crowd>,
}

/// A bought crowd: newly made accounts on one device image that push one target.
#[derive(Default)]
struct Crowd {
    turns: u64,
    came: u64,
}

impl World {
    /// With a bought crowd in every second run.
    pub fn new(dice: &mut Dice) -> Self {
        Self { crowd: dice.one_in(2).then(Crowd::default), ..Self::default() }
    }

    /// Time passes, and something may happen.
    pub fn turn(&mut self, broker: &mut Broker, dice: &mut Dice) {
        broker.now += match dice.below(50) {
            0 => 40_000,
            1..10 => 900,
            _ => dice.below(40) as i64,
        };
        self.crowded(broker, dice);
        match dice.below(100) {
            0 | 12 | 13 => self.operator(broker, dice),
            1 => self.poison(broker, dice),
            8..12 => self.answer(broker, dice),
            2..5 => self.again(broker),
            5..8 => broker.mark(Topic::Interactions, dice.below(PARTITIONS as u64) as i32),
            _ => self.event(broker, dice),
        }
    }

    /// In a run with a crowd: people to tell it from, then the crowd, then a person who looks at its case.
    fn crowded(&mut self, broker: &mut Broker, dice: &mut Dice) {
        let Some(crowd) = &mut self.crowd else { return };
        crowd.turns += 1;
        if crowd.turns <= QUIET {
            let (first, target) = (crowd.turns * PEOPLE, format!("t{}", dice.below(30)));
            return (first..first + PEOPLE)
                .for_each(|number| self.like(broker, &Actor::person(number), &target));
        }
        if crowd.came < BOUGHT && !dice.one_in(3) {
            let first = crowd.came;
            crowd.came += AT_ONCE;
            (first..first + AT_ONCE).for_each(|number| self.like(broker, &Actor::bought(number), "pushed"));
        }
        if dice.one_in(40) {
            self.clear(broker, dice);
        }
    }

    /// A person decides the case of a campaign, mostly that it was none.
    fn clear(&mut self, broker: &mut Broker, dice: &mut Dice) {
        let cases =
            broker.all(Topic::Cases).filter_map(|(_, record)| case::decode(record.value.as_deref()).ok());
        let Some(case) = cases.filter(|case| case.rule == "campaign").last() else { return };
        self.number += 1;
        let (number, at, id) = (self.number, broker.now, &case.id);
        let outcome = if dice.one_in(5) { "confirmed" } else { "cleared" };
        let value = format!(
            "{{\"command_id\":\"c{number}\",\"action\":\"resolve\",\"case_id\":\"{id}\",\"outcome\":\"{outcome}\",\
             \"actor\":\"ann\",\"reason\":\"r\",\"at\":{at}}}"
        );
        broker.produce(Topic::Commands, 0, id, value.into_bytes());
    }

    fn like(&mut self, broker: &mut Broker, actor: &Actor, target: &str) {
        self.number += 1;
        let Actor { user, ip, created, device } = actor;
        let value = format!(
            "{{\"event_id\":\"e{number}\",\"occurred_at\":{at},\"action\":\"like\",\"user_id\":\"{user}\",\
             \"target_id\":\"{target}\",\"ip\":\"{ip}\",\"account\":{{\"created_at\":{created}}},\
             \"device\":{{\"id\":\"d-{user}\",\"os\":\"o{os}\",\"browser\":\"b{browser}\",\"screen\":\"s{screen}\",\
             \"gpu\":\"g{gpu}\",\"canvas\":\"c{device}\",\"fonts\":\"f{fonts}\"}}}}",
            number = self.number,
            at = broker.now,
            os = device % 5,
            browser = device % 11,
            screen = device % 17,
            gpu = device % 23,
            fonts = device % 301,
        );
        let partition = (*created % i64::from(PARTITIONS)) as i32;
        broker.produce(Topic::Interactions, partition, user, value.into_bytes());
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

/// Who likes something.
struct Actor {
    user: String,
    ip: String,
    created: i64,
    device: u64,
}

impl Actor {
    /// With an age, an address and a device of his own.
    fn person(number: u64) -> Self {
        let mixed = mix(number);
        Self {
            user: format!("p{number}"),
            ip: format!("203.{}.{}.7", number / 250, number % 250),
            created: BEGIN - 86_400_000 * (mixed % 900 + 10) as i64 - (mixed % 86_400_000) as i64,
            device: mixed % 100_003,
        }
    }

    /// Made within an hour of the day before, on one device image, from an address of its own.
    fn bought(number: u64) -> Self {
        Self {
            user: format!("r{number}"),
            ip: format!("198.18.{number}.9"),
            created: BEGIN - 86_400_000 + (mix(number) % 3_600_000) as i64,
            device: 7,
        }
    }
}

/// Spreads numbers over 64 bits.
fn mix(number: u64) -> u64 {
    let number = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8
}
