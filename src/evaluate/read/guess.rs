//! Which column of a stranger's table is which field, by its name and by what stands in it.
//!
//! The first rows are looked at. A column gets points for its name (a word that people use for the field) and for its
//! values (addresses that are addresses, times that are times, ids that repeat as ids do); the best pairs win, each column
//! and each field once. What is not certain is told as such: whoever knows the table decides.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read};
use std::net::IpAddr;

use serde::Serialize;

use super::csv::Csv;
use super::moment::moment;
use super::source::unpacked;

/// Rows that are looked at.
pub const ROWS: usize = 2000;
/// In so many rows ids are more than a few.
const MANY_ROWS: usize = 100;
const FEW_IDS: usize = 5;
/// Actions that a column of actions has at most.
const ACTIONS_MAX: usize = 40;
/// A pair with fewer points is not guessed.
const LEAST: i32 = 4;
/// A pair with so many is told as certain.
const SURE: i32 = 7;

/// What was guessed of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Guess {
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// Rows that were looked at.
    pub rows: usize,
    /// Rows that could not be read.
    pub damaged: usize,
}

/// One column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The field of an interaction that it seems to be.
    pub field: Option<&'static str>,
    /// It is surely that.
    pub sure: bool,
    /// What its values look like.
    pub looks: String,
}

/// What is counted of a column.
#[derive(Clone, Debug, Default)]
struct Seen {
    filled: usize,
    times: usize,
    /// Whole numbers that would be micro- or nanoseconds; ids of many services are as long.
    long: usize,
    addresses: usize,
    agents: usize,
    truths: usize,
    numbers: usize,
    values: HashSet<String>,
}

/// Fields, the words in column names that speak for them, and how well values must fit.
const FIELDS: [(&str, &[&str]); 12] = [
    (
        "time",
        &[
            "time",
            "timestamp",
            "ts",
            "when",
            "at",
            "occurred",
            "date",
            "datetime",
            "click",
            "submitted",
            "posted",
            "sent",
        ],
    ),
    (
        "user",
        &[
            "user",
            "account",
            "login",
            "member",
            "customer",
            "actor",
            "email",
            "author",
            "from",
            "uid",
            "screen",
            "username",
            "player",
            "who",
            "voter",
            "reviewer",
            "sender",
            "subscriber",
            "visitor",
        ],
    ),
    (
        "target",
        &[
            "target",
            "object",
            "post",
            "item",
            "repo",
            "repository",
            "article",
            "product",
            "url",
            "video",
            "song",
            "channel",
            "app",
            "shared",
            "slug",
            "to",
        ],
    ),
    ("ip", &["ip", "address", "addr", "host", "client", "remote"]),
    ("device", &["device", "fingerprint", "machine", "cookie", "visitor", "hardware", "imei"]),
    ("action", &["action", "event", "verb", "activity", "operation", "method", "kind", "type", "what"]),
    ("event_id", &["event", "id", "uuid", "request", "trace", "record", "row"]),
    ("session", &["session", "sid"]),
    ("user_agent", &["agent", "ua", "browser"]),
    ("created_at", &["created", "registered", "joined", "signup", "since", "birth"]),
    ("plan", &["plan", "tier", "subscription", "membership"]),
    (
        "label",
        &["label", "fraud", "bot", "fake", "attack", "abuse", "suspect", "spam", "truth", "attributed"],
    ),
];

/// Looks at the first rows of a table, plain, gzip or zstd.
///
/// # Errors
/// Reading fails, or there is no line of column names.
pub fn guess(from: Box<dyn Read>, comma: Option<char>) -> io::Result<Guess> {
    let (from, broken) = unpacked(from);
    let mut guess = of_rows(BufReader::new(from), comma)?;
    if guess.columns.is_empty() {
        let why = broken.why().unwrap_or_else(|| "is empty: a line of column names is needed".to_owned());
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    guess.columns.shrink_to_fit();
    Ok(guess)
}

fn of_rows(mut from: impl BufRead, comma: Option<char>) -> io::Result<Guess> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    let begin = from.fill_buf()?;
    if begin.strip_prefix("\u{feff}".as_bytes()).unwrap_or(begin).trim_ascii_start().starts_with(b"{") {
        return refused(
            "holds JSON lines, which need no mapping: give it to `weir backtest --input` as it is",
        );
    }
    let mut csv = match comma {
        Some(comma) => Csv::parted_by(comma, from),
        None => Csv::new(from),
    };
    let head = match csv.next_row()? {
        None => return Ok(Guess::default()),
        Some(head) => head.ok().filter(|head| head.iter().all(|name| !name.contains('\0'))),
    };
    let Some(head) = head else { return refused("its first line is no line of column names in UTF-8") };
    let names: Vec<String> = head.iter().map(str::to_owned).collect();
    let mut seen = vec![Seen::default(); names.len()];
    let (mut rows, mut damaged) = (0, 0);
    while rows + damaged < ROWS
        && let Some(row) = csv.next_row()?
    {
        match row {
            Ok(row) if row.len() == names.len() => {
                rows += 1;
                for (place, seen) in seen.iter_mut().enumerate() {
                    row.get(place).into_iter().for_each(|text| seen.note(text));
                }
            }
            _ => damaged += 1,
        }
    }
    if let Some((name, _)) = names.iter().zip(&seen).find(|(name, seen)| seen.holds_like(name)) {
        let short: String = name.chars().take(40).collect();
        return refused(&format!(
            "its first line holds values as the others do (`{short}`): write a line of column names above it, as in time,user,target"
        ));
    }
    Ok(Guess { columns: assigned(names, &seen, rows), rows, damaged })
}

/// The best pairs of column and field, each once.
fn assigned(names: Vec<String>, seen: &[Seen], rows: usize) -> Vec<Column> {
    let mut pairs: Vec<(i32, usize, usize)> = Vec::new();
    for (place, name) in names.iter().enumerate() {
        for (number, (field, words)) in FIELDS.iter().enumerate() {
            let points = named(name, field, words) + seen[place].fits(field, rows);
            if points >= LEAST {
                pairs.push((points, place, number));
            }
        }
    }
    // Of equals the earlier column, and the field that is asked for first.
    pairs.sort_by_key(|(points, place, number)| (std::cmp::Reverse(*points), *number, *place));
    let looks = seen.iter().map(|seen| seen.looks(rows));
    let mut columns: Vec<Column> = names
        .into_iter()
        .zip(looks)
        .map(|(name, looks)| Column { name, looks, ..Column::default() })
        .collect();
    let mut taken = [false; FIELDS.len()];
    for (points, place, number) in pairs {
        if !taken[number] && columns[place].field.is_none() {
            taken[number] = true;
            (columns[place].field, columns[place].sure) = (Some(FIELDS[number].0), points >= SURE);
        }
    }
    time_at_least(&mut columns, seen);
    ids_at_least(&mut columns, seen, rows);
    columns
}

/// Every event needs a time: where nothing else is one, the time of a registration was that of the event, or else what is
/// written as times are, whatever it is called.
fn time_at_least(columns: &mut [Column], seen: &[Seen]) {
    if columns.iter().any(|column| column.field == Some("time")) {
        return;
    }
    let created = columns.iter().position(|column| column.field == Some("created_at"));
    let written =
        || (0..columns.len()).find(|place| columns[*place].field.is_none() && is_clock(&seen[*place]));
    if let Some(place) = created.or_else(written) {
        (columns[place].field, columns[place].sure) = (Some("time"), false);
    }
}

/// Somebody does something to something: where no name tells who and what, those whose values repeat as ids do, the one with
/// the most values first.
fn ids_at_least(columns: &mut [Column], seen: &[Seen], rows: usize) {
    for field in ["user", "target"] {
        if columns.iter().any(|column| column.field == Some(field)) {
            continue;
        }
        let open =
            (0..columns.len()).filter(|place| columns[*place].field.is_none() && seen[*place].repeats(rows));
        // Of equals the first.
        let most = open.rev().max_by_key(|place| seen[*place].values.len());
        if let Some(place) = most {
            (columns[place].field, columns[place].sure) = (Some(field), false);
        }
    }
}

/// Points for a name: the field's own name, or words that people use for it.
fn named(name: &str, field: &str, words: &[&str]) -> i32 {
    let mut lower = String::new();
    for (place, c) in name.chars().enumerate() {
        // `userId` is `user id`.
        if place > 0 && c.is_uppercase() && name.chars().nth(place - 1).is_some_and(char::is_lowercase) {
            lower.push(' ');
        }
        lower.extend(c.to_lowercase());
    }
    let parts: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let known = |part: &&str| words.contains(part);
    match () {
        () if lower == field => 5,
        () if parts.len() == 1 && known(&parts[0]) => 5,
        () if parts.first().is_some_and(&known) => 4,
        () if parts.iter().any(known) => 3,
        () => 0,
    }
}

impl Seen {
    fn note(&mut self, text: &str) {
        self.filled += 1;
        self.times += usize::from(moment(text).is_ok());
        self.long += usize::from(text.len() >= 15 && text.bytes().all(|byte| byte.is_ascii_digit()));
        self.addresses += usize::from(text.parse::<IpAddr>().is_ok());
        self.agents += usize::from(text.starts_with("Mozilla/") || text.contains("AppleWebKit"));
        self.numbers += usize::from(text.parse::<f64>().is_ok());
        let lower = text.to_ascii_lowercase();
        let truth = ["0", "1", "true", "false", "yes", "no", "attack", "honest", "bot", "human"];
        self.truths += usize::from(truth.contains(&lower.as_str()));
        self.values.insert(lower);
    }

    /// Points for what stands in it, or against it where it cannot be.
    fn fits(&self, field: &str, rows: usize) -> i32 {
        const NEVER: i32 = -100;
        let most = |count: usize| self.filled > 0 && count * 100 >= self.filled * 95;
        let distinct = self.values.len();
        let mostly_filled = self.filled * 2 >= rows.max(1);
        let is_plain = !most(self.addresses) && !most(self.agents);
        match field {
            _ if self.filled == 0 => NEVER,
            "time" if most(self.times) && mostly_filled => 3,
            "created_at" if most(self.times) => 1,
            "ip" if most(self.addresses) => 5,
            "user_agent" if most(self.agents) => 5,
            "time" | "created_at" | "ip" | "user_agent" => NEVER,
            "label" if distinct == 2 && most(self.truths) => 3,
            "label" => NEVER,
            "action" | "plan"
                if distinct > ACTIONS_MAX || !is_plain || most(self.numbers) || most(self.times) =>
            {
                NEVER
            }
            "action" => 2,
            "plan" => 1,
            // One act may be several rows.
            "event_id" if most(self.times) && !most(self.long) => NEVER,
            "event_id" if most(distinct) && self.filled == rows && rows > 1 && is_plain => 2,
            "event_id" => NEVER,
            // A few values in many rows are more likely kinds than things, and what hardly ever comes again is an act.
            "target" if (2..FEW_IDS).contains(&distinct) && rows >= MANY_ROWS && is_plain => -1,
            "target" if most(distinct) && rows >= MANY_ROWS => -1,
            "user" | "target" | "device" | "session" if distinct > 1 && is_plain && !is_clock(self) => 2,
            "user" | "target" | "device" | "session" if rows <= 1 && is_plain => 2,
            _ => NEVER,
        }
    }

    /// Whether what stands in the first line is of the same kind as what stands below it, and a name of no column.
    fn holds_like(&self, first: &str) -> bool {
        let all = |count: usize| count * 100 >= self.filled * 95;
        first.parse::<IpAddr>().is_ok() && all(self.addresses) || moment(first).is_ok() && all(self.times)
    }

    /// Whether values come again as ids do: words, many of them, and fewer than rows.
    fn repeats(&self, rows: usize) -> bool {
        let most = |count: usize| count * 100 >= self.filled * 95;
        let is_word =
            ![self.times, self.addresses, self.agents, self.truths, self.numbers].into_iter().any(most);
        rows >= MANY_ROWS && is_word && (FEW_IDS..self.filled).contains(&self.values.len())
    }

    fn looks(&self, rows: usize) -> String {
        let most = |count: usize| self.filled > 0 && count * 100 >= self.filled * 95;
        let what = match () {
            () if self.filled == 0 => return "empty".to_owned(),
            () if most(self.addresses) => "addresses",
            () if most(self.agents) => "browsers",
            () if most(self.truths) && self.values.len() <= 2 => "yes or no",
            () if most(self.times) => "times or numbers",
            () => "text",
        };
        let empty =
            if self.filled < rows { format!(", {} empty", rows - self.filled) } else { String::new() };
        format!("{what}, {} different{empty}", self.values.len())
    }
}

/// Times as people write them; a plain number may be an id.
fn is_clock(seen: &Seen) -> bool {
    if seen.values.is_empty() {
        return false;
    }
    let written = seen.values.iter().filter(|text| text.contains(':') && moment(text).is_ok()).count();
    written * 100 >= seen.values.len() * 95
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(text: &str) -> Vec<(String, &'static str)> {
        let guess = of_rows(text.as_bytes(), None).expect("memory reads");
        let told = guess.columns.into_iter().filter_map(|column| Some((column.name, column.field?)));
        told.collect()
    }

    #[test]
    fn names_and_values_together_tell() {
        let text = "when,account,object,verb,client_ip,ua\n\
                    2021-08-15T00:00:01Z,ann,p1,like,198.51.100.7,Mozilla/5.0 (X11)\n\
                    2021-08-15T00:00:02Z,bob,p1,like,203.0.113.9,Mozilla/5.0 (Mac)\n\
                    2021-08-15T00:00:03Z,ann,p2,share,198.51.100.7,Mozilla/5.0 (X11)\n";
        let expected = [
            ("when", "time"),
            ("account", "user"),
            ("object", "target"),
            ("verb", "action"),
            ("client_ip", "ip"),
            ("ua", "user_agent"),
        ];
        assert_eq!(guessed(text), expected.map(|(column, field)| (column.to_owned(), field)));
    }

    #[test]
    fn values_speak_where_names_do_not_and_against_names_that_mislead() {
        // `address` holds a street, `x` holds addresses.
        let text =
            "address,x,userId,ts\nHigh Street 1,198.51.100.7,1,1629064892\nHill 2,203.0.113.9,2,1629064893\n";
        let told = guessed(text);
        let field = |column: &str| told.iter().find(|(name, _)| name == column).map(|(_, field)| *field);
        assert_eq!((field("address"), field("x")), (None, Some("ip")));
        assert_eq!((field("userId"), field("ts")), (Some("user"), Some("time")));
    }

    #[test]
    fn the_only_time_is_that_of_the_event() {
        let text = "created,member\n2026-05-04T12:00:01Z,ann\n2026-05-04T12:00:02Z,bob\n";
        assert!(guessed(text).contains(&("created".to_owned(), "time")));
        let both = "created,member,at\n2020-05-04T12:00:01Z,ann,2026-05-04T12:00:01Z\n";
        assert!(guessed(both).contains(&("created".to_owned(), "created_at")));
    }

    #[test]
    fn what_no_name_tells_is_taken_from_what_repeats() {
        let mut text = "logged,member_since,who_did,recipe,channel,stars,locale\n".to_owned();
        for n in 0..300u32 {
            let (second, person, thing) = (n % 60, n * 7 % 90, n * 11 % 40);
            let channel = ["app", "web"][n as usize % 2];
            let locale = ["de-DE", "en-GB", "fr-FR"][n as usize % 3];
            let stars = n % 5;
            text += &format!(
                "2026-03-02 08:00:{second:02},,acc_{person},recipe-{thing},{channel},{stars},{locale}\n"
            );
        }
        let told = guessed(&text.replace("who_did", "cook"));
        let field = |column: &str| told.iter().find(|(name, _)| name == column).map(|(_, field)| *field);
        assert_eq!(
            (field("logged"), field("cook"), field("recipe")),
            (Some("time"), Some("user"), None),
            "{told:?}"
        );
        assert_eq!(field("channel"), Some("target"), "its name speaks for it");
        let told = guessed(&text.replace("who_did", "cook").replace("channel", "origin"));
        assert!(told.contains(&("recipe".to_owned(), "target")), "{told:?}");
        let told = guessed(&text.replace("who_did", "voter").replace(",recipe,", ",recipe_slug,"));
        assert!(told.contains(&("recipe_slug".to_owned(), "target")), "{told:?}");
        assert!(told.contains(&("voter".to_owned(), "user")), "{told:?}");
    }

    #[test]
    fn what_hardly_ever_comes_again_is_an_act_and_no_target() {
        let mut text = "ts,member,post_id,url_id\n".to_owned();
        for n in 0..400u32 {
            // Every fortieth post is two rows, and most name no link.
            let (post, url) =
                (n - u32::from(n % 40 == 1), if n % 4 == 0 { format!("u{}", n % 24) } else { String::new() });
            text += &format!("{},m{},{post},{url}\n", 1_629_064_892 + n, n % 90);
        }
        let expected = [("ts", "time"), ("member", "user"), ("post_id", "event_id"), ("url_id", "target")];
        assert_eq!(guessed(&text), expected.map(|(column, field)| (column.to_owned(), field)));
    }

    #[test]
    fn what_is_no_table_is_told() {
        let why = |bytes: &'static [u8]| of_rows(bytes, None).map_err(|error| error.to_string());
        assert!(
            why(b"{\"event_id\": \"e\", \"action\": 1}\n").is_err_and(|why| why.contains("need no mapping"))
        );
        assert!(why(b"\xef\xbb\xbf{\"event_id\"\n").is_err_and(|why| why.contains("need no mapping")));
        assert!(why(b"\xff\xfea\0b\0\n").is_err_and(|why| why.contains("no line of column names")));
        assert!(
            why(b"1750000000,ann\n1750000001,bob\n")
                .is_err_and(|why| why.contains("(`1750000000`): write a line"))
        );
        assert!(why(b"ann,198.51.100.7\n").is_err_and(|why| why.contains("(`198.51.100.7`): write a line")));
        assert!(why(b"user,2024-05-01,2024-05-02\nann,3,4\n").is_ok(), "counts of days");
        assert!(why(b"a\0,b\n").is_err_and(|why| why.contains("no line of column names")));
    }

    #[test]
    fn a_table_without_rows_or_with_damage_is_no_panic() {
        assert_eq!(guessed("a,b\n"), []);
        assert_eq!(of_rows(&b""[..], None).expect("memory reads"), Guess::default());
        let damaged = of_rows(&b"user,time\nann\nbob,1629064892\n\"x\n"[..], None).expect("memory reads");
        assert_eq!((damaged.rows, damaged.damaged), (1, 2));
    }
}
