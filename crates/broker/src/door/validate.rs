//! Checks of what a request says, each with the field and the limit in its error.

use punctual_broker_api::{Code, DelayMs, Error, Limits, NewMessage, When};
use punctual_core::Due;
use punctual_types::limits;

use super::Inner;

/// Bytes of a message that count against the limit of a batch.
pub(super) fn message_bytes(message: &NewMessage) -> usize {
    let handles = [&message.key, &message.dedup_id, &message.ordering_key, &message.tag];
    let handles: usize = handles.into_iter().flatten().map(String::len).sum();
    message.body.len() + handles + headers_bytes(message)
}

fn headers_bytes(message: &NewMessage) -> usize {
    message.headers.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Checks the sizes of a message for a topic of so many priorities, and what this version cannot
/// honour.
pub(super) fn check_message(message: &NewMessage, priorities: u16, limits: &Limits) -> Result<(), Error> {
    if message.body.len() > limits.body_bytes_max {
        let text =
            format!("cannot publish a body of {} bytes, the limit is {}", message.body.len(), limits.body_bytes_max);
        return Err(Error::new(Code::BodyTooLarge, text).with_field("body"));
    }
    if message.headers.len() > limits.headers_max {
        let text = format!("cannot publish {} headers, the limit is {}", message.headers.len(), limits.headers_max);
        return Err(Error::new(Code::HeadersTooLarge, text).with_field("headers"));
    }
    let bytes = headers_bytes(message);
    if bytes > limits.headers_bytes_max {
        let text = format!("cannot publish {bytes} bytes of headers, the limit is {}", limits.headers_bytes_max);
        return Err(Error::new(Code::HeadersTooLarge, text).with_field("headers"));
    }
    let handles = [
        ("key", &message.key),
        ("dedup_id", &message.dedup_id),
        ("ordering_key", &message.ordering_key),
        ("tag", &message.tag),
    ];
    for (field, handle) in handles {
        if let Some(handle) = handle {
            check_handle(field, handle)?;
        }
    }
    if u16::from(message.priority) >= priorities {
        let text =
            format!("cannot publish with priority {}, the topic has 0 to {}", message.priority, priorities.max(1) - 1);
        return Err(Error::new(Code::InvalidField, text).with_field("priority"));
    }
    if let Some(prepare) = message.prepare {
        check_range("prepare.timeout", prepare.timeout, limits::PREPARE_TIMEOUT_MIN, limits::PREPARE_TIMEOUT_MAX)?;
        check_range("prepare.max_checks", prepare.max_checks, 1, limits::PREPARE_CHECKS_MAX)?;
    }
    Ok(())
}

/// Checks a key, dedup id, ordering key or tag.
pub(super) fn check_handle(field: &str, handle: &str) -> Result<(), Error> {
    if (1..=limits::HANDLE_BYTES_MAX).contains(&handle.len()) {
        return Ok(());
    }
    let text = format!("`{field}` is {} bytes long, allowed are 1 to {}", handle.len(), limits::HANDLE_BYTES_MAX);
    Err(Error::new(Code::InvalidHandle, text).with_field(field))
}

/// Checks a number against its range.
pub(super) fn check_range<N: PartialOrd + std::fmt::Display>(
    field: &str,
    value: N,
    least: N,
    most: N,
) -> Result<(), Error> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(Error::new(Code::InvalidField, format!("`{field}` is {value}, allowed are {least} to {most}"))
        .with_field(field))
}

/// Checks a lease.
pub(super) fn check_lease(lease: DelayMs) -> Result<(), Error> {
    check_range("lease", lease, limits::LEASE_MIN, limits::LEASE_MAX)
}

/// Part of the contract, and not yet built.
pub(super) fn not_supported(field: &str) -> Error {
    Error::new(Code::NotSupported, format!("`{field}` is not supported by this version"))
        .with_field(field)
        .with_hint("leave it out; it comes with a later release")
}

/// The field in which a request said when.
pub(super) fn field_of(when: When) -> &'static str {
    match when {
        When::Now | When::Delay(_) => "delay",
        When::At(_) => "deliver_at",
        When::Level(_) => "delay_level",
    }
}

/// When a message is due, as the core takes it: delay levels are looked up in the namespace's table.
pub(super) fn due_of(when: When, levels: &[DelayMs]) -> Result<Due, Error> {
    match when {
        When::Now => Ok(Due::Now),
        When::Delay(delay) => Ok(Due::After(delay)),
        When::At(time) => Ok(Due::At(time)),
        When::Level(level) => {
            let index = usize::try_from(level).ok().and_then(|level| level.checked_sub(1));
            index.and_then(|index| levels.get(index)).map(|delay| Due::After(*delay)).ok_or_else(|| {
                let text = format!("there is no delay level {level}, the namespace has levels 1 to {}", levels.len());
                Error::new(Code::UnknownDelayLevel, text).with_field("delay_level")
            })
        }
    }
}

/// Why a due time was refused, in words.
pub(super) fn due_refused(when: When, refused: punctual_core::Refused) -> Error {
    let text = match refused {
        punctual_core::Refused::DelayTooLong { delay, limit } => {
            format!("cannot schedule a message {delay} ahead, the namespace's `max_delay` is {limit}")
        }
        punctual_core::Refused::PastTheEnd => "cannot schedule a message after the year 9999".to_owned(),
    };
    Error::new(Code::DelayTooLong, text).with_field(field_of(when))
}

impl Inner {
    /// Refuses to publish onto a disk that is nearly full, so that acks and cancels have room.
    pub(super) fn check_disk(&self, bytes: usize) -> Result<(), Error> {
        use std::sync::atomic::Ordering;
        // Looked at once a second, and sooner when a good part of the reserve may have been used
        // since: a message is written to a journal and later to a table, so it counts twice.
        const LOOK_EVERY_MS: u64 = 1000;
        let now = self.clock.now().floor.unix_ms();
        let looked_at = self.disk_looked_at_ms.load(Ordering::Relaxed);
        let written = self.disk_written.fetch_add(2 * bytes as u64, Ordering::Relaxed) + 2 * bytes as u64;
        let used_much = written >= self.limits.disk_reserve_bytes / 8;
        if now.saturating_sub(looked_at) >= LOOK_EVERY_MS || used_much || self.disk_full.load(Ordering::Relaxed) {
            self.disk_looked_at_ms.store(now, Ordering::Relaxed);
            self.disk_written.store(0, Ordering::Relaxed);
            let free = self.store.usage().free_bytes.saturating_sub(2 * bytes as u64);
            let full = free < self.limits.disk_reserve_bytes;
            if self.disk_full.swap(full, Ordering::Relaxed) != full {
                let reserve = self.limits.disk_reserve_bytes;
                if full {
                    tracing::error!(free, reserve, "the disk is nearly full; publishing is refused");
                } else {
                    tracing::info!(free, reserve, "the disk has room again; publishing goes on");
                }
            }
        }
        if self.disk_full.load(Ordering::Relaxed) {
            let reserve = self.limits.disk_reserve_bytes;
            let text = format!(
                "cannot publish: the disk has less than the {reserve} bytes left that `disk_reserve_bytes` keeps"
            );
            return Err(Error::new(Code::DiskFull, text)
                .with_hint("make room, or let consumers ack; consuming, acking and cancelling still work")
                .with_retry_after_ms(1000));
        }
        Ok(())
    }
}
