//! Transfers between two shards, each on a store of its own that may lose what it has not synced.

mod support;

use bytes::Bytes;
use punctual_core::{
    Answer, Command, Due, NackAnswer, NackItem, OnKeyConflict, PartitionId, PublishItem, Retry, SubscriptionRules,
    SubscriptionStart, TopicPlace, TopicRules,
};
use punctual_types::{ConsumerNumber, Lane, Now, PartitionNumber, ShardNumber, SubscriptionNumber, Time, TopicNumber};
use support::house::House;

/// Of two shards, topic 1 lies on shard 1, topics 2 and 4 on shard 0.
const SOURCE: ShardNumber = ShardNumber(1);
const TARGET: ShardNumber = ShardNumber(0);
const MAIN: PartitionId = partition(1);
const DEAD: PartitionId = partition(2);
const OTHER: PartitionId = partition(4);
const SUB: SubscriptionNumber = SubscriptionNumber(1);

const fn partition(topic: u32) -> PartitionId {
    PartitionId { topic: TopicNumber(topic), partition: PartitionNumber(0) }
}

fn item(body: &'static str) -> PublishItem {
    PublishItem {
        due: Due::Now,
        body: Bytes::from_static(body.as_bytes()),
        key: None,
        on_conflict: OnKeyConflict::Reject,
        dedup_id: None,
        ordering_key: None,
        tag: None,
        headers: Vec::new(),
        priority: 0,
        expires_after: None,
        prepare: None,
    }
}

fn rules(name: &str) -> TopicRules {
    TopicRules { name: name.into(), ..TopicRules::default() }
}

#[derive(Clone, Copy, Debug)]
enum Dies {
    Source,
    Target,
    Both,
}

struct Pair {
    source: House,
    target: House,
    now: Now,
    piece: Option<punctual_core::TransferPiece>,
}

/// The steps of a forwarding, in order.
const STEPS: usize = 7;

impl Pair {
    fn new() -> Self {
        let now = Now::exactly(Time::ZERO);
        let mut pair = Self { source: House::of(SOURCE, 2, now), target: House::of(TARGET, 2, now), now, piece: None };
        pair.source.ask(Command::Configure { partition: MAIN, rules: rules("main") }, now);
        for partition in [DEAD, OTHER] {
            pair.target.ask(Command::Configure { partition, rules: rules("there") }, now);
        }
        let rules = SubscriptionRules {
            retry: Retry { max_attempts: 1, ..SubscriptionRules::default().retry },
            dead_letters: TopicPlace::of(DEAD.topic, 1),
            max_in_flight: 10,
            paused: false,
            ..SubscriptionRules::default()
        };
        let subscribe =
            Command::Subscribe { partition: MAIN, subscription: SUB, rules, start: SubscriptionStart::Earliest };
        pair.source.ask(subscribe, now);
        pair.source.ask(Command::Publish { partition: MAIN, items: vec![item("a")], max_delay: None }, now);
        pair.source.sync();
        pair.target.sync();
        pair.advance();
        pair.source.sync();
        pair
    }

    fn advance(&mut self) {
        for timeline in self.source.shard.due_timelines(self.now.floor, self.source.durable) {
            let durable = self.source.durable;
            self.source.ask(Command::Advance { timeline, durable, values: false }, self.now);
        }
    }

    /// What causes transfers: a last nack, and a piece that is kept with a publish.
    fn cause(&mut self) {
        let lease = Command::Lease {
            partition: MAIN,
            subscription: SUB,
            lane: Lane::MAIN,
            consumer: ConsumerNumber(1),
            max: 1,
            bytes_max: 1000,
            lease: None,
        };
        let Answer::Leased(leased) = self.source.ask(lease, self.now) else { panic!("not leased") };
        let items = leased.deliveries.iter().map(|it| NackItem { lease: it.lease, random: 0 }).collect();
        let answer = self.source.ask(Command::Nack { items, delay: None, error: None }, self.now);
        assert!(matches!(answer, Answer::Nacked(answers) if answers == [NackAnswer::DeadLettered]));
        let pieces = vec![(Bytes::from_static(&[16]), Some(Bytes::from_static(b"run")))];
        let publishes = vec![(TARGET, OTHER, item("run"))];
        self.source.ask(Command::Keep { pieces, publishes }, self.now);
    }

    fn step(&mut self, step: usize) {
        match step {
            0 => self.source.sync(),
            1 => self.advance(),
            2 => {
                let Answer::Outgoing(piece) =
                    self.source.ask(Command::Outgoing { target: TARGET, limit: 10 }, self.now)
                else {
                    panic!("no piece")
                };
                self.piece = Some(piece);
            }
            3 => {
                let piece = self.piece.as_ref().expect("asked for before");
                let (source, up_to, transfers) = (piece.source, piece.last, piece.transfers.clone());
                self.target.ask(Command::Accept { source, up_to, transfers }, self.now);
            }
            4 => self.target.sync(),
            5 => {
                if let Some(up_to) = self.piece.take().and_then(|piece| piece.end) {
                    self.source.ask(Command::Arrived { target: TARGET, up_to }, self.now);
                }
            }
            _ => self.source.sync(),
        }
    }

    fn die(&mut self, dies: Dies) {
        if matches!(dies, Dies::Source | Dies::Both) {
            self.source.crash(self.now);
        }
        if matches!(dies, Dies::Target | Dies::Both) {
            self.target.crash(self.now);
        }
    }

    fn held(&mut self, partition: PartitionId) -> u64 {
        let Answer::Stats(stats) = self.target.ask(Command::Stats { partition }, self.now) else { panic!("no stats") };
        stats.scheduled + stats.retained
    }

    fn left_at_source(&mut self) -> u64 {
        let Answer::Stats(stats) = self.source.ask(Command::Stats { partition: MAIN }, self.now) else {
            panic!("no stats")
        };
        stats.subscriptions[0].ready
    }
}

#[test]
fn what_is_sent_arrives_once_whoever_dies_at_whatever_step() {
    let all = [Dies::Source, Dies::Target, Dies::Both];
    let deaths: Vec<(usize, Dies)> = (0..=STEPS).flat_map(|at| all.map(|dies| (at, dies))).collect();
    for first in &deaths {
        for second in &deaths {
            let mut pair = Pair::new();
            pair.cause();
            // The forwarder dies with either side, and begins again.
            for (at, dies) in [first, second] {
                (0..*at).for_each(|step| pair.step(step));
                pair.die(*dies);
            }
            for _ in 0..2 {
                (0..STEPS).for_each(|step| pair.step(step));
            }
            let kept = pair.source.foreign_pieces() as u64;
            let told = format!("first {first:?}, then {second:?}");
            assert_eq!(pair.held(DEAD) + pair.left_at_source(), 1, "the message, or its letter: {told}");
            assert_eq!(pair.held(OTHER), kept, "the piece and what was published with it: {told}");
            assert_eq!(pair.source.shard.outgoing_targets().count(), 0, "nothing is on its way: {told}");
        }
    }
}

#[test]
fn a_piece_is_bounded_and_the_next_goes_on_after_it() {
    let mut pair = Pair::new();
    let publishes = (0..5).map(|_| (TARGET, OTHER, item("x"))).collect();
    pair.source.ask(Command::Keep { pieces: Vec::new(), publishes }, pair.now);
    pair.step(0);
    pair.step(1);
    let mut numbers = Vec::new();
    loop {
        let Answer::Outgoing(piece) = pair.source.ask(Command::Outgoing { target: TARGET, limit: 2 }, pair.now) else {
            panic!("no piece")
        };
        let Some(up_to) = piece.end else { break };
        numbers.push(piece.transfers.iter().map(|transfer| transfer.number).collect::<Vec<_>>());
        pair.source.ask(Command::Arrived { target: TARGET, up_to }, pair.now);
    }
    assert_eq!(numbers, [vec![1, 2], vec![3, 4], vec![5]]);
}

#[test]
fn a_transfer_to_what_was_deleted_is_taken_and_counted() {
    let mut pair = Pair::new();
    pair.cause();
    pair.target.ask(Command::DeletePartition { partition: DEAD }, pair.now);
    (0..3).for_each(|step| pair.step(step));
    let piece = pair.piece.take().expect("asked for");
    assert_eq!(piece.transfers.len(), 2);
    let accept = Command::Accept { source: piece.source, up_to: piece.last, transfers: piece.transfers.clone() };
    assert!(matches!(pair.target.ask(accept, pair.now), Answer::Accepted { dropped: 1 }));
    let again = Command::Accept { source: piece.source, up_to: piece.last, transfers: piece.transfers };
    assert!(matches!(pair.target.ask(again, pair.now), Answer::Accepted { dropped: 0 }));
    assert_eq!(pair.held(OTHER), 1);
}
