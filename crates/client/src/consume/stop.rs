//! The switch that ends a worker.

use tokio::sync::watch;

/// Ends a [`crate::Worker`]: it takes nothing more, finishes what runs, gives the rest back.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Ends the worker. Said before it runs, it will not begin.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn signal(&self) -> Signal {
        Signal(self.0.subscribe())
    }
}

/// The worker's end of the switch.
#[derive(Clone, Debug)]
pub(crate) struct Signal(watch::Receiver<bool>);

impl Signal {
    /// Ends when the worker shall.
    pub(crate) async fn given(&mut self) {
        if self.0.wait_for(|stop| *stop).await.is_err() {
            // No switch is left that could be thrown.
            std::future::pending::<()>().await;
        }
    }
}
