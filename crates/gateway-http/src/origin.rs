//! Against web pages that reach for a broker on their reader's own machine: through requests to
//! another origin, and through a name of theirs that they let lead to loopback (DNS rebinding).

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Uri, header, uri::Authority};
use punctual_broker_api::{Code, Error};

use crate::json::read::cut;

/// Which names and pages requests may come by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origins {
    /// The door stands on loopback and asks for no token, so that the name is all that tells
    /// whether a page of somebody else's led here.
    loopback_only: bool,
}

impl Origins {
    /// For a door at an address, with or without tokens.
    pub(crate) fn of(address: SocketAddr, without_tokens: bool) -> Self {
        Self { loopback_only: without_tokens && address.ip().is_loopback() }
    }

    /// Lets a request pass that names a host of ours and was made by a page of that host or by none.
    pub(crate) fn check(self, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
        let named =
            headers.get_all(header::HOST).iter().map(|host| host.to_str().ok().and_then(|host| host.parse().ok()));
        // A request line with a host of its own overrules the header: both must pass.
        let hosts: Vec<Option<Authority>> = uri.authority().cloned().map(Some).into_iter().chain(named).collect();
        if self.loopback_only && !hosts.iter().all(|host| host.as_ref().is_some_and(|host| is_loopback(host.host()))) {
            let host = header_text(headers, header::HOST);
            let problem = format!("the request was sent to `{}`, which is not a loopback name", cut(&host));
            return Err(Error::new(Code::OriginNotAllowed, problem)
                .with_hint("say `localhost` or `127.0.0.1`, or configure tokens to be reached by other names"));
        }
        let is_ours =
            |origin: Option<Uri>| origin.is_some_and(|origin| hosts.iter().flatten().any(|host| serves(host, &origin)));
        let origins = headers.get_all(header::ORIGIN).iter();
        if origins.map(|origin| origin.to_str().ok().and_then(|origin| origin.parse().ok())).all(is_ours) {
            return Ok(());
        }
        let (origin, host) = (header_text(headers, header::ORIGIN), header_text(headers, header::HOST));
        let problem = format!("the request was made by a page of `{}` and not of `{}`", cut(&origin), cut(&host));
        Err(Error::new(Code::OriginNotAllowed, problem)
            .with_hint("call the API from the pages of the broker itself, or from programs that send no `Origin`"))
    }
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> String {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default()
}

/// Whether a host is this machine by a name or an address that nobody else can give to theirs.
fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => {
            let name = bare.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

/// Whether a page of an origin comes from a host: the same name and the same port, which is the
/// scheme's own where none is written.
fn serves(host: &Authority, origin: &Uri) -> bool {
    let scheme_port = match origin.scheme_str() {
        Some("http") => 80,
        Some("https") => 443,
        _ => return false,
    };
    let port = |authority: &Authority| authority.port_u16().unwrap_or(scheme_port);
    origin.authority().is_some_and(|page| page.host().eq_ignore_ascii_case(host.host()) && port(page) == port(host))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn passes(loopback_only: bool, uri: &str, hosts: &[&str], origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_str(host).expect("a header"));
        }
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).expect("a header"));
        }
        match (Origins { loopback_only }).check(&uri.parse().expect("a target"), &headers) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error.code, Code::OriginNotAllowed);
                false
            }
        }
    }

    #[test]
    fn a_door_without_tokens_on_loopback_answers_to_loopback_names_only() {
        for host in [
            "localhost",
            "LOCALHOST:7800",
            "a.localhost:1",
            "localhost.:7800",
            "127.0.0.1:7800",
            "127.1.2.3",
            "[::1]:7800",
        ] {
            assert!(passes(true, "/", &[host], None), "{host}");
        }
        let foreign = [
            "evil.example",
            "evil.example:7800",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "0.0.0.0:7800",
            "192.168.0.1",
            "[::2]",
            "a b",
            "",
        ];
        for host in foreign {
            assert!(!passes(true, "/", &[host], None), "{host}");
            assert!(!passes(true, "/", &["localhost", host], None), "{host} beside a good one");
        }
        assert!(!passes(true, "http://evil.example/", &["localhost"], None), "the request line names another");
        assert!(passes(true, "/", &[], None), "no browser leaves the name out");
        assert!(passes(false, "/", &["broker.example"], None), "with tokens, or beyond loopback, any name will do");
    }

    #[test]
    fn only_pages_of_the_host_that_is_asked_may_ask() {
        for (host, origin) in [
            ("localhost:7800", "http://localhost:7800"),
            ("Broker.example", "https://broker.example"),
            ("broker.example:443", "https://broker.example"),
            ("broker.example", "http://broker.example:80"),
            ("[::1]:7800", "http://[::1]:7800"),
        ] {
            assert!(passes(false, "/", &[host], Some(origin)), "{origin} at {host}");
        }
        for (host, origin) in [
            ("localhost:7800", "http://localhost:3000"),
            ("localhost:7800", "http://evil.example"),
            ("localhost:7800", "http://127.0.0.1:7800"),
            ("localhost:7800", "null"),
            ("localhost:7800", "file://"),
            ("localhost:7800", "chrome-extension://localhost:7800"),
            ("localhost:7800", "http://localhost:7800.evil.example"),
            ("broker.example", "https://broker.example:8443"),
            ("localhost:7800", ""),
        ] {
            assert!(!passes(false, "/", &[host], Some(origin)), "{origin} at {host}");
        }
        assert!(!passes(false, "/", &[], Some("http://localhost:7800")), "a page that asks nobody by name");
    }

    #[test]
    fn the_door_decides_by_its_address_and_its_tokens() {
        let at =
            |text: &str, without_tokens| Origins::of(text.parse().expect("an address"), without_tokens).loopback_only;
        assert!(at("127.0.0.1:7800", true) && at("[::1]:7800", true));
        assert!(!at("127.0.0.1:7800", false) && !at("0.0.0.0:7800", true) && !at("192.0.2.1:7800", true));
    }
}
