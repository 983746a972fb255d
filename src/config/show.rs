//! The effective configuration as text, for `weir check` and for the log at start. Secrets show as `(set)`.

use std::fmt;

use super::effective::Config;
use super::units::show_size;
use crate::log::LogFormat;

fn set_or_not<T>(secret: Option<&T>) -> &'static str {
    if secret.is_some() { "(set)" } else { "(none)" }
}

/// One `section.key = value` a line, in the order of the sample file.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_kafka(f)?;
        self.write_batch(f)?;
        self.write_http(f)?;
        writeln!(f, "policy.dir = {}", self.policy.dir.display())?;
        writeln!(f, "policy.reload_interval = {}", self.policy.reload_interval)?;
        writeln!(f, "state.dir = {}", self.state.dir.display())?;
        writeln!(f, "state.checkpoint_interval = {}", self.state.checkpoint_interval)?;
        writeln!(f, "keys.seed_id = {}", self.keys.seed_id)?;
        let format = match self.log.format {
            LogFormat::Auto => "auto",
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        };
        writeln!(f, "log.format = {format}")?;
        writeln!(f, "log.filter = {}", self.log.filter)
    }
}

impl Config {
    fn write_kafka(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kafka = &self.kafka;
        writeln!(f, "kafka.brokers = {}", kafka.brokers)?;
        writeln!(f, "kafka.topic_prefix = {}", kafka.topic_prefix)?;
        writeln!(f, "kafka.group = {}", kafka.group)?;
        writeln!(f, "kafka.client_id = {}", kafka.client_id)?;
        writeln!(f, "kafka.session_timeout = {}", kafka.session_timeout)?;
        writeln!(f, "kafka.transaction_timeout = {}", kafka.transaction_timeout)?;
        writeln!(f, "kafka.record_bytes_max = {}", show_size(kafka.record_bytes_max))?;
        writeln!(f, "kafka.allow_unverified_tls = {}", kafka.allow_unverified_tls)?;
        for name in kafka.properties.keys() {
            writeln!(f, "kafka.properties.\"{name}\" = (set)")?;
        }
        writeln!(f, "topics.partitions = {}", self.topics.partitions)?;
        writeln!(f, "topics.shards = {}", self.topics.shards)?;
        writeln!(f, "topics.replication = {}", self.topics.replication)?;
        writeln!(f, "topics.retention = {}", self.topics.retention)
    }

    fn write_batch(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "batch.interval = {}", self.batch.interval)?;
        writeln!(f, "batch.records_max = {}", self.batch.records_max)?;
        writeln!(f, "batch.merge_wait = {}", self.batch.merge_wait)?;
        writeln!(f, "batch.lead_span = {}", self.batch.lead_span)
    }

    fn write_http(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let http = &self.http;
        match http.listen {
            Some(address) => writeln!(f, "http.listen = {address}")?,
            None => writeln!(f, "http.listen = off")?,
        }
        writeln!(f, "http.token = {}", set_or_not(http.token.as_ref()))?;
        writeln!(f, "http.connections_max = {}", http.connections_max)?;
        writeln!(f, "http.request_timeout = {}", http.request_timeout)?;
        writeln!(f, "http.stall_timeout = {}", http.stall_timeout)?;
        writeln!(f, "http.subjects_memory = {}", show_size(http.subjects_memory))
    }
}
