//! What this door counts. Labels are calls of the contract and codes of errors: no text of a
//! caller ever becomes one.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

/// The door's metrics.
#[derive(Clone, Debug, Default)]
pub struct GrpcMetrics {
    pub(crate) connections: Gauge,
    pub(crate) connections_refused: Counter,
    pub(crate) consumers: Gauge,
    requests: Family<RequestLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    call: &'static str,
    code: &'static str,
}

impl GrpcMetrics {
    /// Makes the metrics and registers them.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("grpc_connections", "Open gRPC connections", metrics.connections.clone());
        registry.register(
            "grpc_connections_refused",
            "gRPC connections refused because the broker had as many as it may",
            metrics.connections_refused.clone(),
        );
        registry.register("grpc_consumers", "Open Subscribe streams", metrics.consumers.clone());
        registry.register(
            "grpc_requests",
            "Answered gRPC calls by call and error code, `ok` for those without an error; a stream counts \
             when it opens, and every request of a PublishStream",
            metrics.requests.clone(),
        );
        metrics
    }

    pub(crate) fn answered(&self, call: &'static str, code: &'static str) {
        self.requests.get_or_create(&RequestLabels { call, code }).inc();
    }
}
