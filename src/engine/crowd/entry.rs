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
    /// Whether there is what a correction tells: of those who could belong to a bought crowd only. See [`told`].
    pub(crate) is_told: bool,
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
/// Words before the device attributes, the points and the text; the last one is the length of the text, in bytes.
const HEAD: usize = STAND + 8;
/// Where parts of the word of small numbers begin: bits.
const NEIGHBOURS: u32 = 8;
const CAN_JOIN: u32 = 16;
/// Words of device attributes, and of points; zeros at the end are left out.
const DEVICE: u32 = 17;
const POINTS: u32 = 21;

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
    let (device, points) = (device_words(&traits.device), point_words(points));
    let (device, points) = (trimmed(&device), trimmed(&points));
    let bytes = std::mem::take(&mut room.bytes);
    let bytes = match told {
        Some(told) => text(told, Writer::over(bytes)),
        None => Writer::over(bytes).into_bytes(),
    };
    let (user, at) = (traits.user, traits.at.millis().cast_unsigned());
    let small = u32::from(traits.age)
        | u32::from(traits.neighbours) << NEIGHBOURS
        | u32::from(traits.can_join) << CAN_JOIN
        | (device.len() as u32) << DEVICE
        | (points.len() as u32) << POINTS;
    let words = &mut room.words;
    words.clear();
    words.extend(stand.words());
    words.extend([user as u32, (user >> 32) as u32, at as u32, (at >> 32) as u32, small]);
    words.extend([traits.cohort, traits.address, bytes.len() as u32]);
    words.extend(device);
    words.extend(points);
    let (whole, rest) = bytes.as_chunks::<4>();
    words.extend(whole.iter().map(|word| u32::from_le_bytes(*word)));
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    words.extend((!rest.is_empty()).then(|| u32::from_le_bytes(last)));
    room.bytes = bytes;
}

fn device_words(device: &[u16; ATTRIBUTES_MAX]) -> [u32; ATTRIBUTES_MAX / 2] {
    std::array::from_fn(|pair| u32::from(device[2 * pair]) | u32::from(device[2 * pair + 1]) << 16)
}

fn point_words(points: &[i32]) -> [u32; FAMILIES_MAX / 2] {
    let point = |family: usize| points.get(family).map_or(0, |points| clamp(*points)).cast_unsigned();
    std::array::from_fn(|pair| u32::from(point(2 * pair)) | u32::from(point(2 * pair + 1)) << 16)
}

/// Without the zeros at the end.
fn trimmed(words: &[u32]) -> &[u32] {
    let len = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    &words[..len]
}

/// Reads what [`write()`] wrote, and what [`Stand::words`] put in its place since.
pub(crate) fn read(words: &[u32]) -> Option<Entry> {
    let (head, rest) = words.split_at_checked(HEAD)?;
    let (stand, head) = head.split_at(STAND);
    let pair = |at: usize| u64::from(head[at]) | u64::from(head[at + 1]) << 32;
    let small = head[4];
    let (device, rest) = rest.split_at_checked((small >> DEVICE & 0xf) as usize)?;
    let (points, _) = rest.split_at_checked((small >> POINTS & 0xf) as usize)?;
    let half = |words: &[u32], n: usize| words.get(n / 2).map_or(0, |word| (word >> (16 * (n % 2))) as u16);
    let traits = Traits {
        user: pair(0),
        at: Timestamp::from_millis(pair(2).cast_signed()),
        age: small as u8,
        neighbours: (small >> NEIGHBOURS) as u8,
        can_join: small >> CAN_JOIN & 1 == 1,
        cohort: head[5],
        address: head[6],
        device: std::array::from_fn(|attribute| half(device, attribute)),
    };
    let points = std::array::from_fn(|family| half(points, family).cast_signed());
    Some(Entry { stand: Stand::of(stand), traits, points, is_told: head[7] > 0 })
}

/// What a correction of an entry tells, if there is that.
pub(crate) fn told(words: &[u32]) -> Option<Told> {
    let (head, rest) = words.split_at_checked(HEAD)?;
    let small = head[STAND + 4];
    let before = (small >> DEVICE & 0xf) + (small >> POINTS & 0xf);
    read_told(rest.get(before as usize..)?, head[HEAD - 1] as usize)
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
        let told = told(&room.words).expect("told");
        assert!(entry.is_told);
        assert_eq!((told.id, &told.event, told.topic.as_str()), (id, &event, "x"));
        assert_eq!(told.append_time, arrival.append_time);
        write(&mut room, (stand, &traits), &[], None);
        assert_eq!(room.words.len(), HEAD + ATTRIBUTES_MAX / 2);
        assert_eq!(
            (read(&room.words).map(|entry| entry.is_told), super::told(&room.words)),
            (Some(false), None)
        );
        assert_eq!(read(&room.words[..HEAD]), None);
        assert_eq!(read(&room.words[..HEAD - 1]), None);
    }
}
