//! What loading keeps: the hash of the content, the identity of counters, defaults, and its calm on any input.

use proptest::prelude::*;
use weir::config::standard;
use weir::engine::policy::load::{content_hash, load};
use weir::engine::policy::{KeyField, LimitRule, Policy};

fn policy(text: &str) -> std::sync::Arc<Policy> {
    match load(&[("p.yaml".to_owned(), text.to_owned())]) {
        Ok(loaded) => loaded.policy,
        Err(problems) => {
            panic!("{}", problems.iter().map(|problem| format!("{problem}\n")).collect::<String>())
        }
    }
}

fn limit(more: &str) -> String {
    format!(
        "version: 1
attributes: {{ weight: int }}
limits:
  - {{ id: l, verdict: reject, code: L, text: t, source: s, owner: o, {more} }}
"
    )
}

fn one(more: &str) -> u64 {
    let policy = policy(&limit(more));
    let LimitRule { spans, .. } = &policy.limits[0];
    spans[0].identity
}

#[test]
fn the_hash_is_of_the_content_and_not_of_the_order() {
    let mut files = standard::files();
    let first = load(&files).expect("the standard policy").policy.hash.clone();
    assert_eq!(first.len(), 64);
    assert!(first.chars().all(|c| c.is_ascii_hexdigit()));
    files.reverse();
    assert_eq!(content_hash(&files), *first);
    files[0].1.push(' ');
    assert_ne!(content_hash(&files), *first);
    let moved = [("ab".to_owned(), "c".to_owned())];
    assert_ne!(content_hash(&moved), content_hash(&[("a".to_owned(), "bc".to_owned())]));
}

#[test]
fn a_threshold_does_not_change_a_counter() {
    let base = one("key: [user, action], window: 1m, max: 3, when: event.action == 'like'");
    for same in [
        "key: [user, action], window: 1m, max: 30, when: event.action == 'like'",
        "key: [user, action], window: 60s, max: 3, when: \"event.action   ==  'like'\", verdict: reject",
        "key: [user, action], window: 1m, max: 3, when: event.action == 'like', mode: shadow",
    ] {
        let same = same.replace(", verdict: reject", "");
        assert_eq!(one(&same), base, "{same}");
    }
    for other in [
        "key: [user], window: 1m, max: 3, when: event.action == 'like'",
        "key: [user, action], window: 2m, max: 3, when: event.action == 'like'",
        "key: [user, action], window: 1m, max: 3, when: event.action == 'share'",
        "key: [user, action], window: 1m, max: 3",
        "key: [user, action], window: 1m, max: 3, when: event.action == 'like', algorithm: leaky_bucket",
        "key: [user, action], window: 1m, max: 3, when: event.action == 'like', cost: event.attributes.weight",
    ] {
        assert_ne!(one(other), base, "{other}");
    }
}

#[test]
fn a_limit_above_32_counts_in_sub_windows_unless_told() {
    let exact = policy(&limit("key: [user], window: 1m, max: 32"));
    let large = policy(&limit("key: [user], window: 1m, max: 33"));
    let told = policy(&limit("key: [user], window: 1m, max: 33, algorithm: sliding_log"));
    let identity = |policy: &Policy| policy.limits[0].spans[0].identity;
    assert_ne!(identity(&exact), identity(&large));
    assert_eq!(identity(&exact), identity(&told));
}

#[test]
fn keys_name_their_fields() {
    let policy = policy(&limit("key: [ip/56, attributes.weight], window: 1m, max: 3"));
    let dimension = &policy.dimensions[policy.limits[0].dimension];
    assert_eq!(&*dimension.name, "ip/56+attributes.weight");
    assert_eq!(dimension.fields, [KeyField::Ip(Some(56)), KeyField::Attribute("weight".to_owned())]);
}

#[test]
fn an_empty_policy_has_the_stated_defaults() {
    let policy = policy("version: 1\n");
    let settings = &policy.settings;
    let seconds = [settings.grace, settings.skew, settings.max_skew, settings.duplicate_horizon]
        .map(|span| span.millis() / 1000);
    assert_eq!(seconds, [60, 10, 300, 3600]);
    assert_eq!((settings.prior, settings.reject_families, settings.strong), (-100, 2, 14));
    let ladder = settings.ladder;
    assert_eq!([ladder.demote, ladder.challenge, ladder.hold, ladder.reject], [-6, 9, 17, 25]);
    assert_eq!(
        policy.families.iter().map(|family| family.cap).collect::<Vec<_>>(),
        [43, 22, 43, 36, 58, 22, 22]
    );
}

#[test]
fn no_files_are_no_policy() {
    assert!(load(&[]).is_err());
    assert!(load(&[("empty.yaml".to_owned(), String::new())]).is_err());
}

#[test]
fn deep_nesting_and_odd_bytes_are_problems_and_not_crashes() {
    for text in [
        format!("rules: {}", "[".repeat(10_000)),
        format!("rules: {}{}", "[".repeat(200), "]".repeat(200)),
        format!(
            "rules:\n{}",
            (0..500).map(|depth| format!("{}- a:\n", "  ".repeat(depth))).collect::<String>()
        ),
        "version: 1\0\n".to_owned(),
        "\u{feff}version: 1\nname: \u{7f}\n".to_owned(),
        "version: 1\r\nrules:\r\n  - id: a\r\n".to_owned(),
    ] {
        let outcome = load(&[("p.yaml".to_owned(), text)]);
        for problem in outcome.err().into_iter().flatten() {
            assert!(problem.line >= 1 && problem.column >= 1);
            assert!(!problem.to_string().is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Cut and overwritten texts of a real policy load or are told about; nothing panics.
    #[test]
    fn damaged_policies_are_told_about(
        file in 0usize..8,
        from in 0usize..20_000,
        length in 0usize..12,
        patch in prop::sample::select(vec!["", "'", "\"", "[", "}", ": ", "-1", "&a", "*a", "é", "\n", "0", "|", "&& "]),
    ) {
        let mut files = standard::files();
        let count = files.len();
        let text = &mut files[file % count].1;
        let mut start = from % text.len();
        let mut end = (start + length).min(text.len());
        while !text.is_char_boundary(start) { start -= 1; }
        while !text.is_char_boundary(end) { end += 1; }
        text.replace_range(start..end, patch);
        if let Err(problems) = load(&files) {
            prop_assert!(!problems.is_empty());
            for problem in problems {
                prop_assert!(!problem.to_string().is_empty());
                prop_assert!(problem.line >= 1 && problem.column >= 1);
            }
        }
    }
}
