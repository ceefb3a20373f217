//! Prepared messages: nobody's until their producer decides, asked after when he does not.

mod support;

use punctual_broker_api::{
    Broker as _, CancelOutcome, Code, DelayMs, Error, MessageId, MessageState, NewMessage, Patch, Prepare,
    PreparedOutcome, PublishStatus, Published, TopicPatch,
};
use punctual_types::limits;
use support::*;

fn prepared(body: &str, timeout: DelayMs, max_checks: u32) -> NewMessage {
    NewMessage { prepare: Some(Prepare { timeout, max_checks }), ..message(body) }
}

async fn commit(rig: &Rig, id: &MessageId) -> PreparedOutcome {
    rig.broker.commit(topic("t"), id.clone()).await.expect("answered")
}

async fn rollback(rig: &Rig, id: &MessageId) -> PreparedOutcome {
    rig.broker.rollback(topic("t"), id.clone()).await.expect("answered")
}

#[test]
fn a_prepared_message_is_seen_by_nobody_until_it_is_committed() {
    run(async {
        let rig = Rig::new().await;
        let item = NewMessage { key: Some("k".into()), ..prepared("a", secs(60), 3) };
        let published: Published = rig.publish("t", item).await;
        assert_eq!((published.status.clone(), published.deliver_at), (PublishStatus::Prepared, at(0)));
        assert!(rig.receive("t/s", 10).await.is_empty());
        let stats = rig.stats("t").await;
        assert_eq!((stats.prepared, stats.scheduled, stats.ready), (1, 0, 0));
        let view = rig.broker.get(topic("t"), rig.id(&published.id)).await.expect("found");
        assert_eq!((view.state, view.deliver_at), (MessageState::Prepared, at(0)));
        let taken = rig.try_publish("t", NewMessage { key: Some("k".into()), ..message("b") }).await;
        assert_eq!(taken.expect_err("the key is taken").code, Code::KeyConflict);
        rig.advance(secs(5)).await;
        let committed = PreparedOutcome::Committed { deliver_at: at(5_000) };
        assert_eq!(commit(&rig, &published.id).await, committed);
        let rig = rig.crash().await;
        assert_eq!(rollback(&rig, &published.id).await, committed, "it was committed first");
        let got = rig.receive_one("t/s").await;
        assert_eq!((bodies(std::slice::from_ref(&got)), got.id), (vec!["a".to_owned()], published.id));
        assert_eq!(rig.stats("t").await.prepared, 0);
    });
}

#[test]
fn what_is_rolled_back_never_was_and_says_so_for_a_day() {
    run(async {
        let rig = Rig::new().await;
        let item = || NewMessage { dedup_id: Some("d".into()), ..prepared("a", secs(60), 3) };
        let first = rig.publish("t", item()).await;
        assert_eq!(rig.publish("t", item()).await.status, PublishStatus::Duplicate);
        assert_eq!(rollback(&rig, &first.id).await, PreparedOutcome::RolledBack);
        assert_eq!(commit(&rig, &first.id).await, PreparedOutcome::RolledBack);
        let second = rig.publish("t", item()).await;
        assert_eq!(second.status, PublishStatus::Prepared, "who tries again is not taken for who was rolled back");
        let cancelled = rig.broker.cancel(topic("t"), rig.id(&second.id)).await.expect("answered");
        assert_eq!(cancelled, CancelOutcome::Cancelled);
        assert_eq!(commit(&rig, &second.id).await, PreparedOutcome::RolledBack);
        rig.advance(secs(24 * 3600 - 1)).await;
        assert_eq!(commit(&rig, &first.id).await, PreparedOutcome::RolledBack);
        rig.advance(secs(1)).await;
        assert_eq!(commit(&rig, &first.id).await, PreparedOutcome::NotFound);
        assert!(rig.receive("t/s", 10).await.is_empty());
    });
}

#[test]
fn one_in_doubt_is_asked_after_and_rolled_back_after_its_last_check() {
    run(async {
        let rig = Rig::new().await;
        let partitions = TopicPatch { partitions: Patch::Set(3), ..Default::default() };
        rig.broker.put_topic(topic("t"), partitions).await.expect("made");
        // Who answers was there before the first message was prepared.
        assert!(rig.receive("t.in_doubt/checker", 10).await.is_empty());
        let asked = rig.publish("t", prepared("asked", secs(10), 2)).await;
        let lost = rig.publish("t", prepared("lost", secs(10), 2)).await;
        rig.advance(secs(10)).await;
        let mut got = rig.receive("t.in_doubt/checker", 10).await;
        got.sort_by_key(|delivery| delivery.body.clone());
        assert_eq!(bodies(&got), ["asked", "lost"]);
        assert_eq!(got[0].id, asked.id);
        assert!(matches!(commit(&rig, &got[0].id).await, PreparedOutcome::Committed { .. }));
        rig.ack("t.in_doubt/checker", &got).await;
        let rig = rig.crash().await;
        rig.advance(secs(10)).await;
        assert_eq!(bodies(&rig.receive("t.in_doubt/checker", 10).await), ["lost"]);
        rig.advance(secs(10)).await;
        assert!(rig.receive("t.in_doubt/checker", 10).await.is_empty());
        assert_eq!(commit(&rig, &lost.id).await, PreparedOutcome::RolledBack);
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["asked"]);
        let stats = rig.stats("t").await;
        assert_eq!((stats.prepared, stats.cancelled_total), (0, 1));
    });
}

#[test]
fn an_in_doubt_topic_that_is_deleted_is_made_again() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", prepared("a", secs(10), 1)).await;
        rig.broker.delete_topic(topic("t.in_doubt")).await.expect("deleted");
        rig.advance(secs(10)).await;
        assert_eq!(bodies(&rig.receive("t.in_doubt/checker", 10).await), ["a"]);
    });
}

#[test]
fn more_than_a_piece_is_asked_after_at_once() {
    run(async {
        let rig = Rig::new().await;
        let count = limits::CHECK_PIECE_MAX + 1;
        let many = (0..count).map(|_| prepared("x", secs(10), 1)).collect();
        rig.broker.publish(topic("t"), many).await.expect("published");
        rig.advance(secs(10)).await;
        assert_eq!(rig.receive("t.in_doubt/checker", 1000).await.len(), count as usize);
        rig.advance(secs(10)).await;
        assert_eq!(rig.stats("t").await.prepared, 0);
    });
}

#[test]
fn the_bounds_of_preparing_are_named() {
    run(async {
        let rig = Rig::new().await;
        let (least, most) = (limits::PREPARE_TIMEOUT_MIN, limits::PREPARE_TIMEOUT_MAX);
        for (timeout, checks) in [(least, 1), (most, limits::PREPARE_CHECKS_MAX)] {
            rig.publish("t", prepared("x", timeout, checks)).await;
        }
        let field = |refused: Result<Published, Error>| {
            let error = refused.expect_err("out of bounds");
            (error.code, error.field.expect("a field"))
        };
        for timeout in [ms(least.ms() - 1), ms(most.ms() + 1)] {
            let refused = rig.try_publish("t", prepared("x", timeout, 1)).await;
            assert_eq!(field(refused), (Code::InvalidField, "prepare.timeout".to_owned()));
        }
        for checks in [0, limits::PREPARE_CHECKS_MAX + 1] {
            let refused = rig.try_publish("t", prepared("x", least, checks)).await;
            assert_eq!(field(refused), (Code::InvalidField, "prepare.max_checks".to_owned()));
        }
    });
}
