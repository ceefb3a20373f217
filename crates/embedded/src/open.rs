//! Opening and closing.

use std::sync::Arc;

use prometheus_client::registry::Registry;
use punctual_broker::{BrokerConfig, ClockConfig, system_secret};
use punctual_store_api::{Store, StoreError};
use punctual_store_fjall::{FjallStore, OpenOptions};
use punctual_store_memory::MemoryStore;

use crate::{ClockChoice, Config, StoreChoice};

/// Why a broker did not open. Nothing was changed when it says that the directory is unusable.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory cannot be used, or its store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The data in it cannot be read, or the machine gives out no threads or random bits.
    #[error(transparent)]
    Broker(punctual_broker::OpenError),
}

impl From<punctual_broker::OpenError> for OpenError {
    fn from(error: punctual_broker::OpenError) -> Self {
        match error {
            punctual_broker::OpenError::Store(error) => Self::Store(error),
            other => Self::Broker(other),
        }
    }
}

/// An open broker. Clones are the same broker.
#[derive(Clone)]
pub struct Broker {
    broker: punctual_broker::Broker,
}

fn open_store(config: &Config) -> Result<Arc<dyn Store>, OpenError> {
    let secret = system_secret().map_err(|error| punctual_broker::OpenError::Random(error.to_string()))?;
    match &config.store {
        StoreChoice::Memory => Ok(Arc::new(MemoryStore::new(config.shards_if_new, secret))),
        StoreChoice::Directory(path) => {
            let mut options = OpenOptions::new(config.shards_if_new, secret);
            options.cache_bytes = config.cache_bytes;
            Ok(FjallStore::open(path, &options)?)
        }
    }
}

impl Broker {
    /// Opens a broker.
    ///
    /// # Errors
    /// When the directory cannot be used or read; the error says what is wrong and where.
    pub async fn open(config: Config) -> Result<Self, OpenError> {
        let clock = match config.clock {
            ClockChoice::System { start_jump_max } => ClockConfig::System { start_jump_max },
            ClockChoice::Manual { start } => ClockConfig::Manual { start },
        };
        let store = open_store(&config)?;
        let config = BrokerConfig { store, clock, workers: config.workers, limits: config.limits, seed: None };
        Ok(Self { broker: punctual_broker::Broker::open(config).await? })
    }

    pub(crate) fn inner(&self) -> &punctual_broker::Broker {
        &self.broker
    }

    /// Registers what the broker measures.
    pub fn register_metrics(&self, registry: &mut Registry) {
        self.broker.register_metrics(registry);
    }

    /// Ready when the store has failed: nothing is acknowledged any more and the process should
    /// end. Never ready while all is well.
    pub async fn failed(&self) -> StoreError {
        self.broker.failed().await
    }

    /// Stops taking requests, answers what is under way and makes everything durable. What is
    /// leased is ready again for whoever opens the directory next.
    ///
    /// # Errors
    /// When the store had failed, or its last sync does.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.broker.close().await
    }
}
