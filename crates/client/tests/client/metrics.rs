//! What a worker measures.

use std::sync::Arc;

use punctual_client::{ClientMetrics, Failure, Leased, Worker, api::*};

use crate::support::{ManualClock, closing, embedded, end_of, publish, reports, secs, text};

#[tokio::test]
async fn how_long_handling_took_and_how_late_a_message_came_are_counted_by_label() {
    let (broker, clock) = (embedded().await, Arc::new(ManualClock::default()));
    publish(&broker, &["good", "bad"]).await;
    // The client has them two seconds after they were due, by its own clock.
    clock.advance(secs(2));
    let metrics = ClientMetrics::default();
    let worker =
        Worker::new(Arc::clone(&broker), closing()).clock(clock.clone()).metrics(&metrics).tag("region", "north");
    let (stopper, (report, mut handled)) = (worker.stopper(), reports());
    let handlers_clock = clock.clone();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        report(text(&leased));
        let clock = Arc::clone(&handlers_clock);
        async move {
            if text(&leased) == "good" {
                clock.advance(secs(3));
                return Ok(());
            }
            Err(Failure::new("bad").retry_after(DelayMs::from_secs(60)))
        }
    }));
    handled.next().await;
    handled.next().await;
    stopper.stop();
    end_of(running).await.expect("stopped");
    let page = metrics.render();
    for line in [
        r#"punctual_client_process_seconds_sum{topic="orders",subscription="closing",region="north",outcome="acked"} 3.0"#,
        r#"punctual_client_process_seconds_count{topic="orders",subscription="closing",region="north",outcome="acked"} 1"#,
        r#"punctual_client_process_seconds_count{topic="orders",subscription="closing",region="north",outcome="retried"} 1"#,
        // Two seconds and, behind the first one's three, five.
        r#"punctual_client_lateness_seconds_sum{topic="orders",subscription="closing",region="north"} 7.0"#,
        r#"punctual_client_lateness_seconds_count{topic="orders",subscription="closing",region="north"} 2"#,
    ] {
        assert!(page.lines().any(|found| found == line), "no line {line}\nin {page}");
    }
}
