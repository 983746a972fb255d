//! Nothing lost, nothing doubled, on a real Apache Kafka: processes that are killed at every step of a transaction and of a
//! checkpoint, frozen and thawed, doubled, and started with damaged or no state.
//!
//! Each test is one stream with many such accidents on it; at its end the same checks run as in the simulation. The
//! processes are this test binary itself, started again as [`child`].
#![allow(clippy::print_stdout, reason = "measured figures")]
#![allow(clippy::disallowed_methods, reason = "child processes are awaited and measured by the clock")]
#![allow(unreachable_pub, dead_code, reason = "shared modules; each test binary uses its own part")]

#[path = "simulation/broker.rs"]
mod broker;
#[path = "simulation/bug.rs"]
mod bug;
#[path = "simulation/check.rs"]
mod check;
#[path = "support/child.rs"]
mod child;
#[path = "support/broker.rs"]
mod kafka;
#[path = "simulation/logs.rs"]
mod logs;
#[path = "support/process.rs"]
mod process;
#[path = "support/proxy.rs"]
mod proxy;
#[path = "support/readback.rs"]
mod readback;
#[path = "support/traffic.rs"]
mod traffic;

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use child::{Kill, child_orders};
use process::Stage;
use proxy::Mode;
use rustix::process::Signal;

/// The processes of these tests; does nothing unless it is started as one.
#[test]
fn child() {
    if let Some(orders) = child_orders() {
        child::run(&orders);
    }
}

#[test]
fn killed_at_each_step_of_a_transaction_nothing_is_lost_or_doubled() {
    let mut stage = Stage::new("steps");
    let steps = ["drain:9", "offsets:7", "commit:8", "commit-under-way:6", "done:9", "begin:5", "send:7"];
    for step in steps {
        let mut weir = stage.start("a", &Kill::at(step));
        stage.load_until(|| weir.has_ended());
        println!("killed at {step}");
    }
    stage.finish();
}

#[test]
fn killed_at_each_step_of_a_checkpoint_the_one_before_is_used() {
    let mut stage = Stage::new("checkpoint");
    for step in ["half:1", "half:3", "rename:2", "manifest:2", "prune:3"] {
        let mut weir = stage.start("a", &Kill::at(step));
        stage.load_until(|| weir.has_ended());
        println!("killed at {step}");
    }
    let log = stage.finish();
    assert!(log.contains("restored from a checkpoint"), "{log}");
}

#[test]
fn killed_at_random_moments_under_load() {
    let mut stage = Stage::new("random");
    for number in 0..20u64 {
        let mut weir = stage.start("a", &Kill::never());
        stage.wait_for_progress(&mut weir);
        let moment = Instant::now() + Duration::from_millis(number * 37 % 400);
        stage.load_until(|| Instant::now() > moment);
        weir.signal(Signal::KILL);
        weir.wait();
    }
    stage.finish();
}

#[test]
fn a_frozen_owner_that_thaws_changes_nothing() {
    let mut stage = Stage::new("zombie");
    let mut first = stage.start("a", &Kill::never());
    stage.wait_for_progress(&mut first);
    let mut second = stage.start("b", &Kill::never());
    stage.load_for(Duration::from_secs(1));
    first.signal(Signal::STOP);
    let frozen = Instant::now();
    stage.wait_for_takeover(&mut second);
    println!("taken over {:.1?} after the owner froze", frozen.elapsed());
    first.signal(Signal::CONT);
    stage.load_for(Duration::from_secs(4));
    for weir in [&mut first, &mut second] {
        assert!(!weir.has_ended(), "{}", weir.log());
        weir.stop();
    }
    stage.finish();
}

#[test]
fn a_standby_steals_nothing_and_takes_over() {
    let mut stage = Stage::new("standby");
    let mut owner = stage.start("a", &Kill::never());
    stage.wait_for_progress(&mut owner);
    for _ in 0..15 {
        let mut standby = stage.start("b", &Kill::never());
        stage.load_until(|| standby.log().contains("followed the journal to its end"));
        stage.load_for(Duration::from_millis(300));
        standby.stop();
    }
    let times = |log: &str| log.matches("took the shard over").count();
    assert_eq!(times(&owner.log()), 1, "{}", owner.log());
    let log = owner.log();
    let since = log.split_once("took the shard over").map(|(_, since)| since).expect("it did");
    assert!(!since.contains("given up"), "{log}");

    let mut standby = stage.start("b", &Kill::never());
    stage.load_until(|| standby.log().contains("followed the journal to its end"));
    let already = times(&standby.log());
    owner.signal(Signal::KILL);
    let killed = Instant::now();
    stage.wait_for_progress(&mut standby);
    let took = killed.elapsed();
    println!(
        "first decisions {took:.1?} after kill -9 of the owner; the session timeout is {:.1?}",
        child::SESSION
    );
    assert_eq!(times(&standby.log()), already + 1, "{}", standby.log());
    assert!(took < child::SESSION + Duration::from_secs(20), "{took:?}");
    standby.stop();
    stage.finish();
}

#[test]
fn damaged_missing_and_doubled_state_is_met_in_words() {
    let mut stage = Stage::new("state");
    let mut weir = stage.start("a", &Kill::never());
    stage.load_until(|| weir.log().matches("checkpoint generation=").count() >= 2);
    let mut other = stage.start("a", &Kill::never());
    stage.load_until(|| other.has_ended());
    assert!(other.log().contains("is in use by process"), "{}", other.log());
    weir.signal(Signal::KILL);
    weir.wait();

    damage_the_newest(&stage.state("a"));
    let mut weir = stage.start("a", &Kill::never());
    stage.wait_for_progress(&mut weir);
    assert!(weir.log().contains("cannot be used") || weir.log().contains("passed over"), "{}", weir.log());
    assert!(weir.log().contains("restored from a checkpoint"), "{}", weir.log());
    weir.signal(Signal::KILL);
    weir.wait();

    fs::remove_dir_all(stage.state("a")).expect("removable");
    let mut weir = stage.start("a", &Kill::never());
    stage.wait_for_progress(&mut weir);
    weir.stop();
    stage.finish();
}

#[test]
fn a_disk_that_is_full_costs_only_the_checkpoint() {
    let mut stage = Stage::new("full");
    let mut weir = stage.start("a", &Kill::disk_full());
    stage.load_until(|| weir.log().contains("could not be written"));
    stage.wait_for_progress(&mut weir);
    weir.stop();
    stage.finish();
}

/// What is told is what Kafka committed, so scoring goes on; what could not be synced is never restored from.
#[test]
fn a_disk_that_cannot_be_synced_costs_only_the_checkpoint() {
    let mut stage = Stage::new("unsynced");
    let mut weir = stage.start("a", &Kill::unsynced_from(3));
    stage.load_until(|| weir.log().matches("could not be written; the earlier ones stay").count() >= 3);
    stage.wait_for_progress(&mut weir);
    let log = weir.log();
    assert!(log.contains("syncing") && log.contains("Input/output error"), "{log}");
    assert_eq!(log.matches("checkpoint generation=").count(), 2, "{log}");
    weir.signal(Signal::KILL);
    weir.wait();
    let log = stage.finish();
    assert!(log.contains("restored from a checkpoint generation=2 "), "{log}");
}

#[test]
fn a_record_that_panics_the_engine_is_passed_over_after_the_second_time() {
    let mut stage = Stage::new("panic");
    let mut weir = stage.start("a", &Kill::panic_at(2, 700));
    stage.load_until(|| weir.log().matches("the state is dropped and restored").count() >= 2);
    let mut faults = Vec::new();
    while faults.is_empty() {
        stage.wait_for_progress(&mut weir);
        faults = stage.dead_letters("engine_fault");
    }
    weir.stop();
    assert_eq!(faults, [(2, 700)]);
    stage.finish();
}

#[test]
fn partitions_that_are_added_are_read_from_their_beginning() {
    let mut stage = Stage::new("growth");
    let mut weir = stage.start("a", &Kill::never());
    stage.wait_for_progress(&mut weir);
    stage.grow(6);
    stage.load_until(|| weir.log().contains("the inputs have new partitions"));
    stage.wait_for_progress(&mut weir);
    weir.signal(Signal::KILL);
    weir.wait();
    stage.finish();
}

#[test]
fn a_broker_that_restarts_under_load_loses_nothing() {
    let mut stage = Stage::with_broker_of_its_own("outage");
    let mut weir = stage.start("a", &Kill::never());
    stage.wait_for_progress(&mut weir);
    for _ in 0..2 {
        stage.restart_broker();
        stage.wait_for_progress(&mut weir);
    }
    weir.stop();
    stage.finish();
}

/// State beyond what is committed must never be gone on with.
#[test]
fn a_checkpoint_whose_batch_was_aborted_is_passed_over() {
    let mut stage = Stage::new("aborted");
    let mut weir = stage.start("a", &Kill::never());
    stage.load_until(|| weir.log().matches("checkpoint generation=").count() >= 2);
    weir.signal(Signal::KILL);
    weir.wait();
    stage.forge_a_checkpoint_of_an_aborted_batch("a");
    let log = stage.finish();
    let times = |words: &str| log.matches(words).count();
    assert_eq!(times("the committed journal does not hold its record"), 1, "{log}");
    assert_eq!(times("restored from a checkpoint"), 1, "{log}");
}

#[test]
fn killed_while_policies_change_the_journal_says_which_one_held() {
    let mut stage = Stage::new("reload");
    for step in ["commit:30", "send:25", "drain:35", "done:30", "commit-under-way:25"] {
        let mut weir = stage.start("a", &Kill::reloading_at(step));
        stage.load_until(|| weir.has_ended());
    }
    stage.come_to_the_end();
    let (policies, changes) = stage.policy_changes();
    println!("{policies} policies, one for another {changes} times");
    assert!(policies == 2 && changes >= 4, "{policies} {changes}");
    stage.finish();
}

#[test]
fn verify_finds_nothing_wrong_and_then_what_was_forged() {
    let mut stage = Stage::new("verify");
    let mut weir = stage.start("a", &Kill::at("commit:20"));
    stage.load_until(|| weir.has_ended());
    stage.come_to_the_end();
    let (code, told) = stage.verify();
    assert!(
        code == Some(0) && told.contains("nothing is wrong") && told.contains("decisions compared"),
        "{told}"
    );
    let place = stage.forge_a_decision();
    let (code, told) = stage.verify();
    assert!(code == Some(1) && told.contains(&format!("two outcomes at {place}")), "{place}\n{told}");
}

/// What a commit came to is not known when its answer is lost: the journal says, and nothing is told twice.
#[test]
fn answers_that_are_lost_at_any_moment_change_nothing() {
    let mut stage = Stage::behind_a_wire("deaf");
    let mut weir = stage.start("a", &Kill::never());
    stage.wait_for_progress(&mut weir);
    for round in 0..10u64 {
        stage.wire().set(Mode::Deaf);
        stage.load_for(Duration::from_millis(20 + round * 37 % 200));
        stage.wire().cut();
        stage.wire().set(Mode::Pass);
        stage.wait_for_progress(&mut weir);
    }
    let log = weir.log();
    println!("{} transactions did not commit at once", log.matches("a transaction did not commit").count());
    weir.stop();
    stage.finish();
}

/// Longer than the session: the shard is lost, and taken again by itself once the broker answers.
#[test]
fn a_broker_that_cannot_be_reached_is_waited_for() {
    let mut stage = Stage::behind_a_wire("silent");
    let mut weir = stage.start("a", &Kill::never());
    stage.wait_for_progress(&mut weir);
    let before = weir.memory();
    stage.wire().set(Mode::Hold);
    stage.load_for(child::SESSION * 5);
    assert!(!weir.has_ended(), "{}", weir.log());
    println!("{before} KB resident before {:?} of silence, {} behind", child::SESSION * 5, weir.memory());
    assert!(weir.memory() < before + (64 << 10), "{before} KB have become {}", weir.memory());
    stage.wire().set(Mode::Pass);
    stage.wait_for_progress(&mut weir);
    weir.stop();
    stage.finish();
}

/// Two tenths of a second each way: batches become larger, and nothing ends or is lost.
#[test]
fn a_broker_that_is_slow_makes_larger_batches() {
    let mut stage = Stage::behind_a_wire("slow");
    let mut weir = stage.start("a", &Kill::never());
    stage.wait_for_progress(&mut weir);
    stage.wire().delay(Duration::from_millis(200));
    for _ in 0..3 {
        stage.load_for(Duration::from_secs(2));
        stage.wait_for_progress(&mut weir);
    }
    stage.wire().delay(Duration::ZERO);
    stage.wait_for_progress(&mut weir);
    let log = weir.log();
    assert!(log.matches("took the shard over").count() <= 2, "{log}");
    weir.stop();
    stage.finish();
}

/// The member polls by itself: a batch that takes longer than the group's patience costs no ownership.
#[test]
fn a_batch_that_takes_longer_than_the_poll_interval_keeps_the_shard() {
    let mut stage = Stage::new("stalled");
    let mut weir = stage.start("a", &Kill::stall_at("record-1-200"));
    stage.load_until(|| weir.log().contains("stands still"));
    stage.load_for(child::STALL);
    stage.wait_for_progress(&mut weir);
    let log = weir.log();
    assert_eq!(log.matches("took the shard over").count(), 1, "{log}");
    assert!(!log.contains("given up"), "{log}");
    weir.stop();
    stage.finish();
}

/// The broker has aborted it meanwhile: nothing of it shows, and its inputs are decided again.
#[test]
fn a_transaction_that_is_open_for_too_long_is_made_again() {
    let mut stage = Stage::new("timeout");
    let mut weir = stage.start("a", &Kill::stall_at("commit:20"));
    stage.load_until(|| weir.log().contains("a transaction did not commit"));
    stage.wait_for_progress(&mut weir);
    weir.stop();
    stage.finish();
}

/// Batches that are larger than the client's queue are sent as it empties.
#[test]
fn a_full_queue_of_the_client_holds_a_batch_up_and_loses_nothing() {
    let mut stage = Stage::new("queue");
    let mut weir = stage.start("a", &Kill::short_of_room());
    stage.wait_for_progress(&mut weir);
    let before = weir.memory();
    stage.load_for(Duration::from_secs(3));
    stage.wait_for_progress(&mut weir);
    assert!(weir.memory() < before + (64 << 10), "{before} KB have become {}", weir.memory());
    assert_eq!(weir.log().matches("took the shard over").count(), 1, "{}", weir.log());
    weir.stop();
    let largest = stage.largest_batch();
    println!("{largest} records in the largest batch, {} in the client's queue", child::QUEUE);
    assert!(largest > 2 * child::QUEUE, "{largest}");
    stage.finish();
}

/// Flips a byte in the middle of the newest checkpoint.
fn damage_the_newest(state: &PathBuf) {
    let names = |dir: &PathBuf| {
        let entries = fs::read_dir(dir).expect("a folder");
        let mut names: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        names.sort();
        names
    };
    let newest =
        names(state).into_iter().rfind(|path| path.is_dir() && path.to_string_lossy().contains("0000"));
    let segment = names(&newest.expect("a checkpoint")).into_iter().next().expect("a segment");
    let mut bytes = fs::read(&segment).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(&segment, bytes).expect("writable");
    thread::sleep(Duration::ZERO);
}
