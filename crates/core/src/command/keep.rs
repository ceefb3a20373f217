//! Keeping pieces of state that are not the core's, such as the catalog's, and what is published
//! with them.

use bytes::Bytes;
use punctual_types::{Now, ShardNumber, Write};

use super::{Answer, PublishItem};
use crate::{
    Facts,
    format::state_key::FIRST_FOREIGN_FAMILY,
    state::{PartitionId, Shard, TransferItem},
};

impl Shard {
    pub(super) fn keep(
        &mut self,
        pieces: Vec<(Bytes, Option<Bytes>)>,
        publishes: Vec<(ShardNumber, PartitionId, PublishItem)>,
        facts: &mut Facts,
        now: Now,
    ) -> Answer {
        for (key, value) in pieces {
            let foreign = key.first().is_some_and(|family| *family >= FIRST_FOREIGN_FAMILY);
            assert!(foreign, "a piece of the core's own state was to be kept from outside: {key:?}");
            self.pen.write(facts, Write::SetState { key, value });
        }
        for (target, partition, item) in publishes {
            self.send(facts, target, TransferItem::Publish { partition, item: Box::new(item) }, now);
        }
        Answer::Done
    }
}
