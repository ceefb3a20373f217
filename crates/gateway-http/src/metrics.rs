//! What this door counts. Labels are calls of the contract and codes of errors: no text of a
//! caller ever becomes one.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

/// The door's metrics.
#[derive(Clone, Debug, Default)]
pub struct HttpMetrics {
    pub(crate) connections: Gauge,
    pub(crate) connections_refused: Counter,
    pub(crate) body_bytes: Gauge,
    in_flight: Gauge,
    requests: Family<RequestLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    call: &'static str,
    code: &'static str,
}

impl HttpMetrics {
    /// Makes the metrics and registers them.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("http_connections", "Open HTTP connections", metrics.connections.clone());
        registry.register(
            "http_connections_refused",
            "HTTP connections closed because the broker had as many as it may",
            metrics.connections_refused.clone(),
        );
        registry.register("http_body_bytes", "Bytes of request bodies held at the moment", metrics.body_bytes.clone());
        registry.register(
            "http_requests_in_flight",
            "HTTP requests that are not answered yet, those that wait for messages included",
            metrics.in_flight.clone(),
        );
        registry.register(
            "http_requests",
            "Answered HTTP requests by call and error code; `ok` for those without an error",
            metrics.requests.clone(),
        );
        metrics
    }

    pub(crate) fn answered(&self, call: &'static str, code: &'static str) {
        self.requests.get_or_create(&RequestLabels { call, code }).inc();
    }

    /// Counts a request until the guard is dropped, be it answered or abandoned by its peer.
    pub(crate) fn in_flight(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }
}

/// A request that is not answered yet.
pub(crate) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
