//! How accounts are got: registered in bulk, bought old, behind exits that are bought too, on copied devices.
//!
//! Everything is drawn by the generators that honest people use; what differs is how alike the draws are.

use super::super::dice::Dice;
use super::super::event::Truth;
use super::super::world::names::{self, Habit};
use super::super::world::people::{Member, People, Way};
use super::super::world::{DAY, MINUTE, Stretch};
use super::setting::Setting;

/// When accounts were registered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Age {
    /// In `batches` sittings of 20 minutes within the days from `oldest` to `youngest` before the start.
    Bulk { batches: u32, oldest: f64, youngest: f64 },
    /// As honest accounts are.
    Old,
}

/// What they act from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kit {
    /// Copies of one device, `least` to `most` attributes of which are another's of the same model.
    Copies { least: u32, most: u32 },
    /// Whatever the market has.
    Own,
}

/// Where they come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exit {
    /// One bought exit each.
    Each,
    /// All of these: any exit of a bought pool, another one each time.
    Shared(u16),
}

/// What is ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) age: Age,
    pub(super) kit: Kit,
    pub(super) exit: Exit,
    pub(super) names: Habit,
    /// Share of the accounts that were used before as honest ones are; the others have one or two active days.
    pub(super) used: f64,
}

/// Gets `n` accounts of a campaign; their numbers follow one another from the first.
pub(super) fn recruit(setting: &mut Setting, truth: Truth, n: u32, order: &Order) -> std::ops::Range<u32> {
    let stretch = setting.stretch();
    let (people, dice) = setting.people_and_dice();
    let first = people.members.len() as u32;
    let births = births(order.age, stretch, dice);
    let (model, locale) = (people.maker.desktop_model(dice), people.maker.locale(dice));
    let image = people.maker.make(dice, model, locale);
    let pictures = dice.bits();
    for _ in 0..n {
        let devices = match order.kit {
            Kit::Own => people.own(dice),
            Kit::Copies { least, most } => {
                let changes = dice.between(least, most);
                let device = people.maker.disguise(dice, (model, locale), &image, changes);
                let number = people.device(device);
                [number, number]
            }
        };
        let way = match order.exit {
            Exit::Each => Way::Fixed(people.lines.proxy(dice)),
            Exit::Shared(pool) => Way::Pool(pool),
        };
        let created_at = births(dice);
        let member = member(people, dice, (order, created_at, pictures), devices, way, truth);
        people.push(member);
    }
    (0..n).for_each(|_| setting.enlist(truth));
    first..first + n
}

fn member(
    people: &People,
    dice: &mut Dice,
    (order, created_at, pictures): (&Order, i64, u64),
    devices: [u32; 2],
    way: Way,
    truth: Truth,
) -> Member {
    let used = dice.chance(order.used);
    let days = if used { people.days(created_at, dice) } else { 1 + dice.below(2) as u16 };
    let name = names::nickname(dice, order.names);
    let avatar = match order.names {
        Habit::Ordinary => names::avatar(dice, 0.4, None),
        Habit::Bulk => names::avatar(dice, 0.6, Some(pictures)),
    };
    Member { created_at, plan: "free", name, avatar, days, devices, ways: [way, way], truth, from: 0 }
}

fn births(age: Age, stretch: Stretch, dice: &mut Dice) -> impl Fn(&mut Dice) -> i64 + use<> {
    let batches: Vec<i64> = match age {
        Age::Old => Vec::new(),
        Age::Bulk { batches, oldest, youngest } => {
            let span = ((oldest - youngest) * DAY as f64) as i64 - 20 * MINUTE;
            let oldest = stretch.start - (oldest * DAY as f64) as i64;
            (0..batches.max(1)).map(|_| oldest + dice.below_i64(span)).collect()
        }
    };
    move |dice: &mut Dice| match batches.is_empty() {
        true => stretch.start - (People::old_age(dice) * DAY as f64) as i64,
        false => *dice.pick(&batches) + dice.below_i64(20 * MINUTE),
    }
}
