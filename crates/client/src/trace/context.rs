//! Where in which trace something happens.

use std::fmt;

use super::state;
use crate::random;

const SAMPLED: u8 = 0b01;
/// The trace id is random (level 2 of the standard).
const RANDOM: u8 = 0b10;
/// Bytes of a `traceparent` of version 00, and of the part that later versions share with it.
const LENGTH: usize = 55;

/// A span of a trace, as it is told to whoever comes next. Displays as a `traceparent`.
///
/// ```
/// use punctual_client::TraceContext;
///
/// let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let context = TraceContext::parse(text, Some("congo=t61rcWkgMzE")).expect("a traceparent");
/// assert_eq!(context.to_string(), text);
/// assert_eq!(context.state(), "congo=t61rcWkgMzE");
/// assert!(context.is_sampled());
/// assert_eq!(context.child().trace_id(), context.trace_id());
/// assert_ne!(context.child().span_id(), context.span_id());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace: u128,
    span: u64,
    flags: u8,
    state: String,
}

impl TraceContext {
    /// The first span of a new trace.
    #[must_use]
    pub fn root(is_sampled: bool) -> Self {
        let trace = u128::from(id()) << 64 | u128::from(id());
        let sampled = if is_sampled { SAMPLED } else { 0 };
        Self { trace, span: id(), flags: RANDOM | sampled, state: String::new() }
    }

    /// A further span of this trace, below this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { span: id(), ..self.clone() }
    }

    /// Reads a `traceparent` and the `tracestate` beside it; `None` when the `traceparent` is not
    /// as the standard says, so that the trace has to begin anew. A `tracestate` that is not, or
    /// that is longer than 512 bytes, is left out.
    #[must_use]
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let (known, rest) = traceparent.split_at_checked(LENGTH)?;
        let mut parts = known.split('-');
        let version = hex(parts.next()?, 2)?;
        let trace = hex(parts.next()?, 32)?;
        let span = u64::try_from(hex(parts.next()?, 16)?).ok()?;
        let flags = u8::try_from(hex(parts.next()?, 2)?).ok()?;
        let is_whole = match version {
            0 => rest.is_empty(),
            0xff => false,
            // A later version may say more after a dash.
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        let is_valid = is_whole && trace != 0 && span != 0;
        let state = tracestate.filter(|text| state::is_valid(text)).unwrap_or("").to_owned();
        is_valid.then_some(Self { trace, span, flags: flags & (SAMPLED | RANDOM), state })
    }

    /// The trace's id: 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// The span's id: 16 hexadecimal digits.
    #[must_use]
    pub fn span_id(&self) -> String {
        format!("{:016x}", self.span)
    }

    /// Whether the trace is recorded by whoever came before.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The `tracestate`, as it came; empty when there is none.
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

/// Lower-case digits only, by the standard.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

/// All zeros is no id.
fn id() -> u64 {
    random::bits().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn a_traceparent_that_the_standard_allows_is_read() {
        for (text, sampled) in [
            (format!("00-{TRACE}-{SPAN}-00"), false),
            (format!("00-{TRACE}-{SPAN}-01"), true),
            (format!("00-{TRACE}-{SPAN}-ff"), true),
            // Later versions: what is known of them is read.
            (format!("01-{TRACE}-{SPAN}-01"), true),
            (format!("cc-{TRACE}-{SPAN}-00-what-the-future-will-be-like"), false),
            (format!("cc-{TRACE}-{SPAN}-01-"), true),
        ] {
            let context = TraceContext::parse(&text, None).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((context.trace_id().as_str(), context.span_id().as_str()), (TRACE, SPAN), "{text}");
            assert_eq!(context.is_sampled(), sampled, "{text}");
        }
    }

    #[test]
    fn a_traceparent_that_the_standard_does_not_allow_is_not() {
        let zeros = "0".repeat(32);
        for text in [
            String::new(),
            "00".to_owned(),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{TRACE}-{SPAN}-01-"),
            format!("cc-{TRACE}-{SPAN}-01.more"),
            format!("00-{TRACE}-{SPAN}-0"),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("0X-{TRACE}-{SPAN}-01"),
            format!(" 00-{TRACE}-{SPAN}-01"),
            format!("00_{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}{SPAN}--01"),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{TRACE}-{SPAN}-0é"),
        ] {
            assert_eq!(TraceContext::parse(&text, None), None, "{text}");
        }
    }

    #[test]
    fn flags_that_are_not_known_are_not_passed_on() {
        let context = TraceContext::parse(&format!("cc-{TRACE}-{SPAN}-ff-x"), None).expect("read");
        assert_eq!(context.to_string(), format!("00-{TRACE}-{SPAN}-03"));
    }

    #[test]
    fn a_new_trace_is_one_that_can_be_read() {
        for sampled in [true, false] {
            let root = TraceContext::root(sampled);
            assert_eq!(TraceContext::parse(&root.to_string(), None), Some(root.clone()));
            assert_eq!(root.is_sampled(), sampled);
        }
    }
}
