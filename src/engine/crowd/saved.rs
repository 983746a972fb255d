//! Crowds in a cut: bursts as a table, the trail unit by unit, all else as a set.

use super::campaign::{Campaign, Walk};
use super::composition::{Composition, Group, Returning};
use super::gate::WINDOWS_MAX;
use super::gathering::{Gathering, Member};
use super::image::Image;
use super::mixture::{Bin, Mixture};
use super::quantile::Quantile;
use super::sample::Sample;
use super::state::{Crowds, Usual};
use super::trail::{CHUNK, Chunk, Place as Unit, Trail, UNIT};
use super::traits::Traits;
use crate::engine::cut::{
    Array, Awaited, Damaged, Kind, Place, Reader, Room, Saved, Watch, Writer, entries_of, saved,
};
use crate::engine::key::ByHash;
use crate::engine::policy::Policy;
use crate::engine::table::Table;

saved!(Traits { user, at, age, neighbours, can_join, cohort, address, device });
saved!(Member { traits, events, bursts, partners });
saved!(Bin { here, usual, log_odds, overfull });
saved!(Mixture { alpha, support, bins });
saved!(Image { values, weights });
saved!(Group { locked, blind, known });
saved!(Returning { bursts, known, pooled });
saved!(Composition {
    users,
    suspect,
    shares,
    group,
    age,
    cohort,
    cohorts,
    network,
    device,
    images,
    shared,
    spread,
    repeats,
    returning,
    recurring,
    lockstep,
    persona,
    faces,
});
saved!(Quantile { buckets, total, fed, held });
saved!(Walk { at, until, back });
saved!(Campaign {
    target,
    name,
    part_of,
    composition,
    members,
    cohorts,
    grown_at,
    facts,
    cleared_until,
    walk,
    walked
});

impl Saved for Unit {
    fn save(&self, to: &mut Writer) {
        to.push(self.0);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        from.word().map(Self)
    }
}

impl Saved for Gathering {
    fn save(&self, to: &mut Writer) {
        let Self { target, action, opened_at, busy_at, window, owner, burst, votes, .. } = self;
        ((*target, *action), *owner).save(to);
        ((*opened_at, *busy_at), *window).save(to);
        burst.save(to);
        votes.save(to);
        let Self { members, next, came, judged, part_of, composition, .. } = self;
        part_of.save(to);
        members.save(to);
        ((*next, *came), *judged).save(to);
        composition.save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let ((target, action), owner) = Saved::load(from)?;
        let ((opened_at, busy_at), window) = Saved::load(from)?;
        let (burst, votes) = (Saved::load(from)?, Saved::load(from)?);
        let part_of = Saved::load(from)?;
        let members: Vec<Member> = Saved::load(from)?;
        let ((next, came), judged) = Saved::load(from)?;
        let composition = Saved::load(from)?;
        let places = ByHash::default();
        let crowd = Self {
            target,
            action,
            opened_at,
            busy_at,
            window,
            owner,
            burst,
            votes,
            members,
            next,
            came,
            judged,
            part_of,
            composition,
            places,
        };
        let crowd = crowd.placed();
        let fits = crowd.places.len() == crowd.members.len()
            && crowd.members.len() <= Self::MEMBERS
            && crowd.next < crowd.members.len().max(1);
        if fits { Ok(crowd) } else { Err(Damaged) }
    }
}

impl Saved for Usual {
    fn save(&self, to: &mut Writer) {
        let Self { busy, actors: Sample { rows, next, stride, pace, .. } } = self;
        busy.save(to);
        rows.save(to);
        ((*next, *stride), *pace).save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let busy: [Quantile; WINDOWS_MAX] = Saved::load(from)?;
        let rows: Vec<(Traits, u32)> = Saved::load(from)?;
        let ((next, stride), pace) = Saved::load(from)?;
        let actors = Sample::restored(rows, next, stride, pace).ok_or(Damaged)?;
        if busy.iter().all(Quantile::is_whole) { Ok(Self { busy, actors }) } else { Err(Damaged) }
    }
}

impl Crowds {
    /// Its table.
    pub(crate) fn table_mut(&mut self) -> &mut Table {
        &mut self.bursts.table
    }

    /// Its table.
    pub(crate) fn table(&self) -> &Table {
        &self.bursts.table
    }

    /// From here on the trail is copied as it is now. Its tables are begun with the others.
    pub(crate) fn begin_cut(&mut self) {
        for (number, chunk) in self.trail.chunks.iter_mut().enumerate() {
            chunk.watch = Watch::new(Place::new(Kind::Trail, 0, number), CHUNK, UNIT, entries_of(UNIT));
        }
    }

    /// Forgets the cut.
    pub(crate) fn abandon_cut(&mut self) {
        self.trail.chunks.iter_mut().for_each(|chunk| chunk.watch = None);
    }

    /// Hands out pages of the trail while there is room; true when there are no more.
    pub(crate) fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        self.trail.chunks.iter_mut().all(|chunk| {
            let Some(mut watch) = chunk.watch.take() else { return true };
            let done = watch.copy(room, |range, out| {
                out.extend_from_slice(&chunk.words[range.start * UNIT..range.end * UNIT]);
            });
            chunk.watch = (!done).then_some(watch);
            done
        })
    }

    /// Takes an awaited chunk of the trail.
    pub(crate) fn fill(&mut self, array: Array) -> Result<(), Damaged> {
        let chunk = self.trail.chunks.get_mut(array.place().unit as usize).ok_or(Damaged)?;
        let words: Vec<u32> = array.into_pages().flatten().collect();
        if words.len() != CHUNK * UNIT {
            return Err(Damaged);
        }
        chunk.words = words.into();
        Ok(())
    }

    /// Takes down what is not in the pages.
    pub(crate) fn save(&self, to: &mut Writer) {
        let Self {
            open,
            campaigns,
            walking,
            earlier,
            taking_back,
            actions,
            trail: Trail { most, chunks, head, written },
            bursts,
            open_budget,
            open_bytes: _,
            given_up,
            room: _,
        } = self;
        bursts.table.save(to);
        bursts.next.save(to);
        bursts.groups.save(to);
        open.save(to);
        campaigns.save(to);
        walking.save(to);
        earlier.save(to);
        taking_back.save(to);
        actions.save(to);
        ((*most, *head), (chunks.len(), *written)).save(to);
        (*open_budget, *given_up).save(to);
    }

    /// Reads what [`Crowds::save`] took down, and which pages the rest will come in. `part` is that of its table.
    pub(crate) fn load(
        from: &mut Reader<'_>,
        policy: &Policy,
        part: usize,
        awaited: &mut Awaited,
    ) -> Result<Self, Damaged> {
        let mut crowds = Self::new(policy).ok_or(Damaged)?;
        crowds.bursts.table = Table::load(from, part, awaited)?;
        crowds.bursts.next = Saved::load(from)?;
        crowds.bursts.groups = Saved::load(from)?;
        crowds.open = Saved::load(from)?;
        crowds.campaigns = Saved::load(from)?;
        crowds.walking = Saved::load(from)?;
        crowds.earlier = Saved::load(from)?;
        crowds.taking_back = Saved::load(from)?;
        crowds.actions = Saved::load(from)?;
        let ((most, head), (chunks, written)): ((u32, u32), (usize, u64)) = Saved::load(from)?;
        let (open_budget, given_up): (u64, u64) = Saved::load(from)?;
        if (most, open_budget) != (crowds.trail.most, crowds.open_budget) || chunks > most as usize / CHUNK {
            return Err(Damaged);
        }
        for number in 0..chunks {
            awaited.add(Place::new(Kind::Trail, 0, number), CHUNK, UNIT)?;
            crowds.trail.chunks.push(Chunk { words: Box::default(), watch: None });
        }
        (crowds.trail.head, crowds.trail.written, crowds.given_up) = (head, written, given_up);
        crowds.open_bytes = crowds.open.values().map(Gathering::bytes).sum();
        Ok(crowds)
    }

    /// What must be the same under one policy.
    pub(crate) fn layout(&self) -> (u64, u32, usize, &[usize]) {
        let (words, spills) = self.bursts.table.spec().cells();
        (self.open_budget, self.trail.most, words, spills)
    }
}
