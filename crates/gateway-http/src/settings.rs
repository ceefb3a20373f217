//! Settings objects of PUT requests. Durations are taken by their own name and by the `_ms` name
//! that answers use, so that the settings of an answer can be sent back.

use punctual_broker_api::{
    Code, Durability, Error, NamespaceLimits, NamespacePatch, OnExpiry, RetryPatch, Start, SubscriptionPatch,
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
const START: &[(&str, Start)] = &[("earliest", Start::Earliest), ("latest", Start::Latest)];

/// A change of a topic.
pub(crate) fn topic(body: &[u8]) -> Result<TopicPatch, Error> {
    let mut fields = Fields::of_request(body)?;
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
    fields.unsupported(&["filter", "max_rate", "breaker"])?;
    let patch = SubscriptionPatch {
        start: fields.patch("start", read::word(START))?,
        lease: fields.patch_duration("lease")?,
        retry: fields.patch("retry", retry)?,
        dead_letter_topic: fields.patch("dead_letter_topic", read::text)?,
        max_in_flight: fields.patch("max_in_flight", read::whole)?,
        ordered: fields.patch("ordered", read::flag)?,
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

/// A change of a namespace.
pub(crate) fn namespace(body: &[u8]) -> Result<NamespacePatch, Error> {
    let mut fields = Fields::of_request(body)?;
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
