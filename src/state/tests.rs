//! A directory of checkpoints through crashes, damage and full disks. Pages are made up: what they mean is not known here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::*;
use crate::engine::cut::Page;

const PAGES: u32 = 9;
/// So small that every two pages make a file.
const FULL: u64 = 1500;

fn page(generation: u32, number: u32) -> Page {
    let words: Vec<u32> = (0..200).map(|word| word * 31 + number * 7 + generation).collect();
    Page::new([2, 1, 0, number * 100, PAGES * 100, 2], words).unwrap()
}

fn meta(seq: u64) -> Meta {
    Meta {
        semantics: "1".into(),
        basis: "b".into(),
        policy: "p".into(),
        policy_sources: vec![("a.yaml".into(), "version: 1\n".into())],
        lineage: "l".into(),
        seq,
        chain: "c".repeat(64),
        journal_from: 5,
        positions: vec![Position { topic: "t".into(), partition: 0, offset: 7 }],
        created_at: 1_750_000_000_000,
    }
}

fn open(dir: &Path) -> Checkpoints {
    Checkpoints::open(dir, "test", Steps::default()).unwrap()
}

fn write(checkpoints: &mut Checkpoints, number: u32) -> Result<Written, StateError> {
    let mut writer = checkpoints.begin(meta(u64::from(number)))?.with_files_of(FULL);
    for page_number in 0..PAGES {
        writer.write(page(number, page_number))?;
    }
    writer.finish()
}

fn publish(checkpoints: &mut Checkpoints, number: u32) -> Generation {
    let written = write(checkpoints, number).unwrap();
    checkpoints.publish(written).unwrap()
}

/// Two checkpoints, of 1 and of 2.
fn two() -> (TempDir, Checkpoints) {
    let dir = tempfile::tempdir().unwrap();
    let mut checkpoints = open(dir.path());
    publish(&mut checkpoints, 1);
    publish(&mut checkpoints, 2);
    (dir, checkpoints)
}

/// The disk says that it could not keep what it was given: it is not asked whether it has it after all. That checkpoint is
/// gone, the earlier ones stay, and the next one is written anew.
#[test]
fn a_sync_that_fails_costs_its_checkpoint_and_is_not_tried_again() {
    let (dir, checkpoints) = two();
    drop(checkpoints);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    let steps = Steps::synced(move |path| {
        let mut asked = heard.lock().unwrap();
        asked.push(path.to_owned());
        // The second file of the first attempt.
        if asked.len() == 2 { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    });
    let mut checkpoints = Checkpoints::open(dir.path(), "test", steps).unwrap();
    let error = write(&mut checkpoints, 3).expect_err("it cannot be synced").to_string();
    assert!(error.contains("syncing") && error.contains("segment-0001"), "{error}");
    assert_eq!(asked.lock().unwrap().len(), 2, "nothing more is asked");
    assert_eq!(checkpoints.generations().unwrap(), [2, 1]);
    let names = checkpoints.names().unwrap();
    assert!(!names.iter().any(|name| name.ends_with("partial")), "{names:?}");
    assert!(is_whole(&checkpoints, 2, 2) && is_whole(&checkpoints, 1, 1));
    let next = publish(&mut checkpoints, 4);
    assert!(next.files > 2 && asked.lock().unwrap().len() == 2 + next.files as usize);
    assert!(is_whole(&checkpoints, next.generation, 4));
}

/// Whoever lists, verifies or exports beside a running process reads what he began to read, whatever is removed meanwhile.
#[test]
fn a_checkpoint_that_is_pruned_is_read_to_its_end() {
    let (dir, mut checkpoints) = two();
    let mut pages = Archive::at(dir.path()).load(1).unwrap();
    assert_eq!(pages.next().unwrap().unwrap().head(), page(1, 0).head());
    publish(&mut checkpoints, 3);
    assert_eq!(checkpoints.generations().unwrap(), [3, 2]);
    let rest: Vec<Page> = pages.map(Result::unwrap).collect();
    assert_eq!(rest.len(), PAGES as usize - 1);
    assert!((1..).zip(&rest).all(|(index, given)| given.words() == page(1, index).words()));
}

fn is_whole(archive: &Archive, generation: u64, number: u32) -> bool {
    let pages = archive.load(generation).unwrap();
    assert_eq!(pages.meta(), &meta(u64::from(number)));
    let pages: Vec<Page> = pages.map(Result::unwrap).collect();
    let same = |(index, given): (u32, &Page)| {
        let made = page(number, index);
        given.head() == made.head() && given.words() == made.words()
    };
    pages.len() == PAGES as usize && (0..).zip(&pages).all(same)
}

fn bytes_below(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let bytes = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => bytes_below(&entry.path()),
        false => entry.metadata().unwrap().len(),
    });
    bytes.sum()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn segments(dir: &Path, generation: u64) -> Vec<PathBuf> {
    let dir = Archive::at(dir).path(generation);
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn what_is_published_is_listed_and_read_back_and_two_stay() {
    let (dir, mut checkpoints) = two();
    let third = publish(&mut checkpoints, 3);
    assert_eq!((third.generation, third.seq, third.files), (3, 3, 5));
    let published = checkpoints.published().unwrap();
    assert_eq!(published.iter().map(|one| one.generation).collect::<Vec<_>>(), [3, 2]);
    assert_eq!(checkpoints.list().unwrap(), (published, Vec::new()));
    assert!(is_whole(&checkpoints, 3, 3) && is_whole(&checkpoints, 2, 2));
    assert_eq!(checkpoints.verify(3).unwrap(), u64::from(PAGES) * 800);
    let state = third.bytes;
    let files: u64 = [2, 3].into_iter().flat_map(|g| segments(dir.path(), g)).map(|f| bytes_of(&f)).sum();
    assert!(files < 3 * state, "{files} bytes for a state of {state}");
    assert!(matches!(checkpoints.verify(1), Err(StateError::Missing { generation: 1, .. })));
}

fn bytes_of(file: &Path) -> u64 {
    fs::metadata(file).unwrap().len()
}

/// The disk as it is at each step is what a process that is killed there leaves behind.
#[test]
fn a_process_killed_at_any_step_leaves_a_whole_checkpoint() {
    let (dir, first) = two();
    drop(first);
    let scratch = tempfile::tempdir().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let steps = {
        let (seen, dir, scratch) = (Arc::clone(&seen), dir.path().to_owned(), scratch.path().to_owned());
        Steps::told(move |step| {
            let mut seen = seen.lock().unwrap();
            copy(&dir, &scratch.join(seen.len().to_string()));
            seen.push(step);
        })
    };
    let mut checkpoints = Checkpoints::open(dir.path(), "test", steps).unwrap();
    publish(&mut checkpoints, 3);
    let seen = seen.lock().unwrap();
    let expected = [[Step::SegmentHalfWritten; 5].as_slice(), &[Step::Rename, Step::Manifest, Step::Prune]];
    assert_eq!(*seen, expected.concat());
    for (number, step) in seen.iter().enumerate() {
        let dir = scratch.path().join(number.to_string());
        let mut left = open(&dir);
        let newest = left.published().unwrap()[0].clone();
        let named = matches!(step, Step::Manifest | Step::Prune);
        assert_eq!(newest.generation, if named { 3 } else { 2 }, "{step:?}");
        assert!(is_whole(&left, newest.generation, newest.generation as u32), "{step:?}");
        assert!(left.names().unwrap().iter().all(|name| !name.ends_with(archive::PARTIAL)));
        let next = publish(&mut left, 9);
        assert_eq!(next.generation, newest.generation + 1);
        assert_eq!(left.list().unwrap().0.len(), KEEP);
    }
}

#[test]
fn a_directory_belongs_to_one_process_and_others_may_read_it() {
    let (dir, checkpoints) = two();
    let error = Checkpoints::open(dir.path(), "other", Steps::default()).err().unwrap();
    assert!(matches!(error, StateError::Locked { .. }), "{error}");
    assert!(error.to_string().contains(&format!("process {} (test)", std::process::id())), "{error}");
    assert!(is_whole(&Archive::at(dir.path()), 2, 2));
    drop(checkpoints);
    assert!(is_whole(&open(dir.path()), 2, 2));
}

#[test]
fn an_unfinished_or_unpublished_checkpoint_leaves_nothing() {
    let (dir, mut checkpoints) = two();
    let before = bytes_below(dir.path());
    let mut writer = checkpoints.begin(meta(3)).unwrap();
    writer.write(page(3, 0)).unwrap();
    assert!(matches!(checkpoints.begin(meta(4)).err(), Some(StateError::Busy)));
    drop(writer);
    let written = write(&mut checkpoints, 3).unwrap();
    assert!(matches!(checkpoints.begin(meta(4)).err(), Some(StateError::Busy)));
    drop(written);
    assert_eq!(bytes_below(dir.path()), before);
    assert_eq!(publish(&mut checkpoints, 3).generation, 3);
}

/// Any turned bit and any cut of any file is told, and names the file.
#[test]
fn damage_anywhere_is_noticed_and_never_panics() {
    let (dir, _checkpoints) = two();
    let archive = Archive::at(dir.path());
    for file in segments(dir.path(), 2) {
        let whole = fs::read(&file).unwrap();
        let noticed = |bytes: &[u8], what: &str| {
            fs::write(&file, bytes).unwrap();
            let error = archive.verify(2).err().unwrap_or_else(|| panic!("{what} of {}", file.display()));
            assert!(error.to_string().contains("segment-"), "{error}");
        };
        for at in 0..whole.len() {
            let mut turned = whole.clone();
            turned[at] ^= 1 << (at % 8);
            noticed(&turned, "a turned bit");
        }
        for len in (0..whole.len()).step_by(13) {
            noticed(&whole[..len], "a cut");
        }
        noticed(&[whole.as_slice(), b"more"].concat(), "something appended");
        fs::write(&file, &whole).unwrap();
    }
    assert!(is_whole(&archive, 2, 2));
    fs::remove_file(segments(dir.path(), 2).pop().unwrap()).unwrap();
    assert!(archive.verify(2).is_err(), "the last file is missing");
}

/// Files of two checkpoints do not make one, though each is sound.
#[test]
fn files_of_another_checkpoint_are_noticed() {
    let (dir, _checkpoints) = two();
    fs::copy(&segments(dir.path(), 1)[1], &segments(dir.path(), 2)[1]).unwrap();
    let error = Archive::at(dir.path()).verify(2).unwrap_err();
    assert!(error.to_string().contains("belongs to another checkpoint"), "{error}");
}

#[test]
fn the_newest_that_fits_and_is_whole_is_taken_and_the_others_are_told() {
    let (dir, checkpoints) = two();
    let read = |_: &Generation, pages: Pages| pages.map(|page| page.map(drop)).collect::<Result<Vec<_>, _>>();
    let Newest { found, skipped } = checkpoints.newest(|_| Ok(()), read).unwrap();
    assert_eq!((found.unwrap().0.generation, skipped.len()), (2, 0));
    let file = &segments(dir.path(), 2)[3];
    let mut bytes = fs::read(file).unwrap();
    bytes[700] ^= 4;
    fs::write(file, bytes).unwrap();
    let Newest { found, skipped } = checkpoints.newest(|_| Ok(()), read).unwrap();
    assert_eq!(found.unwrap().0.generation, 1);
    assert_eq!(skipped[0].generation, 2);
    assert!(skipped[0].why.contains("segment-0003 is damaged at byte"), "{}", skipped[0].why);
    let unwanted = |one: &Generation| Err(format!("seq {} is not in the journal", one.seq));
    let Newest { found, skipped } = checkpoints.newest(unwanted, read).unwrap();
    assert!(found.is_none());
    assert_eq!(skipped[1].why, "seq 1 is not in the journal");
}

#[test]
fn an_exported_checkpoint_is_imported_elsewhere() {
    let (dir, checkpoints) = two();
    let file = dir.path().join("out.ckp");
    let bytes = checkpoints.export(2, &file).unwrap();
    assert_eq!(bytes, bytes_of(&file));
    let elsewhere = tempfile::tempdir().unwrap();
    let mut other = open(elsewhere.path());
    let taken = other.import(&file).unwrap();
    assert_eq!((taken.generation, taken.seq), (1, 2));
    assert!(is_whole(&other, 1, 2));
    let mut damaged = fs::read(&file).unwrap();
    damaged[3000] ^= 1;
    fs::write(&file, damaged).unwrap();
    assert!(matches!(other.import(&file), Err(StateError::Damaged { .. })));
    assert_eq!(other.list().unwrap().0.len(), 1);
    assert!(Archive::at(dir.path()).export(9, &file).is_err());
}

#[test]
fn a_manifest_that_is_gone_or_damaged_is_made_anew_from_the_files() {
    let (dir, checkpoints) = two();
    let published = checkpoints.published().unwrap();
    drop(checkpoints);
    let manifest = dir.path().join("manifest");
    fs::remove_dir_all(&manifest).unwrap();
    let checkpoints = open(dir.path());
    assert_eq!(checkpoints.published().unwrap(), published);
    drop(checkpoints);
    for file in ["conf", "db"] {
        let path = manifest.join(file);
        let len = fs::metadata(&path).unwrap().len() as usize;
        fs::write(&path, vec![0x5a; len]).unwrap();
        let checkpoints = open(dir.path());
        assert_eq!(checkpoints.published().unwrap(), published, "{file}");
        drop(checkpoints);
    }
}

/// The second file of a checkpoint goes to a device that is always full.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_and_costs_only_the_new_checkpoint() {
    let (dir, checkpoints) = two();
    drop(checkpoints);
    let second = Archive::at(dir.path()).partial_path(3).join("segment-0001");
    let steps = Steps::told(move |step| {
        if step == Step::SegmentHalfWritten && !second.exists() {
            std::os::unix::fs::symlink("/dev/full", &second).unwrap();
        }
    });
    let mut checkpoints = Checkpoints::open(dir.path(), "test", steps).unwrap();
    let error = write(&mut checkpoints, 3).unwrap_err();
    assert!(error.to_string().contains("segment-0001: No space left on device"), "{error}");
    assert_eq!(checkpoints.generations().unwrap(), [2, 1]);
    assert!(checkpoints.names().unwrap().iter().all(|name| !name.ends_with(archive::PARTIAL)));
    assert!(is_whole(&checkpoints, 2, 2) && is_whole(&checkpoints, 1, 1));
}
