//! Actions of an input that no condition of a policy names: what is asked of named actions asks nothing of them.

use std::collections::BTreeMap;

use super::odd::Oddity;
use crate::engine::policy::nearest::nearest;

/// Actions that are told one by one.
const TOLD: usize = 5;
/// Actions that are counted one by one: a column of ids that was taken for one of actions has no end of them.
const KEPT: usize = 1000;
/// Letters of an action that are told.
const LETTERS: usize = 60;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unheeded {
    /// Actions that are named, in order. Where none is, no condition asks for an action.
    named: Vec<String>,
    /// Others: how often, and where first.
    others: BTreeMap<String, (u64, String)>,
    /// Events of actions beyond those, and where first.
    beyond: Option<(u64, String)>,
}

impl Unheeded {
    /// Further actions are named.
    pub(super) fn name(&mut self, actions: Vec<String>) {
        self.named.extend(actions);
        self.named.sort_unstable();
        self.named.dedup();
    }

    /// One event.
    pub(super) fn note(&mut self, action: &str, place: &impl Fn() -> String) {
        let is_named = self.named.binary_search_by(|named| named.as_str().cmp(action)).is_ok();
        if is_named || self.named.is_empty() {
            return;
        }
        if let Some((count, _)) = self.others.get_mut(action) {
            *count += 1;
        } else if self.others.len() < KEPT {
            self.others.insert(action.to_owned(), (1, place()));
        } else {
            self.beyond.get_or_insert_with(|| (0, place())).0 += 1;
        }
    }

    /// The most frequent ones, and how many more there are.
    pub(super) fn told(&self) -> Vec<Oddity> {
        let mut others: Vec<_> = self.others.iter().collect();
        others.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let (told, more) = others.split_at(others.len().min(TOLD));
        let mut list: Vec<Oddity> =
            told.iter().map(|(action, (count, first))| oddity(*count, first, self.message(action))).collect();
        let rest: Vec<&(u64, String)> =
            more.iter().map(|(_, seen)| *seen).chain(self.beyond.as_ref()).collect();
        if let Some((_, first)) = rest.first() {
            let least = if self.beyond.is_some() { "at least " } else { "" };
            let message = format!(
                "and {least}{} more actions that no condition of the policy names (is the right column mapped to `action`?)",
                more.len()
            );
            list.push(oddity(rest.iter().map(|(count, _)| count).sum(), first, message));
        }
        list
    }

    fn message(&self, action: &str) -> String {
        let short: String = action.chars().take(LETTERS).collect();
        let hint = match self.named.iter().find(|named| named.to_lowercase() == action.to_lowercase()) {
            Some(named) => format!(" (it names `{named}`: upper and lower case differ)"),
            None => nearest(action, self.named.iter().map(String::as_str))
                .map(|near| format!(" (did you mean `{near}`?)"))
                .unwrap_or_default(),
        };
        format!(
            "no condition of the policy names the action `{short}`{hint}: only what asks for no action looks at it"
        )
    }
}

fn oddity(count: u64, first: &str, message: String) -> Oddity {
    Oddity { kind: "unknown_action", count, first: first.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(actions: &[&str]) -> Vec<(u64, String, String)> {
        let mut unheeded = Unheeded::default();
        unheeded.name(vec!["like".to_owned(), "follow".to_owned()]);
        for (line, action) in (1..).zip(actions) {
            unheeded.note(action, &|| line.to_string());
        }
        let told = unheeded.told().into_iter();
        told.map(|odd| (odd.count, odd.first, odd.message)).collect()
    }

    #[test]
    fn what_differs_in_case_alone_is_told_as_such() {
        let told = told(&["like", "Like", "folow", "Like", "view"]);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(
            told[0].0 == 2 && told[0].1 == "2" && told[0].2.contains("it names `like`: upper"),
            "{told:?}"
        );
        assert!(
            told[1].0 == 1 && told[1].1 == "3" && told[1].2.contains("did you mean `follow`?"),
            "{told:?}"
        );
        assert!(told[2].2.contains("names the action `view`: only"), "{told:?}");
    }

    /// 1,000 are counted one by one, five of them told; seven more are of actions beyond.
    #[test]
    fn a_column_of_ids_is_told_in_a_few_lines() {
        let ids: Vec<String> = (0..1007).map(|id| format!("id-{id:04}")).collect();
        let told = told(&ids.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(told.len(), 6, "{told:?}");
        assert_eq!((told[5].0, told[5].1.as_str()), (1002, "6"));
        assert!(told[5].2.starts_with("and at least 995 more actions"), "{told:?}");
    }

    #[test]
    fn a_policy_that_asks_for_no_action_misses_none() {
        let mut unheeded = Unheeded::default();
        unheeded.note("x", &|| "1".to_owned());
        assert_eq!(unheeded.told(), []);
    }
}
