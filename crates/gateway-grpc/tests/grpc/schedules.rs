//! Recurring schedules by the client of ours, through the door, to the real broker and back.

use punctual_broker_api::*;

use crate::support::{message, real, subscription};

#[tokio::test]
async fn a_schedule_is_made_changed_run_paused_and_deleted() {
    let (_broker, _served, client) = real().await;
    let schedule = ScheduleName::parse("nightly").expect("a name");
    let nightly = SchedulePath { namespace: NamespaceName::default(), schedule };
    let patch = SchedulePatch {
        topic: Patch::Set(TopicName::parse("reports").expect("a name")),
        message: Patch::Set(message("make it", When::Now)),
        cron: Patch::Set("0 1 * * *".to_owned()),
        timezone: Patch::Set("Europe/Berlin".to_owned()),
        max_runs: Patch::Set(9),
        catch_up: Patch::Set(CatchUp::All),
        ..SchedulePatch::default()
    };
    // The clock stands at midnight UTC.
    let put = client.put_schedule(nightly.clone(), patch).await.expect("made");
    let now = client.clock().await.expect("a clock").now;
    assert!(put.created);
    assert_eq!(put.object.next.first().copied(), now.checked_add(DelayMs::from_secs(24 * 3600)));
    assert_eq!(client.get_schedule(nightly.clone()).await.as_ref(), Ok(&put.object));
    let page = PageRequest { limit: 10, cursor: None };
    let listed = client.list_schedules(NamespaceName::default(), page).await.expect("a page");
    assert_eq!(listed.items, [put.object]);
    client.advance_clock(DelayMs::from_secs(24 * 3600)).await.expect("advanced");
    let request = ReceiveRequest {
        subscription: subscription("reports", "maker"),
        max: 10,
        max_bytes: 1 << 20,
        wait: DelayMs::ZERO,
        lease: None,
    };
    let runs = client.receive(request).await.expect("received");
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    let names: Vec<&str> = run.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((run.body.as_ref(), names), (&b"make it"[..], vec!["punctual-schedule", "punctual-nominal-time"]));
    assert!(client.set_schedule_paused(nightly.clone(), true).await.expect("paused").settings.paused);
    let triggered = client.trigger_schedule(nightly.clone()).await.expect("triggered");
    assert_eq!((triggered.runs, triggered.last.and_then(|last| last.error)), (2, None));
    assert!(!client.set_schedule_paused(nightly.clone(), false).await.expect("resumed").settings.paused);
    let reset = SchedulePatch { max_runs: Patch::Reset, catch_up: Patch::Reset, ..SchedulePatch::default() };
    let view = client.put_schedule(nightly.clone(), reset).await.expect("changed").object;
    assert_eq!((view.settings.max_runs, view.settings.catch_up), (None, CatchUp::None));
    let wrong = SchedulePatch { cron: Patch::Set("61 * * * *".to_owned()), ..SchedulePatch::default() };
    let refused = client.put_schedule(nightly.clone(), wrong).await.expect_err("refused");
    assert_eq!((refused.code, refused.field.as_deref()), (Code::InvalidCron, Some("cron")));
    client.delete_schedule(nightly.clone()).await.expect("deleted");
    let gone = client.get_schedule(nightly).await.expect_err("gone");
    assert_eq!(gone.code, Code::ScheduleNotFound);
}
