//! What accounts call themselves and look like: the shape and the stem of a nickname, and the avatar.
//!
//! Scripts that register accounts make names by a pattern (`Sunny4821`, `Sunny7300`) and give many the same picture. Who
//! registers has a name and a picture as well, so likeness counts by how rare what is shared is, as with devices. It is
//! evidence of how the account was made, and so of the same family as its age and its time of registration: newcomers who
//! keep the names and pictures that they were given must not be two kinds of evidence.

use std::borrow::Cow;

use super::traits::{ATTRIBUTES_MAX, short, short_of};
use crate::engine::event::{Event, Value};
use crate::engine::key::{HashSeed, attribute};
use crate::engine::policy::{OpenAttribute, Persona};

/// Values that are compared: shape, stem, avatar.
pub(crate) const VALUES: usize = 3;
/// Where they begin among the attributes of an account; the last ones.
pub(crate) const FIRST: usize = ATTRIBUTES_MAX - VALUES;
/// Characters of a shape.
const SHAPE_MAX: usize = 24;
/// Bytes of a shape, at most; names are worked on in so much room.
const ROOM: usize = 4 * SHAPE_MAX;
/// Letters of a stem, at least: fewer are no name.
const STEM_LEAST: usize = 3;

/// Short hashes of what an event tells of the account's nickname and avatar; 0 where it tells nothing.
pub(crate) fn values(persona: &Persona, event: &Event<'_>, seed: HashSeed) -> [u16; VALUES] {
    let hash = |text: &[u8]| if text.is_empty() { 0 } else { short_of(text, seed) };
    let nickname = match persona.nickname.as_ref().and_then(|of| find(of, event)) {
        Some(Value::Text(name)) => name.trim(),
        _ => "",
    };
    let avatar = persona.avatar.as_ref().and_then(|of| find(of, event));
    let mut room = [0; ROOM];
    let shape = hash(shape(nickname, &mut room));
    [shape, hash(&stem(nickname, &mut room)), avatar.map_or(0, |avatar| short(avatar, seed))]
}

fn find<'v>(of: &OpenAttribute, event: &'v Event<'_>) -> Option<&'v Value<'v>> {
    match of {
        OpenAttribute::OfAccount(name) => attribute(&event.account.attributes, name),
        OpenAttribute::OfEvent(name) => attribute(&event.attributes, name),
    }
}

/// Each character by its class: `Sunny4821` is `Aaaaa9999`.
fn shape<'r>(name: &str, room: &'r mut [u8; ROOM]) -> &'r [u8] {
    let class = |c: char| match c {
        c if c.is_uppercase() => 'A',
        c if c.is_lowercase() => 'a',
        c if c.is_numeric() => '9',
        c if c.is_alphabetic() => 'x',
        c if c.is_whitespace() => ' ',
        c => c,
    };
    let mut len = 0;
    for c in name.chars().take(SHAPE_MAX).map(class) {
        len += c.encode_utf8(&mut room[len..]).len();
    }
    &room[..len]
}

/// The name without the number at its end, in small letters: `Sunny_4821` is `sunny`. Empty where that is no name.
fn stem<'r>(name: &str, room: &'r mut [u8; ROOM]) -> Cow<'r, [u8]> {
    let stem = name.trim_end_matches(|c: char| !c.is_alphabetic());
    if stem.len() == name.len() || stem.chars().filter(|c| c.is_alphabetic()).count() < STEM_LEAST {
        return Cow::Borrowed(&[]);
    }
    match room.get_mut(..stem.len()).filter(|_| stem.is_ascii()) {
        Some(room) => {
            room.copy_from_slice(stem.as_bytes());
            room.make_ascii_lowercase();
            Cow::Borrowed(room)
        }
        None => Cow::Owned(stem.to_lowercase().into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_made_by_one_pattern_have_one_shape_and_one_stem() {
        for (name, expected) in [
            ("Sunny4821", ("Aaaaa9999", "sunny")),
            ("sunny_4821", ("aaaaa_9999", "sunny")),
            ("Ann", ("Aaa", "")),
            ("x7", ("a9", "")),
            ("\u{4f60}\u{597d}\u{554a}12", ("xxx99", "\u{4f60}\u{597d}\u{554a}")),
            ("", ("", "")),
        ] {
            let (mut one, mut other) = ([0; ROOM], [0; ROOM]);
            let told = (shape(name, &mut one), &*stem(name, &mut other));
            assert_eq!(told, (expected.0.as_bytes(), expected.1.as_bytes()), "{name}");
        }
        let long = format!("{}7", "\u{4f60}".repeat(500));
        assert_eq!(shape(&long, &mut [0; ROOM]), "x".repeat(SHAPE_MAX).as_bytes());
        assert_eq!(*stem(&long, &mut [0; ROOM]), *"\u{4f60}".repeat(500).as_bytes());
    }

    #[test]
    fn what_an_event_does_not_tell_is_unknown() {
        let persona = Persona {
            nickname: Some(OpenAttribute::OfAccount("nickname".into())),
            avatar: Some(OpenAttribute::OfEvent("avatar".into())),
        };
        let of = |event: &Event<'_>| values(&persona, event, HashSeed(3, 4));
        let mut event = Event::default();
        assert_eq!(of(&event), [0; VALUES]);
        event.account.attributes = vec![("nickname".into(), Value::Text("Sunny4821".into()))];
        let one = of(&event);
        assert!(one[0] != 0 && one[1] != 0 && one[2] == 0);
        event.account.attributes = vec![("nickname".into(), Value::Text("Sunny7300".into()))];
        event.attributes = vec![("avatar".into(), Value::Int(7))];
        assert_eq!(of(&event)[..2], one[..2]);
        assert_ne!(of(&event)[2], 0);
        // A number is no nickname.
        event.account.attributes = vec![("nickname".into(), Value::Int(7))];
        assert_eq!(of(&event)[..2], [0, 0]);
    }
}
