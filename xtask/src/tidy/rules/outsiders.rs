//! Which foreign crates may stand where.
//!
//! Below the gateways nothing speaks a protocol or serializes for one; below the broker nothing runs a runtime; the core
//! and the words it uses reach neither clock, disk, net nor chance, not even through what they link.

use super::{Dependencies, Finding};

const RULE: &str = "foreign-crates";

/// A foreign crate (or, with a trailing `*`, a family) and the only crates whose code may name it.
const HOMES: &[(&str, &[&str], &str)] = &[
    ("axum*", &["gateway-http"], "only the HTTP door speaks HTTP"),
    ("hyper*", &["gateway-http", "gateway-grpc", "client"], "only doors and the client speak HTTP"),
    ("tonic*", &["gateway-grpc", "client", "proto"], "only the gRPC door and the client speak gRPC"),
    ("prost*", &["gateway-grpc", "client", "proto"], "only the gRPC door and the client know the wire's messages"),
    ("serde*", &["gateway-http", "punctual", "bench", "xtask"], "stored and wire forms are separate, explicit structs"),
    ("fjall", &["store-fjall"], "only its store knows the library"),
    ("lsm-tree", &["store-fjall"], "only its store knows the library"),
    ("clap*", &["punctual", "bench"], "only a command line has arguments"),
    ("tracing-subscriber", &["punctual"], "libraries emit; the binary decides where logs go"),
    (
        "tokio*",
        &["broker", "embedded", "store-fjall", "gateway-http", "gateway-grpc", "client", "bench", "punctual"],
        "core, types and the seams between the layers run under any runtime",
    ),
    (
        "rustix",
        &["broker", "store-fjall", "tide", "punctual", "bench"],
        "only the clock and what touches the disk ask the system",
    ),
    (
        "getrandom",
        &["broker", "gateway-http", "gateway-grpc", "punctual"],
        "the core gets random bits with its commands",
    ),
    ("rand*", &[], "`getrandom` is enough, and in one place"),
];

/// What may not be linked into the pure crates, over any number of edges.
const IMPURE: &[&str] =
    &["tokio", "mio", "socket2", "rand", "rand_core", "getrandom", "fastrand", "rustix", "libc", "async-trait", "jiff"];

/// The pure crates.
const PURE: &[&str] = &["types", "core"];

/// Foreign crates that `types` may ask for: its words are shared by everything, so it brings nothing along.
const UNDER_TYPES: &[&str] = &["bytes"];

pub(super) fn check(dependencies: &Dependencies) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |message: String| findings.push(Finding::of(RULE, "Cargo.toml", message));
    for package in dependencies.workspace() {
        let crate_name = short(&package.name);
        for asked in package.asks_for.iter().filter(|name| !is_ours(name)) {
            for (_, homes, reason) in HOMES.iter().filter(|(pattern, _, _)| matches(pattern, asked)) {
                if !homes.contains(&crate_name) {
                    report(format!("crate `{crate_name}` may not depend on `{asked}`: {reason}"));
                }
            }
            if crate_name == "types" && !UNDER_TYPES.contains(&asked.as_str()) {
                report(format!("crate `types` may not depend on `{asked}`, only on {UNDER_TYPES:?}"));
            }
        }
        if PURE.contains(&crate_name) {
            for linked in dependencies.linked_into(&package.name).into_iter().filter(|name| IMPURE.contains(name)) {
                report(format!("crate `{crate_name}` is pure and may not link `{linked}`"));
            }
        }
    }
    findings
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(family) => name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_'])),
        None => pattern == name,
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with("punctual")
}

fn short(name: &str) -> &str {
    name.strip_prefix("punctual-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::super::super::dependencies::planted;
    use super::*;

    const REGISTRY: Option<&str> = Some("registry");

    fn messages(dependencies: &Dependencies) -> Vec<String> {
        check(dependencies).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_foreign_crate_away_from_its_home_is_named() {
        let world = planted(&[("punctual-broker", "0.1.0", "", None, &["serde_json", "tokio", "serde"])]);
        assert_eq!(messages(&world).len(), 2, "{:?}", messages(&world));
        assert!(messages(&world)[0].contains("crate `broker` may not depend on `serde`"));
    }

    #[test]
    fn an_impure_crate_is_found_behind_a_harmless_one() {
        let world = planted(&[
            ("punctual-core", "0.1.0", "", None, &["harmless"]),
            ("harmless", "1.0.0", "", REGISTRY, &["getrandom"]),
            ("getrandom", "1.0.0", "", REGISTRY, &[]),
        ]);
        assert_eq!(
            messages(&world),
            ["Cargo.toml: [foreign-crates] crate `core` is pure and may not link `getrandom`"]
        );
    }

    #[test]
    fn types_bring_nothing_along() {
        let world = planted(&[("punctual-types", "0.1.0", "", None, &["bytes", "thiserror"])]);
        assert_eq!(messages(&world).len(), 1, "{:?}", messages(&world));
    }
}
