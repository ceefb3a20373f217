//! Looking at what a subscription still has to do.

mod support;

use punctual_broker_api::{
    Broker as _, Code, Patch, SubscriptionListRequest, SubscriptionListState, SubscriptionMessageState, TopicPatch,
};
use support::*;

fn retrying(limit: u32, cursor: Option<String>) -> SubscriptionListRequest {
    let (subscription, state) = (sub("t/s"), SubscriptionListState::Retrying);
    SubscriptionListRequest { subscription, state, limit, cursor, with_body: true }
}

#[test]
fn what_is_to_be_tried_again_is_shown_page_by_page_until_it_is_due() {
    run(async {
        let rig = Rig::new().await;
        let patch = TopicPatch { partitions: Patch::Set(3), ..TopicPatch::default() };
        rig.broker.put_topic(topic("t"), patch).await.expect("made");
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        for name in names {
            rig.publish("t", message(name)).await;
        }
        let mut got = rig.receive("t/s", 10).await;
        while got.len() < names.len() {
            got.extend(rig.receive("t/s", 10).await);
        }
        assert!(rig.broker.list_subscription_messages(retrying(2, None)).await.expect("listed").items.is_empty());
        got.sort_by_key(|delivery| delivery.body.clone());
        for (delivery, delay) in got.iter().zip(1..) {
            rig.nack("t/s", delivery, Some(secs(delay))).await;
        }
        let rig = rig.crash().await;
        rig.advance(secs(1)).await;
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = rig.broker.list_subscription_messages(retrying(2, cursor)).await.expect("listed");
            assert!(page.items.len() <= 2);
            for view in page.items {
                assert_eq!(view.subscriptions[0].state, SubscriptionMessageState::Retrying);
                assert_eq!((view.subscriptions[0].subscription.as_str(), view.subscriptions[0].attempts), ("s", 1));
                assert!(view.subscriptions[0].retry_at > Some(at(1_000)));
                seen.push(String::from_utf8(view.body.expect("asked for").to_vec()).expect("UTF-8"));
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, names[1..], "in the order of their next try, without the one that is ready again");
    });
}

#[test]
fn what_cannot_be_shown_yet_is_refused_by_name() {
    run(async {
        let rig = Rig::new().await;
        rig.receive("t/s", 1).await;
        for state in [SubscriptionListState::Ready, SubscriptionListState::Leased, SubscriptionListState::Dead] {
            let request = SubscriptionListRequest { state, ..retrying(1, None) };
            let refused = rig.broker.list_subscription_messages(request).await.expect_err("refused");
            assert_eq!((refused.code, refused.field.as_deref()), (Code::NotSupported, Some("state")));
        }
    });
}
