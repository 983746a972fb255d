//! How accounts are got: registered in bulk, bought old, behind exits that are bought too, on copied devices.
//!
//! Everything is drawn by the generators that honest people use; what differs is how alike the draws are.

use std::ops::Range;

use super::super::dice::Dice;
use super::super::event::Truth;
use super::super::world::names::{self, Habit};
use super::super::world::network::Class;
use super::super::world::people::{Member, People, Way};
use super::super::world::{DAY, MINUTE, Stretch};
use super::setting::Setting;

/// When accounts were registered: in `batches` sittings of 20 minutes within the days from `oldest` to `youngest`
/// before the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bulk {
    pub(super) batches: u32,
    pub(super) oldest: f64,
    pub(super) youngest: f64,
}

/// What they act from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Devices {
    /// Copies of a desktop computer in which `least` to `most` attributes are another's of the same model.
    Copies { least: u32, most: u32 },
    /// Copies of `images` devices, desktops or phones, changed likewise.
    Various { images: u32, least: u32, most: u32 },
    /// Whatever the market has.
    Own,
}

/// Where they come from, one exit each.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exits {
    /// Proxies all over the world.
    World,
    /// Homes of the home country, rented out by those who live there.
    Homes,
    /// As people do: homes, of which some change their address daily.
    Ordinary,
}

/// What is ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    /// Share of the accounts that were registered in bulk, and when; the others are as old as honest ones.
    pub(super) bulk: (f64, Bulk),
    pub(super) devices: Devices,
    pub(super) exits: Exits,
    pub(super) names: Habit,
    /// Share of the accounts that were used before as honest ones are; the others have one or two active days.
    pub(super) used: f64,
}

/// 3,000 of these made the incident: new, nearly equal, one proxy each.
pub(super) const FRESH: Order = Order {
    bulk: (1.0, Bulk { batches: 40, oldest: 6.8, youngest: 0.5 }),
    devices: Devices::Copies { least: 1, most: 2 },
    exits: Exits::World,
    names: Habit::Bulk,
    used: 0.0,
};

/// Gets `n` accounts of a campaign; their numbers follow one another.
pub(super) fn recruit(setting: &mut Setting, truth: Truth, n: u32, order: &Order) -> Range<u32> {
    let stretch = setting.stretch();
    let (people, dice) = setting.people_and_dice();
    let first = people.members.len() as u32;
    let batches = batches(order.bulk.1, stretch, dice);
    let images = images(order.devices, people, dice);
    let pictures = dice.bits();
    for _ in 0..n {
        let created_at = match dice.chance(order.bulk.0) {
            true => *dice.pick(&batches) + dice.below_i64(20 * MINUTE),
            false => stretch.start - (People::old_age(dice) * DAY as f64) as i64,
        };
        let devices = images(people, dice);
        let way = way(order.exits, people, dice);
        let used = dice.chance(order.used);
        let days = if used { people.days(created_at, dice) } else { 1 + dice.below(2) as u16 };
        let name = names::nickname(dice, order.names);
        let avatar = match order.names {
            Habit::Ordinary => names::avatar(dice, 0.4, None),
            Habit::Bulk => names::avatar(dice, 0.6, Some(pictures)),
        };
        people.push(Member {
            created_at,
            plan: "free",
            name,
            avatar,
            days,
            devices,
            ways: [way, way],
            truth,
            from: 0,
        });
    }
    setting.enlist(truth, n);
    first..first + n
}

/// An exit for one account. Of homes, one in 25 is that of somebody who is here, too: people rent out their lines
/// without knowing it.
pub(super) fn way(exits: Exits, people: &mut People, dice: &mut Dice) -> Way {
    let rented = !matches!(exits, Exits::World) && dice.chance(0.04);
    let host = people.members[dice.below(people.settled) as usize].ways[0];
    if rented && matches!(host, Way::Fixed(_)) {
        return host;
    }
    match exits {
        Exits::World => Way::Fixed(people.lines.proxy(dice)),
        Exits::Homes => Way::Fixed(people.lines.v4(Class::Home)),
        Exits::Ordinary if dice.chance(0.4) => Way::Daily(dice.bits()),
        Exits::Ordinary if dice.chance(0.4) => Way::Fixed(people.lines.v6(Class::Home)),
        Exits::Ordinary => Way::Fixed(people.lines.v4(Class::Home)),
    }
}

fn batches(bulk: Bulk, stretch: Stretch, dice: &mut Dice) -> Vec<i64> {
    let span = ((bulk.oldest - bulk.youngest) * DAY as f64) as i64 - 20 * MINUTE;
    let oldest = stretch.start - (bulk.oldest * DAY as f64) as i64;
    (0..bulk.batches.max(1)).map(|_| oldest + dice.below_i64(span)).collect()
}

/// What gives a device to one account after the other.
fn images(
    devices: Devices,
    people: &mut People,
    dice: &mut Dice,
) -> impl Fn(&mut People, &mut Dice) -> [u32; 2] + use<> {
    let (images, least, most) = match devices {
        Devices::Own => (0, 0, 0),
        Devices::Copies { least, most } => (1, least, most),
        Devices::Various { images, least, most } => (images, least, most),
    };
    let kinds: Vec<_> = (0..images)
        .map(|_| {
            let model = match devices {
                Devices::Various { .. } => people.maker.varied_model(dice),
                _ => people.maker.desktop_model(dice),
            };
            let locale = people.maker.locale(dice);
            (model, locale, people.maker.make(dice, model, locale))
        })
        .collect();
    move |people, dice| {
        if kinds.is_empty() {
            return people.own(dice);
        }
        let (model, locale, image) = dice.pick(&kinds);
        let changes = dice.between(least, most);
        let device = people.maker.disguise(dice, (model, *locale), image, changes);
        let number = people.device(device);
        [number, number]
    }
}
