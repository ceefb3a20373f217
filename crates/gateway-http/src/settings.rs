//! Settings objects of PUT requests. Durations are taken by their own name and by the `_ms` name
//! that answers use, and what an answer shows beside settings is passed over, so that an answer can
//! be edited and sent back as it is.

use punctual_broker_api::{
    Breaker, Code, Durability, Error, NamespaceLimits, NamespacePatch, OnExpiry, RetryPatch, Start, SubscriptionPatch,
    TopicPatch,
};
use punctual_types::limits::DELAY_LEVELS_MAX;

use crate::json::{
    Fields, Json,
    read::{self, Place},
};

const DURABILITY: &[(&str, Durability)] =
    &[("sync", Durability::Sync), ("async", Durability::Async), ("memory", Durability::Memory)];
const ON_EXPIRY: &[(&str, OnExpiry)] = &[("drop", OnExpiry::Drop), ("dead_letter", OnExpiry::DeadLetter)];

/// A change of a topic.
pub(crate) fn topic(body: &[u8]) -> Result<TopicPatch, Error> {
    let mut fields = Fields::of_request(body)?;
    fields.pass_over(&["name", "stats"]);
    let patch = TopicPatch {
        partitions: fields.patch("partitions", read::whole)?,
        priorities: fields.patch("priorities", read::whole)?,
        durability: fields.patch("durability", read::word(DURABILITY))?,
        retention: fields.patch_duration("retention")?,
        keep_acked: fields.patch_duration("keep_acked")?,
        on_expiry: fields.patch("on_expiry", read::word(ON_EXPIRY))?,
        dedup_window: fields.patch_duration("dedup_window")?,
    };
    fields.finish()?;
    Ok(patch)
}

/// A change of a subscription.
pub(crate) fn subscription(body: &[u8]) -> Result<SubscriptionPatch, Error> {
    let mut fields = Fields::of_request(body)?;
    fields.pass_over(&["name", "paused", "stats"]);
    let patch = SubscriptionPatch {
        start: fields.patch("start", |place, value| read::seek(place, value).map(Start::from))?,
        lease: fields.patch_duration("lease")?,
        retry: fields.patch("retry", retry)?,
        dead_letter_topic: fields.patch("dead_letter_topic", read::text)?,
        max_in_flight: fields.patch("max_in_flight", read::whole)?,
        ordered: fields.patch("ordered", read::flag)?,
        filter: fields.patch("filter", read::text)?,
        max_rate: fields.patch("max_rate", read::whole)?,
        breaker: fields.patch("breaker", breaker)?,
    };
    fields.finish()?;
    Ok(patch)
}

fn retry(place: Place<'_>, value: Json<'_>) -> Result<RetryPatch, Error> {
    let mut fields = read::object(place, value)?;
    let patch = RetryPatch {
        max_attempts: fields.patch("max_attempts", read::whole)?,
        initial: fields.patch_duration("initial")?,
        multiplier: fields.patch("multiplier", read::fraction)?,
        max: fields.patch_duration("max")?,
        jitter: fields.patch("jitter", read::fraction)?,
    };
    fields.finish()?;
    Ok(patch)
}

fn breaker(place: Place<'_>, value: Json<'_>) -> Result<Breaker, Error> {
    let mut fields = read::object(place, value)?;
    let breaker = Breaker {
        failures: fields.required("failures", read::whole)?,
        window: fields.required_duration("window")?,
        pause: fields.required_duration("pause")?,
    };
    fields.finish()?;
    Ok(breaker)
}

/// A change of a namespace.
pub(crate) fn namespace(body: &[u8]) -> Result<NamespacePatch, Error> {
    let mut fields = Fields::of_request(body)?;
    fields.pass_over(&["name", "topics"]);
    let patch = NamespacePatch {
        max_delay: fields.patch_duration("max_delay")?,
        delay_levels: fields
            .patch_ms("delay_levels", read::list(DELAY_LEVELS_MAX, Code::InvalidField, read::duration))?,
        auto_create: fields.patch("auto_create", read::flag)?,
        limits: fields.patch("limits", limits)?,
    };
    fields.finish()?;
    Ok(patch)
}

fn limits(place: Place<'_>, value: Json<'_>) -> Result<NamespaceLimits, Error> {
    let mut fields = read::object(place, value)?;
    let limits = NamespaceLimits {
        max_scheduled: fields.optional("max_scheduled", read::whole)?,
        max_ready: fields.optional("max_ready", read::whole)?,
        max_bytes: fields.optional("max_bytes", read::whole)?,
        publish_per_second: fields.optional("publish_per_second", read::whole)?,
    };
    fields.finish()?;
    Ok(limits)
}
