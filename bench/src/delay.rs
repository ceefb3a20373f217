//! How long messages of a load are delayed.

use std::{fmt, str::FromStr};

use punctual_broker_api::{DelayMs, parse_duration};

use crate::random::Random;

/// A distribution of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delays {
    /// None: every message is due at once.
    None,
    /// All the same.
    Fixed(DelayMs),
    /// Every millisecond from the first to the second as likely as any other.
    Uniform(DelayMs, DelayMs),
    /// Exponential with this mean, cut off at ten times the mean.
    Exponential(DelayMs),
}

impl Delays {
    pub(crate) fn sample(self, random: &mut Random) -> DelayMs {
        match self {
            Self::None => DelayMs::ZERO,
            Self::Fixed(delay) => delay,
            Self::Uniform(from, to) => {
                let span = to.ms() - from.ms() + 1;
                DelayMs::from_ms(from.ms() + random.next() % span)
            }
            Self::Exponential(mean) => {
                let longest = mean.ms().saturating_mul(10);
                // 1 - x lies in 0 < y ≤ 1, whose logarithm is finite.
                let sampled = -(1.0 - random.unit()).ln() * mean.ms() as f64;
                DelayMs::from_ms((sampled as u64).min(longest))
            }
        }
    }

    /// The longest delay that can be drawn.
    pub(crate) fn longest(self) -> DelayMs {
        match self {
            Self::None => DelayMs::ZERO,
            Self::Fixed(delay) | Self::Uniform(_, delay) => delay,
            Self::Exponential(mean) => DelayMs::from_ms(mean.ms().saturating_mul(10)),
        }
    }
}

impl FromStr for Delays {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let duration = |text: &str| parse_duration(text).map_err(|error| format!("`{text}` {error}"));
        match text.split_once(':') {
            None if text == "none" => Ok(Self::None),
            Some(("fixed", delay)) => Ok(Self::Fixed(duration(delay)?)),
            Some(("exp", mean)) => Ok(Self::Exponential(duration(mean)?)),
            Some(("uniform", range)) => {
                let (from, to) = range.split_once("..").ok_or("is not uniform:FROM..TO, such as uniform:0..60s")?;
                let (from, to) = (duration(from)?, duration(to)?);
                // One below the end of 64 bits, so that the width of the range can be counted.
                if from > to || to.ms() == u64::MAX {
                    return Err("does not go from a shorter to a longer delay".to_owned());
                }
                Ok(Self::Uniform(from, to))
            }
            None | Some(_) => Err("is not none, fixed:5s, uniform:0..60s or exp:10s".to_owned()),
        }
    }
}

impl fmt::Display for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Fixed(delay) => write!(f, "fixed:{delay}"),
            Self::Uniform(from, to) => write!(f, "uniform:{from}..{to}"),
            Self::Exponential(mean) => write!(f, "exp:{mean}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_drawn_within_their_bounds_and_spread() {
        for text in ["none", "fixed:5000ms", "uniform:100ms..109ms", "exp:50ms"] {
            let delays: Delays = text.parse().expect(text);
            assert_eq!(delays.to_string(), text);
            let mut random = Random::from_seed(7);
            let drawn: Vec<u64> = (0..10_000).map(|_| delays.sample(&mut random).ms()).collect();
            assert!(drawn.iter().all(|delay| *delay <= delays.longest().ms()), "{text}");
            let mean = drawn.iter().sum::<u64>() as f64 / 10_000.0;
            let (expected, slack) = match delays {
                Delays::None => (0.0, 0.0),
                Delays::Fixed(_) => (5000.0, 0.0),
                Delays::Uniform(_, _) => (104.5, 0.2),
                Delays::Exponential(_) => (49.5, 2.0),
            };
            assert!((mean - expected).abs() <= slack, "{text}: mean {mean}, seed 7");
        }
    }

    #[test]
    fn what_is_not_a_distribution_is_refused() {
        for text in ["", "5s", "fixed", "fixed:x", "uniform:5s", "uniform:5s..1s", "exp:", "gauss:1s"] {
            assert!(text.parse::<Delays>().is_err(), "{text}");
        }
        assert!("uniform:0..18446744073709551615".parse::<Delays>().is_err());
    }
}
