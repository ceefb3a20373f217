//! A consumer over a Subscribe stream. Acks go through the client's calls, not through the stream.

use punctual_broker_api::{
    BoxFuture, Broker as _, Consumer, Delivery, Error, Receipt, SubscribeRequest, SubscriptionPath,
};
use punctual_proto::{
    convert,
    v1::{Open, SubscribeReply, subscribe_reply::Reply},
};
use tokio::time::timeout;
use tonic::Streaming;

use crate::{
    Client,
    limits::CLOSE_WAIT_MAX,
    outbox::{End, Outbox, STOP_ID},
};

pub(crate) struct RemoteConsumer {
    client: Client,
    subscription: SubscriptionPath,
    outbox: Outbox,
    replies: Streaming<SubscribeReply>,
    /// Deliveries that arrived after the stop: to be given back.
    unwanted: Vec<Receipt>,
    stopping: bool,
    ended: bool,
}

impl RemoteConsumer {
    pub(crate) async fn open(client: Client, request: SubscribeRequest) -> Result<Self, Error> {
        let path = &request.subscription;
        let open = Open {
            namespace: path.topic.namespace.as_str().to_owned(),
            topic: path.topic.topic.as_str().to_owned(),
            subscription: path.subscription.as_str().to_owned(),
            lease_ms: request.lease.map(convert::delay_into),
            max_in_flight: request.max_in_flight,
        };
        let (outbox, requests) = Outbox::new(open);
        let replies = client.asked(client.broker().subscribe(requests).await)?;
        Ok(Self {
            client,
            subscription: request.subscription,
            outbox,
            replies,
            unwanted: Vec::new(),
            stopping: false,
            ended: false,
        })
    }

    /// The next reply; `None` when the stream has ended, for whatever reason. May be dropped and
    /// asked again.
    async fn reply(&mut self) -> Option<Reply> {
        while !self.ended {
            match self.replies.message().await {
                Ok(Some(SubscribeReply { reply: Some(reply) })) => return Some(reply),
                // A kind of reply that this version does not know.
                Ok(Some(SubscribeReply { reply: None })) => {}
                Ok(None) | Err(_) => self.ended = true,
            }
        }
        None
    }

    async fn next_deliveries(&mut self) -> Option<Vec<Delivery>> {
        while !self.stopping {
            match self.reply().await? {
                Reply::Deliveries(deliveries) if deliveries.messages.is_empty() => {}
                // What cannot be read comes from a broker that this client does not understand.
                Reply::Deliveries(deliveries) => return convert::deliveries_from(deliveries.messages).ok(),
                Reply::Results(_) => {}
            }
        }
        None
    }

    async fn stop_deliveries(&mut self) {
        if !self.stopping {
            self.stopping = true;
            self.outbox.stop();
        }
        loop {
            match self.reply().await {
                Some(Reply::Deliveries(deliveries)) => {
                    let receipts = deliveries.messages.iter().map(|delivery| Receipt::new(&delivery.receipt));
                    self.unwanted.extend(receipts);
                }
                Some(Reply::Results(results)) if results.request_id == STOP_ID => break,
                Some(Reply::Results(_)) => {}
                None => break,
            }
        }
        if !self.unwanted.is_empty() {
            let unwanted = std::mem::take(&mut self.unwanted);
            // When that fails their leases end, which is how a stream that broke would end.
            let _ = self.client.release(self.subscription.clone(), unwanted).await;
        }
    }
}

impl Consumer for RemoteConsumer {
    fn credit(&self, messages: u32) {
        self.outbox.credit(messages);
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Vec<Delivery>>> {
        Box::pin(self.next_deliveries())
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.stop_deliveries())
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.outbox.end(End::Graceful);
            let ended = async { while self.reply().await.is_some() {} };
            // A broker that does not answer finds the stream closed when it looks.
            let _ = timeout(CLOSE_WAIT_MAX, ended).await;
        })
    }
}

impl Drop for RemoteConsumer {
    fn drop(&mut self) {
        self.outbox.end(End::Abandoned);
    }
}
