//! The catalog: which namespaces, topics and subscriptions there are, with their settings.
//!
//! It lies as named state on shard 0 (`entry`), is held whole in memory (`Catalog`), and is changed
//! by one hand at a time (`door::admin`). The shards are told what they need of it.

mod entry;
mod fields;
mod names;
mod schedule_entry;
mod schedules;

pub(crate) use entry::{Counters, Entry, NamespaceEntry, SubscriptionEntry, TopicEntry, decode, forget, keep};
pub(crate) use names::{Catalog, IN_DOUBT, Namespace, Subscription, Topic};
pub(crate) use schedule_entry::{ScheduleEntry, forget_schedule};
pub(crate) use schedules::{DEFAULT_TIMEZONE, Schedule, Schedules};
