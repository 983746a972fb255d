//! What became of a transaction, and how the client's error codes are sorted into it.
//!
//! The difference that matters is what is known. After [`CommitError::Aborted`] nothing of the batch is visible and
//! the same bytes may be sent again. After [`CommitError::Unknown`] it may or may not be: a new producer of the same
//! shard settles that when it opens, and the end of the journal then tells. After [`CommitError::Fenced`] another
//! instance owns the shard; a commit that was under way may have succeeded, which the journal tells too.

use std::fmt;

use rdkafka::error::{KafkaError, RDKafkaError, RDKafkaErrorCode};

use super::error::{StreamError, is_denied, is_unknown_topic, is_unreachable};

/// The steps of a transaction, in order. Each is told before it begins, so that a test can end the process there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The transaction is opened: nothing is sent yet.
    Begin,
    /// Records are handed to the client, which sends them on its own.
    Send,
    /// All records are awaited at the broker.
    Drain,
    /// The input offsets are added.
    Offsets,
    /// The commit is asked for.
    Commit,
    /// The commit is known to have succeeded.
    Done,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Begin => "opening the transaction",
            Step::Send => "handing over records",
            Step::Drain => "waiting for records to be written",
            Step::Offsets => "adding the input offsets",
            Step::Commit => "committing",
            Step::Done => "done",
        })
    }
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Which step.
    pub step: Step,
    /// The client's name of the error, such as `IllegalGeneration`.
    pub code: String,
    /// The client's words.
    pub text: String,
    /// Topic and partition of the record that could not be written, when it was one. The partition is negative when
    /// none was chosen yet.
    pub record: Option<(String, i32)>,
    /// True when sending the same again cannot help: access denied, topic missing, record too large.
    pub lasting: bool,
    /// True when the group's state in the commit was stale: a member came or went. Fresh metadata is needed, and the
    /// shard may be lost.
    pub stale_member: bool,
}

impl Cause {
    /// The refusal by access rules, if it was one: whoever goes on trying is only refused again.
    pub fn denial(&self) -> Option<StreamError> {
        let what = match &self.record {
            Some((topic, _)) => format!("{} to {topic}", self.step),
            None => self.step.to_string(),
        };
        let denied = self.code.ends_with("AuthorizationFailed");
        denied.then(|| StreamError::Denied { doing: what, reason: self.text.clone() })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.step)?;
        if let Some((topic, partition)) = &self.record {
            write!(f, "a record for {topic}")?;
            if *partition >= 0 {
                write!(f, "/{partition}")?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{} ({})", self.text, self.code)
    }
}

/// Why a batch was not committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// Nothing of it is visible, and the producer is ready for the same batch again, with fresh group metadata.
    /// Ask [`super::Ownership::owns`] first, and look at [`Cause::lasting`].
    #[error("the transaction was aborted; {0}")]
    Aborted(Cause),
    /// It may be visible or not. This producer is done for: open a new one for the shard, then read the journal's
    /// end.
    #[error("the outcome of the transaction is unknown; {0}")]
    Unknown(Cause),
    /// Another producer of this shard has been opened. Drop the state.
    #[error("another instance has taken the shard; {0}")]
    Fenced(Cause),
    /// The producer is broken, or was used wrongly.
    #[error("the transactional producer failed; {0}")]
    Fatal(Cause),
}

impl CommitError {
    /// What happened.
    pub fn cause(&self) -> &Cause {
        match self {
            CommitError::Aborted(cause)
            | CommitError::Unknown(cause)
            | CommitError::Fenced(cause)
            | CommitError::Fatal(cause) => cause,
        }
    }
}

/// What has to be done about a failed step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepError {
    /// Make the same call again.
    Retry(Cause),
    /// Abort the transaction.
    Abort(Cause),
    Fenced(Cause),
    Fatal(Cause),
}

/// Sorts an error of a transactional call.
pub(super) fn sort(step: Step, error: &KafkaError) -> StepError {
    match error {
        KafkaError::Transaction(error) => sort_transaction(step, error),
        // The client's own wait for records before a commit ran out of time: nothing was asked of the broker yet.
        KafkaError::Flush(_) => StepError::Retry(cause_of(step, error)),
        other => match other.rdkafka_error_code() {
            Some(code) if is_fence(code) => StepError::Fenced(cause_of(step, other)),
            Some(RDKafkaErrorCode::Fatal | RDKafkaErrorCode::State) => {
                StepError::Fatal(cause_of(step, other))
            }
            _ => StepError::Abort(cause_of(step, other)),
        },
    }
}

fn sort_transaction(step: Step, error: &RDKafkaError) -> StepError {
    let cause = cause(step, Some(error.code()), error.string());
    if is_fence(error.code()) {
        StepError::Fenced(cause)
    } else if error.is_fatal() {
        StepError::Fatal(cause)
    } else if error.txn_requires_abort() {
        StepError::Abort(cause)
    } else if error.is_retriable() {
        StepError::Retry(cause)
    } else {
        StepError::Fatal(cause)
    }
}

/// True when another producer with the same transactional id has taken over.
pub(super) fn is_fence(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(code, Code::Fenced | Code::ProducerFenced | Code::InvalidProducerEpoch)
}

fn is_lasting(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    is_denied(code)
        || is_unknown_topic(code)
        || matches!(
            code,
            Code::MessageSizeTooLarge
                | Code::InvalidMessageSize
                | Code::PolicyViolation
                | Code::InvalidRecord
        )
}

fn is_stale_member(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(
        code,
        Code::IllegalGeneration
            | Code::UnknownMemberId
            | Code::RebalanceInProgress
            | Code::FencedInstanceId
            | Code::StaleMemberEpoch
            | Code::FencedMemberEpoch
    )
}

pub(super) fn cause_of(step: Step, error: &KafkaError) -> Cause {
    cause(step, error.rdkafka_error_code(), error.to_string())
}

pub(super) fn cause(step: Step, code: Option<RDKafkaErrorCode>, text: String) -> Cause {
    Cause {
        step,
        code: code.map_or_else(|| "none".to_owned(), |code| format!("{code:?}")),
        text,
        record: None,
        lasting: code.is_some_and(is_lasting),
        stale_member: code.is_some_and(is_stale_member),
    }
}

/// The cause when the time for a step ran out.
pub(super) fn out_of_time(step: Step) -> Cause {
    cause(step, Some(RDKafkaErrorCode::OperationTimedOut), "no answer in time".to_owned())
}

/// True when the brokers could not be reached.
pub(super) fn is_out_of_reach(error: &KafkaError) -> bool {
    error.rdkafka_error_code().is_some_and(is_unreachable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn production(code: RDKafkaErrorCode) -> StepError {
        sort(Step::Send, &KafkaError::MessageProduction(code))
    }

    #[test]
    fn a_record_that_cannot_be_written_aborts_and_says_whether_again_helps() {
        let StepError::Abort(cause) = production(RDKafkaErrorCode::MessageSizeTooLarge) else { panic!() };
        assert!(cause.lasting && !cause.stale_member);
        let StepError::Abort(cause) = production(RDKafkaErrorCode::MessageTimedOut) else { panic!() };
        assert!(!cause.lasting);
    }

    #[test]
    fn fences_and_broken_producers_are_told_apart() {
        assert!(matches!(production(RDKafkaErrorCode::ProducerFenced), StepError::Fenced(_)));
        assert!(matches!(production(RDKafkaErrorCode::InvalidProducerEpoch), StepError::Fenced(_)));
        assert!(matches!(production(RDKafkaErrorCode::State), StepError::Fatal(_)));
    }

    #[test]
    fn a_stale_member_is_known() {
        for code in [RDKafkaErrorCode::IllegalGeneration, RDKafkaErrorCode::UnknownMemberId] {
            assert!(cause(Step::Offsets, Some(code), String::new()).stale_member);
        }
    }

    #[test]
    fn words_name_the_record() {
        let mut cause = cause(Step::Drain, Some(RDKafkaErrorCode::MessageTimedOut), "too late".to_owned());
        cause.record = Some(("risk.decisions.v1".to_owned(), 3));
        let text = CommitError::Aborted(cause).to_string();
        assert!(text.contains("risk.decisions.v1/3") && text.contains("too late"), "{text}");
    }
}
