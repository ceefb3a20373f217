//! The words of a line: bare ones by place, `name=value` ones and named ones by name.

use punctual_types::{DelayMs, Time};

/// A verb and what stands after it.
pub(crate) struct Words<'a> {
    words: Vec<&'a str>,
}

impl<'a> Words<'a> {
    pub(crate) fn of(line: &'a str) -> Self {
        Self { words: line.split_whitespace().collect() }
    }

    /// The word at a place; a transcript that has none is wrong.
    pub(crate) fn at(&self, place: usize) -> &'a str {
        self.words.get(place).unwrap_or_else(|| panic!("word {place} is missing in {:?}", self.words.join(" ")))
    }

    /// Whether a word stands somewhere after the verb.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().skip(1).any(|found| *found == word)
    }

    /// The word that follows another.
    pub(crate) fn after(&self, word: &str) -> Option<&'a str> {
        let place = self.words.iter().skip(1).position(|found| *found == word)? + 1;
        self.words.get(place + 1).copied()
    }

    pub(crate) fn duration(&self, word: &str) -> Option<DelayMs> {
        self.after(word).map(duration)
    }

    pub(crate) fn time(&self, word: &str) -> Option<Time> {
        self.after(word).map(time)
    }

    pub(crate) fn number<N: std::str::FromStr>(&self, word: &str) -> Option<N>
    where
        N::Err: std::fmt::Debug,
    {
        self.after(word).map(|text| text.parse().unwrap_or_else(|_| panic!("{word} {text:?} is no number")))
    }

    /// The value of `name=value`.
    pub(crate) fn named(&self, name: &str) -> Option<&'a str> {
        self.words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// Words that begin with a letter and go on in digits, as `r12`.
    pub(crate) fn numbered(&self, letter: char) -> Vec<&'a str> {
        let numbered = |word: &&&str| {
            word.strip_prefix(letter).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        };
        self.words.iter().skip(1).filter(numbered).copied().collect()
    }

    /// Everything from a word on.
    pub(crate) fn rest_after(&self, word: &str) -> Option<String> {
        let place = self.words.iter().position(|found| *found == word)?;
        Some(self.words[place + 1..].join(" "))
    }
}

pub(crate) fn duration(text: &str) -> DelayMs {
    punctual_types::parse_duration(text).unwrap_or_else(|error| panic!("{text:?} {error}"))
}

/// A time in milliseconds, or as a duration since the start of time.
pub(crate) fn time(text: &str) -> Time {
    if text == "max" {
        return Time::MAX;
    }
    Time::from_unix_ms(duration(text).ms()).unwrap_or_else(|| panic!("{text:?} lies after the year 9999"))
}
