//! The contract as JSON Schema 2020-12, made from the types of this room. What is in `schemas/` is this, and a
//! test holds the two equal.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};

use super::ban::BanRecord;
use super::case::CaseRecord;
use super::command::CommandRecord;
use super::dead_letter::{DeadLetterHeaders, DigestRecord};
use super::decision::DecisionRecord;
use super::feedback::FeedbackRecord;
use super::interaction::schema::InteractionSchema;
use super::journal::JournalRecord;
use super::policy::PolicyRecord;
use super::shadow::ShadowRecord;
use super::shadow_tally::ShadowTallyRecord;

/// One subject of the contract.
#[derive(Clone, Copy, Debug)]
pub struct Contract {
    /// Folder in `schemas/`, and the name within the schema's `$id`.
    pub subject: &'static str,
    /// Major version.
    pub major: u32,
    /// Makes the schema.
    make: fn() -> Schema,
}

impl Contract {
    /// All subjects.
    pub const ALL: [Contract; 12] = [
        Contract::of::<InteractionSchema>("interaction"),
        Contract::of::<CommandRecord>("command"),
        Contract::of::<FeedbackRecord>("feedback"),
        Contract::of::<PolicyRecord>("policy"),
        Contract::of::<DecisionRecord>("decision"),
        Contract::of::<BanRecord>("ban"),
        Contract::of::<CaseRecord>("case"),
        Contract::of::<ShadowRecord>("shadow"),
        Contract::of::<ShadowTallyRecord>("shadow-tally"),
        Contract::of::<DeadLetterHeaders>("dead-letter"),
        Contract::of::<DigestRecord>("dead-letter-digest"),
        Contract::of::<JournalRecord>("journal"),
    ];

    const fn of<T: JsonSchema>(subject: &'static str) -> Self {
        Self { subject, major: 1, make: make::<T> }
    }

    /// Path below `schemas/`.
    pub fn path(&self) -> String {
        format!("{}/v{}.schema.json", self.subject, self.major)
    }

    /// The `$id`: a name, not a place.
    pub fn id(&self) -> String {
        format!("urn:weir:schema:{}:v{}", self.subject, self.major)
    }

    /// The schema.
    pub fn schema(&self) -> Schema {
        let mut schema = (self.make)();
        let body = std::mem::take(schema.ensure_object());
        let head = body.iter().filter(|(key, _)| key.as_str() == "$schema");
        let mut all: serde_json::Map<String, serde_json::Value> =
            head.map(|(key, value)| (key.clone(), value.clone())).collect();
        all.insert("$id".to_owned(), self.id().into());
        all.extend(body.into_iter().filter(|(key, _)| key.as_str() != "$schema"));
        all.into()
    }

    /// The schema as it is in `schemas/`.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.schema()).expect("a schema is JSON");
        text.push('\n');
        text
    }
}

fn make<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(one_line));
    settings.into_generator().into_root_schema_for::<T>()
}

/// Descriptions come from comments, which are broken into lines.
fn one_line(schema: &mut Schema) {
    if let Some(text) = schema.get("description").and_then(|text| text.as_str()) {
        let text = text.replace('\n', " ");
        schema.insert("description".to_owned(), text.into());
    }
}
