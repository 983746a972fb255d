//! Bytes to nouns and back: one file per subject of the contract in `schemas/`.
//!
//! It knows JSON, CloudEvents and the header and key rules of each topic; it knows no Kafka client, no clock and
//! no state. Every record ends in `Ok` or in a [`DecodeError`](error::DecodeError) that names the reason and the
//! place: nothing here panics on bytes from outside, and nothing is read past the stated limits.
//!
//! Writers are exact: the same noun always gives the same bytes. Readers are tolerant of what a later minor
//! version may add: unknown fields are skipped, an unknown verdict is read as a weaker one.

pub mod ban;
mod body;
mod bytes;
pub mod case;
pub mod command;
pub mod contract;
pub mod dead_letter;
pub mod decision;
pub mod error;
pub mod feedback;
pub mod headers;
pub mod interaction;
pub mod journal;
mod json;
pub mod moment;
pub mod outgoing;
pub mod policy;
pub mod quantity;
pub mod record;
mod seed;
pub mod shadow;
pub mod shadow_tally;
mod text;
pub mod time;
pub mod words;
