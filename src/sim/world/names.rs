//! What accounts call themselves, and the pictures they show.
//!
//! Nicknames come in a few habits: a first and a last name, a name with a year or number, two words, a word with
//! digits. Four accounts in ten keep one of the default pictures. Both are choices; a farm's bulk names are one of the
//! habits of honest people, too, only more often.

use super::super::dice::Dice;

const FIRST: [&str; 40] = [
    "anna", "ben", "clara", "david", "emma", "felix", "greta", "hannes", "ida", "jonas", "katrin", "lukas",
    "mia", "niklas", "olga", "paul", "rosa", "simon", "tina", "urs", "vera", "willi", "yusuf", "zoe", "leon",
    "marie", "tom", "lena", "max", "sofia", "tim", "julia", "erik", "nina", "jan", "sara", "ali", "eva",
    "kai", "lara",
];
const LAST: [&str; 32] = [
    "weber", "klein", "wolf", "braun", "hofer", "lang", "koch", "richter", "bauer", "huber", "gruber",
    "kaya", "yilmaz", "nowak", "frank", "berger", "vogel", "schuster", "keller", "brandt", "sommer",
    "winter", "stein", "busch", "roth", "jung", "otto", "seidel", "arnold", "pohl", "graf", "ernst",
];
const WORD: [&str; 40] = [
    "sunny", "river", "pixel", "night", "coffee", "mountain", "fox", "lazy", "blue", "rocket", "cloud",
    "garden", "retro", "silent", "happy", "storm", "vinyl", "ocean", "tiny", "golden", "wild", "paper",
    "north", "echo", "green", "magic", "turbo", "velvet", "cosmic", "iron", "honey", "neon", "panda",
    "tiger", "raven", "maple", "lemon", "frost", "delta", "nova",
];
/// Pictures that an account has until its owner sets one.
const DEFAULT_AVATARS: u64 = 8;

/// How somebody arrives at a nickname.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Habit {
    /// As people do.
    Ordinary,
    /// First name and four or five digits, as a script that registers in bulk does.
    Bulk,
}

/// A nickname.
pub(in crate::sim) fn nickname(dice: &mut Dice, habit: Habit) -> Box<str> {
    let first = *dice.pick(&FIRST);
    let name = match (habit, dice.below(100)) {
        (Habit::Bulk, _) | (_, 90..) => format!("{first}{}", dice.between(1_000, 99_999)),
        (_, 0..25) => format!("{first}.{}", dice.pick(&LAST)),
        (_, 25..45) => format!("{first}_{}{}", dice.pick(&LAST), dice.between(1, 99)),
        (_, 45..60) => format!("{first}{}", dice.between(1955, 2011)),
        (_, 60..78) => format!("{}{}", dice.pick(&WORD), dice.pick(&WORD)),
        _ => format!("{}{}{}", dice.pick(&WORD), dice.pick(&LAST), dice.below(1000)),
    };
    name.into()
}

/// Hash of the picture: a default one with probability `default`, else one of `pool`, or nobody else's.
pub(in crate::sim) fn avatar(dice: &mut Dice, default: f64, pool: Option<u64>) -> u64 {
    let own = dice.bits();
    if dice.chance(default) {
        return super::super::dice::mix(0xa7a7, own % DEFAULT_AVATARS);
    }
    pool.map_or(own, |pool| super::super::dice::mix(pool, own % 200))
}
