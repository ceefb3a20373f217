//! Durations counted so that their percentiles can be told, to three digits.

use std::{fmt, time::Duration};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::limits;

/// Durations of one kind.
#[derive(Clone, Debug)]
pub struct Percentiles(Histogram<u64>);

impl Default for Percentiles {
    fn default() -> Self {
        let highest = u64::try_from(limits::RECORDED_MAX.as_micros()).unwrap_or(u64::MAX);
        // Three digits and a bound above twice the lowest value are always allowed.
        Self(Histogram::new_with_max(highest, 3).unwrap_or_else(|error| panic!("the bounds are constants: {error}")))
    }
}

impl Percentiles {
    pub(crate) fn record(&mut self, duration: Duration) {
        self.record_many(duration, 1);
    }

    pub(crate) fn record_many(&mut self, duration: Duration, count: u64) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.0.saturating_record_n(micros, count);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        // Both have the same bounds, so nothing of the other lies outside.
        let added = self.0.add(&other.0);
        assert!(added.is_ok(), "histograms of one kind have one shape");
    }

    /// How many were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Milliseconds below which this share of them lies.
    #[must_use]
    pub fn at(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// As an object; milliseconds.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "count": self.count(), "mean_ms": self.0.mean() / 1000.0, "p50_ms": self.at(0.5), "p90_ms": self.at(0.9),
            "p99_ms": self.at(0.99), "p999_ms": self.at(0.999), "p9999_ms": self.at(0.9999), "max_ms": self.at(1.0),
        })
    }
}

impl fmt::Display for Percentiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count() == 0 {
            return f.write_str("none");
        }
        for (name, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
            write!(f, "{name} {:.2} ms  ", self.at(quantile))?;
        }
        write!(f, "mean {:.2} ms", self.0.mean() / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_what_was_recorded() {
        let mut percentiles = Percentiles::default();
        for ms in 1..=1000 {
            percentiles.record(Duration::from_millis(ms));
        }
        let mut other = Percentiles::default();
        other.record_many(limits::RECORDED_MAX * 100, 1);
        percentiles.add(&other);
        assert_eq!(percentiles.count(), 1001);
        assert!((percentiles.at(0.5) - 501.0).abs() < 1.0, "{percentiles}");
        assert!(
            percentiles.at(1.0) >= limits::RECORDED_MAX.as_secs_f64() * 1000.0,
            "longer ones count as the longest: {percentiles}"
        );
    }
}
