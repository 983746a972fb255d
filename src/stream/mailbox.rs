//! The bounded queues between the threads that read from Kafka and the one that scores.
//!
//! Each input topic has a lane of its own, and [`Mailbox::next`] serves lanes in order: commands never wait behind
//! a backlog of events. A lane is full by bytes or by batches; a reader that finds it full keeps its batch and
//! waits. Emptied batches come back to be filled again. Closing wakes all.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::deadline::Deadline;
use super::input::{Flow, InputEvent, InputLimits, InputProblem};
use super::record::RecordBatch;

/// Emptied batches kept for use again.
const SPARES: usize = 8;
/// Problems kept a lane; when nobody takes them, further ones are dropped: the first ones say it.
const PROBLEMS: usize = 64;

#[derive(Debug, Default)]
struct Lane {
    batches: VecDeque<RecordBatch>,
    bytes: usize,
    problems: VecDeque<InputProblem>,
    flow: Vec<Flow>,
    finished: bool,
}

#[derive(Debug)]
struct State {
    lanes: Vec<Lane>,
    spare: Vec<RecordBatch>,
    closed: bool,
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    limits: InputLimits,
    /// Something was put in, or a reader finished.
    news: Condvar,
    /// Something was taken out, or the mailbox closed.
    room: Condvar,
}

impl Mailbox {
    pub(super) fn new(lanes: usize, limits: InputLimits) -> Mailbox {
        let lanes = (0..lanes).map(|_| Lane::default()).collect();
        Mailbox {
            state: Mutex::new(State { lanes, spare: Vec::new(), closed: false }),
            limits,
            news: Condvar::new(),
            room: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // All changes are whole: nothing half done can be seen after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a batch in, or gives it back when the lane is full. An empty lane takes any batch.
    pub(super) fn offer(&self, lane: usize, batch: RecordBatch) -> Result<(), RecordBatch> {
        let mut state = self.lock();
        let lane = &mut state.lanes[lane];
        let bytes = lane.bytes.saturating_add(batch.bytes());
        let full = lane.batches.len() >= self.limits.queued_batches || bytes > self.limits.queued_bytes;
        if full && !lane.batches.is_empty() {
            return Err(batch);
        }
        lane.bytes = bytes;
        lane.batches.push_back(batch);
        drop(state);
        self.news.notify_all();
        Ok(())
    }

    /// Waits until something was taken out, at most `patience`.
    pub(super) fn wait_for_room(&self, patience: Duration) {
        let state = self.lock();
        if !state.closed {
            drop(self.room.wait_timeout(state, patience));
        }
    }

    pub(super) fn report(&self, lane: usize, problem: InputProblem) {
        let mut state = self.lock();
        let problems = &mut state.lanes[lane].problems;
        if problems.len() < PROBLEMS {
            problems.push_back(problem);
        }
        drop(state);
        self.news.notify_all();
    }

    /// What was asked of a lane's reader since the last call.
    pub(super) fn take_flow(&self, lane: usize) -> Vec<Flow> {
        std::mem::take(&mut self.lock().lanes[lane].flow)
    }

    pub(super) fn ask(&self, lane: usize, flow: Flow) {
        self.lock().lanes[lane].flow.push(flow);
    }

    /// An empty batch, used before if there is one.
    pub(super) fn spare(&self) -> RecordBatch {
        self.lock().spare.pop().unwrap_or_default()
    }

    pub(super) fn recycle(&self, mut batch: RecordBatch) {
        batch.clear();
        let mut state = self.lock();
        if state.spare.len() < SPARES {
            state.spare.push(batch);
        }
    }

    /// The next batch or problem of the first lane that has one.
    pub(super) fn next(&self, patience: Duration) -> InputEvent {
        let deadline = Deadline::after(patience);
        let mut state = self.lock();
        loop {
            if let Some(event) = state.lanes.iter_mut().find_map(Lane::take) {
                drop(state);
                self.room.notify_all();
                return event;
            }
            if state.closed || deadline.passed() {
                return InputEvent::Idle;
            }
            state = wait(&self.news, state, deadline);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.room.notify_all();
        self.news.notify_all();
    }

    /// A lane's reader has ended.
    pub(super) fn finish(&self, lane: usize) {
        self.lock().lanes[lane].finished = true;
        self.news.notify_all();
    }

    /// True once all readers have ended; waits at most `patience`.
    pub(super) fn all_finished(&self, patience: Duration) -> bool {
        let deadline = Deadline::after(patience);
        let mut state = self.lock();
        loop {
            if state.lanes.iter().all(|lane| lane.finished) {
                return true;
            }
            if deadline.passed() {
                return false;
            }
            state = wait(&self.news, state, deadline);
        }
    }
}

fn wait<'a>(condition: &Condvar, state: MutexGuard<'a, State>, deadline: Deadline) -> MutexGuard<'a, State> {
    condition.wait_timeout(state, deadline.left()).unwrap_or_else(PoisonError::into_inner).0
}

impl Lane {
    fn take(&mut self) -> Option<InputEvent> {
        if let Some(problem) = self.problems.pop_front() {
            return Some(InputEvent::Problem(problem));
        }
        let batch = self.batches.pop_front()?;
        self.bytes = self.bytes.saturating_sub(batch.bytes());
        Some(InputEvent::Records(batch))
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Coordinates, Timestamp};
    use super::super::topics::Topic;
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn batch(bytes: usize) -> RecordBatch {
        let mut batch = RecordBatch::default();
        let at = Coordinates { topic: Topic::Interactions, partition: 0, offset: 0 };
        batch.push(at, Timestamp::None, None, Some(&vec![0; bytes]));
        batch
    }

    fn mailbox() -> Mailbox {
        let limits = InputLimits { queued_batches: 2, queued_bytes: 100, ..InputLimits::default() };
        Mailbox::new(2, limits)
    }

    fn bytes_of(event: InputEvent) -> Option<usize> {
        match event {
            InputEvent::Records(batch) => Some(batch.bytes()),
            _ => None,
        }
    }

    #[test]
    fn a_lane_is_bounded_by_batches_and_by_bytes() {
        let mailbox = mailbox();
        assert!(mailbox.offer(0, batch(1)).is_ok() && mailbox.offer(0, batch(1)).is_ok());
        assert!(mailbox.offer(0, batch(1)).is_err());
        assert!(mailbox.offer(1, batch(500)).is_ok(), "an empty lane takes any batch");
        assert!(mailbox.offer(1, batch(1)).is_err());
        assert_eq!(bytes_of(mailbox.next(NOW)), Some(1));
        assert!(mailbox.offer(0, batch(1)).is_ok());
    }

    #[test]
    fn the_first_lane_goes_first() {
        let mailbox = mailbox();
        assert!(mailbox.offer(1, batch(2)).is_ok() && mailbox.offer(0, batch(1)).is_ok());
        assert_eq!(bytes_of(mailbox.next(NOW)), Some(1));
        assert_eq!(bytes_of(mailbox.next(NOW)), Some(2));
        assert!(matches!(mailbox.next(NOW), InputEvent::Idle));
    }

    #[test]
    fn closing_wakes_and_readers_are_awaited() {
        let mailbox = mailbox();
        mailbox.close();
        mailbox.finish(0);
        assert!(matches!(mailbox.next(Duration::from_secs(60)), InputEvent::Idle));
        assert!(!mailbox.all_finished(NOW));
        mailbox.finish(1);
        assert!(mailbox.all_finished(NOW));
    }
}
