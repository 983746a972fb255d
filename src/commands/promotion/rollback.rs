//! An earlier policy is put in place: quick, and without a gate.

use super::entry::Entry;
use super::{Place, earlier, short};
use crate::cli::{RollbackArgs, exit};
use crate::commands::{Failure, needless, print, tell};
use crate::engine::policy::load::load;

/// See the module.
pub(super) fn rollback(args: &RollbackArgs) -> Result<u8, Failure> {
    needless::print(args.versions.print)?;
    let place = Place::of(&args.versions)?;
    if args.hash.len() < 8 || !args.hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Failure::of_usage(format!("{}: a hash, or at least its first 8 digits", args.hash)));
    }
    let wanted = args.hash.to_ascii_lowercase();
    if place.hash.starts_with(&wanted) {
        tell(&format!("{} is in place already", short(&place.hash)));
        return Ok(exit::OK);
    }
    let (hash, files, from) = earlier::find(&place, &wanted)?;
    // This version of weir may read it otherwise than the one under which it was live.
    if let Err(problems) = load(&files) {
        let told: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
        return Err(Failure::of_config(format!(
            "{told}\n{} is no policy for this version of weir",
            short(&hash)
        )));
    }
    let way = place.put(&hash, &files)?;
    Entry::new("rollback", &args.who, &place, &hash).note(&place)?;
    let dir = place.dir.display();
    print(&format!("{dir}: {}, from {from}, in place of {}; {way}\n", short(&hash), short(&place.hash)))?;
    Ok(exit::OK)
}
