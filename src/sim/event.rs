//! What is done, and what whoever does it is in truth.

use serde::Serialize;

/// What an account is in truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// A person.
    Honest,
    /// One of a campaign's accounts.
    Attacker {
        /// Index into the campaigns of the simulation.
        campaign: u32,
    },
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Opens an article.
    View,
    /// Likes it.
    Like,
    /// Takes a like back.
    Unlike,
    /// Writes under it.
    Comment,
    /// Passes it on.
    Share,
    /// Follows a person.
    Follow,
    /// Writes to another account.
    Message,
    /// Claims a coupon.
    CouponClaim,
    /// Logs in, or fails to.
    Login,
    /// Registers; there is no user id yet.
    SignUp,
}
