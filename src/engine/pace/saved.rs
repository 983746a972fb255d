//! Baselines in a cut.

use super::group::{Group, Hour};
use super::histogram::BINS;
use super::{ACTIONS_MAX, Baseline};
use crate::engine::cut::{Damaged, Reader, Saved, Writer, saved};

saved!(Hour { week, counts });

saved!(Group {
    window,
    open,
    keys,
    beyond,
    learnt,
    weight,
    usual_keys,
    level,
    threshold,
    is_frozen,
    frozen,
    hours
});

impl Saved for Baseline {
    fn save(&self, to: &mut Writer) {
        self.groups.save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let groups: Vec<(u64, Group)> = Saved::load(from)?;
        let is_whole = |group: &Group| {
            let hours = group.hours.iter().flatten();
            group.open.len() == BINS
                && group.learnt.len() == BINS
                && group.hours.len() == Group::new(0).hours.len()
                && hours.into_iter().all(|hour| hour.counts.len() == BINS)
        };
        let sound = groups.len() <= ACTIONS_MAX && groups.iter().all(|(_, group)| is_whole(group));
        if sound { Ok(Self { groups }) } else { Err(Damaged) }
    }
}
