//! Reading a filter: by recursive descent, with bounds on its length, terms and depth.

use punctual_types::limits;

use super::{FilterError, Rule};

/// Reads a whole text.
pub(super) fn parse(text: &str) -> Result<Rule, FilterError> {
    let mut reader = Reader { text, at: 0, terms: 0 };
    if text.len() > limits::FILTER_BYTES_MAX {
        return reader.refuse(format!("a filter of {} bytes, the limit is {}", text.len(), limits::FILTER_BYTES_MAX));
    }
    reader.skip_spaces();
    let rule = match reader.rest() {
        "" => return reader.refuse("the filter is empty"),
        rest if rest.starts_with('*') => {
            reader.at += 1;
            Rule::All
        }
        rest if rest.starts_with("header.") || rest.starts_with('(') => reader.any(0)?,
        _ => reader.tags()?,
    };
    reader.skip_spaces();
    match reader.rest() {
        "" => Ok(rule),
        _ => reader.refuse("more than was expected"),
    }
}

struct Reader<'a> {
    text: &'a str,
    /// In bytes, always between two characters.
    at: usize,
    terms: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn refuse<T>(&self, what: impl Into<String>) -> Result<T, FilterError> {
        let before = self.text.get(..self.at).unwrap_or_default();
        Err(FilterError { what: what.into(), at: before.chars().count() + 1 })
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes a sign, with the spaces before it, if it is there.
    fn takes(&mut self, sign: &str) -> bool {
        self.skip_spaces();
        let there = self.rest().starts_with(sign);
        if there {
            self.at += sign.len();
        }
        there
    }

    /// Takes a word that ends where it ends, in capitals or not.
    fn takes_word(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let (found, after) = match (self.rest().get(..word.len()), self.rest().get(word.len()..)) {
            (Some(found), Some(after)) => (found, after),
            _ => return false,
        };
        let ends = after.chars().next().is_none_or(|next| next.is_whitespace() || next == '(');
        let there = found.eq_ignore_ascii_case(word) && ends;
        if there {
            self.at += word.len();
        }
        there
    }

    fn count_term(&mut self) -> Result<(), FilterError> {
        self.terms += 1;
        if self.terms > limits::FILTER_TERMS_MAX {
            return self.refuse(format!("more than the {} terms that a filter may have", limits::FILTER_TERMS_MAX));
        }
        Ok(())
    }

    /// Characters up to a space or one that means something.
    fn bare(&mut self, signs: &[char]) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_whitespace() || signs.contains(&c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// What stands between quotes, the first of which is next; a doubled quote is one.
    fn quoted(&mut self) -> Result<String, FilterError> {
        self.at += 1;
        let mut value = String::new();
        loop {
            let rest = self.rest();
            let Some(end) = rest.find('\'') else {
                self.at = self.text.len();
                return self.refuse("a quote is not closed");
            };
            value.push_str(rest.get(..end).unwrap_or_default());
            self.at += end + 1;
            if !self.rest().starts_with('\'') {
                return Ok(value);
            }
            value.push('\'');
            self.at += 1;
        }
    }

    fn tags(&mut self) -> Result<Rule, FilterError> {
        let mut tags = Vec::new();
        loop {
            self.skip_spaces();
            self.count_term()?;
            let begin = self.at;
            let tag = if self.rest().starts_with('\'') {
                self.quoted()?
            } else {
                self.bare(&['|', '(', ')', '\'']).to_owned()
            };
            if tag.is_empty() {
                self.at = begin;
                return self.refuse("expected a tag");
            }
            tags.push(tag);
            if !self.takes("||") {
                return Ok(Rule::Tags(tags));
            }
        }
    }

    fn any(&mut self, depth: usize) -> Result<Rule, FilterError> {
        let mut rules = vec![self.every(depth)?];
        while self.takes_word("OR") {
            rules.push(self.every(depth)?);
        }
        Ok(one_or(rules, Rule::Any))
    }

    fn every(&mut self, depth: usize) -> Result<Rule, FilterError> {
        let mut rules = vec![self.test(depth)?];
        while self.takes_word("AND") {
            rules.push(self.test(depth)?);
        }
        Ok(one_or(rules, Rule::Every))
    }

    fn test(&mut self, depth: usize) -> Result<Rule, FilterError> {
        if self.takes("(") {
            if depth == limits::FILTER_DEPTH_MAX {
                return self.refuse(format!("more than {} parentheses in each other", limits::FILTER_DEPTH_MAX));
            }
            let rule = self.any(depth + 1)?;
            return if self.takes(")") { Ok(rule) } else { self.refuse("expected AND, OR or `)`") };
        }
        if !self.takes("header.") {
            return self.refuse("expected `header.NAME` or `(`");
        }
        self.count_term()?;
        let name = self.bare(&['=', '!', '\'', '(', ')', '|']).to_owned();
        if name.is_empty() {
            return self.refuse("expected the name of a header");
        }
        let equal = match (self.takes("!="), self.takes("=")) {
            (true, _) => false,
            (false, true) => true,
            (false, false) => return self.refuse("expected `=` or `!=`"),
        };
        self.skip_spaces();
        if !self.rest().starts_with('\'') {
            return self.refuse("expected a value in quotes");
        }
        Ok(Rule::Header { name, value: self.quoted()?, equal })
    }
}

fn one_or(mut rules: Vec<Rule>, many: impl Fn(Vec<Rule>) -> Rule) -> Rule {
    match (rules.pop(), rules.is_empty()) {
        (Some(rule), true) => rule,
        (last, _) => {
            rules.extend(last);
            many(rules)
        }
    }
}
