//! The pages on error codes, `docs/errors/*.md`, built into the binary. A code without a page does
//! not compile.

use punctual_broker_api::Code;

macro_rules! page {
    ($slug:literal) => {
        include_str!(concat!("../../../docs/errors/", $slug, ".md"))
    };
}

/// The page on a code, as Markdown.
pub(crate) const fn page(code: Code) -> &'static str {
    match code {
        Code::MalformedRequest => page!("malformed_request"),
        Code::UnknownField => page!("unknown_field"),
        Code::InvalidField => page!("invalid_field"),
        Code::InvalidName => page!("invalid_name"),
        Code::InvalidDuration => page!("invalid_duration"),
        Code::InvalidTime => page!("invalid_time"),
        Code::ExclusiveFields => page!("exclusive_fields"),
        Code::DelayTooLong => page!("delay_too_long"),
        Code::UnknownDelayLevel => page!("unknown_delay_level"),
        Code::InvalidBase64 => page!("invalid_base64"),
        Code::InvalidCursor => page!("invalid_cursor"),
        Code::InvalidHandle => page!("invalid_handle"),
        Code::InvalidCron => page!("invalid_cron"),
        Code::UnknownTimezone => page!("unknown_timezone"),
        Code::InvalidFilter => page!("invalid_filter"),
        Code::NotSupported => page!("not_supported"),
        Code::TokenMissing => page!("token_missing"),
        Code::TokenUnknown => page!("token_unknown"),
        Code::OriginNotAllowed => page!("origin_not_allowed"),
        Code::RouteNotFound => page!("route_not_found"),
        Code::NamespaceNotFound => page!("namespace_not_found"),
        Code::TopicNotFound => page!("topic_not_found"),
        Code::SubscriptionNotFound => page!("subscription_not_found"),
        Code::MessageNotFound => page!("message_not_found"),
        Code::ScheduleNotFound => page!("schedule_not_found"),
        Code::KeyConflict => page!("key_conflict"),
        Code::SettingFixed => page!("setting_fixed"),
        Code::SubscriptionKind => page!("subscription_kind"),
        Code::NamespaceInUse => page!("namespace_in_use"),
        Code::ClockMode => page!("clock_mode"),
        Code::BodyTooLarge => page!("body_too_large"),
        Code::HeadersTooLarge => page!("headers_too_large"),
        Code::BatchTooLarge => page!("batch_too_large"),
        Code::Overloaded => page!("overloaded"),
        Code::QuotaExceeded => page!("quota_exceeded"),
        Code::TooManyTopics => page!("too_many_topics"),
        Code::TooManySchedules => page!("too_many_schedules"),
        Code::TooManyConnections => page!("too_many_connections"),
        Code::DiskFull => page!("disk_full"),
        Code::ShuttingDown => page!("shutting_down"),
        Code::Unreachable => page!("unreachable"),
        Code::OutcomeUnknown => page!("outcome_unknown"),
        Code::Internal => page!("internal"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_opens_with_its_code_and_says_its_kind_and_what_to_do() {
        for code in Code::ALL {
            let page = page(*code);
            assert!(page.starts_with(&format!("# {}\n", code.slug())), "{}", code.slug());
            assert!(page.contains(&format!("`{}`", code.kind().as_str())), "{}", code.slug());
            for heading in ["## Example", "## What to do"] {
                assert!(page.contains(heading), "{} has no {heading}", code.slug());
            }
        }
    }
}
