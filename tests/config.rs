//! Configurations that are wrong: every problem is told at once, with its place counted by hand.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use weir::config::{self, Loaded, Overrides, Place, Problem, Problems, Severity};

fn parse(text: &str) -> Result<Loaded, Problems> {
    config::parse(Path::new("weir.toml"), text, &Overrides::default())
}

fn with(change: impl FnOnce(&mut Overrides)) -> Result<Loaded, Problems> {
    let mut overrides = Overrides::default();
    change(&mut overrides);
    config::parse(Path::new(""), "", &overrides)
}

fn problems(text: &str) -> Vec<Problem> {
    parse(text).expect_err("it is wrong").0
}

fn position(problem: &Problem) -> (usize, usize, usize) {
    match &problem.place {
        Place::File(at) => (at.line, at.column, at.width),
        other => panic!("{other:?}"),
    }
}

const WRONG: &str = r#"[kafka]
brokers = "localhost"
  sesion_timeout = "10s"
properties = 7

[batch]
interval = 50
records_max = 0
merge_wait = "9h"
lead_span = "fast"

[http]
listen = "8088"
token = "short"
token_file = "/nonexistent/token"

[storage]
dir = "x"

[log]
format = "xml"
filter = "weir=loud"
"#;

#[test]
fn all_problems_are_told_at_once_with_their_places() {
    let found = problems(WRONG);
    let places: Vec<_> = found.iter().map(position).collect();
    let expected = [
        (2, 11, 11, "localhost"),
        (3, 3, 14, "sesion_timeout"),
        (4, 14, 1, "properties"),
        (7, 12, 2, "interval"),
        (8, 15, 1, "records_max"),
        (9, 14, 4, "merge_wait"),
        (10, 13, 6, "lead_span"),
        (13, 10, 6, "listen"),
        (15, 14, 20, "both set"),
        (17, 2, 7, "storage"),
        (21, 10, 5, "format"),
        (22, 10, 11, "filter"),
    ];
    assert_eq!(places, expected.map(|(line, column, width, _)| (line, column, width)), "{found:#?}");
    for (problem, (.., word)) in found.iter().zip(expected) {
        assert!(problem.message.contains(word), "{word}: {}", problem.message);
    }
    assert_eq!(found[1].help.as_deref(), Some("did you mean `session_timeout`?"));
}

#[test]
fn a_problem_reads_like_a_compilers() {
    let found = problems("[kafka]\n  sesion_timeout = \"10s\"\n");
    let expected = "\
weir.toml:2:3: error: unknown key `sesion_timeout`
  |
2 |   sesion_timeout = \"10s\"
  |   ^^^^^^^^^^^^^^
  = help: did you mean `session_timeout`?";
    assert_eq!(found[0].to_string(), expected);
}

#[test]
fn what_is_no_toml_has_a_place_too() {
    let found = problems("[kafka]\nbrokers = \n[batch]\ninterval = \"never\"\n");
    assert_eq!(position(&found[0]).0, 2, "{found:?}");
    assert!(found.iter().any(|problem| problem.message.contains("never")), "the rest is read: {found:?}");
}

#[test]
fn an_address_that_others_can_reach_needs_a_token() {
    for address in ["0.0.0.0:8088", "[::]:8088", "192.0.2.1:80"] {
        let found = problems(&format!("[http]\nlisten = \"{address}\"\n"));
        assert_eq!(found.len(), 1);
        assert_eq!(position(&found[0]).0, 2);
        assert!(found[0].help.as_ref().unwrap().contains("token_file"), "{}", found[0]);
        let token = "0123456789abcdef";
        assert!(parse(&format!("[http]\nlisten = \"{address}\"\ntoken = \"{token}\"\n")).is_ok());
    }
    for address in ["127.0.0.1:0", "[::1]:8088", "127.1.2.3:9", "off"] {
        assert!(parse(&format!("[http]\nlisten = \"{address}\"\n")).is_ok(), "{address}");
    }
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let text = "[kafka]\nbrokers = \"file:1\"\ngroup = \"file\"\nclient_id = \"file\"\n";
    let mut overrides = Overrides::default();
    overrides.variable("WEIR_KAFKA_BROKERS", "environment:1");
    overrides.variable("WEIR_KAFKA_GROUP", "environment");
    overrides.variable("WEIR_BATCH_RECORDS_MAX", "77");
    overrides.flag("kafka", "brokers", "--brokers", Some("flag:1, other:2".to_owned()));
    overrides.flag("kafka", "client_id", "--client-id", None);
    let config = config::parse(Path::new("w"), text, &overrides).unwrap().config;
    assert_eq!(config.kafka.brokers, "flag:1,other:2");
    assert_eq!(config.kafka.group, "environment");
    assert_eq!(config.kafka.client_id, "file");
    assert_eq!(config.batch.records_max, 77);
}

#[test]
fn a_wrong_flag_or_variable_is_named() {
    let found = with(|overrides| {
        overrides.flag("kafka", "brokers", "--brokers", Some("nowhere".to_owned()));
        overrides.variable("WEIR_BATCH_INTERVAL", "50");
        overrides.variable("WEIR_HTTP_LISTEN", "0.0.0.0:1");
    })
    .expect_err("three are wrong");
    let text = found.to_string();
    assert_eq!(found.0.len(), 3, "{text}");
    for start in ["--brokers: error: ", "WEIR_BATCH_INTERVAL: error: ", "WEIR_HTTP_LISTEN: error: "] {
        assert!(text.lines().any(|line| line.starts_with(start)), "{start} in {text}");
    }
}

#[test]
fn secrets_are_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("password"), "hunter2-password\n").unwrap();
    let text = "\
[kafka.properties]
\"sasl.password\" = { file = \"password\" }
\"ssl.key.pem\" = \"hunter2-pem\"
\"linger.ms\" = 7
[http]
token = \"hunter2-token-0123\"
[keys]
seed_id = \"2026-1\"
seed = \"00112233445566778899aabbccddeeff\"
";
    let loaded = config::parse(&dir.path().join("weir.toml"), text, &Overrides::default()).unwrap();
    let shown = format!("{}\n{:?}", loaded.config, loaded.config);
    for secret in ["hunter2", "0011", "0, 17, 34", "[0, 17"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
    assert!(shown.contains("sasl.password") && shown.contains("http.token = (set)"));
    let exposed = loaded.config.exposed_properties();
    assert_eq!(exposed["sasl.password"], "hunter2-password");
    assert_eq!(exposed["linger.ms"], "7");
    assert_eq!(loaded.config.keys.seed[..3], [0x00, 0x11, 0x22]);
}

#[test]
fn a_wrong_secret_is_not_part_of_the_message() {
    for text in [
        "[http]\ntoken = \"hunter2\"\n",
        "[http]\ntoken = \"hunter2\n",
        "[http]\ntoken = hunter2\n",
        "[keys]\nseed = \"hunter2\"\nseed_id = \"a\"\n",
        "[kafka.properties]\n\"sasl.password\" = [\"hunter2\"]\n",
        "[kafka.properties]\n\"ssl.passphrase\" = [\"hunter2\"]\n",
    ] {
        let shown = parse(text).expect_err("it is wrong").to_string();
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("weir.toml:2:"), "{shown}");
    }
}

#[test]
fn a_seed_and_its_name_belong_together() {
    let seed = "seed = \"00112233445566778899aabbccddeeff\"";
    assert!(problems(&format!("[keys]\n{seed}\n"))[0].help.as_ref().unwrap().contains("seed_id"));
    assert!(problems("[keys]\nseed_id = \"mine\"\n")[0].help.as_ref().unwrap().contains("seed_file"));
    assert_eq!(parse("").unwrap().config.keys.seed_id, config::BUILT_IN_SEED);
}

#[cfg(unix)]
#[test]
fn a_token_file_that_all_can_read_is_warned_about() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    std::fs::write(&token, "0123456789abcdef\n").unwrap();
    let load = |mode| {
        std::fs::set_permissions(&token, std::fs::Permissions::from_mode(mode)).unwrap();
        let text = "[http]\nlisten = \"0.0.0.0:1\"\ntoken_file = \"token\"\n";
        config::parse(&dir.path().join("weir.toml"), text, &Overrides::default()).unwrap()
    };
    assert!(load(0o600).warnings.is_empty());
    let warnings = load(0o644).warnings;
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].severity, Severity::Warning);
    assert_eq!(position(&warnings[0]).0, 3);
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let found = config::load(Some(Path::new("/nonexistent/weir.toml")), &Overrides::default());
    assert!(found.expect_err("it is not there").to_string().contains("/nonexistent/weir.toml"));
}

#[test]
fn paths_in_a_file_are_relative_to_it_and_others_are_not() {
    let text = "[policy]\ndir = \"policy\"\n";
    let mut overrides = Overrides::default();
    overrides.flag("state", "dir", "--state-dir", Some("here".to_owned()));
    let config = config::parse(Path::new("/etc/weir/weir.toml"), text, &overrides).unwrap().config;
    assert_eq!(config.policy.dir, Path::new("/etc/weir/policy"));
    assert_eq!(config.state.dir, Path::new("here"));
}
