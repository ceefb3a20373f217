//! The grammar of a `tracestate`.

use std::collections::BTreeSet;

use crate::limits::{TRACESTATE_BYTES_MAX, TRACESTATE_MEMBERS_MAX};

const PART_BYTES_MAX: usize = 256;

/// Whether a `tracestate` is as the standard says: up to 32 `key=value` with keys that differ.
/// Empty members are allowed, and blanks around members.
pub(super) fn is_valid(text: &str) -> bool {
    let members = || text.split(',').map(|member| member.trim_matches([' ', '\t'])).filter(|member| !member.is_empty());
    let mut keys = BTreeSet::new();
    text.len() <= TRACESTATE_BYTES_MAX
        && members().count() <= TRACESTATE_MEMBERS_MAX
        && members().all(|member| {
            member.split_once('=').is_some_and(|(key, value)| is_key(key) && is_value(value) && keys.insert(key))
        })
}

/// Level 2 of the standard, which allows whatever level 1 does.
fn is_key(key: &str) -> bool {
    key.len() <= PART_BYTES_MAX
        && key.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && key.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@'))
}

/// Printable, without comma and equals sign, not ending in a blank.
fn is_value(value: &str) -> bool {
    (1..=PART_BYTES_MAX).contains(&value.len())
        && !value.ends_with(' ')
        && value.bytes().all(|byte| matches!(byte, 0x20..=0x2b | 0x2d..=0x3c | 0x3e..=0x7e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(count: usize) -> String {
        (0..count).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn what_the_standard_allows_is_valid() {
        let longest = format!("{}={}", "k".repeat(255), "v".repeat(TRACESTATE_BYTES_MAX - 256));
        assert_eq!(longest.len(), TRACESTATE_BYTES_MAX);
        for text in [
            "",
            "congo=t61rcWkgMzE",
            "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
            "rojo=1 ,\tcongo=2,,",
            "fw529a3039@dt=FfAQ!~ x",
            "0a/_-*=1",
            &longest,
            &members(TRACESTATE_MEMBERS_MAX),
        ] {
            assert!(is_valid(text), "{text}");
        }
    }

    #[test]
    fn what_the_standard_does_not_allow_is_not() {
        for text in [
            "congo",
            "=1",
            "congo=",
            "Congo=1",
            "congo=1,congo=2",
            "co ngo=1",
            "congo=1=2",
            "congo=é",
            "@dt=1",
            &format!("{}=1", "k".repeat(257)),
            &format!("k={}", "v".repeat(257)),
            &format!("a=1{}", ",".repeat(TRACESTATE_BYTES_MAX)),
            &members(TRACESTATE_MEMBERS_MAX + 1),
        ] {
            assert!(!is_valid(text), "{text}");
        }
    }
}
