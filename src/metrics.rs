//! Every metric: its name, kind, labels and help text in one list, and one typed function to record each.
//!
//! Called per batch, never per event. Label values come from closed sets (outcomes, verdicts, reasons, the ids of
//! the policy, topics and partitions), never from a key, an address or an error text: the number of series does not
//! grow with traffic. Without [`install`] all functions do nothing. Histograms have fixed buckets; their samples are
//! folded by [`Handle::run_upkeep`], which something must call every few seconds even when nobody scrapes.

use std::sync::{Mutex, OnceLock, PoisonError};

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::clock;
use crate::engine::decision::QualityCode;
use crate::engine::input::{DeadLetterReason, Outcome};
use crate::engine::policy::{FallBack, Mode};
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;

const EVENTS: &str = "weir_events_total";
const DECISIONS: &str = "weir_decisions_total";
const QUALITY: &str = "weir_decision_quality_total";
const RULE_HITS: &str = "weir_rule_hits_total";
const FELL_BACK: &str = "weir_rule_fell_back_total";
const DEAD_LETTERS: &str = "weir_dead_letters_total";
const POISONED: &str = "weir_poisoned_input";
const CLOCK_JUMPS: &str = "weir_clock_jumps_total";
const LOST_INPUTS: &str = "weir_lost_inputs_total";
const COMMIT: &str = "weir_commit_seconds";
const COMMITS: &str = "weir_commits_total";
const BATCH_RECORDS: &str = "weir_batch_records";
const SCORING: &str = "weir_batch_scoring_seconds";
const EVENT_TO_DECISION: &str = "weir_event_to_decision_seconds";
const LAG: &str = "weir_consumer_lag_records";
const STATE_ENTRIES: &str = "weir_state_entries";
const STATE_BYTES: &str = "weir_state_bytes";
const STATE_EVICTIONS: &str = "weir_state_evictions_total";
const BANS: &str = "weir_bans_active";
const BAN_CHANGES: &str = "weir_ban_changes_total";
const SUBJECTS: &str = "weir_serving_subjects";
const SUBJECT_BYTES: &str = "weir_serving_bytes";
const POLICY_INFO: &str = "weir_policy_info";
const POLICY_RELOAD: &str = "weir_policy_reload_success";
const POLICY_RELOAD_TIME: &str = "weir_policy_reload_success_timestamp_seconds";
const BUILD_INFO: &str = "weir_build_info";
const READY: &str = "weir_ready";
const HTTP_REQUESTS: &str = "weir_http_requests_total";
const HTTP_DURATION: &str = "weir_http_request_seconds";
const CHECKPOINTS: &str = "weir_checkpoints_total";
const CHECKPOINT_TIME: &str = "weir_checkpoint_timestamp_seconds";
const CHECKPOINT_BYTES: &str = "weir_checkpoint_bytes";
const CHECKPOINT_DURATION: &str = "weir_checkpoint_seconds";
const CANDIDATE: &str = "weir_candidate_decisions_total";
const CANDIDATE_CORRECTIONS: &str = "weir_candidate_corrections_total";
const CANDIDATE_RUNNING: &str = "weir_candidate_running";
const CANDIDATE_SINCE: &str = "weir_candidate_since_timestamp_seconds";
const CANDIDATE_BYTES: &str = "weir_candidate_state_bytes";
const CPU: &str = "weir_process_cpu_seconds";
const RSS: &str = "weir_process_resident_bytes";

/// What kind of metric a name is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Only grows; `rate()` it.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution in these buckets (upper bounds).
    Histogram(&'static [f64]),
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Full name, with its unit.
    pub name: &'static str,
    /// What kind it is.
    pub kind: Kind,
    /// What it means, for people.
    pub help: &'static str,
}

const fn counts(name: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: Kind::Counter, help }
}

const fn shows(name: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, help }
}

const fn spreads(name: &'static str, buckets: &'static [f64], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Histogram(buckets), help }
}

const COMMIT_BUCKETS: &[f64] = &[0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0];
const SCORING_BUCKETS: &[f64] = &[1e-5, 1e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0];
const DELAY_BUCKETS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0];
const CHECKPOINT_BUCKETS: &[f64] = &[0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
const RECORD_BUCKETS: &[f64] =
    &[1.0, 10.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0, 5000.0, 10_000.0, 20_000.0, 50_000.0];
const HTTP_BUCKETS: &[f64] = &[1e-4, 2.5e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0];

/// Every metric there is.
pub const ALL: &[Metric] = &[
    counts(EVENTS, "Consumed records by outcome; their sum is what was consumed."),
    counts(DECISIONS, "Decisions by verdict, revisions included."),
    counts(QUALITY, "Decisions that were less exact or complete than usual, by code."),
    counts(RULE_HITS, "Decisions that name the rule or limit, by rule and mode (live, shadow)."),
    counts(
        FELL_BACK,
        "Times that a rule or limit held up too many accounts and fell back, by rule and to what.",
    ),
    counts(DEAD_LETTERS, "Records that could not be decided, by reason."),
    shows(POISONED, "1 while most of the last records could not be decided."),
    counts(CLOCK_JUMPS, "Times that the wall clock jumped; ticks then go by the time since."),
    counts(LOST_INPUTS, "Offsets of inputs that were lost before they were read and gone over, by topic."),
    spreads(COMMIT, COMMIT_BUCKETS, "Time from the end of a batch to its committed transaction."),
    counts(COMMITS, "Ends of transactions by result: committed, aborted, unknown."),
    spreads(BATCH_RECORDS, RECORD_BUCKETS, "Records in a batch."),
    spreads(SCORING, SCORING_BUCKETS, "Time to decode, score and encode a batch."),
    spreads(EVENT_TO_DECISION, DELAY_BUCKETS, "From a record's append time to its committed decision."),
    shows(LAG, "Records between the position and the end of a partition."),
    shows(STATE_ENTRIES, "Entries in a table of engine state."),
    shows(STATE_BYTES, "Memory of a table of engine state."),
    counts(STATE_EVICTIONS, "Entries that left a table, by table and cause (idle, budget)."),
    shows(BANS, "Bans in force, by kind of entity."),
    counts(BAN_CHANGES, "Bans told, by change (in_force, lifted, gone)."),
    shows(SUBJECTS, "Subject profiles held for HTTP readers."),
    shows(SUBJECT_BYTES, "Memory of the subject profiles held for HTTP readers."),
    shows(POLICY_INFO, "1 for the policy in force, by content hash."),
    shows(POLICY_RELOAD, "1 when the last attempt to load the policy worked, 0 when it was refused."),
    shows(POLICY_RELOAD_TIME, "When a policy was last loaded, in seconds since 1970."),
    shows(BUILD_INFO, "1, by version."),
    shows(READY, "1 when the checks of /readyz all pass."),
    counts(HTTP_REQUESTS, "HTTP requests by route and status."),
    spreads(HTTP_DURATION, HTTP_BUCKETS, "Time to answer an HTTP request, by route."),
    counts(CHECKPOINTS, "Attempts at a checkpoint by result: written, failed."),
    shows(CHECKPOINT_TIME, "When a checkpoint was last written, in seconds since 1970."),
    shows(CHECKPOINT_BYTES, "Bytes of the newest checkpoint on the disk."),
    spreads(
        CHECKPOINT_DURATION,
        CHECKPOINT_BUCKETS,
        "Time from the begin of a checkpoint to its publication.",
    ),
    counts(
        CANDIDATE,
        "Events by the live verdict and the candidate's (`none`: not decided, such as a duplicate to one of both).",
    ),
    counts(
        CANDIDATE_CORRECTIONS,
        "Events of which a decision was corrected, by the verdict live and by the candidate's (`none`: not within a minute of the other).",
    ),
    shows(CANDIDATE_RUNNING, "1 while a candidate policy runs beside the live one, 0 after it failed."),
    shows(
        CANDIDATE_SINCE,
        "Stream time at which the candidate's state was copied from the live one, in seconds since 1970.",
    ),
    shows(CANDIDATE_BYTES, "Memory of the candidate's state, beside that of the live one."),
    shows(CPU, "CPU time of all threads so far."),
    shows(RSS, "Resident memory."),
];

/// How a batch's transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitResult {
    /// It is in the log.
    Committed,
    /// It was aborted and is sent again.
    Aborted,
    /// Nobody knows yet: the end of the journal will tell.
    Unknown,
}

/// Why an entry left a table of engine state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionCause {
    /// It had expired or was idle: nothing is lost.
    Idle,
    /// The table's memory budget was used up: what it held is lost, and later decisions say so.
    Budget,
}

/// The installed recorder: renders all metrics as Prometheus text.
#[derive(Clone, Debug)]
pub struct Handle(PrometheusHandle);

impl Handle {
    /// All metrics, in the Prometheus text format.
    pub fn render(&self) -> String {
        process();
        let mut text = self.0.render();
        text.push_str(&policy_line());
        text
    }

    /// Folds recorded samples into their buckets. Must be called every few seconds, or memory grows.
    pub fn run_upkeep(&self) {
        self.0.run_upkeep();
    }
}

/// Installs the recorder of this process, once; later calls return the same handle.
pub fn install() -> Handle {
    static INSTALLED: OnceLock<Handle> = OnceLock::new();
    INSTALLED.get_or_init(install_recorder).clone()
}

fn install_recorder() -> Handle {
    let mut builder = PrometheusBuilder::new().with_recommended_naming(true);
    for metric in ALL {
        if let Kind::Histogram(buckets) = metric.kind {
            builder = builder
                .set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), buckets)
                .expect("every histogram of the list has buckets");
        }
    }
    let recorder = builder.build_recorder();
    let handle = Handle(recorder.handle());
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::warn!("another metrics recorder was installed first: /metrics will be empty");
    }
    describe_all();
    gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    handle
}

fn describe_all() {
    for metric in ALL {
        match metric.kind {
            Kind::Counter => describe_counter!(metric.name, metric.help),
            Kind::Gauge => describe_gauge!(metric.name, metric.help),
            Kind::Histogram(_) => describe_histogram!(metric.name, metric.help),
        }
    }
}

/// `n` consumed records ended in `outcome`. Dead letters are counted by reason besides.
pub fn outcome(outcome: Outcome, n: u64) {
    counter!(EVENTS, "outcome" => outcome.name()).increment(n);
    if let Outcome::DeadLettered(reason) = outcome {
        dead_letters(reason, n);
    }
}

fn dead_letters(reason: DeadLetterReason, n: u64) {
    counter!(DEAD_LETTERS, "reason" => reason.name()).increment(n);
}

/// Whether most of the last records could not be decided.
pub fn poisoned(poisoned: bool) {
    gauge!(POISONED).set(f64::from(u8::from(poisoned)));
}

/// The wall clock jumped.
pub fn clock_jump() {
    counter!(CLOCK_JUMPS).increment(1);
}

/// `n` offsets of an input were lost before they were read, and are gone over. `topic` must be one of the configuration.
pub fn lost_inputs(topic: &str, n: u64) {
    counter!(LOST_INPUTS, "topic" => topic.to_owned()).increment(n);
}

/// `n` decisions had this verdict.
pub fn decisions(verdict: Verdict, n: u64) {
    counter!(DECISIONS, "verdict" => verdict.name()).increment(n);
}

/// Of `n` events the live policy and the candidate made this.
pub fn candidate(live: Option<Verdict>, candidate: Option<Verdict>, n: u64) {
    let name = |verdict: Option<Verdict>| verdict.map_or("none", Verdict::name);
    counter!(CANDIDATE, "live" => name(live), "candidate" => name(candidate)).increment(n);
}

/// Of `n` events the live policy and the candidate corrected a decision to this.
pub fn candidate_corrects(live: Option<Verdict>, candidate: Option<Verdict>, n: u64) {
    let name = |verdict: Option<Verdict>| verdict.map_or("none", Verdict::name);
    counter!(CANDIDATE_CORRECTIONS, "live" => name(live), "candidate" => name(candidate)).increment(n);
}

/// The candidate runs, since its state was copied at this time of the stream; `None` when it failed.
pub fn candidate_runs(since: Option<Timestamp>) {
    gauge!(CANDIDATE_RUNNING).set(f64::from(u8::from(since.is_some())));
    if let Some(since) = since {
        gauge!(CANDIDATE_SINCE).set(since.millis() as f64 / 1000.0);
    }
}

/// Memory of the candidate's state.
pub fn candidate_bytes(bytes: u64) {
    gauge!(CANDIDATE_BYTES).set(bytes as f64);
}

/// `n` decisions carried this quality code.
pub fn quality(code: QualityCode, n: u64) {
    counter!(QUALITY, "code" => code.name()).increment(n);
}

/// `n` decisions named this rule or limit of the policy. `rule` must be an id of a loaded policy.
pub fn rule_hits(rule: &str, mode: Mode, n: u64) {
    let mode = match mode {
        Mode::Live => "live",
        Mode::Shadow => "shadow",
        Mode::Off => "off",
    };
    counter!(RULE_HITS, "rule" => rule.to_owned(), "mode" => mode).increment(n);
}

/// A rule or limit held up too many accounts and fell back. `rule` must be an id of a loaded policy.
pub fn fell_back(rule: &str, then: FallBack) {
    let then = match then {
        FallBack::Shadow => "shadow",
        FallBack::Hold => "hold",
    };
    counter!(FELL_BACK, "rule" => rule.to_owned(), "then" => then).increment(1);
}

/// A batch of `records` was decoded, scored and encoded in `seconds`.
pub fn batch(records: usize, seconds: f64) {
    histogram!(BATCH_RECORDS).record(records as f64);
    histogram!(SCORING).record(seconds);
}

/// A transaction ended `seconds` after its batch was complete.
pub fn commit(result: CommitResult, seconds: f64) {
    let label = match result {
        CommitResult::Committed => "committed",
        CommitResult::Aborted => "aborted",
        CommitResult::Unknown => "unknown",
    };
    counter!(COMMITS, "result" => label).increment(1);
    if result == CommitResult::Committed {
        histogram!(COMMIT).record(seconds);
    }
}

/// `n` records had their decision committed `seconds` after they were appended.
pub fn event_to_decision(seconds: f64, n: usize) {
    histogram!(EVENT_TO_DECISION).record_many(seconds, n);
}

/// Records between the position and the end of a partition. `topic` must be a topic of the configuration.
pub fn consumer_lag(topic: &str, partition: i32, records: u64) {
    gauge!(LAG, "topic" => topic.to_owned(), "partition" => partition.to_string()).set(records as f64);
}

/// Size of a table of engine state. `table` must be the name of a dimension of the policy or of a fixed table.
pub fn state(table: &str, entries: u64, bytes: u64) {
    gauge!(STATE_ENTRIES, "table" => table.to_owned()).set(entries as f64);
    gauge!(STATE_BYTES, "table" => table.to_owned()).set(bytes as f64);
}

/// `n` entries left a table.
pub fn evictions(table: &str, cause: EvictionCause, n: u64) {
    let cause = match cause {
        EvictionCause::Idle => "idle",
        EvictionCause::Budget => "budget",
    };
    counter!(STATE_EVICTIONS, "table" => table.to_owned(), "cause" => cause).increment(n);
}

/// Bans in force now of one kind of entity (`user`, `device`, ...).
pub(crate) fn bans_active(kind: &'static str, n: usize) {
    gauge!(BANS, "kind" => kind).set(n as f64);
}

/// `n` changes of bans were told: `in_force`, `lifted` or `gone`.
pub(crate) fn ban_changes(change: &'static str, n: u64) {
    counter!(BAN_CHANGES, "change" => change).increment(n);
}

/// Profiles held for HTTP readers, and their memory.
pub(crate) fn serving(subjects: u64, bytes: u64) {
    gauge!(SUBJECTS).set(subjects as f64);
    gauge!(SUBJECT_BYTES).set(bytes as f64);
}

/// Whether all checks of readiness pass.
pub(crate) fn ready(ready: bool) {
    gauge!(READY).set(f64::from(u8::from(ready)));
}

/// One HTTP request was answered. `route` is a route's pattern, never a path.
pub(crate) fn http_request(route: &'static str, status: u16, seconds: f64) {
    counter!(HTTP_REQUESTS, "route" => route, "status" => status.to_string()).increment(1);
    histogram!(HTTP_DURATION, "route" => route).record(seconds);
}

/// The content hash of the policy in force: hex digits.
static POLICY: Mutex<String> = Mutex::new(String::new());

/// A checkpoint was published.
pub fn checkpoint(bytes: u64, seconds: f64) {
    counter!(CHECKPOINTS, "result" => "written").increment(1);
    gauge!(CHECKPOINT_TIME).set(clock::now().millis() as f64 / 1000.0);
    gauge!(CHECKPOINT_BYTES).set(bytes as f64);
    histogram!(CHECKPOINT_DURATION).record(seconds);
}

/// A checkpoint could not be written.
pub fn checkpoint_failed() {
    counter!(CHECKPOINTS, "result" => "failed").increment(1);
}

/// From now on this policy is in force; `hash` is its content hash in hex.
pub fn policy_loaded(hash: &str) {
    hash.clone_into(&mut POLICY.lock().unwrap_or_else(PoisonError::into_inner));
    gauge!(POLICY_RELOAD).set(1.0);
    gauge!(POLICY_RELOAD_TIME).set(clock::now().millis() as f64 / 1000.0);
}

/// A policy was refused; the last one stays in force.
pub fn policy_refused() {
    gauge!(POLICY_RELOAD).set(0.0);
}

/// Written here, not recorded: a recorder never forgets a series, and each reload would leave one behind.
fn policy_line() -> String {
    let hash: String = POLICY
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .chars()
        .filter(char::is_ascii_hexdigit)
        .collect();
    let help = ALL.iter().find(|metric| metric.name == POLICY_INFO).map_or("", |metric| metric.help);
    match hash.as_str() {
        "" => String::new(),
        hash => format!(
            "# HELP {POLICY_INFO} {help}\n# TYPE {POLICY_INFO} gauge\n{POLICY_INFO}{{hash=\"{hash}\"}} 1\n"
        ),
    }
}

fn process() {
    gauge!(CPU).set(clock::process_cpu_seconds());
    if let Some(bytes) = clock::rss_bytes() {
        gauge!(RSS).set(bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, series: &str) -> Option<f64> {
        text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
    }

    #[test]
    fn names_are_unique_prefixed_and_end_in_their_unit() {
        for (i, metric) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|other| other.name != metric.name), "{}", metric.name);
            assert!(metric.name.starts_with("weir_"), "{}", metric.name);
            let counter = matches!(metric.kind, Kind::Counter);
            assert_eq!(metric.name.ends_with("_total"), counter, "{}", metric.name);
            assert!(metric.help.ends_with('.'), "{}", metric.name);
            if let Kind::Histogram(buckets) = metric.kind {
                assert!(buckets.is_sorted_by(|a, b| a < b), "{}", metric.name);
            }
        }
    }

    /// One test records, for the recorder is one per process.
    #[test]
    fn what_is_recorded_is_rendered() {
        let handle = install();
        outcome(Outcome::Decided, 40);
        outcome(Outcome::Decided, 2);
        outcome(Outcome::DeadLettered(DeadLetterReason::MalformedJson), 3);
        rule_hits("repeat-target", Mode::Shadow, 7);
        fell_back("user-burst", FallBack::Hold);
        commit(CommitResult::Committed, 0.04);
        event_to_decision(0.06, 1000);
        policy_loaded("abc123");
        policy_loaded("def456");
        policy_refused();
        handle.run_upkeep();
        let text = handle.render();
        let at = |series: &str| value(&text, series);
        assert_eq!(at("weir_events_total{outcome=\"decided\"}"), Some(42.0));
        assert_eq!(at("weir_events_total{outcome=\"dead_lettered\"}"), Some(3.0));
        assert_eq!(at("weir_dead_letters_total{reason=\"malformed_json\"}"), Some(3.0));
        assert_eq!(at("weir_rule_hits_total{rule=\"repeat-target\",mode=\"shadow\"}"), Some(7.0));
        assert_eq!(at("weir_rule_fell_back_total{rule=\"user-burst\",then=\"hold\"}"), Some(1.0));
        assert_eq!(at("weir_commit_seconds_bucket{le=\"0.03\"}"), Some(0.0));
        assert_eq!(at("weir_commit_seconds_bucket{le=\"0.05\"}"), Some(1.0));
        assert_eq!(at("weir_event_to_decision_seconds_bucket{le=\"0.075\"}"), Some(1000.0));
        assert_eq!(at("weir_policy_info{hash=\"def456\"}"), Some(1.0));
        assert!(!text.contains("abc123"), "the policy that went leaves no series behind");
        assert_eq!(at("weir_policy_reload_success"), Some(0.0));
        assert!(at("weir_process_cpu_seconds").is_some_and(|seconds| seconds > 0.0));
    }
}
