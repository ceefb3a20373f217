//! A stream of deliveries: the first request opens it, credit lets deliveries out, acks and the
//! like are pipelined.
//!
//! One task serves a stream. It never waits for one thing only: while replies wait for a slow
//! reader, acks are still taken, up to a bound.

use std::collections::VecDeque;

use futures_util::{StreamExt, stream::FuturesOrdered};
use punctual_broker_api::{BoxFuture, Code, Consumer, Delivery, Error, Health, SubscribeRequest, SubscriptionPath};
use punctual_proto::{
    convert,
    status::{self, to_status},
    v1::{self, SubscribeReply, subscribe_reply::Reply, subscribe_request::Request},
};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tonic::{Status, Streaming};

use crate::{
    broker::nack_request,
    connection::Counted,
    context::Context,
    fault,
    limits::{DELIVERIES_BYTES, REPLIES_BUFFERED_MAX, SUBSCRIBE_REQUESTS_IN_FLIGHT_MAX},
};

type Replies = Sender<Result<SubscribeReply, Status>>;

/// Opens a stream with its first request.
pub(crate) async fn subscribe(
    context: Context,
    mut requests: Streaming<v1::SubscribeRequest>,
) -> Result<Receiver<Result<SubscribeReply, Status>>, Status> {
    let first = context.unless_stopped(async { Ok(requests.message().await) }).await.map_err(|e| to_status(&e))?;
    let open = match first.map_err(fault::detailed)?.and_then(|request| request.request) {
        Some(Request::Open(open)) => open,
        Some(
            Request::Credit(_)
            | Request::Ack(_)
            | Request::Nack(_)
            | Request::Release(_)
            | Request::Extend(_)
            | Request::Stop(_)
            | Request::Abandon(_),
        )
        | None => {
            let error = convert::missing("open", "the first request of a stream has to be `open`");
            return Err(to_status(&error));
        }
    };
    let request = open_request(&open).map_err(|error| to_status(&error))?;
    let path = request.subscription.clone();
    let consumer =
        context.unless_stopped(context.broker.subscribe(request)).await.map_err(|error| to_status(&error))?;
    let (replies, receiver) = mpsc::channel(REPLIES_BUFFERED_MAX);
    let session = Session {
        _counted: Counted::new(context.metrics.consumers.clone()),
        context,
        path,
        consumer,
        calls: FuturesOrdered::new(),
        outgoing: VecDeque::new(),
        offering: true,
    };
    tokio::spawn(session.run(requests, replies));
    Ok(receiver)
}

fn open_request(open: &v1::Open) -> Result<SubscribeRequest, Error> {
    Ok(SubscribeRequest {
        subscription: convert::subscription_from(&open.namespace, &open.topic, &open.subscription)?,
        lease: convert::delay_from_optional("lease", open.lease_ms)?,
        max_in_flight: open.max_in_flight,
    })
}

/// How a stream ends.
enum End {
    /// What is leased goes back with its attempt not raised; the status is told, OK when there is
    /// none.
    Graceful(Option<Status>),
    /// The client broke the rules and is told which; what it leased is treated as after a loss.
    Refused(Status),
    /// The connection is gone, or the client says that it should be taken for gone.
    Lost,
}

struct Session {
    context: Context,
    path: SubscriptionPath,
    consumer: Box<dyn Consumer>,
    /// Acks and the like that were asked of the broker; answered in order.
    calls: FuturesOrdered<BoxFuture<'static, v1::Results>>,
    /// Replies that wait for the connection.
    outgoing: VecDeque<Reply>,
    /// Whether deliveries may still leave.
    offering: bool,
    _counted: Counted,
}

impl Session {
    async fn run(mut self, mut requests: Streaming<v1::SubscribeRequest>, replies: Replies) {
        let end = self.serve(&mut requests, &replies).await;
        self.finish(end, &replies).await;
    }

    async fn serve(&mut self, requests: &mut Streaming<v1::SubscribeRequest>, replies: &Replies) -> End {
        let context = self.context.clone();
        let stopped = context.stopped();
        tokio::pin!(stopped);
        loop {
            let has_room = self.calls.len() + self.outgoing.len() < SUBSCRIBE_REQUESTS_IN_FLIGHT_MAX;
            tokio::select! {
                permit = replies.reserve(), if !self.outgoing.is_empty() => match permit {
                    Ok(permit) => {
                        let reply = self.outgoing.pop_front();
                        permit.send(Ok(SubscribeReply { reply }));
                    }
                    Err(_) => return End::Lost,
                },
                Some(results) = self.calls.next() => self.outgoing.push_back(Reply::Results(results)),
                deliveries = self.consumer.next(), if self.offering && self.outgoing.is_empty() => match deliveries {
                    Some(deliveries) => self.outgoing.extend(in_replies(deliveries)),
                    None => return End::Graceful(why_ended(&context).await),
                },
                request = requests.message(), if has_room => match request {
                    Ok(Some(request)) => {
                        if let Some(end) = self.handle(request).await {
                            return end;
                        }
                    }
                    Ok(None) => return End::Graceful(None),
                    Err(status) if is_loss(&status) => return End::Lost,
                    Err(status) => return End::Refused(fault::detailed(status)),
                },
                () = &mut stopped => return End::Graceful(Some(to_status(&fault::shutting_down()))),
                () = replies.closed() => return End::Lost,
            }
        }
    }

    /// Handles a request; answers how the stream ends when it does.
    async fn handle(&mut self, request: v1::SubscribeRequest) -> Option<End> {
        match request.request {
            Some(Request::Credit(credit)) => self.consumer.credit(credit.n),
            Some(Request::Ack(ack)) => self.ack(ack),
            Some(Request::Nack(nack)) => self.nack(nack),
            Some(Request::Release(release)) => self.release(release),
            Some(Request::Extend(extend)) => self.extend(extend),
            Some(Request::Stop(stop)) => {
                self.offering = false;
                self.consumer.stop().await;
                self.call(stop.request_id, async { Ok((Vec::new(), Vec::new())) });
            }
            Some(Request::Abandon(v1::Abandon {})) => return Some(End::Lost),
            Some(Request::Open(_)) => {
                let error = Error::new(Code::MalformedRequest, "the stream is open already").with_field("open");
                return Some(End::Refused(to_status(&error)));
            }
            None => {
                let error = convert::missing("request", "the request is empty, or of a kind that is not known here");
                return Some(End::Refused(to_status(&error)));
            }
        }
        None
    }

    fn ack(&mut self, ack: v1::Ack) {
        let (broker, path) = (self.context.broker.clone(), self.path.clone());
        self.call(ack.request_id, async move {
            let outcomes = broker.ack(path, convert::receipts_from(&ack.receipts)).await?;
            Ok((outcomes.into_iter().map(convert::ack_outcome_into).collect(), Vec::new()))
        });
    }

    fn nack(&mut self, nack: v1::Nack) {
        let (broker, path) = (self.context.broker.clone(), self.path.clone());
        self.call(nack.request_id, async move {
            let request = nack_request(&nack.receipts, nack.delay_ms, nack.error)?;
            let outcomes = broker.nack(path, request).await?;
            Ok((outcomes.into_iter().map(convert::nack_outcome_into).collect(), Vec::new()))
        });
    }

    fn release(&mut self, release: v1::Release) {
        let (broker, path) = (self.context.broker.clone(), self.path.clone());
        self.call(release.request_id, async move {
            let outcomes = broker.release(path, convert::receipts_from(&release.receipts)).await?;
            Ok((outcomes.into_iter().map(convert::release_outcome_into).collect(), Vec::new()))
        });
    }

    fn extend(&mut self, extend: v1::Extend) {
        let (broker, path) = (self.context.broker.clone(), self.path.clone());
        self.call(extend.request_id, async move {
            let lease = convert::delay_from("lease", extend.lease_ms)?;
            let outcomes = broker.extend(path, convert::receipts_from(&extend.receipts), lease).await?;
            Ok(convert::extend_outcomes_into(&outcomes))
        });
    }

    fn call(
        &mut self,
        request_id: u64,
        call: impl Future<Output = Result<(Vec<i32>, Vec<i64>), Error>> + Send + 'static,
    ) {
        self.calls.push_back(Box::pin(async move {
            match call.await {
                Ok((results, lease_expires_at_unix_ms)) => {
                    v1::Results { request_id, results, lease_expires_at_unix_ms, error: None }
                }
                Err(error) => {
                    v1::Results { request_id, error: Some(status::to_proto(error)), ..v1::Results::default() }
                }
            }
        }));
    }

    /// Lets everything that was read before the end take effect, then ends.
    async fn finish(mut self, end: End, replies: &Replies) {
        if matches!(end, End::Graceful(_)) {
            self.consumer.stop().await;
        }
        // What is already lost is not told, but done.
        let mut told = !matches!(end, End::Lost);
        let mut outgoing = std::mem::take(&mut self.outgoing);
        loop {
            while let Some(reply) = outgoing.pop_front() {
                told = told && replies.send(Ok(SubscribeReply { reply: Some(reply) })).await.is_ok();
            }
            match self.calls.next().await {
                Some(results) => outgoing.push_back(Reply::Results(results)),
                None => break,
            }
        }
        let last_word = match end {
            End::Graceful(status) => {
                self.consumer.close().await;
                status
            }
            End::Refused(status) => {
                drop(self.consumer);
                Some(status)
            }
            End::Lost => None,
        };
        if let Some(status) = last_word {
            let _ = replies.send(Err(status)).await;
        }
    }
}

/// Why the broker ended the stream: `None` when the subscription is gone.
async fn why_ended(context: &Context) -> Option<Status> {
    match context.broker.health().await {
        Ok(Health::Ready) => None,
        Ok(Health::Stopping | Health::Failed(_)) | Err(_) => Some(to_status(&fault::shutting_down())),
    }
}

/// Whether a broken request stream is a lost connection and not something that the client sent.
fn is_loss(status: &Status) -> bool {
    std::error::Error::source(status).is_some() || status.code() == fault::CANCELLED
}

/// Deliveries in replies that a client with the usual limit on messages takes.
fn in_replies(deliveries: Vec<Delivery>) -> Vec<Reply> {
    let mut replies = Vec::new();
    let mut messages = Vec::with_capacity(deliveries.len());
    let mut bytes = 0;
    for delivery in deliveries {
        if bytes > 0 && bytes + delivery.body.len() > DELIVERIES_BYTES {
            replies.push(Reply::Deliveries(v1::Deliveries { messages: std::mem::take(&mut messages) }));
            bytes = 0;
        }
        bytes +=
            delivery.body.len() + delivery.headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        messages.push(convert::delivery_into(delivery));
    }
    if !messages.is_empty() {
        replies.push(Reply::Deliveries(v1::Deliveries { messages }));
    }
    replies
}
