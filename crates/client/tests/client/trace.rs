//! Traces that cross the broker.

use std::sync::Arc;

use punctual_client::{Leased, Producer, TraceContext, api::*, current_trace, topic};

use crate::support::{Door, closing, embedded, end_of, message, orders, receive, reports};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn request() -> Option<TraceContext> {
    TraceContext::parse(PARENT, Some("congo=t61rcWkgMzE"))
}

#[tokio::test]
async fn a_trace_goes_on_through_the_broker_and_through_what_a_handler_publishes() {
    let broker = embedded().await;
    let door = Door::open(&broker, 0).await;
    let client = door.client().await;
    let published = client.producer(orders()).traces(request).publish(message("a")).await.expect("accepted");
    let (report, mut handled) = reports();
    let next_topic = topic("mails").expect("a name");
    let mails = client.producer(next_topic);
    let worker = client.consume(closing());
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        let (report, mails) = (report.clone(), mails.clone());
        async move {
            assert_eq!(leased.trace(), current_trace().as_ref());
            mails.publish(message("closed")).await?;
            report((leased.id.clone(), leased.headers.clone(), leased.trace().cloned()));
            Ok::<_, Error>(())
        }
    }));
    let (id, headers, trace) = handled.next().await;
    stopper.stop();
    end_of(running).await.expect("stopped");
    assert_eq!(id, published.id);
    let carried = TraceContext::parse(&headers[0].1, Some(&headers[1].1)).expect("a context");
    assert_eq!((headers[0].0.as_str(), headers[1].0.as_str()), ("traceparent", "tracestate"));
    let mail = receive(&broker, &punctual_client::subscription("mails", "sending").expect("names"), 1).await;
    let sent = TraceContext::parse(&mail[0].headers[0].1, Some(&mail[0].headers[1].1)).expect("a context");
    // One trace, four spans: the request, its publish, the handler, the handler's publish.
    let chain = [request(), Some(carried), trace, Some(sent)].map(|context| context.expect("a context"));
    for (n, context) in chain.iter().enumerate() {
        assert_eq!(context.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!((context.is_sampled(), context.state()), (true, "congo=t61rcWkgMzE"));
        assert!(chain[..n].iter().all(|other| other.span_id() != context.span_id()), "{chain:?}");
    }
    door.close().await;
}

#[tokio::test]
async fn a_message_without_a_trace_is_given_none_and_its_own_stays() {
    let broker = embedded().await;
    let plain = Producer::new(Arc::clone(&broker), orders());
    plain.publish(message("plain")).await.expect("accepted");
    let headers = vec![("traceparent".to_owned(), PARENT.to_owned())];
    let own = NewMessage { headers: headers.clone(), ..message("own") };
    plain.traces(|| Some(TraceContext::root(true))).publish(own).await.expect("accepted");
    let received = receive(&broker, &closing(), 2).await;
    assert_eq!((&received[0].headers, &received[1].headers), (&Vec::new(), &headers));
}

#[tokio::test]
async fn a_trace_is_not_why_a_message_with_many_headers_is_refused() {
    let broker = embedded().await;
    let orders = Producer::new(Arc::clone(&broker), orders()).traces(request);
    for (own, carried) in [(126, 128), (127, 127), (128, 128)] {
        let headers: Vec<_> = (0..own).map(|n| (format!("h{n}"), "v".to_owned())).collect();
        orders.publish(NewMessage { headers, ..message("full") }).await.expect("accepted");
        assert_eq!(receive(&broker, &closing(), 1).await[0].headers.len(), carried);
    }
}
