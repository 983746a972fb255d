//! An event as a line of JSON, with the fields of the interaction contract and nothing that tells the truth.
//!
//! One writer serves everybody, so that no form gives anybody away. What is the same in all events of a device is
//! written once.

use serde::Serialize;
use serde_json::value::RawValue;

use super::act::outbox::{Draft, Object};
use super::device::Device;
use super::dice::mix;
use super::event::Action;
use super::world::people::{self, Member};
use super::world::{DAY, World};

/// Turns drafts into lines.
pub(super) struct Scribe {
    devices: Vec<Box<RawValue>>,
}

impl Scribe {
    pub(super) fn new(world: &World) -> Self {
        let people = &world.people;
        let json = |(device, number)| {
            let shown = Shown { device, webdriver: people.automated.contains(&number) };
            serde_json::value::to_raw_value(&shown).expect("its keys are text")
        };
        Self { devices: people.devices.iter().zip(0..).map(json).collect() }
    }

    /// Appends an event to `to` as one JSON object, without a line end.
    pub(super) fn write(&self, world: &World, draft: &Draft, to: &mut Vec<u8>) {
        let object = Names::of(world, draft.object);
        let member = &world.people.members[draft.account as usize];
        let signing_up = draft.action == Action::SignUp;
        let device = draft.device as usize;
        let record = Record {
            event_id: &event_id(world.seed, draft.number),
            occurred_at: draft.at,
            append_time: draft.append,
            action: draft.action,
            user_id: (!signing_up).then(|| user_id(world.seed, draft.account)),
            target_id: object.target,
            target_owner_id: object.owner,
            ip: draft.ip,
            device: &self.devices[device],
            account: (!signing_up).then(|| Registration::of(world, member, draft.at)),
            user_agent: &world.people.devices[device].user_agent,
            session_id: &format!("s{:012x}", draft.session),
            outcome: draft.success.map(|ok| if ok { "success" } else { "failure" }),
            content_hash: draft.text.map(|text| format!("{:016x}", mix(0x7465_7874, text))),
            attributes: attributes(draft),
        };
        serde_json::to_writer(to, &record).expect("a vector takes all bytes, and the keys are text");
    }
}

/// The id of an event; a retry has the number of the first sending.
pub(super) fn event_id(seed: u64, number: u64) -> String {
    format!("e{:016x}", mix(seed ^ 0x6576, number))
}

/// The id of an account.
pub(super) fn user_id(seed: u64, account: u32) -> String {
    format!("u{:012x}", people::id(seed, account))
}

/// The id of what is acted on, if it has one.
pub(super) fn target_id(world: &World, object: Object) -> Option<String> {
    match object {
        Object::Nothing => None,
        Object::Article(article) => Some(format!("a{:010x}", world.articles.id(article))),
        Object::Account(account) => Some(user_id(world.seed, account)),
    }
}

struct Names {
    target: Option<String>,
    owner: Option<String>,
}

impl Names {
    fn of(world: &World, object: Object) -> Self {
        let owner = match object {
            Object::Nothing => None,
            Object::Article(article) => Some(user_id(world.seed, world.owner(article))),
            Object::Account(account) => Some(user_id(world.seed, account)),
        };
        Names { target: target_id(world, object), owner }
    }
}

fn attributes(draft: &Draft) -> Option<Attributes> {
    let detail = draft.detail?;
    Some(match draft.action {
        Action::CouponClaim => {
            let code = mix(0x636f_7570, detail) & 0xff_ffff_ffff;
            Attributes { coupon: Some(format!("{code:010X}")), password_tag: None }
        }
        _ => Attributes { coupon: None, password_tag: Some(format!("{:012x}", mix(0x7077, detail) >> 16)) },
    })
}

/// A device, and whether its browser says that a program drives it.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    device: &'a Device,
    webdriver: bool,
}

/// The interaction as the contract names its fields.
#[derive(Serialize)]
struct Record<'a> {
    event_id: &'a str,
    occurred_at: i64,
    append_time: i64,
    action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_owner_id: Option<String>,
    ip: std::net::IpAddr,
    device: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<Registration<'a>>,
    user_agent: &'a str,
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Attributes>,
}

#[derive(Serialize)]
struct Registration<'a> {
    created_at: i64,
    plan: &'static str,
    active_days: i64,
    nickname: &'a str,
    avatar_hash: String,
}

impl<'a> Registration<'a> {
    fn of(world: &World, member: &'a Member, at: i64) -> Self {
        let since = (at - member.created_at.max(world.stretch.start)).max(0) / DAY;
        Self {
            created_at: member.created_at,
            plan: member.plan,
            active_days: i64::from(member.days) + since / 2,
            nickname: &member.name,
            avatar_hash: format!("{:016x}", member.avatar),
        }
    }
}

#[derive(Serialize)]
struct Attributes {
    #[serde(skip_serializing_if = "Option::is_none")]
    coupon: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password_tag: Option<String>,
}
