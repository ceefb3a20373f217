//! Publishes in the order they came, also over the making of their topic.
//!
//! A publish to a topic that is not there waits until it is made; one that comes a moment later
//! finds it there. Without a queue the second would overtake the first.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use punctual_broker_api::TopicPath;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The topics that are being made, each with the queue of those who wait for it.
#[derive(Debug, Default)]
pub(super) struct Making {
    queues: Mutex<HashMap<TopicPath, Arc<Semaphore>>>,
}

/// A place at the head of a topic's queue, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    making: &'a Making,
    path: TopicPath,
    queue: Arc<Semaphore>,
    place: Option<OwnedSemaphorePermit>,
}

impl Making {
    /// Waits in the topic's queue. There is one when somebody is in it already, or when the topic is
    /// missing: otherwise nobody waits and `None` is answered at once.
    pub(super) async fn turn(&self, path: &TopicPath, is_missing: impl Fn() -> bool) -> Option<Turn<'_>> {
        let queue = {
            let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
            match queues.get(path) {
                Some(queue) => queue.clone(),
                // Asked under the lock: whoever made the topic holds its queue until then.
                None if is_missing() => {
                    queues.entry(path.clone()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
                }
                None => return None,
            }
        };
        // A semaphore's waiters are served in the order they came; this one is never closed.
        let place = queue.clone().acquire_owned().await.ok();
        Some(Turn { making: self, path: path.clone(), queue, place })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queues = self.making.queues.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.place.take());
        // The map and this turn: nobody else is in the queue, and under the lock nobody joins it.
        if Arc::strong_count(&self.queue) == 2 {
            queues.remove(&self.path);
        }
    }
}
