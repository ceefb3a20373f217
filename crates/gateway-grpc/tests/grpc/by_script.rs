//! Calls whose answers a test cannot bring about in the real broker at will, by the client of ours,
//! through the door, to a broker that answers by a script.

use punctual_broker_api::*;

use crate::support::{Served, scripted::Scripted, subscription, topic};

#[tokio::test]
async fn a_prepared_message_is_settled_and_answers_what_became_of_it() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let client = served.client().await;
    let committed = PreparedOutcome::Committed { deliver_at: Time::from_unix_ms(7).expect("a time") };
    for (id, expected) in
        [("committed", committed), ("rolled-back", PreparedOutcome::RolledBack), ("unknown", PreparedOutcome::NotFound)]
    {
        assert_eq!(client.commit(topic("t"), MessageId::new(id)).await, Ok(expected));
        assert_eq!(client.rollback(topic("t"), MessageId::new(id)).await, Ok(expected));
    }
    assert_eq!(broker.asked()[..2], ["commit t committed", "rollback t committed"]);
    let nobody = client.commit(topic("t"), MessageId::new("")).await.expect_err("no id");
    assert_eq!((nobody.code, nobody.field.as_deref()), (Code::MalformedRequest, Some("id")));
    served.close().await;
}

#[tokio::test]
async fn a_subscription_is_looked_into_as_it_was_asked() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let client = served.client().await;
    for (at, state) in SubscriptionListState::ALL.into_iter().enumerate() {
        let request = SubscriptionListRequest {
            subscription: subscription("t", "s"),
            state,
            limit: 5,
            cursor: Some("c".to_owned()),
            with_body: at % 2 == 0,
        };
        let page = client.list_subscription_messages(request.clone()).await.expect("a page");
        let told = broker.list_subscription_messages(request).await.expect("a page");
        assert_eq!(page, told);
    }
    let asked =
        ["look s ready 5 Some(\"c\") true", "look s ready 5 Some(\"c\") true", "look s leased 5 Some(\"c\") false"];
    assert_eq!(broker.asked()[..3], asked);
    served.close().await;
}

#[tokio::test]
async fn dead_letters_are_given_back_as_they_were_selected() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let client = served.client().await;
    let time = |ms| Time::from_unix_ms(ms);
    let all = RedriveRequest::default();
    let some = RedriveRequest {
        max: Some(9),
        ids: Some(vec![MessageId::new("a")]),
        range: TimeRange { from: time(1), to: time(2) },
    };
    let none = RedriveRequest { ids: Some(Vec::new()), ..RedriveRequest::default() };
    for (request, redriven) in [(all, 77), (some, 1), (none, 0)] {
        assert_eq!(client.redrive(subscription("t", "s"), request.clone()).await, Ok(redriven));
        broker.redrive(subscription("t", "s"), request).await.expect("as asked");
    }
    let asked = broker.asked();
    let (through, direct): (Vec<_>, Vec<_>) = asked.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).unzip();
    assert_eq!(through, direct);
    served.close().await;
}
