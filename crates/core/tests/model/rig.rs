//! The real shard under the same steps, and what must hold after each.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use proptest::{prelude::*, test_runner::TestCaseError};
use punctual_core::{
    Answer, CancelAnswer, Command, Due, MessageHandle, NackItem, PublishAnswer, PublishItem, Retry, SettleAnswer,
    SubscriptionRules, SubscriptionStart, TopicRules, format::MessageRecord,
};
use punctual_types::{
    ConsumerNumber, DelayMs, Lane, MessageRef, Now, Offset, Position, Read, ReadReply, Record, Seq, SubscriptionNumber,
    TimelineId,
};

use super::{
    naive::{self, Copy, DEAD, DEAD_READER, Line, MAIN, Naive, Told},
    step::{Handle, Item, Step, When},
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
}

impl Rig {
    pub(crate) fn new(naive: &Naive) -> Self {
        let mut house = House::new(naive.now);
        for (name, line) in [("main", MAIN), ("dead", DEAD)] {
            let rules = TopicRules {
                name: name.into(),
                dedup_window: DelayMs::from_ms(naive::WINDOW_MS),
                offers_wait_for_sync: true,
            };
            house.ask(Command::Configure { partition: line.into(), rules }, naive.now);
        }
        let mut rig = Self { house, delivered: Vec::new(), over: Over::default(), over_safe: Over::default() };
        rig.subscribe(SubscriptionNumber(1), true, naive.now);
        rig.subscribe(DEAD_READER, true, naive.now);
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
            Step::Subscribe { earliest } => {
                if let Some(number) = before.next_subscription() {
                    self.subscribe(number, *earliest, now);
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
            Step::Lease { subscription, retries, consumer, .. } => {
                self.lease(*subscription, *retries, *consumer, before, after)?;
            }
            Step::CancelRange { from, to, later } => self.cancel_range(before.range(*from, *to, *later), now, after)?,
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

    fn sync(&mut self) {
        self.house.sync();
        self.over_safe = self.over.clone();
    }

    fn subscribe(&mut self, subscription: SubscriptionNumber, earliest: bool, now: Now) {
        let rules = SubscriptionRules {
            name: "reader".into(),
            lease: DelayMs::from_ms(naive::LEASE_MS),
            retry: Retry {
                max_attempts: naive::attempts_max(subscription),
                initial: DelayMs::from_ms(naive::RETRY_INITIAL_MS),
                multiplier: 2.0,
                max: DelayMs::from_ms(naive::RETRY_MAX_MS),
                jitter: 0.0,
            },
            dead_letter_topic: DEAD.topic,
            max_in_flight: naive::IN_FLIGHT_MAX,
            paused: false,
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

    fn lease(&mut self, pick: usize, retries: bool, consumer: u64, before: &Naive, after: &Naive) -> Checked {
        let subscription = before.pick_reader(pick);
        let home = Naive::home(subscription);
        let lane = if retries { Lane::Retry(subscription) } else { Lane::MAIN };
        let Told::Leased(expected) = &after.told else { unreachable!("the model leases") };
        let mut leased = Vec::new();
        while leased.len() < expected.len() {
            let offered = self.house.shard.offers(home.into(), subscription);
            prop_assert!(offered.is_some(), "{subscription:?} has something and offers nothing");
            let command = Command::Lease {
                partition: home.into(),
                subscription,
                lane,
                consumer: ConsumerNumber(consumer),
                max: (expected.len() - leased.len()) as u32,
                bytes_max: 1 << 20,
                lease: None,
            };
            let answer = self.house.ask(command, before.now);
            let Answer::Leased(some) = answer else { return wrong(&answer) };
            prop_assert!(some.progressed && some.damaged.is_empty(), "the reader stands still");
            for delivery in some.deliveries {
                let message = delivery.record.message;
                prop_assert!(delivery.due <= before.now.floor && delivery.record.deliver_at <= before.now.floor);
                prop_assert!(delivery.offered_at >= delivery.due && delivery.offered_at <= before.now.floor);
                prop_assert!(!self.over.acked.contains(&(subscription, message)), "{message:?} was acked");
                prop_assert!(!self.over.cancelled.contains(&message), "{message:?} was cancelled");
                prop_assert_eq!(Some(&delivery.lease), after.receipts.get(self.delivered.len()));
                self.delivered.push(message);
                leased.push((delivery.lease.offset, message, delivery.attempt.0));
            }
        }
        prop_assert_eq!(&leased, expected);
        Ok(())
    }

    fn cancel_range(&mut self, range: (Position, Position, Seq), now: Now, after: &Naive) -> Checked {
        let (mut from, to, seq_max) = range;
        let mut all = 0;
        loop {
            let command = Command::CancelRange { timeline: MAIN, after: from, to, seq_max };
            let answer = self.house.ask(command, now);
            let Answer::RangeCancelled { cancelled, next } = answer else { return wrong(&answer) };
            all += cancelled;
            let Some(next) = next else { break };
            from = next;
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
        let line = &after.lines[&MAIN];
        let offset = line.crossed.iter().position(|(position, _)| *position == after.messages[index].stands);
        for progress in found.subscriptions {
            let (Some(offset), Some(reader)) = (offset, after.readers.get(&progress.subscription)) else {
                return Err(TestCaseError::fail("progress of what has not crossed, or of nobody"));
            };
            let reading = &reader.lanes[&Lane::MAIN];
            prop_assert_eq!(progress.settled, reading.is_settled(offset));
            prop_assert_eq!(progress.leased, reading.held.contains_key(&offset));
        }
        Ok(())
    }

    /// What must hold after every step.
    fn check(&self, naive: &Naive) -> Checked {
        self.check_counts(naive)?;
        for (id, line) in &naive.lines {
            self.check_line(*id, line, naive)?;
        }
        let end = naive.next_end();
        let due = naive.lines.values().filter_map(|line| line.ahead.keys().next()).map(|it| it.due.unix_ms()).min();
        let wake = self.house.shard.next_wake(Seq(u64::MAX)).map(punctual_types::Time::unix_ms);
        let latest = [end, due].into_iter().flatten().min();
        prop_assert!(
            latest.is_none() || wake.is_some_and(|wake| Some(wake) <= latest),
            "sleeps to {wake:?}, {latest:?} is due"
        );
        prop_assert!(self.house.shard.time() <= naive.now.floor);
        Ok(())
    }

    fn check_counts(&self, naive: &Naive) -> Checked {
        for (line, cancelled) in [(MAIN, naive.cancelled), (DEAD, 0)] {
            let stats = self.house.shard.partition_stats(line.into()).expect("it was configured");
            let model = &naive.lines[&line];
            prop_assert_eq!(stats.scheduled, model.ahead.len() as u64, "scheduled");
            prop_assert_eq!(stats.retained, (model.crossed.len() - model.floor) as u64, "retained");
            prop_assert_eq!(stats.totals.published, naive.published.get(&line.topic).copied().unwrap_or(0));
            prop_assert_eq!(stats.totals.cancelled, cancelled);
            let readers: Vec<_> = naive.readers.iter().filter(|(number, _)| Naive::home(**number) == line).collect();
            prop_assert_eq!(stats.subscriptions.len(), readers.len());
            for (counted, (number, reader)) in stats.subscriptions.iter().zip(readers) {
                let of = |lane: &Lane| naive.lines.get(&line.lane(*lane));
                let ready = reader.lanes.iter().filter_map(|(lane, it)| Some(it.ready(of(lane)?).len())).sum::<usize>();
                let retrying = of(&Lane::Retry(*number)).map_or(0, |line| line.ahead.len());
                prop_assert_eq!(counted.subscription, *number);
                prop_assert_eq!(counted.ready, ready as u64, "ready");
                prop_assert_eq!(counted.leased, u64::from(reader.held()), "leased");
                prop_assert_eq!(counted.retrying, retrying as u64, "retrying");
                // A crash may lose the last deliveries from their count, and only from that.
                prop_assert!(counted.totals.delivered <= reader.delivered);
                let totals = (counted.totals.acked, counted.totals.failed, counted.totals.retried, counted.totals.dead);
                prop_assert_eq!(totals, (reader.acked, reader.failed, reader.retried, reader.dead));
                let may_offer = ready > 0 && reader.held() < naive::IN_FLIGHT_MAX;
                let offered = self.house.shard.offers(line.into(), *number);
                prop_assert_eq!(offered.is_some(), may_offer, "offers");
                if let Some((lane, room)) = offered {
                    prop_assert_eq!(room, naive::IN_FLIGHT_MAX - reader.held());
                    prop_assert!(!reader.lanes[&lane].ready(of(&lane).expect("it is read")).is_empty());
                }
            }
        }
        Ok(())
    }

    /// The store has exactly what the model has, byte for byte, and the same offsets.
    fn check_line(&self, id: TimelineId, line: &Line, naive: &Naive) -> Checked {
        let window = Read::Window {
            timeline: id,
            after: Position::MIN,
            to: Position::MAX,
            limit: u32::MAX,
            bytes_max: u64::MAX,
            values: true,
        };
        let kept = line.crossed.iter().skip(line.floor);
        let offsets = kept.clone().map(|(position, _)| Read::OffsetOf { timeline: id, position: *position });
        let mut replies = self.house.read([window].into_iter().chain(offsets).collect()).into_iter();
        let Some(ReadReply::Records(records)) = replies.next() else { unreachable!("a window answers records") };
        let expected: Vec<(Position, Copy)> =
            kept.copied().chain(line.ahead.iter().map(|(position, copy)| (*position, *copy))).collect();
        prop_assert_eq!(records.len(), expected.len(), "records of {:?}", id);
        for (record, (position, copy)) in records.iter().zip(&expected) {
            check_record(record, *position, *copy, naive)?;
        }
        for (offset, reply) in (line.floor..).zip(replies) {
            prop_assert_eq!(reply, ReadReply::Offset(Some(Offset(offset as u64))));
        }
        prop_assert_eq!(self.house.shard.line(id).unwrap_or(Position::MIN), line.position());
        Ok(())
    }
}

fn check_record(record: &Record, position: Position, copy: Copy, naive: &Naive) -> Checked {
    prop_assert_eq!(record.position, position);
    let stored = MessageRecord::decode(record.value.clone()).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let message = &naive.messages[copy.message];
    prop_assert_eq!(stored.message, message.id);
    prop_assert_eq!(&stored.body, &body(copy.message));
    prop_assert_eq!(&stored.key, &message.key.map(key));
    prop_assert_eq!(stored.published_at.unix_ms(), message.published_at);
    prop_assert_eq!(stored.deliver_at, message.stands.due);
    prop_assert_eq!(stored.attempts, copy.attempts);
    prop_assert_eq!(stored.dead_letter.is_some(), copy.dead);
    Ok(())
}

/// The command of a step that reads no windows.
fn command(step: &Step, told: &Told, before: &Naive, bodies: &mut usize) -> Option<Command> {
    let partition = MAIN.into();
    Some(match step {
        Step::Publish(items) => {
            let Told::Published(answers) = told else { unreachable!("the model publishes") };
            let items = items.iter().zip(answers).map(|(item, answer)| publish_item(item, answer, before, bodies));
            Command::Publish { partition, items: items.collect(), max_delay: None }
        }
        Step::Ack(picks) => Command::Ack { leases: before.pick_receipts(picks) },
        Step::Nack { receipts, delay } => {
            let leases = before.pick_receipts(receipts).into_iter();
            let items = leases.map(|lease| NackItem { lease, random: 0 }).collect();
            Command::Nack { items, delay: delay.map(DelayMs::from_ms), error: Some("no".into()) }
        }
        Step::Release(picks) => Command::Release { leases: before.pick_receipts(picks) },
        Step::Extend { receipts, ms } => {
            Command::Extend { leases: before.pick_receipts(receipts), lease: DelayMs::from_ms(*ms) }
        }
        Step::Expire { limit } => Command::ExpireLeases { limit: *limit },
        Step::Disconnect { subscription, consumer, graceful } => {
            let subscription = before.pick_reader(*subscription);
            let (partition, consumer) = (Naive::home(subscription).into(), ConsumerNumber(*consumer));
            Command::Disconnect { partition, subscription, consumer, graceful: *graceful }
        }
        Step::Cancel(handle) => Command::Cancel { partition, handle: handle_of(*handle, before)? },
        Step::Reschedule(handle, when) => {
            let (handle, due) = (handle_of(*handle, before)?, due(*when, before.now));
            Command::Reschedule { partition, handle, due, max_delay: None }
        }
        Step::DeliverNow(handle) => Command::DeliverNow { partition, handle: handle_of(*handle, before)? },
        other => unreachable!("{other:?} is asked for alone"),
    })
}

fn publish_item(item: &Item, answer: &PublishAnswer, before: &Naive, bodies: &mut usize) -> PublishItem {
    let body = body(*bodies);
    if matches!(answer, PublishAnswer::Accepted { .. } | PublishAnswer::Replaced { .. }) {
        *bodies += 1;
    }
    PublishItem {
        due: due(item.when, before.now),
        body,
        key: item.key.map(key),
        on_conflict: item.on_conflict,
        dedup_id: item.dedup.map(|dedup| format!("dedup-{dedup}")),
        ordering_key: None,
        tag: None,
        headers: Vec::new(),
    }
}

fn told_by(answer: Answer) -> Checked<Told> {
    Ok(match answer {
        Answer::Published(answers) => Told::Published(answers),
        Answer::Settled(answers) => Told::Settled(answers),
        Answer::Nacked(answers) => Told::Nacked(answers),
        Answer::Extended(answers) => Told::Extended(answers),
        Answer::Returned(returned) => Told::Returned(returned.into_iter().map(|(_, number)| number).collect()),
        Answer::Cancelled(answer) => Told::Cancelled(answer),
        Answer::Rescheduled(Ok(answer)) => Told::Rescheduled(answer),
        Answer::DeliveredNow(answer) => Told::DeliveredNow(answer),
        other => return wrong(&other),
    })
}

fn wrong<T>(answer: &Answer) -> Checked<T> {
    Err(TestCaseError::fail(format!("an answer to something else: {answer:?}")))
}

fn body(number: usize) -> Bytes {
    Bytes::from(format!("message {number}"))
}

fn key(number: u8) -> String {
    format!("key-{number}")
}

fn due(when: When, now: Now) -> Due {
    match when {
        When::Now => Due::Now,
        When::After(ms) => Due::After(DelayMs::from_ms(ms)),
        When::At(offset) => {
            let at = now.floor.unix_ms().checked_add_signed(offset).expect("time begins late enough");
            Due::At(naive::time(at))
        }
    }
}

/// `None` for the id of a message when there is none yet: nothing is asked then.
fn handle_of(handle: Handle, naive: &Naive) -> Option<MessageHandle> {
    Some(match handle {
        Handle::Id(pick) => MessageHandle::Message(naive.messages[naive.pick_message(pick)?].id),
        Handle::Key(number) => MessageHandle::Key(House::hash().of(key(number).as_bytes())),
    })
}
