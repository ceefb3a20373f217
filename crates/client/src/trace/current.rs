//! In which trace the code runs that publishes.

use std::future::Future;

use super::TraceContext;

tokio::task_local! {
    static CURRENT: Option<TraceContext>;
}

/// Says in which trace whoever asks is. A closure is one, so that a line bridges to the tracing
/// library of your choice; without any, what a handler publishes continues the trace of the
/// message that it handles ([`current`]).
///
/// ```
/// use punctual_client::{CurrentTrace, TraceContext};
///
/// /// The `traceparent` of the request that is being served, from wherever your framework has it.
/// fn of_the_request() -> Option<String> {
///     Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned())
/// }
///
/// let bridge = || TraceContext::parse(&of_the_request()?, None);
/// assert!(bridge.current().is_some());
/// ```
pub trait CurrentTrace: Send + Sync + 'static {
    /// The span that is current; `None` outside any trace.
    fn current(&self) -> Option<TraceContext>;
}

impl<F: Fn() -> Option<TraceContext> + Send + Sync + 'static> CurrentTrace for F {
    fn current(&self) -> Option<TraceContext> {
        self()
    }
}

/// The trace of the message that is being handled. `None` outside a handler, in a task that a
/// handler spawned, and when the message carries no trace.
#[must_use]
pub fn current() -> Option<TraceContext> {
    CURRENT.try_with(Clone::clone).ok().flatten()
}

/// The trace of the message that is being handled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandlersOwn;

impl CurrentTrace for HandlersOwn {
    fn current(&self) -> Option<TraceContext> {
        current()
    }
}

/// Makes a trace current for as long as the work runs.
pub(crate) fn within<F: Future>(context: Option<TraceContext>, work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(context, work)
}
