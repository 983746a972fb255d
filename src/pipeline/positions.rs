//! Where the inputs of a shard are read on when no state can be restored.

use crate::stream::{Topic, TopicNames};

use super::line::Positions;
use super::logs::{FollowError, Logs};

/// Where the newest record of the journal says; for a partition that it does not know, where the group has committed,
/// else the beginning of what is held.
///
/// # Errors
/// See [`FollowError`].
pub(super) fn beginning(logs: &mut impl Logs, names: &TopicNames) -> Result<Positions, FollowError> {
    let mut positions = Positions::new();
    for topic in Topic::INPUTS {
        for (partition, committed) in (0..).zip(logs.committed(topic)?) {
            let next = match committed {
                Some(next) => next,
                None => logs.held(topic, partition)?.0,
            };
            positions.insert((topic, partition), next);
        }
    }
    let newest = logs.newest()?;
    for at in newest.iter().flat_map(|newest| &newest.positions) {
        let mut places = positions.iter_mut();
        let place = places
            .find(|((topic, partition), _)| names.get(*topic) == at.topic && *partition == at.partition);
        if let Some((_, next)) = place {
            *next = at.offset;
        }
    }
    Ok(positions)
}
