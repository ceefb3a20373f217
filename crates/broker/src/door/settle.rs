//! Acking, nacking, releasing, extending: receipts are told apart and sent to their shards.

use std::{collections::BTreeMap, sync::Arc};

use punctual_broker_api::{
    AckOutcome, Code, DelayMs, Error, ExtendOutcome, NackOutcome, NackRequest, Receipt, ReleaseOutcome,
    SubscriptionPath,
};
use punctual_core::{Answer, Command, ExtendAnswer, LeaseRef, NackAnswer, NackItem, SettleAnswer};
use punctual_types::{ShardNumber, limits};

use super::{Inner, validate::check_lease};
use crate::shard::AnswerWhen;

/// Leases of one call, by shard, with their places in the call.
struct Sorted {
    by_shard: BTreeMap<ShardNumber, (Vec<usize>, Vec<LeaseRef>)>,
    answers: AnswerWhen,
    count: usize,
}

impl Inner {
    /// Sorts receipts by shard; those that are not of the subscription are left out, and so are
    /// answered `invalid`.
    fn sort(&self, path: &SubscriptionPath, receipts: &[Receipt]) -> Result<Sorted, Error> {
        self.check_running()?;
        if receipts.len() > limits::RECEIPTS_MAX {
            let text =
                format!("cannot take {} receipts at once, the limit is {}", receipts.len(), limits::RECEIPTS_MAX);
            return Err(Error::new(Code::BatchTooLarge, text).with_field("receipts"));
        }
        let (topic, subscription) = self.catalog().subscription(path)?;
        let mut sorted = Sorted { by_shard: BTreeMap::new(), answers: topic.answers(), count: receipts.len() };
        for (place, receipt) in receipts.iter().enumerate() {
            let lease = self.handles.lease(receipt);
            let ours =
                lease.filter(|lease| lease.timeline.topic == topic.number && lease.subscription == subscription.number);
            let Some(lease) = ours else { continue };
            let shard = topic.shard(lease.timeline.into(), self.store.shards());
            let (places, leases) = sorted.by_shard.entry(shard).or_default();
            places.push(place);
            leases.push(lease);
        }
        Ok(sorted)
    }

    /// Asks every shard and puts the answers into the places of their receipts.
    async fn settle<A: Copy>(
        &self,
        sorted: Sorted,
        invalid: A,
        command: impl Fn(Vec<LeaseRef>) -> Command,
        answers: impl Fn(Answer) -> Option<Vec<A>>,
    ) -> Result<Vec<A>, Error> {
        let mut outcomes = vec![invalid; sorted.count];
        let asked = sorted.by_shard.into_iter().map(|(shard, (places, leases))| {
            let command = command(leases);
            async move { (places, self.shards.ask(shard, command, sorted.answers).await) }
        });
        for (places, answer) in futures_util::future::join_all(asked).await {
            let answers =
                answers(answer?).ok_or_else(|| Error::new(Code::Internal, "a shard answered another question"))?;
            for (place, answer) in places.into_iter().zip(answers) {
                if let Some(outcome) = outcomes.get_mut(place) {
                    *outcome = answer;
                }
            }
        }
        Ok(outcomes)
    }

    pub(super) async fn ack(
        self: &Arc<Self>,
        path: SubscriptionPath,
        receipts: Vec<Receipt>,
    ) -> Result<Vec<AckOutcome>, Error> {
        let sorted = self.sort(&path, &receipts)?;
        let outcome = |answer| match answer {
            SettleAnswer::Done => AckOutcome::Acked,
            SettleAnswer::LeaseLost => AckOutcome::LeaseLost,
        };
        self.settle(
            sorted,
            AckOutcome::Invalid,
            |leases| Command::Ack { leases },
            |answer| match answer {
                Answer::Settled(answers) => Some(answers.into_iter().map(outcome).collect()),
                _ => None,
            },
        )
        .await
    }

    pub(super) async fn release(
        self: &Arc<Self>,
        path: SubscriptionPath,
        receipts: Vec<Receipt>,
    ) -> Result<Vec<ReleaseOutcome>, Error> {
        let sorted = self.sort(&path, &receipts)?;
        let outcome = |answer| match answer {
            SettleAnswer::Done => ReleaseOutcome::Released,
            SettleAnswer::LeaseLost => ReleaseOutcome::LeaseLost,
        };
        self.settle(
            sorted,
            ReleaseOutcome::Invalid,
            |leases| Command::Release { leases },
            |answer| match answer {
                Answer::Settled(answers) => Some(answers.into_iter().map(outcome).collect()),
                _ => None,
            },
        )
        .await
    }

    pub(super) async fn extend(
        self: &Arc<Self>,
        path: SubscriptionPath,
        receipts: Vec<Receipt>,
        lease: DelayMs,
    ) -> Result<Vec<ExtendOutcome>, Error> {
        check_lease(lease)?;
        let sorted = self.sort(&path, &receipts)?;
        let outcome = |answer| match answer {
            ExtendAnswer::Extended { expires_at } => ExtendOutcome::Extended { lease_expires_at: expires_at },
            ExtendAnswer::LeaseLost => ExtendOutcome::LeaseLost,
        };
        self.settle(
            sorted,
            ExtendOutcome::Invalid,
            |leases| Command::Extend { leases, lease },
            |answer| match answer {
                Answer::Extended(answers) => Some(answers.into_iter().map(outcome).collect()),
                _ => None,
            },
        )
        .await
    }

    pub(super) async fn nack(
        self: &Arc<Self>,
        path: SubscriptionPath,
        request: NackRequest,
    ) -> Result<Vec<NackOutcome>, Error> {
        if let Some(error) = request.error.as_ref().filter(|error| error.len() > limits::NACK_ERROR_BYTES_MAX) {
            let text = format!("`error` is {} bytes long, the limit is {}", error.len(), limits::NACK_ERROR_BYTES_MAX);
            return Err(Error::new(Code::InvalidField, text).with_field("error"));
        }
        if let Some(delay) = request.delay.filter(|delay| self.clock.now().ceil.checked_add(*delay).is_none()) {
            let text = format!("cannot retry {delay} from now: that lies after the year 9999");
            return Err(Error::new(Code::DelayTooLong, text).with_field("delay"));
        }
        let sorted = self.sort(&path, &request.receipts)?;
        let outcome = |answer| match answer {
            NackAnswer::Retry => NackOutcome::Retry,
            NackAnswer::DeadLettered => NackOutcome::DeadLettered,
            NackAnswer::LeaseLost => NackOutcome::LeaseLost,
        };
        let command = |leases: Vec<LeaseRef>| {
            let items = leases.into_iter().map(|lease| NackItem { lease, random: self.random.bits() }).collect();
            Command::Nack { items, delay: request.delay, error: request.error.clone() }
        };
        self.settle(sorted, NackOutcome::Invalid, command, |answer| match answer {
            Answer::Nacked(answers) => Some(answers.into_iter().map(outcome).collect()),
            _ => None,
        })
        .await
    }
}
