//! Which offsets a subscription has settled: a floor, and bits above it.

use std::collections::BTreeMap;

use punctual_types::Offset;

const BITS: u64 = 1024;

/// Everything below `floor` is settled; above it, what has its bit set. Memory follows the
/// disorder of acks, not their number: 128 bytes per 1,024 offsets that are settled in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckSet {
    floor: Offset,
    chunks: BTreeMap<u64, [u64; 16]>,
    above: u64,
}

impl AckSet {
    pub(crate) fn new(floor: Offset) -> Self {
        Self { floor, ..Self::default() }
    }

    pub(crate) fn floor(&self) -> Offset {
        self.floor
    }

    /// How many offsets at or above the floor are settled.
    pub(crate) fn above(&self) -> u64 {
        self.above
    }

    pub(crate) fn chunk(&self, number: u64) -> Option<&[u64; 16]> {
        self.chunks.get(&number)
    }

    pub(crate) const fn chunk_of(offset: Offset) -> u64 {
        offset.0 / BITS
    }

    pub(crate) fn is_settled(&self, offset: Offset) -> bool {
        offset < self.floor
            || self.chunks.get(&Self::chunk_of(offset)).is_some_and(|chunk| {
                let bit = offset.0 % BITS;
                chunk.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
            })
    }

    /// Settles an offset; answers whether it was not settled before. The floor follows.
    pub(crate) fn settle(&mut self, offset: Offset) -> bool {
        if self.is_settled(offset) {
            return false;
        }
        if offset == self.floor {
            // The common way, acks in order, touches no chunk at all.
            self.floor = offset.next();
        } else {
            let bit = offset.0 % BITS;
            let chunk = self.chunks.entry(Self::chunk_of(offset)).or_default();
            if let Some(word) = chunk.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
            self.above += 1;
        }
        self.follow();
        true
    }

    /// Moves the floor over what is settled right above it, and drops chunks it has passed.
    fn follow(&mut self) {
        while let Some(mut first) = self.chunks.first_entry() {
            let start = *first.key() * BITS;
            if self.floor.0 < start {
                break;
            }
            while self.floor.0 < start + BITS {
                let bit = self.floor.0 - start;
                let Some(word) = first.get_mut().get_mut((bit / 64) as usize) else { break };
                if *word >> (bit % 64) & 1 == 0 {
                    break;
                }
                *word &= !(1 << (bit % 64));
                self.above -= 1;
                self.floor = self.floor.next();
            }
            // Bits below the floor are never set: `settle` refuses them and the loop clears them.
            if self.floor.0 >= start + BITS || first.get().iter().all(|word| *word == 0) {
                first.remove();
            } else {
                break;
            }
        }
    }

    /// Takes a chunk as it was stored; bits below the floor are dropped.
    pub(crate) fn load_chunk(&mut self, number: u64, mut chunk: [u64; 16]) {
        let start = number * BITS;
        for (index, word) in chunk.iter_mut().enumerate() {
            let word_start = start + index as u64 * 64;
            let below = self.floor.0.saturating_sub(word_start).min(64);
            if below > 0 {
                *word = if below == 64 { 0 } else { *word >> below << below };
            }
            self.above += u64::from(word.count_ones());
        }
        if chunk.iter().any(|word| *word != 0) {
            self.chunks.insert(number, chunk);
        }
        self.follow();
    }

    /// The chunks there are.
    pub(crate) fn chunk_numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.chunks.keys().copied()
    }

    /// The first offset at or after `from` that is not settled.
    pub(crate) fn first_unsettled(&self, from: Offset) -> Offset {
        let mut offset = from.max(self.floor);
        while self.is_settled(offset) {
            offset = offset.next();
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_floor_follows_over_the_edges_of_chunks() {
        let mut acks = AckSet::new(Offset(1020));
        for offset in [1021, 1022, 1023, 1024, 2047, 2048] {
            assert!(acks.settle(Offset(offset)));
        }
        assert_eq!((acks.floor(), acks.above()), (Offset(1020), 6));
        assert!(acks.settle(Offset(1020)));
        assert_eq!((acks.floor(), acks.above()), (Offset(1025), 2));
        assert!(!acks.settle(Offset(1024)));
        assert_eq!(acks.chunk_numbers().collect::<Vec<_>>(), [1, 2]);
    }

    proptest! {
        #[test]
        fn a_set_of_acks_is_a_set(start in 0u64..3000, offsets in prop::collection::vec(0u64..4000, 0..400)) {
            let mut acks = AckSet::new(Offset(start));
            let mut model: BTreeSet<u64> = (0..start).collect();
            for offset in offsets {
                prop_assert_eq!(acks.settle(Offset(offset)), model.insert(offset));
            }
            let floor = (0..).find(|offset| !model.contains(offset)).expect("some offset is missing");
            prop_assert_eq!(acks.floor(), Offset(floor));
            prop_assert_eq!(acks.above(), model.range(floor..).count() as u64);
            let mut loaded = AckSet::new(acks.floor());
            for number in acks.chunk_numbers() {
                loaded.load_chunk(number, *acks.chunk(number).expect("listed"));
            }
            prop_assert_eq!(&loaded, &acks);
            for offset in 0..4100 {
                prop_assert_eq!(acks.is_settled(Offset(offset)), model.contains(&offset));
            }
        }
    }
}
