//! What can go wrong between weir and Kafka, in words.
//!
//! Errors of the client library are turned into these values at the border of the room: each names the topic,
//! partition and offset where it can, and says what to do where that is known. No value of a secret setting is ever
//! part of one.

use rdkafka::error::{KafkaError, RDKafkaErrorCode};

/// Why something with Kafka could not be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// A setting that must not be made, or that this build cannot honour.
    #[error("kafka property `{property}`: {reason}")]
    Property {
        /// The property's name.
        property: String,
        /// Why not, and what to do.
        reason: String,
    },
    /// No broker answered in time.
    #[error("no answer from Kafka at {brokers} while {doing}: {reason}")]
    Unreachable {
        /// The brokers as configured.
        brokers: String,
        /// What was being done.
        doing: String,
        /// What the client library says.
        reason: String,
    },
    /// The topic does not exist.
    #[error("topic `{topic}` does not exist: create it with `weir topics create`")]
    TopicMissing {
        /// The full name.
        topic: String,
    },
    /// The partition does not exist.
    #[error("topic `{topic}` has no partition {partition}: it has {partitions}")]
    PartitionMissing {
        /// The full name.
        topic: String,
        /// The partition asked for.
        partition: i32,
        /// How many there are.
        partitions: i32,
    },
    /// The broker's access rules forbid it.
    #[error("Kafka denies access while {doing}: {reason}")]
    Denied {
        /// What was being done.
        doing: String,
        /// What the client library says.
        reason: String,
    },
    /// The offset is not in the log: records expired, or the topic was made anew.
    #[error("offset {offset} of {topic}/{partition} is not in the log, which holds {low} to {high}")]
    OffsetOutOfRange {
        /// The full name.
        topic: String,
        /// The partition.
        partition: i32,
        /// The offset asked for.
        offset: i64,
        /// The first offset held.
        low: i64,
        /// The offset of the next record to be written.
        high: i64,
    },
    /// Anything else that Kafka or its client says.
    #[error("{doing}: {reason}")]
    Other {
        /// What was being done.
        doing: String,
        /// What the client library says.
        reason: String,
    },
}

impl StreamError {
    /// True when the same again cannot help: a setting, an access rule or a topic has to be changed first.
    pub fn is_lasting(&self) -> bool {
        matches!(
            self,
            StreamError::Property { .. }
                | StreamError::Denied { .. }
                | StreamError::TopicMissing { .. }
                | StreamError::PartitionMissing { .. }
                | StreamError::OffsetOutOfRange { .. }
        )
    }

    /// True when waiting may help: the brokers cannot be reached just now.
    pub fn is_transient(&self) -> bool {
        matches!(self, StreamError::Unreachable { .. })
    }
}

/// The words for an error of the client library. `reason` is what the library adds to the bare code, if it does.
pub(super) fn explain(brokers: &str, doing: &str, error: &KafkaError, reason: Option<&str>) -> StreamError {
    let doing = doing.to_owned();
    let reason = reason.map_or_else(|| error.to_string(), str::to_owned);
    match error.rdkafka_error_code() {
        Some(code) if is_denied(code) => StreamError::Denied { doing, reason },
        Some(code) if is_unreachable(code) => {
            StreamError::Unreachable { brokers: brokers.to_owned(), doing, reason }
        }
        _ => StreamError::Other { doing, reason },
    }
}

/// True for refusals by access rules.
pub(super) fn is_denied(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(
        code,
        Code::TopicAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::ClusterAuthorizationFailed
            | Code::TransactionalIdAuthorizationFailed
            | Code::SaslAuthenticationFailed
            | Code::Authentication
    )
}

/// True when no broker could be reached or none answered in time.
pub(super) fn is_unreachable(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(
        code,
        Code::BrokerTransportFailure
            | Code::AllBrokersDown
            | Code::OperationTimedOut
            | Code::RequestTimedOut
            | Code::Resolve
            | Code::NetworkException
            | Code::SSL
    )
}

/// True where the broker says to ask again: a partition or the group is on its way to another broker, or to its first.
pub(super) fn is_moving(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(
        code,
        Code::NotLeaderForPartition
            | Code::LeaderNotAvailable
            | Code::ReplicaNotAvailable
            | Code::FencedLeaderEpoch
            | Code::UnknownLeaderEpoch
            | Code::OffsetNotAvailable
            | Code::CoordinatorNotAvailable
            | Code::CoordinatorLoadInProgress
            | Code::NotCoordinator
            | Code::WaitingForCoordinator
    )
}

/// True when the topic is not there.
pub(super) fn is_unknown_topic(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(code, Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_the_right_kind() {
        let denied = KafkaError::MessageConsumption(RDKafkaErrorCode::TopicAuthorizationFailed);
        assert!(matches!(explain("b", "reading", &denied, None), StreamError::Denied { .. }));
        let down = KafkaError::MetadataFetch(RDKafkaErrorCode::BrokerTransportFailure);
        let down = explain("b:1", "asking", &down, Some("refused"));
        assert!(down.is_transient());
        assert_eq!(down.to_string(), "no answer from Kafka at b:1 while asking: refused");
    }
}
