//! The nearest of the words that would have been right.

/// The candidate with the fewest edits from `word`, if they are few enough to be a slip of the hand.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| (edits(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "did you mean `x`?", or else the list of what there is when it is short.
pub fn did_you_mean(word: &str, candidates: &[&str]) -> Option<String> {
    match nearest(word, candidates.iter().copied()) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None if candidates.is_empty() || candidates.len() > 12 => None,
        None => Some(format!("known are {}", candidates.join(", "))),
    }
}

/// Insertions, deletions, replacements and swaps of neighbours.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let words = ["event.action", "event.user_id", "account.new"];
        assert_eq!(nearest("event.actoin", words), Some("event.action"));
        assert_eq!(nearest("acount.new", words), Some("account.new"));
        assert_eq!(nearest("weather", words), None);
        assert_eq!(edits("kitten", "sitting"), 3);
    }
}
