//! A Rust source as the rules see it: comments and literals blanked, lines of test code marked.
//!
//! A scanner of characters and braces, not a parser: it knows enough Rust to tell code from text, an item's body from
//! its head, and which paths are named. It keeps every line where it is, so that a finding can say its line.

use std::ops::Range;

/// A source with everything blanked that is not code.
pub(crate) struct Code {
    text: String,
    line_starts: Vec<usize>,
    test_lines: Vec<bool>,
    test_modules: Vec<String>,
}

/// A path that the code names, with `use` trees spelled out: `std::fs::File`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) path: String,
    pub(crate) line: usize,
}

impl Mention {
    /// Whether the path is the given one or lies below it.
    pub(crate) fn is_within(&self, prefix: &str) -> bool {
        self.path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }

    /// Whether the path ends with the given segments.
    pub(crate) fn ends_with(&self, suffix: &str) -> bool {
        self.path.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
    }

    /// Whether a segment of the path is the given word.
    pub(crate) fn has_segment(&self, word: &str) -> bool {
        self.path.split("::").any(|segment| segment == word)
    }
}

impl Code {
    /// Reads a source.
    pub(crate) fn of(source: &str) -> Self {
        let text = blank(source);
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut code = Self { text, line_starts, test_lines: Vec::new(), test_modules: Vec::new() };
        code.mark_tests();
        code
    }

    /// The code: as long as the source, with blanks in place of comments and of what stands between quotes.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The line of a byte, from 1.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    /// Whether the line is inside an item that only tests compile.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.test_lines.get(line).copied().unwrap_or(false)
    }

    /// Names of the modules that are declared here for tests only and live in files of their own.
    pub(crate) fn test_modules(&self) -> &[String] {
        &self.test_modules
    }

    /// Every path that the code names.
    pub(crate) fn mentions(&self) -> Vec<Mention> {
        let mut mentions = Vec::new();
        let mut at = 0;
        while let Some(path) = self.next_path(at) {
            at = path.end;
            let word = self.slice(&path);
            if word == "use" {
                let end = self.text[path.end..].find(';').map_or(self.text.len(), |found| path.end + found);
                self.spell_out(path.end..end, "", &mut mentions);
                at = end;
            } else {
                mentions.push(Mention { path: without_blanks(word), line: self.line_of(path.start) });
            }
        }
        mentions
    }

    /// Where a word stands by itself, in order.
    pub(crate) fn words<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.text.match_indices(word).map(|(at, _)| at).filter(move |at| {
            let before = self.text[..*at].chars().next_back();
            let after = self.text[*at + word.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
    }

    /// The braces of the item whose head starts at `at`, or `None` when a semicolon ends it first.
    pub(crate) fn body_after(&self, at: usize) -> Option<Range<usize>> {
        let mut depth = 0_usize;
        for (offset, byte) in self.text.as_bytes().get(at..)?.iter().enumerate() {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                b';' if depth == 0 => return None,
                b'{' if depth == 0 => return Some(at + offset..self.closing_brace(at + offset)),
                _ => {}
            }
        }
        None
    }

    fn closing_brace(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (offset, byte) in self.text.as_bytes()[open..].iter().enumerate() {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 1 => return open + offset + 1,
                b'}' => depth -= 1,
                _ => {}
            }
        }
        self.text.len()
    }

    fn mark_tests(&mut self) {
        let mut marked = vec![false; self.line_starts.len() + 1];
        let mut modules = Vec::new();
        let mut at = 0;
        while let Some(found) = self.text[at..].find("#[") {
            let start = at + found;
            let end = self.closing_bracket(start + 1);
            at = end;
            if !only_for_tests(&self.text[start..end]) {
                continue;
            }
            let item = self.skip_attributes(end);
            let item_end = match self.body_after(item) {
                Some(body) => body.end,
                None => self.text[item..].find(';').map_or(self.text.len(), |semicolon| item + semicolon),
            };
            modules.extend(out_of_line_module(&self.text[item..item_end]));
            for line in self.line_of(start)..=self.line_of(item_end) {
                if let Some(mark) = marked.get_mut(line) {
                    *mark = true;
                }
            }
            at = item_end;
        }
        self.test_lines = marked;
        self.test_modules = modules;
    }

    fn skip_attributes(&self, mut at: usize) -> usize {
        loop {
            let rest = &self.text[at..];
            at += rest.len() - rest.trim_start().len();
            if !self.text[at..].starts_with("#[") {
                return at;
            }
            at = self.closing_bracket(at + 1);
        }
    }

    fn closing_bracket(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (offset, byte) in self.text.as_bytes()[open..].iter().enumerate() {
            match byte {
                b'[' => depth += 1,
                b']' if depth == 1 => return open + offset + 1,
                b']' => depth -= 1,
                _ => {}
            }
        }
        self.text.len()
    }

    /// The next path at or after a place: words joined by `::`, over blanks too.
    fn next_path(&self, from: usize) -> Option<Range<usize>> {
        let start = from + self.text.get(from..)?.find(is_word)?;
        let mut end = start;
        loop {
            end += self.text[end..].find(|c| !is_word(c)).unwrap_or(self.text.len() - end);
            let rest = self.text[end..].trim_start();
            let Some(after) = rest.strip_prefix("::") else { return Some(start..end) };
            let after = after.trim_start();
            if !after.starts_with(is_word) {
                return Some(start..end);
            }
            end = self.text.len() - after.len();
        }
    }

    /// Spells a `use` tree out into the paths that it brings in.
    fn spell_out(&self, tree: Range<usize>, prefix: &str, mentions: &mut Vec<Mention>) {
        for branch in split_branches(self.slice(&tree)) {
            let branch = tree.start + branch.start..tree.start + branch.end;
            let text = self.slice(&branch);
            let line = self.line_of(branch.start + (text.len() - text.trim_start().len()));
            let joined = |path: &str| match (prefix, without_blanks(path).trim_matches(':')) {
                ("", path) => path.to_owned(),
                (prefix, "self" | "*" | "") => prefix.to_owned(),
                (prefix, path) => format!("{prefix}::{path}"),
            };
            match text.find('{') {
                Some(open) => {
                    let close = text.rfind('}').unwrap_or(text.len());
                    let inner = branch.start + open + 1..branch.start + close;
                    self.spell_out(inner, &joined(&text[..open]), mentions);
                }
                None if text.trim().is_empty() => {}
                None => {
                    let path = text.split(" as ").next().unwrap_or(text);
                    mentions.push(Mention { path: joined(path), line });
                }
            }
        }
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or("")
    }
}

/// Whether a character can be part of a word.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn without_blanks(path: &str) -> String {
    path.chars().filter(|c| !c.is_whitespace()).collect()
}

fn only_for_tests(attribute: &str) -> bool {
    let attribute = without_blanks(attribute);
    let inner = attribute.trim_start_matches("#[").trim_end_matches(']');
    let head = inner.split('(').next().unwrap_or(inner);
    match head {
        "cfg" => inner == "cfg(test)" || inner.starts_with("cfg(all(test") || inner.starts_with("cfg(any(test"),
        "test" => true,
        head => head.ends_with("::test"),
    }
}

fn out_of_line_module(item: &str) -> Option<String> {
    let name = item.trim_start().trim_start_matches("pub(crate) ").strip_prefix("mod ")?;
    (!item.contains('{')).then(|| name.trim().to_owned())
}

/// The comma-separated branches of a `use` tree, as ranges of the text.
fn split_branches(text: &str) -> Vec<Range<usize>> {
    let mut branches = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                branches.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    branches.push(start..text.len());
    branches
}

/// Blanks comments and the insides of literals; every line break stays.
fn blank(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let after_word = out.ends_with(is_word);
        let length = literal_or_comment(rest, after_word).unwrap_or(0);
        if length == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            out.extend(rest[..length].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    out
}

/// How many bytes the comment or literal at the start of the text has, if there is one.
fn literal_or_comment(text: &str, after_word: bool) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(block_comment(text));
    }
    if let Some(inside) = text.strip_prefix('"') {
        return Some(1 + quoted(inside, '"'));
    }
    if text.starts_with('\'') {
        return character(text);
    }
    if after_word {
        return None;
    }
    let marks = text.trim_start_matches(['b', 'c']);
    let raw = marks.strip_prefix('r')?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let body = raw[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(text.len() - body.len() + length)
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// How many bytes up to and with the closing quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A character literal, told from a lifetime by its closing quote.
fn character(text: &str) -> Option<usize> {
    let inside = &text[1..];
    let first = inside.chars().next()?;
    if first == '\\' {
        return Some(1 + quoted(inside, '\''));
    }
    inside[first.len_utf8()..].starts_with('\'').then(|| 2 + first.len_utf8())
}

#[cfg(test)]
#[path = "code_tests.rs"]
mod tests;
