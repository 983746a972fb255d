//! `docker-compose.yml` parses and holds what the README promises: services, profiles, and loopback only.

use serde_json::Value;

fn compose() -> Value {
    let text = include_str!("../docker-compose.yml");
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("docker-compose.yml: {error}"))
}

fn services(compose: &Value) -> &serde_json::Map<String, Value> {
    compose["services"].as_object().expect("services")
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn the_services_and_their_profiles_are_there() {
    let compose = compose();
    let mut found: Vec<(&str, Vec<&str>)> = services(&compose)
        .iter()
        .map(|(name, service)| (name.as_str(), strings(&service["profiles"])))
        .collect();
    found.sort();
    let wanted = [
        ("kafka", vec![]),
        ("kafka-ui", vec!["ui"]),
        ("prometheus", vec!["obs"]),
        ("topics", vec![]),
        ("weir", vec![]),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn every_port_is_bound_to_loopback() {
    let compose = compose();
    let ports: Vec<&str> =
        services(&compose).values().flat_map(|service| strings(&service["ports"])).collect();
    assert_eq!(ports.len(), 4, "{ports:?}");
    assert!(ports.iter().all(|port| port.starts_with("127.0.0.1:")), "{ports:?}");
}

#[test]
fn weir_starts_once_kafka_answers_and_the_topics_are_made() {
    let compose = compose();
    let (topics, weir) = (&compose["services"]["topics"], &compose["services"]["weir"]);
    assert_eq!(strings(&topics["command"]), ["topics", "create"]);
    assert_eq!(topics["depends_on"]["kafka"]["condition"], "service_healthy");
    assert_eq!(weir["depends_on"]["topics"]["condition"], "service_completed_successfully");
    assert!(compose["services"]["kafka"]["healthcheck"]["test"].is_array());
    assert_eq!(strings(&weir["command"])[0], "run");
}

#[test]
fn the_image_is_built_here_with_tls_and_without_root() {
    let compose = compose();
    let (topics, weir) = (&compose["services"]["topics"], &compose["services"]["weir"]);
    assert_eq!(topics["build"], weir["build"], "one image");
    let dockerfile = weir["build"]["dockerfile_inline"].as_str().expect("an inline Dockerfile");
    assert!(dockerfile.contains("cargo build --release --locked --features tls"));
    assert!(dockerfile.contains("USER weir"));
    let msrv = include_str!("../Cargo.toml").lines().find_map(|line| line.strip_prefix("rust-version = "));
    let msrv = msrv.expect("a rust-version").trim_matches('"');
    assert!(
        dockerfile.contains(&format!("FROM rust:{msrv}-")),
        "built with the version that Cargo.toml promises"
    );
}

#[test]
fn kafka_has_one_door_for_the_machine_and_one_for_containers() {
    let compose = compose();
    let environment = &compose["services"]["kafka"]["environment"];
    let advertised = environment["KAFKA_ADVERTISED_LISTENERS"].as_str().expect("listeners");
    assert_eq!(advertised, "HOST://127.0.0.1:9092,NET://kafka:19092");
    assert_eq!(environment["KAFKA_AUTO_CREATE_TOPICS_ENABLE"], "false");
    assert_eq!(compose["services"]["weir"]["environment"]["WEIR_KAFKA_BROKERS"], "kafka:19092");
}

/// Everything that is mounted is declared, and every declaration is used.
#[test]
fn volumes_and_configs_match() {
    let compose = compose();
    let mut mounted: Vec<&str> = services(&compose)
        .values()
        .flat_map(|service| strings(&service["volumes"]))
        .map(|mount| mount.split(':').next().unwrap_or_default())
        .collect();
    mounted.sort_unstable();
    let mut declared: Vec<&str> =
        compose["volumes"].as_object().expect("volumes").keys().map(String::as_str).collect();
    declared.sort_unstable();
    assert_eq!(mounted, declared);
    let used = &compose["services"]["prometheus"]["configs"][0]["source"];
    let text =
        compose["configs"][used.as_str().expect("a name")]["content"].as_str().expect("an inline file");
    let scrape: Value = serde_saphyr::from_str(text).expect("the inline file is YAML");
    assert_eq!(scrape["scrape_configs"][0]["static_configs"][0]["targets"][0], "weir:8088");
}
