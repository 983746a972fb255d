//! The short road: an interaction in its usual form, read in one pass over the bytes.
//!
//! It takes text without escapes, times, short whole numbers and booleans, the known keys, each at most once, and
//! nothing else. Whatever is otherwise, a fault included, is left to the general reader from the start, which is the
//! only one that tells what is wrong. What both can read they read alike; a test holds them together.

use std::borrow::Cow;

use super::object::{KEYS_MAX, Top};
use super::{Attributes, Interaction, Spare};
use crate::engine::event::{Account, Attempt, Device, Text, Value};
use crate::engine::time::Timestamp;
use crate::wire::{bytes, time};

/// Digits that surely fit 64 bits with sign.
const DIGITS_MAX: usize = 18;

/// Reads an interaction into `told`, which is to be empty, and says whether all text in it is known to be free of control
/// characters; `None` when it is not in the usual form, and then part of it may have been read. Lists are taken from
/// `spare` where it has some.
pub(super) fn read<'a>(text: &'a str, spare: &mut Spare, told: &mut Interaction<'a>) -> Option<bool> {
    let mut scan = Scan { text, at: 0, simple: is_simple(text), spare };
    let mut seen = 0u32;
    scan.object(|scan, key| {
        let field = Top::of(key)?;
        let bit = 1u32 << field as u32;
        if seen & bit != 0 {
            return None;
        }
        seen |= bit;
        scan.field(field, told)
    })?;
    scan.blank();
    (scan.at == text.len()).then_some(scan.simple)
}

/// Whether no text of a record can hold an escape or a control character, so that each ends at the next quote. The byte
/// 0xC2 leads all control characters beyond ASCII, and more.
fn is_simple(text: &str) -> bool {
    let suspect = |byte: u8| byte < 0x20 || matches!(byte, b'\\' | 0x7f | 0xc2);
    // Without a way out early, so that many bytes are looked at in one go.
    text.bytes().fold(0, |found, byte| found | u8::from(suspect(byte))) == 0
}

/// Where the reading stands. All methods give up with `None`.
struct Scan<'a, 's> {
    text: &'a str,
    at: usize,
    simple: bool,
    spare: &'s mut Spare,
}

impl<'a> Scan<'a, '_> {
    fn field(&mut self, field: Top, told: &mut Interaction<'a>) -> Option<()> {
        let event = &mut told.event;
        match field {
            Top::EventId => event.id = self.words()?,
            Top::OccurredAt => told.occurred_at = Some(self.instant()?),
            Top::Action => event.action = self.words()?,
            Top::UserId => event.user = Some(self.words()?),
            Top::TargetId => event.target = Some(self.words()?),
            Top::TargetOwnerId => event.target_owner = Some(self.words()?),
            Top::Ip => event.ip = Some(self.words()?),
            Top::ForwardedFor => event.forwarded_for = Some(self.words()?),
            Top::Device => self.device(&mut event.device)?,
            Top::Account => self.account(&mut event.account)?,
            Top::UserAgent => event.user_agent = Some(self.words()?),
            Top::SessionId => event.session = Some(self.words()?),
            Top::Outcome => event.outcome = Some(self.attempt()?),
            Top::ContentHash => event.content_hash = Some(self.words()?),
            Top::Attributes => {
                self.object(|scan, key| scan.attribute(key, &mut event.attributes))?;
            }
            Top::AppendTime => told.append_time = Some(self.instant()?),
        }
        Some(())
    }

    fn device(&mut self, device: &mut Device<'a>) -> Option<()> {
        self.object(|scan, key| match key {
            "id" if device.id.is_none() => {
                device.id = Some(scan.words()?);
                Some(())
            }
            "id" => None,
            _ => scan.attribute(key, &mut device.attributes),
        })
    }

    fn account(&mut self, account: &mut Account<'a>) -> Option<()> {
        self.object(|scan, key| match key {
            "created_at" if account.created_at.is_none() => {
                account.created_at = Some(scan.instant()?);
                Some(())
            }
            "plan" if account.plan.is_none() => {
                account.plan = Some(scan.words()?);
                Some(())
            }
            "created_at" | "plan" => None,
            _ => scan.attribute(key, &mut account.attributes),
        })
    }

    fn attribute(&mut self, key: &'a str, into: &mut Attributes<'a>) -> Option<()> {
        if into.len() >= KEYS_MAX || into.iter().any(|(name, _)| name == key) {
            return None;
        }
        let value = self.scalar()?;
        if into.capacity() == 0 {
            *into = self.spare.take();
        }
        into.push((Cow::Borrowed(key), value));
        Some(())
    }

    /// An object whose values `each` reads, key by key.
    fn object(&mut self, mut each: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.token(b'{')?;
        self.blank();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.string()?;
            self.token(b':')?;
            each(self, key)?;
            self.blank();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return None,
            }
        }
        self.at += 1;
        Some(())
    }

    fn scalar(&mut self) -> Option<Value<'a>> {
        self.blank();
        match self.peek()? {
            b'"' => self.words().map(Value::Text),
            b't' => self.literal("true").map(|()| Value::Bool(true)),
            b'f' => self.literal("false").map(|()| Value::Bool(false)),
            _ => self.number().map(Value::Int),
        }
    }

    fn literal(&mut self, word: &str) -> Option<()> {
        self.text.as_bytes()[self.at..].starts_with(word.as_bytes()).then_some(())?;
        self.at += word.len();
        Some(())
    }

    fn attempt(&mut self) -> Option<Attempt> {
        match self.string()? {
            "success" => Some(Attempt::Success),
            "failure" => Some(Attempt::Failure),
            _ => None,
        }
    }

    fn instant(&mut self) -> Option<Timestamp> {
        self.blank();
        match self.peek()? {
            b'"' => time::from_text(self.string()?).ok(),
            _ => time::from_millis(i128::from(self.number()?)).ok(),
        }
    }

    /// A whole number without sign; what follows it must end it.
    fn number(&mut self) -> Option<i64> {
        let digits = self.text.as_bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_digit());
        let (mut count, mut number) = (0, 0i64);
        for digit in digits.take(DIGITS_MAX + 1) {
            number = number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            count += 1;
        }
        let leading_zero = count > 1 && self.peek()? == b'0';
        self.at += count;
        let ended = matches!(self.peek()?, b',' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
        (ended && !leading_zero && (1..=DIGITS_MAX).contains(&count)).then_some(number)
    }

    fn words(&mut self) -> Option<Text<'a>> {
        self.string().map(Cow::Borrowed)
    }

    /// Text without escapes.
    fn string(&mut self) -> Option<&'a str> {
        self.token(b'"')?;
        let rest = self.text.get(self.at..)?;
        let bytes = rest.as_bytes();
        let len = if self.simple {
            bytes::before(bytes, |eight| bytes::equal(eight, b'"'))?
        } else {
            plain_len(bytes).filter(|len| bytes[*len] == b'"')?
        };
        self.at += len + 1;
        rest.get(..len)
    }

    /// The next byte that is no white space, which must be this one.
    #[inline]
    fn token(&mut self, byte: u8) -> Option<()> {
        self.blank();
        (self.peek()? == byte).then_some(())?;
        self.at += 1;
        Some(())
    }

    #[inline]
    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// Bytes before the first quote, backslash or control character; `None` when there is none of them.
#[inline]
fn plain_len(text: &[u8]) -> Option<usize> {
    bytes::before(text, |eight| {
        bytes::equal(eight, b'"') | bytes::equal(eight, b'\\') | bytes::below(eight, 0x20)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::object;
    use super::*;
    use crate::wire::error::Trail;

    /// What the general reader makes of it.
    fn general(text: &str) -> Option<Interaction<'_>> {
        let mut parser = serde_json::Deserializer::from_str(text);
        let mut told = Interaction::default();
        object::read(&mut parser, &Trail::default(), &mut told).and_then(|()| parser.end()).ok()?;
        Some(told)
    }

    /// What the short road makes of it.
    fn short(text: &str) -> Option<Interaction<'_>> {
        let mut told = Interaction::default();
        let simple = read(text, &mut Spare::default(), &mut told)?;
        assert!(!simple || !text.chars().any(char::is_control), "{text}");
        Some(told)
    }

    const USUAL: &str = r#" {"event_id":"e1","occurred_at":1750000000250,"action":"like" , "user_id":"ü1",
        "target_id":"t","target_owner_id":"o","ip":"198.51.100.7","xff":"203.0.113.5, 198.51.100.7",
        "device":{"id":"d1","os":"Android","cores":8,"touch":true,"old":false},
        "account":{"created_at":"2025-06-15T15:06:40.250Z","plan":"pro","level":0},"user_agent":"Mozilla/5.0 (x)",
        "session_id":"","outcome":"failure","content_hash":"c1","attributes":{},"append_time":1750000000300} "#;

    #[test]
    fn the_usual_form_is_read_as_the_general_reader_does() {
        let told = short(USUAL);
        assert!(told.is_some());
        assert_eq!(told, general(USUAL));
    }

    #[test]
    fn whatever_is_unusual_is_left_to_the_general_reader() {
        for (usual, unusual) in [
            ("\"t\"", "42"),
            ("\"t\"", "null"),
            ("\"t\"", r#""\u0041""#),
            ("\"t\"", "\"a\u{1}\""),
            ("target_id", "event_id"),
            ("target_id", "later"),
            ("1750000000250", "1750000000250.0"),
            ("1750000000250", "01750000000250"),
            ("1750000000250", "-1750000000250"),
            ("1750000000250", "1750000000"),
            ("1750000000250", "17500000002500000000"),
            ("\"os\"", "\"id\""),
            ("\"old\"", "\"os\""),
            ("\"level\"", "\"plan\""),
            (":8,", ":8.5,"),
            (":8,", ":[8],"),
            (":true", ":truth"),
            ("failure", "maybe"),
            (" {\"event", " [{\"event"),
            ("300} ", "300} x"),
            ("300} ", "300,} "),
            ("300} ", "300"),
        ] {
            let text = USUAL.replacen(usual, unusual, 1);
            assert_ne!(text, USUAL);
            assert_eq!(short(&text), None, "{text}");
        }
    }

    proptest! {
        /// Cut, doubled and changed at random: the short road never says anything else.
        #[test]
        fn the_short_road_agrees_with_the_long_one(
            at in 0..USUAL.len(), change in prop_oneof![Just(""), Just("\""), Just("\\"), Just("0"), Just(","), Just("}"),
                Just("{"), Just(" "), Just("\u{7f}"), Just("é"), Just("e"), Just("\n"), Just("-")], removed in 0usize..3,
        ) {
            let end = (at + removed).min(USUAL.len());
            if let (Some(before), Some(after)) = (USUAL.get(..at), USUAL.get(end..)) {
                let text = format!("{before}{change}{after}");
                if let Some(told) = short(&text) {
                    prop_assert_eq!(Some(told), general(&text), "{}", text);
                }
            }
        }
    }
}
