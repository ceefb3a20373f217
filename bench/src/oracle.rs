//! What was sent, what was acknowledged, what was received: a bit each.

use std::time::Duration;

use crate::{body::Stamp, percentiles::Percentiles, stopwatch::Micros};

/// A set of counters, dense from 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    words: Vec<u64>,
}

impl Counters {
    /// Puts a counter in; false when it was there.
    pub(crate) fn insert(&mut self, counter: u64) -> bool {
        let (word, bit) = place(counter);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let Some(word) = self.words.get_mut(word) else { return false };
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// How many are in this set and not in the other.
    pub(crate) fn missing_from(&self, other: &Self) -> u64 {
        let others = other.words.iter().copied().chain(std::iter::repeat(0));
        self.words.iter().zip(others).map(|(ours, theirs)| u64::from((ours & !theirs).count_ones())).sum()
    }
}

fn place(counter: u64) -> (usize, u64) {
    // Counters are dense from 0, so a place that memory cannot hold is never reached.
    (usize::try_from(counter / 64).unwrap_or(usize::MAX), 1 << (counter % 64))
}

/// What one subscription of one run received.
#[derive(Debug)]
pub(crate) struct Received {
    run: u64,
    by_producer: Vec<Counters>,
    /// When the first and the last delivery came.
    first_and_last: Option<(Micros, Micros)>,
    /// Deliveries, repeated ones included.
    pub(crate) delivered: u64,
    /// Messages, each once.
    pub(crate) unique: u64,
    /// Deliveries of a message that had been received.
    pub(crate) duplicated: u64,
    /// Deliveries before the publish was invoked plus the delay.
    pub(crate) early: u64,
    /// Bodies that are not what was sent.
    pub(crate) altered: u64,
    /// Messages that nobody sent.
    pub(crate) phantom: u64,
    /// From publish invoked plus delay until received, on this machine's clock.
    pub(crate) lateness_seen: Percentiles,
    /// From due until it could be offered, as the broker says.
    pub(crate) lateness_told: Percentiles,
}

impl Received {
    pub(crate) fn new(run: u64, producers: usize) -> Self {
        Self {
            run,
            by_producer: vec![Counters::default(); producers],
            first_and_last: None,
            delivered: 0,
            unique: 0,
            duplicated: 0,
            early: 0,
            altered: 0,
            phantom: 0,
            lateness_seen: Percentiles::default(),
            lateness_told: Percentiles::default(),
        }
    }

    /// Takes in a delivery. `issued` tells how many messages a producer has made so far.
    pub(crate) fn record(&mut self, body: &[u8], told: Duration, now: Micros, issued: impl Fn(u32) -> u64) {
        self.delivered += 1;
        let (first, _) = self.first_and_last.unwrap_or((now, now));
        self.first_and_last = Some((first, now));
        self.lateness_told.record(told);
        let Some(stamp) = Stamp::read(body) else {
            self.altered += 1;
            return;
        };
        let known = stamp.run == self.run && stamp.counter < issued(stamp.producer);
        let Some(counters) = self.by_producer.get_mut(stamp.producer as usize).filter(|_| known) else {
            self.phantom += 1;
            return;
        };
        if counters.insert(stamp.counter) {
            self.unique += 1;
        } else {
            self.duplicated += 1;
        }
        let due = Micros(stamp.invoked.0.saturating_add(stamp.delay.ms().saturating_mul(1000)));
        if now < due {
            self.early += 1;
        } else {
            self.lateness_seen.record(now.since(due));
        }
    }

    /// From the first delivery to the last.
    pub(crate) fn took(&self) -> Duration {
        self.first_and_last.map_or(Duration::ZERO, |(first, last)| last.since(first))
    }

    /// How many acknowledged messages are missing.
    pub(crate) fn missing(&self, acknowledged: &[Counters]) -> u64 {
        acknowledged.iter().zip(&self.by_producer).map(|(acked, received)| acked.missing_from(received)).sum()
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use punctual_broker_api::DelayMs;

    use super::*;

    fn body(run: u64, counter: u64) -> BytesMut {
        let mut body = BytesMut::new();
        let stamp = Stamp { run, producer: 0, counter, invoked: Micros(1000), delay: DelayMs::from_ms(5) };
        stamp.write(80, &mut body);
        body
    }

    #[test]
    fn every_fault_is_counted_as_what_it_is() {
        let mut received = Received::new(9, 1);
        let mut deliver = |body: &[u8], at| received.record(body, Duration::ZERO, Micros(at), |_| 100);
        deliver(&body(9, 0), 6000);
        deliver(&body(9, 1), 5999);
        deliver(&body(9, 0), 7000);
        deliver(&body(8, 2), 7000);
        deliver(&body(9, 100), 7000);
        let mut altered = body(9, 3);
        altered[60] ^= 1;
        deliver(&altered, 7000);
        assert_eq!((received.delivered, received.unique, received.duplicated), (6, 2, 1));
        assert_eq!((received.early, received.phantom, received.altered), (1, 2, 1));
        let mut acknowledged = Counters::default();
        for counter in [0, 1, 64, 200] {
            assert!(acknowledged.insert(counter));
        }
        assert!(!acknowledged.insert(64));
        assert_eq!(received.missing(&[acknowledged]), 2);
    }
}
