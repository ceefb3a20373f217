//! Keeping pieces of state that are not the core's, such as the catalog's.

use bytes::Bytes;
use punctual_types::Write;

use super::Answer;
use crate::{Facts, format::state_key::FIRST_FOREIGN_FAMILY, state::Shard};

impl Shard {
    pub(super) fn keep(&mut self, pieces: Vec<(Bytes, Option<Bytes>)>, facts: &mut Facts) -> Answer {
        for (key, value) in pieces {
            let foreign = key.first().is_some_and(|family| *family >= FIRST_FOREIGN_FAMILY);
            assert!(foreign, "a piece of the core's own state was to be kept from outside: {key:?}");
            self.pen.write(facts, Write::SetState { key, value });
        }
        Answer::Done
    }
}
