//! The way to the broker.

use std::sync::Arc;

use punctual_broker_api::{Broker, Code, TopicName, TopicPath};
use punctual_client::{Client, ClientConfig};

use crate::{args::Shared, exit::Exit, failure::Failure};

/// A broker and the namespace that a command is about.
#[derive(Clone)]
pub(crate) struct Connection {
    /// The connection itself, for what is particular to it.
    pub client: Client,
    /// The same, as a broker.
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
        let client = connect(&shared).await?;
        Ok(Self { broker: Arc::new(client.clone()), client, shared })
    }

    /// A topic of the namespace.
    pub(crate) fn topic(&self, topic: &TopicName) -> TopicPath {
        TopicPath { namespace: self.shared.namespace.clone(), topic: topic.clone() }
    }
}

/// The address of a broker that was started without settings.
const SERVER_DEFAULT: &str = "127.0.0.1:7801";

async fn connect(shared: &Shared) -> Result<Client, Failure> {
    let config = ClientConfig {
        address: shared.server.clone().unwrap_or_else(|| SERVER_DEFAULT.to_owned()),
        token: shared.token.clone(),
    };
    let connected = Client::connect(config).await;
    connected.map_err(|error| {
        // An address or a token that cannot be one: nobody was asked.
        let misused = error.code == Code::InvalidField;
        let failure = Failure::from(error);
        if misused { failure.with_exit(Exit::Usage) } else { failure }
    })
}
