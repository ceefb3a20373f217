//! How a caller names a message.

use crate::MessageId;

/// A message by its id or by the caller's own key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handle {
    /// By id.
    Id(MessageId),
    /// By key: the one scheduled message of the topic with that key, or the last that had it.
    Key {
        /// The key.
        key: String,
        /// The ordering key it was published with, which decided its partition.
        ordering_key: Option<String>,
    },
}
