//! Steps as commands, and answers as the model tells them.

use bytes::Bytes;
use punctual_core::{Answer, Command, Due, MessageHandle, NackItem, PublishAnswer, PublishItem};
use punctual_types::{ConsumerNumber, DelayMs, Now};

use super::{
    super::{
        naive::{self, MAIN, Naive, Told},
        step::{Handle, Item, Step, When},
    },
    Checked, wrong,
};
use crate::support::house::House;

/// The command of a step that reads no windows.
pub(super) fn command(step: &Step, told: &Told, before: &Naive, bodies: &mut usize) -> Option<Command> {
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

pub(super) fn publish_item(item: &Item, answer: &PublishAnswer, before: &Naive, bodies: &mut usize) -> PublishItem {
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
        ordering_key: item.order.map(|order| format!("order-{order}")),
        tag: item.tag.map(|tag| format!("tag-{tag}")),
        priority: item.priority,
        ..PublishItem::default()
    }
}

pub(super) fn told_by(answer: Answer) -> Checked<Told> {
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

pub(super) fn body(number: usize) -> Bytes {
    Bytes::from(format!("message {number}"))
}

pub(super) fn key(number: u8) -> String {
    format!("key-{number}")
}

pub(super) fn due(when: When, now: Now) -> Due {
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
pub(super) fn handle_of(handle: Handle, naive: &Naive) -> Option<MessageHandle> {
    Some(match handle {
        Handle::Id(pick) => MessageHandle::Message(naive.messages[naive.pick_message(pick)?].id),
        Handle::Key(number) => MessageHandle::Key(House::hash().of(key(number).as_bytes())),
    })
}
