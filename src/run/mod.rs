//! `weir run`: the one place where configuration, policy, pipeline, HTTP and signals meet.
//!
//! Threads: the shard and its committer (`pipeline`), readers of topics (`stream`), HTTP (`desk`), and one that watches the
//! policy. SIGTERM and Ctrl-C end it after the batch under way; SIGHUP reads the policy again.

mod begin;
mod candidate;
mod poison;
mod reload;
mod telling;
mod watch;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use crate::cli::{RunArgs, exit};
use crate::commands::{Failure, finish, policy, setup};
use crate::config::Config;
use crate::desk::{Check, Desk, OwnCheckpoints, ReaderTime, Readiness, Serving};
use crate::engine::Engine;
use crate::engine::policy::Policy;
use crate::pipeline::{CandidatePolicy, ShardError, ShardSettings, Stage, Surroundings, Wishes, run_live};
use crate::state::{Checkpoints, Steps};
use crate::wire::interaction::DecodeLimits;
use crate::{log, metrics};

use self::candidate::Watched;
use self::reload::Reload;
use self::telling::Telling;
use self::watch::Watch;

/// Runs until told to stop; returns the exit code.
pub fn run(args: &RunArgs) -> u8 {
    finish(serve(args).map(|()| exit::OK))
}

fn serve(args: &RunArgs) -> Result<(), Failure> {
    let config = args
        .load()
        .map(|loaded| loaded.config)
        .map_err(|problems| Failure::of_config(problems.to_string()))?;
    log::install(config.log.format, &config.log.filter, crate::cli::color_on_stderr());
    check_properties(&config)?;
    let found = policy::configured(&config)?;
    let loaded = found.load_or_fail()?;
    let service =
        Service { accept_lost_inputs: args.accept_lost_inputs, ..Service::new(config, loaded.policy) };
    service.run(found.dir)
}

/// Properties that Kafka's client would refuse are told at their place in the file.
fn check_properties(config: &Config) -> Result<(), Failure> {
    let problems = setup::kafka(config).problems();
    if problems.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(Failure::of_config(format!("error: {}", told.join("\nerror: "))))
}

/// A running instance.
struct Service {
    config: Config,
    measured: metrics::Handle,
    policy: Arc<ArcSwap<Policy>>,
    serving: Arc<Serving>,
    readiness: Arc<Readiness>,
    own: OwnCheckpoints,
    stop: Arc<AtomicBool>,
    accept_lost_inputs: bool,
}

impl Service {
    fn new(config: Config, policy: Arc<Policy>) -> Self {
        // Before anything is measured: what is measured earlier is lost.
        let measured = metrics::install();
        let serving = Serving::new(config.http.subjects_memory, ReaderTime::Wall);
        serving.set_ipv6_prefix(policy.settings.ipv6_prefix);
        metrics::policy_loaded(&policy.hash);
        let readiness = Readiness::new();
        readiness.pass(Check::Policy);
        Self {
            config,
            measured,
            policy: Arc::new(ArcSwap::new(policy)),
            serving: Arc::new(serving),
            readiness: Arc::new(readiness),
            own: OwnCheckpoints::default(),
            stop: Arc::new(AtomicBool::new(false)),
            accept_lost_inputs: false,
        }
    }

    fn run(&self, policy_dir: Option<std::path::PathBuf>) -> Result<(), Failure> {
        let desk = self.listen()?;
        if let Some(desk) = &desk {
            tracing::info!(address = %desk.address(), "serving /metrics, /healthz, /readyz, /v1/subjects and /v1/checkpoints");
        }
        begin::check_topics(&self.config, Engine::longest_window_of(&self.policy.load()))?;
        for check in [Check::Brokers, Check::Topics] {
            self.readiness.pass(check);
        }
        let (policies, incoming) = channel();
        let reload = Reload {
            dir: policy_dir,
            policy: Arc::clone(&self.policy),
            policies,
            serving: Arc::clone(&self.serving),
            readiness: Arc::clone(&self.readiness),
            stop: Arc::clone(&self.stop),
        };
        let again =
            reload.start(setup::lasting(self.config.policy.reload_interval)).map_err(thread_failed)?;
        signals(Arc::clone(&self.stop), Arc::clone(&self.readiness), again).map_err(thread_failed)?;
        let serving = Arc::clone(&self.serving);
        let wanted = Box::new(move || serving.take_wanted());
        let readiness = Arc::clone(&self.readiness);
        let turned = Box::new(move || readiness.beat());
        let mut wishes = Wishes { stop: Arc::clone(&self.stop), policies: incoming, wanted, turned };
        Watch::new(&self.config, &self.readiness, &self.stop).start().map_err(thread_failed)?;
        let ended = self.shard(&mut wishes, desk.as_ref().map(Desk::address));
        self.stop.store(true, Ordering::Relaxed);
        ended.map_err(failure)
    }

    fn listen(&self) -> Result<Option<Desk>, Failure> {
        let Some(address) = self.config.http.listen else { return Ok(None) };
        let (serving, readiness) = (Arc::clone(&self.serving), Arc::clone(&self.readiness));
        let desk =
            Desk::start(address, &self.config.http, serving, readiness, self.measured.clone(), &self.own);
        desk.map(Some).map_err(|error| Failure::new(error.to_string()))
    }

    fn shard(&self, wishes: &mut Wishes, address: Option<SocketAddr>) -> Result<(), ShardError> {
        let settings = Arc::new(ShardSettings {
            kafka: setup::kafka(&self.config),
            names: setup::topics(&self.config).names(),
            shard: 0,
            interval: setup::lasting(self.config.batch.interval),
            records_max: self.config.batch.records_max,
            merge_wait: setup::lasting(self.config.batch.merge_wait),
            lead_span: self.config.batch.lead_span,
            checkpoint_every: setup::lasting(self.config.state.checkpoint_interval),
            ticks: true,
            accept_lost_inputs: self.accept_lost_inputs,
        });
        let seed = setup::seed(&self.config);
        let telling = Telling::new(Arc::clone(&self.serving), Arc::clone(&self.readiness));
        let record_max = usize::try_from(self.config.kafka.record_bytes_max).unwrap_or(usize::MAX);
        let around = Surroundings {
            policy: &|| self.policy.load_full(),
            seed,
            told: Arc::new(Mutex::new(move |report: &mut crate::pipeline::Report| telling.tell(report))),
            stage: &|stage| self.stage(&stage),
            limits: DecodeLimits { record_max, ..DecodeLimits::default() },
            checkpoints: Some(self.checkpoints(address)?),
            candidate: self.candidate()?,
            probe: None,
            steps: None,
        };
        run_live(&settings, wishes, &around)
    }

    /// The candidate that is configured, kept up with its folder.
    fn candidate(&self) -> Result<Option<CandidatePolicy>, ShardError> {
        let Some(dir) = self.config.policy.candidate.clone() else { return Ok(None) };
        let every = setup::lasting(self.config.policy.reload_interval);
        Ok(Some(Watched::start(dir, every, Arc::clone(&self.stop))?))
    }

    /// The checkpoints of this instance; their folder belongs to one process at a time. Who finds it taken reads there
    /// where this process answers.
    fn checkpoints(&self, address: Option<SocketAddr>) -> Result<Arc<Mutex<Checkpoints>>, ShardError> {
        let dir = &self.config.state.dir;
        let hint = format!("weir run, group {}", self.config.kafka.group);
        let mut opened = Checkpoints::open(dir, &hint, Steps::default())?;
        for note in opened.notes() {
            tracing::warn!(dir = %dir.display(), "{note}");
        }
        if let Some(address) = address {
            opened.answers_at(&format!("http://{}", from_here(address)))?;
        }
        let checkpoints = Arc::new(Mutex::new(opened));
        self.own.show(Arc::clone(&checkpoints));
        Ok(checkpoints)
    }

    fn stage(&self, stage: &Stage) {
        let readiness = &self.readiness;
        match stage {
            Stage::Following => {
                readiness
                    .fail(Check::Shard, "state is being restored; this instance is not yet in the group");
                readiness.fail(Check::Scoring, "state is being restored");
            }
            Stage::Waiting => {
                readiness.fail(Check::Shard, "another instance owns the shard, or the group is settling");
                readiness.fail(Check::Scoring, "this instance owns no shard");
            }
            Stage::OutOfReach(why) => readiness.fail(Check::Shard, why.clone()),
            Stage::TakingOver => {
                readiness.pass(Check::Shard);
            }
            Stage::Running => {
                for check in [Check::Bans, Check::Scoring] {
                    readiness.pass(check);
                }
                tracing::info!("scoring");
            }
            Stage::GaveUp(why) => readiness.fail(Check::Scoring, why.clone()),
        }
    }
}

/// The address by which this machine reaches one that is listened at.
fn from_here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Waits for signals on a thread of its own.
fn signals(stop: Arc<AtomicBool>, readiness: Arc<Readiness>, again: reload::Again) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let waiting = move || {
        runtime.block_on(async move {
            let signals = (
                signal(SignalKind::terminate()),
                signal(SignalKind::interrupt()),
                signal(SignalKind::hangup()),
            );
            let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) = signals else {
                return tracing::error!("signals cannot be received: only a kill ends this process");
            };
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                    _ = hangup.recv() => { again.now(); continue }
                }
                if stop.swap(true, Ordering::Relaxed) {
                    // The second one means it: nothing that was told is lost, since it was committed.
                    end_at_once();
                }
                readiness.stop();
                tracing::info!("stopping after the batch under way; a second signal ends at once");
            }
        });
    };
    std::thread::Builder::new().name("weir-signals".to_owned()).spawn(waiting).map(drop)
}

#[expect(clippy::disallowed_methods, reason = "a second signal asks for an end without further ado")]
fn end_at_once() {
    std::process::exit(i32::from(exit::FAILURE));
}

fn failure(error: ShardError) -> Failure {
    match error {
        ShardError::Stream(error) => error.into(),
        error => Failure::new(error.to_string()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn thread_failed(error: std::io::Error) -> Failure {
    Failure::new(format!("starting a thread: {error}"))
}
