//! Traces that cross the broker: W3C Trace Context, carried in the headers `traceparent` and
//! `tracestate`.
//!
//! <https://www.w3.org/TR/trace-context/>

mod context;
mod current;
mod headers;
mod state;

pub use context::TraceContext;
pub use current::{CurrentTrace, current};
pub(crate) use current::{HandlersOwn, within};
pub(crate) use headers::{Room, extract, inject};

/// Names a span's place in its trace: its own id and the one it came from.
pub(crate) fn record(span: &tracing::Span, own: Option<&TraceContext>, parent: Option<&TraceContext>) {
    if let Some(own) = own {
        span.record("trace_id", own.trace_id());
        span.record("span_id", own.span_id());
    }
    if let Some(parent) = parent {
        span.record("parent_id", parent.span_id());
    }
}
