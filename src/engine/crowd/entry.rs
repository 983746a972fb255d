//! One entry of the trail: who did something to a target, what he looked like, what was decided, and, of those who could
//! belong to a bought crowd, all that a correction of the decision tells.
//!
//! As words: first what a correction changes (so that it lies in the first unit), then traits and points, then text.

use std::borrow::Cow;

use super::traits::{ATTRIBUTES_MAX, Traits};
use crate::engine::decision::DecisionId;
use crate::engine::event::{Arrival, Device, Event, Text};
use crate::engine::flat::{Reader, Writer};
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;

/// Families whose points are kept; evidence of further ones is not corrected.
pub(crate) const FAMILIES_MAX: usize = 12;

/// What was decided, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stand {
    /// The first verdict.
    pub(crate) first: Verdict,
    /// The verdict that holds.
    pub(crate) now: Verdict,
    /// The revision that holds.
    pub(crate) revision: u32,
}

/// One entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Entry {
    pub(crate) stand: Stand,
    pub(crate) traits: Traits,
    /// Points by family without those of the crowd, before caps.
    pub(crate) points: [i16; FAMILIES_MAX],
    /// What a correction tells; of those who could belong to a bought crowd only.
    pub(crate) told: Option<Told>,
}

/// What a correction tells of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) id: DecisionId,
    pub(crate) topic: String,
    pub(crate) append_time: Timestamp,
    pub(crate) event: Event<'static>,
}

/// Words of a stand.
const STAND: usize = 2;
/// Where device attributes begin, and points.
const DEVICE: usize = STAND + 7;
const POINTS: usize = DEVICE + ATTRIBUTES_MAX / 2;
/// Words before the text; the last one is the length of it.
const HEAD: usize = POINTS + FAMILIES_MAX / 2 + 1;

/// Room for writing entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
    pub(crate) words: Vec<u32>,
    bytes: Vec<u8>,
}

/// Writes an entry as the words of the room. `told` is the event with its record's place, of those who could belong to a
/// bought crowd.
pub(crate) fn write(
    room: &mut Room,
    (stand, traits): (Stand, &Traits),
    points: &[i32],
    told: Option<(&Event<'_>, &Arrival<'_>, DecisionId)>,
) {
    let mut head = [0; HEAD];
    head[..STAND].copy_from_slice(&stand.words());
    let (user, at) = (traits.user, traits.at.millis().cast_unsigned());
    let small = u32::from(traits.age) | u32::from(traits.neighbours) << 8 | u32::from(traits.can_join) << 16;
    let who = [user as u32, (user >> 32) as u32, at as u32, (at >> 32) as u32, small];
    head[STAND..STAND + 5].copy_from_slice(&who);
    head[STAND + 5..DEVICE].copy_from_slice(&[traits.cohort, traits.address]);
    for (word, pair) in head[DEVICE..POINTS].iter_mut().zip(traits.device.chunks_exact(2)) {
        *word = u32::from(pair[0]) | u32::from(pair[1]) << 16;
    }
    let point = |family: usize| points.get(family).map_or(0, |points| clamp(*points)).cast_unsigned();
    for (pair, word) in head[POINTS..HEAD - 1].iter_mut().enumerate() {
        *word = u32::from(point(2 * pair)) | u32::from(point(2 * pair + 1)) << 16;
    }
    let bytes = std::mem::take(&mut room.bytes);
    let bytes = match told {
        Some(told) => text(told, Writer::over(bytes)),
        None => Writer::over(bytes).into_bytes(),
    };
    head[HEAD - 1] = bytes.len() as u32;
    room.words.clear();
    room.words.extend_from_slice(&head);
    let (whole, rest) = bytes.as_chunks::<4>();
    room.words.extend(whole.iter().map(|word| u32::from_le_bytes(*word)));
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    room.words.extend((!rest.is_empty()).then(|| u32::from_le_bytes(last)));
    room.bytes = bytes;
}

/// Reads what [`write()`] wrote, and what [`Stand::words`] put in its place since.
pub(crate) fn read(words: &[u32]) -> Option<Entry> {
    let (head, rest) = words.split_at_checked(HEAD)?;
    let (stand, head) = head.split_at(STAND);
    let pair = |at: usize| u64::from(head[at]) | u64::from(head[at + 1]) << 32;
    let mut traits = Traits {
        user: pair(0),
        at: Timestamp::from_millis(pair(2).cast_signed()),
        age: head[4] as u8,
        neighbours: (head[4] >> 8) as u8,
        can_join: head[4] >> 16 & 1 == 1,
        cohort: head[5],
        address: head[6],
        device: [0; ATTRIBUTES_MAX],
    };
    let half = |word: usize, odd: usize| (head[word] >> (16 * odd)) as u16;
    for (number, value) in traits.device.iter_mut().enumerate() {
        *value = half(7 + number / 2, number % 2);
    }
    let mut points = [0; FAMILIES_MAX];
    for (number, points) in points.iter_mut().enumerate() {
        *points = half(7 + ATTRIBUTES_MAX / 2 + number / 2, number % 2).cast_signed();
    }
    let told = read_told(rest, head[HEAD - STAND - 1] as usize);
    Some(Entry { stand: Stand::of(stand), traits, points, told })
}

impl Stand {
    /// The first words of an entry.
    pub(crate) fn words(self) -> [u32; STAND] {
        [self.first as u32 | (self.now as u32) << 8, self.revision]
    }

    fn of(words: &[u32]) -> Self {
        let verdict = |byte: u32| Verdict::ALL.get((byte & 0xff) as usize).copied().unwrap_or_default();
        Self { first: verdict(words[0]), now: verdict(words[0] >> 8), revision: words[1] }
    }
}

fn clamp(points: i32) -> i16 {
    points.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

fn text((event, arrival, id): (&Event<'_>, &Arrival<'_>, DecisionId), mut to: Writer) -> Vec<u8> {
    to.u32(id.partition.cast_unsigned());
    to.i64(id.offset);
    to.u64(id.digest);
    to.text(arrival.topic);
    to.i64(arrival.append_time.millis());
    to.i64(event.occurred_at.millis());
    to.text(&event.id);
    to.text(&event.action);
    for field in [&event.user, &event.target, &event.target_owner, &event.ip, &event.device.id] {
        to.option(field.as_deref(), Writer::text);
    }
    to.into_bytes()
}

fn read_told(words: &[u32], len: usize) -> Option<Told> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take(len).collect();
    let mut from = Reader::new(&bytes);
    let id = DecisionId {
        partition: from.u32()?.cast_signed(),
        offset: from.i64()?,
        digest: from.u64()?,
        revision: 0,
    };
    let (topic, append_time) = (from.text()?, Timestamp::from_millis(from.i64()?));
    let occurred_at = Timestamp::from_millis(from.i64()?);
    let (event_id, action) = (from.text()?, from.text()?);
    let mut field = || -> Option<Option<Text<'static>>> { Some(from.option(Reader::text)?.map(Cow::Owned)) };
    let event = Event {
        id: event_id.into(),
        occurred_at,
        action: action.into(),
        user: field()?,
        target: field()?,
        target_owner: field()?,
        ip: field()?,
        device: Device { id: field()?, ..Device::default() },
        ..Event::default()
    };
    Some(Told { id, topic, append_time, event })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits() -> Traits {
        Traits {
            user: u64::MAX - 3,
            at: Timestamp::from_millis(1_750_000_000_123),
            age: 7,
            neighbours: 4,
            can_join: true,
            cohort: 1 << 31 | 5,
            address: 77,
            device: std::array::from_fn(|n| 60_000 + n as u16),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let traits = traits();
        let event = Event {
            id: "e1".into(),
            action: "like".into(),
            user: Some("ü".into()),
            target: Some("t".into()),
            ip: Some("198.51.100.7".into()),
            occurred_at: Timestamp::from_millis(1_750_000_000_000),
            ..Event::default()
        };
        let arrival = Arrival { topic: "x", partition: -2, offset: 9, append_time: traits.at };
        let stand = Stand { first: Verdict::Demote, now: Verdict::Reject, revision: 3 };
        let (mut room, id) = (Room::default(), DecisionId::first(&arrival, "e1"));
        write(&mut room, (stand, &traits), &[5, -14, 99_999], Some((&event, &arrival, id)));
        let entry = read(&room.words).expect("written here");
        assert_eq!((entry.stand, entry.traits), (stand, traits));
        assert_eq!(entry.points[..4], [5, -14, i16::MAX, 0]);
        let told = entry.told.expect("told");
        assert_eq!((told.id, &told.event, told.topic.as_str()), (id, &event, "x"));
        assert_eq!(told.append_time, arrival.append_time);
        write(&mut room, (stand, &traits), &[], None);
        assert_eq!(room.words.len(), HEAD);
        assert_eq!(read(&room.words).expect("written here").told, None);
        assert_eq!(read(&room.words[1..]), None);
    }
}
