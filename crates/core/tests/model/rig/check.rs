//! What must hold after every step: counts, deadlines, and every stored byte.

use proptest::{prelude::*, test_runner::TestCaseError};
use punctual_core::{SubscriptionStats, format::MessageRecord};
use punctual_types::{Lane, Offset, Position, Read, ReadReply, Record, Seq, SubscriptionNumber, Time, TimelineId};

use super::{
    super::naive::{self, Copy, DEAD, Line, MAIN, Naive, Reader},
    Checked, Rig,
    command::{body, key},
};

impl Rig {
    /// What must hold after every step.
    pub(super) fn check(&self, naive: &Naive) -> Checked {
        self.check_counts(naive)?;
        for (id, line) in &naive.lines {
            self.check_line(*id, line, naive)?;
        }
        let end = naive.next_end();
        let parked = naive.all_parked().first().map(|(until, ..)| *until);
        let due = naive.lines.values().filter_map(|line| line.ahead.keys().next()).map(|it| it.due.unix_ms()).min();
        let wake = self.house.shard.next_wake(Seq(u64::MAX)).map(Time::unix_ms);
        let latest = [end, due, parked].into_iter().flatten().min();
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
            let lanes = naive.lines.iter().filter(|(id, _)| id.topic == line.topic);
            let lanes = lanes.filter(|(id, _)| matches!(id.lane, Lane::Priority(_))).map(|(_, line)| line);
            let ahead = lanes.clone().map(|line| line.ahead.len() as u64).sum::<u64>();
            let retained = lanes.map(|line| (line.crossed.len() - line.floor) as u64).sum::<u64>();
            prop_assert_eq!(stats.scheduled, ahead, "scheduled");
            prop_assert_eq!(stats.retained, retained, "retained");
            prop_assert_eq!(stats.totals.published, naive.published.get(&line.topic).copied().unwrap_or(0));
            prop_assert_eq!(stats.totals.cancelled, cancelled);
            let readers: Vec<_> = naive.readers.iter().filter(|(number, _)| Naive::home(**number) == line).collect();
            prop_assert_eq!(stats.subscriptions.len(), readers.len());
            for (counted, (number, reader)) in stats.subscriptions.iter().zip(readers) {
                self.check_reader(line, *number, reader, counted, naive)?;
            }
        }
        Ok(())
    }

    fn check_reader(
        &self,
        line: TimelineId,
        number: SubscriptionNumber,
        reader: &Reader,
        counted: &SubscriptionStats,
        naive: &Naive,
    ) -> Checked {
        let of = |lane: &Lane| naive.lines.get(&line.lane(*lane));
        let ready_on = |lane: &Lane| of(lane).map(|line| reader.lanes[lane].ready(line)).unwrap_or_default();
        let waits = |lane: Lane, offset: &usize| naive.waits(number, line.lane(lane), *offset);
        let goes_on = |lane: &Lane| ready_on(lane).iter().filter(|offset| !waits(*lane, offset)).count();
        let ready = reader.lanes.keys().map(|lane| ready_on(lane).len()).sum::<usize>() as u64;
        let goes = reader.lanes.keys().map(goes_on).sum::<usize>() as u64;
        let parked = reader.lanes.values().map(|reading| reading.parked.len()).sum::<usize>();
        let retrying = of(&Lane::Retry(number)).map_or(0, |line| line.ahead.len());
        prop_assert_eq!(counted.subscription, number);
        // Who waits for another of its key is known once it was read.
        prop_assert!((goes..=ready).contains(&counted.ready), "ready {}, not {goes} to {ready}", counted.ready);
        prop_assert_eq!(counted.leased, u64::from(reader.held()), "leased");
        prop_assert_eq!(counted.retrying, (retrying + parked) as u64, "retrying");
        // A crash may lose the last deliveries from their count, and only from that.
        prop_assert!(counted.totals.delivered <= reader.delivered);
        let totals = counted.totals;
        prop_assert_eq!(
            (totals.acked, totals.failed, totals.retried, totals.dead, totals.filtered),
            (reader.acked, reader.failed, reader.retried, reader.dead, reader.filtered)
        );
        let has_room = reader.held() < naive::IN_FLIGHT_MAX;
        let offered = self.house.shard.offers(line.into(), number, naive.now.floor);
        prop_assert!(offered.is_some() || goes == 0 || !has_room, "something waits and is not offered");
        let Some((lane, room)) = offered else { return Ok(()) };
        prop_assert!(ready > 0 && has_room, "nothing waits and is offered");
        prop_assert_eq!(room, naive::IN_FLIGHT_MAX - reader.held());
        prop_assert!(!ready_on(&lane).is_empty());
        if let Lane::Priority(priority) = lane {
            let higher = reader.lanes.keys().filter(|it| matches!(it, Lane::Priority(it) if *it > priority));
            prop_assert_eq!(higher.map(goes_on).sum::<usize>(), 0, "a higher priority waits");
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
