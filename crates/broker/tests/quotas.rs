//! Limits of a namespace: met before the answer, told by name, felt by nobody else.

mod support;

use punctual_broker_api::{
    Broker as _, Code, Error, Kind, NamespaceLimits, NamespaceName, NamespacePatch, NewMessage, Patch, Published,
    SubscriptionPatch, TopicName, TopicPath,
};
use support::*;

async fn limit(rig: &Rig, limits: NamespaceLimits) {
    let patch = NamespacePatch { limits: Patch::Set(limits), ..Default::default() };
    rig.broker.put_namespace(NamespaceName::default(), patch).await.expect("set");
}

async fn batch(rig: &Rig, messages: Vec<NewMessage>) -> Vec<Result<Published, Error>> {
    rig.broker.publish(topic("t"), messages).await.expect("a batch has an answer for each")
}

fn met(result: &Result<Published, Error>, field: &str) {
    let error = result.as_ref().expect_err("the limit is met");
    assert_eq!(
        (error.code, error.kind(), error.field.as_deref()),
        (Code::QuotaExceeded, Kind::Overloaded, Some(field))
    );
    assert!(error.retry_after_ms.is_some_and(|ms| ms > 0), "{error:?}");
}

#[test]
fn a_limit_of_scheduled_messages_refuses_those_alone_and_is_free_again_by_a_cancel() {
    run(async {
        let rig = Rig::new().await;
        limit(&rig, NamespaceLimits { max_scheduled: Some(3), ..Default::default() }).await;
        let results = batch(&rig, (0..5).map(|n| after(&n.to_string(), secs(60))).collect()).await;
        assert!(results[..3].iter().all(Result::is_ok), "the limit is not passed and not missed: {results:?}");
        results[3..].iter().for_each(|result| met(result, "max_scheduled"));
        assert!(results[3].as_ref().expect_err("met").message.contains("3 scheduled messages"), "{results:?}");
        // A backlog of what is scheduled does not hold up what is to go at once.
        rig.publish("t", message("now")).await;
        let rig = rig.crash().await;
        met(&batch(&rig, vec![after("x", ms(1))]).await[0], "max_scheduled");
        let first = results[0].as_ref().expect("accepted");
        rig.broker.cancel(topic("t"), rig.id(&first.id)).await.expect("cancelled");
        rig.advance(ms(0)).await;
        assert!(batch(&rig, vec![after("x", secs(60))]).await[0].is_ok());
        met(&batch(&rig, vec![after("x", secs(60))]).await[0], "max_scheduled");
        rig.advance(secs(60)).await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["now", "1", "2", "x"], "what was accepted is there");
    });
}

#[test]
fn a_limit_of_ready_messages_refuses_what_goes_at_once_until_consumers_ack() {
    run(async {
        let rig = Rig::new().await;
        rig.broker.put_subscription(sub("t/s"), SubscriptionPatch::default()).await.expect("made");
        limit(&rig, NamespaceLimits { max_ready: Some(2), ..Default::default() }).await;
        let results = batch(&rig, ["a", "b", "c"].map(message).to_vec()).await;
        assert!(results[0].is_ok() && results[1].is_ok());
        met(&results[2], "max_ready");
        assert!(batch(&rig, vec![after("later", secs(60))]).await[0].is_ok(), "it is not ready yet");
        rig.advance(ms(0)).await;
        met(&batch(&rig, vec![message("d")]).await[0], "max_ready");
        let got = rig.receive("t/s", 1).await;
        rig.advance(ms(0)).await;
        met(&batch(&rig, vec![message("e")]).await[0], "max_ready");
        rig.ack("t/s", &got).await;
        rig.advance(ms(0)).await;
        assert!(batch(&rig, vec![message("f")]).await[0].is_ok());
    });
}

#[test]
fn a_rate_lets_a_second_s_worth_in_and_says_when_to_come_back() {
    run(async {
        let rig = Rig::new().await;
        limit(&rig, NamespaceLimits { publish_per_second: Some(4), ..Default::default() }).await;
        let results = batch(&rig, ["a", "b", "c", "d", "e"].map(message).to_vec()).await;
        assert!(results[..4].iter().all(Result::is_ok), "{results:?}");
        met(&results[4], "publish_per_second");
        assert_eq!(results[4].as_ref().expect_err("met").retry_after_ms, Some(250));
        rig.advance(ms(249)).await;
        met(&rig.try_publish("t", message("f")).await, "publish_per_second");
        rig.advance(ms(1)).await;
        assert!(rig.try_publish("t", message("g")).await.is_ok());
        met(&rig.try_publish("t", message("h")).await, "publish_per_second");
        limit(&rig, NamespaceLimits { publish_per_second: Some(0), ..Default::default() }).await;
        rig.advance(secs(3600)).await;
        met(&rig.try_publish("t", message("i")).await, "publish_per_second");
        limit(&rig, NamespaceLimits::default()).await;
        rig.publish("t", message("j")).await;
    });
}

#[test]
fn the_limit_of_one_namespace_is_nothing_to_another() {
    run(async {
        let rig = Rig::new().await;
        let nothing = NamespaceLimits {
            max_scheduled: Some(0),
            max_ready: Some(0),
            publish_per_second: Some(0),
            ..Default::default()
        };
        limit(&rig, nothing).await;
        met(&batch(&rig, vec![message("x")]).await[0], "max_ready");
        let tenant = NamespaceName::parse("tenant").expect("a name");
        rig.broker.put_namespace(tenant.clone(), NamespacePatch::default()).await.expect("made");
        let there = TopicPath { namespace: tenant, topic: TopicName::parse("t").expect("a name") };
        let results = rig.broker.publish(there, vec![message("x"), after("y", secs(1))]).await.expect("answered");
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    });
}
