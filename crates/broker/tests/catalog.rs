//! Namespaces, topics, subscriptions.

mod support;

use punctual_broker_api::{
    Broker as _, Code, Durability, NamespaceLimits, NamespaceName, NamespacePatch, PageRequest, Patch, SeekTo, Start,
    SubscriptionPatch, TopicPatch, TopicPath,
};
use support::*;

fn page() -> PageRequest {
    PageRequest { limit: 100, cursor: None }
}

async fn topic_names(rig: &Rig) -> Vec<String> {
    let topics = rig.broker.list_topics(NamespaceName::default(), page()).await.expect("listed");
    topics.items.into_iter().map(|it| it.name).collect()
}

#[test]
fn topics_and_subscriptions_are_made_on_first_use_and_kept() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("b", message("x")).await;
        rig.receive("a/s", 1).await;
        let rig = rig.crash().await;
        assert_eq!(topic_names(&rig).await, ["a", "b"]);
        let subscription = rig.broker.get_subscription(sub("a/s")).await.expect("kept");
        assert_eq!(subscription.settings.dead_letter_topic.as_deref(), Some("a.s.dead"));
    });
}

#[test]
fn without_auto_create_nothing_is_made() {
    run(async {
        let rig = Rig::new().await;
        let patch = NamespacePatch { auto_create: Patch::Set(false), ..Default::default() };
        rig.broker.put_namespace(NamespaceName::default(), patch).await.expect("changed");
        let rig = rig.crash().await;
        assert_eq!(rig.try_publish("t", message("x")).await.expect_err("none").code, Code::TopicNotFound);
        assert_eq!(rig.broker.receive(receive("t/s", 1)).await.expect_err("none").code, Code::TopicNotFound);
        rig.broker.put_topic(topic("t"), TopicPatch::default()).await.expect("made");
        assert_eq!(rig.broker.receive(receive("t/s", 1)).await.expect_err("none").code, Code::SubscriptionNotFound);
    });
}

#[test]
fn a_topic_that_is_deleted_and_made_again_shares_nothing_with_its_past() {
    run(async {
        let rig = Rig::new().await;
        let scheduled = rig.publish("t", after("old", secs(5))).await;
        rig.publish("t", message("older")).await;
        let held = rig.receive("t/s", 1).await;
        rig.broker.delete_topic(topic("t")).await.expect("deleted");
        assert!(
            topic_names(&rig).await.is_empty(),
            "the topic, or the one kept ready for its dead letters, is still there"
        );
        assert_eq!(rig.broker.get_topic(topic("t")).await.expect_err("gone").code, Code::TopicNotFound);
        rig.publish("t", message("new")).await;
        assert!(rig.broker.get(topic("t"), rig.id(&scheduled.id)).await.is_err());
        let rig = rig.crash().await;
        rig.advance(secs(10)).await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["new"]);
        let old = rig.broker.ack(sub("t/s"), vec![held[0].receipt.clone()]).await.expect("answered");
        assert_eq!(old, [punctual_broker_api::AckOutcome::Invalid]);
    });
}

#[test]
fn settings_keep_what_is_left_out_and_reset_what_is_null() {
    run(async {
        let rig = Rig::new().await;
        let patch =
            TopicPatch { partitions: Patch::Set(3), durability: Patch::Set(Durability::Async), ..Default::default() };
        assert!(rig.broker.put_topic(topic("t"), patch).await.expect("made").created);
        let patch = TopicPatch { dedup_window: Patch::Set(secs(5)), ..Default::default() };
        let put = rig.broker.put_topic(topic("t"), patch).await.expect("changed");
        assert!(!put.created);
        let settings = put.object.settings;
        assert_eq!((settings.partitions, settings.durability, settings.dedup_window), (3, Durability::Async, secs(5)));
        let reset = TopicPatch { durability: Patch::Reset, ..Default::default() };
        let rig = rig.crash().await;
        let settings = rig.broker.put_topic(topic("t"), reset).await.expect("changed").object.settings;
        assert_eq!((settings.partitions, settings.durability, settings.dedup_window), (3, Durability::Sync, secs(5)));
        let fixed = TopicPatch { partitions: Patch::Set(4), ..Default::default() };
        assert_eq!(rig.broker.put_topic(topic("t"), fixed).await.expect_err("fixed").code, Code::SettingFixed);
    });
}

#[test]
fn what_is_not_built_yet_is_refused_by_name_and_makes_nothing() {
    run(async {
        let rig = Rig::new().await;
        let limits = NamespaceLimits { max_bytes: Some(1), ..Default::default() };
        let patch = NamespacePatch { limits: Patch::Set(limits), ..Default::default() };
        let name = NamespaceName::parse("tenant").expect("a name");
        let error = rig.broker.put_namespace(name.clone(), patch).await.expect_err("refused");
        assert_eq!((error.code, error.field.as_deref()), (Code::NotSupported, Some("limits.max_bytes")));
        assert_eq!(rig.broker.get_namespace(name).await.expect_err("not made").code, Code::NamespaceNotFound);
    });
}

#[test]
fn a_subscription_may_begin_with_what_comes_from_now_on() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", message("old")).await;
        rig.publish("t", after("scheduled", secs(5))).await;
        let patch = SubscriptionPatch { start: Patch::Set(Start::Latest), ..Default::default() };
        rig.broker.put_subscription(sub("t/late"), patch).await.expect("made");
        rig.advance(secs(5)).await;
        assert_eq!(bodies(&rig.receive("t/late", 10).await), ["scheduled"]);
        assert_eq!(bodies(&rig.receive("t/early", 10).await), ["old", "scheduled"]);
    });
}

#[test]
fn a_subscription_can_be_moved_back_and_forth() {
    run(async {
        let rig = Rig::new().await;
        for n in 0..5u64 {
            rig.publish("t", after(&n.to_string(), secs(n))).await;
        }
        // A second subscription keeps everything from being reclaimed.
        rig.receive("t/keeper", 1).await;
        rig.advance(secs(10)).await;
        let all = rig.receive("t/s", 10).await;
        rig.ack("t/s", &all).await;
        rig.broker.seek(sub("t/s"), SeekTo::Time(at(3000))).await.expect("moved");
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["3", "4"]);
        rig.broker.seek(sub("t/s"), SeekTo::Earliest).await.expect("moved");
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["0", "1", "2", "3", "4"]);
        let future = rig.broker.seek(sub("t/s"), SeekTo::Time(at(11_000))).await.expect_err("not yet");
        assert_eq!(future.field.as_deref(), Some("to"));
        rig.broker.seek(sub("t/s"), SeekTo::Latest).await.expect("moved");
        assert!(rig.receive("t/s", 10).await.is_empty());
    });
}

#[test]
fn namespaces_keep_names_apart_and_take_their_topics_with_them() {
    run(async {
        let rig = Rig::new().await;
        let shop = NamespaceName::parse("shop").expect("a name");
        let there = TopicPath { namespace: shop.clone(), topic: topic("t").topic };
        let missing = rig.broker.publish(there.clone(), vec![message("x")]).await.expect_err("no namespace");
        assert_eq!(missing.code, Code::NamespaceNotFound);
        let patch = NamespacePatch { max_delay: Patch::Set(secs(60)), ..Default::default() };
        assert!(rig.broker.put_namespace(shop.clone(), patch).await.expect("made").created);
        rig.broker.publish(there.clone(), vec![message("shop")]).await.expect("answered");
        rig.publish("t", message("default")).await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["default"]);
        let long =
            rig.broker.publish(there.clone(), vec![after("x", secs(61))]).await.expect("answered").pop().expect("one");
        assert_eq!(long.expect_err("over max_delay").code, Code::DelayTooLong);
        rig.publish("t", after("x", secs(61))).await;
        rig.broker.delete_namespace(shop.clone()).await.expect("deleted");
        let rig = rig.crash().await;
        assert_eq!(rig.broker.get_topic(there).await.expect_err("gone").code, Code::NamespaceNotFound);
        let always = rig.broker.delete_namespace(NamespaceName::default()).await.expect_err("always there");
        assert_eq!(always.code, Code::NamespaceInUse);
    });
}

#[test]
fn deleting_a_subscription_lets_go_of_what_only_it_wanted() {
    run(async {
        let rig = Rig::new().await;
        rig.receive("t/a", 1).await;
        rig.receive("t/b", 1).await;
        rig.publish("t", message("x")).await;
        let got = rig.receive("t/a", 1).await;
        rig.ack("t/a", &got).await;
        rig.broker.delete_subscription(sub("t/b")).await.expect("deleted");
        assert_eq!(rig.broker.get_subscription(sub("t/b")).await.expect_err("gone").code, Code::SubscriptionNotFound);
        assert!(rig.broker.get(topic("t"), rig.id(&got[0].id)).await.is_err(), "nobody wants it any more");
        let rig = rig.crash().await;
        assert_eq!(rig.broker.list_subscriptions(topic("t"), page()).await.expect("listed").items.len(), 1);
    });
}

#[test]
fn dead_letters_have_a_place_also_after_theirs_was_deleted() {
    run(async {
        let rig = Rig::new().await;
        let retry = punctual_broker_api::RetryPatch { max_attempts: Patch::Set(1), ..Default::default() };
        let patch = SubscriptionPatch { retry: Patch::Set(retry), ..Default::default() };
        rig.broker.put_subscription(sub("t/s"), patch).await.expect("made");
        for body in ["first", "second"] {
            rig.publish("t", message(body)).await;
            let got = rig.receive_one("t/s").await;
            rig.nack("t/s", &got, None).await;
        }
        assert_eq!(bodies(&rig.receive("t.s.dead/watch", 10).await), ["first", "second"]);
        rig.broker.delete_topic(topic("t.s.dead")).await.expect("deleted");
        assert_eq!(topic_names(&rig).await, ["t"]);
        rig.publish("t", message("third")).await;
        let rig = rig.crash().await;
        let got = rig.receive_one("t/s").await;
        rig.nack("t/s", &got, None).await;
        let rig = rig.crash().await;
        assert_eq!(bodies(&rig.receive("t.s.dead/watch", 10).await), ["third"]);
    });
}

#[test]
fn a_first_retry_delay_over_the_longest_is_refused() {
    run(async {
        let rig = Rig::new().await;
        let retry = punctual_broker_api::RetryPatch { initial: Patch::Set(secs(3600)), ..Default::default() };
        let patch = SubscriptionPatch { retry: Patch::Set(retry), ..Default::default() };
        let refused = rig.broker.put_subscription(sub("t/s"), patch).await.expect_err("over `max`");
        assert_eq!((refused.code, refused.field.as_deref()), (Code::InvalidField, Some("retry.initial")));
    });
}

#[test]
fn a_dead_letter_topic_stays_as_long_as_any_subscription_sends_to_it() {
    run(async {
        let rig = Rig::new().await;
        let to =
            |name: &str| SubscriptionPatch { dead_letter_topic: Patch::Set(name.to_owned()), ..Default::default() };
        rig.broker.put_subscription(sub("t/s1"), to("d")).await.expect("made");
        rig.broker.put_subscription(sub("t/s2"), to("e")).await.expect("made");
        rig.broker.put_subscription(sub("d/x"), to("e")).await.expect("made");
        rig.broker.delete_topic(topic("t")).await.expect("deleted");
        let rig = rig.crash().await;
        assert_eq!(topic_names(&rig).await, ["d"]);
        rig.broker.delete_topic(topic("d")).await.expect("deleted");
        let rig = rig.crash().await;
        assert!(topic_names(&rig).await.is_empty());
        assert_eq!(rig.broker.get_topic(topic("e")).await.expect_err("nobody sends to it").code, Code::TopicNotFound);
    });
}

#[test]
fn a_topic_made_again_has_its_subscriptions_again_though_old_dead_letters_lie_about() {
    run(async {
        let rig = Rig::new().await;
        let retry = punctual_broker_api::RetryPatch { max_attempts: Patch::Set(1), ..Default::default() };
        let patch = SubscriptionPatch { retry: Patch::Set(retry), ..Default::default() };
        for (body, dead_letters) in [("old", "t.s.dead"), ("new", "t.s.dead.2")] {
            rig.broker.put_subscription(sub("t/s"), patch.clone()).await.expect("made");
            rig.publish("t", message(body)).await;
            let got = rig.receive_one("t/s").await;
            rig.nack("t/s", &got, None).await;
            assert_eq!(bodies(&rig.receive(&format!("{dead_letters}/watch"), 10).await), [body]);
            rig.broker.delete_topic(topic("t")).await.expect("deleted");
        }
    });
}
