//! Opening a broker: load every shard, find the time, agree with the catalog, begin.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, RwLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize},
    },
};

use bytes::Bytes;
use punctual_broker_api::{Health, Limits, Start};
use punctual_core::{
    Command, Facts, HandleHash, PartitionId, Shard, ShardConfig, SubscriptionStart, format::FormatError,
};
use punctual_store_api::{ShardStore, Store, StoreError};
use punctual_types::{Now, ShardNumber, SubscriptionNumber};

use super::{Broker, Inner, schedule_runner::Runner};
use crate::{
    catalog::Catalog,
    clock::{Clock, ClockConfig, LastServed},
    handle_text::HandleText,
    metrics::Metrics,
    random::Random,
    shard::{Shards, ShardsConfig},
};

/// What a broker needs to begin.
pub struct BrokerConfig {
    /// Where messages are kept.
    pub store: Arc<dyn Store>,
    /// How time advances.
    pub clock: ClockConfig,
    /// Threads that run the shards; as many as the machine has cores when `None`.
    pub workers: Option<usize>,
    /// The limits in force.
    pub limits: Limits,
    /// The seed of everything random, for replays; from the operating system when `None`.
    pub seed: Option<u64>,
}

/// Why a broker did not begin.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored cannot be read.
    #[error("cannot read the data of shard {shard}: {error}")]
    Format {
        /// Of which shard.
        shard: ShardNumber,
        /// What is wrong.
        error: FormatError,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
    /// The operating system gives no random bits.
    #[error("cannot get random bits from the operating system: {0}")]
    Random(String),
}

struct Loaded {
    shards: Vec<(Shard, Arc<dyn ShardStore>)>,
    /// The catalog's pieces, from shard 0.
    catalog: Vec<(Bytes, Bytes)>,
}

fn load(store: &dyn Store, hash: HandleHash) -> Result<Loaded, OpenError> {
    let mut loaded = Loaded { shards: Vec::new(), catalog: Vec::new() };
    for number in (0..store.shards()).map(ShardNumber) {
        let shard_store = store.shard(number)?;
        let mut shard = Shard::new(ShardConfig { number, shards: store.shards(), hash });
        let mut failed = None;
        shard_store.load_state(&mut |key, value| match shard.load(&key, value.clone()) {
            Ok(true) => {}
            Ok(false) => loaded.catalog.push((key, value)),
            Err(error) => failed = failed.take().or(Some(error)),
        })?;
        if let Some(error) = failed {
            return Err(OpenError::Format { shard: number, error });
        }
        loaded.shards.push((shard, shard_store));
    }
    Ok(loaded)
}

/// The latest time at which any shard was served.
fn last_served(shards: &[(Shard, Arc<dyn ShardStore>)]) -> Option<LastServed> {
    let served = shards.iter().map(|(shard, _)| LastServed { time: shard.time(), clock: shard.clock() });
    let latest = served.max_by_key(|served| (served.time, served.clock.time_ns))?;
    (latest.time > punctual_types::Time::ZERO).then_some(latest)
}

/// Tells every shard what the catalog says, and lets go of what the catalog does not know: what a
/// deletion that was cut short had left, or a creation that was never answered.
fn agree(catalog: &Catalog, shards: &mut [(Shard, Arc<dyn ShardStore>)], now: Now) {
    let count = u16::try_from(shards.len()).unwrap_or(u16::MAX);
    let mut partitions: BTreeSet<PartitionId> = BTreeSet::new();
    let mut subscriptions: BTreeSet<(PartitionId, SubscriptionNumber)> = BTreeSet::new();
    let mut commands: Vec<(ShardNumber, Command)> = Vec::new();
    for topic in catalog.topics() {
        let in_doubt = catalog.in_doubt_of(topic).map(|in_doubt| in_doubt.number);
        for partition in topic.partitions() {
            let shard = topic.shard(partition, count);
            partitions.insert(partition);
            commands.push((shard, Command::Configure { partition, rules: topic.rules(in_doubt) }));
            for subscription in topic.subscriptions.values() {
                subscriptions.insert((partition, subscription.number));
                let rules = subscription.rules(topic.settings.partitions);
                let start = start_of(subscription.settings.start);
                commands
                    .push((shard, Command::Subscribe { partition, subscription: subscription.number, rules, start }));
            }
        }
    }
    for (shard, _) in &*shards {
        for (partition, subscription) in shard.subscription_ids().filter(|id| !subscriptions.contains(id)) {
            commands.push((shard.number(), Command::Unsubscribe { partition, subscription }));
        }
        for partition in shard.partition_ids().filter(|id| !partitions.contains(id)) {
            commands.push((shard.number(), Command::DeletePartition { partition }));
        }
    }
    let mut facts = Facts::default();
    for (number, command) in commands {
        if let Some((shard, _)) = shards.get_mut(usize::from(number.0)) {
            shard.apply(command, &mut facts, now);
        }
    }
}

/// Where the core is to begin.
pub(super) fn start_of(start: Start) -> SubscriptionStart {
    match start {
        Start::Earliest => SubscriptionStart::Earliest,
        Start::Latest => SubscriptionStart::Latest,
        Start::Time(time) => SubscriptionStart::At(time),
    }
}

impl Broker {
    /// Opens a broker over a store. What came due while it was closed is offered as soon as
    /// somebody waits for it.
    ///
    /// # Errors
    /// When the store cannot be used or read.
    pub async fn open(config: BrokerConfig) -> Result<Self, OpenError> {
        let random = match config.seed {
            Some(seed) => Random::from_seed(seed),
            None => Random::from_system().map_err(|error| OpenError::Random(error.to_string()))?,
        };
        let secret = config.store.secret();
        let hash = HandleHash::new(secret);
        let mut loaded = load(config.store.as_ref(), hash)?;
        let clock = Clock::start(config.clock, last_served(&loaded.shards));
        let catalog =
            Catalog::load(loaded.catalog).map_err(|error| OpenError::Format { shard: ShardNumber(0), error })?;
        for (shard, _) in &mut loaded.shards {
            shard.open(clock.now());
        }
        agree(&catalog, &mut loaded.shards, clock.now());
        let mut commits = Vec::new();
        for (shard, store) in &mut loaded.shards {
            if let Some(batch) = shard.seal(clock.anchor()) {
                commits.push((store.commit(batch).await?, store.clone()));
            }
        }
        for (commit, store) in commits {
            // A new ownership must be durable before it answers anything: it voids the receipts of
            // the one before.
            let _proof = store.durable(commit).await?;
        }
        let metrics = Metrics::default();
        config.store.observe_syncs(metrics.sync_observer());
        let random = Arc::new(random);
        let workers = config.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let shards_config = ShardsConfig { clock: clock.clone(), metrics: metrics.clone(), workers };
        let shards = Arc::new(Shards::start(shards_config, loaded.shards)?);
        let runner = Runner::new(&clock);
        let inner = Inner {
            store: config.store,
            shards,
            clock,
            random,
            metrics,
            limits: config.limits,
            handles: HandleText::new(secret),
            hash,
            catalog: RwLock::new(catalog),
            making: Default::default(),
            quotas: Default::default(),
            admin: tokio::sync::Mutex::new(()),
            turn: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            disk_full: AtomicBool::new(false),
            disk_looked_at_ms: AtomicU64::new(0),
            disk_written: AtomicU64::new(0),
            runner,
        };
        let inner = Arc::new(inner);
        Runner::start(&inner);
        Ok(Self { inner })
    }
}

impl Inner {
    pub(super) fn health(&self) -> Health {
        match self.shards.failure() {
            Some(error) => Health::Failed(error.to_string()),
            None if self.stopping.load(std::sync::atomic::Ordering::Acquire) => Health::Stopping,
            None => Health::Ready,
        }
    }
}
