//! Observation pools: any two of three conditions watch an entity for a time; the third then, a stated number of times,
//! bans it.
//!
//! Memory: a pool keeps at most its `entities_max`; when full, the one whose last sign is oldest goes, and that is
//! counted.

mod saved;

use std::collections::BTreeSet;

use super::key::ByHash;
use super::policy::Observation;
use super::time::Timestamp;

/// The entities one pool has seen a sign of.
#[derive(Debug, Default)]
pub struct Pool {
    /// Never iterated for outputs.
    entities: ByHash<Watch>,
    by_last_sign: BTreeSet<(Timestamp, u64)>,
    evicted: u64,
}

#[derive(Debug, Default)]
struct Watch {
    last_sign: Timestamp,
    /// When each condition was last true.
    signs: [Option<Timestamp>; 3],
    /// While watched: which condition is the third, and until when.
    watched: Option<(usize, Timestamp)>,
    /// When the third came, newest last.
    thirds: Vec<Timestamp>,
}

impl Pool {
    /// Notes which conditions hold for an entity at `at`; true when the entity is to be banned now.
    pub fn note(&mut self, rule: &Observation, key: u64, holds: [bool; 3], at: Timestamp) -> bool {
        if holds == [false; 3] {
            return false;
        }
        self.touch(rule, key, at);
        let watch = self.entities.entry(key).or_default();
        watch.last_sign = at;
        let ban = watch.note(rule, holds, at);
        if ban {
            self.forget(key);
        }
        ban
    }

    /// Whether an entity is watched at `at`.
    pub fn is_watched(&self, key: u64, at: Timestamp) -> bool {
        self.entities.get(&key).and_then(|watch| watch.watched).is_some_and(|(_, until)| at < until)
    }

    /// Forgets an entity.
    pub fn forget(&mut self, key: u64) {
        if let Some(watch) = self.entities.remove(&key) {
            self.by_last_sign.remove(&(watch.last_sign, key));
        }
    }

    /// How many entities are kept, and how many had to go for others.
    pub fn counts(&self) -> (usize, u64) {
        (self.entities.len(), self.evicted)
    }

    fn touch(&mut self, rule: &Observation, key: u64, at: Timestamp) {
        match self.entities.get(&key) {
            Some(watch) => {
                self.by_last_sign.remove(&(watch.last_sign, key));
            }
            None if self.entities.len() >= rule.entities_max => {
                if let Some((_, oldest)) = self.by_last_sign.pop_first() {
                    self.entities.remove(&oldest);
                    self.evicted += 1;
                }
            }
            None => {}
        }
        self.by_last_sign.insert((at, key));
    }
}

impl Watch {
    fn note(&mut self, rule: &Observation, holds: [bool; 3], at: Timestamp) -> bool {
        if self.watched.is_some_and(|(_, until)| at >= until) {
            *self = Watch { last_sign: at, ..Watch::default() };
        }
        if let Some((third, _)) = self.watched {
            return holds[third] && self.third(rule, at);
        }
        for (sign, held) in self.signs.iter_mut().zip(holds) {
            if held {
                *sign = Some(at);
            }
        }
        let recent = self.signs.map(|sign| sign.is_some_and(|sign| at.since(sign) < rule.watch));
        // With all three at once the last one is the third: it has to come again to count.
        if recent.iter().filter(|held| **held).count() >= 2 {
            let third = recent.iter().position(|held| !held).unwrap_or(2);
            self.watched = Some((third, at.after(rule.watch)));
        }
        false
    }

    fn third(&mut self, rule: &Observation, at: Timestamp) -> bool {
        self.thirds.retain(|&earlier| at.since(earlier) < rule.within);
        self.thirds.push(at);
        self.thirds.len() >= rule.times as usize
    }
}

#[cfg(test)]
mod tests {
    use super::super::decision::ReasonSource;
    use super::super::entity::EntityKind;
    use super::super::expr::Condition;
    use super::super::time::Span;
    use super::*;

    fn rule() -> Observation {
        let condition = || Condition::new("true".into(), Box::new(|_| Some(true)));
        Observation {
            info: ReasonSource {
                id: "pool".into(),
                code: "POOL".into(),
                family: "group".into(),
                text: "watched".into(),
                window: None,
            }
            .into(),
            entity: EntityKind::User,
            conditions: [condition(), condition(), condition()],
            watch: Span::from_secs(86_400),
            times: 3,
            within: Span::from_secs(3600),
            ban: Span::from_secs(86_400),
            entities_max: 2,
            budget: None,
        }
    }

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1000)
    }

    const A: [bool; 3] = [true, false, false];
    const B: [bool; 3] = [false, true, false];
    const C: [bool; 3] = [false, false, true];

    #[test]
    fn any_two_watch_and_the_third_three_times_in_an_hour_bans() {
        let (rule, mut pool) = (rule(), Pool::default());
        assert!(!pool.note(&rule, 1, C, at(0)));
        assert!(!pool.is_watched(1, at(1)));
        assert!(!pool.note(&rule, 1, A, at(10)));
        assert!(pool.is_watched(1, at(11)));
        let answers = [20, 30, 40].map(|secs| pool.note(&rule, 1, B, at(secs)));
        assert_eq!(answers, [false, false, true]);
        assert!(!pool.is_watched(1, at(41)));
    }

    #[test]
    fn thirds_further_apart_than_the_span_do_not_ban() {
        let (rule, mut pool) = (rule(), Pool::default());
        pool.note(&rule, 1, A, at(0));
        pool.note(&rule, 1, B, at(1));
        assert!([10, 20, 3610, 3620, 7300].into_iter().all(|secs| !pool.note(&rule, 1, C, at(secs))));
    }

    #[test]
    fn a_watch_ends_and_begins_anew() {
        let (rule, mut pool) = (rule(), Pool::default());
        pool.note(&rule, 1, A, at(0));
        pool.note(&rule, 1, B, at(1));
        assert!(pool.is_watched(1, at(86_400)));
        assert!(!pool.is_watched(1, at(86_401)));
        assert!([0, 1, 2].into_iter().all(|more| !pool.note(&rule, 1, C, at(90_000 + more))));
    }

    #[test]
    fn a_full_pool_lets_the_oldest_go_and_counts_it() {
        let (rule, mut pool) = (rule(), Pool::default());
        for key in 1..=3 {
            pool.note(&rule, key, A, at(key as i64));
        }
        assert_eq!(pool.counts(), (2, 1));
        pool.note(&rule, 1, B, at(10));
        assert!(!pool.is_watched(1, at(11)));
    }
}
