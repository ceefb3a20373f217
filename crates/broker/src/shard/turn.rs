//! One turn of a worker: what was asked, one commit for it, then what is due, then offers.

use punctual_broker_api::Error;
use punctual_core::{Answer, Command, Facts, PartitionId};
use punctual_store_api::StoreError;
use punctual_types::{Lane, Now, Read, ReadReply, ShardNumber, TimelineId};
use tokio::sync::oneshot;

use super::{
    AnswerWhen, Request, SubscriptionAt,
    durability::Answers,
    limits::{ADVANCES_MAX, EXPIRED_MAX, KEEP_TIME},
    shards::outcome_unknown,
    worker::{TIME_KEEPER, Worker},
};

/// A command and who wants its answer.
struct Asked {
    command: Command,
    when: AnswerWhen,
    reply: oneshot::Sender<Result<Answer, Error>>,
}

/// Answers of one turn of one shard, by when they may leave.
#[derive(Default)]
struct Leaving {
    durable: Answers,
    written: Answers,
}

impl Worker {
    /// Takes a turn. Answers whom to tell when it was the last.
    pub(super) async fn turn(
        &mut self,
        requests: &mut Vec<Request>,
    ) -> Result<Option<oneshot::Sender<()>>, StoreError> {
        if let Some(error) = self.fail.borrow().clone() {
            return Err(error);
        }
        self.metrics.turn();
        self.unfinished = false;
        let mut stop = None;
        let mut tried = Vec::new();
        let mut asked: Vec<Vec<Asked>> = self.seats.iter().map(|_| Vec::new()).collect();
        for request in requests.drain(..) {
            match request {
                Request::Command { shard, command, when, reply } => {
                    if let Some(asked) = self.seat_of(shard).and_then(|seat| asked.get_mut(seat)) {
                        asked.push(Asked { command, when, reply });
                    }
                }
                Request::Wait { at, waiter, keep, tried: told } => {
                    if !keep {
                        tried.push((at, waiter.consumer, told));
                    } else {
                        let _ = told.send(());
                    }
                    self.offers.wait(at, waiter);
                }
                Request::Wake { at } => self.offers.mark_hungry(at),
                Request::Unwait { at, consumer, done } => {
                    self.offers.forget(at, consumer);
                    let _ = done.send(());
                }
                Request::Settle { reply } => self.settling.push(reply),
                Request::NextWake { reply } => {
                    let wake = self.seats.iter().filter_map(|seat| seat.shard.next_wake(seat.durability.seq())).min();
                    let _ = reply.send(wake);
                }
                Request::Stop { reply } => stop = Some(reply),
            }
        }
        for (seat, asked) in asked.into_iter().enumerate() {
            if !asked.is_empty() {
                self.apply_all(seat, asked).await?;
            }
        }
        for seat in 0..self.seats.len() {
            self.do_what_is_due(seat).await?;
        }
        self.make_offers().await?;
        for (at, consumer, told) in tried {
            self.offers.forget(at, consumer);
            let _ = told.send(());
        }
        self.forward_transfers();
        self.settle_if_done();
        self.post_changed();
        if stop.is_some() {
            self.close().await?;
        }
        Ok(stop)
    }

    pub(super) fn seat_of(&self, shard: ShardNumber) -> Option<usize> {
        self.seats.iter().position(|seat| seat.shard.number() == shard)
    }

    /// Applies commands in the order they came, with as few reads and commits as their order
    /// allows, and lets their answers leave when they may.
    async fn apply_all(&mut self, seat: usize, asked: Vec<Asked>) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut leaving = Leaving::default();
        let mut group = Vec::with_capacity(asked.len());
        let result = async {
            for asked in asked {
                if asked.command.reads_windows() {
                    // Its reads must see what the commands before it wrote.
                    self.apply_group(seat, std::mem::take(&mut group), now, &mut leaving).await?;
                    self.commit(seat).await?;
                    self.apply_group(seat, vec![asked], now, &mut leaving).await?;
                    // And what it wrote must be there for the reads of those after it: what it
                    // removes by a range is in nobody's facts.
                    self.commit(seat).await?;
                } else {
                    group.push(asked);
                }
            }
            self.apply_group(seat, group, now, &mut leaving).await?;
            self.commit(seat).await
        };
        if let Err(error) = result.await {
            leaving.durable.fail(&outcome_unknown(&error));
            leaving.written.fail(&outcome_unknown(&error));
            return Err(error);
        }
        // Asking for a sync is what causes one: what was answered as written is synced without delay.
        let wants_sync = !leaving.written.is_empty();
        if let Some(seat) = self.seats.get(seat) {
            leaving.written.release_written(seat.written);
        }
        self.leave(seat, leaving.durable, wants_sync);
        Ok(())
    }

    /// Reads for a group of commands together and applies them one after the other.
    async fn apply_group(
        &mut self,
        seat: usize,
        group: Vec<Asked>,
        now: Now,
        leaving: &mut Leaving,
    ) -> Result<(), StoreError> {
        let mut facts = Facts::default();
        loop {
            let Some(place) = self.seats.get(seat) else { return Ok(()) };
            let reads: Vec<Read> =
                group.iter().flat_map(|asked| place.shard.reads(&asked.command, &facts, now)).collect();
            if reads.is_empty() {
                break;
            }
            let replies = place.store.read(reads.clone()).await?;
            for (read, reply) in reads.into_iter().zip(replies) {
                facts.learn(read, reply);
            }
        }
        for asked in group {
            let hungry = wakes(&asked.command);
            match &asked.command {
                Command::Unsubscribe { partition, subscription } => self.offers.end(*partition, Some(*subscription)),
                Command::DeletePartition { partition } => self.offers.end(*partition, None),
                Command::Accept { .. } => self.way.count_taken(),
                _ => {}
            }
            let Some(place) = self.seats.get_mut(seat) else { return Ok(()) };
            let answer = place.shard.apply(asked.command, &mut facts, now);
            let shard = place.shard.number();
            for (partition, subscription) in hungry.into_iter().chain(returned(&answer)) {
                self.offers.mark_hungry(SubscriptionAt { shard, partition, subscription });
            }
            match asked.when {
                AnswerWhen::Durable => leaving.durable.push(asked.reply, answer),
                AnswerWhen::Written => leaving.written.push(asked.reply, answer),
            }
        }
        Ok(())
    }

    /// Writes the batch that was made, if there is one.
    pub(super) async fn commit(&mut self, seat: usize) -> Result<(), StoreError> {
        let anchor = self.clock.anchor();
        let Some(seat) = self.seats.get_mut(seat) else { return Ok(()) };
        if let Some(batch) = seat.shard.seal(anchor) {
            seat.time_kept = seat.shard.time();
            seat.written = seat.store.commit(batch).await?;
        }
        Ok(())
    }

    /// Leaves answers with a task that waits until everything written so far is durable. They leave
    /// then, also those that wrote nothing: they may rest on writes that are not yet safe.
    fn leave(&mut self, seat: usize, answers: Answers, wants_sync: bool) {
        let Some(seat) = self.seats.get(seat) else { return };
        let seq = seat.shard.last_seq();
        if answers.is_empty() && !wants_sync && seq <= seat.durability.seq() {
            return;
        }
        let durable = seat.store.durable(seat.written);
        let (durability, synced, fail) = (seat.durability.clone(), self.synced.clone(), self.fail.clone());
        self.leaving.spawn_local(async move {
            match durable.await {
                Ok(proof) => {
                    durability.advance(proof, seq);
                    answers.release(proof);
                }
                Err(error) => {
                    answers.fail(&outcome_unknown(&error));
                    super::worker::latch(&fail, error);
                }
            }
            synced.notify_one();
        });
    }

    /// Moves lines, takes ended leases back, lets floors follow.
    async fn do_what_is_due(&mut self, seat: usize) -> Result<(), StoreError> {
        let now = self.clock.now();
        if !self.clock.is_held() {
            let Some(place) = self.seats.get(seat) else { return Ok(()) };
            let due = place.shard.due_timelines(now.floor, place.durability.seq());
            self.unfinished |= due.len() > ADVANCES_MAX;
            for timeline in due.into_iter().take(ADVANCES_MAX) {
                match timeline.lane {
                    Lane::Priority(_) | Lane::Retry(_) | Lane::Outgoing(_) => self.advance(seat, timeline, now).await?,
                    Lane::Expiry => self.do_piece(seat, timeline, Command::Expire { timeline }, now).await?,
                    Lane::Check => self.do_piece(seat, timeline, Command::Check { timeline }, now).await?,
                }
            }
            let outlived = self.seats.get(seat).map(|place| place.shard.due_retentions(now.floor));
            for timeline in outlived.into_iter().flatten().take(ADVANCES_MAX) {
                self.do_piece(seat, timeline, Command::Retain { timeline }, now).await?;
            }
        }
        let Some(place) = self.seats.get(seat) else { return Ok(()) };
        if place.shard.has_ended_leases(now.floor) {
            let shard = place.shard.number();
            let answer = self.ask_own(seat, Command::ExpireLeases { limit: EXPIRED_MAX }, now).await?;
            for (partition, subscription) in returned(&answer) {
                self.offers.mark_hungry(SubscriptionAt { shard, partition, subscription });
            }
            self.unfinished |= self.seats.get(seat).is_some_and(|place| place.shard.has_ended_leases(now.floor));
        }
        for _ in 0..ADVANCES_MAX {
            let Some(timeline) = self.seats.get(seat).and_then(|place| place.shard.risen_floor()) else { break };
            self.ask_own(seat, Command::RaiseFloor { timeline }, now).await?;
        }
        // One shard's time stands for the node's: the latest of all is where the clock goes on.
        if let Some(place) = self.seats.get_mut(seat)
            && place.shard.number() == TIME_KEEPER
            && now.floor.since(place.time_kept) >= KEEP_TIME
        {
            place.shard.keep_time(now);
            self.clock.watch_steps();
        }
        self.commit(seat).await?;
        self.leave(seat, Answers::default(), false);
        Ok(())
    }

    /// Does a bounded piece of what has come to its time; whatever follows from it is for the next turn.
    async fn do_piece(
        &mut self,
        seat: usize,
        timeline: TimelineId,
        command: Command,
        now: Now,
    ) -> Result<(), StoreError> {
        self.ask_own(seat, command, now).await?;
        self.commit(seat).await?;
        if let Some(place) = self.seats.get(seat) {
            self.offers.mark_partition_hungry(place.shard.number(), timeline.into());
        }
        self.unfinished = true;
        Ok(())
    }

    async fn advance(&mut self, seat: usize, timeline: TimelineId, now: Now) -> Result<(), StoreError> {
        let partition = PartitionId::from(timeline);
        let wanted = self.offers.has_waiters(partition);
        let Some(place) = self.seats.get(seat) else { return Ok(()) };
        let (shard, durable) = (place.shard.number(), place.durability.seq());
        let Some(before) = place.shard.line(timeline) else { return Ok(()) };
        let command = Command::Advance { timeline, durable, values: wanted };
        let Answer::Crossed(crossed) = self.ask_own(seat, command, now).await? else { return Ok(()) };
        self.unfinished |= crossed.more;
        if matches!(timeline.lane, Lane::Priority(_)) {
            self.metrics.crossed(now.floor, &crossed.records);
        }
        if wanted {
            self.ready.extend(timeline, before, &crossed.records);
            self.offers.mark_partition_hungry(shard, partition);
        }
        Ok(())
    }

    /// Reads for a command of our own and applies it.
    pub(super) async fn ask_own(&mut self, seat: usize, command: Command, now: Now) -> Result<Answer, StoreError> {
        let mut facts = Facts::default();
        loop {
            let Some(place) = self.seats.get(seat) else { return Ok(Answer::Gone) };
            let reads = place.shard.reads(&command, &facts, now);
            if reads.is_empty() {
                break;
            }
            for read in reads {
                let reply = self.read_ahead(seat, read).await?;
                facts.learn(read, reply);
            }
        }
        let Some(place) = self.seats.get_mut(seat) else { return Ok(Answer::Gone) };
        Ok(place.shard.apply(command, &mut facts, now))
    }

    /// Answers a read, from memory if it is there.
    async fn read_ahead(&mut self, seat: usize, read: Read) -> Result<ReadReply, StoreError> {
        if let Some(records) = self.ready.answer(&read) {
            return Ok(ReadReply::Records(records));
        }
        let Some(place) = self.seats.get(seat) else { return Ok(ReadReply::Records(Vec::new())) };
        let wider = super::offers::widen(&read);
        let mut replies = place.store.read(vec![wider.unwrap_or(read)]).await?;
        let reply = replies.pop().unwrap_or(ReadReply::Records(Vec::new()));
        match (wider, read, reply) {
            (Some(_), Read::Window { timeline, after, limit, .. }, ReadReply::Records(mut records)) => {
                self.ready.extend(timeline, after, &records);
                records.truncate(limit as usize);
                Ok(ReadReply::Records(records))
            }
            (_, _, reply) => Ok(reply),
        }
    }

    /// Tells who waits for it that nothing that is due is left undone.
    fn settle_if_done(&mut self) {
        let now = self.clock.now().floor;
        let idle = |place: &super::worker::Seat| {
            place.shard.due_timelines(now, punctual_types::Seq(u64::MAX)).is_empty()
                && place.shard.due_retentions(now).is_empty()
                && !place.shard.has_ended_leases(now)
                && place.shard.outgoing_targets().next().is_none()
        };
        if !self.unfinished && self.seats.iter().all(idle) {
            for settled in self.settling.drain(..) {
                let _ = settled.send(());
            }
        }
    }

    fn post_changed(&mut self) {
        for place in &mut self.seats {
            for partition in place.shard.take_changed() {
                self.board.post(partition, place.shard.partition_stats(partition));
            }
        }
    }

    /// Makes everything durable at the end. Leases need no giving back: they live in memory, and
    /// whoever opens the shard next offers what was leased again, attempts not raised.
    async fn close(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        for seat in 0..self.seats.len() {
            if let Some(place) = self.seats.get_mut(seat) {
                place.shard.keep_time(now);
            }
            self.commit(seat).await?;
            if let Some(place) = self.seats.get(seat) {
                let proof = place.store.durable(place.written).await?;
                place.durability.advance(proof, place.shard.last_seq());
            }
        }
        // The tasks that waited for earlier syncs have their proof now too, and answer.
        while self.leaving.join_next().await.is_some() {}
        Ok(())
    }
}

/// The subscriptions that may have something to offer, or room for it, after a command.
fn wakes(command: &Command) -> Vec<(PartitionId, punctual_types::SubscriptionNumber)> {
    let of = |leases: &mut dyn Iterator<Item = punctual_core::LeaseRef>| {
        let mut at: Vec<_> = leases.map(|lease| (PartitionId::from(lease.timeline), lease.subscription)).collect();
        at.dedup();
        at
    };
    match command {
        Command::Ack { leases } | Command::Release { leases } => of(&mut leases.iter().copied()),
        Command::Nack { items, .. } => of(&mut items.iter().map(|item| item.lease)),
        Command::Subscribe { partition, subscription, .. } | Command::Seek { partition, subscription, .. } => {
            vec![(*partition, *subscription)]
        }
        _ => Vec::new(),
    }
}

/// The subscriptions that an answer says have something to offer again.
fn returned(answer: &Answer) -> Vec<(PartitionId, punctual_types::SubscriptionNumber)> {
    match answer {
        Answer::Returned(returned) => returned.clone(),
        _ => Vec::new(),
    }
}
