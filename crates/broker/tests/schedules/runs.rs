//! When runs come, and what they are.

use punctual_broker_api::{
    Broker as _, Code, NamespaceName, NamespacePatch, NewMessage, Patch, SchedulePatch, Schedules as _, TopicPatch,
    time_text::format_time,
};

use crate::{rig::*, support::*};

#[test]
fn a_period_counts_from_when_the_schedule_was_made_and_a_run_is_an_ordinary_message() {
    run(async {
        let rig = Rig::new().await;
        let patch = SchedulePatch {
            message: Patch::Set(NewMessage {
                key: Some("k".to_owned()),
                tag: Some("t".to_owned()),
                headers: vec![("own".to_owned(), "1".to_owned())],
                ..message("tick")
            }),
            ..every(60_000)
        };
        let put = rig.put("minutely", patch).await;
        assert!(put.created);
        assert_eq!(shown(&put.object), times([60_000, 120_000, 180_000, 240_000, 300_000]));
        assert_eq!((put.object.last, put.object.runs), (None, 0));
        rig.advance(ms(59_999)).await;
        assert!(rig.receive("runs/reader", 1).await.is_empty());
        rig.advance(ms(1)).await;
        let delivery = rig.receive_one("runs/reader").await;
        assert_eq!(delivery.body.as_ref(), b"tick");
        assert_eq!((delivery.key.as_deref(), delivery.tag.as_deref()), (Some("k"), Some("t")));
        let expected = [
            ("own".to_owned(), "1".to_owned()),
            ("punctual-schedule".to_owned(), "minutely".to_owned()),
            ("punctual-nominal-time".to_owned(), format_time(at(60_000))),
        ];
        assert_eq!(delivery.headers, expected);
        assert_eq!((delivery.deliver_at, delivery.delivered_at), (at(60_000), at(60_000)));
        let view = rig.schedule("minutely").await;
        let last = view.last.clone().expect("a run");
        assert_eq!((last.nominal_time, last.published_at, last.error), (at(60_000), Some(at(60_000)), None));
        assert_eq!((view.runs, shown(&view)[0].clone()), (1, format_time(at(120_000))));
    });
}

#[test]
fn an_advance_stops_at_every_run_on_its_way() {
    run(async {
        let rig = Rig::new().await;
        rig.put("quarter-hourly", cron("*/15 * * * *")).await;
        rig.put("minutely", SchedulePatch { end: Patch::Set(at(600_000)), ..every(60_000) }).await;
        rig.advance(secs(3600)).await;
        let expected = [60, 120, 180, 240, 300, 360, 420, 480, 540, 900, 1800, 2700, 3600].map(|s| s * 1000);
        assert_eq!(rig.runs().await, once(expected));
        assert_eq!(shown(&rig.schedule("minutely").await), [""; 0], "it has ended");
    });
}

#[test]
fn a_trigger_runs_now_also_while_paused_and_leaves_the_regular_times() {
    run(async {
        let rig = Rig::new().await;
        let patch = SchedulePatch { paused: Patch::Set(true), max_runs: Patch::Set(3), ..every(60_000) };
        rig.put("minutely", patch).await;
        rig.advance(ms(1)).await;
        let view = rig.broker.trigger_schedule(path("minutely")).await.expect("triggered");
        assert_eq!((view.runs, view.last.map(|last| last.nominal_time)), (1, Some(at(1))));
        rig.broker.set_schedule_paused(path("minutely"), false).await.expect("resumed");
        rig.advance(ms(300_000)).await;
        assert_eq!(rig.runs().await, once([1, 60_000, 120_000]), "of three runs one was triggered");
    });
}

#[test]
fn a_start_that_is_now_is_the_first_run() {
    run(async {
        let rig = Rig::new().await;
        rig.put("s", SchedulePatch { start: Patch::Set(at(0)), end: Patch::Set(at(60_000)), ..every(30_000) }).await;
        rig.advance(ms(90_000)).await;
        assert_eq!(rig.runs().await, once([0, 30_000]));
    });
}

#[test]
fn a_refused_run_is_shown_with_its_error_and_the_schedule_goes_on() {
    run(async {
        let rig = Rig::new().await;
        let closed = NamespacePatch { auto_create: Patch::Set(false), ..NamespacePatch::default() };
        rig.broker.put_namespace(NamespaceName::default(), closed).await.expect("closed");
        rig.put("s", every(60_000)).await;
        rig.advance(ms(60_000)).await;
        let view = rig.schedule("s").await;
        let last = view.last.expect("a run");
        assert_eq!((last.nominal_time, last.published_at), (at(60_000), None));
        assert_eq!((last.error.map(|error| error.code), view.runs), (Some(Code::TopicNotFound), 0));
        let refused = rig.broker.trigger_schedule(path("s")).await.expect_err("refused");
        assert_eq!(refused.code, Code::TopicNotFound);
        let rig = rig.crash().await;
        let error = rig.schedule("s").await.last.and_then(|last| last.error).expect("kept");
        assert_eq!((error.code, error.field.as_deref()), (Code::TopicNotFound, Some("topic")));
        rig.broker.put_topic(topic("runs"), TopicPatch::default()).await.expect("a topic");
        rig.broker.put_subscription(sub("runs/reader"), Default::default()).await.expect("a subscription");
        rig.advance(ms(60_000)).await;
        assert_eq!(rig.runs().await, once([120_000]));
        assert_eq!(rig.schedule("s").await.runs, 1);
    });
}

#[test]
fn a_deleted_schedule_runs_no_more_and_one_of_its_name_begins_anew() {
    run(async {
        let rig = Rig::new().await;
        rig.put("s", every(60_000)).await;
        rig.advance(ms(60_000)).await;
        rig.broker.delete_schedule(path("s")).await.expect("deleted");
        rig.advance(ms(120_000)).await;
        let rig = rig.crash().await;
        assert_eq!(rig.broker.get_schedule(path("s")).await.expect_err("gone").code, Code::ScheduleNotFound);
        assert_eq!(rig.broker.delete_schedule(path("s")).await.expect_err("gone").code, Code::ScheduleNotFound);
        let put = rig.put("s", every(60_000)).await;
        assert_eq!((put.created, put.object.runs, put.object.last), (true, 0, None));
        assert_eq!(rig.runs().await, once([60_000]));
    });
}
