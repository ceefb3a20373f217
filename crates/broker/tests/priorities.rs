//! Priorities: the highest goes first, and every look means all of them.

mod support;

use punctual_broker_api::{Broker as _, Code, ListRequest, NewMessage, Patch, TimeRange, TimelineRequest, TopicPatch};
use support::*;

fn of(priority: u8, message: NewMessage) -> NewMessage {
    NewMessage { priority, ..message }
}

async fn with_priorities(priorities: u16) -> Rig {
    let rig = Rig::new().await;
    let patch = TopicPatch { priorities: Patch::Set(priorities), ..Default::default() };
    rig.broker.put_topic(topic("t"), patch).await.expect("made");
    rig
}

#[test]
fn the_highest_ready_priority_is_received_first_over_the_whole_backlog() {
    run(async {
        let rig = with_priorities(3).await;
        for n in 0..500 {
            rig.publish("t", message(&n.to_string())).await;
        }
        rig.publish("t", of(1, message("one"))).await;
        rig.publish("t", of(2, message("two"))).await;
        let received = rig.receive("t/s", 1).await;
        assert_eq!((bodies(&received), received[0].priority), (vec!["two".to_owned()], 2));
        rig.publish("t", of(2, message("late"))).await;
        assert_eq!(bodies(&rig.receive("t/s", 1).await), ["late"]);
        assert_eq!(bodies(&rig.receive("t/s", 1).await), ["one"]);
        assert_eq!(bodies(&rig.receive("t/s", 1).await), ["0"]);
        assert_eq!(rig.stats("t").await.ready, 499);
    });
}

#[test]
fn a_priority_outside_the_topics_is_refused_with_the_range() {
    run(async {
        let rig = with_priorities(3).await;
        rig.publish("t", of(2, message("in"))).await;
        let refused = rig.try_publish("t", of(3, message("out"))).await.expect_err("too high");
        assert_eq!((refused.code, refused.field.as_deref()), (Code::InvalidField, Some("priority")));
        assert!(refused.message.contains("0 to 2"), "{}", refused.message);
    });
}

#[test]
fn priorities_are_raised_and_never_lowered() {
    run(async {
        let rig = with_priorities(3).await;
        let set = |priorities| {
            let patch = TopicPatch { priorities: Patch::Set(priorities), ..Default::default() };
            rig.broker.put_topic(topic("t"), patch)
        };
        assert_eq!(set(256).await.expect("raised").object.settings.priorities, 256);
        rig.publish("t", of(255, message("highest"))).await;
        let refused = set(255).await.expect_err("lowered");
        assert_eq!((refused.code, refused.field.as_deref()), (Code::SettingFixed, Some("priorities")));
        for out_of_range in [0, punctual_types::limits::PRIORITIES_MAX + 1] {
            assert_eq!(set(out_of_range).await.expect_err("out of range").code, Code::InvalidField);
        }
    });
}

#[test]
fn what_is_pending_is_listed_counted_and_cancelled_over_all_priorities() {
    run(async {
        let rig = with_priorities(3).await;
        for n in 0..9u8 {
            rig.publish("t", of(n % 3, after(&n.to_string(), secs(60 + u64::from(n))))).await;
        }
        let mut listed = Vec::new();
        let mut cursor = None;
        loop {
            let request = ListRequest {
                topic: topic("t"),
                range: TimeRange::default(),
                key_prefix: None,
                limit: 2,
                cursor,
                with_body: true,
            };
            let page = rig.broker.list(request).await.expect("a page");
            listed.extend(page.items.iter().map(|view| (view.body.clone().expect("asked for"), view.priority)));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        let expected: Vec<_> = (0..9u8).map(|n| (n.to_string().into(), n % 3)).collect();
        assert_eq!(listed, expected, "in due order, whatever the priority");
        let request = TimelineRequest { topic: topic("t"), range: TimeRange::default(), bucket: secs(60) };
        let counts: Vec<_> =
            rig.broker.timeline(request).await.expect("counted").iter().map(|bucket| bucket.count).collect();
        assert_eq!(counts, [9]);
        let range = TimeRange { from: Some(at(62_000)), to: None };
        assert_eq!(rig.broker.cancel_range(topic("t"), range).await, Ok(7));
        rig.advance(secs(120)).await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["1"]);
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["0"]);
        assert_eq!(rig.stats("t").await.scheduled, 0);
    });
}
