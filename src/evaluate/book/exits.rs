//! How many accounts act from each address: the size of an exit.

use std::collections::{HashMap, HashSet};

use crate::engine::address::Address;

/// All addresses, and who was seen at them. Grows with pairs of account and address.
#[derive(Clone, Debug, Default)]
pub struct Exits {
    numbers: HashMap<Address, u32>,
    seen: HashSet<(u32, u32)>,
    /// Accounts by number of the exit.
    sizes: Vec<u32>,
}

impl Exits {
    /// An account acts from an address.
    pub fn saw(&mut self, account: u32, address: Address) {
        let next = self.sizes.len() as u32;
        let exit = *self.numbers.entry(address).or_insert(next);
        if exit == next {
            self.sizes.push(0);
        }
        if self.seen.insert((account, exit)) {
            self.sizes[exit as usize] = self.sizes[exit as usize].saturating_add(1);
        }
    }

    /// Accounts seen at an exit.
    pub fn size(&self, exit: u32) -> u32 {
        self.sizes.get(exit as usize).copied().unwrap_or(0)
    }

    /// For each account its largest exit; of equal ones the first seen by anybody. In no order.
    pub fn largest(&self) -> HashMap<u32, u32> {
        let mut largest: HashMap<u32, u32> = HashMap::new();
        let rank = |exit: u32| (self.size(exit), std::cmp::Reverse(exit));
        for &(account, exit) in &self.seen {
            let best = largest.entry(account).or_insert(exit);
            if rank(exit) > rank(*best) {
                *best = exit;
            }
        }
        largest
    }
}
