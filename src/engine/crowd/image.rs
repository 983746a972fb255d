//! What the devices of a crowd have in common beyond what devices have in common anyway.
//!
//! An image begins with the one value that is most overfull in the crowd for how rare it is, and is what those who have it
//! share. A device agrees with it as far as the values they share are rare: each weighs its information, `-ln` of its usual
//! share, no single one too much. So a copy with some attributes changed still agrees, fonts or canvas among them, and two
//! ordinary phones of the commonest make hardly do. How many ordinary devices agree as much is read off the sample:
//! likeness is a lift too.

use super::sample::Sample;
use super::traits::ATTRIBUTES_MAX;

/// Attribute values of one device, by their short hashes.
pub(crate) type Device = [u16; ATTRIBUTES_MAX];

/// Bins of agreement; the first is unknown.
pub(crate) const AGREEMENTS: usize = 6;
/// From this bin on a device is near the image: 40 % of the information.
pub(crate) const NEAR: usize = 3;
/// Devices with the value that an image begins with: at least so many, and this share of the crowd.
const LEAST: f64 = 6.0;
const LEAST_SHARE: f64 = 0.04;
/// Standard deviations beyond chance.
const SIGMAS: f64 = 4.0;
/// Share of those with the first value that have a further value of the image.
const COMMON: f64 = 0.4;
/// Information of one attribute, at most, in nats.
const INFORMATION_MAX: f64 = 4.0;
/// The image of devices has so many attributes and this much information, at least.
pub(crate) const DEVICE_LEAST: (usize, f64) = (3, 6.0);

/// What some devices have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Image {
    /// 0 where they have nothing in common.
    pub(super) values: Device,
    /// Information of each value, in nats.
    pub(super) weights: [f64; ATTRIBUTES_MAX],
}

impl Image {
    /// The image of some of the devices, if they have one of at least so many attributes and so much information.
    pub(crate) fn of(devices: &[Device], sample: &Sample, least: (usize, f64)) -> Option<Self> {
        let (attribute, value) = first(devices, sample)?;
        let mut image = Self::default();
        let (mut column, mut counts) = (Vec::new(), Vec::new());
        for further in 0..ATTRIBUTES_MAX {
            let alike = devices.iter().filter(|device| device[attribute] == value);
            counted(alike.map(|device| device[further]), &mut column, &mut counts);
            let Some((count, common)) = counts.iter().copied().max() else { continue };
            if f64::from(count) >= COMMON * column.len() as f64 {
                image.values[further] = common;
                image.weights[further] = information(sample.share(further, common));
            }
        }
        let attributes = image.values.iter().filter(|value| **value != 0).count();
        let rich = image.weights.iter().sum::<f64>() >= least.1;
        (attributes >= least.0 && rich).then_some(image)
    }

    /// The bin of a device's agreement with it: 0 when too little is known of the device, else 1 to 5, by fifths of the
    /// information.
    pub(crate) fn agreement(&self, device: &Device) -> usize {
        let (mut shared, mut known, mut all) = (0.0, 0.0, 0.0);
        for ((value, weight), own) in self.values.iter().zip(&self.weights).zip(device) {
            // It asks for few of the attributes.
            if *value == 0 {
                continue;
            }
            all += weight;
            known += if *own == 0 { 0.0 } else { *weight };
            shared += if own == value { *weight } else { 0.0 };
        }
        if known < all / 2.0 || all <= 0.0 {
            return 0;
        }
        (1 + (shared / known * 5.0) as usize).min(AGREEMENTS - 1)
    }
}

fn information(share: f64) -> f64 {
    (-libm::log(share.min(1.0))).min(INFORMATION_MAX)
}

/// The attribute and value with the largest excess over its usual share for its rarity, if chance does not explain it.
fn first(devices: &[Device], sample: &Sample) -> Option<(usize, u16)> {
    let (mut column, mut counts) = (Vec::new(), Vec::new());
    let mut best: Option<(f64, usize, u16)> = None;
    for attribute in 0..ATTRIBUTES_MAX {
        counted(devices.iter().map(|device| device[attribute]), &mut column, &mut counts);
        let n = column.len() as f64;
        for (count, value) in &counts {
            let (count, usual) = (f64::from(*count), sample.share(attribute, *value));
            if count < LEAST.max(LEAST_SHARE * n) {
                continue;
            }
            let excess = count - n * usual;
            let worth = excess * information(usual);
            let is_overfull = excess >= SIGMAS * libm::sqrt(n * usual + 1.0);
            if is_overfull && best.is_none_or(|(most, ..)| worth > most) {
                best = Some((worth, attribute, *value));
            }
        }
    }
    best.map(|(_, attribute, value)| (attribute, value))
}

/// How often each known value occurs. `column` is left with all known values.
fn counted(values: impl Iterator<Item = u16>, column: &mut Vec<u16>, counts: &mut Vec<(u32, u16)>) {
    column.clear();
    column.extend(values.filter(|value| *value != 0));
    column.sort_unstable();
    counts.clear();
    counts.extend(column.chunk_by(|a, b| a == b).map(|run| (run.len() as u32, run[0])));
}

#[cfg(test)]
mod tests {
    use super::super::traits::Traits;
    use super::*;
    use crate::engine::time::Timestamp;

    /// A pseudo-random number below `bound` that is a function of two others.
    fn draw(a: u64, b: u64, bound: u64) -> u64 {
        let mixed = (a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xd6e8_feb8_6659_fd93))
            .wrapping_mul(0xa076_1d64_78bd_642f);
        (mixed >> 33) % bound
    }

    /// Twelve attributes: few values each, one of which half of all devices have.
    fn ordinary(n: u64) -> Device {
        let mut device = [0; ATTRIBUTES_MAX];
        for (attribute, value) in device[..12].iter_mut().enumerate() {
            let attribute = attribute as u64;
            *value = match draw(n, attribute, 2) {
                0 => 1,
                _ => 2 + draw(n, attribute + 100, 2 + attribute * 3) as u16,
            };
        }
        device
    }

    fn copy(n: u64, changed: u64) -> Device {
        let mut device = [0; ATTRIBUTES_MAX];
        (0..12).for_each(|attribute| device[attribute] = 40 + attribute as u16);
        for change in 0..changed {
            device[(draw(n, change + 500, 12)) as usize] = 900 + draw(n, change, 90) as u16;
        }
        device
    }

    fn sample() -> Sample {
        let mut sample = Sample::new();
        for user in 0..3000u64 {
            let traits = Traits {
                user: user.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                at: Timestamp::from_millis(1_750_000_000_000 + user as i64 * 300),
                device: ordinary(user),
                ..Traits::default()
            };
            sample.note(&traits, user << 32, || true);
        }
        sample
    }

    #[test]
    fn copies_with_some_attributes_changed_agree_and_others_do_not() {
        let sample = sample();
        for changed in [0, 2, 4] {
            let mut crowd: Vec<Device> = (0..120).map(|n| copy(n, changed)).collect();
            crowd.extend((5000..5080).map(ordinary));
            let image = Image::of(&crowd, &sample, DEVICE_LEAST).expect("they are alike");
            let near = |device: &&Device| image.agreement(device) >= NEAR;
            let (copies, others) =
                (crowd[..120].iter().filter(near).count(), crowd[120..].iter().filter(near).count());
            assert!(copies >= 108 && others == 0, "{changed} changed: {copies} copies, {others} others");
        }
    }

    /// Each of five images is found among those who are near none of the earlier ones.
    #[test]
    fn several_images_are_found_one_after_the_other() {
        let sample = sample();
        let of = |image: u64, n: u64| {
            copy(n + image * 1000, 2).map(|v| if v == 0 { 0 } else { v + 40 * image as u16 })
        };
        let mut rest: Vec<Device> = (0..250).map(|n| of(n % 5, n)).collect();
        for found in 1..=5 {
            let image = Image::of(&rest, &sample, DEVICE_LEAST).expect("there is another");
            rest.retain(|device| image.agreement(device) < NEAR);
            assert!(rest.len() <= 250 - found * 45, "{} are left after {found}", rest.len());
        }
    }

    #[test]
    fn an_ordinary_crowd_has_no_image() {
        let crowd: Vec<Device> = (9000..9400).map(ordinary).collect();
        assert_eq!(Image::of(&crowd, &sample(), DEVICE_LEAST), None);
    }

    #[test]
    fn what_is_unknown_neither_agrees_nor_differs() {
        let sample = sample();
        let crowd: Vec<Device> = (0..100).map(|n| copy(n, 1)).collect();
        let image = Image::of(&crowd, &sample, DEVICE_LEAST).expect("they are alike");
        let mut half = copy(0, 0);
        half[..4].fill(0);
        assert_eq!(image.agreement(&half), AGREEMENTS - 1);
        assert_eq!(image.agreement(&[0; ATTRIBUTES_MAX]), 0);
    }
}
