//! What is stored or sent as a number has that number written down.
//!
//! Such an enum says so by its `repr`; a variant that takes its number from its place would change its meaning when
//! another is put before it.

use super::super::code::{Code, is_word};
use super::{Finding, Tree};

const RULE: &str = "persisted-enums";
const NUMBERS: &[&str] = &["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, code) in tree.sources() {
        for at in code.words("repr").filter(|at| has_number(&code.text()[*at..])) {
            let Some((name, variants)) = enum_after(code, at) else { continue };
            for (variant, line) in variants {
                let message = format!("variant `{variant}` of `{name}` has no explicit number");
                findings.push(Finding::at(RULE, path, line, message));
            }
        }
    }
    findings
}

fn has_number(repr: &str) -> bool {
    let inside = repr.split_once(')').map_or("", |(before, _)| before);
    inside.split(|c| !is_word(c)).any(|word| NUMBERS.contains(&word))
}

/// The name of the enum that an attribute stands before, and its variants without a number.
fn enum_after(code: &Code, at: usize) -> Option<(String, Vec<(String, usize)>)> {
    let body = code.body_after(at + code.text()[at..].find(']')? + 1)?;
    let head = &code.text()[at..body.start];
    let name = head.split("enum ").nth(1)?.trim().to_owned();
    let inside = body.start + 1..body.end - 1;
    let mut bare = Vec::new();
    for (offset, variant) in split_variants(&code.text()[inside.clone()]) {
        let declared = without_attributes(variant);
        let name: String = declared.chars().take_while(|c| is_word(*c)).collect();
        if !name.is_empty() && !after_payload(declared).contains('=') {
            let start = inside.start + offset + (variant.len() - declared.len());
            bare.push((name, code.line_of(start)));
        }
    }
    Some((name, bare))
}

fn split_variants(body: &str) -> Vec<(usize, &str)> {
    let (mut start, mut depth) = (0, 0_usize);
    let mut variants = Vec::new();
    for (at, c) in body.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                variants.push((start, &body[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    variants.push((start, &body[start..]));
    variants
}

fn without_attributes(variant: &str) -> &str {
    let mut rest = variant.trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once(']').map_or("", |(_, after)| after).trim_start();
    }
    rest
}

fn after_payload(variant: &str) -> &str {
    variant.rsplit([')', '}']).next().unwrap_or(variant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_that_takes_its_number_from_its_place_is_reported() {
        let source = "#[derive(Debug)]\n#[repr(u8)]\npub enum Kind {\n    /// Docs, with a comma.\n    A = 1,\n    #[doc(hidden)]\n    B,\n    C(u8, u8) = 3,\n    D { x: u8 },\n}\n#[repr(transparent)] struct S(u8);\nenum Free { A, B }";
        let findings: Vec<String> = check(&Tree::of(&[("a.rs", source)])).iter().map(Finding::to_string).collect();
        assert_eq!(
            findings,
            [
                "a.rs:7: [persisted-enums] variant `B` of `Kind` has no explicit number",
                "a.rs:9: [persisted-enums] variant `D` of `Kind` has no explicit number",
            ]
        );
    }
}
