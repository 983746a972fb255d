//! weir stands across an event stream. It measures the flow per user, target, address and device, tells honest crowds
//! from bought ones, and lets through, demotes, challenges, holds, rejects or blocks. Each verdict says why.
//!
//! # The road of one event
//!
//! ```text
//!  record -> wire::interaction::decode -> Engine::apply -> pipeline::encode -> one Kafka transaction
//!  (bytes)            (Event)              (Judgement)         (bytes)         (decisions + journal + offsets)
//! ```
//!
//! 1. [`stream`] copies records of the assigned partitions out of the Kafka client, as bytes.
//! 2. [`pipeline`] gathers them into a batch, orders it by a pure merge and decodes as it goes ([`wire`]).
//! 3. [`engine`] applies each input: *arrive* (effective time, duplicates), *look* (facts, signals, limits), *decide*
//!    (bans, limits, rules, score, guards), *record* (what counts, penalties, cases). See `engine/apply.rs`.
//! 4. [`pipeline`] encodes what is to be told, journals what was read with a hash of what came of it, and commits all with
//!    the input offsets in one transaction, while the next batch is scored.
//! 5. Behind the commit, [`desk`] shows it to people who ask over HTTP.
//!
//! # The rooms
//!
//! | room | what is in it | what it does not know |
//! |---|---|---|
//! | [`engine`] | windows, limits, signals, policy, score, bans, cases | Kafka, disk, clock, threads, JSON |
//! | [`wire`] | bytes to nouns and back, one file a schema | Kafka, state |
//! | [`stream`] | Kafka in and out, ownership, transactions, an embedded broker | what the bytes mean |
//! | [`state`] | checkpoints on disk: segments, manifest, lock | Kafka, what the pages mean |
//! | [`pipeline`] | who runs what: threads, batches, shards | how a verdict is made |
//! | [`replay`] | the engine over files; the tests beside rules | Kafka |
//! | [`evaluate`] | labelled events through the engine: how well it detects, and how sure that is | Kafka; how a verdict is made |
//! | [`backtest`] | events that were, through several policies at once: what would have been otherwise | files, Kafka; how a verdict is made |
//! | [`explain`] | why one event was decided as it was | files, Kafka; how a verdict is made |
//! | [`lint`] | what a policy alone shows: what never speaks, what goes unnoticed all day | events, state |
//! | [`tune`] | what is usual of each signal, what another number would cost | files, Kafka; how a verdict is made |
//! | [`archive`] | interactions with their decisions as a Parquet file, and back | Kafka; how a verdict is made |
//! | [`report`] | tables and charts as text and as one HTML page | whose figures they are |
//! | [`verify`] | a reference model of the engine; a checker of what topics hold | Kafka; how the engine does it |
//! | [`sim`] | simulated traffic, honest and not | how it will be judged |
//! | [`desk`] | HTTP: metrics, health, subjects | the engine's state |
//! | [`config`], [`cli`], [`commands`], [`run`], [`demo`] | what is configured and typed, and where all meet | |
//! | [`clock`], [`metrics`], [`log`] | the only clock; every metric; logs | |
//!
//! # Invariants
//!
//! - The engine's state is a function of its inputs in their order. Live, replay, demo and tests run the same code.
//! - Each consumed record ends in exactly one [`engine::Outcome`]; the sum of the outcomes is what was consumed.
//! - What is told and the offsets it follows from become visible together or not at all.
//! - What an event does not say is unknown, and unknown is no evidence against anybody.
//! - Applying what the journal names again gives the same bytes, `decided_at` aside; a difference stops loudly.
//! - An address is never banned by the machine.
//! - All state is bounded by configured budgets; what was approximate or evicted is in the decision's `quality`.
//!
//! The borders between rooms are held by `tests/architecture.rs`.

pub mod archive;
pub mod backtest;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod demo;
pub mod desk;
pub mod engine;
pub mod evaluate;
pub mod explain;
pub mod lint;
pub mod log;
pub mod metrics;
pub mod pipeline;
pub mod replay;
pub mod report;
pub mod run;
pub mod sim;
pub mod state;
pub mod stream;
pub mod tune;
pub mod verify;
pub mod wire;
