//! Kafka: records in and out as bytes, ownership of shards, transactions, topics, and an embedded broker.
//!
//! This room knows nothing of events or decisions: it moves bytes with their coordinates. Reading is done by
//! [`Input`], with explicit offsets and bounded queues; writing by [`Transactions`], one transaction a batch, or by [`post()`], one record; who may
//! do so for which shard is told by [`Ownership`]; [`Lookup`] asks for ends and committed offsets; [`create`] and
//! [`check`] look after the topics. [`Embedded`] is a broker in the process for demonstrations.
//!
//! The Kafka client library is named in this room alone. What it reports becomes a value of [`StreamError`] or
//! [`CommitError`] in words, with topic, partition and offset where they are known; nothing here panics for what a
//! stranger sent. Each call that can block takes the time it may block for.

mod admin;
mod arena;
mod client;
mod deadline;
mod embedded;
mod error;
mod feed;
mod input;
mod lookup;
mod mailbox;
mod outcome;
mod outgoing;
mod ownership;
mod post;
mod properties;
mod quiet;
mod reader;
mod record;
mod topics;
mod transaction;

pub use admin::{Creation, Difference, check, create};
pub use arena::Headers;
pub use client::{GroupProtocol, KafkaSettings};
pub use embedded::Embedded;
pub use error::StreamError;
pub use feed::Feed;
pub use input::{Input, InputEvent, InputLimits, InputProblem, TopicStart};
pub use lookup::{Held, Lookup};
pub use outcome::{Cause, CommitError, Step};
pub use outgoing::{Mark, OutBatch, OutRecord, OutgoingRef};
pub use ownership::{GroupMetadata, Ownership, OwnershipEvent};
pub use post::post;
pub use record::{Coordinates, PartitionEnd, RecordBatch, RecordRef, Timestamp};
pub use topics::{Topic, TopicNames, TopicPlan, TopicSpec};
pub use transaction::{InputOffset, Transactions};
