//! Who there is: accounts with their age, plan, name, devices and ways in, honest ones and those that somebody bought.
//!
//! What is measured and what is chosen:
//! - *Age.* Of ordinary follows on a public network 21 % come from accounts younger than seven days. Here one in five
//!   of the active accounts is that young, two in five of these from one sign-up wave. Older ages are log-normal around
//!   500 days (a choice).
//! - *People behind an address.* Lomax with shape 2 and scale 2.4, fitted to how many clicks came from one address in
//!   a sample of 100,000 (TalkingData): half have one, 4 % ten or more, 0.07 % a hundred or more. What has six or more
//!   is an organisation's exit, the rest are homes. A quarter of the accounts, and many at other times, come through
//!   one of four carriers, whose exits are as unequal; a few through commercial VPNs.
//! - *Devices.* By their share of the market. One account in four has two; in one home of ten somebody borrows
//!   another's; a quarter of the organisations hand out one image. One account in 250 uses a hardened browser, which
//!   looks the same for all and changes its exit.
//! - *Days.* On how many days an account was active: few for most, as in public activity streams.

use std::collections::BTreeSet;

use super::super::device::{Device, Maker};
use super::super::dice::{Dice, Stream, Weights, mix};
use super::super::event::Truth;
use super::names::{self, Habit};
use super::network::{Class, Line, Registry};
use super::{DAY, HOUR, NEW, Stretch};

/// Where somebody comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Way {
    /// Always the same line.
    Fixed(Line),
    /// Any exit of a carrier or VPN, another one each time.
    Pool(u16),
    /// A home whose provider gives it another address every day.
    Daily(u64),
}

/// In what a scenario's people differ from those of other scenarios.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Shape {
    /// Share of accounts that are new at any time.
    pub(in crate::sim) young: f64,
    /// Share of accounts that are always on a carrier.
    pub(in crate::sim) on_carrier: f64,
    /// People behind an exit of a carrier, on average.
    pub(in crate::sim) behind_exit: f64,
}

impl Shape {
    /// As most platforms are.
    pub(in crate::sim) const USUAL: Shape = Shape { young: 0.2, on_carrier: 0.25, behind_exit: 5.0 };
}

/// One account.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Member {
    pub(in crate::sim) created_at: i64,
    pub(in crate::sim) plan: &'static str,
    pub(in crate::sim) name: Box<str>,
    pub(in crate::sim) avatar: u64,
    /// Days it was active on before the start.
    pub(in crate::sim) days: u16,
    /// Numbers of its devices; twice the same when it has one.
    pub(in crate::sim) devices: [u32; 2],
    pub(in crate::sim) ways: [Way; 2],
    pub(in crate::sim) truth: Truth,
    /// From when the truth holds; before, the account is in honest hands. The epoch when it always does.
    pub(in crate::sim) from: i64,
}

/// Exits that many share, some more than others.
struct Pool {
    exits: Vec<Line>,
    weights: Weights,
}

/// All accounts and devices; numbers are indices.
pub(in crate::sim) struct People {
    pub(in crate::sim) members: Vec<Member>,
    pub(in crate::sim) devices: Vec<Device>,
    pub(in crate::sim) maker: Maker,
    pub(in crate::sim) lines: Registry,
    /// Honest accounts of the background: they own what is acted on.
    pub(in crate::sim) settled: u32,
    /// Devices that admit to be driven by a program.
    pub(in crate::sim) automated: BTreeSet<u32>,
    pools: Vec<Pool>,
    shape: Shape,
    stretch: Stretch,
}

/// Carriers, then VPNs.
const CARRIERS: u16 = 4;
const VPNS: u16 = 2;
/// Share of accounts on a VPN.
const ON_VPN: f64 = 0.025;
/// Share of accounts with the hardened browser.
const HARDENED: f64 = 0.004;
/// Share of homes that get another address every day.
const DAILY: f64 = 0.3;
/// Share of devices of honest people that a program drives: testers, the disabled, the curious.
const AUTOMATED: f64 = 0.0005;
/// People behind an address: scale and shape.
const BEHIND: (f64, f64) = (2.4, 2.0);
/// More people than these are no home.
const HOME_MAX: u32 = 5;

impl People {
    /// `n` honest accounts that are active in the stretch.
    pub(in crate::sim) fn honest(n: u32, shape: Shape, seed: u64, stretch: Stretch) -> Self {
        let mut dice = Dice::new(seed, Stream::People);
        let mut all = Self {
            members: Vec::new(),
            devices: Vec::new(),
            maker: Maker::new(),
            lines: Registry::new(seed),
            settled: n.max(1),
            automated: BTreeSet::new(),
            pools: Vec::new(),
            shape,
            stretch,
        };
        let exits = (f64::from(n) * shape.on_carrier / f64::from(CARRIERS) / shape.behind_exit) as u32;
        for _ in 0..CARRIERS {
            all.pool(exits, Class::Mobile, &mut dice);
        }
        for _ in 0..VPNS {
            all.pool(n / 1500 + 3, Class::Hosting, &mut dice);
        }
        let hardened = all.hardened(&mut dice);
        let on_carrier = shape.on_carrier;
        while (all.members.len() as u32) < n {
            match dice.unit() {
                p if p < on_carrier => all.roamer(dice.below(CARRIERS.into()) as u16, &mut dice),
                p if p < on_carrier + ON_VPN => {
                    all.roamer(CARRIERS + dice.below(VPNS.into()) as u16, &mut dice)
                }
                p if p < on_carrier + ON_VPN + HARDENED => all.private(&hardened, &mut dice),
                _ => all.line(n, &mut dice),
            }
        }
        all
    }

    /// Exits of a carrier or VPN, some with hundreds of people.
    pub(in crate::sim) fn pool(&mut self, exits: u32, class: Class, dice: &mut Dice) -> u16 {
        let exits: Vec<Line> = (0..exits.max(2)).map(|_| self.lines.v4(class)).collect();
        let weights = Weights::new(
            exits.iter().map(|_| 1 + (dice.lomax(BEHIND.0, BEHIND.1).min(600.0) * 100.0) as u64),
        );
        self.pools.push(Pool { exits, weights });
        (self.pools.len() - 1) as u16
    }

    /// Any of the carriers.
    pub(in crate::sim) fn carrier(&self, dice: &mut Dice) -> Way {
        Way::Pool(dice.below(CARRIERS.into()) as u16)
    }

    /// Where somebody who comes this way is seen now.
    pub(in crate::sim) fn seen(&self, way: Way, at: i64, dice: &mut Dice) -> std::net::IpAddr {
        match way {
            Way::Daily(home) => self.lines.of_the_day(home, at.div_euclid(DAY)).address(dice),
            Way::Fixed(line) => line.address(dice),
            Way::Pool(pool) => {
                let pool = &self.pools[usize::from(pool)];
                pool.exits[dice.index(&pool.weights)].address(dice)
            }
        }
    }

    /// The people behind one line: a home or an organisation.
    fn line(&mut self, n: u32, dice: &mut Dice) {
        let most = (n / 25).clamp(2, 900);
        let size = (dice.lomax(BEHIND.0, BEHIND.1) as u32 + 1).min(most);
        let size = size.min(n - self.members.len() as u32);
        match size > HOME_MAX {
            true => self.organisation(size, dice),
            false => self.home(size, dice),
        }
    }

    fn home(&mut self, size: u32, dice: &mut Dice) {
        let line = match dice.unit() {
            ..0.38 => Way::Fixed(self.lines.v6(Class::Home)),
            p if p < 0.38 + DAILY * 0.62 => Way::Daily(dice.bits()),
            _ => Way::Fixed(self.lines.v4(Class::Home)),
        };
        for person in 0..size {
            let mobile = self.carrier(dice);
            let second = if dice.chance(0.5) { mobile } else { line };
            let lent = self.members.last().map(|member| member.devices);
            let devices = match lent {
                Some(devices) if person > 0 && dice.chance(0.1) => devices,
                _ => self.own(dice),
            };
            self.add(devices, [line, second], dice);
        }
    }

    fn organisation(&mut self, size: u32, dice: &mut Dice) {
        let line = Way::Fixed(self.lines.v4(Class::Organisation));
        let (model, locale) = (self.maker.desktop_model(dice), self.maker.locale(dice));
        let image = dice.chance(0.25).then(|| self.maker.make(dice, model, locale));
        for _ in 0..size {
            let devices = match &image {
                Some(image) if dice.chance(0.6) => {
                    let copy = self.maker.copy(dice, image);
                    let number = self.device(copy);
                    [number, number]
                }
                _ => self.own(dice),
            };
            let mobile = self.carrier(dice);
            self.add(devices, [line, if dice.chance(0.4) { mobile } else { line }], dice);
        }
    }

    /// Somebody on a carrier or VPN, with an address from it at each visit.
    fn roamer(&mut self, pool: u16, dice: &mut Dice) {
        let way = match dice.chance(0.25) && pool < CARRIERS {
            true => Way::Fixed(self.lines.v6(Class::Mobile)),
            false => Way::Pool(pool),
        };
        let devices = self.own(dice);
        self.add(devices, [way, way], dice);
    }

    /// Somebody with the hardened browser.
    fn private(&mut self, image: &Device, dice: &mut Dice) {
        let copy = self.maker.copy(dice, image);
        let number = self.device(copy);
        let way = Way::Pool(CARRIERS + dice.below(VPNS.into()) as u16);
        self.add([number, number], [way, way], dice);
    }

    fn hardened(&mut self, dice: &mut Dice) -> Device {
        let (model, locale) = (self.maker.desktop_model(dice), self.maker.locale(dice));
        self.maker.make(dice, model, locale)
    }

    /// One or two devices from the market.
    pub(in crate::sim) fn own(&mut self, dice: &mut Dice) -> [u32; 2] {
        let locale = self.maker.locale(dice);
        let device = self.maker.any(dice, locale);
        let first = self.device(device);
        if dice.chance(AUTOMATED) {
            self.automated.insert(first);
        }
        if !dice.chance(0.25) {
            return [first, first];
        }
        let device = self.maker.any(dice, locale);
        [first, self.device(device)]
    }

    /// Takes a device in.
    pub(in crate::sim) fn device(&mut self, device: Device) -> u32 {
        self.devices.push(device);
        (self.devices.len() - 1) as u32
    }

    fn add(&mut self, devices: [u32; 2], ways: [Way; 2], dice: &mut Dice) {
        let created_at = self.honest_birth(dice);
        self.person(created_at, devices, ways, dice);
    }

    /// An honest account, registered at `created_at`.
    pub(in crate::sim) fn person(
        &mut self,
        created_at: i64,
        devices: [u32; 2],
        ways: [Way; 2],
        dice: &mut Dice,
    ) -> u32 {
        let old = self.stretch.start - created_at >= NEW;
        let plan = match dice.below(1000) {
            0..90 if old => "pro",
            90..120 if old => "business",
            _ => "free",
        };
        let name = names::nickname(dice, Habit::Ordinary);
        let avatar = names::avatar(dice, 0.4, None);
        let days = self.days(created_at, dice);
        let (truth, from) = (Truth::Honest, 0);
        self.push(Member { created_at, plan, name, avatar, days, devices, ways, truth, from })
    }

    /// Adds an account; its number is an index.
    pub(in crate::sim) fn push(&mut self, member: Member) -> u32 {
        self.members.push(member);
        (self.members.len() - 1) as u32
    }

    /// Days of activity of an account of this age: few for most, most days for some.
    pub(in crate::sim) fn days(&self, created_at: i64, dice: &mut Dice) -> u16 {
        let age = ((self.stretch.start - created_at) / DAY).clamp(0, 4_000) as f64;
        let share = libm::pow(dice.unit(), 3.0);
        (1.0 + age * share) as u16
    }

    /// When an honest account that is active in the stretch was registered.
    pub(in crate::sim) fn honest_birth(&self, dice: &mut Dice) -> i64 {
        let Stretch { start, end } = self.stretch;
        let meanwhile = self.shape.young * (end - start) as f64 / NEW as f64;
        match dice.unit() {
            p if p < meanwhile.min(0.3) => start + dice.below_i64(end - start),
            p if p < meanwhile.min(0.3) + self.shape.young * 0.4 => {
                start - 3 * DAY + dice.below_i64(14 * HOUR)
            }
            p if p < meanwhile.min(0.3) + self.shape.young => start - dice.below_i64(NEW),
            _ => start - (dice.lognormal(500.0, 1.2).clamp(7.0, 4_400.0) * DAY as f64) as i64,
        }
    }

    /// Age in days of an account that has been there for a while.
    pub(in crate::sim) fn old_age(dice: &mut Dice) -> f64 {
        dice.lognormal(500.0, 1.2).clamp(40.0, 4_400.0)
    }
}

/// The id of an account: nothing in it tells when or why it was made.
pub(in crate::sim) fn id(seed: u64, account: u32) -> u64 {
    mix(seed ^ 0x7573_6572, u64::from(account)) & 0xffff_ffff_ffff
}
