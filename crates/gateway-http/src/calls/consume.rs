//! Receiving messages and saying what became of them.

use axum::http::StatusCode;
use punctual_broker_api::{
    AckOutcome, Code, DelayMs, Delivery, Error, ExtendOutcome, NackOutcome, NackRequest, Receipt, ReceiveRequest,
    ReleaseOutcome,
};
use punctual_types::limits::RECEIPTS_MAX;
use serde::Serialize;

use super::Answer;
use crate::{
    answer::{self, DeliveryAnswer},
    door::Asked,
    json::{
        Fields, Json,
        read::{self, Place},
    },
};

#[derive(Serialize)]
struct Messages<'d> {
    messages: Vec<DeliveryAnswer<'d>>,
}

#[derive(Serialize)]
struct Results {
    results: Vec<&'static str>,
}

fn results<T>(outcomes: &[T], word: impl Fn(&T) -> &'static str) -> Answer {
    Ok(answer::json(StatusCode::OK, &Results { results: outcomes.iter().map(word).collect() }))
}

/// `POST S/receive`.
pub(super) async fn receive(asked: Asked) -> Answer {
    let subscription = asked.captures.subscription()?;
    asked.query.finish()?;
    let mut fields = Fields::of_request(&asked.body)?;
    let limits = asked.door.broker.limits();
    let request = ReceiveRequest {
        subscription,
        max: fields.optional("max", read::whole)?.unwrap_or(1),
        max_bytes: fields.optional("max_bytes", read::whole)?.unwrap_or(limits.receive_bytes_max),
        wait: fields.optional("wait", read::duration)?.unwrap_or(DelayMs::ZERO),
        lease: fields.optional("lease", read::duration)?,
    };
    fields.finish()?;
    let deliveries = answer_or_stop(&asked, request).await?;
    let messages = deliveries.iter().map(DeliveryAnswer::of).collect();
    Ok(answer::json(StatusCode::OK, &Messages { messages }))
}

/// Waits for messages, but not beyond the stop of the door: a waiting call then answers none,
/// instead of holding the process for the rest of its minute.
async fn answer_or_stop(asked: &Asked, request: ReceiveRequest) -> Result<Vec<Delivery>, Error> {
    let mut stop = asked.door.stop.clone();
    tokio::select! {
        biased;
        received = asked.door.broker.receive(request) => received,
        _ = stop.wait_for(|stopping| *stopping) => Ok(Vec::new()),
    }
}

/// `POST S/ack`.
pub(super) async fn ack(asked: Asked) -> Answer {
    let subscription = asked.captures.subscription()?;
    asked.query.finish()?;
    let mut fields = Fields::of_request(&asked.body)?;
    let receipts = receipts(&mut fields)?;
    fields.finish()?;
    results(&asked.door.broker.ack(subscription, receipts).await?, |outcome| match outcome {
        AckOutcome::Acked => "acked",
        AckOutcome::LeaseLost => "lease_lost",
        AckOutcome::Invalid => "invalid",
    })
}

/// `POST S/nack`.
pub(super) async fn nack(asked: Asked) -> Answer {
    let subscription = asked.captures.subscription()?;
    asked.query.finish()?;
    let mut fields = Fields::of_request(&asked.body)?;
    let request = NackRequest {
        receipts: receipts(&mut fields)?,
        delay: fields.optional("delay", read::duration)?,
        error: fields.optional("error", read::text)?,
    };
    fields.finish()?;
    results(&asked.door.broker.nack(subscription, request).await?, |outcome| match outcome {
        NackOutcome::Retry => "retry",
        NackOutcome::DeadLettered => "dead_lettered",
        NackOutcome::LeaseLost => "lease_lost",
        NackOutcome::Invalid => "invalid",
    })
}

/// `POST S/release`.
pub(super) async fn release(asked: Asked) -> Answer {
    let subscription = asked.captures.subscription()?;
    asked.query.finish()?;
    let mut fields = Fields::of_request(&asked.body)?;
    let receipts = receipts(&mut fields)?;
    fields.finish()?;
    results(&asked.door.broker.release(subscription, receipts).await?, |outcome| match outcome {
        ReleaseOutcome::Released => "released",
        ReleaseOutcome::LeaseLost => "lease_lost",
        ReleaseOutcome::Invalid => "invalid",
    })
}

/// `POST S/extend`.
pub(super) async fn extend(asked: Asked) -> Answer {
    let subscription = asked.captures.subscription()?;
    asked.query.finish()?;
    let mut fields = Fields::of_request(&asked.body)?;
    let receipts = receipts(&mut fields)?;
    let lease = fields.required("lease", read::duration)?;
    fields.finish()?;
    results(&asked.door.broker.extend(subscription, receipts, lease).await?, |outcome| match outcome {
        ExtendOutcome::Extended { .. } => "extended",
        ExtendOutcome::LeaseLost => "lease_lost",
        ExtendOutcome::Invalid => "invalid",
    })
}

fn receipts(fields: &mut Fields<'_>) -> Result<Vec<Receipt>, Error> {
    fields.required("receipts", read::list(RECEIPTS_MAX, Code::BatchTooLarge, receipt))
}

fn receipt(place: Place<'_>, value: Json<'_>) -> Result<Receipt, Error> {
    read::text(place, value).map(|text| Receipt::new(&text))
}
