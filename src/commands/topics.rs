//! `weir topics create|check`: makes the topics, or tells how those on the broker differ from what is needed.
//!
//! An existing topic is never changed. A difference ends both with 1; one that may be a choice (more partitions,
//! other retention) says so.

use super::policy::counted;
use super::{Failure, finish, print, setup};
use crate::cli::{ConfigArgs, TopicsAction, TopicsArgs, exit};
use crate::stream::{self, Difference};

/// Runs it.
pub fn run(args: &TopicsArgs) -> u8 {
    finish(match &args.action {
        TopicsAction::Create(args) => create(args),
        TopicsAction::Check(args) => check(args),
    })
}

fn create(args: &ConfigArgs) -> Result<u8, Failure> {
    let config = setup::config(args)?;
    let (settings, plan) = (setup::kafka(&config), setup::topics(&config));
    let creations = stream::create(&settings, &plan, setup::PATIENCE)?;
    for creation in &creations {
        let did = if creation.made { "made   " } else { "exists " };
        print(&format!("{did} {}\n", creation.name))?;
    }
    let made = creations.iter().filter(|creation| creation.made).count();
    let differences = stream::check(&settings, &plan, setup::PATIENCE)?;
    print(&format!("{} made, {} there before\n", counted(made, "topic"), creations.len() - made))?;
    tell_differences(&differences)
}

fn check(args: &ConfigArgs) -> Result<u8, Failure> {
    let config = setup::config(args)?;
    let plan = setup::topics(&config);
    let differences = stream::check(&setup::kafka(&config), &plan, setup::PATIENCE)?;
    if differences.is_empty() {
        print(&format!("{} as needed\n", counted(plan.specs().len(), "topic")))?;
    }
    tell_differences(&differences)
}

fn tell_differences(differences: &[Difference]) -> Result<u8, Failure> {
    for difference in differences {
        let choice = if difference.binding { "" } else { " (fine if it was chosen)" };
        print(&format!("differs {difference}{choice}\n"))?;
    }
    if differences.is_empty() {
        return Ok(exit::OK);
    }
    print(&format!("{}\n", counted(differences.len(), "difference")))?;
    Ok(exit::FAILURE)
}
