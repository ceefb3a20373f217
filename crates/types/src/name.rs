//! Names of namespaces, topics, subscriptions and schedules.

use std::{fmt, sync::Arc};

use crate::limits;

/// Why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Empty, or longer than the limit in bytes.
    Length {
        /// The name's length in bytes.
        length: usize,
        /// The longest allowed.
        limit: usize,
    },
    /// Holds a character outside `[A-Za-z0-9._%:-]`.
    Character(char),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { length, limit } => write!(f, "is {length} bytes long, allowed are 1 to {limit}"),
            Self::Character(character) => write!(f, "holds {character:?}, allowed are A-Z a-z 0-9 . _ % : -"),
        }
    }
}

impl std::error::Error for NameError {}

fn check(name: &str) -> Result<(), NameError> {
    if name.is_empty() || name.len() > limits::NAME_BYTES_MAX {
        return Err(NameError::Length { length: name.len(), limit: limits::NAME_BYTES_MAX });
    }
    match name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '%' | ':' | '-'))) {
        Some(character) => Err(NameError::Character(character)),
        None => Ok(()),
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes a name as the native doors allow it: 1 to 255 bytes of `[A-Za-z0-9._%:-]`.
            ///
            /// # Errors
            /// When it is empty, too long, or holds another character.
            pub fn parse(name: &str) -> Result<Self, NameError> {
                check(name)?;
                Ok(Self(name.into()))
            }

            /// Takes a name that was checked when it was stored, or that a door mapped from a
            /// foreign one (up to [`limits::STORED_NAME_BYTES_MAX`] bytes); `None` when longer.
            #[must_use]
            pub fn stored(name: &str) -> Option<Self> {
                (name.len() <= limits::STORED_NAME_BYTES_MAX).then(|| Self(name.into()))
            }

            /// The name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// A namespace: a tenant.
    NamespaceName
}
name! {
    /// A topic within its namespace.
    TopicName
}
name! {
    /// A subscription within its topic.
    SubscriptionName
}
name! {
    /// A recurring schedule within its namespace.
    ScheduleName
}

impl Default for NamespaceName {
    /// The namespace `default`.
    fn default() -> Self {
        Self("default".into())
    }
}
