//! Closes orders that are not paid in time, with a broker inside this program:
//! `cargo run -p punctual-client --example order_timeout`.
//!
//! With a broker of its own the second line of `main` is
//! `Client::connect(ClientConfig::new("127.0.0.1:7801")).await?`, and nothing else changes.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::{error::Error, sync::Arc};

use punctual_client::{Failure, Leased, Producer, Worker, api::*, subscription, topic};
use punctual_embedded::{Broker as Embedded, Config};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let broker: Arc<dyn Broker> = Arc::new(Embedded::open(Config::default()).await?);

    // Whoever takes an order says when it must be looked at. Two seconds stand for fifteen minutes.
    let timeouts = Producer::new(Arc::clone(&broker), topic("order-timeouts")?);
    for order in ["41", "42"] {
        let message = NewMessage {
            body: order.into(),
            when: When::Delay(DelayMs::from_secs(2)),
            key: Some(order.to_owned()),
            ..NewMessage::default()
        };
        println!("order {order}: due at {}", time_text::format_time(timeouts.publish(message).await?.deliver_at));
    }

    // Order 41 is paid: its timeout is cancelled, and the answer is definite.
    let paid = Handle::Key { key: "41".to_owned(), ordering_key: None };
    println!("order 41 is paid: {:?}", broker.cancel(topic("order-timeouts")?, paid).await?);

    // Whoever closes orders handles what comes due. An error would be tried again with back-off.
    let worker = Worker::new(broker, subscription("order-timeouts", "closing")?).concurrency(8);
    let stopper = worker.stopper();
    let closing = worker.run(move |timeout: Leased| {
        let stopper = stopper.clone();
        async move {
            let order = std::str::from_utf8(&timeout.body)?;
            println!("order {order} was not paid: closed, {} ms after it was due", timeout.lateness_ms);
            stopper.stop();
            Ok::<_, Failure>(())
        }
    });
    closing.await?;
    Ok(())
}
