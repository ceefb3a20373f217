//! The consumer loop, as its user sets it up.

use std::{future::Future, sync::Arc, time::Duration};

use punctual_broker_api::{Broker, DelayMs, Error, SubscribeRequest, SubscriptionPath};
use tokio::{sync::watch, task::JoinSet};

use super::{
    Failure, Leased, Stopper,
    job::{Handler, Job},
    run::Run,
};
use crate::{
    clock::{Clock, SystemClock},
    limits::{CONCURRENCY_MAX, STOP_WAIT_DEFAULT},
    metrics::{ClientMetrics, Tags},
};

/// A consumer loop: leases messages of a subscription and hands each to a handler.
///
/// * `Ok` acks. An error nacks with its text, which the dead letter will carry, and is tried again
///   as the subscription's retry policy says, or when a [`Failure`] says. A panic is a failure.
/// * The lease is extended at every third of it for as long as the handler runs. When it is lost
///   all the same the handler is told by [`Leased::lease`], and its answer is not sent.
/// * A lost broker is looked for again, for ever, after waits that double up to 30 s and are drawn
///   at random below that, so that a broker that comes back is not met by everybody at once. What
///   is being handled meanwhile goes on; if the broker took it back, its lease is lost.
/// * [`Stopper::stop`] ends the loop: it takes nothing more, lets the handlers that run end within
///   [`Worker::stop_wait`], then breaks them off and gives their messages back, the attempt not
///   raised. Dropping the future of [`Worker::run`] is the abrupt end: attempts are raised.
///
/// Delivery is at least once: a handler whose effect must not be had twice needs a guard
/// ([`crate::Idempotency`]).
///
/// ```
/// use std::sync::Arc;
/// use punctual_client::{Leased, Worker, api::*, subscription, topic};
/// use punctual_embedded::{Broker as Embedded, ClockChoice, Config};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // The same over a connection: `Client::connect(...)` is a broker as well.
/// let config = Config { clock: ClockChoice::manual(), ..Config::default() };
/// let broker: Arc<dyn Broker> = Arc::new(Embedded::open(config).await?);
///
/// let order = NewMessage { body: "order 42".into(), when: When::Delay(DelayMs::from_secs(900)), ..NewMessage::default() };
/// broker.publish(topic("orders")?, vec![order]).await?;
///
/// let worker = Worker::new(Arc::clone(&broker), subscription("orders", "closing")?).concurrency(8);
/// let stopper = worker.stopper();
/// let running = tokio::spawn(worker.run(move |order: Leased| {
///     let stopper = stopper.clone();
///     async move {
///         println!("not paid in time: {}", String::from_utf8_lossy(&order.body));
///         stopper.stop();
///         Ok::<_, std::io::Error>(())
///     }
/// }));
///
/// broker.advance_clock(DelayMs::from_secs(900)).await?;
/// running.await??;
/// # Ok(())
/// # }
/// ```
pub struct Worker {
    broker: Arc<dyn Broker>,
    subscription: SubscriptionPath,
    concurrency: u32,
    lease: Option<DelayMs>,
    stop_wait: Duration,
    metrics: ClientMetrics,
    tags: Vec<(String, String)>,
    clock: Arc<dyn Clock>,
    stopper: Stopper,
}

impl Worker {
    /// A worker on a subscription, which is made with its topic when it does not exist, that
    /// handles one message at a time.
    #[must_use]
    pub fn new(broker: Arc<dyn Broker>, subscription: SubscriptionPath) -> Self {
        Self {
            broker,
            subscription,
            concurrency: 1,
            lease: None,
            stop_wait: STOP_WAIT_DEFAULT,
            metrics: ClientMetrics::default(),
            tags: Vec::new(),
            clock: Arc::new(SystemClock::default()),
            stopper: Stopper::new(),
        }
    }

    /// Handles up to so many messages at once: 1 to 10,000; what lies outside is brought inside.
    /// Never more than that are leased.
    #[must_use]
    pub fn concurrency(mut self, messages: u32) -> Self {
        self.concurrency = messages.clamp(1, CONCURRENCY_MAX);
        self
    }

    /// Leases for so long (1 s to 12 h) instead of the subscription's own. It need not cover the
    /// handler's work, only a pause of this process: a dead one is noticed so much later.
    #[must_use]
    pub fn lease(mut self, lease: DelayMs) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Lets handlers run on for so long after the stop; 30 s by default.
    #[must_use]
    pub fn stop_wait(mut self, wait: Duration) -> Self {
        self.stop_wait = wait;
        self
    }

    /// Counts into these metrics; into none that anybody sees by default.
    #[must_use]
    pub fn metrics(mut self, metrics: &ClientMetrics) -> Self {
        self.metrics = metrics.clone();
        self
    }

    /// Adds a label of your own to what this worker counts. Every combination of values is a series
    /// of its own for as long as the process lives, so take only what has a handful of values: a
    /// region, never an order's number. Nothing here bounds it.
    #[must_use]
    pub fn tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.push((name.into(), value.into()));
        self
    }

    /// Goes by another clock, for tests.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// What ends this worker.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Runs until it is stopped, on the tokio runtime that polls it; handlers run as tasks of that
    /// runtime.
    ///
    /// # Errors
    /// When the broker refuses the subscription for a reason that waiting does not mend: kinds
    /// `invalid`, `unauthenticated`, `forbidden`, `not_found`, `conflict`.
    pub async fn run<H, F, E>(self, handler: H) -> Result<(), Error>
    where
        H: Fn(Leased) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        self.run_erased(erased(handler)).await
    }

    async fn run_erased(self, handler: Handler) -> Result<(), Error> {
        let request = SubscribeRequest {
            subscription: self.subscription.clone(),
            lease: self.lease,
            max_in_flight: self.concurrency,
        };
        let job = Job {
            tags: Tags::new(&self.subscription, self.tags),
            broker: self.broker,
            subscription: self.subscription,
            clock: self.clock,
            handler,
            metrics: self.metrics,
            connections: watch::Sender::new(0),
        };
        let run = Run {
            job: Arc::new(job),
            request,
            concurrency: self.concurrency,
            stop_wait: self.stop_wait,
            stop: self.stopper.signal(),
            handlers: JoinSet::new(),
        };
        run.run().await
    }
}

fn erased<H, F, E>(handler: H) -> Handler
where
    H: Fn(Leased) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<Failure> + 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |leased| {
        let handler = Arc::clone(&handler);
        // Called inside the future, so that what panics before its first await panics there.
        Box::pin(async move { handler(leased).await.map_err(Into::into) })
    })
}
