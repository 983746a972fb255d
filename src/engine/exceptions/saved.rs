//! Exceptions in a cut.

use super::{Exception, ExceptionKind, Exceptions};
use crate::engine::cut::{Damaged, Reader, Saved, Writer, load_of, saved};

saved!(Exceptions { by_entity, count });
saved!(Exception { entity, kind, rule, until });

/// By their place in the enum.
const KINDS: [ExceptionKind; 2] = [ExceptionKind::Snoozed, ExceptionKind::Exempt];

impl Saved for ExceptionKind {
    fn save(&self, to: &mut Writer) {
        to.push(*self as u32);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_of(&KINDS, from)
    }
}
