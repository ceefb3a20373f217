//! The spans that tell of what a client does. In a process of its own, because what is set up for
//! spans is set up for a process.

use std::{
    convert::Infallible,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use punctual_client::{Leased, Producer, TraceContext, Worker, api::*, subscription, topic};
use punctual_embedded::{Broker as Embedded, Config};
use tokio::{sync::mpsc, time::timeout};
use tracing_subscriber::fmt::format::FmtSpan;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const LONG: Duration = Duration::from_secs(30);

fn request() -> Option<TraceContext> {
    TraceContext::parse(PARENT, None)
}

/// What a subscriber wrote.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic under the lock").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn spans_name_the_trace_and_where_in_it_they_are() {
    let page = Page::default();
    let writer = page.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(false)
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("the only one of this process");
    let broker: Arc<dyn Broker> = Arc::new(Embedded::open(Config::default()).await.expect("a broker"));
    let (orders, closing) = (topic("orders").expect("a name"), subscription("orders", "closing").expect("names"));
    let message = NewMessage { body: "a".into(), ..NewMessage::default() };
    Producer::new(Arc::clone(&broker), orders).traces(request).publish(message).await.expect("accepted");
    let (report, mut handled) = mpsc::channel(1);
    let worker = Worker::new(Arc::clone(&broker), closing);
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        let seen = (leased.id.clone(), leased.headers[0].1.clone(), leased.trace().cloned());
        report.try_send(seen).expect("one message");
        async { Ok::<_, Infallible>(()) }
    }));
    let (id, carried, trace) = timeout(LONG, handled.recv()).await.expect("in time").expect("a message");
    stopper.stop();
    timeout(LONG, running).await.expect("in time").expect("no panic").expect("stopped");
    let (carried, trace) = (TraceContext::parse(&carried, None).expect("a context"), trace.expect("a trace"));
    let page = String::from_utf8(page.0.lock().expect("no panic under the lock").clone()).expect("text");
    let line_with = |start: &str| {
        page.lines().find(|line| line.contains(start)).unwrap_or_else(|| panic!("no {start} in {page}")).to_owned()
    };
    let publish = line_with("publish{");
    for field in [
        "topic=orders".to_owned(),
        "messages=1".to_owned(),
        r#"trace_id="0af7651916cd43dd8448eb211c80319c""#.to_owned(),
        r#"parent_id="b7ad6b7169203331""#.to_owned(),
        format!("span_id=\"{}\"", carried.span_id()),
    ] {
        assert!(publish.contains(&field), "{field} in {publish}");
    }
    let handle = line_with("handle{");
    for field in [
        "topic=orders subscription=closing".to_owned(),
        format!("message_id={id} attempt=1"),
        r#"trace_id="0af7651916cd43dd8448eb211c80319c""#.to_owned(),
        format!("parent_id=\"{}\"", carried.span_id()),
        format!("span_id=\"{}\"", trace.span_id()),
        r#"outcome="acked""#.to_owned(),
    ] {
        assert!(handle.contains(&field), "{field} in {handle}");
    }
}
