//! Bad policies: what is told, and at which line and column. All positions are counted by hand.

use weir::engine::policy::load::{Loaded, load};
use weir::engine::policy::problem::{Problem, Severity};

/// A policy of one file; the problems, and the policy where it is usable.
fn problems(text: &str) -> Vec<Problem> {
    match load(&[("p.yaml".to_owned(), text.to_owned())]) {
        Ok(loaded) => loaded.warnings,
        Err(problems) => problems,
    }
}

fn loaded(text: &str) -> Loaded {
    load(&[("p.yaml".to_owned(), text.to_owned())])
        .unwrap_or_else(|problems| panic!("{}", problems.iter().map(ToString::to_string).collect::<String>()))
}

fn told(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

/// Whether a problem of this kind is told at this place with these words.
#[track_caller]
fn expect(text: &str, severity: Severity, line: usize, column: usize, words: &str) {
    let problems = problems(text);
    let found = problems.iter().any(|problem| {
        problem.severity == severity
            && (problem.line, problem.column) == (line, column)
            && (problem.message.contains(words)
                || problem.suggestion.as_deref().is_some_and(|suggestion| suggestion.contains(words)))
    });
    assert!(found, "expected {severity:?} at {line}:{column} with {words:?}, told:\n{}", told(&problems));
}

#[track_caller]
fn error(text: &str, line: usize, column: usize, words: &str) {
    expect(text, Severity::Error, line, column, words);
}

#[track_caller]
fn warning(text: &str, line: usize, column: usize, words: &str) {
    expect(text, Severity::Warning, line, column, words);
}

/// A rule whose condition begins at line 7, column 11, after a policy with one signal.
fn rule(when: &str) -> String {
    format!(
        "version: 1
signals:
  - {{ name: likes, key: [user], window: 1m, count: {{}} }}
rules:
  - id: r
    family: volume
    when: {when}
    points: 5
    code: R
    text: t
    source: s
    owner: o
"
    )
}

/// A limit with this text for window, max and more, from line 5 on.
fn limit(more: &str) -> String {
    format!(
        "version: 1
limits:
  - id: l
    key: [user, action]
    {more}
    verdict: reject
    code: L
    text: t
    source: s
    owner: o
"
    )
}

#[test]
fn expressions_are_checked_with_the_column_inside_the_text() {
    for (when, column, words) in [
        ("event.actoin == 'like'", 11, "did you mean `event.action`?"),
        ("likes > 3 && acount.new", 24, "unknown name `acount.new`"),
        ("likes > 3 && acount.new", 24, "did you mean `account.new`?"),
        ("event.action > 3", 26, "a text cannot be compared with a whole number"),
        ("likes && account.new", 11, "`&&` needs a condition, this is a whole number"),
        ("account.new && !likes", 27, "`!` needs a condition"),
        ("likes + 0.5 > 2", 11, "do not mix in arithmetic"),
        ("likes / 0 > 2", 19, "division by zero"),
        ("likes = 3", 17, "compare with `==`"),
        ("account.new and likes > 3", 23, "write `&&`"),
        ("likes > ", 18, "the expression ends too early"),
        ("event.action in ['like', 3]", 11, "does not hold one type"),
        ("event.action in lists.nope", 27, "unknown list `nope`"),
        ("in_network(event.ip, networks.nope)", 32, "unknown list of networks"),
        ("duration('1h') > account.age", 11, "hours(1)"),
        ("event.action.startWith('l')", 11, "did you mean `startsWith`?"),
        ("event.action.matches('(')", 32, "the pattern cannot be read"),
        ("event.action.matches(event.user_id)", 32, "literal pattern"),
        ("has(likes)", 15, "has() asks for a field"),
        ("event.user_id == null", 28, "there is no null"),
        ("likes > 3u", 19, "write `3`"),
        ("likes == 9223372036854775807 + 1", 20, "overflows"),
        ("event.attributes.coupon == 'x'", 11, "declare it under `attributes`"),
        ("lists.x == 'a'", 11, "write `x in lists.x`"),
    ] {
        error(&rule(when), 7, column, words);
    }
}

#[test]
fn loops_are_refused() {
    error(&rule("\"['a'].exists(x, x == event.action)\""), 7, 24, "loops over lists");
    error(&rule("\"[[1]].all(x, x.all(y, y > likes))\""), 7, 21, "loops over lists");
    error(&rule("\"{'a': 1}.a > 0\""), 7, 12, "");
}

#[test]
fn rules_that_can_never_fire() {
    for (when, column, words) in [
        ("likes < 0", 11, "can never be true"),
        ("0 > likes", 11, "can never be true"),
        ("account.age < 0", 11, "can never be true"),
        ("likes > 10 && likes < 5", 25, "contradicts"),
        ("likes > 10 && (account.new && likes <= 10)", 41, "contradicts"),
        ("event.action == 'a' && event.action == 'b'", 34, "contradicts"),
        ("event.action == 'a' && event.action in ['b', 'c']", 34, "contradicts"),
        ("account.new && !account.new", 26, "contradicts"),
        ("event.outcome == 'failed'", 11, "it is success or failure"),
        ("\"false\"", 11, "can never be true"),
        ("account.new && false", 11, "can never be true"),
        ("user.penalty < 0.0", 11, "can never be true"),
        ("likes * 2 < 0", 11, "can never be true"),
        ("size(event.action) < 0", 11, "can never be true"),
    ] {
        let text = rule(when);
        let told = problems(&text);
        let found = told.iter().any(|problem| {
            problem.severity == Severity::Error && problem.line == 7 && problem.message.contains(words)
        });
        assert!(found, "{when}: {}", self::told(&told));
        if !when.starts_with('"') {
            error(&text, 7, column, words);
        }
    }
}

#[test]
fn conditions_that_may_fire_are_left_alone() {
    for when in [
        "likes > 10 && likes < 50",
        "likes >= 5 && likes <= 5",
        "likes > 10 || likes < 5",
        "event.outcome == 'failure' && likes > 3",
        "event.action == 'a' || event.action == 'b'",
        "account.age < days(7) && likes - 3 > 0",
        "\"account.new ? likes > 3 : likes > 30\"",
        "user.penalty >= 0.5 && double(likes) / 2.0 > user.penalty",
    ] {
        let errors: Vec<Problem> =
            problems(&rule(when)).into_iter().filter(|problem| problem.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{when}: {}", told(&errors));
    }
}

#[test]
fn doubtful_conditions_are_warned_of() {
    warning(&rule("likes >= 0"), 7, 11, "true of every event");
    warning(&rule("likes > 3 || likes < 0"), 7, 24, "never true");
    warning(&rule("event.user_agent != 'x' && likes > 3"), 7, 11, "absent is unknown");
    warning(&rule("\"!(event.outcome == 'success') && likes > 3\""), 7, 12, "has(event.outcome)");
}

#[test]
fn negations_that_ask_for_presence_are_left_alone() {
    for when in [
        "has(event.user_agent) && event.user_agent != 'x' && likes > 3",
        "event.action != 'like' && likes > 3",
        "\"!account.new && likes > 3\"",
    ] {
        let told: Vec<Problem> = problems(&rule(when))
            .into_iter()
            .filter(|problem| problem.message.contains("negation"))
            .collect();
        assert!(told.is_empty(), "{when}: {}", self::told(&told));
    }
}

#[test]
fn columns_are_followed_through_quotes_and_blocks() {
    error(&rule("'event.action == ''a'' && nope'"), 7, 37, "unknown name `nope`");
    error(&rule("\"event.action == \\\"a\\\" && nope\""), 7, 37, "unknown name `nope`");
    error(&rule("|\n      likes > 3 &&\n      nope"), 9, 7, "unknown name `nope`");
    error(&rule(">-\n      likes > 3 &&\n      nope"), 9, 7, "unknown name `nope`");
    error(&rule("likes > 3 &&\n      nope"), 8, 7, "unknown name `nope`");
}

#[test]
fn windows_and_maxima() {
    error(&limit("window: 0s\n    max: 3"), 5, 13, "a window of 0");
    error(&limit("window: -5s\n    max: 3"), 5, 13, "negative");
    error(&limit("window: 36500d\n    max: 3"), 5, 13, "longer than 90d");
    error(&limit("window: 60\n    max: 3"), 5, 13, "has no unit");
    error(&limit("window: 1M\n    max: 3"), 5, 13, "`M` is no unit");
    error(&limit("window: 1m\n    max: -1"), 6, 10, "not negative");
    error(&limit("window: 1m\n    max: many"), 6, 10, "`unlimited`");
    error(&limit("window: 1m"), 3, 9, "needs `window` and `max`");
    error(&limit("spans: [{ window: 1s, max: 5 }, { window: 1s, max: 9 }]"), 5, 47, "already");
    warning(&limit("window: 1m\n    max: 0"), 6, 10, "refuses always");
    assert_eq!(loaded(&limit("window: 1m\n    max: 0")).policy.limits.len(), 1);
    assert_eq!(loaded(&limit("window: 1m\n    max: unlimited")).policy.limits.len(), 1);
}

#[test]
fn limits_are_checked_as_a_whole() {
    let with = |more: &str| limit(&format!("window: 1h\n    max: 50\n    {more}"));
    error(&with("algorithm: { calendar: { zone: Europe/Berlim } }"), 7, 36, "no time zone");
    error(&with("algorithm: { sliding_window: { slots: 5 } }"), 7, 43, "must be from 10 to 100");
    error(&with("algorithm: sliding_logg"), 7, 16, "did you mean `sliding_log`?");
    error(&with("algorithm: { token_bucket: { refill: fast } }"), 7, 42, "no rate");
    error(&with("family: volum"), 7, 13, "did you mean `volume`?");
    error(&with("when: likes > 3"), 7, 11, "unknown name `likes`");
    error(&with("penalty: device"), 7, 14, "the key has no device");
    error(&with("colour: red"), 7, 5, "unknown field `colour`");
    error(&with("mode: lve"), 7, 11, "did you mean `live`?");
    error(&with("cost: event.action"), 7, 11, "expected a number");
    warning(&with("on_repeat: { within: 24h, verdict: demote }"), 7, 40, "not stronger");
    warning(&with("mode: live"), 3, 9, "has 0 tests");
    error(&with("mode: live").replace("    source: s\n", ""), 3, 9, "where its threshold comes from");
    error(&with("mode: live").replace("    owner: o\n", ""), 3, 9, "has no owner");
    error(&with("mode: live").replace("verdict: reject", "verdict: refuse"), 8, 14, "unknown word `refuse`");
    error(&with("mode: live").replace("code: L", "code: l"), 9, 11, "upper case");
    error(&with("mode: live").replace("[user, action]", "[usr, action]"), 4, 11, "did you mean `user`?");
    error(&with("mode: live").replace("[user, action]", "[user, user]"), 4, 17, "twice");
    error(&with("mode: live").replace("[user, action]", "[ip/200]"), 4, 11, "from 1 to 128");
    error(&with("mode: live").replace("[user, action]", "[]"), 4, 10, "at least one field");
}

#[test]
fn filters_do_not_read_signals() {
    let text = "version: 1
signals:
  - { name: a, key: [user], window: 1m, count: {} }
  - { name: b, key: [user], window: 1m, count: {}, when: a > 3 }
  - { name: c, key: [user], window: 1m, sum: a }
";
    error(text, 4, 58, "`a` is a signal");
    error(text, 5, 46, "`a` is a signal");
}

#[test]
fn signals_are_checked() {
    let signal =
        |more: &str| format!("version: 1\nsignals:\n  - {{ name: a, key: [user], window: 1m, {more} }}\n");
    warning(&signal("count: {}"), 3, 13, "nothing reads the signal `a`");
    error(&signal("count: {}, distinct: target"), 3, 13, "exactly one");
    error(&signal("distinct: user"), 3, 51, "part of the key");
    error(&signal("distinct: colour"), 3, 51, "unknown key field");
    error(&signal("count: {}").replace("name: a", "name: event"), 3, 13, "means something else");
    error(&signal("count: {}").replace("name: a", "name: A-b"), 3, 13, "lower case");
    let twice = format!("{}  - {{ name: a, key: [ip], window: 1m, count: {{}} }}\n", signal("count: {}"));
    error(&twice, 4, 13, "already");
}

#[test]
fn ids_are_unique_over_all_files() {
    let one = limit("window: 1m\n    max: 3");
    let two = one.replace("version: 1\n", "");
    let problems = load(&[("a.yaml".to_owned(), one), ("b.yaml".to_owned(), two)]).expect_err("one id twice");
    assert!(
        problems
            .iter()
            .any(|problem| (problem.file.as_str(), problem.line, problem.column) == ("b.yaml", 2, 9)
                && problem.message == "the id `l` is taken at a.yaml:3"),
        "{}",
        told(&problems)
    );
}

#[test]
fn settings_are_checked() {
    let with = |more: &str| format!("version: 1\n{more}\n");
    error(&with("score: { ladder: { challenge: 20, hold: 10 } }"), 2, 18, "must ascend");
    error(
        &with(
            "penalties: { steps: [{ points: 5, verdict: reject, for: 1m, code: A, text: t }, { points: 5, verdict: block, for: 1h, code: B, text: t }] }",
        ),
        2,
        91,
        "must ascend",
    );
    error(&with("time: { skew: 1m, max_skew: 10s }"), 2, 29, "shorter than skew");
    error(&with("addresses: { trusted: [10.0.0.1/8] }"), 2, 24, "write `10.0.0.0/8`");
    error(&with("addresses: { ipv6_prefix: 129 }"), 2, 27, "must be from 1 to 128");
    error(&with("networks: { office: [nowhere] }"), 2, 22, "no address or network");
    error(&with("duplicates: { budget: 64 }"), 2, 23, "has no unit");
    error(&with("duplicates: { budget: 1KB }"), 2, 23, "at least 64KB");
    error(
        &with(
            "guards: { shared_address: { settled_accounts: 5, cap: demote, families: [net], code: S, text: t } }",
        ),
        2,
        74,
        "unknown family `net`",
    );
    error(&with("rulez: []"), 2, 1, "did you mean `rules`?");
    error(&with("version: 2").replace("version: 1\n", ""), 1, 10, "is not known here");
    warning(
        &with("memory: { dimensions: { \"user+acton\": 1MB } }"),
        2,
        25,
        "no signal or limit has the dimension",
    );
    error("name: x\n", 1, 1, "states its `version`");
}

#[test]
fn points_verdicts_and_reach() {
    error(&rule("likes > 3").replace("points: 5", "points: 0"), 8, 13, "0 points say nothing");
    error(
        &rule("likes > 3").replace("points: 5", "points: 5\n    verdict: hold"),
        5,
        9,
        "either `points` or `verdict`",
    );
    error(&rule("likes > 3").replace("points: 5", "verdict: allow"), 8, 14, "does nothing");
    error(&rule("likes > 3").replace("family: volume", "family: valume"), 6, 13, "did you mean `volume`?");
    warning(&rule("likes > 3"), 8, 13, "reaches -95 points, below `demote`");
    error(&rule("likes > 3").replace("points: 5", "points: lots"), 8, 13, "expected");
}

#[test]
fn pools_and_exemptions() {
    let pool = "version: 1
observation:
  - id: pool
    entity: ip
    conditions: [account.new, account.new]
    watch: 24h
    times: 3
    within: 1h
    ban: 24h
    code: P
    text: t
    source: s
    owner: o
exemptions:
  - { entity: \"usr:42\", rules: [poool], until: tomorrow, reason: r }
";
    error(pool, 4, 13, "never banned automatically");
    error(pool, 5, 17, "three conditions, not 2");
    warning(pool, 5, 31, "twice");
    error(pool, 15, 15, "names no entity");
    error(pool, 15, 33, "did you mean `pool`?");
    error(pool, 15, 48, "no time");
}

#[test]
fn tests_beside_rules_are_checked() {
    let with = |test: &str| limit(&format!("window: 1m\n    max: 3\n    tests:\n      - {test}"));
    error(
        &with("{ name: a, events: [{ at: 0s, acton: like, user_id: u }], expect: { verdict: allow } }"),
        8,
        29,
        "did you mean `action`?",
    );
    error(
        &with("{ name: a, events: [{ action: like }], expect: { verdict: allow } }"),
        8,
        29,
        "`user_id` or an `ip`",
    );
    error(&with("{ name: a, events: [], expect: { verdict: allow } }"), 8, 9, "without events");
    error(
        &with("{ name: a, events: [{ action: like, user_id: u }], expect: { verdict: alow } }"),
        8,
        68,
        "`alow` is no verdict",
    );
    error(
        &with("{ name: a, events: [{ action: like, user_id: u, repeat: 0 }], expect: { fires: true } }"),
        8,
        29,
        "from 1 to",
    );
}

#[test]
fn yaml_that_is_none() {
    error("version: 1\nversion: 1\n", 2, 1, "duplicate mapping key");
    error("version: 1\nname: a: b\n", 2, 8, "must stand in quotes");
    error("version: 1\nname: &x [*x]\n", 2, 11, "recursive");
    error("version: 1\nrules: 3\n", 2, 8, "expected a list");
    error("version: 1\nname: 3\n", 2, 7, "put it in quotes");
    error("- a\n", 1, 1, "expected sections");
    error("version: 1\n--- \nname: b\n", 3, 1, "one YAML document");
}

/// A billion laughs, cut off by the parser's budget and not by the machine's memory.
#[test]
fn an_anchor_bomb_is_an_error() {
    let mut text = "version: 1\nlists:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let before = level - 1;
        let items = [format!("*a{before}").as_str(); 10].join(", ");
        text.push_str(&format!("  a{level}: &a{level} [{items}]\n"));
    }
    assert!(problems(&text).iter().any(|problem| problem.severity == Severity::Error));
}

/// Long and deep texts end in a problem, never in a crash.
#[test]
fn long_and_deep_expressions_are_refused() {
    for when in [
        format!("\"{}true{}\"", "(".repeat(500), ")".repeat(500)),
        format!("\"likes{} > 0\"", " + 1".repeat(480)),
        format!("\"likes > 0{}\"", " && likes > 0".repeat(400)),
        format!("\"{}\"", "[".repeat(900)),
    ] {
        assert!(problems(&rule(&when)).iter().any(|problem| problem.severity == Severity::Error), "{when}");
    }
}

/// Everything wrong is told at once, in the order of the file.
#[test]
fn all_problems_come_at_once() {
    let text = rule("nope > 3").replace("family: volume", "family: valume").replace("code: R", "code: r")
        + "limits:\n  - { id: r, key: [usr], window: 0s, max: -1, verdict: reject, code: L, text: t }\n";
    let problems = problems(&text);
    let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
    assert!(lines.is_sorted(), "{}", told(&problems));
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    assert_eq!(errors, 9, "{}", told(&problems));
}

/// A mistake in a signal is told once; the rules that read it are not told that it does not exist.
#[test]
fn a_broken_signal_does_not_break_its_readers() {
    let text = rule("likes > 3").replace("window: 1m", "window: [1m]");
    let problems = problems(&text);
    assert!(!problems.iter().any(|problem| problem.message.contains("unknown name")), "{}", told(&problems));
}

/// The rule of [`rule`] with a rollout on line 13.
fn rolled(rollout: &str) -> String {
    format!("{}    rollout: {rollout}\n", rule("likes >= 3"))
}

#[test]
fn a_share_is_a_percentage_of_a_kind_of_entity() {
    for fit in ["{ percent: 10 }", "{ percent: 0.25, by: device }", "{ percent: 100, by: ip }"] {
        assert_eq!(loaded(&rolled(fit)).policy.rules.len(), 1, "{fit}");
    }
    error(&rolled("{ percent: 0 }"), 13, 25, "mode: shadow");
    error(&rolled("{ percent: 100.5 }"), 13, 25, "at most 100");
    error(&rolled("{ percent: 0.125 }"), 13, 25, "two decimals");
    error(&rolled("{ percent: 10, by: usr }"), 13, 33, "user");
    error(&rolled("{ by: user }"), 13, 14, "percent");
    error(&rolled("{ percent: 10, of: user }"), 13, 29, "of");
    warning(&(rolled("{ percent: 10 }") + "    mode: shadow\n"), 13, 14, "does not act");
}

#[test]
fn what_is_compared_of_names_and_pictures_is_an_attribute() {
    let standard = |from: &str, to: &str| {
        let mut files = weir::config::standard::files();
        files.iter_mut().for_each(|(_, text)| *text = text.replace(from, to));
        load(&files).expect_err("refused")
    };
    let problems = standard("nickname: account.nickname", "nickname: nickname");
    assert!(problems.iter().any(|p| p.file == "policy.yaml" && p.column == 24), "{}", told(&problems));
    assert!(told(&problems).contains("write `account.NAME` or `attributes.NAME`"), "{}", told(&problems));
    let problems = standard("device: [os,", "device: [a, b, c, d, os,");
    assert!(told(&problems).contains("13 attributes are compared at most beside"), "{}", told(&problems));
    let problems = standard("evidence: crowd.persona", "evidence: crowd.person");
    assert!(told(&problems).contains("did you mean `crowd.persona`"), "{}", told(&problems));
    let mut files = weir::config::standard::files();
    let persona = "{ nickname: account.nickname, avatar: account.avatar_hash }";
    files.iter_mut().for_each(|(_, text)| *text = text.replace(persona, "{}"));
    let warnings = load(&files).expect("usable").warnings;
    let nothing = |problem: &&Problem| problem.file == "policy.yaml" && problem.message == "compares nothing";
    assert!(warnings.iter().any(|problem| nothing(&problem)), "{}", told(&warnings));
}
