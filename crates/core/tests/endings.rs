//! Every message comes to an end, once for everybody: random lives of messages that expire by their own time,
//! by their topic's retention, or not before they are acked, over restarts.

mod support;

use proptest::{collection::vec, prelude::*, test_runner::TestCaseError};
use punctual_core::{
    Answer, Command, Due, LeaseRef, NackItem, PartitionId, PublishItem, Retry, SubscriptionRules, SubscriptionStart,
    TopicRules,
};
use punctual_types::{
    ConsumerNumber, DelayMs, Lane, Now, PartitionNumber, Seq, SubscriptionNumber, Time, TimelineId, TopicNumber,
};
use support::house::House;

const TOPIC: PartitionId = PartitionId { topic: TopicNumber(1), partition: PartitionNumber(0) };
const SUBSCRIPTIONS: u32 = 2;
/// Longer than everything that is waited for in a history.
const RETENTION_MS: u64 = 200;
/// When a message expires that names no time, in a topic that keeps everything.
const EXPIRES_MS: u64 = 59;

#[derive(Clone, Debug)]
enum Step {
    Tick(u64),
    Publish {
        delay: u64,
        expires: Option<u64>,
    },
    /// Lines, marks and retention, each once.
    Work,
    Lease {
        subscription: u32,
        max: u32,
        consumer: u64,
    },
    Ack(usize),
    Nack(usize, u64),
    Release(usize),
    Disconnect {
        subscription: u32,
        consumer: u64,
        graceful: bool,
    },
    EndLeases,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let subscription = || 1..=SUBSCRIPTIONS;
    prop_oneof![
        4 => (1u64..20).prop_map(Step::Tick),
        4 => (0u64..30, prop::option::weighted(0.8, 0u64..60))
            .prop_map(|(delay, expires)| Step::Publish { delay, expires }),
        4 => Just(Step::Work),
        4 => (subscription(), 1u32..4, 0u64..2)
            .prop_map(|(subscription, max, consumer)| Step::Lease { subscription, max, consumer }),
        2 => any::<usize>().prop_map(Step::Ack),
        2 => (any::<usize>(), 0u64..40).prop_map(|(pick, delay)| Step::Nack(pick, delay)),
        1 => any::<usize>().prop_map(Step::Release),
        1 => (subscription(), 0u64..2, any::<bool>())
            .prop_map(|(subscription, consumer, graceful)| Step::Disconnect { subscription, consumer, graceful }),
        2 => Just(Step::EndLeases),
        1 => Just(Step::Restart),
    ]
}

struct Life {
    house: House,
    now: Now,
    leases: Vec<LeaseRef>,
    published: u64,
    retention: Option<DelayMs>,
}

impl Life {
    fn new(retention: Option<DelayMs>) -> Self {
        let now = Now::exactly(Time::from_unix_ms(1_000).expect("a time"));
        let mut life = Self { house: House::new(now), now, leases: Vec::new(), published: 0, retention };
        let rules = TopicRules { name: "t".into(), retention, ..TopicRules::default() };
        life.ask(Command::Configure { partition: TOPIC, rules });
        for number in 1..=SUBSCRIPTIONS {
            let rules = SubscriptionRules {
                name: "s".into(),
                lease: DelayMs::from_ms(25),
                retry: Retry { max_attempts: 1000, ..SubscriptionRules::default().retry },
                max_in_flight: 1000,
                paused: false,
                ..SubscriptionRules::default()
            };
            let (subscription, start) = (SubscriptionNumber(number), SubscriptionStart::Earliest);
            life.ask(Command::Subscribe { partition: TOPIC, subscription, rules, start });
        }
        life
    }

    fn ask(&mut self, command: Command) -> Answer {
        let answer = self.house.ask(command, self.now);
        self.house.sync();
        answer
    }

    /// What a worker does by itself; answers whether there was anything.
    fn work(&mut self) -> bool {
        let due: Vec<TimelineId> = self.house.shard.due_timelines(self.now.floor, Seq(u64::MAX));
        let kept = self.house.shard.due_retentions(self.now.floor);
        let any = !due.is_empty() || !kept.is_empty();
        for timeline in due {
            let durable = self.house.durable;
            self.ask(match timeline.lane {
                Lane::Expiry => Command::Expire { timeline },
                _ => Command::Advance { timeline, durable, values: true },
            });
        }
        for timeline in kept {
            self.ask(Command::Retain { timeline });
        }
        while let Some(timeline) = self.house.shard.risen_floor() {
            self.ask(Command::RaiseFloor { timeline });
        }
        any
    }

    fn pick(&self, pick: usize) -> Vec<LeaseRef> {
        self.leases.get(pick % self.leases.len().max(1)).copied().into_iter().collect()
    }

    fn lease(&mut self, subscription: u32, max: u32, consumer: u64) -> Result<(), TestCaseError> {
        let subscription = SubscriptionNumber(subscription);
        let Some((lane, room)) = self.house.shard.offers(TOPIC, subscription, self.now.floor) else { return Ok(()) };
        let answer = self.ask(Command::Lease {
            partition: TOPIC,
            subscription,
            lane,
            consumer: ConsumerNumber(consumer),
            max: max.min(room),
            bytes_max: 1 << 20,
            lease: None,
        });
        let Answer::Leased(leased) = answer else { return Err(TestCaseError::fail(format!("{answer:?}"))) };
        for delivery in leased.deliveries {
            let record = &delivery.record;
            prop_assert!(record.expires_at().is_none_or(|at| at > self.now.floor), "handed out after its end");
            let kept_until = self.retention.map(|retention| record.deliver_at.saturating_add(retention));
            prop_assert!(kept_until.is_none_or(|at| at > self.now.floor), "handed out after the retention");
            self.leases.push(delivery.lease);
        }
        Ok(())
    }

    fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Tick(ms) => self.now = Now::exactly(self.now.floor.saturating_add(DelayMs::from_ms(ms))),
            Step::Publish { delay, expires } => {
                let expires = expires.or((self.retention.is_none()).then_some(EXPIRES_MS));
                let item = PublishItem {
                    due: Due::After(DelayMs::from_ms(delay)),
                    expires_after: expires.map(DelayMs::from_ms),
                    ..PublishItem::default()
                };
                self.ask(Command::Publish { partition: TOPIC, items: vec![item], max_delay: None });
                self.published += 1;
            }
            Step::Work => {
                self.work();
            }
            Step::Lease { subscription, max, consumer } => self.lease(subscription, max, consumer)?,
            Step::Ack(pick) => {
                self.ask(Command::Ack { leases: self.pick(pick) });
            }
            Step::Nack(pick, delay) => {
                let items = self.pick(pick).into_iter().map(|lease| NackItem { lease, random: 0 }).collect();
                self.ask(Command::Nack { items, delay: Some(DelayMs::from_ms(delay)), error: None });
            }
            Step::Release(pick) => {
                self.ask(Command::Release { leases: self.pick(pick) });
            }
            Step::Disconnect { subscription, consumer, graceful } => {
                let (subscription, consumer) = (SubscriptionNumber(subscription), ConsumerNumber(consumer));
                self.ask(Command::Disconnect { partition: TOPIC, subscription, consumer, graceful });
            }
            Step::EndLeases => {
                self.ask(Command::ExpireLeases { limit: 1000 });
            }
            Step::Restart => self.house.restart(self.now),
        }
        Ok(())
    }

    /// Long after the last message nothing is left, and everything was counted.
    fn end(mut self) -> Result<(), TestCaseError> {
        for _ in 0..20 {
            self.take(Step::Tick(RETENTION_MS))?;
            for turn in 0.. {
                self.take(Step::EndLeases)?;
                for subscription in 1..=SUBSCRIPTIONS {
                    self.lease(subscription, 1000, 7)?;
                    self.lease(subscription, 1000, 7)?;
                }
                if !self.work() {
                    break;
                }
                prop_assert!(turn < 100, "there is always something to do");
            }
        }
        let wake = self.house.shard.next_wake(self.house.durable);
        prop_assert_eq!(wake, None, "somebody waits for what does not come");
        let stats = self.house.shard.partition_stats(TOPIC).expect("a partition");
        prop_assert_eq!((stats.scheduled, stats.retained), (0, 0));
        let mut most = 0;
        for subscription in stats.subscriptions {
            let totals = subscription.totals;
            prop_assert_eq!((subscription.ready, subscription.leased, subscription.retrying), (0, 0, 0));
            prop_assert_eq!(totals.acked + totals.expired, self.published, "{:?}", totals);
            most = most.max(totals.expired);
        }
        prop_assert!(stats.totals.expired >= most, "{} of {most} counted", stats.totals.expired);
        prop_assert!(stats.totals.expired <= u64::from(SUBSCRIPTIONS) * self.published);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_message_is_acked_or_expires_once_for_everybody(keeps in any::<bool>(), steps in vec(step(), 1..80)) {
        let mut life = Life::new((!keeps).then_some(DelayMs::from_ms(RETENTION_MS)));
        for step in steps {
            life.take(step)?;
        }
        life.end()?;
    }
}
