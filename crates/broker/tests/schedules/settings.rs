//! Making, changing, listing and refusing schedules.

use std::sync::Arc;

use punctual_broker::{Broker, BrokerConfig, ClockConfig};
use punctual_broker_api::{
    Broker as _, Code, Limits, NamespaceName, NamespacePatch, NewMessage, PageRequest, Patch, SchedulePatch,
    SchedulePath, Schedules as _, When, time_text::format_time,
};
use punctual_store_memory::MemoryStore;
use punctual_types::limits;

use crate::{rig::*, support::*};

#[test]
fn a_change_of_the_timing_counts_from_now_and_repeats_nothing() {
    run(async {
        let rig = Rig::new().await;
        rig.put("s", every(60_000)).await;
        rig.advance(ms(60_000)).await;
        let changed = rig.put("s", SchedulePatch { every: Patch::Set(ms(10_000)), ..SchedulePatch::default() }).await;
        assert!(!changed.created);
        assert_eq!(shown(&changed.object)[0], format_time(at(70_000)));
        rig.advance(ms(5_000)).await;
        // What is kept is kept; the timing stays as it was.
        let other = SchedulePatch { message: Patch::Set(message("tock")), ..SchedulePatch::default() };
        assert_eq!(shown(&rig.put("s", other).await.object)[0], format_time(at(70_000)));
        let by_cron = SchedulePatch { cron: Patch::Set("* * * * *".to_owned()), ..SchedulePatch::default() };
        let view = rig.put("s", by_cron).await.object;
        assert_eq!((view.settings.every, view.settings.timezone.as_deref()), (None, Some("UTC")));
        assert_eq!(shown(&view)[0], format_time(at(120_000)));
        // One that has ended goes on from now when its end is moved, and not from where it ended.
        let ended = SchedulePatch { max_runs: Patch::Set(1), ..SchedulePatch::default() };
        assert_eq!(shown(&rig.put("s", ended).await.object), [""; 0]);
        rig.advance(ms(600_000)).await;
        let again = SchedulePatch { max_runs: Patch::Reset, ..SchedulePatch::default() };
        assert_eq!(shown(&rig.put("s", again).await.object)[0], format_time(at(720_000)));
        rig.advance(ms(1)).await;
        assert_eq!(rig.runs().await, once([60_000]));
    });
}

#[test]
fn a_namespace_has_its_own_schedules_and_takes_them_with_it() {
    run(async {
        let rig = Rig::new().await;
        let shop = NamespaceName::parse("shop").expect("a name");
        let in_shop = SchedulePath { namespace: shop.clone(), ..path("s") };
        let missing = rig.broker.put_schedule(in_shop.clone(), every(60_000)).await.expect_err("no namespace");
        assert_eq!(missing.code, Code::NamespaceNotFound);
        rig.broker.put_namespace(shop.clone(), NamespacePatch::default()).await.expect("a namespace");
        rig.broker.put_schedule(in_shop.clone(), every(60_000)).await.expect("a schedule");
        assert_eq!(rig.broker.get_schedule(path("s")).await.expect_err("another's").code, Code::ScheduleNotFound);
        rig.advance(ms(60_000)).await;
        assert!(rig.broker.get_topic(topic("runs")).await.is_err(), "the run went to the namespace's own topic");
        rig.broker.delete_namespace(shop.clone()).await.expect("deleted");
        rig.broker.put_namespace(shop, NamespacePatch::default()).await.expect("a namespace");
        let rig = rig.crash().await;
        assert_eq!(rig.broker.get_schedule(in_shop).await.expect_err("gone").code, Code::ScheduleNotFound);
    });
}

#[test]
fn schedules_are_listed_by_name_in_pages() {
    run(async {
        let rig = Rig::new().await;
        for schedule in ["c", "a", "b"] {
            rig.put(schedule, every(60_000)).await;
        }
        let mut names = Vec::new();
        let mut page = PageRequest { limit: 2, cursor: None };
        loop {
            let found = rig.broker.list_schedules(NamespaceName::default(), page.clone()).await.expect("a page");
            names.extend(found.items.into_iter().map(|view| view.name));
            page.cursor = found.next_cursor;
            if page.cursor.is_none() {
                break;
            }
        }
        assert_eq!(names, ["a", "b", "c"]);
    });
}

#[test]
fn a_namespace_has_as_many_schedules_as_it_may_and_no_more() {
    run(async {
        let store = Arc::new(MemoryStore::new(4, [7; 16]));
        let limits = Limits { schedules_max: 2, ..Limits::default() };
        assert_eq!(Limits::default().schedules_max, limits::SCHEDULES_MAX);
        let config = BrokerConfig {
            store: store.clone(),
            clock: ClockConfig::Manual { start: at(0) },
            workers: Some(1),
            limits,
            seed: Some(1),
        };
        let rig = Rig { broker: Broker::open(config).await.expect("an open broker"), store };
        rig.put("a", every(60_000)).await;
        rig.put("b", every(60_000)).await;
        let refused = rig.refused("c", every(60_000)).await;
        assert_eq!(refused.code, Code::TooManySchedules);
        assert!(refused.retry_after_ms.is_some());
        rig.put("b", every(30_000)).await;
        rig.broker.delete_schedule(path("a")).await.expect("deleted");
        rig.put("c", every(60_000)).await;
    });
}

#[test]
fn what_cannot_run_is_refused_by_field() {
    run(async {
        let rig = Rig::new().await;
        let with = |change: fn(&mut SchedulePatch)| {
            let mut patch = every(60_000);
            change(&mut patch);
            patch
        };
        let with_message = |message: NewMessage| SchedulePatch { message: Patch::Set(message), ..every(60_000) };
        let timed = NewMessage { when: When::Delay(ms(1)), ..message("tick") };
        let deduped = NewMessage { dedup_id: Some("d".to_owned()), ..message("tick") };
        let named = NewMessage { headers: vec![("punctual-schedule".to_owned(), String::new())], ..message("tick") };
        let full =
            NewMessage { headers: vec![("h".to_owned(), String::new()); limits::HEADERS_MAX - 1], ..message("") };
        for (patch, code, field) in [
            (with(|it| it.topic = Patch::Keep), Code::MalformedRequest, "topic"),
            (with(|it| it.every = Patch::Keep), Code::MalformedRequest, "cron"),
            (with(|it| it.cron = Patch::Set("* * * * *".to_owned())), Code::ExclusiveFields, "every"),
            (with(|it| it.timezone = Patch::Set("UTC".to_owned())), Code::ExclusiveFields, "timezone"),
            (with(|it| it.every = Patch::Set(ms(limits::SCHEDULE_EVERY_MIN.ms() - 1))), Code::InvalidField, "every"),
            (with(|it| it.jitter = Patch::Set(ms(limits::SCHEDULE_JITTER_MAX.ms() + 1))), Code::InvalidField, "jitter"),
            (with(|it| it.max_runs = Patch::Set(0)), Code::InvalidField, "max_runs"),
            (with(|it| (it.start, it.end) = (Patch::Set(at(5)), Patch::Set(at(5)))), Code::InvalidField, "end"),
            (cron("61 * * * *"), Code::InvalidCron, "cron"),
            (cron("0 0 30 2 *"), Code::InvalidCron, "cron"),
            (
                SchedulePatch { timezone: Patch::Set("Europe/Berln".to_owned()), ..cron("* * * * *") },
                Code::UnknownTimezone,
                "timezone",
            ),
            (with_message(timed), Code::InvalidField, "message.delay"),
            (with_message(deduped), Code::InvalidField, "message.dedup_id"),
            (with_message(named), Code::InvalidField, "message.headers"),
            (with_message(full), Code::HeadersTooLarge, "message.headers"),
        ] {
            let refused = rig.refused("s", patch).await;
            assert_eq!((refused.code, refused.field.as_deref()), (code, Some(field)), "{refused:?}");
        }
        assert_eq!(rig.broker.get_schedule(path("s")).await.expect_err("none").code, Code::ScheduleNotFound);
        // Just within the limits.
        rig.put("s", every(limits::SCHEDULE_EVERY_MIN.ms())).await;
        let widest = SchedulePatch { jitter: Patch::Set(limits::SCHEDULE_JITTER_MAX), ..SchedulePatch::default() };
        let view = rig.put("s", widest).await.object;
        assert_eq!(view.next.len(), limits::SCHEDULE_NEXT_SHOWN);
        let reset = SchedulePatch { topic: Patch::Reset, ..SchedulePatch::default() };
        assert_eq!(rig.refused("s", reset).await.field.as_deref(), Some("topic"));
    });
}
