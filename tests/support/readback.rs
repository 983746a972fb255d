//! A second consumer: reads topics to their present end, committed records only.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]
#![allow(clippy::disallowed_methods, reason = "reading is bounded by the clock")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use weir::stream::{
    Input, InputEvent, InputLimits, KafkaSettings, Lookup, RecordRef, Topic, TopicNames, TopicStart,
};

const PATIENCE: Duration = Duration::from_secs(30);

/// Reads for a group that is not weir's.
pub struct Readback {
    kafka: KafkaSettings,
    names: TopicNames,
}

impl Readback {
    pub fn new(kafka: &KafkaSettings, names: &TopicNames) -> Readback {
        let kafka = KafkaSettings { group: format!("{}-readers", kafka.group), ..kafka.clone() };
        Readback { kafka, names: names.clone() }
    }

    fn lookup(&self) -> Lookup {
        Lookup::open(&self.kafka, &self.names).expect("a client")
    }

    /// The end of each partition now.
    pub fn ends(&self, topic: Topic) -> Vec<i64> {
        let lookup = self.lookup();
        let partitions = lookup.partitions(topic, PATIENCE).expect("an answer");
        (0..partitions).map(|p| lookup.held(topic, p, PATIENCE).expect("an answer").high).collect()
    }

    /// What a group has committed.
    pub fn committed(&self, weir: &KafkaSettings, topic: Topic) -> Vec<Option<i64>> {
        let lookup = Lookup::open(weir, &self.names).expect("a client");
        let partitions = lookup.partitions(topic, PATIENCE).expect("an answer");
        lookup.committed(topic, partitions, PATIENCE).expect("an answer")
    }

    /// A reader from here on.
    pub fn follow(&self, topic: Topic, from: &[i64]) -> Input {
        let positions = (0..).zip(from.iter().copied()).collect();
        let start = [TopicStart { topic, positions }];
        Input::open(&self.kafka, &self.names, &start, InputLimits::default(), PATIENCE).expect("an input")
    }

    /// Every record up to the present end.
    pub fn read_all(&self, topic: Topic, mut each: impl FnMut(RecordRef<'_>)) {
        let ends = self.ends(topic);
        let mut left: BTreeMap<i32, i64> =
            (0..).zip(ends.iter().copied()).filter(|(_, end)| *end > 0).collect();
        let input = self.follow(topic, &vec![0; ends.len()]);
        let deadline = Instant::now() + 2 * PATIENCE;
        while !left.is_empty() {
            assert!(Instant::now() < deadline, "{topic} was not read to its end: {left:?}");
            match input.next(Duration::from_millis(200)) {
                InputEvent::Records(records) => {
                    for record in records.iter() {
                        each(record);
                        left.retain(|p, end| *p != record.at.partition || record.at.offset + 1 < *end);
                    }
                    for end in records.ends() {
                        left.retain(|p, wanted| *p != end.partition || end.position < *wanted);
                    }
                    input.recycle(records);
                }
                InputEvent::Problem(problem) => panic!("{problem:?}"),
                InputEvent::Idle => {}
            }
        }
    }
}
