//! A shard over a store in memory, run as the broker runs it: read in rounds, apply, seal, commit.
//!
//! The store syncs only when told to, so that a test decides what is durable and what a crash
//! leaves. Settings are kept here and told to the shard again whenever it is opened, as the
//! broker's catalog does.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use punctual_core::{
    Answer, Command, Facts, HandleHash, PartitionId, Shard, ShardClock, ShardConfig, SubscriptionRules,
    SubscriptionStart, TopicRules, format::StateKey,
};
use punctual_store_api::{ShardStore, Store};
use punctual_store_memory::MemoryStore;
use punctual_types::{
    Batch, Now, Position, Read, ReadReply, Seq, ShardNumber, SubscriptionNumber, Time, TimelineId, Write,
};

const SECRET: [u8; 16] = *b"a secret of ours";

/// A shard with all that is around it.
pub(crate) struct House {
    config: ShardConfig,
    store: MemoryStore,
    door: Arc<dyn ShardStore>,
    pub(crate) shard: Shard,
    /// Everything up to this number is durable.
    pub(crate) durable: Seq,
    topics: BTreeMap<PartitionId, TopicRules>,
    subscriptions: BTreeMap<(PartitionId, SubscriptionNumber), SubscriptionRules>,
    /// The batches committed since this was last emptied.
    pub(crate) batches: Vec<Batch>,
}

impl House {
    /// A new shard on an empty store.
    #[allow(dead_code, reason = "each test program takes what it needs of this module")]
    pub(crate) fn new(now: Now) -> Self {
        Self::of(ShardNumber(0), 1, now)
    }

    /// A new shard of several, on an empty store of its own.
    pub(crate) fn of(number: ShardNumber, shards: u16, now: Now) -> Self {
        let config = ShardConfig { number, shards, hash: Self::hash() };
        let store = MemoryStore::manual_sync(1, SECRET);
        let mut house = Self {
            door: store.shard(ShardNumber(0)).expect("a store in memory"),
            config,
            shard: Shard::new(config),
            store,
            durable: Seq(0),
            topics: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            batches: Vec::new(),
        };
        house.open(now);
        house
    }

    pub(crate) fn hash() -> HandleHash {
        HandleHash::new(SECRET)
    }

    /// The process ends and another opens the shard: what was written is there.
    #[allow(dead_code, reason = "each test program takes what it needs of this module")]
    pub(crate) fn restart(&mut self, now: Now) {
        self.open(now);
    }

    /// The machine dies: what was not durable is gone.
    #[allow(dead_code, reason = "each test program takes what it needs of this module")]
    pub(crate) fn crash(&mut self, now: Now) {
        self.store = self.store.crash();
        self.door = self.store.shard(ShardNumber(0)).expect("a store in memory");
        self.open(now);
    }

    fn open(&mut self, now: Now) {
        let mut shard = Shard::new(self.config);
        self.door
            .load_state(&mut |key, value| {
                shard.load(&key, value).expect("what the shard wrote is what it reads");
            })
            .expect("a store in memory");
        shard.open(now);
        self.shard = shard;
        for (partition, rules) in self.topics.clone() {
            self.apply(Command::Configure { partition, rules }, &mut Facts::default(), now);
        }
        for ((partition, subscription), rules) in self.subscriptions.clone() {
            let start = SubscriptionStart::Latest;
            self.apply(Command::Subscribe { partition, subscription, rules, start }, &mut Facts::default(), now);
        }
        self.commit();
        self.sync();
    }

    /// Makes everything written durable.
    pub(crate) fn sync(&mut self) {
        self.store.sync();
        self.durable = self.shard.last_seq();
    }

    /// Asks one thing.
    pub(crate) fn ask(&mut self, command: Command, now: Now) -> Answer {
        self.ask_all(vec![command], now).pop().expect("an answer each")
    }

    /// Asks several things at once: those that read no windows are read for together and share a
    /// commit.
    pub(crate) fn ask_all(&mut self, commands: Vec<Command>, now: Now) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut group = Vec::new();
        for command in commands {
            if command.reads_windows() {
                self.ask_group(std::mem::take(&mut group), now, &mut answers);
                self.ask_group(vec![command], now, &mut answers);
            } else {
                group.push(command);
            }
        }
        self.ask_group(group, now, &mut answers);
        answers
    }

    fn ask_group(&mut self, group: Vec<Command>, now: Now, answers: &mut Vec<Answer>) {
        let mut facts = Facts::default();
        loop {
            let reads: Vec<Read> = group.iter().flat_map(|command| self.shard.reads(command, &facts, now)).collect();
            if reads.is_empty() {
                break;
            }
            for (read, reply) in reads.iter().zip(self.read(reads.clone())) {
                facts.learn(*read, reply);
            }
        }
        for command in group {
            answers.push(self.apply(command, &mut facts, now));
        }
        self.commit();
    }

    fn apply(&mut self, command: Command, facts: &mut Facts, now: Now) -> Answer {
        match &command {
            Command::Configure { partition, rules } => {
                self.topics.insert(*partition, rules.clone());
            }
            Command::Subscribe { partition, subscription, rules, .. } => {
                self.subscriptions.insert((*partition, *subscription), rules.clone());
            }
            Command::Unsubscribe { partition, subscription } => {
                self.subscriptions.remove(&(*partition, *subscription));
            }
            Command::DeletePartition { partition } => {
                self.topics.remove(partition);
                self.subscriptions.retain(|(id, _), _| id != partition);
            }
            _ => {}
        }
        self.shard.apply(command, facts, now)
    }

    fn commit(&mut self) {
        if let Some(batch) = self.shard.seal(ShardClock::default()) {
            self.batches.push(batch.clone());
            ready(self.door.commit(batch));
        }
    }

    /// Does to a stored record what a disk may: other bytes, or none at all.
    #[allow(dead_code, reason = "each test program takes what it needs of this module")]
    pub(crate) fn damage(&mut self, timeline: TimelineId, position: Position, record: Option<Bytes>) {
        let write = match record {
            Some(record) => Write::Insert { timeline, position, record },
            None => Write::Remove { timeline, position },
        };
        ready(self.door.commit(Batch { now: Time::ZERO, writes: vec![write] }));
    }

    /// The pieces of state that the store has.
    #[allow(dead_code, reason = "each test program takes what it needs of this module")]
    pub(crate) fn state(&self) -> Vec<StateKey> {
        let mut keys = Vec::new();
        let mut show = |key: Bytes, _| keys.extend(StateKey::from_bytes(&key));
        self.door.load_state(&mut show).expect("a store in memory");
        keys
    }

    /// How many pieces the store has that are not the core's.
    #[allow(dead_code, reason = "each test program takes what it needs of this module")]
    pub(crate) fn foreign_pieces(&self) -> usize {
        let mut count = 0;
        let mut show = |key: Bytes, _| count += usize::from(StateKey::from_bytes(&key).is_none());
        self.door.load_state(&mut show).expect("a store in memory");
        count
    }

    /// What the store answers.
    pub(crate) fn read(&self, reads: Vec<Read>) -> Vec<ReadReply> {
        ready(self.door.read(reads))
    }
}

/// The output of a future of a store in memory, which never waits.
fn ready<T, E: std::fmt::Debug>(future: impl Future<Output = Result<T, E>>) -> T {
    use futures_util::FutureExt;
    future.now_or_never().expect("a store in memory is ready at once").expect("a store in memory does not fail")
}
