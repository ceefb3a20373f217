//! Which crate of the repository may stand on which: the layers as a table.
//!
//! What a crate's tests use is free, as long as it is the real thing.

use super::{Dependencies, Finding};

const RULE: &str = "crate-edges";
const PREFIX: &str = "punctual-";

/// What a crate may stand on.
enum Below {
    Only(&'static [&'static str]),
    Everything,
}

use Below::{Everything, Only};

/// A new line or a new name in it needs a decision record in `docs/adr/`.
const TABLE: &[(&str, Below)] = &[
    ("types", Only(&[])),
    ("core", Only(&["types"])),
    ("store-api", Only(&["types"])),
    ("store-memory", Only(&["store-api", "types"])),
    ("store-fjall", Only(&["store-api", "types"])),
    ("tide", Only(&["store-api", "types"])),
    ("broker-api", Only(&["types"])),
    ("broker", Only(&["core", "store-api", "broker-api", "types"])),
    ("embedded", Only(&["broker", "broker-api", "store-api", "store-fjall", "store-memory", "types"])),
    ("proto", Only(&["broker-api", "types"])),
    ("gateway-http", Only(&["broker-api", "types"])),
    ("gateway-grpc", Only(&["broker-api", "proto", "types"])),
    ("client", Only(&["proto", "broker-api", "types"])),
    ("bench", Only(&["broker-api", "types"])),
    ("punctual", Everything),
    ("xtask", Only(&[])),
];

pub(super) fn check(dependencies: &Dependencies) -> Vec<Finding> {
    let names: Vec<&str> = dependencies.workspace().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in dependencies.workspace() {
        let crate_name = short(&package.name);
        let Some((_, below)) = TABLE.iter().find(|(name, _)| *name == crate_name) else {
            let message = format!("crate `{crate_name}` has no line in the table of xtask/src/tidy/rules/edges.rs");
            findings.push(Finding::of(RULE, "Cargo.toml", message));
            continue;
        };
        let Only(allowed) = below else { continue };
        for other in package.asks_for.iter().filter(|name| names.contains(&name.as_str())) {
            let other = short(other);
            if !allowed.contains(&other) {
                let message = format!("crate `{crate_name}` may not depend on `{other}`, only on {allowed:?}");
                findings.push(Finding::of(RULE, "Cargo.toml", message));
            }
        }
    }
    findings
}

fn short(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::super::super::dependencies::planted;
    use super::*;

    #[test]
    fn an_edge_against_the_layers_is_named() {
        let world = planted(&[
            ("punctual-types", "0.1.0", "", None, &[]),
            ("punctual-core", "0.1.0", "", None, &["punctual-types"]),
            ("punctual-gateway-http", "0.1.0", "", None, &["punctual-core", "axum"]),
            ("punctual", "0.1.0", "", None, &["punctual-core"]),
        ]);
        let findings: Vec<String> = check(&world).iter().map(Finding::to_string).collect();
        assert_eq!(
            findings,
            [
                "Cargo.toml: [crate-edges] crate `gateway-http` may not depend on `core`, only on [\"broker-api\", \"types\"]"
            ]
        );
    }

    #[test]
    fn a_crate_without_a_line_in_the_table_is_named() {
        let findings = check(&planted(&[("punctual-utils", "0.1.0", "", None, &[])]));
        assert_eq!(findings.len(), 1, "{findings:?}");
    }
}
