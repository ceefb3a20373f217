//! What may not be sent is refused by code and field.

use punctual_broker_api::{Code, Error, Handle, MessageId, SeekTo, TimeRange};

use super::{super::*, time};
use crate::v1;

/// The code and the field that something is refused with.
fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> (Code, String) {
    let error = result.expect_err("refused");
    (error.code, error.field.unwrap_or_default())
}

#[test]
fn a_bad_message_is_refused_by_the_name_of_its_field() {
    let plain = v1::NewMessage::default;
    let cases = [
        (v1::NewMessage { delay_ms: Some(-1), ..plain() }, Code::InvalidDuration, "delay"),
        (v1::NewMessage { delay_ms: Some(i64::MIN), ..plain() }, Code::InvalidDuration, "delay"),
        (v1::NewMessage { deliver_at_unix_ms: Some(-1), ..plain() }, Code::InvalidTime, "deliver_at"),
        (v1::NewMessage { deliver_at_unix_ms: Some(253_402_300_800_000), ..plain() }, Code::InvalidTime, "deliver_at"),
        (v1::NewMessage { deliver_at_unix_ms: Some(i64::MAX), ..plain() }, Code::InvalidTime, "deliver_at"),
        (
            v1::NewMessage { delay_ms: Some(0), deliver_at_unix_ms: Some(0), ..plain() },
            Code::ExclusiveFields,
            "deliver_at",
        ),
        (v1::NewMessage { delay_ms: Some(0), delay_level: Some(1), ..plain() }, Code::ExclusiveFields, "delay_level"),
        (v1::NewMessage { on_conflict: 4, ..plain() }, Code::InvalidField, "on_conflict"),
        (v1::NewMessage { on_conflict: -1, ..plain() }, Code::InvalidField, "on_conflict"),
        (v1::NewMessage { priority: 256, ..plain() }, Code::InvalidField, "priority"),
        (v1::NewMessage { expires_after_ms: Some(-5), ..plain() }, Code::InvalidDuration, "expires_after"),
        (
            v1::NewMessage { prepare: Some(v1::Prepare { timeout_ms: -1, max_checks: 1 }), ..plain() },
            Code::InvalidDuration,
            "prepare.timeout",
        ),
    ];
    for (message, code, field) in cases {
        assert_eq!(refused(new_message_from(message.clone())), (code, field.to_owned()), "{message:?}");
    }
}

#[test]
fn a_bad_name_is_refused_by_what_it_names() {
    let long = "x".repeat(256);
    for bad in ["a b", "a/b", "ü", &long, "a\0"] {
        assert_eq!(refused(topic_from(bad, "t")), (Code::InvalidName, "namespace".to_owned()));
        assert_eq!(refused(topic_from("", bad)), (Code::InvalidName, "topic".to_owned()));
        assert_eq!(refused(subscription_from("", "t", bad)), (Code::InvalidName, "subscription".to_owned()));
        assert!(topic_from("", bad).expect_err("refused").message.len() < 400, "a long name is not repeated whole");
    }
    assert_eq!(refused(topic_from("", "")), (Code::InvalidName, "topic".to_owned()));
    assert_eq!(namespace_from("").expect("a namespace").as_str(), "default");
}

#[test]
fn a_bad_handle_range_or_seek_is_refused() {
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(refused(handle_from(None, None, None)), (Code::MalformedRequest, "id".to_owned()));
    assert_eq!(refused(handle_from(text("i"), text("k"), None)), (Code::ExclusiveFields, "key".to_owned()));
    assert_eq!(refused(handle_from(text("i"), None, text("o"))), (Code::ExclusiveFields, "ordering_key".to_owned()));
    let key = Handle::Key { key: "k".to_owned(), ordering_key: text("o") };
    let (id, name, ordering_key) = handle_into(key.clone());
    assert_eq!(handle_from(id, name, ordering_key), Ok(key));

    assert_eq!(refused(required_when_from(None, None, None)), (Code::MalformedRequest, "delay".to_owned()));
    assert_eq!(refused(range_from(Some(-1), None)), (Code::InvalidTime, "from".to_owned()));
    assert_eq!(refused(range_from(None, Some(i64::MAX))), (Code::InvalidTime, "to".to_owned()));
    let nothing = v1::CancelRangeRequest::default;
    assert_eq!(refused(cancel_range_from(&nothing())), (Code::MalformedRequest, "all".to_owned()));
    let both = v1::CancelRangeRequest { all: true, to_unix_ms: Some(1), ..nothing() };
    assert_eq!(refused(cancel_range_from(&both)), (Code::ExclusiveFields, "all".to_owned()));
    let all = v1::CancelRangeRequest { all: true, ..nothing() };
    assert_eq!(cancel_range_from(&all), Ok(TimeRange::default()));
    assert_eq!(refused(seek_from(0, None)), (Code::MalformedRequest, "to".to_owned()));
    assert_eq!(refused(seek_from(1, Some(1))), (Code::ExclusiveFields, "to".to_owned()));
    assert_eq!(refused(seek_from(3, None)), (Code::InvalidField, "to".to_owned()));
    assert_eq!(refused(seek_from(0, Some(-1))), (Code::InvalidTime, "to".to_owned()));
    assert_eq!(seek_from(0, Some(5)), Ok(SeekTo::Time(time(5))));
}

#[test]
fn a_bad_setting_is_refused_by_the_name_of_its_field() {
    let topic = v1::TopicSettings::default;
    let cases = [
        (v1::TopicSettings { partitions: Some(65_536), ..topic() }, vec![], Code::InvalidField, "partitions"),
        (v1::TopicSettings { durability: Some(0), ..topic() }, vec![], Code::InvalidField, "durability"),
        (v1::TopicSettings { durability: Some(4), ..topic() }, vec![], Code::InvalidField, "durability"),
        (v1::TopicSettings { on_expiry: Some(9), ..topic() }, vec![], Code::InvalidField, "on_expiry"),
        (v1::TopicSettings { retention_ms: Some(-1), ..topic() }, vec![], Code::InvalidDuration, "retention"),
        (v1::TopicSettings { retention_ms: Some(1), ..topic() }, vec!["retention"], Code::ExclusiveFields, "retention"),
        (topic(), vec!["colour"], Code::UnknownField, "reset"),
    ];
    for (settings, reset, code, field) in cases {
        let reset = reset.into_iter().map(str::to_owned).collect();
        assert_eq!(refused(topic_patch_from(Some(settings), reset)), (code, field.to_owned()));
    }
    let subscription = v1::SubscriptionSettings::default;
    let retry = v1::RetryPolicy { initial_ms: Some(-1), ..v1::RetryPolicy::default() };
    let whole = v1::RetryPolicy::default();
    let paused_before = v1::Breaker { pause_ms: -1, ..v1::Breaker::default() };
    let cases = [
        (v1::SubscriptionSettings { start: Some(3), ..subscription() }, vec![], Code::InvalidField, "start"),
        (
            v1::SubscriptionSettings { start: Some(1), start_unix_ms: Some(1), ..subscription() },
            vec![],
            Code::ExclusiveFields,
            "start",
        ),
        (v1::SubscriptionSettings { start_unix_ms: Some(-1), ..subscription() }, vec![], Code::InvalidTime, "start"),
        (
            v1::SubscriptionSettings { start_unix_ms: Some(1), ..subscription() },
            vec!["start"],
            Code::ExclusiveFields,
            "start",
        ),
        (v1::SubscriptionSettings { lease_ms: Some(-1), ..subscription() }, vec![], Code::InvalidDuration, "lease"),
        (
            v1::SubscriptionSettings { retry: Some(retry), ..subscription() },
            vec![],
            Code::InvalidDuration,
            "retry.initial",
        ),
        (
            v1::SubscriptionSettings { retry: Some(whole), ..subscription() },
            vec!["retry"],
            Code::ExclusiveFields,
            "retry",
        ),
        (
            v1::SubscriptionSettings { breaker: Some(paused_before), ..subscription() },
            vec![],
            Code::InvalidDuration,
            "breaker.pause",
        ),
        (subscription(), vec!["retry.colour"], Code::UnknownField, "reset"),
    ];
    for (settings, reset, code, field) in cases {
        let reset = reset.into_iter().map(str::to_owned).collect();
        assert_eq!(refused(subscription_patch_from(Some(settings), reset)), (code, field.to_owned()));
    }
}

#[test]
fn a_list_of_a_subscription_names_one_of_its_states() {
    use punctual_broker_api::SubscriptionListState;
    let ask = |state| v1::ListSubscriptionMessagesRequest {
        topic: "t".to_owned(),
        subscription: "s".to_owned(),
        state,
        ..v1::ListSubscriptionMessagesRequest::default()
    };
    for state in SubscriptionListState::ALL {
        let request = subscription_list_from(ask(list_state_into(state))).expect("a list");
        assert_eq!((request.state, request.limit, request.with_body), (state, 100, true));
    }
    let unsaid = subscription_list_from(ask(0)).expect("a list");
    assert_eq!(unsaid.state, SubscriptionListState::Ready);
    for state in [v1::SubscriptionMessageState::Settled.into(), 77, -1] {
        assert_eq!(refused(subscription_list_from(ask(state))), (Code::InvalidField, "state".to_owned()));
    }
}

#[test]
fn a_redrive_of_no_ids_is_not_a_redrive_of_all() {
    let none = redrive_from(None, Some(ids_into(&[])), None, None).expect("a redrive");
    assert_eq!(none.ids, Some(Vec::new()));
    let ids = [MessageId::new("a"), MessageId::new("b")];
    let some = redrive_from(Some(0), Some(ids_into(&ids)), Some(1), Some(2)).expect("a redrive");
    assert_eq!((some.max, some.ids), (Some(0), Some(ids.to_vec())));
    assert_eq!(some.range, TimeRange { from: Some(time(1)), to: Some(time(2)) });
    assert_eq!(redrive_from(None, None, None, None), Ok(punctual_broker_api::RedriveRequest::default()));
    assert_eq!(refused(redrive_from(None, None, Some(-1), None)), (Code::InvalidTime, "from".to_owned()));
}
