//! Devices: twelve fingerprint attributes and a user agent.
//!
//! Equal fingerprints are ordinary for phones and tablets, where one model is one image; desktop computers differ in
//! fonts, canvas and graphics card. In a published sample of real browsers two random devices agree on eight coarse
//! attributes with 5.8 % (see `market`). Ids are unique; nothing here fails.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::dice::{Dice, Weights, scatter};
use super::market::{DESKTOP_GPU, FIRST_DESKTOP, LOCALES, Locale, MARKET, Model, WINDOWS};

/// Names of the fingerprint attributes, in the order of [`Device::attributes`].
pub const ATTRIBUTES: [&str; 12] = [
    "os",
    "browser",
    "screen",
    "gpu",
    "timezone",
    "language",
    "cores",
    "memory",
    "color_depth",
    "touch_points",
    "fonts",
    "canvas",
];

/// One device as its client shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Stable id, unique in the simulation.
    pub id: String,
    /// Fingerprint attributes, named by [`ATTRIBUTES`].
    pub attributes: [Cow<'static, str>; 12],
    /// What the client sends as its user agent.
    pub user_agent: String,
}

impl Device {
    /// In how many attributes the two differ.
    pub fn distance(&self, other: &Device) -> usize {
        self.attributes.iter().zip(&other.attributes).filter(|(a, b)| a != b).count()
    }
}

/// `{"id": ..., "os": ..., ...}`, as in the interaction contract.
impl Serialize for Device {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + ATTRIBUTES.len()))?;
        map.serialize_entry("id", &self.id)?;
        for (name, value) in ATTRIBUTES.iter().zip(&self.attributes) {
            map.serialize_entry(name, value.as_ref())?;
        }
        map.end()
    }
}

/// Where devices come from.
pub(super) struct Maker {
    models: Weights,
    desktops: Weights,
    locales: Weights,
    made: u64,
}

impl Maker {
    pub(super) fn new() -> Self {
        Self {
            models: Weights::new(MARKET.iter().map(|m| m.share)),
            desktops: Weights::new(MARKET[FIRST_DESKTOP..].iter().map(|m| m.share)),
            locales: Weights::new(LOCALES.iter().map(|(weight, _)| *weight)),
            made: 0,
        }
    }

    pub(super) fn locale(&self, dice: &mut Dice) -> Locale {
        LOCALES[dice.index(&self.locales)].1
    }

    /// Any device, by its share of the market.
    pub(super) fn any(&mut self, dice: &mut Dice, locale: Locale) -> Device {
        let model = &MARKET[dice.index(&self.models)];
        self.make(dice, model, locale)
    }

    /// A desktop computer.
    pub(super) fn desktop(&mut self, dice: &mut Dice, locale: Locale) -> Device {
        let model = &MARKET[FIRST_DESKTOP + dice.index(&self.desktops)];
        self.make(dice, model, locale)
    }

    /// The same image under another id: a school lab, a managed company fleet, a copied browser profile.
    pub(super) fn copy(&mut self, dice: &mut Dice, image: &Device) -> Device {
        Device { id: self.fresh_id(dice), ..image.clone() }
    }

    /// A copy in which `changes` attributes differ.
    pub(super) fn near_copy(&mut self, dice: &mut Dice, image: &Device, changes: u32) -> Device {
        let mut copy = self.copy(dice, image);
        while copy.distance(image) < changes as usize {
            let at = dice.below(ATTRIBUTES.len() as u32) as usize;
            copy.attributes[at] = alter(dice, at, &image.attributes[at]);
        }
        copy
    }

    /// A desktop model by its share.
    pub(super) fn desktop_model(&self, dice: &mut Dice) -> &'static Model {
        &MARKET[FIRST_DESKTOP + dice.index(&self.desktops)]
    }

    /// A copy in which up to `changes` attributes are those of another device of the same model: what a profile
    /// randomiser gives that knows what it does. The user agent always fits.
    pub(super) fn disguise(
        &mut self,
        dice: &mut Dice,
        (model, locale): (&'static Model, Locale),
        image: &Device,
        changes: u32,
    ) -> Device {
        let mut copy = self.copy(dice, image);
        for _ in 0..changes * 8 {
            if copy.distance(image) >= changes as usize {
                break;
            }
            let other = self.make(dice, model, locale);
            let at = dice.below(ATTRIBUTES.len() as u32) as usize;
            copy.attributes[at] = other.attributes[at].clone();
            if ATTRIBUTES[at] == "browser" {
                copy.user_agent = other.user_agent;
            }
        }
        copy
    }

    pub(super) fn make(&mut self, dice: &mut Dice, model: &Model, locale: Locale) -> Device {
        let p = model.platform;
        let browser = *dice.pick(p.browsers);
        let attributes = [
            Cow::from(*dice.pick(p.systems)),
            Cow::from(browser),
            Cow::from(model.screen),
            Cow::from(*dice.pick(model.gpus)),
            Cow::from(locale.timezone),
            Cow::from(locale.language),
            Cow::from(*dice.pick(model.cores)),
            Cow::from(*dice.pick(model.memory)),
            Cow::from(p.depth),
            Cow::from(p.touch),
            image_hash(dice, "f", model),
            image_hash(dice, "c", model),
        ];
        Device { id: self.fresh_id(dice), attributes, user_agent: format!("{} {browser}", p.agent) }
    }

    fn fresh_id(&mut self, dice: &mut Dice) -> String {
        self.made += 1;
        format!("d{:08x}{:04x}", scatter(self.made, 32), dice.below(1 << 16))
    }
}

/// Hash of a font set or canvas image: one of `variety` that occur with this screen, low numbers more often.
fn image_hash(dice: &mut Dice, kind: &str, model: &Model) -> Cow<'static, str> {
    let bound = dice.between(1, model.variety);
    let which = dice.below(bound);
    let screen =
        model.screen.bytes().fold(u64::from(which) + 1, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
    Cow::from(format!("{kind}{:08x}", scatter(screen, 32)))
}

/// Another value for one attribute, such as a profile randomiser would choose.
fn alter(dice: &mut Dice, at: usize, from: &str) -> Cow<'static, str> {
    match ATTRIBUTES[at] {
        "os" => Cow::from(*dice.pick(WINDOWS.systems)),
        "browser" => Cow::from(*dice.pick(WINDOWS.browsers)),
        "screen" => Cow::from(dice.pick(&MARKET[FIRST_DESKTOP..]).screen),
        "gpu" => Cow::from(*dice.pick(DESKTOP_GPU)),
        "timezone" => Cow::from(dice.pick(&LOCALES).1.timezone),
        "language" => Cow::from(dice.pick(&LOCALES).1.language),
        "cores" => Cow::from(*dice.pick(&["4", "8", "12", "16"])),
        "memory" => Cow::from(*dice.pick(&["8", "16", "32"])),
        "color_depth" => Cow::from(*dice.pick(&["24", "30", "32"])),
        "touch_points" => Cow::from(*dice.pick(&["0", "1", "5", "10"])),
        _ => Cow::from(format!("{}{:08x}", &from[..1], dice.below(u32::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::dice::Stream;
    use super::*;
    use std::collections::BTreeMap;

    fn many(n: usize) -> Vec<Device> {
        let (mut dice, mut maker) = (Dice::new(1, Stream::Population), Maker::new());
        (0..n)
            .map(|_| {
                let locale = maker.locale(&mut dice);
                maker.any(&mut dice, locale)
            })
            .collect()
    }

    #[test]
    fn shares_add_up() {
        assert_eq!(MARKET.iter().map(|m| m.share).sum::<u64>(), 1000);
        assert_eq!(LOCALES.iter().map(|(w, _)| w).sum::<u64>(), 1000);
        assert!(MARKET[..FIRST_DESKTOP].iter().all(|m| m.platform.touch == "5"));
        assert!(MARKET[FIRST_DESKTOP..].iter().all(|m| m.platform.touch == "0"));
    }

    /// The published sample: commonest coarse device 23.4 %, two random devices equal with 5.8 %.
    #[test]
    fn coarse_likeness_is_that_of_real_traffic() {
        let devices = many(20_000);
        let mut coarse: BTreeMap<_, f64> = BTreeMap::new();
        for d in &devices {
            *coarse
                .entry([&d.attributes[0], &d.attributes[1], &d.attributes[2], &d.attributes[3]])
                .or_default() += 1.0 / devices.len() as f64;
        }
        let top = coarse.values().copied().fold(0.0, f64::max);
        let equal: f64 = coarse.values().map(|share| share * share).sum();
        assert!((0.22..0.25).contains(&top), "commonest {top}");
        assert!((0.05..0.075).contains(&equal), "equal pairs {equal}");
    }

    #[test]
    fn near_copies_differ_as_asked_and_ids_always() {
        let (mut dice, mut maker) = (Dice::new(2, Stream::Incident), Maker::new());
        let locale = maker.locale(&mut dice);
        let image = maker.desktop(&mut dice, locale);
        for changes in 0..=3 {
            let copy = maker.near_copy(&mut dice, &image, changes);
            assert_eq!(copy.distance(&image), changes as usize);
            assert_ne!(copy.id, image.id);
        }
    }
}
