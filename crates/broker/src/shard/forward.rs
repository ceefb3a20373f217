//! Transfers on their way: from the shards of a worker to wherever they go.
//!
//! A task for each source and target that has something under way: it takes a piece from the
//! source, has the target take it, and tells the source once that is durable. Whatever is cut off
//! in between is sent again, also by the next opening of the directory, and the target passes over
//! what it took before.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use punctual_core::{Answer, Command, TransferPiece};
use punctual_types::{Mark, ShardNumber};
use tokio::sync::{Notify, mpsc, oneshot};

use super::{AnswerWhen, Request, limits::TRANSFERS_MAX, worker::Worker};

/// The way from a worker to every shard. Another node's shards would be reached by it too.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Weak, so that the workers alone do not keep each other running.
    inboxes: Arc<[mpsc::WeakSender<Request>]>,
    /// Pieces of transfers that were taken, by all workers: what tells that all is still.
    taken: Arc<AtomicU64>,
}

impl Way {
    pub(super) fn new(inboxes: &[mpsc::Sender<Request>], taken: Arc<AtomicU64>) -> Self {
        Self { inboxes: inboxes.iter().map(mpsc::Sender::downgrade).collect(), taken }
    }

    pub(super) fn count_taken(&self) {
        self.taken.fetch_add(1, Ordering::SeqCst);
    }

    /// `None` when the shard's worker has ended, and so the broker.
    async fn ask(&self, shard: ShardNumber, command: Command, when: AnswerWhen) -> Option<Answer> {
        let inbox = self.inboxes.get(usize::from(shard.0) % self.inboxes.len().max(1))?.upgrade()?;
        let (reply, answer) = oneshot::channel();
        inbox.send(Request::Command { shard, command, when, reply }).await.ok()?;
        drop(inbox);
        answer.await.ok()?.ok()
    }

    /// Moves one piece; answers whether there was one.
    async fn move_piece(&self, source: ShardNumber, target: ShardNumber) -> Option<bool> {
        let command = Command::Outgoing { target, limit: TRANSFERS_MAX };
        let Answer::Outgoing(piece) = self.ask(source, command, AnswerWhen::Written).await? else { return Some(false) };
        let Some(end) = piece.end else { return Some(false) };
        self.deliver(target, piece).await?;
        self.tell_arrived(source, target, end).await?;
        Some(true)
    }

    async fn deliver(&self, target: ShardNumber, piece: TransferPiece) -> Option<()> {
        for (number, error) in &piece.damaged {
            tracing::error!(%error, number, from = %piece.source.shard, to = %target, "a stored transfer cannot be read; it is passed over");
        }
        let from = piece.source.shard;
        let command = Command::Accept { source: piece.source, up_to: piece.last, transfers: piece.transfers };
        if let Answer::Accepted { dropped: dropped @ 1.. } = self.ask(target, command, AnswerWhen::Durable).await? {
            tracing::warn!(dropped, %from, to = %target, "messages for a topic or subscription that was deleted meanwhile are dropped");
        }
        Some(())
    }

    async fn tell_arrived(&self, source: ShardNumber, target: ShardNumber, end: Mark) -> Option<()> {
        self.ask(source, Command::Arrived { target, up_to: end }, AnswerWhen::Written).await.map(drop)
    }
}

/// The sources and targets between which a task moves transfers.
pub(super) type UnderWay = Rc<RefCell<BTreeSet<(ShardNumber, ShardNumber)>>>;

async fn forward(way: Way, route: (ShardNumber, ShardNumber), under_way: UnderWay, turn: Rc<Notify>) {
    loop {
        match way.move_piece(route.0, route.1).await {
            Some(true) => {}
            Some(false) => break,
            // The broker ends: the route stays taken, so that nobody begins anew.
            None => return,
        }
    }
    under_way.borrow_mut().remove(&route);
    // What came onto the route since it was found empty is seen by the turn that this causes.
    turn.notify_one();
}

impl Worker {
    /// Begins to move what is on its way and nobody moves yet.
    pub(super) fn forward_transfers(&mut self) {
        for seat in &self.seats {
            for target in seat.shard.outgoing_targets() {
                let route = (seat.shard.number(), target);
                if self.under_way.borrow_mut().insert(route) {
                    let (way, under_way, turn) = (self.way.clone(), self.under_way.clone(), self.synced.clone());
                    tokio::task::spawn_local(forward(way, route, under_way, turn));
                }
            }
        }
    }
}
