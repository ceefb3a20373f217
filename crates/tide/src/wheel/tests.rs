//! The wheel against a sorted map.

use std::{collections::BTreeMap, ops::ControlFlow};

use proptest::prelude::*;
use punctual_types::{Position, Seq, Time};

use super::{Entry, Span, Wheel};
use crate::{
    journal::{Location, SegmentNumber},
    limits::SLOT_ENTRIES_MAX,
};

/// Environment variable that names how many cases to run.
const CASES: &str = "PUNCTUAL_CASES";

fn at(due: u64, seq: u64) -> Position {
    Position::new(Time::from_unix_ms(due).expect("in range"), Seq(seq))
}

/// An entry whose location follows from its sequence number, so that a mix-up shows.
fn entry(position: Position) -> Entry {
    let location = Location { segment: SegmentNumber(1), at: position.seq.0 as u32, len: 9 };
    Entry { position, location }
}

fn walked(wheel: &mut Wheel, after: Position, to: Position) -> Vec<Entry> {
    let mut found = Vec::new();
    wheel.walk(Span { after, to }, &mut |entry| {
        found.push(entry);
        ControlFlow::Continue(())
    });
    found
}

/// Every millisecond around every edge of every level.
fn edges() -> Vec<u64> {
    let levels = (0..=7).map(|level| 1_u64 << (6 * level));
    let multiples = levels.flat_map(|width| [1, 2, 63, 64, 65].map(|times| width.saturating_mul(times)));
    let around = multiples.flat_map(|edge| [edge.saturating_sub(1), edge, edge.saturating_add(1)]);
    let mut edges: Vec<u64> = around.filter(|due| *due <= Time::MAX.unix_ms()).collect();
    edges.extend([0, Time::MAX.unix_ms() - 1, Time::MAX.unix_ms()]);
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[test]
fn entries_on_every_level_edge_come_out_in_order_and_none_a_millisecond_early() {
    // Alone in its slot, and with so many around it that every slot has opened.
    for crowd in [1, SLOT_ENTRIES_MAX as u64 + 2] {
        let mut wheel = Wheel::default();
        let edges = edges();
        let mut seq = 0;
        let mut all = Vec::new();
        for due in edges.iter().rev() {
            for _ in 0..crowd {
                seq += 1;
                all.push(at(*due, seq));
                wheel.insert(entry(at(*due, seq)));
            }
        }
        all.sort_unstable();
        assert_eq!(walked(&mut wheel, Position::MIN, Position::MAX).len(), all.len());
        for due in &edges {
            let to = Position::after(at(*due, 0).due);
            let due_by_then = all.partition_point(|position| *position <= to);
            let found = walked(&mut wheel, Position::MIN, to);
            assert!(found.iter().map(|entry| entry.position).eq(all[..due_by_then].iter().copied()), "up to {due}");
            assert_eq!(wheel.count(Span { after: Position::MIN, to }), due_by_then as u64, "counted up to {due}");
            let just_before = Position::before(at(*due, 0).due);
            assert_eq!(wheel.count(Span { after: just_before, to }), crowd, "due at {due}");
            // From the middle of a millisecond on, which may be the first of a slot that is counted whole.
            let middle = all[due_by_then - 1 - crowd as usize / 2];
            let behind = Span { after: middle, to: Position::MAX };
            assert_eq!(wheel.count(behind), (all.len() - due_by_then) as u64 + crowd / 2, "behind the middle of {due}");
        }
    }
}

#[test]
fn many_due_in_one_millisecond_are_kept_in_sequence_and_removed_one_by_one() {
    let mut wheel = Wheel::default();
    for seq in 1..=10_000 {
        wheel.insert(entry(at(5_000, seq)));
    }
    assert_eq!(wheel.remove(at(5_000, 7_777)), Some(entry(at(5_000, 7_777))));
    assert_eq!((wheel.remove(at(5_000, 7_777)), wheel.len()), (None, 9_999));
    wheel.remove_up_to(at(5_000, 5_000));
    let left = walked(&mut wheel, Position::MIN, Position::MAX);
    assert_eq!((left.len(), left[0].position, left[4_998].position), (4_999, at(5_000, 5_001), at(5_000, 10_000)));
    wheel.remove_range(Span { after: at(5_000, 6_000), to: Position::MAX }, Seq(9_000));
    assert_eq!(wheel.len(), 1_000 + 1_000);
    wheel.remove_up_to(Position::MAX);
    assert_eq!(wheel.len(), 0);
}

#[test]
fn a_walk_stops_when_told() {
    let mut wheel = Wheel::default();
    for seq in 1..=1_000 {
        wheel.insert(entry(at(seq * 7919 % 1_009, seq)));
    }
    let mut shown = 0;
    wheel.walk(Span { after: Position::MIN, to: Position::MAX }, &mut |_| {
        shown += 1;
        if shown == 300 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(shown, 300);
}

#[test]
fn a_million_random_inserts_drain_in_order() {
    let count: u64 = std::env::var("PUNCTUAL_WHEEL_ENTRIES").map_or(1_000_000, |text| text.parse().expect("a number"));
    let mut wheel = Wheel::default();
    let mut due = 1_u64;
    for seq in 1..=count {
        // A year of milliseconds, in an order that looks like none.
        due = due.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        wheel.insert(entry(at((due >> 20) % 31_536_000_000, seq)));
    }
    let (mut drained, mut floor) = (0, Position::MIN);
    while wheel.len() > 0 {
        let mut last = floor;
        wheel.walk(Span { after: floor, to: Position::MAX }, &mut |entry| {
            assert!(entry.position > last, "in order");
            last = entry.position;
            drained += 1;
            if drained % 10_000 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        floor = last;
        wheel.remove_up_to(floor);
    }
    assert_eq!(drained, count);
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u64),
    Remove(prop::sample::Index),
    RemoveRange(u64, u64, prop::sample::Index),
    RemoveUpTo(u64),
    Walk(u64, u64),
    Count(u64, u64, u64),
}

/// Times near each other, near level edges, and anywhere.
fn due() -> impl Strategy<Value = u64> {
    prop_oneof![4_096_u64..4_300, prop::sample::select(edges()), 0..=Time::MAX.unix_ms(), Just(4_096)]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => due().prop_map(Op::Insert),
        3 => any::<prop::sample::Index>().prop_map(Op::Remove),
        1 => (due(), due(), any::<prop::sample::Index>()).prop_map(|(a, b, seq)| Op::RemoveRange(a, b, seq)),
        1 => due().prop_map(Op::RemoveUpTo),
        2 => (due(), due()).prop_map(|(a, b)| Op::Walk(a, b)),
        2 => (due(), due(), 1_u64..4).prop_map(|(a, b, width)| Op::Count(a, b, width * 60_000)),
    ]
}

fn cases() -> u32 {
    std::env::var(CASES).map_or(128, |text| text.parse().expect("a number"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_wheel_answers_as_a_sorted_map(ops in prop::collection::vec((op(), 1_u64..40), 1..60)) {
        let (mut wheel, mut map, mut seq) = (Wheel::default(), BTreeMap::<Position, Entry>::new(), 0);
        for (op, times) in ops {
            match op {
                Op::Insert(due) => for _ in 0..times {
                    seq += 1;
                    wheel.insert(entry(at(due, seq)));
                    map.insert(at(due, seq), entry(at(due, seq)));
                },
                Op::Remove(index) => {
                    let Some(position) = map.keys().nth(index.index(map.len().max(1))).copied() else { continue };
                    prop_assert_eq!(wheel.get(position), map.get(&position).copied());
                    prop_assert_eq!(wheel.remove(position), map.remove(&position));
                    prop_assert_eq!(wheel.get(position), None);
                }
                Op::RemoveRange(after, to, index) => {
                    let span = Span { after: at(after, times), to: at(to, times) };
                    let seq_max = Seq(index.index(seq as usize + 1) as u64);
                    wheel.remove_range(span, seq_max);
                    map.retain(|position, _| !span.contains(*position) || position.seq > seq_max);
                }
                Op::RemoveUpTo(due) => {
                    wheel.remove_up_to(at(due, times));
                    map.retain(|position, _| *position > at(due, times));
                }
                Op::Walk(after, to) => {
                    let span = Span { after: at(after, times), to: at(to, times) };
                    let expected: Vec<Entry> =
                        map.values().filter(|entry| span.contains(entry.position)).copied().collect();
                    prop_assert_eq!(walked(&mut wheel, span.after, span.to), expected);
                }
                Op::Count(after, to, bucket_ms) => {
                    let span = Span { after: at(after, times), to: at(to, times) };
                    let mut expected = BTreeMap::<u64, u64>::new();
                    for position in map.keys().filter(|position| span.contains(**position)) {
                        *expected.entry(position.due.unix_ms() / bucket_ms * bucket_ms).or_default() += 1;
                    }
                    prop_assert_eq!(wheel.count(span), expected.values().sum::<u64>());
                    prop_assert_eq!(wheel.count_by(span, bucket_ms), expected);
                }
            }
            prop_assert_eq!(wheel.len(), map.len() as u64);
        }
    }
}
