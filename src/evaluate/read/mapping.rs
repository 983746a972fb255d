//! Rows of a stranger's table as interactions: which column is which field.
//!
//! A row becomes the JSON of the interaction contract and goes the way of every other line; times are read as
//! [`moment`](super::moment) says. Without an `event_id` the number of the row is one.
//!
//! A row may also tell how often each thing was done: it becomes that many events, at invented times, a minute apart
//! over the whole table. What windows measure means nothing then; what is known of an account over its life does.

use serde_json::{Map, Value, json};

use super::csv::Row;
use super::moment::{is_date, moment};
use crate::evaluate::label::{Groups, Kind, Label};

/// Fields that are text at the top of an interaction, by the names a mapping may give them.
const TEXTS: [(&str, &str); 10] = [
    ("event_id", "event_id"),
    ("action", "action"),
    ("user", "user_id"),
    ("target", "target_id"),
    ("target_owner", "target_owner_id"),
    ("ip", "ip"),
    ("user_agent", "user_agent"),
    ("session", "session_id"),
    ("outcome", "outcome"),
    ("content_hash", "content_hash"),
];

/// What a mapping, written as `field=column`, may be wrong in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// Not of the form.
    #[error("`{0}` is no mapping: write field=column")]
    Form(String),
    /// No such field.
    #[error(
        "`{0}` is no field: known are time, event_id, action, user, target, target_owner, ip, device, user_agent, \
         session, outcome, content_hash, plan, created_at, label, group, scenario, and device.NAME, account.NAME, \
         attributes.NAME"
    )]
    Field(String),
    /// No such column.
    #[error("there is no column `{column}`; there are {known}")]
    Column {
        /// The column.
        column: String,
        /// The columns there are.
        known: String,
    },
    /// A field can come from one column only.
    #[error("`{field}` is mapped to `{column}`, and to another column before")]
    Twice {
        /// The field, as written.
        field: String,
        /// The later column.
        column: String,
    },
    /// Which of the columns of one name is meant cannot be known.
    #[error("the column `{0}` is there more than once: give each a name of its own")]
    TwoColumns(String),
    /// What is counted says it by itself.
    #[error(
        "`{0}` says nothing beside counts: each event of a count gets an invented time and id, and the action that is counted"
    )]
    Counted(&'static str),
    /// Nothing says when an event happened.
    #[error("no column is mapped to `time`, and no column counts events")]
    Time,
}

/// One field of an interaction.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Time,
    Text(&'static str),
    Device,
    CreatedAt,
    Inside(&'static str, String),
    Label,
    Group,
    Scenario,
}

/// How rows are read: what was typed.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    fields: Vec<(Field, String)>,
    /// What was done, and the column that tells how often.
    counts: Vec<(String, String)>,
    /// The action of rows that tell none.
    pub action: Option<String>,
    /// Values of the label column that mean attack; empty: the usual words.
    pub attack_values: Vec<String>,
    /// The label of rows that tell none.
    pub label: Option<Kind>,
    /// The scenario of rows that tell none.
    pub scenario: String,
}

impl Mapping {
    /// Adds one `field=column`.
    ///
    /// # Errors
    /// It is of another form, or there is no such field.
    pub fn add(&mut self, text: &str) -> Result<(), MappingError> {
        let (name, column) = text.split_once('=').ok_or_else(|| MappingError::Form(text.to_owned()))?;
        let field = field(name.trim()).ok_or_else(|| MappingError::Field(name.trim().to_owned()))?;
        let column = column.trim().to_owned();
        if self.fields.iter().any(|(known, before)| *known == field && *before != column) {
            return Err(MappingError::Twice { field: name.trim().to_owned(), column });
        }
        self.fields.push((field, column));
        Ok(())
    }

    /// Adds one `action=column`: the column tells how often it was done. Earlier ones happened earlier.
    ///
    /// # Errors
    /// It is of another form.
    pub fn count(&mut self, text: &str) -> Result<(), MappingError> {
        let (action, column) = text.split_once('=').ok_or_else(|| MappingError::Form(text.to_owned()))?;
        self.counts.push((action.trim().to_owned(), column.trim().to_owned()));
        Ok(())
    }

    /// The mapping for a table with these columns. Columns that nothing is said about and that are called like a field
    /// are that field.
    pub(super) fn bind(&self, head: &Row) -> Result<Bound, MappingError> {
        self.fits_counts()?;
        let columns: Vec<&str> = head.iter().collect();
        let mut places = Vec::new();
        let find = |column: &String| {
            let place = columns.iter().position(|known| known == column);
            let place = place
                .ok_or_else(|| MappingError::Column { column: column.clone(), known: listed(&columns) })?;
            let again = columns[place + 1..].iter().any(|known| known == column);
            if again { Err(MappingError::TwoColumns(column.clone())) } else { Ok(place) }
        };
        for (field, column) in &self.fields {
            places.push((field.clone(), find(column)?));
        }
        let counts = self.counts.iter().map(|(action, column)| Ok((action.clone(), find(column)?)));
        let counts = counts.collect::<Result<Vec<_>, _>>()?;
        for (place, column) in columns.iter().enumerate() {
            let taken = |field: &Field| places.iter().any(|(known, at)| known == field || *at == place);
            if let Some(field) = field(column).filter(|field| !taken(field)) {
                places.push((field, place));
            }
        }
        if counts.is_empty() && places.iter().all(|(field, _)| *field != Field::Time) {
            return Err(MappingError::Time);
        }
        Ok(Bound { places, counts, columns: columns.len(), clock: INVENTED, held: Vec::new(), dated: false })
    }
}

impl Mapping {
    /// Whether nothing is mapped that counts would overwrite.
    fn fits_counts(&self) -> Result<(), MappingError> {
        let overwritten = |(field, _): &(Field, String)| match field {
            Field::Time => Some("time"),
            Field::Text(name) if ["event_id", "action"].contains(name) => Some(*name),
            _ => None,
        };
        let named = self.fields.iter().find_map(overwritten).or(self.action.as_ref().map(|_| "--action"));
        match named.filter(|_| !self.counts.is_empty()) {
            Some(name) => Err(MappingError::Counted(name)),
            None => Ok(()),
        }
    }
}

fn field(name: &str) -> Option<Field> {
    let text = TEXTS.iter().find(|(short, wire)| name == *short || name == *wire);
    Some(match name {
        "time" | "occurred_at" => Field::Time,
        "device" | "device_id" | "device.id" => Field::Device,
        "created_at" | "account.created_at" => Field::CreatedAt,
        "plan" => Field::Inside("account", "plan".to_owned()),
        "label" => Field::Label,
        "group" => Field::Group,
        "scenario" => Field::Scenario,
        _ => match (text, name.split_once('.')) {
            (Some((_, wire)), _) => Field::Text(wire),
            (None, Some(("device", inner))) => Field::Inside("device", inner.to_owned()),
            (None, Some(("account", inner))) => Field::Inside("account", inner.to_owned()),
            (None, Some(("attributes", inner))) => Field::Inside("attributes", inner.to_owned()),
            _ => return None,
        },
    })
}

/// A mapping with the places of its columns.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    places: Vec<(Field, usize)>,
    counts: Vec<(String, usize)>,
    columns: usize,
    /// The next invented time.
    clock: i64,
    /// Counts of the last row of which not all events were made, in words.
    held: Vec<Wrong>,
    /// The last row tells a date, and no time of day.
    dated: bool,
}

/// Invented times begin here: 2020-01-01T00:00:00Z, in milliseconds.
const INVENTED: i64 = 1_577_836_800_000;
/// From one invented time to the next, milliseconds.
const APART: i64 = 60_000;
/// What a row did more often than this tells nothing more about it.
const TIMES_MAX: u64 = 200;

/// The events of a row as JSON, and their label.
pub(super) type Told = (Vec<Vec<u8>>, Option<Label>);

/// What is wrong with a row, and in which field.
pub(super) type Wrong = (usize, String);

impl Bound {
    /// The events of a row, and its label if it has one. `number` counts rows from 1.
    pub(super) fn read(
        &mut self,
        row: &Row,
        number: u64,
        how: &Mapping,
        groups: &mut Groups,
    ) -> Result<Told, Wrong> {
        if row.len() != self.columns {
            return Err((
                row.len(),
                format!("{} fields where there are {} columns", row.len(), self.columns),
            ));
        }
        self.dated = false;
        let mut event = Map::new();
        let (mut kind, mut group, mut scenario) = (how.label, "", how.scenario.as_str());
        for (field, place) in &self.places {
            let Some(text) = row.get(*place) else { continue };
            match field {
                Field::Label => kind = Some(label(text, how).map_err(|message| (*place, message))?),
                Field::Group => group = text,
                Field::Scenario => scenario = text,
                Field::Time => {
                    put(&mut event, field, text).map_err(|message| (*place, message))?;
                    self.dated = is_date(text);
                }
                field => put(&mut event, field, text).map_err(|message| (*place, message))?,
            }
        }
        event.entry("event_id").or_insert_with(|| json!(format!("row-{number}")));
        if let Some(action) = &how.action {
            event.entry("action").or_insert_with(|| json!(action));
        }
        let label = kind.map(|kind| Label::plain(kind, groups.number(scenario, group)));
        Ok((self.told(row, event)?, label))
    }

    /// Counts of the last row that were held, and in which field.
    pub(super) fn take_held(&mut self) -> Vec<Wrong> {
        std::mem::take(&mut self.held)
    }

    /// Whether the last row tells when it was by a date alone.
    pub(super) fn is_dated(&self) -> bool {
        self.dated
    }

    /// One event, or as many as the counting columns say.
    fn told(&mut self, row: &Row, event: Map<String, Value>) -> Result<Vec<Vec<u8>>, Wrong> {
        if self.counts.is_empty() {
            return Ok(vec![Value::Object(event).to_string().into_bytes()]);
        }
        let mut told = Vec::new();
        for (action, place) in &self.counts {
            let text = row.get(*place).unwrap_or("0");
            let times = text.parse::<u64>().map_err(|_| (*place, format!("`{text}` is no count")))?;
            if times > TIMES_MAX {
                self.held
                    .push((*place, format!("{times} times: the first {TIMES_MAX} of them are made events")));
            }
            for _ in 0..times.min(TIMES_MAX) {
                let mut event = event.clone();
                event.insert("action".to_owned(), json!(action));
                event.insert("occurred_at".to_owned(), json!(self.clock));
                event.insert("event_id".to_owned(), json!(format!("event-{}", self.clock / APART)));
                self.clock = self.clock.saturating_add(APART);
                told.push(Value::Object(event).to_string().into_bytes());
            }
        }
        Ok(told)
    }
}

fn put(event: &mut Map<String, Value>, field: &Field, text: &str) -> Result<(), String> {
    let inside = |event: &mut Map<String, Value>, outer: &str, inner: &str, value: Value| {
        let object = event.entry(outer).or_insert_with(|| json!({}));
        if let Value::Object(object) = object {
            object.insert(inner.to_owned(), value);
        }
    };
    match field {
        Field::Time => drop(event.insert("occurred_at".to_owned(), json!(moment(text)?.millis()))),
        Field::Text(name) => drop(event.insert((*name).to_owned(), json!(text))),
        Field::Device => inside(event, "device", "id", json!(text)),
        Field::CreatedAt => inside(event, "account", "created_at", json!(moment(text)?.millis())),
        Field::Inside(outer, inner) => inside(event, outer, inner, json!(text)),
        Field::Label | Field::Group | Field::Scenario => {}
    }
    Ok(())
}

fn label(text: &str, how: &Mapping) -> Result<Kind, String> {
    let is_one_of = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if !how.attack_values.is_empty() {
        let is_attack = how.attack_values.iter().any(|value| value == text);
        return Ok(if is_attack { Kind::Attack } else { Kind::Honest });
    }
    match () {
        () if is_one_of(&["attack", "1", "true", "yes"]) => Ok(Kind::Attack),
        () if is_one_of(&["honest", "0", "false", "no"]) => Ok(Kind::Honest),
        () => Err(format!("`{text}` is no label; say which values mean attack")),
    }
}

/// Names of columns for a message: a few, and of each not too much.
fn listed(columns: &[&str]) -> String {
    const NAMES: usize = 40;
    const LETTERS: usize = 60;
    let short = |name: &&str| match name.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}...", name[..end].escape_debug()),
        None => name.escape_debug().to_string(),
    };
    let more = columns.len().saturating_sub(NAMES);
    let mut names: Vec<String> = columns.iter().take(NAMES).map(short).collect();
    names.extend((more > 0).then(|| format!("{more} more")));
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::csv::Csv;
    use super::*;

    fn read(text: &str, mapping: &Mapping) -> Vec<Result<(String, Option<Kind>), Wrong>> {
        let mut csv = Csv::new(text.as_bytes());
        let mut next = || csv.next_row().unwrap().map(|row| row.expect("no damage"));
        let mut bound = mapping.bind(&next().expect("a head")).expect("the columns are there");
        let mut groups = Groups::default();
        let mut rows = Vec::new();
        while let Some(row) = next() {
            let read = bound.read(&row, rows.len() as u64 + 1, mapping, &mut groups);
            rows.push(read.map(|(json, label)| {
                (String::from_utf8(json.concat()).expect("JSON is UTF-8"), label.map(|label| label.kind))
            }));
        }
        rows
    }

    fn mapping(texts: &[&str]) -> Mapping {
        let mut mapping = Mapping::default();
        texts.iter().for_each(|text| mapping.add(text).expect("a mapping"));
        mapping
    }

    #[test]
    fn a_row_becomes_an_interaction() {
        let mut how = mapping(&["user=account", "target=object", "time=when", "device.os=os", "label=fake"]);
        how.action = Some("like".to_owned());
        let text = "when,account,object,os,fake,note\n1629064892,ann,a1,\"x \"\"y\"\"\",0,n\n1629064893500,bob,,,1,\n";
        let told = |json: &str, kind| Ok((json.to_owned(), Some(kind)));
        assert_eq!(
            read(text, &how),
            [
                told(
                    r#"{"user_id":"ann","target_id":"a1","occurred_at":1629064892000,"device":{"os":"x \"y\""},"event_id":"row-1","action":"like"}"#,
                    Kind::Honest
                ),
                told(
                    r#"{"user_id":"bob","occurred_at":1629064893500,"event_id":"row-2","action":"like"}"#,
                    Kind::Attack
                ),
            ]
            .map(|row: Result<(String, Option<Kind>), Wrong>| row.map(|(json, kind)| {
                (serde_json::from_str::<Value>(&json).expect("JSON").to_string(), kind)
            }))
        );
    }

    #[test]
    fn columns_called_like_fields_are_these_fields() {
        let rows =
            read("occurred_at,user_id,action,label\n2021-08-15T00:00:00Z,u,like,attack\n", &mapping(&[]));
        let Ok((json, Some(Kind::Attack))) = &rows[0] else { panic!("{rows:?}") };
        let event: Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(event["occurred_at"], 1_628_985_600_000_i64);
        assert_eq!((&event["user_id"], &event["action"]), (&json!("u"), &json!("like")));
    }

    #[test]
    fn what_can_be_meant_in_two_ways_is_refused() {
        let mut mapping = mapping(&["user=who", "user=who"]);
        assert!(matches!(mapping.add("user=whom"), Err(MappingError::Twice { .. })));
        let mut csv = Csv::new(&b"who,time,who\n"[..]);
        let head = csv.next_row().unwrap().unwrap().unwrap();
        assert_eq!(mapping.bind(&head).unwrap_err(), MappingError::TwoColumns("who".to_owned()));
    }

    #[test]
    fn what_counts_would_overwrite_is_refused() {
        let head = Csv::new(&b"who,when,stars\n"[..]).next_row().unwrap().unwrap().unwrap();
        let mut timed = mapping(&["user=who", "time=when"]);
        timed.count("star=stars").unwrap();
        assert_eq!(timed.bind(&head).unwrap_err(), MappingError::Counted("time"));
        let mut done = mapping(&["user=who"]);
        done.count("star=stars").unwrap();
        assert!(done.bind(&head).is_ok());
        done.action = Some("like".to_owned());
        assert_eq!(done.bind(&head).unwrap_err(), MappingError::Counted("--action"));
    }

    #[test]
    fn a_count_that_is_held_is_told() {
        let mut mapping = mapping(&["user=who"]);
        mapping.count("push=pushes").unwrap();
        let mut csv = Csv::new(&b"who,pushes\nann,900\nbob,200\n"[..]);
        let mut bound = mapping.bind(&csv.next_row().unwrap().unwrap().unwrap()).unwrap();
        let mut groups = Groups::default();
        let mut read = |number| {
            let row = csv.next_row().unwrap().unwrap().unwrap();
            let (events, _) = bound.read(&row, number, &mapping, &mut groups).unwrap();
            (events.len(), bound.take_held().len())
        };
        assert_eq!([read(1), read(2)], [(200, 1), (200, 0)]);
    }

    #[test]
    fn counts_become_events_a_minute_apart() {
        let mut how = mapping(&["user=account"]);
        ["push=pushes", "star=stars"].iter().for_each(|text| how.count(text).expect("a count"));
        let rows = read("account,stars,pushes,label\nann,1,2,0\nbob,0,0,1\neve,x,0,1\n", &how);
        let Ok((json, Some(Kind::Honest))) = &rows[0] else { panic!("{rows:?}") };
        let events: Vec<Value> =
            serde_json::Deserializer::from_str(json).into_iter().map(|event| event.expect("JSON")).collect();
        let told: Vec<_> =
            events.iter().map(|event| (&event["action"], event["occurred_at"].as_i64())).collect();
        let (push, star) = (json!("push"), json!("star"));
        let at = |minute: i64| Some(INVENTED + minute * APART);
        assert_eq!(told, [(&push, at(0)), (&push, at(1)), (&star, at(2))]);
        assert_eq!(rows[1], Ok((String::new(), Some(Kind::Attack))));
        assert_eq!(rows[2].as_ref().err().map(|wrong| wrong.0), Some(1));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_column() {
        let rows = read("time,user,label\nyesterday,u,1\n1629064892,u,maybe\n1629064892,u\n", &mapping(&[]));
        let places: Vec<Option<usize>> =
            rows.iter().map(|row| row.as_ref().err().map(|wrong| wrong.0)).collect();
        assert_eq!(places, [Some(0), Some(2), Some(2)]);
        let mut how = Mapping::default();
        assert!(matches!(how.add("user"), Err(MappingError::Form(_))));
        assert!(matches!(how.add("person=account"), Err(MappingError::Field(_))));
    }

    #[test]
    fn missing_columns_are_told_with_those_there_are() {
        let head = |text: &str| Csv::new(text.as_bytes()).next_row().unwrap().unwrap().unwrap();
        let error = mapping(&["time=when"]).bind(&head("ts,user\n")).unwrap_err();
        assert!(error.to_string().contains("ts, user"), "{error}");
        assert_eq!(mapping(&[]).bind(&head("ts,user\n")).unwrap_err(), MappingError::Time);
    }
}
