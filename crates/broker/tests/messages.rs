//! Keys, dedup ids, cancel, reschedule, looking.

mod support;

use futures_util::StreamExt as _;
use punctual_broker_api::{
    Broker as _, CancelOutcome, Code, DeliverNowOutcome, ListRequest, MessageState, NewMessage, OnConflict,
    PublishStatus, RescheduleOutcome, SubscriptionMessageState, TimeRange, TimelineRequest, When,
};
use support::*;

fn keyed(body: &str, key: &str, on_conflict: OnConflict) -> NewMessage {
    NewMessage { key: Some(key.to_owned()), on_conflict, ..after(body, secs(60)) }
}

fn list(limit: u32) -> ListRequest {
    ListRequest {
        topic: topic("t"),
        range: TimeRange::default(),
        key_prefix: None,
        limit,
        cursor: None,
        with_body: true,
    }
}

#[test]
fn a_key_is_taken_while_its_message_is_scheduled_and_free_once_that_is_due() {
    run(async {
        let rig = Rig::new().await;
        let first = rig.publish("t", keyed("a", "k", OnConflict::Reject)).await;
        let refused = rig.try_publish("t", keyed("b", "k", OnConflict::Reject)).await.expect_err("taken");
        assert_eq!((refused.code, refused.field.as_deref()), (Code::KeyConflict, Some("key")));
        assert!(refused.message.contains(first.id.as_str()));
        let kept = rig.publish("t", keyed("b", "k", OnConflict::Keep)).await;
        assert_eq!((kept.status, kept.id, kept.deliver_at), (PublishStatus::Kept, first.id.clone(), first.deliver_at));
        rig.advance(secs(60)).await;
        let next = rig.publish("t", keyed("c", "k", OnConflict::Reject)).await;
        assert_eq!(next.status, PublishStatus::Accepted);
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["a"]);
    });
}

#[test]
fn replacing_leaves_one_message_pending_however_often_it_is_done() {
    run(async {
        let rig = Rig::new().await;
        let first = rig.publish("t", keyed("0", "k", OnConflict::Replace)).await;
        let mut last = first.clone();
        for n in 1..5 {
            let next = rig.publish("t", keyed(&n.to_string(), "k", OnConflict::Replace)).await;
            assert_eq!(next.status, PublishStatus::Replaced { replaced_id: last.id.clone() });
            last = next;
        }
        let stats = rig.stats("t").await;
        assert_eq!((stats.scheduled, stats.cancelled_total), (1, 4));
        rig.advance(secs(3600)).await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["4"]);
        assert_eq!(rig.broker.cancel(topic("t"), rig.id(&first.id)).await, Ok(CancelOutcome::NotFound));
        assert_eq!(rig.broker.cancel(topic("t"), rig.id(&last.id)).await, Ok(CancelOutcome::TooLate));
    });
}

#[test]
fn a_dedup_id_stores_one_message_and_answers_with_the_first() {
    run(async {
        let rig = Rig::new().await;
        let message = |body: &str| NewMessage { dedup_id: Some("d".into()), ..after(body, secs(5)) };
        let first = rig.publish("t", message("a")).await;
        let rig = rig.crash().await;
        let second = rig.publish("t", message("b")).await;
        assert_eq!(
            (second.status, &second.id, second.deliver_at),
            (PublishStatus::Duplicate, &first.id, first.deliver_at)
        );
        rig.advance(secs(5)).await;
        rig.receive("t/s", 10).await;
        rig.advance(ms(600_000 - 5_000 - 1)).await;
        assert_eq!(rig.publish("t", message("c")).await.status, PublishStatus::Duplicate);
        rig.advance(ms(1)).await;
        assert_eq!(rig.publish("t", message("d")).await.status, PublishStatus::Accepted);
    });
}

#[test]
fn the_id_of_a_duplicates_answer_cancels_the_one_message() {
    run(async {
        let rig = Rig::new().await;
        let message = NewMessage { dedup_id: Some("d".into()), ..after("a", secs(5)) };
        rig.publish("t", message.clone()).await;
        let second = rig.publish("t", message).await;
        assert_eq!(rig.broker.cancel(topic("t"), rig.id(&second.id)).await, Ok(CancelOutcome::Cancelled));
        rig.advance(secs(5)).await;
        assert!(rig.receive("t/s", 10).await.is_empty());
    });
}

#[test]
fn a_cancel_is_answered_the_same_for_ten_minutes_also_over_a_crash() {
    run(async {
        let rig = Rig::new().await;
        let published = rig.publish("t", keyed("x", "k", OnConflict::Reject)).await;
        assert_eq!(rig.broker.cancel(topic("t"), by_key("k")).await, Ok(CancelOutcome::Cancelled));
        let rig = rig.crash().await;
        for handle in [rig.id(&published.id), by_key("k")] {
            assert_eq!(rig.broker.cancel(topic("t"), handle).await, Ok(CancelOutcome::Cancelled));
        }
        rig.advance(ms(599_999)).await;
        assert_eq!(rig.broker.cancel(topic("t"), by_key("k")).await, Ok(CancelOutcome::Cancelled));
        assert!(rig.receive("t/s", 10).await.is_empty());
        rig.advance(secs(61)).await;
        for handle in [rig.id(&published.id), by_key("k")] {
            assert_eq!(rig.broker.cancel(topic("t"), handle).await, Ok(CancelOutcome::NotFound));
        }
    });
}

#[test]
fn cancelling_what_was_delivered_is_too_late_and_what_never_was_is_not_found() {
    run(async {
        let rig = Rig::new().await;
        let published = rig.publish("t", message("x")).await;
        let got = rig.receive("t/s", 1).await;
        assert_eq!(rig.broker.cancel(topic("t"), rig.id(&published.id)).await, Ok(CancelOutcome::TooLate));
        rig.ack("t/s", &got).await;
        assert_eq!(rig.broker.cancel(topic("t"), rig.id(&published.id)).await, Ok(CancelOutcome::TooLate));
        rig.publish("other", message("y")).await;
        assert_eq!(rig.broker.cancel(topic("other"), rig.id(&published.id)).await, Ok(CancelOutcome::NotFound));
        let made_up = punctual_broker_api::MessageId::new("AQAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(rig.broker.cancel(topic("t"), rig.id(&made_up)).await, Ok(CancelOutcome::NotFound));
        assert_eq!(rig.broker.cancel(topic("t"), by_key("never")).await, Ok(CancelOutcome::NotFound));
    });
}

#[test]
fn a_rescheduled_message_keeps_its_id_and_is_delivered_at_the_new_time_only() {
    run(async {
        let rig = Rig::new().await;
        let published = rig.publish("t", keyed("x", "k", OnConflict::Reject)).await;
        let moved = rig.broker.reschedule(topic("t"), by_key("k"), When::Delay(secs(600))).await;
        assert_eq!(moved, Ok(RescheduleOutcome::Rescheduled { deliver_at: at(600_000) }));
        rig.advance(secs(60)).await;
        assert!(rig.receive("t/s", 10).await.is_empty());
        let view = rig.broker.get(topic("t"), rig.id(&published.id)).await.expect("found by its first id");
        assert_eq!((view.state, view.deliver_at, &view.id), (MessageState::Scheduled, at(600_000), &published.id));
        let rig = rig.crash().await;
        let sooner = rig.broker.reschedule(topic("t"), rig.id(&published.id), When::Delay(secs(1))).await;
        assert_eq!(sooner, Ok(RescheduleOutcome::Rescheduled { deliver_at: at(61_000) }));
        rig.advance(secs(1)).await;
        let got = rig.receive_one("t/s").await;
        assert_eq!((&got.id, got.key.as_deref(), got.deliver_at), (&published.id, Some("k"), at(61_000)));
        let late = rig.broker.reschedule(topic("t"), rig.id(&published.id), When::Delay(secs(1))).await;
        assert_eq!(late, Ok(RescheduleOutcome::TooLate));
        rig.advance(secs(3600)).await;
        assert_eq!(rig.stats("t").await.scheduled, 0);
    });
}

#[test]
fn deliver_now_is_at_once_and_answered_the_same_again() {
    run(async {
        let rig = Rig::new().await;
        let published = rig.publish("t", after("x", secs(900))).await;
        for _ in 0..2 {
            let answer = rig.broker.deliver_now(topic("t"), rig.id(&published.id)).await;
            assert_eq!(answer, Ok(DeliverNowOutcome::DeliveredNow));
        }
        let got = rig.receive_one("t/s").await;
        assert_eq!((&got.id, got.deliver_at), (&published.id, at(0)));
        assert_eq!(rig.broker.cancel(topic("t"), rig.id(&published.id)).await, Ok(CancelOutcome::TooLate));
        let due = rig.publish("t", message("due")).await;
        assert_eq!(rig.receive_one("t/s").await.id, due.id);
        assert_eq!(rig.broker.deliver_now(topic("t"), rig.id(&due.id)).await, Ok(DeliverNowOutcome::TooLate));
    });
}

#[test]
fn a_look_tells_where_a_message_is_for_each_subscription() {
    run(async {
        let rig = Rig::new().await;
        let published = rig.publish("t", after("x", secs(1))).await;
        rig.receive("t/a", 1).await;
        rig.receive("t/b", 1).await;
        rig.advance(secs(1)).await;
        let a = rig.receive("t/a", 1).await;
        let view = rig.broker.get(topic("t"), rig.id(&published.id)).await.expect("found");
        let states: Vec<_> =
            view.subscriptions.iter().map(|it| (it.subscription.as_str(), it.state, it.attempts)).collect();
        let expected = [("a", SubscriptionMessageState::Leased, 1), ("b", SubscriptionMessageState::Ready, 0)];
        assert_eq!((view.state, states.as_slice()), (MessageState::Ready, expected.as_slice()));
        rig.ack("t/a", &a).await;
        let b = rig.receive("t/b", 1).await;
        rig.ack("t/b", &b).await;
        // Both have settled it: it is gone, or on its way out.
        if let Ok(view) = rig.broker.get(topic("t"), rig.id(&published.id)).await {
            assert_eq!(view.state, MessageState::Settled);
        }
    });
}

#[test]
fn pages_list_what_is_scheduled_in_due_order_while_things_move() {
    run(async {
        let rig = Rig::new().await;
        for n in [5u64, 3, 9, 1, 7] {
            rig.publish("t", after(&n.to_string(), secs(n))).await;
        }
        let page = rig.broker.list(list(2)).await.expect("a page");
        let seen: Vec<_> = page.items.iter().map(|it| it.body.clone().expect("with bodies")).collect();
        assert_eq!(seen, ["1", "3"]);
        rig.publish("t", after("6", secs(6))).await;
        rig.publish("t", after("2", secs(2))).await;
        let next = rig.broker.list(ListRequest { cursor: page.next_cursor.clone(), ..list(10) }).await.expect("a page");
        let seen: Vec<_> = next.items.iter().map(|it| it.body.clone().expect("with bodies")).collect();
        assert_eq!((seen, next.next_cursor), (vec!["5".into(), "6".into(), "7".into(), "9".into()], None));
        let range = TimeRange { from: Some(at(2000)), to: Some(at(6000)) };
        let ranged = rig.broker.list(ListRequest { range, with_body: false, ..list(10) }).await.expect("a page");
        let due: Vec<_> = ranged.items.iter().map(|it| it.deliver_at).collect();
        assert_eq!(due, [at(2000), at(3000), at(5000)]);
        assert!(ranged.items.iter().all(|it| it.body.is_none()));
        let foreign = ListRequest { cursor: page.next_cursor, range, ..list(10) };
        assert_eq!(rig.broker.list(foreign).await.expect_err("another query").code, Code::InvalidCursor);
    });
}

#[test]
fn pages_of_a_partitioned_topic_are_in_one_order_and_complete() {
    run(async {
        let rig = Rig::new().await;
        let patch =
            punctual_broker_api::TopicPatch { partitions: punctual_broker_api::Patch::Set(5), ..Default::default() };
        rig.broker.put_topic(topic("t"), patch).await.expect("made");
        let batch = (0..50u64).map(|n| after(&n.to_string(), ms(10 + n % 7))).collect();
        rig.broker.publish(topic("t"), batch).await.expect("answered");
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = rig.broker.list(ListRequest { cursor, ..list(7) }).await.expect("a page");
            seen.extend(page.items.into_iter().map(|it| (it.deliver_at, it.id)));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), 50);
        assert!(seen.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        seen.sort_by(|a, b| a.1.as_str().cmp(b.1.as_str()));
        seen.dedup();
        assert_eq!(seen.len(), 50, "a message was listed twice");
    });
}

#[test]
fn counts_by_the_minute_add_up() {
    run(async {
        let rig = Rig::new().await;
        for n in 0..100u64 {
            rig.publish("t", after("x", secs(n * 3))).await;
        }
        let request = TimelineRequest { topic: topic("t"), range: TimeRange::default(), bucket: secs(60) };
        let buckets = rig.broker.timeline(request.clone()).await.expect("counted");
        let counts: Vec<_> = buckets.iter().map(|it| (it.from, it.count)).collect();
        // The first message is due at once and has crossed.
        assert_eq!(counts, [(at(0), 19), (at(60_000), 20), (at(120_000), 20), (at(180_000), 20), (at(240_000), 20)]);
        let narrow = TimelineRequest { bucket: secs(30), ..request };
        assert_eq!(rig.broker.timeline(narrow).await.expect_err("too narrow").field.as_deref(), Some("bucket"));
    });
}

#[test]
fn a_range_cancel_takes_exactly_its_range_and_its_messages_answer_cancelled() {
    run(async {
        let rig = Rig::new().await;
        let mut ids = Vec::new();
        for chunk in 0..3u64 {
            let batch = (0..1000u64).map(|n| after("x", ms(1000 + chunk * 1000 + n))).collect();
            let answers = rig.broker.publish(topic("t"), batch).await.expect("answered");
            ids.extend(answers.into_iter().map(|it| it.expect("accepted").id));
        }
        let range = TimeRange { from: Some(at(1500)), to: Some(at(3500)) };
        assert_eq!(rig.broker.cancel_range(topic("t"), range).await, Ok(2000));
        let stats = rig.stats("t").await;
        assert_eq!((stats.scheduled, stats.cancelled_total), (1000, 2000));
        assert_eq!(rig.broker.cancel(topic("t"), rig.id(&ids[700])).await, Ok(CancelOutcome::Cancelled));
        rig.advance(secs(10)).await;
        let mut got = 0;
        loop {
            let batch = rig.receive("t/s", 1000).await;
            if batch.is_empty() {
                break;
            }
            got += batch.len();
        }
        assert_eq!(got, 1000);
        assert_eq!(rig.broker.cancel_range(topic("t"), TimeRange::default()).await, Ok(0));
    });
}

#[test]
fn delays_to_the_far_future_are_exact_and_past_the_year_9999_refused() {
    run(async {
        let rig = Rig::new().await;
        let day = 86_400_000;
        for delay in [1u64 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32, 50 * day, 365 * day, 36_500 * day] {
            assert_eq!(rig.publish("t", after("x", ms(delay))).await.deliver_at, at(delay));
        }
        for delay in [u64::MAX, 253_402_300_799_999] {
            let refused = rig.try_publish("t", after("x", ms(delay))).await.expect_err("past the end");
            assert_eq!((refused.code, refused.field.as_deref()), (Code::DelayTooLong, Some("delay")));
        }
        let last = NewMessage { when: When::At(punctual_broker_api::Time::MAX), ..message("last") };
        assert_eq!(rig.publish("t", last).await.deliver_at, punctual_broker_api::Time::MAX);
    });
}

#[test]
fn cancels_beside_a_range_cancel_cancel_once() {
    run(async {
        let rig = Rig::new().await;
        let batch = (0..6000).map(|_| after("x", secs(60))).collect();
        let answers = rig.broker.publish(topic("t"), batch).await.expect("answered");
        let ids: Vec<_> = answers.into_iter().map(|it| it.expect("accepted").id).collect();
        // Many at once, from the end, while the pieces of the range come from the front: a piece and
        // the cancels of what it holds are taken in one turn.
        let range = rig.broker.cancel_range(topic("t"), TimeRange::default());
        let each = futures_util::stream::iter(ids.iter().rev()).map(|id| rig.broker.cancel(topic("t"), rig.id(id)));
        let each = each.buffer_unordered(500).collect::<Vec<_>>();
        let (in_range, each) = futures_util::future::join(range, each).await;
        in_range.expect("the range");
        assert!(each.iter().all(|answer| *answer == Ok(CancelOutcome::Cancelled)));
        let stats = rig.stats("t").await;
        assert_eq!((stats.scheduled, stats.cancelled_total), (0, 6000));
    });
}

#[test]
fn a_range_cancel_leaves_what_was_delivered_now() {
    run(async {
        let rig = Rig::new().await;
        let published = rig.publish("t", after("x", secs(60))).await;
        let now = rig.broker.deliver_now(topic("t"), rig.id(&published.id));
        let range = rig.broker.cancel_range(topic("t"), TimeRange::default());
        let (now, cancelled) = futures_util::future::join(now, range).await;
        assert_eq!((now, cancelled), (Ok(DeliverNowOutcome::DeliveredNow), Ok(0)));
        assert_eq!(rig.receive_one("t/s").await.id, published.id);
    });
}
