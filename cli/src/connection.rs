//! The way to the broker.

use std::sync::Arc;

use punctual_broker_api::{Broker, TopicName, TopicPath};
use punctual_client::{Client, ClientConfig};

use crate::{args::Shared, failure::Failure};

/// A broker and the namespace that a command is about.
#[derive(Clone)]
pub(crate) struct Connection {
    /// The broker.
    pub broker: Arc<dyn Broker>,
    /// The shared options.
    pub shared: Shared,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// Exit code 3 when nobody answers at the address, 4 when the token is refused.
    pub(crate) async fn open(shared: Shared) -> Result<Self, Failure> {
        let broker = connect(&shared).await?;
        Ok(Self { broker, shared })
    }

    /// A topic of the namespace.
    pub(crate) fn topic(&self, topic: &TopicName) -> TopicPath {
        TopicPath { namespace: self.shared.namespace.clone(), topic: topic.clone() }
    }
}

/// The address of a broker that was started without settings.
const SERVER_DEFAULT: &str = "127.0.0.1:7801";

async fn connect(shared: &Shared) -> Result<Arc<dyn Broker>, Failure> {
    let config = ClientConfig {
        address: shared.server.clone().unwrap_or_else(|| SERVER_DEFAULT.to_owned()),
        token: shared.token.clone(),
    };
    Ok(Arc::new(Client::connect(config).await?))
}
