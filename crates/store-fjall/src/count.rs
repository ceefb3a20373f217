//! Counting records by the minute: a scan of keys, on a thread of its own once it gets long.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Included},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
};

use futures_channel::oneshot;
use punctual_store_api::StoreError;
use punctual_types::{Counted, Position, ShardNumber, Time, TimelineId};

use crate::{failure, keys::record, limits, store::Shared};

/// A count on its way: what was counted and from where it goes on.
pub(crate) struct Counting {
    shard: ShardNumber,
    timeline: TimelineId,
    after: Position,
    to: Position,
    bucket_ms: u64,
    counts: BTreeMap<u64, u64>,
}

impl Counting {
    pub(crate) fn new(
        shard: ShardNumber,
        timeline: TimelineId,
        (after, to): (Position, Position),
        bucket_ms: u64,
    ) -> Self {
        Self { shard, timeline, after, to, bucket_ms: bucket_ms.max(1), counts: BTreeMap::new() }
    }

    /// Counts at most so many records; whether the count is complete.
    fn advance(&mut self, shared: &Shared, records_max: u64) -> Result<bool, StoreError> {
        if self.after >= self.to {
            return Ok(true);
        }
        let from = record::key(self.shard, self.timeline, self.after);
        let to = record::key(self.shard, self.timeline, self.to);
        let range = (Excluded(from.as_slice()), Included(to.as_slice()));
        let mut passed = 0;
        for guard in shared.keyspaces.records.range::<&[u8], _>(range) {
            let key = guard.key().map_err(|error| failure::reading(&shared.directory.shown(), error))?;
            let Some((_, position)) = record::parts(&key) else {
                let detail = format!("record key {key:02x?} is none");
                return Err(StoreError::corrupt(shared.directory.shown(), detail));
            };
            let due = position.due.unix_ms();
            *self.counts.entry(due - due % self.bucket_ms).or_default() += 1;
            self.after = position;
            passed += 1;
            if passed >= records_max {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn counts(self) -> Vec<Counted> {
        self.counts
            .into_iter()
            .filter_map(|(from, count)| Some(Counted { from: Time::from_unix_ms(from)?, count }))
            .collect()
    }
}

struct Job {
    counting: Counting,
    reply: oneshot::Sender<Result<Vec<Counted>, StoreError>>,
}

/// Where long counts are handed in.
pub(crate) struct CountQueue(Mutex<Option<SyncSender<Job>>>);

/// Where the helper takes them.
pub(crate) struct CountJobs(Receiver<Job>);

/// A queue for long counts and the helper's end of it.
pub(crate) fn queue() -> (CountQueue, CountJobs) {
    let (sender, receiver) = sync_channel(limits::COUNTS_QUEUED_MAX);
    (CountQueue(Mutex::new(Some(sender))), CountJobs(receiver))
}

impl CountQueue {
    /// Ends the helper once it has answered what is queued.
    pub(crate) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Hands a count in, or gives it back when the queue is full or closed.
    fn hand_in(&self, job: Job) -> Result<(), Job> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(queue) => queue.try_send(job).map_err(|error| match error {
                TrySendError::Full(job) | TrySendError::Disconnected(job) => job,
            }),
            None => Err(job),
        }
    }
}

impl CountJobs {
    /// The helper: finishes one count after the other.
    pub(crate) fn run(self, shared: &Arc<Shared>) {
        for Job { mut counting, reply } in self.0 {
            let done = counting.advance(shared, u64::MAX);
            let _ = reply.send(done.map(|_| counting.counts()));
        }
    }
}

impl Shared {
    /// Finishes a count: here when it is short, else by the helper.
    pub(crate) async fn count(&self, mut counting: Counting) -> Result<Vec<Counted>, StoreError> {
        if counting.advance(self, limits::COUNT_INLINE_MAX)? {
            return Ok(counting.counts());
        }
        let (reply, answer) = oneshot::channel();
        match self.counts.hand_in(Job { counting, reply }) {
            Ok(()) => {
                let gone = |gone| Err(StoreError::failed("counting in", self.directory.shown(), gone));
                answer.await.unwrap_or_else(gone)
            }
            // Whoever asks for more counts than the helper can do pays for them.
            Err(Job { mut counting, .. }) => {
                counting.advance(self, u64::MAX)?;
                Ok(counting.counts())
            }
        }
    }
}
