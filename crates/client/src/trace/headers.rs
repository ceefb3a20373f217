//! The two headers of a message that carry its trace.

use super::TraceContext;

const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";

type Headers = Vec<(String, String)>;

fn named<'a>(headers: &'a Headers, name: &'static str) -> impl Iterator<Item = &'a str> {
    headers.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// The trace that a message carries. Several `traceparent` are none; several `tracestate` are one
/// in their order, by the standard.
pub(crate) fn extract(headers: &Headers) -> Option<TraceContext> {
    let mut parents = named(headers, PARENT);
    let parent = parents.next()?;
    if parents.next().is_some() {
        return None;
    }
    let states: Vec<&str> = named(headers, STATE).collect();
    TraceContext::parse(parent, Some(&states.join(",")))
}

/// What a trace needs room for, beside a message's own headers.
pub(crate) struct Room {
    pub(crate) headers: usize,
    pub(crate) bytes: usize,
}

/// Lets a message carry a trace, unless it carries one already, which is its publisher's to say, or
/// has no room for it: a trace must not be why a message is refused.
pub(crate) fn inject(context: &TraceContext, headers: &mut Headers, room: &Room) {
    if named(headers, PARENT).next().is_some() {
        return;
    }
    let mut carried = vec![(PARENT.to_owned(), context.to_string())];
    if !context.state().is_empty() && named(headers, STATE).next().is_none() {
        carried.push((STATE.to_owned(), context.state().to_owned()));
    }
    let bytes = |headers: &Headers| headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    let fits = headers.len() + carried.len() <= room.headers && bytes(headers) + bytes(&carried) <= room.bytes;
    if fits {
        headers.append(&mut carried);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { headers: 128, bytes: 1000 };
    const TEXT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn headers(all: &[(&str, &str)]) -> Headers {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_is_injected_is_extracted() {
        let context = TraceContext::parse(TEXT, Some("a=1,b=2")).expect("a context");
        let mut carried = headers(&[("shop", "de")]);
        inject(&context, &mut carried, &ROOM);
        assert_eq!(carried, headers(&[("shop", "de"), ("traceparent", TEXT), ("tracestate", "a=1,b=2")]));
        assert_eq!(extract(&carried), Some(context));
    }

    #[test]
    fn a_trace_that_the_publisher_wrote_itself_stays() {
        let own = headers(&[("Traceparent", "whatever it says")]);
        let mut carried = own.clone();
        inject(&TraceContext::root(true), &mut carried, &ROOM);
        assert_eq!(carried, own);
    }

    #[test]
    fn a_trace_is_left_out_when_the_message_would_be_refused_for_it() {
        let context = TraceContext::root(true);
        let bytes = "traceparent".len() + TEXT.len();
        for (room, fits) in [
            (Room { headers: 1, bytes }, true),
            (Room { headers: 0, bytes }, false),
            (Room { headers: 1, bytes: bytes - 1 }, false),
        ] {
            let mut carried = Headers::new();
            inject(&context, &mut carried, &room);
            assert_eq!(!carried.is_empty(), fits);
        }
    }

    #[test]
    fn two_parents_are_none_and_two_states_are_one() {
        assert_eq!(extract(&headers(&[("traceparent", TEXT), ("TraceParent", TEXT)])), None);
        let states = headers(&[("tracestate", "a=1"), ("traceparent", TEXT), ("Tracestate", "b=2")]);
        assert_eq!(extract(&states).expect("a context").state(), "a=1,b=2");
        let unreadable = headers(&[("traceparent", TEXT), ("tracestate", "??")]);
        assert_eq!(extract(&unreadable).expect("a context").state(), "");
    }
}
