//! The life of a shard: wait for ownership, take over, run, and again when it had to be given up.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::engine::Engine;
use crate::stream::{Ownership, OwnershipEvent};
use crate::wire::interaction::DecodeLimits;

use super::restore::read_bans;
use super::score::{Report, Scorer};
use super::shard::{Shard, ShardError, ShardSettings, Wishes};

/// Time between two attempts to be of use.
const AGAIN: Duration = Duration::from_secs(1);

/// Where a live shard stands, for those who ask whether it is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Another instance owns the shard, or the group is settling.
    Waiting,
    /// The group cannot be reached; why, in words. It is tried on.
    OutOfReach(String),
    /// It is this instance's; state is being made ready.
    TakingOver,
    /// Events are being scored.
    Running,
    /// State was dropped; why, in words.
    GaveUp(String),
}

/// Is called behind each commit with what the batch did.
pub type Told = dyn FnMut(&mut Report) + Send;

/// What a live shard needs from its surroundings.
pub struct Surroundings<'s> {
    /// Makes an engine without state, under the newest policy.
    pub engine: &'s (dyn Fn() -> Engine + Sync),
    /// Is called behind each commit.
    pub told: Arc<Mutex<Told>>,
    /// Is told each change of stage.
    pub stage: &'s (dyn Fn(Stage) + Sync),
    /// Bounds of records and fields.
    pub limits: DecodeLimits,
}

/// Runs a shard until told to stop. What a moment's trouble ends begins anew; what cannot get better is returned.
///
/// # Errors
/// A property is refused, a topic is missing, or access is denied.
pub fn run_live(
    settings: &Arc<ShardSettings>,
    wishes: &mut Wishes,
    around: &Surroundings<'_>,
) -> Result<(), ShardError> {
    while !wishes.stop.load(Ordering::Relaxed) {
        (around.stage)(Stage::Waiting);
        let member = Arc::new(Mutex::new(Ownership::join(&settings.kafka, &settings.names)?));
        let ended = if wait_for_ownership(settings, &member, wishes, around)? {
            (around.stage)(Stage::TakingOver);
            own(settings, &member, wishes, around)
        } else {
            Ok(())
        };
        leave(member);
        match ended {
            Ok(()) => {}
            Err(ShardError::GaveUp(why)) => {
                tracing::warn!(%why, "the shard was given up; its state is dropped");
                (around.stage)(Stage::GaveUp(why));
                std::thread::park_timeout(AGAIN);
            }
            Err(ShardError::Stream(error)) if !error.is_lasting() => {
                tracing::warn!(%error, "taking the shard over failed and is tried again");
                (around.stage)(Stage::GaveUp(error.to_string()));
                std::thread::park_timeout(AGAIN);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// True once the shard is owned; false when told to stop before.
fn wait_for_ownership(
    settings: &ShardSettings,
    member: &Mutex<Ownership>,
    wishes: &mut Wishes,
    around: &Surroundings<'_>,
) -> Result<bool, ShardError> {
    while !wishes.stop.load(Ordering::Relaxed) {
        (wishes.turned)();
        let member = member.lock().unwrap_or_else(PoisonError::into_inner);
        if member.owns(settings.shard.cast_signed()) {
            return Ok(true);
        }
        if let Some(OwnershipEvent::Problem(error)) = member.next(Duration::from_millis(100)) {
            if error.is_lasting() {
                return Err(error.into());
            }
            tracing::warn!(%error, "waiting for the shard");
            (around.stage)(Stage::OutOfReach(error.to_string()));
        }
    }
    Ok(false)
}

fn own(
    settings: &Arc<ShardSettings>,
    member: &Arc<Mutex<Ownership>>,
    wishes: &mut Wishes,
    around: &Surroundings<'_>,
) -> Result<(), ShardError> {
    let mut engine = (around.engine)();
    let bans = read_bans(settings)?;
    tracing::info!(bans = bans.len(), policy = %engine.policy().hash, "taking the shard over; windows are empty");
    let restored = engine.restore_bans(bans);
    let scorer = Scorer::new(engine, settings.names.clone(), around.limits);
    let told = Arc::clone(&around.told);
    let told = move |report: &mut Report| (told.lock().unwrap_or_else(PoisonError::into_inner))(report);
    // Readers of this process know all bans before the first event is scored.
    told(&mut Report { bans: restored, ..Report::default() });
    let shard = Shard::take_over(Arc::clone(settings), scorer, Arc::clone(member), told)?;
    (around.stage)(Stage::Running);
    shard.run(wishes)
}

fn leave(member: Arc<Mutex<Ownership>>) {
    if let Some(member) = Arc::into_inner(member) {
        let member = member.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !member.leave(Duration::from_secs(2)) {
            tracing::warn!("leaving the group took too long; it learns of it by the session timeout");
        }
    }
}
