//! The client: one connection, shared by its clones.

use std::sync::Arc;

use punctual_broker_api::{Code, Error, Limits, SubscriptionPath, TopicPath};
use punctual_proto::{
    convert, v1,
    v1::{
        admin_client::AdminClient, broker_client::BrokerClient, messages_client::MessagesClient,
        schedules_client::SchedulesClient,
    },
};
use tonic::{
    Request, Response, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, Endpoint},
};

use crate::{
    ClientConfig, Producer, Publisher, Worker,
    failure::{Effect, error_of},
    limits,
};

/// Puts the token on every call.
#[derive(Clone, Debug)]
pub(crate) struct Token(Option<MetadataValue<Ascii>>);

impl Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

pub(crate) type Transport = InterceptedService<Channel, Token>;

/// A connection to a broker: implements [`crate::Broker`]. Clones share the connection.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    address: Arc<str>,
    limits: Limits,
}

impl Client {
    /// Connects, and asks the broker for its limits, so that a wrong address or token is told now.
    ///
    /// # Errors
    /// `unreachable` when there is no broker, `token_missing` and `token_unknown`, `invalid_field`
    /// for an address or a token that cannot be one.
    pub async fn connect(config: ClientConfig) -> Result<Self, Error> {
        let address: Arc<str> = config.address.as_str().into();
        let token = config.token.map(|token| {
            format!("Bearer {token}").parse().map(|mut value: MetadataValue<Ascii>| {
                value.set_sensitive(true);
                value
            })
        });
        let token = token.transpose().map_err(|_| {
            Error::new(Code::InvalidField, "cannot use the token: it holds what a header cannot carry")
                .with_field("token")
        })?;
        let transport = InterceptedService::new(endpoint(&address)?.connect_lazy(), Token(token));
        let mut client = Self { transport, address, limits: Limits::default() };
        let status = client.asked(client.admin().get_status(v1::GetStatusRequest {}).await)?;
        let (_, limits) = convert::status_from(status)?;
        client.limits = limits;
        Ok(client)
    }

    /// A publisher that keeps up to `window` requests in flight on a stream of its own: cheaper
    /// for each request than [`crate::Broker::publish`], and answered in order.
    ///
    /// # Errors
    /// As [`crate::Broker::publish`].
    pub async fn publisher(&self, window: usize) -> Result<Publisher, Error> {
        Publisher::open(self, window).await
    }

    /// A worker on a subscription of this broker; see [`Worker`].
    #[must_use]
    pub fn consume(&self, subscription: SubscriptionPath) -> Worker {
        Worker::new(Arc::new(self.clone()), subscription)
    }

    /// A producer of a topic of this broker; see [`Producer`].
    #[must_use]
    pub fn producer(&self, topic: TopicPath) -> Producer {
        Producer::new(Arc::new(self.clone()), topic)
    }

    pub(crate) fn broker(&self) -> BrokerClient<Transport> {
        BrokerClient::new(self.transport.clone()).max_decoding_message_size(limits::ANSWER_BYTES_MAX)
    }

    pub(crate) fn messages(&self) -> MessagesClient<Transport> {
        MessagesClient::new(self.transport.clone()).max_decoding_message_size(limits::ANSWER_BYTES_MAX)
    }

    pub(crate) fn admin(&self) -> AdminClient<Transport> {
        AdminClient::new(self.transport.clone()).max_decoding_message_size(limits::ANSWER_BYTES_MAX)
    }

    pub(crate) fn schedules(&self) -> SchedulesClient<Transport> {
        SchedulesClient::new(self.transport.clone()).max_decoding_message_size(limits::ANSWER_BYTES_MAX)
    }

    pub(crate) fn address(&self) -> &Arc<str> {
        &self.address
    }

    pub(crate) fn known_limits(&self) -> Limits {
        self.limits
    }

    /// The answer of a call that asks.
    pub(crate) fn asked<T>(&self, answer: Result<Response<T>, Status>) -> Result<T, Error> {
        self.answered(answer, Effect::Asks)
    }

    /// The answer of a call that changes something.
    pub(crate) fn changed<T>(&self, answer: Result<Response<T>, Status>) -> Result<T, Error> {
        self.answered(answer, Effect::Changes)
    }

    fn answered<T>(&self, answer: Result<Response<T>, Status>, effect: Effect) -> Result<T, Error> {
        match answer {
            Ok(response) => Ok(response.into_inner()),
            Err(status) => Err(error_of(&status, effect, &self.address)),
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("address", &self.address).finish_non_exhaustive()
    }
}

fn endpoint(address: &str) -> Result<Endpoint, Error> {
    let invalid = |why: &str| {
        Error::new(Code::InvalidField, format!("cannot use `{address}` as the address of a broker: {why}"))
            .with_field("address")
            .with_hint("name the gRPC door as `host:port`")
    };
    let url = match address.split_once("://") {
        None => format!("http://{address}"),
        Some(("http", _)) => address.to_owned(),
        Some((scheme, _)) => return Err(invalid(&format!("the client does not speak {scheme}"))),
    };
    let endpoint = Endpoint::from_shared(url).map_err(|_| invalid("it is none"))?;
    if endpoint.uri().port().is_none() {
        return Err(invalid("it names no port"));
    }
    Ok(endpoint
        .connect_timeout(limits::CONNECT_WAIT_MAX)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(limits::PING_INTERVAL)
        .keep_alive_timeout(limits::PING_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES))
}
