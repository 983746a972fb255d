//! The six answers, in order of strength.

use std::fmt;
use std::str::FromStr;

/// What weir says about an event, weakest first. The order is the order of strength.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Let it through and count it.
    #[default]
    Allow,
    /// Keep it, but do not count it until it is confirmed.
    Demote,
    /// Ask for proof (captcha, second factor).
    Challenge,
    /// Wait for a person, with a timeout and a stated default.
    Hold,
    /// Refuse this event; `retry_after` says until when, where it is a matter of time.
    Reject,
    /// The entity is banned.
    Block,
}

impl Verdict {
    /// All of them, weakest first.
    pub const ALL: [Verdict; 6] =
        [Verdict::Allow, Verdict::Demote, Verdict::Challenge, Verdict::Hold, Verdict::Reject, Verdict::Block];

    /// The name used on the wire and in policies.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Demote => "demote",
            Verdict::Challenge => "challenge",
            Verdict::Hold => "hold",
            Verdict::Reject => "reject",
            Verdict::Block => "block",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Verdict {
    type Err = UnknownVerdict;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Verdict::ALL.into_iter().find(|v| v.name() == text).ok_or_else(|| UnknownVerdict(text.to_owned()))
    }
}

/// A word that is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown verdict `{0}`; known are allow, demote, challenge, hold, reject, block")]
pub struct UnknownVerdict(pub String);
