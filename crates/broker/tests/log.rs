//! A topic as a log: offsets, reading, streams; and subscriptions that begin at a time.

mod support;

use punctual_broker_api::{
    Broker as _, Code, Log as _, LogOffsets, LogPartition, LogReadRequest, Patch, Start, SubscriptionPatch, TopicPatch,
};
use support::*;

fn partition(number: u16) -> LogPartition {
    LogPartition { topic: topic("t"), partition: number }
}

async fn read(rig: &Rig, from_offset: u64, max: u32) -> Vec<(u64, String)> {
    let request = LogReadRequest { partition: partition(0), from_offset, max, max_bytes: 1 << 20 };
    let records = rig.broker.read(request).await.expect("read");
    records.into_iter().map(|it| (it.offset, String::from_utf8(it.body.to_vec()).expect("UTF-8"))).collect()
}

fn told(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    expected.iter().map(|(offset, body)| (*offset, (*body).to_owned())).collect()
}

#[test]
fn what_has_come_due_is_read_by_offset_and_stays_so_after_a_crash() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", after("c", secs(10))).await;
        rig.publish("t", message("a")).await;
        rig.publish("t", message("b")).await;
        rig.advance(ms(0)).await;
        assert_eq!(rig.broker.partitions(topic("t")).await.expect("a topic"), 1);
        let offsets = rig.broker.offsets(partition(0)).await.expect("offsets");
        assert_eq!(offsets, LogOffsets { earliest: 0, next: 2 });
        assert_eq!(read(&rig, 0, 10).await, told(&[(0, "a"), (1, "b")]));
        rig.advance(secs(10)).await;
        let rig = rig.crash().await;
        assert_eq!(read(&rig, 1, 10).await, told(&[(1, "b"), (2, "c")]));
        assert_eq!(read(&rig, 3, 10).await, told(&[]));
        assert_eq!(rig.broker.offset_at(partition(0), at(1)).await.expect("an offset"), 2);
        assert_eq!(rig.broker.offset_at(partition(0), at(10_001)).await.expect("an offset"), 3);
        let beyond = LogReadRequest { partition: partition(0), from_offset: 4, max: 1, max_bytes: 1 };
        assert_eq!(rig.broker.read(beyond).await.expect_err("beyond").code, Code::InvalidField);
        assert_eq!(rig.broker.offsets(partition(1)).await.expect_err("no such").code, Code::InvalidField);
    });
}

#[test]
fn a_stream_commits_offsets_and_holds_what_it_has_not_read() {
    run(async {
        let rig = Rig::new().await;
        for body in ["a", "b", "c"] {
            rig.publish("t", message(body)).await;
        }
        assert_eq!(rig.broker.committed_offset(sub("t/stream"), 0).await.expect("answered"), None);
        rig.broker.commit_offset(sub("t/stream"), 0, 1).await.expect("committed");
        let shared = rig.receive("t/shared", 10).await;
        rig.ack("t/shared", &shared).await;
        let rig = rig.crash().await;
        assert_eq!(rig.broker.committed_offset(sub("t/stream"), 0).await.expect("answered"), Some(1));
        assert_eq!(read(&rig, 1, 10).await, told(&[(1, "b"), (2, "c")]));
        let beyond = rig.broker.commit_offset(sub("t/stream"), 0, 4).await.expect_err("beyond the next");
        assert_eq!((beyond.code, beyond.field.as_deref()), (Code::InvalidField, Some("offset")));
        rig.broker.commit_offset(sub("t/stream"), 0, 3).await.expect("committed");
        let offsets = rig.broker.offsets(partition(0)).await.expect("offsets");
        assert_eq!(offsets, LogOffsets { earliest: 3, next: 3 }, "everybody is done");
    });
}

#[test]
fn a_subscription_is_shared_or_a_stream_and_never_both() {
    run(async {
        let rig = Rig::new().await;
        rig.receive("t/shared", 1).await;
        rig.broker.commit_offset(sub("t/stream"), 0, 0).await.expect("made");
        let kind = Code::SubscriptionKind;
        assert_eq!(rig.broker.commit_offset(sub("t/shared"), 0, 0).await.expect_err("shared").code, kind);
        assert_eq!(rig.broker.committed_offset(sub("t/shared"), 0).await.expect_err("shared").code, kind);
        let rig = rig.crash().await;
        assert_eq!(rig.broker.receive(receive("t/stream", 1)).await.expect_err("a stream").code, kind);
        assert_eq!(rig.broker.subscribe(subscribe("t/stream")).await.err().expect("a stream").code, kind);
        let patch = TopicPatch { priorities: Patch::Set(2), ..Default::default() };
        assert_eq!(rig.broker.put_topic(topic("t"), patch.clone()).await.expect_err("fixed").code, Code::SettingFixed);
        rig.broker.put_topic(topic("p"), patch).await.expect("made");
        assert_eq!(rig.broker.commit_offset(sub("p/stream"), 0, 0).await.expect_err("priorities").code, kind);
    });
}

#[test]
fn a_subscription_may_begin_at_a_time() {
    run(async {
        let rig = Rig::new().await;
        for (body, delay) in [("a", 0), ("b", 5), ("c", 10)] {
            rig.publish("t", after(body, secs(delay))).await;
        }
        rig.broker.put_subscription(sub("t/all"), SubscriptionPatch::default()).await.expect("made");
        rig.advance(secs(10)).await;
        let from = |ms| SubscriptionPatch { start: Patch::Set(Start::Time(at(ms))), ..Default::default() };
        rig.broker.put_subscription(sub("t/s"), from(5_000)).await.expect("made");
        let later = rig.broker.put_subscription(sub("t/later"), from(10_001)).await.expect_err("not yet");
        assert_eq!((later.code, later.field.as_deref()), (Code::InvalidField, Some("start")));
        let rig = rig.crash().await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["b", "c"]);
        assert_eq!(bodies(&rig.receive("t/all", 10).await), ["a", "b", "c"]);
    });
}
