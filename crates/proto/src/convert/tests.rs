//! What is written is read again as it was; what may not be sent is refused by code and field.

use prost::Message;
use punctual_broker_api::{
    ClockMode, ClockView, Code, DeadLetterHistory, DeadLetterReason, DelayMs, Delivery, Durability, Error,
    ExtendOutcome, Handle, Health, Limits, MessageId, MessageState, MessageView, NamespaceLimits, NamespacePatch,
    NamespaceSettings, NamespaceView, NewMessage, OnConflict, OnExpiry, Patch, PublishStatus, Published, Receipt,
    RescheduleOutcome, RetryPatch, SeekTo, Start, SubscriptionMessageState, SubscriptionPatch, SubscriptionProgress,
    SubscriptionSettings, SubscriptionStats, SubscriptionView, Time, TimeRange, TopicPatch, TopicSettings, TopicStats,
    TopicView, When,
};

use super::*;
use crate::v1;

fn time(ms: u64) -> Time {
    Time::from_unix_ms(ms).expect("a time")
}

/// Through the bytes, as a peer would see it.
fn wired<T: Message + Default>(message: &T) -> T {
    T::decode(message.encode_to_vec().as_slice()).expect("decodes")
}

fn headers() -> Vec<(String, String)> {
    // Neither sorted nor unique: they come back exactly as sent.
    [("z", "1"), ("a", ""), ("z", "2"), ("ü", "✓")].map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

#[test]
fn a_message_is_read_as_it_was_written() {
    let whens = [
        When::Now,
        When::Delay(DelayMs::ZERO),
        When::Delay(DelayMs::from_secs(900)),
        When::At(Time::ZERO),
        When::At(Time::MAX),
        When::Level(1),
        When::Level(u32::MAX),
    ];
    for when in whens {
        for on_conflict in [OnConflict::Reject, OnConflict::Replace, OnConflict::Keep] {
            let message = NewMessage {
                body: vec![0, 159, 255].into(),
                when,
                key: Some(String::new()),
                on_conflict,
                dedup_id: Some("dedup".to_owned()),
                ordering_key: Some("ordering".to_owned()),
                tag: Some("tag".to_owned()),
                headers: headers(),
                priority: 255,
                expires_after: Some(DelayMs::from_ms(7)),
            };
            assert_eq!(new_message_from(wired(&new_message_into(message.clone()))), Ok(message));
        }
    }
    assert_eq!(new_message_from(v1::NewMessage::default()), Ok(NewMessage::default()));
}

#[test]
fn an_answer_to_a_message_is_read_as_it_was_written() {
    let statuses = [
        PublishStatus::Accepted,
        PublishStatus::Duplicate,
        PublishStatus::Replaced { replaced_id: MessageId::new("old") },
        PublishStatus::Kept,
    ];
    for status in statuses {
        let result = Ok(Published { id: MessageId::new("id"), deliver_at: Time::MAX, status });
        assert_eq!(published_from(wired(&published_into(result.clone()))), result);
    }
    let refused = Err(Error::new(Code::KeyConflict, "taken").with_field("key"));
    assert_eq!(published_from(wired(&published_into(refused.clone()))), refused);
}

#[test]
fn a_view_is_read_as_it_was_written() {
    for state in [MessageState::Scheduled, MessageState::Ready, MessageState::Settled] {
        for body in [None, Some(Vec::new().into()), Some(vec![1, 2, 255].into())] {
            let progress =
                [SubscriptionMessageState::Ready, SubscriptionMessageState::Leased, SubscriptionMessageState::Settled]
                    .map(|state| SubscriptionProgress { subscription: format!("{state:?}"), state, attempts: 3 });
            let view = MessageView {
                id: MessageId::new("id"),
                state,
                body,
                key: Some("key".to_owned()),
                dedup_id: None,
                ordering_key: Some(String::new()),
                tag: None,
                headers: headers(),
                priority: 9,
                expires_after: Some(DelayMs::ZERO),
                published_at: time(1),
                deliver_at: Time::MAX,
                subscriptions: progress.to_vec(),
            };
            assert_eq!(view_from(wired(&view_into(view.clone()))), Ok(view));
        }
    }
}

#[test]
fn a_delivery_is_read_as_it_was_written() {
    let histories = [DeadLetterReason::AttemptsExhausted, DeadLetterReason::Expired].map(|reason| {
        Some(Box::new(DeadLetterHistory {
            reason,
            topic: "orders".to_owned(),
            subscription: "closing".to_owned(),
            attempts: 16,
            first_delivered_at: (reason == DeadLetterReason::AttemptsExhausted).then_some(time(5)),
            last_error: Some("no stock".to_owned()),
        }))
    });
    for dead_letter in histories.into_iter().chain([None]) {
        let delivery = Delivery {
            id: MessageId::new("id"),
            receipt: Receipt::new("receipt"),
            topic: "orders".into(),
            body: vec![255, 0].into(),
            key: None,
            ordering_key: Some("ordering".to_owned()),
            tag: Some("tag".to_owned()),
            headers: headers(),
            priority: 1,
            attempt: 2,
            published_at: time(1),
            deliver_at: time(2),
            delivered_at: time(3),
            lateness_ms: 4,
            waited_ms: 5,
            lease_expires_at: time(6),
            dead_letter,
        };
        let wire = wired(&v1::Deliveries { messages: vec![delivery_into(delivery.clone())] });
        assert_eq!(deliveries_from(wire.messages), Ok(vec![delivery]));
    }
}

#[test]
fn settings_are_changed_as_the_caller_said() {
    fn patches<T: Clone>(value: T) -> [Patch<T>; 3] {
        [Patch::Keep, Patch::Reset, Patch::Set(value)]
    }
    let span = DelayMs::from_secs(9);
    for ((number, duration), durability) in
        patches(7u16).into_iter().zip(patches(span)).zip(patches(Durability::Memory))
    {
        let patch = TopicPatch {
            partitions: number.clone(),
            priorities: number,
            durability,
            retention: duration.clone(),
            keep_acked: duration.clone(),
            on_expiry: Patch::Set(OnExpiry::DeadLetter),
            dedup_window: duration,
        };
        let (settings, reset) = topic_patch_into(patch.clone());
        assert_eq!(topic_patch_from(Some(wired(&settings)), reset), Ok(patch));
    }
    for levels in patches(vec![span]).into_iter().chain([Patch::Set(Vec::new())]) {
        let patch = NamespacePatch {
            max_delay: Patch::Set(span),
            delay_levels: levels,
            auto_create: Patch::Set(false),
            limits: Patch::Set(NamespaceLimits { max_ready: Some(0), ..NamespaceLimits::default() }),
        };
        let (settings, reset) = namespace_patch_into(patch.clone());
        assert_eq!(namespace_patch_from(Some(wired(&settings)), reset), Ok(patch));
    }
    let mixed = RetryPatch { max_attempts: Patch::Set(3), initial: Patch::Reset, ..RetryPatch::default() };
    let only_resets = RetryPatch { jitter: Patch::Reset, ..RetryPatch::default() };
    for retry in [Patch::Keep, Patch::Reset, Patch::Set(mixed), Patch::Set(only_resets)] {
        let patch = SubscriptionPatch {
            start: Patch::Set(Start::Latest),
            lease: Patch::Reset,
            retry,
            dead_letter_topic: Patch::Set("dead".to_owned()),
            max_in_flight: Patch::Keep,
            ordered: Patch::Set(true),
        };
        let (settings, reset) = subscription_patch_into(patch.clone());
        assert_eq!(subscription_patch_from(Some(wired(&settings)), reset), Ok(patch));
    }
}

#[test]
fn a_reset_may_name_its_field_with_or_without_the_unit() {
    let expected = SubscriptionPatch { lease: Patch::Reset, ..SubscriptionPatch::default() };
    assert_eq!(subscription_patch_from(None, vec!["lease".to_owned()]), Ok(expected.clone()));
    assert_eq!(subscription_patch_from(None, vec!["lease_ms".to_owned()]), Ok(expected));
}

#[test]
fn views_of_settings_are_read_as_they_were_written() {
    let topic = TopicView {
        name: "orders".to_owned(),
        settings: TopicSettings { retention: Some(DelayMs::from_ms(1)), partitions: 1024, ..TopicSettings::default() },
        stats: TopicStats {
            scheduled: u64::MAX,
            oldest_ready_age_ms: Some(0),
            next_due_at: Some(Time::MAX),
            ..TopicStats::default()
        },
    };
    assert_eq!(topic_view_from(wired(&topic_view_into(topic.clone()))), Ok(topic));
    let subscription = SubscriptionView {
        name: "closing".to_owned(),
        settings: SubscriptionSettings {
            dead_letter_topic: Some("dead".to_owned()),
            start: Start::Latest,
            ..SubscriptionSettings::default()
        },
        paused: true,
        stats: SubscriptionStats { failed_total: 3, oldest_ready_age_ms: Some(8), ..SubscriptionStats::default() },
    };
    assert_eq!(subscription_view_from(wired(&subscription_view_into(subscription.clone()))), Ok(subscription));
    let settings = NamespaceSettings { max_delay: Some(DelayMs::from_secs(1)), ..NamespaceSettings::default() };
    let namespace = NamespaceView { name: "default".to_owned(), settings, topics: 10_000 };
    assert_eq!(namespace_view_from(wired(&namespace_view_into(namespace.clone()))), Ok(namespace));
}

#[test]
fn clock_health_and_limits_are_read_as_they_were_written() {
    for mode in [ClockMode::System, ClockMode::Manual] {
        let clock = ClockView { now: Time::MAX, wall: time(1), step_ms: -600, mode, held: true };
        assert_eq!(clock_from(wired(&clock_into(clock))), Ok(clock));
    }
    for health in [Health::Ready, Health::Stopping, Health::Failed("fsync".to_owned())] {
        let limits = Limits { topics_max: 3, ..Limits::default() };
        assert_eq!(status_from(wired(&health_into(health.clone(), limits))), Ok((health, limits)));
    }
}

#[test]
fn outcomes_are_read_as_they_were_written() {
    use punctual_broker_api::{AckOutcome, CancelOutcome, DeliverNowOutcome, NackOutcome, ReleaseOutcome};
    for outcome in [AckOutcome::Acked, AckOutcome::LeaseLost, AckOutcome::Invalid] {
        assert_eq!(ack_outcome_from(ack_outcome_into(outcome)), Ok(outcome));
    }
    for outcome in [NackOutcome::Retry, NackOutcome::DeadLettered, NackOutcome::LeaseLost, NackOutcome::Invalid] {
        assert_eq!(nack_outcome_from(nack_outcome_into(outcome)), Ok(outcome));
    }
    for outcome in [ReleaseOutcome::Released, ReleaseOutcome::LeaseLost, ReleaseOutcome::Invalid] {
        assert_eq!(release_outcome_from(release_outcome_into(outcome)), Ok(outcome));
    }
    let extended = ExtendOutcome::Extended { lease_expires_at: time(9) };
    let outcomes = [ExtendOutcome::LeaseLost, extended, ExtendOutcome::Invalid];
    let (wire, times) = extend_outcomes_into(&outcomes);
    assert_eq!(extend_outcomes_from(&wire, &times), Ok(outcomes.to_vec()));
    for outcome in [CancelOutcome::Cancelled, CancelOutcome::TooLate, CancelOutcome::NotFound] {
        assert_eq!(cancel_outcome_from(cancel_outcome_into(outcome).into()), Ok(outcome));
    }
    for outcome in [DeliverNowOutcome::DeliveredNow, DeliverNowOutcome::TooLate, DeliverNowOutcome::NotFound] {
        assert_eq!(deliver_now_outcome_from(deliver_now_outcome_into(outcome).into()), Ok(outcome));
    }
    let rescheduled = RescheduleOutcome::Rescheduled { deliver_at: time(9) };
    for outcome in [rescheduled, RescheduleOutcome::TooLate, RescheduleOutcome::NotFound] {
        assert_eq!(reschedule_outcome_from(wired(&reschedule_outcome_into(outcome))), Ok(outcome));
    }
}

#[test]
fn an_outcome_that_this_version_does_not_know_is_an_error_and_no_guess() {
    for wire in [0, 99, -1] {
        for error in [
            ack_outcome_from(wire).err(),
            nack_outcome_from(wire).err(),
            release_outcome_from(wire).err(),
            cancel_outcome_from(wire).err(),
            deliver_now_outcome_from(wire).err(),
            extend_outcomes_from(&[wire], &[1]).err(),
        ] {
            assert_eq!(error.map(|error| error.code), Some(Code::Internal), "{wire}");
        }
    }
}

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
        (v1::NewMessage { prepare: Some(v1::Prepare::default()), ..plain() }, Code::NotSupported, "prepare"),
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
    let cases = [
        (v1::SubscriptionSettings { start: Some(3), ..subscription() }, vec![], Code::InvalidField, "start"),
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
            v1::SubscriptionSettings { filter: Some(String::new()), ..subscription() },
            vec![],
            Code::NotSupported,
            "filter",
        ),
        (v1::SubscriptionSettings { max_rate: Some(1.0), ..subscription() }, vec![], Code::NotSupported, "max_rate"),
        (subscription(), vec!["breaker"], Code::NotSupported, "breaker"),
        (subscription(), vec!["retry.colour"], Code::UnknownField, "reset"),
    ];
    for (settings, reset, code, field) in cases {
        let reset = reset.into_iter().map(str::to_owned).collect();
        assert_eq!(refused(subscription_patch_from(Some(settings), reset)), (code, field.to_owned()));
    }
}
