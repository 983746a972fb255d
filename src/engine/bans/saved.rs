//! Bans and pardons in a cut.

use std::sync::Arc;

use super::{Bans, Held, source_of};
use crate::engine::ban::Ban;
use crate::engine::cut::{Damaged, Reader, Saved, Writer};

impl Saved for Bans {
    fn save(&self, to: &mut Writer) {
        let Self { by_entity, pardons, count: _ } = self;
        by_entity.save(to);
        pardons.save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let mut bans = Self { by_entity: Saved::load(from)?, pardons: Saved::load(from)?, count: 0 };
        bans.count = bans.by_entity.values().map(Vec::len).sum();
        Ok(bans)
    }
}

impl Saved for Held {
    fn save(&self, to: &mut Writer) {
        let Self { ban, source: _ } = self;
        ban.save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let ban = Ban::load(from)?;
        Ok(Self { source: Arc::new(source_of(&ban)), ban })
    }
}
