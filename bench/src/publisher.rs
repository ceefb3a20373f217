//! Publishing a load: a task per connection, several batches of each under way.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::BytesMut;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use punctual_broker_api::{Broker, DelayMs, Error, NewMessage, Published, TopicPath, When};

use crate::{
    BenchError, Delays,
    body::{BODY_BYTES_MIN, Stamp},
    limits,
    oracle::Counters,
    percentiles::Percentiles,
    random::Random,
    stopwatch::{Micros, Stopwatch},
};

/// What is published, and how fast.
#[derive(Clone, Debug)]
pub struct Load {
    /// Bytes of a body.
    pub size: usize,
    /// Messages of a batch.
    pub batch: usize,
    /// Batches of one connection under way at once.
    pub in_flight: usize,
    /// Messages a second over all connections; `None` is as fast as it goes.
    pub rate: Option<u64>,
    /// End after so many messages over all connections.
    pub messages: Option<u64>,
    /// End after so long.
    pub duration: Option<Duration>,
    /// The delays.
    pub delays: Delays,
    /// Where the random numbers come from.
    pub seed: u64,
}

impl Load {
    pub(crate) fn check(&self, connections: usize) -> Result<(), BenchError> {
        let refuse = |text: String| Err(BenchError::Options(text));
        if self.size < BODY_BYTES_MIN {
            return refuse(format!("a body of {} bytes cannot hold its stamp of {BODY_BYTES_MIN}", self.size));
        }
        if self.batch == 0 || self.in_flight == 0 || self.rate == Some(0) {
            return refuse("batch, in-flight and rate are at least 1".to_owned());
        }
        if connections == 0 || connections > limits::PRODUCERS_MAX {
            return refuse(format!("there are 1 to {} connections", limits::PRODUCERS_MAX));
        }
        if self.messages.is_none() && self.duration.is_none() {
            return refuse("a run needs a number of messages or a duration".to_owned());
        }
        Ok(())
    }
}

/// How many messages each producer has made, for those who receive them.
#[derive(Debug)]
pub(crate) struct Issued(Vec<AtomicU64>);

impl Issued {
    pub(crate) fn new(producers: usize) -> Arc<Self> {
        Arc::new(Self((0..producers).map(|_| AtomicU64::new(0)).collect()))
    }

    pub(crate) fn of(&self, producer: u32) -> u64 {
        self.0.get(producer as usize).map_or(0, |count| count.load(Ordering::Acquire))
    }

    fn set(&self, producer: u32, count: u64) {
        if let Some(issued) = self.0.get(producer as usize) {
            issued.store(count, Ordering::Release);
        }
    }
}

/// What came of publishing.
#[derive(Debug, Default)]
pub(crate) struct PublishedLoad {
    /// Messages that were sent.
    pub(crate) sent: u64,
    /// Messages that are stored, by producer.
    pub(crate) acknowledged: Vec<Counters>,
    /// Messages that are stored.
    pub(crate) accepted: u64,
    /// Messages that were not, by code.
    pub(crate) failed: BTreeMap<&'static str, u64>,
    /// From invoked (or, at a rate, from when it should have been) until answered.
    pub(crate) latency: Percentiles,
    /// How long it took.
    pub(crate) took: Duration,
}

/// Publishes the load, a connection per broker.
pub(crate) async fn publish_load(
    brokers: &[Arc<dyn Broker>],
    topics: &[TopicPath],
    load: &Load,
    run: u64,
    watch: Stopwatch,
    issued: &Arc<Issued>,
) -> Result<PublishedLoad, BenchError> {
    let begun = watch.now();
    let producers = brokers.len() as u64;
    let mut tasks = tokio::task::JoinSet::new();
    for (number, broker) in (0u32..).zip(brokers) {
        // The first producers take what does not divide evenly.
        let share = |total: u64| total / producers + u64::from(u64::from(number) < total % producers);
        let producer = Producer {
            number,
            run,
            watch,
            begun,
            broker: Arc::clone(broker),
            topics: topics.to_vec(),
            load: load.clone(),
            messages: load.messages.map_or(u64::MAX, share),
            every: load.rate.map(|rate| Duration::from_secs_f64(load.batch as f64 * producers as f64 / rate as f64)),
            issued: Arc::clone(issued),
        };
        tasks.spawn(producer.run());
    }
    let mut total =
        PublishedLoad { acknowledged: vec![Counters::default(); brokers.len()], ..PublishedLoad::default() };
    while let Some(joined) = tasks.join_next().await {
        let (number, part) = joined.map_err(|error| BenchError::Options(format!("a producer broke: {error}")))?;
        total.sent += part.sent;
        total.accepted += part.accepted;
        total.latency.add(&part.latency);
        for (code, count) in part.failed {
            *total.failed.entry(code).or_default() += count;
        }
        if let (Some(slot), Some(counters)) =
            (total.acknowledged.get_mut(number as usize), part.acknowledged.into_iter().next())
        {
            *slot = counters;
        }
    }
    total.took = watch.now().since(begun);
    Ok(total)
}

struct Producer {
    number: u32,
    run: u64,
    watch: Stopwatch,
    begun: Micros,
    broker: Arc<dyn Broker>,
    topics: Vec<TopicPath>,
    load: Load,
    messages: u64,
    every: Option<Duration>,
    issued: Arc<Issued>,
}

impl Producer {
    async fn run(self) -> (u32, PublishedLoad) {
        let mut done = PublishedLoad { acknowledged: vec![Counters::default()], ..PublishedLoad::default() };
        let mut random = Random::from_seed(self.load.seed.wrapping_add(u64::from(self.number)));
        let mut under_way = FuturesUnordered::new();
        let mut batches: u64 = 0;
        loop {
            let over = self.load.duration.is_some_and(|limit| self.watch.now().since(self.begun) >= limit);
            if done.sent >= self.messages || over {
                break;
            }
            // At a rate a batch has its time, and its latency counts from that time, so that a slow
            // answer is not hidden by the batches that were held back behind it.
            let intended = self.every.map(|every| {
                let at = every.as_secs_f64() * batches as f64 * 1e6;
                Micros(self.begun.0.saturating_add(at as u64))
            });
            tokio::select! {
                biased;
                Some(answer) = under_way.next(), if !under_way.is_empty() => done.take(answer, self.watch),
                () = self.watch.wait_until(intended.unwrap_or(self.begun)), if under_way.len() < self.load.in_flight => {
                    let size = self.load.batch.min(usize::try_from(self.messages - done.sent).unwrap_or(usize::MAX));
                    let first = done.sent;
                    let messages = self.batch(first, size, &mut random);
                    done.sent += size as u64;
                    let topic = self.topic(batches);
                    batches += 1;
                    let from = intended.unwrap_or_else(|| self.watch.now());
                    let publish = self.broker.publish(topic, messages);
                    under_way.push(async move { Answer { first, size, from, results: publish.await } });
                }
            }
        }
        while let Some(answer) = under_way.next().await {
            done.take(answer, self.watch);
        }
        (self.number, done)
    }

    fn topic(&self, batch: u64) -> TopicPath {
        let index = usize::try_from((batch + u64::from(self.number)) % self.topics.len() as u64).unwrap_or(0);
        self.topics.get(index).cloned().unwrap_or_else(|| panic!("a run has at least one topic"))
    }

    fn batch(&self, first: u64, size: usize, random: &mut Random) -> Vec<NewMessage> {
        let mut bodies = BytesMut::with_capacity(size * self.load.size);
        let invoked = self.watch.now();
        // Whoever receives a message must find it issued.
        self.issued.set(self.number, first + size as u64);
        (first..)
            .take(size)
            .map(|counter| {
                let delay = self.load.delays.sample(random);
                let stamp = Stamp { run: self.run, producer: self.number, counter, invoked, delay };
                stamp.write(self.load.size, &mut bodies);
                let when = if delay == DelayMs::ZERO { When::Now } else { When::Delay(delay) };
                NewMessage { body: bodies.split().freeze(), when, ..NewMessage::default() }
            })
            .collect()
    }
}

struct Answer {
    first: u64,
    size: usize,
    from: Micros,
    results: Result<Vec<Result<Published, Error>>, Error>,
}

impl PublishedLoad {
    fn take(&mut self, answer: Answer, watch: Stopwatch) {
        let took = watch.now().since(answer.from);
        let results = match answer.results {
            Ok(results) => results,
            Err(error) => vec![Err(error); answer.size],
        };
        let before = self.accepted;
        for (counter, result) in (answer.first..).zip(results) {
            match result {
                Ok(_) => {
                    self.accepted += 1;
                    if let Some(counters) = self.acknowledged.first_mut() {
                        counters.insert(counter);
                    }
                }
                Err(error) => *self.failed.entry(error.code.slug()).or_default() += 1,
            }
        }
        self.latency.record_many(took, self.accepted - before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_cannot_be_run_is_refused_before_anything_is_made() {
        let good = Load {
            size: BODY_BYTES_MIN,
            batch: 1,
            in_flight: 1,
            rate: None,
            messages: Some(1),
            duration: None,
            delays: Delays::None,
            seed: 0,
        };
        assert!(good.check(limits::PRODUCERS_MAX).is_ok());
        assert!(good.check(limits::PRODUCERS_MAX + 1).is_err());
        assert!(good.check(0).is_err());
        for bad in [
            Load { size: BODY_BYTES_MIN - 1, ..good.clone() },
            Load { batch: 0, ..good.clone() },
            Load { in_flight: 0, ..good.clone() },
            Load { rate: Some(0), ..good.clone() },
            Load { messages: None, ..good.clone() },
        ] {
            assert!(bad.check(1).is_err(), "{bad:?}");
        }
    }
}
