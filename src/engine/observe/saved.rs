//! Observation pools in a cut.

use super::{Pool, Watch};
use crate::engine::cut::{Damaged, Reader, Saved, Writer, saved};

saved!(Watch { last_sign, signs, watched, thirds });

impl Saved for Pool {
    fn save(&self, to: &mut Writer) {
        let Self { entities, by_last_sign: _, evicted } = self;
        entities.save(to);
        evicted.save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let mut pool = Self { entities: Saved::load(from)?, evicted: Saved::load(from)?, ..Self::default() };
        let signs = pool.entities.iter().map(|(key, watch)| (watch.last_sign, *key));
        pool.by_last_sign = signs.collect();
        let sound = pool.entities.values().all(|watch| watch.watched.is_none_or(|(third, _)| third < 3));
        if sound { Ok(pool) } else { Err(Damaged) }
    }
}
