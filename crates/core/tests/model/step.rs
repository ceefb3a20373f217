//! The steps of a history, and how they are chosen.

use proptest::{collection::vec, option, prelude::*};
use proptest_state_machine::ReferenceStateMachine;
use punctual_core::OnKeyConflict;

use super::naive::{Kind, Naive};

/// A time to be due at, relative to now so that shrinking keeps its meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    Now,
    After(u64),
    /// At a time so long before (negative) or after now.
    At(i64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) when: When,
    pub(crate) key: Option<u8>,
    pub(crate) on_conflict: OnKeyConflict,
    pub(crate) dedup: Option<u8>,
    pub(crate) priority: u8,
    pub(crate) order: Option<u8>,
    pub(crate) tag: Option<u8>,
}

/// Which message is meant: by the order of acceptance (counted round), or by key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handle {
    Id(usize),
    Key(u8),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum To {
    Earliest,
    Latest,
    At(i64),
}

/// Receipts and subscriptions are picked by a number counted round what there is.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Tick {
        ms: u64,
        between: bool,
    },
    Publish(Vec<Item>),
    /// Move every line; the last so many sequence numbers count as not yet durable.
    Advance {
        undurable: u64,
        values: bool,
    },
    Subscribe {
        earliest: bool,
        kind: Kind,
    },
    Unsubscribe(usize),
    Lease {
        subscription: usize,
        retries: bool,
        max: u32,
        consumer: u64,
    },
    Ack(Vec<usize>),
    Nack {
        receipts: Vec<usize>,
        delay: Option<u64>,
    },
    Release(Vec<usize>),
    Extend {
        receipts: Vec<usize>,
        ms: u64,
    },
    Expire {
        limit: u32,
    },
    Disconnect {
        subscription: usize,
        consumer: u64,
        graceful: bool,
    },
    Cancel(Handle),
    Reschedule(Handle, When),
    DeliverNow(Handle),
    /// From and to relative to now; the last so many sequence numbers are not meant.
    CancelRange {
        from: i64,
        to: i64,
        later: u64,
    },
    Get(Handle),
    /// To the oldest, past everything, or to a time relative to now.
    Seek {
        subscription: usize,
        to: To,
    },
    /// Several that are read for together and applied one after the other.
    Group(Vec<Step>),
    Sync,
    Restart,
    Crash,
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        2 => Just(When::Now),
        4 => prop_oneof![Just(0), Just(1), 1..30u64, Just(599_999), Just(600_000), Just(3_600_000)].prop_map(When::After),
        2 => prop_oneof![-5..20i64, Just(600_000)].prop_map(When::At),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    let on_conflict = prop_oneof![Just(OnKeyConflict::Reject), Just(OnKeyConflict::Replace), Just(OnKeyConflict::Keep)];
    let priority = prop_oneof![3 => Just(0u8), 1 => 0..3u8];
    let kinds = (priority, option::weighted(0.6, 0..2u8), option::weighted(0.7, 0..2u8));
    (when(), option::weighted(0.4, 0..3u8), on_conflict, option::weighted(0.3, 0..3u8), kinds).prop_map(
        |(when, key, on_conflict, dedup, (priority, order, tag))| Item {
            when,
            key,
            on_conflict,
            dedup,
            priority,
            order,
            tag,
        },
    )
}

fn handle() -> impl Strategy<Value = Handle> {
    prop_oneof![4 => (0..64usize).prop_map(Handle::Id), 1 => (0..3u8).prop_map(Handle::Key)]
}

/// Mostly the same subscription, so that its messages come far.
fn subscription() -> impl Strategy<Value = usize> {
    prop_oneof![2 => Just(0), 1 => Just(1), 1 => 0..4usize]
}

fn receipts() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![vec(0..4usize, 1..4), vec(0..64usize, 1..4)]
}

/// Steps that read no windows, which a group may have. Ended leases are not among them: the runtime
/// takes them back by a command of its own, whose reads are for those that have ended first.
fn plain_step() -> BoxedStrategy<Step> {
    prop_oneof![
        10 => vec(item(), 1..4).prop_map(Step::Publish),
        5 => receipts().prop_map(Step::Ack),
        4 => (receipts(), option::of(prop_oneof![0..3u64, 0..2000u64]))
            .prop_map(|(receipts, delay)| Step::Nack { receipts, delay }),
        2 => receipts().prop_map(Step::Release),
        1 => (receipts(), 0..20_000u64).prop_map(|(receipts, ms)| Step::Extend { receipts, ms }),
        2 => (subscription(), 0..2u64, any::<bool>()).prop_map(|(subscription, consumer, graceful)| {
            Step::Disconnect { subscription, consumer, graceful }
        }),
        4 => handle().prop_map(Step::Cancel),
        3 => (handle(), when()).prop_map(|(handle, when)| Step::Reschedule(handle, when)),
        2 => handle().prop_map(Step::DeliverNow),
    ]
    .boxed()
}

fn any_step() -> BoxedStrategy<Step> {
    // Windows and outcomes end after 10 s and ten minutes: their edges are met on purpose.
    let ms = prop_oneof![
        6 => 0..20u64,
        3 => prop_oneof![Just(999), Just(1000), Just(2000), Just(9_999), Just(10_000)],
        1 => prop_oneof![Just(599_990), Just(599_999), Just(600_000), Just(3_600_000)],
    ];
    prop_oneof![
        31 => plain_step(),
        2 => (1..4u32).prop_map(|limit| Step::Expire { limit }),
        4 => vec(plain_step(), 2..5).prop_map(Step::Group),
        8 => (ms, any::<bool>()).prop_map(|(ms, between)| Step::Tick { ms, between }),
        8 => (prop_oneof![4 => Just(0), 1 => 0..6u64], any::<bool>())
            .prop_map(|(undurable, values)| Step::Advance { undurable, values }),
        4 => (any::<bool>(), prop_oneof![1 => Just(Kind::Plain), 1 => Just(Kind::Filtered), 2 => Just(Kind::Ordered)])
            .prop_map(|(earliest, kind)| Step::Subscribe { earliest, kind }),
        1 => (0..4usize).prop_map(Step::Unsubscribe),
        10 => (subscription(), any::<bool>(), 1..5u32, 0..2u64).prop_map(|(subscription, retries, max, consumer)| {
            Step::Lease { subscription, retries, max, consumer }
        }),
        1 => (-20..20i64, 0..700_000i64, 0..4u64).prop_map(|(from, to, later)| Step::CancelRange { from, to, later }),
        2 => handle().prop_map(Step::Get),
        1 => (0..4usize, prop_oneof![Just(To::Earliest), Just(To::Latest), (-30..5i64).prop_map(To::At)])
            .prop_map(|(subscription, to)| Step::Seek { subscription, to }),
        2 => Just(Step::Sync),
        1 => Just(Step::Restart),
        1 => Just(Step::Crash),
    ]
    .boxed()
}

impl ReferenceStateMachine for Naive {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::new()).boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Step> {
        thread_local! {
            // One strategy for all: what a step means depends on the state, not how it is chosen.
            static ANY: BoxedStrategy<Step> = any_step();
        }
        ANY.with(Clone::clone)
    }

    fn apply(mut state: Self, step: &Step) -> Self {
        state.take(step);
        state
    }
}
