//! What the code of a place does not name: most invariants of this broker are absences.
//!
//! Code that only tests compile is free: a test may look at the disk and at the clock.

use super::super::code::{Code, Mention};
use super::{Finding, Tree};

const RULE: &str = "absences";

/// Something that only some places may name.
struct Ban {
    /// A path and all below it (`std::fs`), a path's end (`…::Durable::attest`) or a word (`=Instant`).
    names: &'static [&'static str],
    /// Where the ban holds: prefixes of paths; everywhere when empty.
    within: &'static [&'static str],
    /// Where the name is at home: prefixes of paths, each with its reason.
    homes: &'static [(&'static str, &'static str)],
    reason: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        names: &["std::fs", "tokio::fs", "std::path::Path::exists"],
        within: &[],
        homes: &[
            ("cli/", "reads its configuration and prepares the data directory"),
            ("crates/store-fjall/", "keeps the data directory"),
            ("crates/tide/src/vfs/", "is the only place of its store that touches files"),
            ("crates/broker/src/clock/boot.rs", "the boot id tells elapsed time from a new boot"),
            ("xtask/", "reads the repository"),
        ],
        reason: "a shard never touches files itself: the store does",
    },
    Ban {
        names: &["std::env"],
        within: &[],
        homes: &[
            ("cli/", "settings come from flags, then the environment, then a file"),
            ("crates/store-fjall/examples/", "is a command line"),
            ("xtask/", "is a command line"),
        ],
        reason: "only the binary reads the environment and hands settings down",
    },
    Ban {
        names: &["=SystemTime", "=Instant", "rustix::time"],
        within: &[],
        homes: &[
            ("crates/broker/src/clock/", "is the clock"),
            ("crates/client/", "measures its own waits and deadlines, outside the broker"),
            ("bench/", "measures the broker from outside"),
            ("cli/src/stopwatch.rs", "says how long a command took"),
            ("cli/src/serve/run.rs", "a manual clock starts in the present"),
            ("crates/store-fjall/src/syncer.rs", "measures how long a sync took"),
            ("crates/tide/src/syncer.rs", "measures how long a sync took"),
            ("crates/store-fjall/examples/", "measures a store from outside"),
            ("xtask/", "measures suites against their budgets"),
        ],
        reason: "broker time comes from the clock alone, and never goes back",
    },
    Ban {
        names: &["getrandom", "rand"],
        within: &[],
        homes: &[
            ("crates/broker/src/random.rs", "is the one place that rolls the broker's dice"),
            ("cli/src/random.rs", "names runs and seeds loads, outside the broker"),
            ("crates/gateway-http/src/seed.rs", "a request id names a line of the log and decides nothing"),
            ("crates/gateway-grpc/src/seed.rs", "a request id names a line of the log and decides nothing"),
        ],
        reason: "random bits enter at one place and are handed down, so that a run can be replayed from its seed",
    },
    Ban {
        names: &["…Durable::attest"],
        within: &[],
        homes: &[
            ("crates/store-", "only a store knows that its sync returned"),
            ("crates/tide/src/syncer.rs", "only a store knows that its sync returned"),
        ],
        reason: "an answer that says `done` must rest on a store's own word",
    },
    Ban {
        names: &[
            "std::fs",
            "std::net",
            "std::time",
            "std::thread",
            "std::env",
            "std::process",
            "std::io",
            "core::time",
            "std::sync::mpsc",
            "tokio",
            "rand",
            "getrandom",
            "=async",
            "=await",
        ],
        within: &["crates/core/", "crates/types/"],
        homes: &[],
        reason: "the core is pure: time, ids and random bits enter as fields of the command",
    },
    Ban {
        names: &["=HashMap", "=HashSet", "=RandomState"],
        within: &["crates/core/"],
        homes: &[("crates/core/src/facts.rs", "answers are looked up by their read and never walked")],
        reason: "its order differs from run to run, and the same commands must give the same writes: use a BTreeMap",
    },
    Ban {
        names: &["tokio"],
        within: &["crates/store-api/", "crates/broker-api/", "crates/store-memory/"],
        homes: &[],
        reason: "the seams between the layers run under any runtime, the simulator's included",
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, code) in tree.sources().filter(|(path, _)| !tree.is_test_file(path)) {
        let mentions = real_mentions(code);
        for ban in BANS.iter().filter(|ban| ban.holds_in(path)) {
            findings.extend(ban.broken_by(path, &mentions));
        }
    }
    findings
}

/// A home that is gone would quietly be open to the next file of its name.
pub(super) fn homes(tree: &Tree) -> Vec<Finding> {
    let homes = BANS.iter().flat_map(|ban| ban.homes).map(|(home, _)| *home);
    homes
        .filter(|home| !tree.files().any(|(path, _)| path.starts_with(home)))
        .map(|home| {
            Finding::of(RULE, "xtask/src/tidy/rules/absences.rs", format!("the home `{home}` is gone: remove it"))
        })
        .collect()
}

impl Ban {
    fn holds_in(&self, path: &str) -> bool {
        let is_below = |prefixes: &[&str]| prefixes.iter().any(|prefix| path.starts_with(prefix));
        (self.within.is_empty() || is_below(self.within)) && !self.homes.iter().any(|(home, _)| path.starts_with(home))
    }

    fn broken_by(&self, path: &str, mentions: &[Mention]) -> Vec<Finding> {
        let named = |mention: &Mention| self.names.iter().find(|name| is_named(name, mention)).copied();
        let broken = mentions.iter().filter_map(|mention| Some((mention, named(mention)?)));
        broken
            .map(|(mention, name)| {
                let name = name.trim_start_matches(['=', '…']);
                Finding::at(RULE, path, mention.line, format!("may not name `{name}`: {}", self.reason))
            })
            .collect()
    }
}

fn is_named(name: &str, mention: &Mention) -> bool {
    if let Some(word) = name.strip_prefix('=') {
        mention.has_segment(word)
    } else if let Some(end) = name.strip_prefix('…') {
        mention.ends_with(end)
    } else {
        mention.is_within(name)
    }
}

fn real_mentions(code: &Code) -> Vec<Mention> {
    code.mentions().into_iter().filter(|mention| !code.is_test_line(mention.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plants one line of code at a path and counts the violations.
    fn violations(path: &str, code: &str) -> usize {
        check(&Tree::of(&[(path, code)])).len()
    }

    #[test]
    fn each_name_is_reported_away_from_its_home_and_allowed_at_home() {
        for (name, home) in [
            ("use std::{fs, io};", "crates/store-fjall/src/a.rs"),
            ("fn f() { std::fs::read(p) }", "crates/broker/src/clock/boot.rs"),
            ("use std::env::var;", "cli/src/a.rs"),
            ("use std::time::{Duration, Instant};", "crates/broker/src/clock/system.rs"),
            ("fn f() { tokio::time::Instant::now() }", "crates/client/src/a.rs"),
            ("fn f() { Durable::attest(n) }", "crates/store-memory/src/log.rs"),
            ("fn f() { getrandom::fill(b) }", "cli/src/random.rs"),
        ] {
            assert_eq!(violations("crates/gateway-http/src/other.rs", name), 1, "{name}");
            assert_eq!(violations(home, name), 0, "{name} at {home}");
        }
    }

    #[test]
    fn the_core_names_neither_clock_nor_net_nor_runtime_nor_maps_without_an_order() {
        for code in [
            "use std::time::Duration;",
            "use std::net::IpAddr;",
            "async fn f() {}",
            "fn f() { tokio::spawn(g) }",
            "use std::collections::{BTreeMap, HashMap};",
        ] {
            assert_eq!(violations("crates/core/src/a.rs", code), 1, "{code}");
            assert_eq!(violations("crates/gateway-grpc/src/a.rs", code), 0, "{code}");
        }
    }

    #[test]
    fn tests_and_comments_may_name_anything() {
        let code = "//! std::fs\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(violations("crates/core/src/a.rs", code), 0);
        assert_eq!(violations("crates/core/tests/a.rs", "use std::fs;"), 0);
    }

    #[test]
    fn a_home_that_is_gone_is_reported() {
        let tree = Tree::of(&[("cli/src/random.rs", "//! A.")]);
        let findings: Vec<String> = homes(&tree).iter().map(Finding::to_string).collect();
        assert!(findings.iter().any(|line| line.contains("`crates/broker/src/random.rs` is gone")), "{findings:?}");
        assert!(!findings.iter().any(|line| line.contains("`cli/src/random.rs`")), "{findings:?}");
    }
}
