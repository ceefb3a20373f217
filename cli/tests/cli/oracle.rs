//! Knows what was published and judges what comes out: lost, early, altered, made up, twice.

use std::{
    fmt::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;

use crate::support::Server;

/// A file of messages that is known from three numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub lines: u64,
    pub spread: Duration,
    pub seed: u64,
}

impl Plan {
    /// The delay of a line: spread evenly over the whole spread, in no order.
    pub(crate) fn delay_ms(self, line: u64) -> u64 {
        let mixed =
            (line ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let spread = u64::try_from(self.spread.as_millis()).expect("a spread of a test");
        mixed % spread.max(1)
    }

    pub(crate) fn body(self, line: u64) -> String {
        format!(
            "line {line} of {} due after {} ms, seed {}, {}",
            self.lines,
            self.delay_ms(line),
            self.seed,
            "x".repeat(100)
        )
    }

    /// Writes one message a line; the first line has number 1, as the command counts.
    pub(crate) fn write(self, path: &Path) {
        let mut text = String::new();
        for line in 1..=self.lines {
            let object = serde_json::json!({"body": self.body(line), "delay": self.delay_ms(line)});
            writeln!(text, "{object}").expect("a string takes everything");
        }
        std::fs::write(path, text).expect("the file is written");
    }

    fn line_of(self, body: &str) -> Option<u64> {
        let line = body.strip_prefix("line ")?.split(' ').next()?.parse().ok()?;
        (1..=self.lines).contains(&line).then_some(line)
    }
}

/// Ties broker time to this process's clock: the broker showed `broker_ms` no earlier than at `at`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockTie {
    at: Instant,
    broker_ms: u64,
}

impl ClockTie {
    pub(crate) async fn of(server: &Server) -> Self {
        let at = now();
        let clock = server.json(&["clock", "show"]).await.remove(0);
        let broker_ms = ms(clock["now"].as_str().expect("a time"));
        Self { at, broker_ms }
    }

    /// The earliest moment here at which the broker can have shown this time. A millisecond is
    /// taken off because the broker shows whole ones.
    fn earliest(self, broker_ms: u64) -> Instant {
        if broker_ms >= self.broker_ms {
            self.at + Duration::from_millis(broker_ms - self.broker_ms) - Duration::from_millis(1)
        } else {
            self.at - Duration::from_millis(self.broker_ms - broker_ms + 1)
        }
    }
}

/// The meter of the tests.
#[allow(clippy::disallowed_methods, reason = "a meter of elapsed time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Unix milliseconds of a time as the command prints it.
pub(crate) fn ms(time: &str) -> u64 {
    punctual_broker_api::time_text::parse_time(time).expect(time).unix_ms()
}

/// A delivery as it was received.
pub(crate) struct Received<'a> {
    pub body: &'a str,
    pub at: Instant,
    pub published_at_ms: u64,
    pub deliver_at_ms: u64,
    pub delivered_at_ms: u64,
    pub lateness_ms: u64,
}

/// What one subscription has seen.
pub(crate) struct Judge {
    plan: Plan,
    tie: ClockTie,
    pub seen: Vec<u32>,
    pub acked: Vec<bool>,
    pub faults: Vec<String>,
    lateness: Histogram<u64>,
}

impl Judge {
    pub(crate) fn new(plan: Plan, tie: ClockTie) -> Self {
        let lines = usize::try_from(plan.lines).expect("a number of a test") + 1;
        let lateness = Histogram::new_with_max(3_600_000, 3).expect("constant bounds");
        Self { plan, tie, seen: vec![0; lines], acked: vec![false; lines], faults: Vec::new(), lateness }
    }

    /// Takes in a delivery; answers its line.
    pub(crate) fn take(&mut self, received: &Received<'_>) -> Option<usize> {
        let Some(line) = self.plan.line_of(received.body) else {
            self.faults.push(format!("phantom: {}", received.body));
            return None;
        };
        if received.body != self.plan.body(line) {
            self.faults.push(format!("altered: {}", received.body));
        }
        let delay = self.plan.delay_ms(line);
        let due = self.tie.earliest(received.published_at_ms) + Duration::from_millis(delay);
        if received.at < due {
            self.faults.push(format!("early: line {line} by {:?}", due - received.at));
        }
        if received.deliver_at_ms < received.published_at_ms + delay
            || received.delivered_at_ms < received.deliver_at_ms
        {
            let Received { published_at_ms, deliver_at_ms, delivered_at_ms, .. } = received;
            self.faults.push(format!(
                "early by the broker's own times: line {line}, delay {delay}, published {published_at_ms}, due \
                 {deliver_at_ms}, delivered {delivered_at_ms}"
            ));
        }
        self.lateness.saturating_record(received.lateness_ms);
        let index = usize::try_from(line).expect("a number of a test");
        if self.acked[index] {
            self.faults.push(format!("zombie: line {line} came after its ack was confirmed"));
        }
        self.seen[index] += 1;
        Some(index)
    }

    /// How many different lines have come.
    pub(crate) fn unique(&self) -> usize {
        self.seen.iter().filter(|count| **count > 0).count()
    }

    /// Deliveries beyond the first of a line.
    pub(crate) fn repeated(&self) -> u32 {
        self.seen.iter().map(|count| count.saturating_sub(1)).sum()
    }

    pub(crate) fn lateness_text(&self) -> String {
        let at = |quantile| self.lateness.value_at_quantile(quantile);
        format!(
            "lateness of {} deliveries: p50 {} ms, p90 {} ms, p99 {} ms, p99.9 {} ms, max {} ms",
            self.lateness.len(),
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            self.lateness.max()
        )
    }

    /// The first faults, for a message that fits on a screen.
    pub(crate) fn shown_faults(&self) -> String {
        let shown: Vec<&str> = self.faults.iter().take(10).map(String::as_str).collect();
        format!("{} faults: {}", self.faults.len(), shown.join("; "))
    }
}

/// A number that a test takes from the environment, or its default.
pub(crate) fn size(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is not a whole number: {text}")),
        Err(_) => default,
    }
}

#[test]
fn the_judge_finds_every_planted_fault() {
    let plan = Plan { lines: 10, spread: Duration::from_millis(1000), seed: 3 };
    let at = now();
    let tie = ClockTie { at, broker_ms: 5000 };
    let judged = |line: u64, body: &str, early_ms: u64, due_too_soon: u64, acked: bool| {
        let mut judge = Judge::new(plan, tie);
        judge.acked[usize::try_from(line).expect("small")] = acked;
        let due = 5000 + plan.delay_ms(line);
        judge.take(&Received {
            body,
            at: at + Duration::from_millis(plan.delay_ms(line)) - Duration::from_millis(early_ms),
            published_at_ms: 5000,
            deliver_at_ms: due - due_too_soon,
            delivered_at_ms: due - due_too_soon,
            lateness_ms: 0,
        });
        judge.faults
    };
    let good = plan.body(4);
    assert_eq!(judged(4, &good, 0, 0, false), [] as [String; 0]);
    for (name, faults) in [
        ("phantom", judged(4, "line 11 of 10", 0, 0, false)),
        ("altered", judged(4, &good.replace('x', "y"), 0, 0, false)),
        ("early: ", judged(4, &good, 2, 0, false)),
        ("early by the broker's own", judged(4, &good, 0, 1, false)),
        ("zombie", judged(4, &good, 0, 0, true)),
    ] {
        assert!(faults.len() == 1 && faults[0].starts_with(name), "{name}: {faults:?}");
    }
}
