//! How far a shard's commits are safe, and the answers that wait for it.

use std::{cell::Cell, rc::Rc};

use punctual_broker_api::Error;
use punctual_core::Answer;
use punctual_store_api::Durable;
use punctual_types::{CommitNumber, Seq};
use tokio::sync::oneshot;

/// What is known to be durable of a shard; shared with the tasks that wait for syncs.
#[derive(Debug, Default)]
pub(super) struct Durability {
    seq: Cell<Seq>,
}

impl Durability {
    /// Messages up to this number are durable.
    pub(super) fn seq(&self) -> Seq {
        self.seq.get()
    }

    /// Takes what was loaded from the store: it is durable by the store's word.
    pub(super) fn loaded(&self, seq: Seq) {
        self.seq.set(seq);
    }

    /// Takes a proof: messages up to `seq` were in the commit it proves, or before.
    pub(super) fn advance(&self, _proof: Durable, seq: Seq) {
        if seq > self.seq.get() {
            self.seq.set(seq);
        }
    }
}

/// Answers that wait for a sync.
#[derive(Debug, Default)]
pub(super) struct Answers {
    waiting: Vec<(oneshot::Sender<Result<Answer, Error>>, Answer)>,
}

impl Answers {
    pub(super) fn push(&mut self, reply: oneshot::Sender<Result<Answer, Error>>, answer: Answer) {
        self.waiting.push((reply, answer));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Lets the answers leave: they rest on nothing that is not proven.
    pub(super) fn release(self, _proof: Durable) {
        for (reply, answer) in self.waiting {
            // Who no longer waits for an answer does not get one.
            let _ = reply.send(Ok(answer));
        }
    }

    /// Lets the answers of topics leave that ask for no more than that everything is written.
    pub(super) fn release_written(self, _written: CommitNumber) {
        for (reply, answer) in self.waiting {
            let _ = reply.send(Ok(answer));
        }
    }

    /// Tells everyone that it is not known whether it happened.
    pub(super) fn fail(self, error: &Error) {
        for (reply, _) in self.waiting {
            let _ = reply.send(Err(error.clone()));
        }
    }
}

/// A handle to what is durable, for the tasks of one worker thread.
pub(super) type SharedDurability = Rc<Durability>;
