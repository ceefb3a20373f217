//! Limits of a namespace: what it may hold, and how fast it may publish.
//!
//! Kept where messages come in and before anything is answered, so that nothing accepted is ever
//! dropped for them. What a namespace holds is read off the board, to which what is on its way is
//! added; an immediate message that was answered and has not yet crossed its line is missed for that
//! moment, so `max_ready` may be passed by as many as were answered within it.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use punctual_broker_api::{Code, Error, NamespaceLimits};
use punctual_core::{Due, PartitionId, PartitionStats};
use punctual_types::{DelayMs, NamespaceName, Time};

use super::Inner;

const SECOND_NS: u128 = 1_000_000_000;
const MS_NS: u128 = 1_000_000;
/// When to come back when a gauge is at its limit: consumers decide when there is room again.
const FULL_RETRY_MS: u64 = 1000;

/// What namespaces with limits have under way.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    namespaces: Mutex<HashMap<NamespaceName, UnderWay>>,
}

/// What a namespace has under way, and how far it has used its rate.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    load: Load,
    /// When all that was published would have been, one message after the other at the rate.
    paced_to_ns: u128,
}

/// Messages by what becomes of them.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    scheduled: u64,
    ready: u64,
}

impl Quotas {
    fn lock(&self) -> MutexGuard<'_, HashMap<NamespaceName, UnderWay>> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the messages of one call in, one after the other; others of the namespace wait meanwhile.
pub(super) struct Gate<'a> {
    quotas: &'a Quotas,
    turn: MutexGuard<'a, HashMap<NamespaceName, UnderWay>>,
    namespace: NamespaceName,
    limits: NamespaceLimits,
    now: Time,
    held: Load,
    admitted: Load,
    under_way: UnderWay,
}

/// What was let in, on its way until this is dropped.
#[must_use]
pub(super) struct Admitted<'a> {
    quotas: &'a Quotas,
    namespace: NamespaceName,
    load: Load,
}

impl Inner {
    /// The gate of a namespace; `None` when it has no limits, and then nothing is counted.
    pub(super) fn gate(&self, namespace: &NamespaceName) -> Option<Gate<'_>> {
        let (limits, partitions) = {
            let catalog = self.catalog();
            let namespace = catalog.namespace(namespace).ok()?;
            if namespace.settings.limits == NamespaceLimits::default() {
                return None;
            }
            let partitions: Vec<PartitionId> = namespace.topics.values().flat_map(|topic| topic.partitions()).collect();
            (namespace.settings.limits, partitions)
        };
        // Held until the gate is closed: two calls at once must not both take the last place.
        let turn = self.quotas.lock();
        let mut held = Load::default();
        self.shards.board.look(&partitions, |stats| {
            held.scheduled += stats.scheduled + stats.prepared;
            held.ready += waiting(stats);
        });
        let now = self.clock.now().floor;
        let under_way = turn.get(namespace).copied().unwrap_or_default();
        let (quotas, namespace) = (&self.quotas, namespace.clone());
        Some(Gate { quotas, turn, namespace, limits, now, held, admitted: Load::default(), under_way })
    }
}

/// Messages of a partition that wait behind the line: those that the subscription furthest behind
/// waits for, or all of them when there is none.
fn waiting(stats: &PartitionStats) -> u64 {
    let unsettled = stats.subscriptions.iter().map(|it| it.ready + it.leased).max();
    unsettled.unwrap_or(stats.retained)
}

impl<'a> Gate<'a> {
    /// Lets a message in, or says which limit is met.
    pub(super) fn admit(&mut self, due: Due, prepared: bool) -> Result<(), Error> {
        let scheduled = prepared
            || match due {
                Due::Now => false,
                Due::After(delay) => delay > DelayMs::ZERO,
                Due::At(time) => time > self.now,
            };
        let (held, admitted, before, limit, what, field) = if scheduled {
            let (before, limit) = (self.under_way.load.scheduled, self.limits.max_scheduled);
            (self.held.scheduled, &mut self.admitted.scheduled, before, limit, "scheduled messages", "max_scheduled")
        } else {
            let (before, limit) = (self.under_way.load.ready, self.limits.max_ready);
            (self.held.ready, &mut self.admitted.ready, before, limit, "messages that wait for consumers", "max_ready")
        };
        let count = held + before + *admitted;
        if let Some(limit) = limit.filter(|limit| count >= *limit) {
            return Err(full(&self.namespace, format!("it has {count} {what}, its `{field}` is {limit}"), field)
                .with_retry_after_ms(FULL_RETRY_MS));
        }
        *admitted += 1;
        self.pace().inspect_err(|_| match scheduled {
            true => self.admitted.scheduled -= 1,
            false => self.admitted.ready -= 1,
        })
    }

    /// A second's worth may come at once; beyond that one after the other.
    fn pace(&mut self) -> Result<(), Error> {
        const FIELD: &str = "publish_per_second";
        let Some(rate) = self.limits.publish_per_second else { return Ok(()) };
        let refused =
            |retry_ms| full(&self.namespace, format!("its `{FIELD}` is {rate}"), FIELD).with_retry_after_ms(retry_ms);
        let cost = SECOND_NS.checked_div(rate.into()).ok_or_else(|| refused(FULL_RETRY_MS))?.max(1);
        let now_ns = u128::from(self.now.unix_ms()) * MS_NS;
        let paced_to = self.under_way.paced_to_ns.max(now_ns) + cost;
        let over = paced_to.saturating_sub(now_ns + SECOND_NS);
        if over > 0 {
            return Err(refused(u64::try_from(over.div_ceil(MS_NS)).unwrap_or(u64::MAX)));
        }
        self.under_way.paced_to_ns = paced_to;
        Ok(())
    }

    /// Ends the call's turn.
    pub(super) fn close(mut self) -> Admitted<'a> {
        let under_way = self.turn.entry(self.namespace.clone()).or_default();
        under_way.load.scheduled += self.admitted.scheduled;
        under_way.load.ready += self.admitted.ready;
        under_way.paced_to_ns = self.under_way.paced_to_ns;
        Admitted { quotas: self.quotas, namespace: self.namespace, load: self.admitted }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if let Some(under_way) = self.quotas.lock().get_mut(&self.namespace) {
            under_way.load.scheduled -= self.load.scheduled;
            under_way.load.ready -= self.load.ready;
        }
    }
}

fn full(namespace: &NamespaceName, why: String, field: &str) -> Error {
    Error::new(Code::QuotaExceeded, format!("cannot publish to namespace `{namespace}`: {why}"))
        .with_field(field)
        .with_hint("try again later, or raise the limit of the namespace")
}
