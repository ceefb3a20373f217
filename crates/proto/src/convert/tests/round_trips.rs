//! What is written is read again as it was.

use punctual_broker_api::{
    Breaker, BreakerState, ClockMode, ClockView, Code, DeadLetterHistory, DeadLetterReason, DelayMs, Delivery,
    Durability, Error, ExtendOutcome, Health, Limits, MessageId, MessageState, MessageView, NamespaceLimits,
    NamespacePatch, NamespaceSettings, NamespaceView, NewMessage, OnConflict, OnExpiry, Patch, Prepare,
    PreparedOutcome, PublishStatus, Published, Receipt, RescheduleOutcome, RetryPatch, Start, SubscriptionMessageState,
    SubscriptionPatch, SubscriptionProgress, SubscriptionSettings, SubscriptionStats, SubscriptionView, Time,
    TopicPatch, TopicSettings, TopicStats, TopicView, When,
};

use super::{super::*, time, wired};
use crate::v1;

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
                prepare: Some(Prepare { timeout: DelayMs::from_secs(60), max_checks: 15 }),
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
        PublishStatus::Prepared,
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
    for state in [MessageState::Prepared, MessageState::Scheduled, MessageState::Ready, MessageState::Settled] {
        for body in [None, Some(Vec::new().into()), Some(vec![1, 2, 255].into())] {
            let progress = [
                SubscriptionMessageState::Ready,
                SubscriptionMessageState::Leased,
                SubscriptionMessageState::Retrying,
                SubscriptionMessageState::Dead,
                SubscriptionMessageState::Settled,
            ]
            .map(|state| SubscriptionProgress {
                subscription: format!("{state:?}"),
                state,
                attempts: 3,
                lease_expires_at: (state == SubscriptionMessageState::Leased).then_some(time(4)),
                retry_at: (state == SubscriptionMessageState::Retrying).then_some(time(5)),
            });
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
                dead_letter: history(DeadLetterReason::Expired),
            };
            assert_eq!(view_from(wired(&view_into(view.clone()))), Ok(view));
        }
    }
}

fn history(reason: DeadLetterReason) -> Option<Box<DeadLetterHistory>> {
    Some(Box::new(DeadLetterHistory {
        reason,
        topic: "orders".to_owned(),
        subscription: "closing".to_owned(),
        attempts: 16,
        first_delivered_at: (reason == DeadLetterReason::AttemptsExhausted).then_some(time(5)),
        last_error: Some("no stock".to_owned()),
    }))
}

#[test]
fn a_delivery_is_read_as_it_was_written() {
    let histories = [DeadLetterReason::AttemptsExhausted, DeadLetterReason::Expired].map(history);
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
    let breaker = Breaker { failures: 5, window: span, pause: DelayMs::ZERO };
    let breakers = patches(breaker).into_iter().cycle();
    let starts = [Start::Earliest, Start::Latest, Start::Time(time(7)), Start::Time(Time::ZERO)];
    let retries = [Patch::Keep, Patch::Reset, Patch::Set(mixed), Patch::Set(only_resets)];
    for ((retry, breaker), start) in retries.into_iter().zip(breakers).zip(starts) {
        let patch = SubscriptionPatch {
            start: Patch::Set(start),
            lease: Patch::Reset,
            retry,
            dead_letter_topic: Patch::Set("dead".to_owned()),
            max_in_flight: Patch::Keep,
            ordered: Patch::Set(true),
            filter: Patch::Set("a || b".to_owned()),
            max_rate: Patch::Reset,
            breaker,
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
            start: Start::Time(time(9)),
            filter: Some("*".to_owned()),
            max_rate: Some(1),
            breaker: Some(Breaker { failures: 1, window: DelayMs::from_ms(2), pause: DelayMs::from_ms(3) }),
            ..SubscriptionSettings::default()
        },
        paused: true,
        stats: SubscriptionStats {
            failed_total: 3,
            filtered_total: 4,
            expired_total: 5,
            oldest_ready_age_ms: Some(8),
            ..SubscriptionStats::default()
        },
    };
    for breaker in [None, Some(BreakerState::Closed), Some(BreakerState::Open), Some(BreakerState::Probing)] {
        let stats = SubscriptionStats { breaker, ..subscription.stats };
        let subscription = SubscriptionView { stats, ..subscription.clone() };
        assert_eq!(subscription_view_from(wired(&subscription_view_into(subscription.clone()))), Ok(subscription));
    }
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
    let committed = PreparedOutcome::Committed { deliver_at: time(9) };
    for outcome in [committed, PreparedOutcome::RolledBack, PreparedOutcome::NotFound] {
        let reply = wired(&commit_outcome_into(outcome));
        assert_eq!(prepared_outcome_from(reply.outcome, reply.deliver_at_unix_ms), Ok(outcome));
        let reply = wired(&rollback_outcome_into(outcome));
        assert_eq!(prepared_outcome_from(reply.outcome, reply.deliver_at_unix_ms), Ok(outcome));
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
            prepared_outcome_from(wire, Some(1)).err(),
        ] {
            assert_eq!(error.map(|error| error.code), Some(Code::Internal), "{wire}");
        }
    }
}
