//! The JSON Schema of policy files: it knows every section, accepts the standard policy and refuses what `check` does.

use serde_json::{Value, json};
use weir::config::standard;
use weir::engine::policy::listing::catalogue_table;
use weir::engine::policy::load::load;
use weir::engine::policy::raw::SECTIONS;
use weir::engine::policy::schema::policy_schema;

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(policy_schema().as_value()).expect("a good schema")
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).expect("YAML")
}

#[test]
fn the_schema_has_the_sections_that_are_read() {
    let schema = policy_schema();
    let sections = schema.as_value()["properties"].as_object().expect("properties");
    assert_eq!(sections.keys().map(String::as_str).collect::<Vec<_>>(), SECTIONS);
    assert_eq!(schema.as_value()["additionalProperties"], json!(false));
}

#[test]
fn the_standard_policy_is_valid() {
    let validator = validator();
    for (name, text) in standard::files().into_iter().filter(|(name, _)| name.ends_with(".yaml")) {
        let value = yaml(&text);
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{name}{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }
}

#[test]
fn slips_are_invalid() {
    let validator = validator();
    let limit = |more: &str| {
        yaml(&format!(
            "limits: [{{ id: a, key: [user], verdict: reject, code: A, text: t, window: 1m, max: 3, {more} }}]"
        ))
    };
    assert!(validator.is_valid(&limit("mode: shadow")));
    assert!(validator.is_valid(&limit("algorithm: calendar")));
    assert!(validator.is_valid(&limit("algorithm: { calendar: { zone: UTC } }")));
    for slip in ["mode: lve", "colour: red", "algorithm: { sliding_window: { slot: 3 } }", "count_refused: 3"]
    {
        assert!(!validator.is_valid(&limit(slip)), "{slip}");
    }
    assert!(!validator.is_valid(&yaml("rulez: []")));
    assert!(!validator.is_valid(&yaml("time: { grace: 60 }")));
}

#[test]
fn the_catalogue_says_what_a_signal_measures() {
    let text = "version: 1
signals:
  - name: newcomers
    key: [target, action]
    when: account.new
    window: 90m
    distinct: user
    doc: New accounts.
rules:
  - { id: r, family: group, when: newcomers > 3, verdict: hold, code: R, text: t, source: s, owner: o }
";
    let loaded = load(&[("p.yaml".to_owned(), text.to_owned())]).expect("a policy");
    let table = catalogue_table(&loaded.policy);
    let row = table.iter().find(|row| row.name == "newcomers").expect("the signal");
    assert_eq!((row.kind, row.ty, row.doc.as_str(), row.used), ("signal", "int", "New accounts.", true));
    assert_eq!(row.measure, "distinct user by target+action over 1h30m where account.new");
    let fact = table.iter().find(|row| row.name == "account.age").expect("a fact");
    assert_eq!((fact.kind, fact.ty, fact.unit, fact.used), ("fact", "int", "s", false));
}
