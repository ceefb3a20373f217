//! Runs recurring schedules: publishes a message for each nominal time, once.
//!
//! One batch on the shard of the catalog holds how far a schedule has come and, as a transfer, the
//! message: after any crash both are there or neither is.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use bytes::Bytes;
use punctual_broker_api::{Error, NewMessage, SchedulePath, ScheduleRun, TopicPath, time_text::format_time};
use punctual_core::{Due, PartitionId, PublishItem};
use punctual_types::{ShardNumber, Time, limits};
use tokio::{sync::Notify, task::AbortHandle};

use super::{
    Inner,
    publish::item_of,
    schedule_settings::{NAME_HEADER, NOMINAL_TIME_HEADER},
    validate::{check_message, message_bytes},
};
use crate::{
    catalog::Schedule,
    clock::Clock,
    schedule::{LOOKED_AWAY_MAX, Moment, Step},
};

/// A message on its way to its partition.
pub(super) type Run = (ShardNumber, PartitionId, PublishItem);

/// Since when the clock has been looked at without a break.
#[derive(Clone, Copy, Debug)]
struct Looking {
    since: Time,
    last: Time,
    was_held: bool,
}

/// The task that runs schedules, and what wakes it.
#[derive(Debug)]
pub(super) struct Runner {
    looking: Mutex<Looking>,
    changed: Arc<Notify>,
    task: OnceLock<AbortHandle>,
}

impl Runner {
    /// Begins to look: what is due already was missed.
    pub(super) fn new(clock: &Clock) -> Self {
        let now = clock.now().floor;
        let looking = Mutex::new(Looking { since: now, last: now, was_held: clock.is_held() });
        Self { looking, changed: Arc::default(), task: OnceLock::new() }
    }

    /// Starts the task of a broker.
    pub(super) fn start(inner: &Arc<Inner>) {
        let (weak, clock, changed) = (Arc::downgrade(inner), inner.clock.clone(), inner.runner.changed.clone());
        let task = tokio::spawn(run(weak, clock, changed));
        let _ = inner.runner.task.set(task.abort_handle());
    }

    /// Has the times looked at again.
    pub(super) fn schedules_changed(&self) {
        self.changed.notify_one();
    }

    /// What time it is for schedules; `None` while the clock is held.
    fn look(&self, clock: &Clock) -> Option<Moment> {
        let now = clock.now().floor;
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if clock.is_held() {
            looking.was_held = true;
            return None;
        }
        // A machine that slept, or a clock that was held: nobody could run what was due meanwhile. A
        // clock that is moved by hand moves only while somebody looks.
        let looked_away = matches!(clock, Clock::System(_)) && now.since(looking.last) > LOOKED_AWAY_MAX;
        if looking.was_held || looked_away {
            looking.since = now;
        }
        looking.was_held = false;
        looking.last = now;
        Some(Moment { now, looking_since: looking.since })
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

/// Publishes runs as they come due, for as long as the broker is there.
async fn run(inner: Weak<Inner>, clock: Clock, changed: Arc<Notify>) {
    loop {
        let next_due = {
            let Some(inner) = inner.upgrade() else { return };
            match inner.run_schedules().await {
                Ok(next_due) => next_due,
                // It stops, or its store has failed; the latter is told elsewhere.
                Err(error) => {
                    tracing::debug!(%error, "recurring schedules run no more");
                    return;
                }
            }
        };
        match next_due {
            None => changed.notified().await,
            Some(due) => tokio::select! {
                () = changed.notified() => {}
                () = clock.wait_until(due) => {}
            },
        }
    }
}

/// The message of a run.
pub(super) fn message_of(path: &SchedulePath, message: &NewMessage, nominal: Time) -> NewMessage {
    let mut message = message.clone();
    message.headers.push((NAME_HEADER.to_owned(), path.schedule.to_string()));
    message.headers.push((NOMINAL_TIME_HEADER.to_owned(), format_time(nominal)));
    message
}

/// What is written at once.
#[derive(Default)]
struct Batch {
    pieces: Vec<(Bytes, Option<Bytes>)>,
    runs: Vec<Run>,
    bytes: usize,
    changed: Vec<Schedule>,
}

impl Batch {
    /// How many more runs of so many bytes it takes.
    fn room(&self, bytes: usize, bytes_max: usize) -> usize {
        let by_bytes = bytes_max.saturating_sub(self.bytes) / bytes.max(1);
        // Whatever its size, one has room.
        let least = usize::from(self.runs.is_empty());
        by_bytes.max(least).min(limits::SCHEDULE_STEP_RUNS_MAX.saturating_sub(self.runs.len()))
    }
}

impl Inner {
    /// Publishes every run that is due; answers when the next one is.
    pub(super) async fn run_schedules(self: &Arc<Self>) -> Result<Option<Time>, Error> {
        loop {
            let Some(moment) = self.runner.look(&self.clock) else { return Ok(Some(Time::MAX)) };
            let due = self.catalog().schedules.due(moment.now, limits::SCHEDULE_STEP_RUNS_MAX);
            if due.is_empty() {
                return Ok(self.next_run());
            }
            for schedule in &due {
                // Making a topic is a change of its own, and has to be done before this one. When it
                // is refused the run tells why.
                let _ = self.topic_or_new(&topic_of(schedule)).await;
            }
            let inner = self.clone();
            self.change(async move { inner.publish_due(due, moment).await }).await?;
        }
    }

    /// When the next run is due.
    pub(super) fn next_run(&self) -> Option<Time> {
        self.catalog().schedules.next_due()
    }

    /// Publishes what is due of these, as much as one batch takes.
    async fn publish_due(&self, due: Vec<Arc<Schedule>>, moment: Moment) -> Result<(), Error> {
        let mut batch = Batch::default();
        for asked in due {
            // It may have changed since it was found to be due.
            let Some(schedule) = self.catalog().schedules.get(&asked.path).cloned() else { continue };
            if schedule.due.is_none_or(|due| due > moment.now) {
                continue;
            }
            let bytes = message_bytes(&schedule.settings().message);
            let room = batch.room(bytes, self.limits.batch_bytes_max);
            if room == 0 {
                break;
            }
            if let Some(step) = schedule.plan.step(schedule.state.progress, moment, room) {
                self.add_runs(&mut batch, &schedule, step, moment.now);
            }
        }
        self.keep_with(batch.pieces, batch.runs).await?;
        let mut catalog = self.catalog_mut();
        for schedule in batch.changed {
            catalog.schedules.put(schedule);
        }
        Ok(())
    }

    fn add_runs(&self, batch: &mut Batch, schedule: &Schedule, step: Step, now: Time) {
        let (mut published, mut last) = (0, None);
        for nominal in step.runs {
            let mut run = ScheduleRun { nominal_time: nominal, published_at: None, id: None, error: None };
            match self.run_of(schedule, nominal) {
                Ok(outgoing) => {
                    batch.bytes += message_bytes(&schedule.settings().message);
                    batch.runs.push(outgoing);
                    published += 1;
                    run.published_at = Some(now);
                }
                Err(error) => {
                    let (namespace, name) = (&schedule.path.namespace, &schedule.path.schedule);
                    tracing::warn!(%namespace, schedule = %name, %error, "a run of a schedule was refused");
                    run.error = Some(error);
                }
            }
            last = Some(run);
        }
        let changed = schedule.after(published, step.done_to, last);
        batch.pieces.push(changed.kept_state());
        batch.changed.push(changed);
    }

    /// The run of a nominal time, on its way to a partition of its topic.
    pub(super) fn run_of(&self, schedule: &Schedule, nominal: Time) -> Result<Run, Error> {
        let topic = self.catalog().topic(&topic_of(schedule))?;
        let message = message_of(&schedule.path, &schedule.settings().message, nominal);
        check_message(&message, topic.settings.priorities, &self.limits)?;
        self.check_disk(message_bytes(&message))?;
        let partition = self.partition_of(&topic, &message);
        Ok((topic.shard(partition, self.store.shards()), partition, item_of(message, Due::Now)))
    }
}

fn topic_of(schedule: &Schedule) -> TopicPath {
    TopicPath { namespace: schedule.path.namespace.clone(), topic: schedule.settings().topic.clone() }
}
