//! The contract: schemas, examples, types and the AsyncAPI document say the same.
//!
//! `WEIR_BLESS=1 cargo test --test contracts` writes the schemas anew from the types.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;
use weir::engine::DeadLetterReason;
use weir::engine::address::Address;
use weir::engine::decision::{
    Decision, DecisionId, Hold, Judgement, Quality, QualityCode, Reason, ReasonSource,
};
use weir::engine::event::{Arrival, Event};
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict;
use weir::stream::{Topic, TopicPlan};
use weir::wire::contract::Contract;
use weir::wire::error::DecodeError;
use weir::wire::interaction::{DecodeLimits, decode};
use weir::wire::{
    ban, case, command, dead_letter, decision, feedback, journal, policy, shadow, shadow_tally,
};

fn schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

fn validator(contract: &Contract) -> Validator {
    let schema = Value::from(contract.schema());
    jsonschema::draft202012::options().should_validate_formats(true).build(&schema).expect("a valid schema")
}

fn contract(subject: &str) -> Contract {
    Contract::ALL.into_iter().find(|contract| contract.subject == subject).expect("a known subject")
}

#[expect(clippy::disallowed_methods, reason = "a switch of this test, not of the program")]
fn blessing() -> bool {
    std::env::var_os("WEIR_BLESS").is_some()
}

#[test]
fn schemas_on_disk_are_those_of_the_types() {
    for contract in Contract::ALL {
        let path = schemas().join(contract.path());
        if blessing() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            fs::write(&path, contract.text()).expect("writable");
        }
        let told = fs::read_to_string(&path).unwrap_or_default();
        assert!(told == contract.text(), "{} differs from the types: bless it", path.display());
    }
}

#[test]
fn schemas_are_valid_and_named() {
    for contract in Contract::ALL {
        let schema = Value::from(contract.schema());
        assert!(jsonschema::meta::is_valid(&schema), "{}", contract.subject);
        assert_eq!(schema["$id"], Value::from(contract.id()));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        for key in ["title", "description"] {
            assert!(schema[key].is_string(), "{} has no {key}", contract.subject);
        }
    }
}

/// Every field, however deep, says what it is and shows a value.
#[test]
fn every_field_is_described_and_shown() {
    for contract in Contract::ALL {
        let mut bare = Vec::new();
        undescribed(&Value::from(contract.schema()), contract.subject, &mut bare);
        assert!(bare.is_empty(), "without description or examples: {bare:?}");
    }
}

/// Branches of `anyOf` are left out: they narrow fields that are described elsewhere.
fn undescribed(schema: &Value, path: &str, bare: &mut Vec<String>) {
    let Some(object) = schema.as_object() else { return };
    for (name, field) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{path}.{name}");
        if !field["description"].is_string() || !field["examples"].is_array() {
            bare.push(path.clone());
        }
        undescribed(field, &path, bare);
    }
    for (name, definition) in object.get("$defs").and_then(Value::as_object).into_iter().flatten() {
        undescribed(definition, &format!("{path}#{name}"), bare);
    }
}

/// Reads an example as the program does, and writes it again as the program does.
fn round(subject: &str, json: &[u8]) -> Result<Vec<u8>, DecodeError> {
    match subject {
        "interaction" => decode(Some(json), &[], &DecodeLimits::default()).map(|_| json.to_vec()),
        "command" => command::decode(Some(json), &[]).map(|command| command::encode(&command)),
        "feedback" => feedback::decode(Some(json)).map(|feedback| feedback::encode(&feedback)),
        "policy" => policy::decode(Some(json)).map(|(hash, files)| policy::encode(&hash, &files)),
        "decision" => decision::decode(Some(json)).map(|record| bytes(&record)),
        "ban" => {
            ban::decode(Some(&entity(json)), Some(json)).map(|ban| ban::encode(&ban).expect("no tombstone"))
        }
        "case" => case::decode(Some(json)).map(|case| case::encode(&case)),
        "shadow" => shadow::decode(Some(json)).map(|record| bytes(&record)),
        "shadow-tally" => shadow_tally::decode(Some(json)).map(|record| bytes(&record)),
        "dead-letter" => dead_letter_headers(json),
        "dead-letter-digest" => dead_letter::read_digest(Some(json)).map(|record| bytes(&record)),
        "journal" => journal::decode(Some(json)).map(|record| journal::encode(&record)),
        other => panic!("no reader for {other}"),
    }
}

fn bytes<T: serde::Serialize>(record: &T) -> Vec<u8> {
    serde_json::to_vec(record).expect("JSON")
}

/// The key that a ban's record would have.
fn entity(json: &[u8]) -> Vec<u8> {
    let value: Value = serde_json::from_slice(json).expect("JSON");
    value["entity"].as_str().unwrap_or_default().as_bytes().to_vec()
}

fn dead_letter_headers(json: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let object: serde_json::Map<String, Value> = serde_json::from_slice(json).expect("an object");
    let headers: Vec<_> = object
        .iter()
        .map(|(name, value)| (name.as_str(), Some(value.as_str().expect("text").as_bytes())))
        .collect();
    let (own, rest) = dead_letter::read(&headers)?;
    let mut all = serde_json::to_value(own).expect("JSON");
    for (name, value) in rest {
        all[name] = String::from_utf8_lossy(value.unwrap_or_default()).into();
    }
    Ok(bytes(&all))
}

struct Example {
    subject: &'static str,
    name: String,
    text: Vec<u8>,
}

impl Example {
    fn all(kind: &str) -> Vec<Example> {
        Contract::ALL.iter().flat_map(|contract| Example::of(contract.subject, kind)).collect()
    }

    fn of(subject: &'static str, kind: &str) -> Vec<Example> {
        let folder = schemas().join(subject).join("examples");
        let mut examples: Vec<Example> = fs::read_dir(folder)
            .expect("every subject has examples")
            .map(|entry| entry.expect("readable").path())
            .map(|path| Example {
                subject,
                name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                text: fs::read(&path).expect("readable"),
            })
            .filter(|example| example.name.starts_with(&format!("{kind}-")))
            .collect();
        examples.sort_by(|a, b| a.name.cmp(&b.name));
        examples
    }

    fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.text).ok()
    }

    fn fits(&self) -> bool {
        self.json().is_some_and(|json| validator(&contract(self.subject)).is_valid(&json))
    }

    fn told(&self) -> String {
        format!("{}/{}", self.subject, self.name)
    }
}

#[test]
fn valid_examples_fit_the_schema_and_come_back_the_same() {
    for example in Example::all("valid") {
        let json = example.json().expect("JSON");
        let errors: Vec<_> = validator(&contract(example.subject))
            .iter_errors(&json)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:?}", example.told());
        let again = round(example.subject, &example.text)
            .unwrap_or_else(|error| panic!("{}: {error}", example.told()));
        let again: Value = serde_json::from_slice(&again).expect("JSON");
        let same = without_defaults(again) == without_defaults(json);
        assert!(same, "{} changes when it is read and written", example.told());
    }
}

/// A command to ban says `block` when it says nothing.
fn without_defaults(mut json: Value) -> Value {
    if json["action"] == "ban" && json["verdict"] == "block" {
        json.as_object_mut().expect("an object").remove("verdict");
    }
    json
}

/// Readers take more than writers may send.
#[test]
fn tolerated_examples_are_read_though_no_writer_may_send_them() {
    for example in Example::all("tolerated") {
        assert!(round(example.subject, &example.text).is_ok(), "{}", example.told());
        assert!(!example.fits(), "{} fits the schema: it is a valid example", example.told());
    }
}

/// The expected reason is in the name: `invalid-<reason>-<what>`.
#[test]
fn invalid_examples_are_refused_with_their_reason() {
    for example in Example::all("invalid") {
        let reason = example.name.split('-').nth(1).expect("a reason");
        let error = round(example.subject, &example.text).expect_err(&example.told());
        assert_eq!(error.reason.name(), reason, "{}: {error}", example.told());
        assert!(!error.place.is_empty() && error.place != "record", "{}: no place", example.told());
        // A parsed object no longer shows that a key came twice.
        let blind = reason == DeadLetterReason::RepeatedKey.name();
        assert!(blind || !example.fits(), "{} fits the schema", example.told());
    }
}

#[test]
fn every_subject_has_both_kinds_of_example() {
    for contract in Contract::ALL {
        assert!(!Example::of(contract.subject, "valid").is_empty(), "{}", contract.subject);
        assert!(!Example::of(contract.subject, "invalid").is_empty(), "{}", contract.subject);
    }
    let reasons: BTreeSet<String> = Example::of("interaction", "invalid")
        .iter()
        .filter_map(|example| example.name.split('-').nth(1).map(str::to_owned))
        .collect();
    let expected = ["invalid_field", "invalid_timestamp", "malformed_json", "missing_field", "repeated_key"]
        .map(str::to_owned);
    assert_eq!(reasons, BTreeSet::from(expected));
}

fn judgement(verdict: Verdict, full: bool) -> Judgement {
    let arrival = arrival();
    let id = DecisionId::first(&arrival, "e");
    let source = ReasonSource {
        id: "r".into(),
        code: "R".into(),
        family: "volume".into(),
        text: "t".into(),
        window: full.then(|| Span::from_secs(60)),
    };
    let reason = Reason {
        source: Arc::new(source),
        points: 3,
        verdict: full.then_some(verdict),
        value: full.then_some(0.1 + 0.2),
        threshold: full.then_some(1e300),
        baseline: full.then_some(0.5),
        support: full.then_some(u32::MAX),
    };
    let codes = [QualityCode::Late, QualityCode::Backlog, QualityCode::IdConflict];
    Judgement {
        id: DecisionId { revision: u32::from(full), ..id },
        supersedes: full.then_some(id),
        address: Address::parse("2001:db8::1", 64).filter(|_| full),
        effective_at: Timestamp::from_millis(1_750_000_000_000),
        verdict,
        score: i32::MIN,
        reasons: vec![reason],
        without: Vec::new(),
        retry_after: full.then(|| Span::from_millis(1)),
        hold: full
            .then(|| Hold { until: Timestamp::from_millis(1_750_000_000_001), default: Verdict::Allow }),
        policy: Arc::from("p"),
        quality: codes
            .map(|code| Quality { code, counter: full.then(|| Arc::from("c")) })
            .into_iter()
            .filter(|_| full)
            .collect(),
        revisable_until: Timestamp::from_millis(1_750_086_400_000),
    }
}

fn arrival() -> Arrival<'static> {
    Arrival {
        topic: "engagement.interactions.v1",
        partition: 3,
        offset: 9,
        append_time: Timestamp::from_millis(1_750_000_000_000),
    }
}

#[test]
fn decisions_as_written_fit_the_schema() {
    let validator = validator(&contract("decision"));
    let event =
        Event { id: "e\u{0}\"\\".into(), action: "like".into(), user: Some("ü".into()), ..Event::default() };
    for verdict in Verdict::ALL {
        for full in [false, true] {
            let judgement = judgement(verdict, full);
            let decision = Decision { event: &event, arrival: arrival(), judgement: &judgement };
            let mut out = Vec::new();
            decision::encode(&decision, Timestamp::from_millis(1_750_000_000_050), "0.1.0", &mut out);
            let json = serde_json::from_slice(&out).expect("JSON");
            let errors: Vec<_> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{errors:?}");
        }
    }
}

fn asyncapi() -> Value {
    let text = fs::read_to_string(schemas().join("asyncapi.yaml")).expect("readable");
    serde_saphyr::from_str(&text).expect("YAML")
}

#[test]
fn the_asyncapi_document_names_every_topic_as_it_is_created() {
    let document = asyncapi();
    assert_eq!(document["asyncapi"], "3.0.0");
    let channels = document["channels"].as_object().expect("channels");
    assert_eq!(channels.len(), Topic::ALL.len());
    for spec in TopicPlan::default().specs() {
        let channel = channels.values().find(|channel| channel["address"] == spec.name.as_str());
        let kafka = &channel.unwrap_or_else(|| panic!("no channel for {}", spec.name))["bindings"]["kafka"];
        let kept = &kafka["topicConfiguration"];
        assert_eq!(kafka["partitions"], spec.partitions, "{}", spec.name);
        assert_eq!(kept["cleanup.policy"], serde_json::json!([spec.cleanup_policy()]), "{}", spec.name);
        assert_eq!(kept["retention.ms"].as_i64(), spec.retention_ms, "{}", spec.name);
        let stamped = kafka["x-message.timestamp.type"] == "LogAppendTime";
        assert_eq!(stamped, spec.append_time, "{}", spec.name);
    }
}

#[test]
fn the_asyncapi_document_names_every_schema_and_refers_to_nothing_that_is_not_there() {
    let document = asyncapi();
    let mut references = BTreeSet::new();
    collect_references(&document, &mut references);
    for reference in &references {
        match reference.strip_prefix('#') {
            Some(pointer) => assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere"),
            None => assert!(schemas().join(reference).is_file(), "{reference} is no file"),
        }
    }
    for contract in Contract::ALL {
        assert!(references.contains(&format!("./{}", contract.path())), "{} is not named", contract.path());
    }
    let channels = document["channels"].as_object().expect("channels");
    for channel in channels.keys() {
        let used = format!("#/channels/{channel}");
        assert!(references.contains(&used), "nothing is done with {channel}");
    }
}

fn collect_references(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            into.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|value| collect_references(value, into));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_references(value, into)),
        _ => {}
    }
}
