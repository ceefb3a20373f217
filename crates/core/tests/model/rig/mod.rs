//! The real shard under the same steps, and what must hold after each.

mod check;
mod command;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proptest::{prelude::*, test_runner::TestCaseError};
use punctual_core::{
    Answer, CancelAnswer, Command, Filter, Retry, SettleAnswer, SubscriptionKind, SubscriptionRules, SubscriptionStart,
    TopicPlace, TopicRules,
};
use punctual_types::{Batch, ConsumerNumber, DelayMs, Lane, MessageRef, Now, Position, Seq, SubscriptionNumber};

use self::command::{body, command, handle_of, told_by};
use super::{
    naive::{self, DEAD, DEAD_READER, Kind, MAIN, Naive, Told, WANTED_TAG},
    step::{Handle, Step},
};
use crate::support::house::House;

type Checked<T = ()> = Result<T, TestCaseError>;

/// What must never be delivered again.
#[derive(Clone, Default)]
struct Over {
    acked: BTreeSet<(SubscriptionNumber, MessageRef)>,
    cancelled: BTreeSet<MessageRef>,
}

/// The shard, and what is remembered of its answers apart from the model.
pub(crate) struct Rig {
    house: House,
    /// Which message each receipt was given out for.
    delivered: Vec<MessageRef>,
    over: Over,
    /// The same as far as a crash leaves it.
    over_safe: Over,
    /// Subscriptions that were moved: they may have a message several times, as itself and as
    /// retries, so that one ack does not end it. The model alone speaks for them.
    sought: BTreeSet<SubscriptionNumber>,
}

impl Rig {
    pub(crate) fn new(naive: &Naive) -> Self {
        let mut house = House::new(naive.now);
        for (name, line) in [("main", MAIN), ("dead", DEAD)] {
            let rules = TopicRules {
                name: name.into(),
                dedup_window: DelayMs::from_ms(naive::WINDOW_MS),
                ..TopicRules::default()
            };
            house.ask(Command::Configure { partition: line.into(), rules }, naive.now);
        }
        let mut rig = Self {
            house,
            delivered: Vec::new(),
            over: Over::default(),
            over_safe: Over::default(),
            sought: BTreeSet::new(),
        };
        rig.subscribe(SubscriptionNumber(1), Kind::Plain, true, naive.now);
        rig.subscribe(DEAD_READER, Kind::Plain, true, naive.now);
        rig.sync();
        rig
    }

    /// Takes a step; `before` and `after` are the model around it.
    pub(crate) fn take(&mut self, step: &Step, before: &Naive, after: &Naive) -> Checked {
        let now = before.now;
        match step {
            Step::Tick { .. } => {}
            Step::Group(steps) => {
                let Told::Group(told) = &after.told else { unreachable!("the model takes groups") };
                self.group(steps, told, before)?;
            }
            Step::Publish(_)
            | Step::Ack(_)
            | Step::Nack { .. }
            | Step::Release(_)
            | Step::Extend { .. }
            | Step::Expire { .. }
            | Step::Disconnect { .. }
            | Step::Cancel(_)
            | Step::Reschedule(..)
            | Step::DeliverNow(_) => {
                self.group(std::slice::from_ref(step), std::slice::from_ref(&after.told), before)?
            }
            Step::Advance { undurable, values } => self.advance(*undurable, *values, before, after)?,
            Step::Subscribe { earliest, kind } => {
                if let Some(number) = before.next_subscription() {
                    self.subscribe(number, *kind, *earliest, now);
                }
                self.sync();
            }
            Step::Unsubscribe(pick) => {
                let subscription = before.pick_reader(*pick);
                if subscription != DEAD_READER {
                    self.house.ask(Command::Unsubscribe { partition: MAIN.into(), subscription }, now);
                }
                self.sync();
            }
            Step::Lease { .. } => self.lease(step, before, after)?,
            Step::CancelRange { from, to, later } => {
                self.cancel_range(before.range(*from, *to, *later), before, after)?;
            }
            Step::Seek { subscription, to } => {
                let subscription = before.pick_reader(*subscription);
                let (partition, to) = (Naive::home(subscription).into(), before.seek_time(*to));
                let answer = self.house.ask(Command::Seek { partition, subscription, to }, now);
                prop_assert!(matches!(answer, Answer::Done), "{:?}", answer);
                self.sought.insert(subscription);
            }
            Step::Get(handle) => self.get(*handle, before, after)?,
            Step::Sync => self.sync(),
            Step::Restart => {
                self.house.restart(now);
                self.over_safe = self.over.clone();
            }
            Step::Crash => {
                self.house.crash(now);
                self.over = self.over_safe.clone();
            }
        }
        self.check(after)
    }

    /// Every batch that was committed.
    pub(super) fn written(self) -> Vec<Batch> {
        self.house.batches
    }

    fn sync(&mut self) {
        self.house.sync();
        self.over_safe = self.over.clone();
    }

    fn subscribe(&mut self, subscription: SubscriptionNumber, kind: Kind, earliest: bool, now: Now) {
        let rules = SubscriptionRules {
            kind: SubscriptionKind::Shared,
            name: "reader".into(),
            lease: DelayMs::from_ms(naive::LEASE_MS),
            retry: Retry {
                max_attempts: naive::attempts_max(subscription),
                initial: DelayMs::from_ms(naive::RETRY_INITIAL_MS),
                multiplier: 2.0,
                max: DelayMs::from_ms(naive::RETRY_MAX_MS),
                jitter: 0.0,
            },
            dead_letters: TopicPlace::of(DEAD.topic, 1),
            max_in_flight: naive::IN_FLIGHT_MAX,
            paused: false,
            filter: (kind == Kind::Filtered).then(|| {
                let filter = format!("tag-{WANTED_TAG} || tag-never");
                Arc::new(Filter::parse(&filter).expect("a filter"))
            }),
            ordered: kind == Kind::Ordered,
            breaker: None,
            pace: None,
        };
        let start = if earliest { SubscriptionStart::Earliest } else { SubscriptionStart::Latest };
        let partition = Naive::home(subscription).into();
        self.house.ask(Command::Subscribe { partition, subscription, rules, start }, now);
    }

    /// Asks for several things at once and compares each answer.
    fn group(&mut self, steps: &[Step], told: &[Told], before: &Naive) -> Checked {
        let mut bodies = before.messages.len();
        let commands: Vec<_> =
            steps.iter().zip(told).map(|(step, told)| command(step, told, before, &mut bodies)).collect();
        // The id of a message when there is none yet: nothing is asked then.
        let asked: Vec<_> = commands.iter().map(Option::is_some).collect();
        let mut answers = self.house.ask_all(commands.into_iter().flatten().collect(), before.now).into_iter();
        for ((step, expected), asked) in steps.iter().zip(told).zip(asked) {
            if !asked {
                continue;
            }
            let answer = told_by(answers.next().expect("an answer each"))?;
            prop_assert_eq!(&answer, expected, "{:?}", step);
            self.note_over(step, &answer, before);
        }
        Ok(())
    }

    fn note_over(&mut self, step: &Step, answer: &Told, before: &Naive) {
        match (step, answer) {
            (Step::Ack(picks), Told::Settled(answers)) => {
                for (lease, answer) in before.pick_receipts(picks).iter().zip(answers) {
                    let place = before.receipts.iter().position(|receipt| receipt == lease).expect("it was given out");
                    if *answer == SettleAnswer::Done {
                        self.over.acked.insert((lease.subscription, self.delivered[place]));
                    }
                }
            }
            (Step::Cancel(Handle::Id(pick)), Told::Cancelled(CancelAnswer::Cancelled)) => {
                self.over.cancelled.extend(before.pick_message(*pick).map(|index| before.messages[index].id));
            }
            _ => {}
        }
    }

    fn advance(&mut self, undurable: u64, values: bool, before: &Naive, after: &Naive) -> Checked {
        // Whatever would cross if everything were durable must be told to the runtime.
        let due: BTreeSet<_> = self.house.shard.due_timelines(before.now.floor, Seq(u64::MAX)).into_iter().collect();
        for (id, line) in &before.lines {
            let is_due = line.ahead.keys().next().is_some_and(|first| first.due <= before.now.floor);
            prop_assert!(!is_due || due.contains(id), "{id:?} is due and nobody is told");
        }
        let durable = Seq(before.last_seq.0.saturating_sub(undurable));
        let mut all = BTreeMap::new();
        for timeline in before.lines.keys().copied() {
            let answer = self.house.ask(Command::Advance { timeline, durable, values }, before.now);
            let Answer::Crossed(crossed) = answer else { return wrong(&answer) };
            prop_assert!(!crossed.more);
            let positions: Vec<_> = crossed.records.iter().map(|record| record.position).collect();
            for position in &positions {
                prop_assert!(position.due <= before.now.floor, "{position:?} crossed early");
            }
            if !positions.is_empty() {
                all.insert(timeline, (crossed.first, positions));
            }
        }
        prop_assert_eq!(Told::Crossed(all), after.told.clone());
        Ok(())
    }

    fn lease(&mut self, step: &Step, before: &Naive, after: &Naive) -> Checked {
        let Step::Lease { subscription, retries, max, consumer } = step else { unreachable!("it leases") };
        let subscription = before.pick_reader(*subscription);
        let home = Naive::home(subscription);
        let lane = if *retries { Lane::Retry(subscription) } else { before.fresh_lane(subscription) };
        let Told::Leased(expected) = &after.told else { unreachable!("the model leases") };
        let mut leased = Vec::new();
        // Until there is as much as was asked for, or nothing more is offered.
        while leased.len() < *max as usize {
            let offered = self.house.shard.offers(home.into(), subscription, before.now.floor);
            prop_assert!(offered.is_some() || leased.len() >= expected.len(), "{subscription:?} offers nothing more");
            let Some((_, room)) = offered else { break };
            let command = Command::Lease {
                partition: home.into(),
                subscription,
                lane,
                consumer: ConsumerNumber(*consumer),
                max: room.min(*max - leased.len() as u32),
                // One consumer takes a message at a time, the other as many as there are.
                bytes_max: 1 + (consumer << 20),
                lease: None,
            };
            let answer = self.house.ask(command, before.now);
            if matches!(answer, Answer::Gone) {
                break;
            }
            let Answer::Leased(some) = answer else { return wrong(&answer) };
            prop_assert!(some.damaged.is_empty());
            if !some.progressed {
                break;
            }
            for delivery in some.deliveries {
                let message = delivery.record.message;
                prop_assert!(delivery.due <= before.now.floor && delivery.record.deliver_at <= before.now.floor);
                prop_assert!(delivery.offered_at >= delivery.due && delivery.offered_at <= before.now.floor);
                let acked = self.over.acked.contains(&(subscription, message)) && !self.sought.contains(&subscription);
                prop_assert!(!acked, "{message:?} was acked");
                prop_assert!(!self.over.cancelled.contains(&message), "{message:?} was cancelled");
                prop_assert_eq!(Some(&delivery.lease), after.receipts.get(self.delivered.len()));
                self.delivered.push(message);
                leased.push((delivery.lease.offset, message, delivery.attempt.0));
            }
        }
        prop_assert_eq!(&leased, expected);
        Ok(())
    }

    fn cancel_range(&mut self, range: (Position, Position, Seq), before: &Naive, after: &Naive) -> Checked {
        let (from, to, seq_max) = range;
        let mut all = 0;
        let answer = self.house.ask(Command::Lines { partition: MAIN.into() }, before.now);
        let Answer::Lines { lines, .. } = answer else { return wrong(&answer) };
        for (timeline, _) in lines {
            let mut from = from;
            loop {
                let command = Command::CancelRange { timeline, after: from, to, seq_max };
                let answer = self.house.ask(command, before.now);
                let Answer::RangeCancelled { cancelled, next } = answer else { return wrong(&answer) };
                all += cancelled;
                let Some(next) = next else { break };
                from = next;
            }
        }
        prop_assert_eq!(Told::RangeCancelled(all), after.told.clone());
        Ok(())
    }

    fn get(&mut self, handle: Handle, before: &Naive, after: &Naive) -> Checked {
        let Some(handle) = handle_of(handle, before) else { return Ok(()) };
        let answer = self.house.ask(Command::Get { partition: MAIN.into(), handle }, before.now);
        let Answer::Found(found) = answer else { return wrong(&answer) };
        let Told::Found(expected) = after.told else { unreachable!("the model looks") };
        let told = found.as_ref().map(|found| (found.message, found.scheduled));
        prop_assert_eq!(told, expected.map(|(index, scheduled)| (after.messages[index].id, scheduled)));
        let (Some(found), Some((index, _))) = (found, expected) else { return Ok(()) };
        prop_assert_eq!(&found.record.body, &body(index));
        let id = after.messages[index].id.timeline();
        let line = &after.lines[&id];
        let offset = line.crossed.iter().position(|(position, _)| *position == after.messages[index].stands);
        for progress in found.subscriptions {
            let (Some(offset), Some(reader)) = (offset, after.readers.get(&progress.subscription)) else {
                return Err(TestCaseError::fail("progress of what has not crossed, or of nobody"));
            };
            let reading = &reader.lanes[&id.lane];
            prop_assert_eq!(progress.settled, reading.is_settled(offset));
            prop_assert_eq!(progress.leased, reading.held.contains_key(&offset));
        }
        Ok(())
    }
}

fn wrong<T>(answer: &Answer) -> Checked<T> {
    Err(TestCaseError::fail(format!("an answer to something else: {answer:?}")))
}
