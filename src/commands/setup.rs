//! From the configuration to what Kafka's room asks for.

use std::time::Duration;

use super::Failure;
use crate::cli::ConfigArgs;
use crate::config::{Config, Problems};
use crate::engine::key::HashSeed;
use crate::engine::time::Span;
use crate::pipeline::ShardSettings;
use crate::stream::{GroupProtocol, KafkaSettings, TopicNames, TopicPlan};

/// How long a command waits for Kafka to answer.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The configuration.
///
/// # Errors
/// All its problems at once.
pub fn config(args: &ConfigArgs) -> Result<Config, Failure> {
    args.load().map(|loaded| loaded.config).map_err(|problems| broken(&problems))
}

fn broken(problems: &Problems) -> Failure {
    Failure::of_config(problems.to_string())
}

/// How to reach Kafka.
pub fn kafka(config: &Config) -> KafkaSettings {
    let kafka = &config.kafka;
    KafkaSettings {
        brokers: kafka.brokers.clone(),
        group: kafka.group.clone(),
        client_id: kafka.client_id.clone(),
        protocol: GroupProtocol::Classic { session_timeout: lasting(kafka.session_timeout) },
        transaction_timeout: lasting(kafka.transaction_timeout),
        allow_unverified_tls: kafka.allow_unverified_tls,
        properties: config.exposed_properties(),
        ..KafkaSettings::default()
    }
}

/// How the topics must be.
pub fn topics(config: &Config) -> TopicPlan {
    let topics = &config.topics;
    let days = lasting(topics.retention).as_secs().div_ceil(24 * 60 * 60);
    TopicPlan {
        prefix: config.kafka.topic_prefix.clone(),
        partitions: topics.partitions,
        shards: topics.shards,
        replication: topics.replication,
        retention_days: u32::try_from(days).unwrap_or(u32::MAX),
    }
}

/// How a command reads the logs of the first shard.
pub fn shard(config: &Config, names: TopicNames) -> ShardSettings {
    ShardSettings {
        kafka: kafka(config),
        names,
        shard: 0,
        interval: lasting(config.batch.interval),
        records_max: config.batch.records_max,
        merge_wait: lasting(config.batch.merge_wait),
        lead_span: config.batch.lead_span,
        checkpoint_every: lasting(config.state.checkpoint_interval),
        ticks: false,
        accept_lost_inputs: false,
    }
}

/// The seed under which keys are hashed.
pub fn seed(config: &Config) -> HashSeed {
    let [low, high] = [&config.keys.seed[..8], &config.keys.seed[8..]]
        .map(|half| half.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)));
    HashSeed(low, high)
}

/// A span as the standard library has it.
pub fn lasting(span: Span) -> Duration {
    Duration::from_millis(span.millis().cast_unsigned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{self, Overrides};

    #[test]
    fn every_byte_of_the_seed_counts() {
        let loaded = config::parse(Path::new(""), "", &Overrides::default());
        let mut config = loaded.unwrap_or_else(|problems| panic!("{problems}")).config;
        config.keys.seed = std::array::from_fn(|at| at as u8);
        let HashSeed(low, high) = seed(&config);
        assert_eq!((low, high), (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908));
    }

    #[test]
    fn what_is_configured_reaches_kafka() {
        let text = "[kafka]\nbrokers = \"k:9092\"\ngroup = \"g\"\ntopic_prefix = \"p.\"\nsession_timeout = \"8s\"\n\
                    [kafka.properties]\n\"fetch.min.bytes\" = 7\n[topics]\nretention = \"25h\"\nshards = 3\n";
        let loaded = config::parse(Path::new("weir.toml"), text, &Overrides::default());
        let config = loaded.unwrap_or_else(|problems| panic!("{problems}")).config;
        let (settings, plan) = (kafka(&config), topics(&config));
        assert_eq!((settings.brokers.as_str(), settings.group.as_str()), ("k:9092", "g"));
        assert_eq!(settings.protocol, GroupProtocol::Classic { session_timeout: Duration::from_secs(8) });
        assert_eq!(settings.properties.get("fetch.min.bytes").map(String::as_str), Some("7"));
        assert_eq!((plan.prefix.as_str(), plan.shards, plan.retention_days), ("p.", 3, 2));
    }
}
