//! Which file decides over which command.

use punctual_types::{Now, Read};

use super::{Answer, Command, lease};
use crate::{Facts, state::Shard};

impl Command {
    /// Whether the command reads windows, whose answers do not follow what the batch before them
    /// writes: it must be applied after that is written, and what it writes itself must be written
    /// before anything is read for the commands after it.
    #[must_use]
    pub fn reads_windows(&self) -> bool {
        match self {
            Self::Advance { .. }
            | Self::Expire { .. }
            | Self::Check { .. }
            | Self::Retain { .. }
            | Self::RaiseFloor { .. }
            | Self::Lease { .. }
            | Self::CancelRange { .. }
            | Self::Get { .. }
            | Self::Outgoing { .. }
            | Self::Stats { .. }
            | Self::LogOffsets { .. }
            | Self::ReadLog { .. }
            | Self::Seek { .. } => true,
            Self::Subscribe { start, .. } => matches!(start, super::SubscriptionStart::At(_)),
            Self::Configure { .. }
            | Self::DeletePartition { .. }
            | Self::Unsubscribe { .. }
            | Self::Publish { .. }
            | Self::Ack { .. }
            | Self::Nack { .. }
            | Self::Release { .. }
            | Self::Extend { .. }
            | Self::Disconnect { .. }
            | Self::ExpireLeases { .. }
            | Self::Cancel { .. }
            | Self::Reschedule { .. }
            | Self::DeliverNow { .. }
            | Self::Decide { .. }
            | Self::CommitOffset { .. }
            | Self::Line { .. }
            | Self::Lines { .. }
            | Self::Accept { .. }
            | Self::Arrived { .. }
            | Self::Keep { .. } => false,
        }
    }
}

impl Shard {
    /// What must be read before the command can be applied, beyond what the facts already tell.
    /// Ask again with the answers until nothing is named.
    #[must_use]
    pub fn reads(&self, command: &Command, facts: &Facts, now: Now) -> Vec<Read> {
        let now = now.not_before(self.meta.time);
        let mut wanted = Vec::new();
        match command {
            Command::Publish { partition, items, .. } => self.publish_reads(*partition, items, facts, &mut wanted),
            Command::Advance { timeline, values, .. } => {
                self.advance_reads(*timeline, *values, now, facts, &mut wanted)
            }
            Command::Expire { timeline } => self.expire_reads(*timeline, now, facts, &mut wanted),
            Command::Subscribe { partition, subscription, start, .. } => {
                self.subscribe_reads(*partition, *subscription, *start, facts, &mut wanted);
            }
            Command::LogOffsets { partition, at, .. } => self.log_offsets_reads(*partition, *at, facts, &mut wanted),
            Command::ReadLog { partition, from, max, bytes_max } => {
                self.read_log_reads(*partition, *from, *max, *bytes_max, facts, &mut wanted);
            }
            Command::Check { timeline } => self.check_reads(*timeline, now, facts, &mut wanted),
            Command::Decide { partition, message, .. } => self.decide_reads(*partition, *message, facts, &mut wanted),
            Command::Retain { timeline } => self.retain_reads(*timeline, now, facts, &mut wanted),
            Command::RaiseFloor { timeline } => self.raise_floor_reads(*timeline, now, facts, &mut wanted),
            Command::Lease { partition, subscription, lane, max, bytes_max, .. } => {
                let most = (*max, *bytes_max);
                self.lease_reads(partition.lane(*lane), *subscription, most, now, facts, &mut wanted);
            }
            Command::Nack { items, .. } => self.nack_reads(items, facts, &mut wanted),
            Command::Release { leases } => self.release_reads(leases, now, facts, &mut wanted),
            Command::Disconnect { partition, subscription, consumer, graceful } => {
                self.disconnect_reads(*partition, *subscription, *consumer, !graceful, now, facts, &mut wanted);
            }
            Command::ExpireLeases { limit } => self.expire_leases_reads(*limit, now, facts, &mut wanted),
            Command::Cancel { partition, handle }
            | Command::Reschedule { partition, handle, .. }
            | Command::DeliverNow { partition, handle } => self.locate_reads(*partition, handle, facts, &mut wanted),
            Command::Get { partition, handle } => self.get_reads(*partition, handle, facts, &mut wanted),
            Command::CancelRange { timeline, after, to, .. } => {
                self.cancel_range_reads(*timeline, *after, *to, now, facts, &mut wanted);
            }
            Command::Stats { partition } => self.stats_reads(*partition, facts, &mut wanted),
            Command::Seek { partition, to, .. } => self.seek_reads(*partition, *to, facts, &mut wanted),
            Command::Outgoing { target, limit } => self.outgoing_reads(*target, *limit, facts, &mut wanted),
            Command::Accept { source, transfers, .. } => self.accept_reads(*source, transfers, facts, &mut wanted),
            Command::Configure { .. }
            | Command::DeletePartition { .. }
            | Command::Unsubscribe { .. }
            | Command::Ack { .. }
            | Command::Extend { .. }
            | Command::CommitOffset { .. }
            | Command::Keep { .. }
            | Command::Arrived { .. }
            | Command::Line { .. }
            | Command::Lines { .. } => {}
        }
        wanted
    }

    /// Decides, changes the state and adds to the batch.
    pub fn apply(&mut self, command: Command, facts: &mut Facts, now: Now) -> Answer {
        let now = now.not_before(self.meta.time);
        self.meta.time = now.floor;
        match command {
            Command::Configure { partition, rules } => self.configure(partition, rules, facts),
            Command::DeletePartition { partition } => self.delete_partition(partition, facts),
            Command::Subscribe { partition, subscription, rules, start } => {
                self.subscribe(partition, subscription, rules, start, facts)
            }
            Command::Unsubscribe { partition, subscription } => self.unsubscribe(partition, subscription, facts),
            Command::Publish { partition, items, max_delay } => self.publish(partition, items, max_delay, facts, now),
            Command::Advance { timeline, durable, values } => self.advance(timeline, durable, values, facts, now),
            Command::Expire { timeline } => self.expire(timeline, facts, now),
            Command::LogOffsets { partition, subscription, at } => self.log_offsets(partition, subscription, at, facts),
            Command::ReadLog { partition, from, max, bytes_max } => {
                self.read_log(partition, from, max, bytes_max, facts)
            }
            Command::CommitOffset { partition, subscription, offset } => {
                self.commit_offset(partition, subscription, offset, facts)
            }
            Command::Check { timeline } => self.check(timeline, facts, now),
            Command::Decide { partition, message, commit } => self.decide(partition, message, commit, facts, now),
            Command::Retain { timeline } => self.retain(timeline, facts, now),
            Command::RaiseFloor { timeline } => self.raise_floor_to_readers(timeline, facts, now),
            Command::Lease { partition, subscription, lane, consumer, max, bytes_max, lease } => {
                let to = lease::LeaseTo { consumer, max, bytes_max, lease };
                self.lease(partition.lane(lane), subscription, &to, facts, now)
            }
            Command::Ack { leases } => self.ack(&leases, facts),
            Command::Nack { items, delay, error } => self.nack(&items, delay, error.as_deref(), facts, now),
            Command::Release { leases } => self.release(&leases, facts, now),
            Command::Extend { leases, lease } => self.extend(&leases, lease, now),
            Command::Disconnect { partition, subscription, consumer, graceful } => {
                self.disconnect(partition, subscription, consumer, graceful, facts, now)
            }
            Command::ExpireLeases { limit } => self.expire_leases(limit, facts, now),
            Command::Cancel { partition, handle } => self.cancel(partition, &handle, facts, now),
            Command::Reschedule { partition, handle, due, max_delay } => {
                Answer::Rescheduled(self.reschedule(partition, &handle, due, max_delay, facts, now))
            }
            Command::DeliverNow { partition, handle } => self.deliver_now(partition, &handle, facts, now),
            Command::CancelRange { timeline, after, to, seq_max } => {
                self.cancel_range(timeline, after, to, seq_max, facts, now)
            }
            Command::Get { partition, handle } => self.get(partition, &handle, facts),
            Command::Stats { partition } => self.stats(partition, facts),
            Command::Line { timeline } => self.line_answer(timeline),
            Command::Lines { partition } => self.lines(partition),
            Command::Keep { pieces, publishes } => self.keep(pieces, publishes, facts, now),
            Command::Outgoing { target, limit } => self.outgoing(target, limit, facts),
            Command::Accept { source, up_to, transfers } => self.accept(source, up_to, transfers, facts, now),
            Command::Arrived { target, up_to } => self.arrived_up_to(target, up_to, facts),
            Command::Seek { partition, subscription, to } => self.seek(partition, subscription, to, facts),
        }
    }
}
