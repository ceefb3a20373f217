//! The door itself: what it is made of, and serving.

use std::{io, sync::Arc};

use punctual_broker_api::{Access, Broker};
use punctual_proto::{
    FILE_DESCRIPTOR_SET,
    v1::{
        admin_server::AdminServer, broker_server::BrokerServer, messages_server::MessagesServer,
        schedules_server::SchedulesServer,
    },
};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    time::timeout,
};
use tonic::{service::Routes, transport::Server};
use tonic_health::pb::health_server::HealthServer;

use crate::{
    admin::AdminService, broker::BrokerService, context::Context, door::Door, health::HealthService,
    incoming::Incoming, limits, memory::Memory, messages::MessagesService, metrics::GrpcMetrics,
    schedules::SchedulesService,
};

/// The gRPC door.
pub struct GrpcGateway {
    /// Whom requests go to.
    pub broker: Arc<dyn Broker>,
    /// Who may ask; the health may be asked by anyone.
    pub access: Access,
    /// One permit per open connection, shared by all doors.
    pub connections: Arc<Semaphore>,
    /// Where answers are counted.
    pub metrics: GrpcMetrics,
}

impl GrpcGateway {
    /// Serves until `stop` resolves, then takes no further connection, ends streams gracefully and
    /// returns when every request in flight was answered, ten seconds later at the most. When it
    /// returns or is dropped every connection is cut.
    ///
    /// # Errors
    /// When the server cannot be set up.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let (stopping, stopped) = watch::channel(false);
        let (server, server_alive) = watch::channel(());
        let memory = Memory::new();
        let permits = Arc::clone(&self.connections);
        let incoming = Incoming::new(listener, permits, self.metrics.clone(), memory.clone(), server_alive);
        let context = Context::new(Arc::clone(&self.broker), self.metrics.clone(), stopped);
        let door = Door::new(self.routes(&context)?, self.access, self.metrics, memory);
        let signal = async move {
            stop.await;
            stopping.send_replace(true);
        };
        let serving = Server::builder()
            .max_concurrent_streams(limits::STREAMS_PER_CONNECTION_MAX)
            .http2_max_header_list_size(limits::CALL_HEADERS_BYTES_MAX)
            .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
            .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
            .http2_keepalive_interval(Some(limits::PING_INTERVAL))
            .http2_keepalive_timeout(Some(limits::PING_TIMEOUT))
            .serve_with_incoming_shutdown(door, incoming.stream(), signal);
        let out_of_grace = async {
            context.stopped().await;
            let _ = timeout(limits::STOP_GRACE, std::future::pending::<()>()).await;
        };
        let served = tokio::select! {
            served = serving => served.map_err(io::Error::other),
            () = out_of_grace => {
                tracing::warn!("the gRPC door stops with requests unanswered: its grace period is over");
                Ok(())
            }
        };
        drop(server);
        served
    }

    fn routes(&self, context: &Context) -> io::Result<Routes> {
        let broker_limits = self.broker.limits();
        let request_bytes_max = broker_limits.batch_bytes_max.saturating_add(limits::REQUEST_OVERHEAD_BYTES_MAX);
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .build_v1()
            .map_err(io::Error::other)?;
        let broker = BrokerServer::new(BrokerService::new(context.clone()));
        let messages = MessagesServer::new(MessagesService::new(context.clone()));
        let admin = AdminServer::new(AdminService::new(context.clone()));
        Ok(Routes::new(broker.max_decoding_message_size(request_bytes_max))
            .add_service(messages)
            .add_service(admin)
            .add_service(SchedulesServer::new(SchedulesService::new(context.clone())))
            .add_service(HealthServer::new(HealthService::new(context.clone())))
            .add_service(reflection)
            .prepare())
    }
}
