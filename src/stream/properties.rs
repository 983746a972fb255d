//! Which librdkafka properties a configuration may set, and which it may not.
//!
//! Any property passes through, for TLS and SASL need dozens of them. Refused, with the reason, are those that would
//! break a promise of weir (exactly once, explicit offsets, fencing), that load code or run commands, that call
//! web addresses, or that have a setting of their own. `consumer.` and `producer.` before a name apply it to that
//! side alone.

use std::collections::BTreeMap;

use super::error::StreamError;

const OWN: &str = "weir sets this itself";
const OFFSETS: &str = "weir keeps offsets itself, in the transaction that holds their decisions";
const CODE: &str = "it loads code or runs a command";
const WEB: &str = "it makes the process call a web address; use SCRAM or mutual TLS";
const EXACTLY_ONCE: &str = "exactly-once output depends on it";

/// Refused names with the reason. A name that ends in `*` stands for all that begin so.
const REFUSED: &[(&str, &str)] = &[
    ("bootstrap.servers", "set `brokers` instead"),
    ("metadata.broker.list", "set `brokers` instead"),
    ("client.id", "set `client_id` instead"),
    ("group.id", "set `group` instead"),
    ("group.instance.id", "a dead owner would keep its shard until the session ends"),
    ("group.protocol", OWN),
    ("group.protocol.type", OWN),
    ("group.remote.assignor", OWN),
    ("partition.assignment.strategy", "with any other, starting a standby can steal the shard"),
    ("session.timeout.ms", "set `session_timeout` instead"),
    ("max.poll.interval.ms", OWN),
    ("enable.auto.commit", OFFSETS),
    ("auto.commit.enable", OFFSETS),
    ("auto.commit.interval.ms", OFFSETS),
    ("enable.auto.offset.store", OFFSETS),
    ("auto.offset.reset", "a lost position is an error, never a jump"),
    ("offset.store.*", OFFSETS),
    ("isolation.level", EXACTLY_ONCE),
    ("enable.partition.eof", OWN),
    ("transactional.id", "it names the shard: that is what fences a second owner"),
    ("transaction.timeout.ms", "set `transaction_timeout` instead"),
    ("enable.idempotence", EXACTLY_ONCE),
    ("acks", EXACTLY_ONCE),
    ("request.required.acks", EXACTLY_ONCE),
    ("max.in.flight", EXACTLY_ONCE),
    ("max.in.flight.requests.per.connection", EXACTLY_ONCE),
    ("delivery.report.only.error", OWN),
    ("partitioner", "Java clients and weir must agree on the partition of a key"),
    ("allow.auto.create.topics", "topics are made by `weir topics create`, with the right settings"),
    ("plugin.library.paths", CODE),
    ("ssl.engine.*", CODE),
    ("ssl.providers", CODE),
    ("sasl.kerberos.kinit.cmd", CODE),
    ("sasl.oauthbearer.*", WEB),
    ("enable.sasl.oauthbearer.*", WEB),
    ("test.mock.*", "use `weir demo` for a broker in the process"),
];

/// Settings that switch off a check of the other side's certificate.
const UNVERIFIED: &[(&str, &str)] =
    &[("enable.ssl.certificate.verification", "false"), ("ssl.endpoint.identification.algorithm", "none")];

/// Properties under `ssl.` and `sasl.` whose values may be shown.
const HARMLESS: &[&str] = &[
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.endpoint.identification.algorithm",
];

/// True when the value of a property must not be shown.
pub(super) fn is_secret(property: &str) -> bool {
    let name = strip_side(property).1;
    let risky = ["ssl.", "sasl."].iter().any(|part| name.starts_with(part))
        || ["password", "secret", "token", "key", ".pem"].iter().any(|part| name.contains(part));
    risky && !HARMLESS.contains(&name)
}

/// Which side a property is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Consumer,
    Producer,
    Both,
}

/// Splits `consumer.x` and `producer.x`.
pub(super) fn strip_side(property: &str) -> (Side, &str) {
    if let Some(name) = property.strip_prefix("consumer.") {
        (Side::Consumer, name)
    } else if let Some(name) = property.strip_prefix("producer.") {
        (Side::Producer, name)
    } else {
        (Side::Both, property)
    }
}

/// All that is wrong with `properties`, in their order. `allow_unverified` permits a connection whose other side
/// is not checked.
pub(super) fn problems(properties: &BTreeMap<String, String>, allow_unverified: bool) -> Vec<StreamError> {
    properties.iter().filter_map(|(name, value)| problem(name, value, allow_unverified)).collect()
}

fn problem(property: &str, value: &str, allow_unverified: bool) -> Option<StreamError> {
    let name = strip_side(property).1;
    let reason = refusal(name)
        .map(str::to_owned)
        .or_else(|| missing_tls(name, value))
        .or_else(|| unverified(name, value).filter(|_| !allow_unverified))?;
    Some(StreamError::Property { property: property.to_owned(), reason })
}

fn refusal(name: &str) -> Option<&'static str> {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    REFUSED.iter().find(|(pattern, _)| matches(pattern)).map(|(_, reason)| *reason)
}

/// TLS and SASL are built in only with a cargo feature.
fn missing_tls(name: &str, value: &str) -> Option<String> {
    let built_in = cfg!(any(feature = "tls", feature = "tls-vendored"));
    let plain = name == "security.protocol" && value.eq_ignore_ascii_case("plaintext");
    let wanted = name.starts_with("ssl.")
        || name.starts_with("sasl.")
        || name == "enable.ssl.certificate.verification"
        || (name == "security.protocol" && !plain);
    (wanted && !built_in).then(|| {
        "this build has no TLS and no SASL: build with `--features tls` (the system's OpenSSL) or \
         `--features tls-vendored` (builds its own)"
            .to_owned()
    })
}

fn unverified(name: &str, value: &str) -> Option<String> {
    UNVERIFIED.iter().any(|(property, off)| name == *property && value.eq_ignore_ascii_case(off)).then(|| {
        "the other side's certificate would not be checked; allow it with `allow_unverified_tls`".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_for(name: &str, value: &str) -> Option<String> {
        problem(name, value, false).map(|problem| problem.to_string())
    }

    #[test]
    fn what_breaks_a_promise_or_runs_code_is_refused() {
        for name in [
            "enable.auto.commit",
            "enable.auto.offset.store",
            "isolation.level",
            "plugin.library.paths",
            "ssl.engine.location",
            "transactional.id",
            "group.id",
            "producer.partitioner",
            "sasl.kerberos.kinit.cmd",
            "sasl.oauthbearer.token.endpoint.url",
            "test.mock.num.brokers",
        ] {
            let reason = reason_for(name, "x").unwrap_or_default();
            assert!(reason.contains(name) && reason.len() > name.len() + 30, "{name}: {reason}");
        }
    }

    #[test]
    fn ordinary_tuning_passes() {
        for name in ["linger.ms", "compression.type", "fetch.min.bytes", "consumer.check.crcs", "debug"] {
            assert_eq!(reason_for(name, "1"), None);
        }
        assert_eq!(reason_for("security.protocol", "PLAINTEXT"), None);
    }

    #[test]
    #[cfg(not(any(feature = "tls", feature = "tls-vendored")))]
    fn tls_in_a_build_without_it_names_the_feature() {
        for (name, value) in
            [("security.protocol", "SASL_SSL"), ("ssl.ca.location", "/x"), ("sasl.username", "u")]
        {
            assert!(reason_for(name, value).is_some_and(|reason| reason.contains("--features tls")));
        }
    }

    #[test]
    #[cfg(any(feature = "tls", feature = "tls-vendored"))]
    fn an_unchecked_certificate_needs_permission() {
        let name = "enable.ssl.certificate.verification";
        assert!(reason_for(name, "false").is_some_and(|reason| reason.contains("allow_unverified_tls")));
        assert_eq!(problem(name, "false", true), None);
        assert_eq!(reason_for(name, "true"), None);
    }

    #[test]
    fn secrets_are_known_by_name() {
        for name in ["sasl.password", "ssl.key.pem", "producer.sasl.password", "ssl.keystore.password"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["linger.ms", "sasl.mechanism", "ssl.ca.location"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
