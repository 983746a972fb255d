//! What can be typed. Nothing is done here but parsing and completions.
//!
//! Flags win over `WEIR_*` variables, those over the file. Data goes to stdout, talk to stderr. Wrong use is told by
//! the parser and ends with [`exit::USAGE`]. Colours follow the terminal and `NO_COLOR`.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::config::{self, Loaded, Overrides, Problems};
use crate::engine::entity::EntityKind;
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;

/// What the process ends with.
pub mod exit {
    /// All went well.
    pub const OK: u8 = 0;
    /// It did not, for the reason told.
    pub const FAILURE: u8 = 1;
    /// The command line makes no sense.
    pub const USAGE: u8 = 2;
    /// The condition of `--fail-on` holds, or a candidate is over its budget.
    pub const GATE: u8 = 3;
    /// Nothing in the input could be decided (`EX_DATAERR`).
    pub const DATA: u8 = 65;
    /// Kafka cannot be reached (`EX_UNAVAILABLE`).
    pub const KAFKA: u8 = 69;
    /// The configuration or the policy is wrong (`EX_CONFIG`).
    pub const CONFIG: u8 = 78;
}

mod backtest;
mod ban;
mod brokers;
mod checkpoint;
mod evaluate;
mod events;
mod explain;
mod export;
pub mod large_pages;
mod lint;
mod policy;
mod simulate;
mod tune;
mod verify;

pub use self::backtest::{BacktestArgs, FromTopic, RangeArgs, ReadingArgs};
pub use self::ban::{BanAction, BanArgs, Signature};
pub use self::brokers::Brokers;
pub use self::checkpoint::{CheckpointAction, CheckpointArgs, FromArgs, StateArgs};
pub use self::evaluate::{EvaluateArgs, EventFormat, LabelKind, Seeds};
pub use self::events::EventsArgs;
pub use self::explain::ExplainArgs;
pub use self::export::ExportArgs;
pub use self::lint::{LintArgs, MapArgs};
pub use self::policy::{PolicyAction, PromoteArgs, RollbackArgs, VersionsArgs};
pub use self::simulate::SimulateArgs;
pub use self::tune::{SuggestArgs, SweepArgs};
pub use self::verify::VerifyArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0   all went well
  1   it did not, for the reason told
  2   the command line makes no sense
  3   the condition of `weir backtest --fail-on` holds, or `weir policy promote` refuses
  65  nothing in the input could be decided, or it was empty: replay, backtest, evaluate, sweep, suggest, lint
  69  Kafka cannot be reached
  78  the configuration or the policy is wrong";

const START: &str = "\
Start here:
  weir demo                              an incident, caught, in this terminal; needs nothing
  weir check                             is the configuration and the policy in order?
  weir topics create                     make the topics on your Kafka
  weir run                               score the stream";

/// Scores the risk of each interaction on an event stream, and says why.
#[derive(Clone, Debug, Parser)]
#[command(name = "weir", version, about, long_about = None)]
#[command(after_help = format!("{START}\n\n{EXIT_CODES}"))]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Score the stream: interactions in, decisions and bans out
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Show the whole of it in one process: an embedded broker, simulated traffic, an incident
    #[command(after_help = DEMO_HELP)]
    Demo(DemoArgs),
    /// Run the engine over a file of events, without Kafka
    #[command(after_help = REPLAY_HELP)]
    Replay(ReplayArgs),
    /// Try a policy on events that were: what would have been otherwise, for whom, and why
    #[command(after_help = backtest::HELP)]
    Backtest(Box<BacktestArgs>),
    /// Say why one event of a file was decided as it was
    #[command(after_help = explain::HELP)]
    Explain(Box<ExplainArgs>),
    /// Write interactions with their decisions as a Parquet file, for analysis and as an archive that can be backtested
    #[command(after_help = export::HELP)]
    Export(Box<ExportArgs>),
    /// Find rules that never fire or say the same twice, and what goes unnoticed all day
    #[command(after_help = lint::HELP)]
    Lint(Box<LintArgs>),
    /// Guess which column of a table is which field, and print the command of a first report
    #[command(after_help = lint::MAP_HELP)]
    Map(MapArgs),
    /// Suggest thresholds from what is usual, as a policy patch, with whom they would have touched
    #[command(after_help = tune::SUGGEST_HELP)]
    Suggest(Box<SuggestArgs>),
    /// Tell what other values of a policy's numbers would cost
    #[command(after_help = tune::SWEEP_HELP)]
    Sweep(Box<SweepArgs>),
    /// Measure how well it detects, over events whose truth is known
    #[command(after_help = evaluate::HELP)]
    Evaluate(Box<EvaluateArgs>),
    /// Make traffic with known attackers in it, to try a policy on
    #[command(after_help = simulate::HELP)]
    Simulate(SimulateArgs),
    /// Check the configuration and the policy; tell all problems at once
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
    /// Run the tests that stand beside the rules
    #[command(after_help = TEST_HELP)]
    Test(TestArgs),
    /// Put a candidate policy in place if it passes its budget, or an earlier one back
    #[command(after_help = policy::HELP)]
    Policy {
        /// What to do.
        #[command(subcommand)]
        action: Box<PolicyAction>,
    },
    /// Ban, lift a ban, list bans
    #[command(after_help = ban::HELP)]
    Ban(BanArgs),
    /// Create the topics, or compare them with what they must be
    #[command(after_help = TOPICS_HELP)]
    Topics(TopicsArgs),
    /// Check what the topics hold: nothing lost, nothing doubled, nothing else decided
    #[command(after_help = verify::HELP)]
    Verify(VerifyArgs),
    /// List, verify, export and import checkpoints of the state
    #[command(after_help = checkpoint::HELP)]
    Checkpoint(CheckpointArgs),
    /// List the fields and signals that rules can use
    #[command(after_help = SIGNALS_HELP)]
    Signals(SignalsArgs),
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// Which shell
        shell: Shell,
    },
}

const RUN_HELP: &str = "\
Stop it with SIGTERM or Ctrl-C: the batch under way is committed first. SIGHUP reads the policy again.

At the start Kafka must answer within 20 seconds (else it ends with 69) and the topics must be there (else with 1).
Once it runs, an outage is waited out, and /readyz says what is missing.

Inputs that were to be read next and are no longer held end it with their offsets: with --accept-lost-inputs it goes on
without them, and the journal, the log and weir_lost_inputs_total tell what was lost.

Examples:
  weir run
  weir run --config /etc/weir/weir.toml --brokers kafka-1:9092,kafka-2:9092
  WEIR_BROKERS=kafka:9092 WEIR_HTTP_LISTEN=0.0.0.0:8088 WEIR_HTTP_TOKEN_FILE=/run/secrets/token weir run";

const DEMO_HELP: &str = "\
Examples:
  weir demo                                        watch it for 30 seconds
  weir demo --headless --seconds 30 --format json  only the figures, as JSON, at the end";

const REPLAY_HELP: &str = "\
One event a line in, one decision a line out, in the same order; statistics go to stderr. Files may be gzip or zstd. It ends with
65 when no line could be decided, or there was none. What is corrected later (a campaign's first events) is no line of the output:
statistics count it, and --revisions writes it.

Examples:
  weir replay --input events.jsonl --output decisions.jsonl
  weir replay --input events.jsonl --output decisions.jsonl --revisions corrected.jsonl
  weir replay --input day.jsonl.zst --output - | jq 'select(.verdict != \"allow\")'
  weir replay --input events.jsonl --output /dev/null --policy my-policy --stats json";

const CHECK_HELP: &str = "\
Examples:
  weir check
  weir check --policy my-policy && weir test --policy my-policy";

const TEST_HELP: &str = "\
With --coverage it also tells, of each limit and rule, how many events of all tests it spoke of, and which parts of its
condition no test has seen both true and not.

Examples:
  weir test
  weir test --policy my-policy --coverage
  weir test --policy my-policy --junit results.xml";

const TOPICS_HELP: &str = "\
Examples:
  weir topics create
  weir topics check --brokers kafka:9092       ends with 1 when something differs";

const SIGNALS_HELP: &str = "\
Examples:
  weir signals
  weir signals --schema > policy.schema.json   for completion and checks in an editor";

const COMPLETIONS_HELP: &str = "\
Examples:
  weir completions bash > ~/.local/share/bash-completion/completions/weir
  weir completions zsh > \"${fpath[1]}/_weir\"
  weir completions fish > ~/.config/fish/completions/weir.fish";

/// Where the configuration is, and what wins over it.
#[derive(Clone, Debug, Default, Args)]
pub struct ConfigArgs {
    /// Configuration file [default: config/weir.toml, where it is there]
    #[arg(long, value_name = "FILE", env = "WEIR_CONFIG")]
    pub config: Option<PathBuf>,
    /// How Kafka is reached.
    #[command(flatten)]
    pub brokers: Brokers,
}

impl ConfigArgs {
    /// What the environment says, for commands without these flags.
    #[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
    pub fn from_environment() -> Self {
        let config = std::env::var_os("WEIR_CONFIG").map(PathBuf::from);
        Self { config, brokers: Brokers::default() }
    }

    /// Loads the configuration with what was typed and what the environment says.
    ///
    /// # Errors
    /// All problems at once.
    pub fn load(&self) -> Result<Loaded, Problems> {
        self.load_with(|_| {})
    }

    fn load_with(&self, more: impl FnOnce(&mut Overrides)) -> Result<Loaded, Problems> {
        let mut overrides = Overrides::from_environment();
        overrides.flag("kafka", "brokers", "--brokers", self.brokers.hosts.clone());
        more(&mut overrides);
        config::load(self.config.as_deref(), &overrides)
    }
}

/// `weir run`
#[derive(Clone, Debug, Default, Args)]
pub struct RunArgs {
    /// Where the configuration is.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Folder of local state
    #[arg(long, value_name = "DIR", env = "WEIR_STATE_DIR")]
    pub state_dir: Option<String>,
    /// Folder of the policy
    #[arg(long, value_name = "DIR", env = "WEIR_POLICY")]
    pub policy: Option<String>,
    /// Folder of a candidate policy that runs beside it: what it would have decided otherwise goes to risk.shadow.v1 only
    #[arg(long, value_name = "DIR", env = "WEIR_CANDIDATE")]
    pub candidate: Option<String>,
    /// Where to serve /metrics, /healthz, /readyz, /v1/subjects and /v1/checkpoints, or `off`
    #[arg(long, value_name = "ADDRESS", env = "WEIR_LISTEN")]
    pub listen: Option<String>,
    /// Go on where inputs are lost that nobody has read: told, counted and journalled; for the first takeover only
    #[arg(long)]
    pub accept_lost_inputs: bool,
}

impl RunArgs {
    /// Loads the configuration with what was typed and what the environment says.
    ///
    /// # Errors
    /// All problems at once.
    pub fn load(&self) -> Result<Loaded, Problems> {
        self.config.load_with(|overrides| {
            overrides.flag("state", "dir", "--state-dir", self.state_dir.clone());
            overrides.flag("policy", "dir", "--policy", self.policy.clone());
            overrides.flag("policy", "candidate", "--candidate", self.candidate.clone());
            overrides.flag("http", "listen", "--listen", self.listen.clone());
        })
    }
}

/// `weir demo`
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Without the live line; only the summary
    #[arg(long)]
    pub headless: bool,
    /// How long it takes; the 15 minutes of the story are fitted into it
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub seconds: u32,
    /// Another number, another crowd; the same number, the same events
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Form of the summary
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `weir replay`
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// Events, one JSON object a line, plain, gzip or zstd; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub input: FileOrStandard,
    /// Decisions, one JSON object a line; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub output: FileOrStandard,
    /// Corrections of these decisions, as a campaign's members get them later: one a line, as on the topic; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub revisions: Option<FileOrStandard>,
    /// What judges.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Form of the statistics on stderr
    #[arg(long, value_enum, default_value_t)]
    pub stats: Format,
    /// No event is taken to have been appended after this [default: now]
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    pub as_of: Option<Timestamp>,
}

/// `weir check`
#[derive(Clone, Debug, Default, Args)]
pub struct CheckArgs {
    /// Where the configuration is.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Folder of the policy, instead of the configured one
    #[arg(long, value_name = "DIR", env = "WEIR_POLICY")]
    pub policy: Option<String>,
}

impl CheckArgs {
    /// Loads the configuration with what was typed and what the environment says.
    ///
    /// # Errors
    /// All problems at once.
    pub fn load(&self) -> Result<Loaded, Problems> {
        self.config.load_with(|overrides| overrides.flag("policy", "dir", "--policy", self.policy.clone()))
    }
}

/// Where a policy is.
#[derive(Clone, Debug, Args)]
pub struct PolicyArgs {
    /// Folder of the policy [default: the configured one, else the standard policy]
    #[arg(long, value_name = "DIR", env = "WEIR_POLICY")]
    pub policy: Option<PathBuf>,
}

/// `weir test`
#[derive(Clone, Debug, Args)]
pub struct TestArgs {
    /// Whose tests.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Tell what the tests reach of each limit and rule, branch by branch
    #[arg(long)]
    pub coverage: bool,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub junit: Option<PathBuf>,
}

/// `weir topics`
#[derive(Clone, Debug, Args)]
pub struct TopicsArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: TopicsAction,
}

/// `weir topics create|check`
#[derive(Clone, Debug, Subcommand)]
pub enum TopicsAction {
    /// Create what is missing; what is there is left as it is
    Create(ConfigArgs),
    /// Print what differs from what must be
    Check(ConfigArgs),
}

/// `weir signals`
#[derive(Clone, Debug, Args)]
pub struct SignalsArgs {
    /// Whose signals.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Print the JSON Schema of policy files instead
    #[arg(long)]
    pub schema: bool,
    /// Form of the list
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// For people or for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// A file, or `-` for stdin or stdout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOrStandard {
    /// `-`
    Standard,
    /// A path.
    File(PathBuf),
}

impl From<std::ffi::OsString> for FileOrStandard {
    fn from(text: std::ffi::OsString) -> Self {
        if text == "-" { FileOrStandard::Standard } else { FileOrStandard::File(text.into()) }
    }
}

/// A choice as it is typed.
pub fn typed(choice: &impl ValueEnum) -> Option<String> {
    choice.to_possible_value().map(|value| value.get_name().to_owned())
}

/// A file that is written or read beside stdout and stdin.
fn named_file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("`-` is no file here: name one".to_owned()),
        text => Ok(text.into()),
    }
}

fn length(text: &str) -> Result<Span, String> {
    config::duration(text).and_then(|span| match span {
        Span::ZERO => Err("a ban of no length is no ban".to_owned()),
        span => Ok(span),
    })
}

fn timestamp(text: &str) -> Result<Timestamp, String> {
    let parsed = text.parse::<jiff::Timestamp>();
    parsed
        .map(|time| Timestamp::from_millis(time.as_millisecond()))
        .map_err(|_| "write a time as 2026-01-31T12:00:00Z".to_owned())
}

fn standing_verdict(text: &str) -> Result<Verdict, String> {
    match text.parse::<Verdict>() {
        Ok(Verdict::Allow) => Err("a ban that allows is none; lift it instead".to_owned()),
        Ok(verdict) => Ok(verdict),
        Err(error) => Err(error.to_string()),
    }
}

fn kind(text: &str) -> Result<EntityKind, String> {
    let known = EntityKind::ALL.into_iter().find(|kind| kind.name() == text);
    known.ok_or_else(|| format!("known are {}", EntityKind::ALL.map(EntityKind::name).join(", ")))
}

/// Writes completions for a shell.
///
/// # Errors
/// When they cannot be written.
pub fn completions(shell: Shell, out: &mut dyn Write) -> std::io::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "weir", &mut text);
    out.write_all(&text)
}

/// Whether talk on stderr may have colours: it is a terminal, and `NO_COLOR` is not set.
#[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
pub fn color_on_stderr() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !unwanted && std::io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::entity::Entity;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        Cli::try_parse_from(line.split_whitespace()).map(|cli| cli.command)
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_example_in_the_help_can_be_typed() {
        let mut seen = 0;
        let mut root = Cli::command();
        let commands: Vec<String> = std::iter::once(root.render_long_help().to_string())
            .chain(root.get_subcommands_mut().map(|command| command.render_long_help().to_string()))
            .collect();
        for line in commands.iter().flat_map(|help| help.lines()) {
            let Some(example) = line.trim_start().strip_prefix("weir ") else { continue };
            // Words of one example; what follows two spaces is its explanation, and quotes hold spaces.
            let typed = example.split("  ").next().unwrap_or_default();
            let typed = typed.split(['>', '|', '&']).next().unwrap_or_default();
            let mut quoted = false;
            let words = typed.split(|c: char| {
                quoted ^= c == '\'';
                c == ' ' && !quoted
            });
            let words = words.filter(|word| !word.is_empty());
            let parsed = Cli::try_parse_from(std::iter::once("weir").chain(words));
            assert!(parsed.is_ok(), "{example}: {}", parsed.err().map(|e| e.to_string()).unwrap_or_default());
            seen += 1;
        }
        assert!(seen >= 20, "{seen} examples");
    }

    #[test]
    fn flags_are_as_documented() {
        let demo = parse("weir demo --headless --seconds 5 --seed 7 --format json").expect("valid");
        assert!(matches!(
            demo,
            Command::Demo(DemoArgs { headless: true, seconds: 5, seed: 7, format: Format::Json })
        ));
        let replay = parse(
            "weir replay --input - --output out.jsonl --policy p --stats json --as-of 2026-01-01T00:00:00Z",
        );
        let Ok(Command::Replay(args)) = replay else { panic!("{replay:?}") };
        assert_eq!(args.input, FileOrStandard::Standard);
        assert_eq!(args.output, FileOrStandard::File("out.jsonl".into()));
        assert_eq!(args.as_of.map(Timestamp::millis), Some(1_767_225_600_000));
        let ban = parse("weir ban add ip:2001:db8::/64 --for 1h30m --verdict reject --reason x --actor ann");
        let Ok(Command::Ban(BanArgs { action: BanAction::Add { entity, length, verdict, who, .. } })) = ban
        else {
            panic!("{ban:?}")
        };
        assert_eq!(entity, Entity::new(EntityKind::Ip, "2001:db8::/64"));
        assert_eq!(length.map(Span::millis), Some(5_400_000));
        assert_eq!((verdict, who.actor.as_str()), (Verdict::Reject, "ann"));
    }

    #[test]
    fn wrong_use_is_refused_by_the_parser() {
        for line in [
            "weir",
            "weir demo --seconds 0",
            "weir replay --input -",
            "weir ban add user:1",
            "weir ban add host:1 --reason x",
            "weir ban add user:1 --reason x --verdict allow",
            "weir ban add user:1 --reason x --for 0s",
            "weir ban add user:1 --reason x --for 10",
            "weir ban list --kind city",
            "weir completions dos",
        ] {
            let error = parse(line).expect_err(line);
            assert_eq!(error.exit_code(), i32::from(exit::USAGE), "{line}");
        }
    }

    #[test]
    fn completions_name_every_command() {
        let mut out = Vec::new();
        completions(Shell::Bash, &mut out).expect("writing to memory works");
        let text = String::from_utf8(out).expect("completions are text");
        for command in Cli::command().get_subcommands() {
            assert!(text.contains(command.get_name()), "{}", command.get_name());
        }
    }
}
