//! What a subscription wants to see of a topic: messages of some tags, or with some headers.
//!
//! ```text
//! *                                                     everything
//! paid || refunded || 'on hold'                         one of these tags
//! header.region = 'eu' AND (header.tier = 'gold' OR header.tier != 'trial')
//! ```
//!
//! A filter is one of the three. AND binds tighter than OR. A quote inside quotes is doubled. `!=`
//! also holds for a message without the header; a header sent twice is equal to both of its values.

mod parse;

use std::fmt;

/// A filter that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    text: String,
    rule: Rule,
}

/// Why a filter was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// What is wrong.
    pub what: String,
    /// At which character, counted from 1.
    pub at: usize,
}

impl fmt::Display for FilterError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at character {}", self.what, self.at)
    }
}

impl std::error::Error for FilterError {}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    All,
    Tags(Vec<String>),
    Header { name: String, value: String, equal: bool },
    Every(Vec<Rule>),
    Any(Vec<Rule>),
}

impl Filter {
    /// Understands a text.
    ///
    /// # Errors
    /// When it is not a filter, or larger than the limits allow.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Ok(Self { text: text.to_owned(), rule: parse::parse(text)? })
    }

    /// The text it came from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it wants a message.
    #[must_use]
    pub fn matches(&self, tag: Option<&str>, headers: &[(String, String)]) -> bool {
        self.rule.matches(tag, headers)
    }
}

impl Rule {
    fn matches(&self, tag: Option<&str>, headers: &[(String, String)]) -> bool {
        match self {
            Self::All => true,
            Self::Tags(tags) => tag.is_some_and(|tag| tags.iter().any(|wanted| wanted == tag)),
            Self::Header { name, value, equal } => {
                headers.iter().any(|(sent, with)| sent == name && with == value) == *equal
            }
            Self::Every(rules) => rules.iter().all(|rule| rule.matches(tag, headers)),
            Self::Any(rules) => rules.iter().any(|rule| rule.matches(tag, headers)),
        }
    }
}

#[cfg(test)]
mod tests {
    use punctual_types::limits;

    use super::*;

    fn wants(filter: &str, tag: Option<&str>, headers: &[(&str, &str)]) -> bool {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Filter::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}")).matches(tag, &headers)
    }

    #[test]
    fn a_star_wants_everything() {
        assert!(wants("*", None, &[]) && wants(" * ", Some("a"), &[("x", "y")]));
    }

    #[test]
    fn tags_want_one_of_them_as_it_is_written() {
        for filter in ["a || b", "a||b", "'a' || b", "  b ||a ", "c||b|| a"] {
            assert!(wants(filter, Some("a"), &[]) && wants(filter, Some("b"), &[]), "{filter}");
            assert!(!wants(filter, Some("A"), &[]) && !wants(filter, Some("a "), &[]), "{filter}");
            assert!(!wants(filter, None, &[]), "{filter}: a message without a tag");
        }
        assert!(wants("'it''s on' || x", Some("it's on"), &[]));
        assert!(wants("header", Some("header"), &[]) && wants("'header.x'", Some("header.x"), &[]));
        assert!(wants("and || or", Some("or"), &[]) && wants("größe=1", Some("größe=1"), &[]));
    }

    #[test]
    fn headers_are_equal_or_not() {
        let eu = [("region", "eu"), ("X-Tier", "gold")];
        assert!(wants("header.region = 'eu'", None, &eu) && !wants("header.region='us'", None, &eu));
        assert!(!wants("header.Region = 'eu'", None, &eu), "names are taken as they are sent");
        assert!(wants("header.X-Tier != 'trial'", None, &eu) && !wants("header.X-Tier!='gold'", None, &eu));
        assert!(wants("header.other != 'x'", None, &eu) && !wants("header.other = ''", None, &eu));
        let twice = [("x", "1"), ("x", "2")];
        assert!(wants("header.x = '1' AND header.x = '2'", None, &twice) && !wants("header.x != '2'", None, &twice));
        assert!(wants("header.x = 'it''s'", None, &[("x", "it's")]) && wants("header.x = ''", None, &[("x", "")]));
    }

    #[test]
    fn and_binds_tighter_than_or_and_parentheses_bind_tighter_than_both() {
        let check = |filter: &str, table: [bool; 8]| {
            for (bits, expected) in table.into_iter().enumerate() {
                let value = |bit: usize| if bits >> bit & 1 == 1 { "1" } else { "0" };
                let headers = [("a", value(2)), ("b", value(1)), ("c", value(0))];
                assert_eq!(wants(filter, None, &headers), expected, "{filter} of {headers:?}");
            }
        };
        let [a, b, c] = ["header.a = '1'", "header.b = '1'", "header.c = '1'"];
        check(&format!("{a} OR {b} AND {c}"), [false, false, false, true, true, true, true, true]);
        check(&format!("({a} OR {b}) and {c}"), [false, false, false, true, false, true, false, true]);
        check(&format!("{a} AND ({b} Or (({c})))"), [false, false, false, false, false, true, true, true]);
        check(&format!("{a} AND {b} AND {c}"), [false, false, false, false, false, false, false, true]);
    }

    #[test]
    fn what_is_no_filter_is_refused_at_its_place() {
        for (text, at) in [
            ("", 1),
            ("  ", 3),
            ("* a", 3),
            ("a | b", 3),
            ("a ||", 5),
            ("a b", 3),
            ("a || (b)", 6),
            ("'a", 3),
            ("''", 1),
            ("header.", 8),
            ("header.x", 9),
            ("header.x = y", 12),
            ("header.x == 'y'", 11),
            ("header.x = 'y", 14),
            ("header.x = 'y' 'z'", 16),
            ("header.x = 'y' ANDheader.z = 'w'", 16),
            ("header.x = 'y' AND", 19),
            ("header.x = 'y' AND a", 20),
            ("(header.x = 'y'", 16),
            ("header.x = 'y')", 15),
            ("()", 2),
            ("ä || ü |", 8),
        ] {
            let error = Filter::parse(text).expect_err(text);
            assert_eq!(error.at, at, "{text:?}: {error}");
        }
    }

    #[test]
    fn a_filter_has_bounds() {
        let tags = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>().join("||");
        assert!(Filter::parse(&tags(limits::FILTER_TERMS_MAX)).is_ok());
        assert!(Filter::parse(&tags(limits::FILTER_TERMS_MAX + 1)).is_err());
        let deep = |depth: usize| format!("{}header.x = 'y'{}", "(".repeat(depth), ")".repeat(depth));
        assert!(Filter::parse(&deep(limits::FILTER_DEPTH_MAX)).is_ok());
        assert!(Filter::parse(&deep(limits::FILTER_DEPTH_MAX + 1)).is_err());
        let long = |bytes: usize| "x".repeat(bytes);
        assert!(Filter::parse(&long(limits::FILTER_BYTES_MAX)).is_ok());
        assert!(Filter::parse(&long(limits::FILTER_BYTES_MAX + 1)).is_err());
    }
}
