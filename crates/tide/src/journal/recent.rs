//! The newest batches, kept in memory: what was just written is mostly what is read next.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Location, SegmentNumber};

/// Payloads of the newest frames, oldest dropped first.
pub(crate) struct Recent {
    /// By segment and place of the payload in it: also their order in time.
    payloads: BTreeMap<(SegmentNumber, u32), Bytes>,
    bytes: usize,
    bytes_max: usize,
}

impl Recent {
    pub(crate) const fn new(bytes_max: usize) -> Self {
        Self { payloads: BTreeMap::new(), bytes: 0, bytes_max }
    }

    pub(crate) fn keep(&mut self, segment: SegmentNumber, at: u32, payload: Bytes) {
        self.bytes += payload.len();
        self.payloads.insert((segment, at), payload);
        while self.bytes > self.bytes_max {
            let Some((_, oldest)) = self.payloads.pop_first() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// The bytes at a location, if they are still here; shared, not copied.
    pub(crate) fn get(&self, location: Location) -> Option<Bytes> {
        let (&(segment, at), payload) = self.payloads.range(..=(location.segment, location.at)).next_back()?;
        if segment != location.segment {
            return None;
        }
        let from = usize::try_from(location.at - at).ok()?;
        let to = from + usize::try_from(location.len).ok()?;
        (to <= payload.len()).then(|| payload.slice(from..to))
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_payloads_are_kept_and_the_oldest_dropped_at_the_bound() {
        let mut recent = Recent::new(10);
        let (one, two) = (SegmentNumber(1), SegmentNumber(2));
        let at = |segment, at, len| Location { segment, at, len };
        recent.keep(one, 100, Bytes::from_static(b"abcdef"));
        recent.keep(two, 40, Bytes::from_static(b"ghij"));
        assert_eq!(recent.get(at(one, 101, 3)).as_deref(), Some(&b"bcd"[..]));
        assert_eq!(recent.get(at(two, 40, 4)).as_deref(), Some(&b"ghij"[..]));
        for absent in [at(one, 99, 1), at(one, 105, 2), at(two, 39, 1), at(two, 44, 1), at(SegmentNumber(3), 0, 0)] {
            assert_eq!(recent.get(absent), None, "{absent:?}");
        }
        recent.keep(two, 60, Bytes::from_static(b"k"));
        assert_eq!((recent.get(at(one, 100, 6)), recent.bytes()), (None, 5));
        assert_eq!(recent.get(at(two, 43, 1)).as_deref(), Some(&b"j"[..]));
        // What is larger than the bound is not kept at all.
        recent.keep(two, 70, Bytes::from(vec![0; 11]));
        assert_eq!(recent.bytes(), 0);
    }
}
