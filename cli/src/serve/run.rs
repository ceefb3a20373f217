//! The server's life: listen, open, serve, stop.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use prometheus_client::registry::Registry;
use punctual_broker_api::{ClockMode, Time};
use punctual_embedded::{Broker, ClockChoice, Config, StoreChoice};
use punctual_gateway_grpc::{GrpcGateway, GrpcMetrics};
use punctual_gateway_http::{HttpGateway, HttpMetrics};
use serde_json::json;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinSet,
};

use super::{
    settings::{Settings, StoreKind},
    stop::StopSignals,
};
use crate::{exit::Exit, failure::Failure, output::Output, store_failure};

/// Serves until told to stop.
pub(crate) async fn run(settings: Settings, output: Output) -> Result<(), Failure> {
    let mut signals = StopSignals::listen()?;
    // Listening comes before opening, which can take a while: a port that is taken is told at once.
    let http = listen("http", settings.http).await?;
    let grpc = listen("grpc", settings.grpc).await?;
    let broker = tokio::select! {
        opened = Broker::open(config(&settings)) => opened.map_err(|error| open_failure(&error))?,
        signal = signals.next() => {
            tracing::info!(signal, "stopping before the data directory was open");
            return Ok(());
        }
    };
    tracing::info!(version = env!("CARGO_PKG_VERSION"), data = %settings.data.display(), "serving");
    print_banner(&settings, http.as_ref(), grpc.as_ref(), output)?;
    let (stop, doors) = open_doors(&settings, &broker, http, grpc);
    let ended = tokio::select! {
        ended = serve_until_stopped(&broker, &stop, doors, &mut signals) => ended,
        error = broker.failed() => {
            tracing::error!(%error, exit_code = Exit::StoreFailed as u8, "the store failed; nothing is acknowledged any more");
            Err(store_failure::failure(&error))
        }
    };
    if ended.is_ok() {
        tracing::info!("stopped");
    }
    ended
}

fn config(settings: &Settings) -> Config {
    Config {
        store: match settings.store {
            StoreKind::Fjall => StoreChoice::Directory(settings.data.clone()),
            StoreKind::Memory => StoreChoice::Memory,
        },
        clock: match settings.clock {
            ClockMode::System => ClockChoice::System { start_jump_max: settings.clock_start_jump_max },
            ClockMode::Manual => ClockChoice::Manual { start: settings.clock_start.unwrap_or_else(wall_time) },
        },
        shards_if_new: settings.shards,
        workers: settings.workers,
        limits: settings.limits,
        cache_bytes: settings.cache_bytes,
    }
}

/// Where a manual clock starts when nobody says: in the present, so that times that programs
/// compute lie ahead.
#[allow(clippy::disallowed_methods, reason = "only the start of a manual clock, which then stands still")]
fn wall_time() -> Time {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).ok().and_then(Time::from_unix_ms).unwrap_or(Time::MAX)
}

fn open_failure(error: &punctual_embedded::OpenError) -> Failure {
    use punctual_embedded::OpenError;
    match error {
        OpenError::Store(error) => store_failure::failure(error),
        OpenError::Broker(punctual_broker::OpenError::Store(error)) => store_failure::failure(error),
        OpenError::Broker(punctual_broker::OpenError::Format { .. }) => {
            Failure::new(Exit::DataCorrupt, error.to_string())
                .with_hint("see what `punctual check` says of the directory")
        }
        OpenError::Broker(punctual_broker::OpenError::Thread(_) | punctual_broker::OpenError::Random(_)) => {
            Failure::new(Exit::Failed, error.to_string())
        }
    }
}

async fn listen(door: &str, address: Option<SocketAddr>) -> Result<Option<TcpListener>, Failure> {
    let Some(address) = address else { return Ok(None) };
    let listener = TcpListener::bind(address).await;
    listener.map(Some).map_err(|error| {
        Failure::new(Exit::CannotListen, format!("cannot listen on {address} for {door}: {error}")).with_hint(format!(
            "another broker may be running; give --{door} another address, or port 0 for any free one"
        ))
    })
}

fn print_banner(
    settings: &Settings,
    http: Option<&TcpListener>,
    grpc: Option<&TcpListener>,
    output: Output,
) -> Result<(), Failure> {
    let data = match settings.store {
        StoreKind::Fjall => absolute(&settings.data).display().to_string(),
        StoreKind::Memory => "memory".to_owned(),
    };
    let http = http.map(TcpListener::local_addr).transpose()?;
    let grpc = grpc.map(TcpListener::local_addr).transpose()?;
    let object = json!({
        "http": http.map(|address| address.to_string()), "grpc": grpc.map(|address| address.to_string()),
        "data": data, "clock": settings.clock.as_str(), "pid": std::process::id(),
    });
    output.print(&object, || {
        let mut lines = Vec::new();
        lines.extend(http.map(|address| format!("http listening on {address}")));
        lines.extend(grpc.map(|address| format!("grpc listening on {address}")));
        lines.push(format!("data in {data}"));
        match settings.clock {
            ClockMode::System => {}
            ClockMode::Manual => lines.push("clock is manual: time moves with `punctual clock advance`".to_owned()),
        }
        lines.join("\n")
    })
}

fn absolute(path: &std::path::Path) -> PathBuf {
    // It was opened a moment ago; should it be gone since, the name as given must do.
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The doors, each a task, and the word that stops them.
fn open_doors(
    settings: &Settings,
    broker: &Broker,
    http: Option<TcpListener>,
    grpc: Option<TcpListener>,
) -> (watch::Sender<bool>, JoinSet<std::io::Result<()>>) {
    let (stop, stopped) = watch::channel(false);
    let mut registry = Registry::with_prefix("punctual");
    broker.register_metrics(&mut registry);
    let http_metrics = HttpMetrics::register(&mut registry);
    let grpc_metrics = GrpcMetrics::register(&mut registry);
    let connections = Arc::new(Semaphore::new(settings.limits.connections_max.min(Semaphore::MAX_PERMITS)));
    let mut doors = JoinSet::new();
    if let Some(listener) = http {
        let gateway = HttpGateway {
            broker: Arc::new(broker.clone()),
            access: settings.access.clone(),
            connections: Arc::clone(&connections),
            metrics_page: Arc::new(move || metrics_page(&registry)),
            metrics: http_metrics,
        };
        doors.spawn(gateway.serve(listener, until(stopped.clone())));
    }
    if let Some(listener) = grpc {
        let gateway = GrpcGateway {
            broker: Arc::new(broker.clone()),
            access: settings.access.clone(),
            connections,
            metrics: grpc_metrics,
        };
        doors.spawn(gateway.serve(listener, until(stopped)));
    }
    (stop, doors)
}

fn metrics_page(registry: &Registry) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail; a metric that cannot be written ends the page there.
    if prometheus_client::encoding::text::encode(&mut page, registry).is_err() {
        tracing::warn!("a metric could not be written");
    }
    page
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // An error means that the server is gone, which is a reason to stop as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Serves; at the first signal stops accepting, answers what is under way, flushes and releases
/// leases; at the second gives all of that up.
async fn serve_until_stopped(
    broker: &Broker,
    stop: &watch::Sender<bool>,
    mut doors: JoinSet<std::io::Result<()>>,
    signals: &mut StopSignals,
) -> Result<(), Failure> {
    tokio::select! {
        signal = signals.next() => tracing::info!(signal, "stopping"),
        Some(ended) = doors.join_next() => {
            let why = match ended {
                Ok(Ok(())) => "it ended by itself".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(error) => error.to_string(),
            };
            return Err(Failure::new(Exit::Failed, format!("a door stopped serving: {why}")));
        }
    }
    // Every door may have ended already; then there is nobody to tell.
    let _ = stop.send(true);
    let closing = async {
        while let Some(ended) = doors.join_next().await {
            if let Ok(Err(error)) = ended {
                tracing::warn!(%error, "a door did not stop cleanly");
            }
        }
        broker.close().await.map_err(|error| store_failure::failure(&error))
    };
    tokio::select! {
        closed = closing => closed,
        signal = signals.next() => Err(Failure::new(Exit::Failed, format!("{signal} came again: ended at once"))),
    }
}
