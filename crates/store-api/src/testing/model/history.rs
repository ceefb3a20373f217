//! One random history: batches, reads, reopenings and crashes.

use std::sync::Arc;

use bytes::Bytes;
use punctual_types::{
    Batch, CommitNumber, DelayMs, IndexEntry, IndexKind, IndexPlace, Lane, Mark, Offset, PartitionNumber, Position,
    Read, ReadReply, Seq, ShardNumber, SubscriptionNumber, Time, TimelineId, TopicNumber, Write,
};

use super::{
    naive::{Naive, NaiveTimeline},
    random::Random,
};
use crate::{
    ShardStore,
    testing::{Harness, wait},
};

const SHARDS: u16 = 2;
const TIMELINES: u8 = 3;
/// Handles in use: few, so that entries are overwritten.
const HANDLES: u64 = 6;
const STATE_KEYS: u64 = 5;
/// Due times lie within so many milliseconds of the line.
const SPREAD_MS: u64 = 200_000;
const MINUTE: u64 = 60_000;

/// A store and its models.
pub(crate) struct History<H> {
    random: Random,
    harness: Option<H>,
    shards: Vec<Arc<dyn ShardStore>>,
    models: Vec<Naive>,
    /// The models after each commit since the last that is known to be durable, oldest first:
    /// what a crash may leave.
    survivors: Vec<Vec<Naive>>,
    last: Option<(usize, CommitNumber)>,
    /// Sequence numbers are never given twice, not even those that a crash lost.
    seq_highest: Seq,
}

impl<H: Harness> History<H> {
    pub(crate) fn begin(seed: u64) -> Self {
        let models = vec![Naive::default(); usize::from(SHARDS)];
        let mut history = Self {
            random: Random::new(seed),
            harness: None,
            shards: Vec::new(),
            survivors: vec![models.clone()],
            models,
            last: None,
            seq_highest: Seq(0),
        };
        history.open(H::create(SHARDS));
        history
    }

    pub(crate) fn step(&mut self, step: u32) {
        match self.random.below(100) {
            0..60 => self.commit(),
            60..94 => self.read(step),
            94..97 => self.sync(),
            97 => self.check_all("in passing"),
            98 => self.reopen(),
            _ => self.crash(),
        }
    }

    fn open(&mut self, harness: H) {
        self.shards =
            (0..SHARDS).map(|shard| harness.store().shard(ShardNumber(shard)).expect("the shard opens")).collect();
        self.harness = Some(harness);
    }

    fn commit(&mut self) {
        let which = self.random.below(u64::from(SHARDS)) as usize;
        let random = &mut self.random;
        let model = &mut self.models[which];
        model.seq = self.seq_highest;
        model.now = model.now.saturating_add(DelayMs::from_ms(random.below(20_000)));
        let mut batch = Batch { now: model.now, writes: Vec::new() };
        for _ in 0..random.below(8) {
            write(random, model, &mut batch.writes);
        }
        self.seq_highest = model.seq;
        let number = wait(self.shards[which].commit(batch)).expect("written");
        assert!(self.last.is_none_or(|(_, last)| number > last), "numbers rise");
        self.last = Some((which, number));
        self.survivors.push(self.models.clone());
    }

    fn sync(&mut self) {
        let Some((which, number)) = self.last else { return };
        let durable = self.shards[which].durable(number);
        self.harness.as_ref().expect("open").sync();
        assert_eq!(wait(durable).expect("durable").commit(), number);
        self.survivors = vec![self.models.clone()];
    }

    fn read(&mut self, step: u32) {
        let which = self.random.below(u64::from(SHARDS)) as usize;
        let reads: Vec<Read> =
            (0..=self.random.below(4)).map(|_| read(&mut self.random, &self.models[which])).collect();
        let replies = wait(self.shards[which].read(reads.clone())).expect("answered");
        assert_eq!(replies.len(), reads.len());
        for (read, reply) in reads.into_iter().zip(replies) {
            let right = self.models[which].answers(number_of, read);
            assert!(right.contains(&reply), "step {step}: {read:?}\n got {reply:?}\nwant {right:?}");
        }
    }

    fn reopen(&mut self) {
        self.shards.clear();
        let harness = self.harness.take().expect("open").reopen();
        self.open(harness);
        self.last = None;
        self.survivors = vec![self.models.clone()];
        self.check_all("after reopening");
    }

    fn crash(&mut self) {
        self.shards.clear();
        match self.harness.take().expect("open").crash() {
            Err(harness) => self.open(harness),
            Ok(harness) => {
                self.open(harness);
                self.last = None;
                let left = self.survivors.iter().rposition(|models| self.difference(models).is_none());
                let left = left.unwrap_or_else(|| {
                    let first = self.survivors.first().and_then(|models| self.difference(models));
                    panic!("a crash left no prefix of what was written; against what was durable: {first:?}")
                });
                self.models = self.survivors.swap_remove(left);
                self.survivors = vec![self.models.clone()];
            }
        }
    }

    fn check_all(&self, when: &str) {
        if let Some(difference) = self.difference(&self.models) {
            panic!("{when}: {difference}");
        }
    }

    /// The first difference between the store and some models, over everything kept.
    fn difference(&self, models: &[Naive]) -> Option<String> {
        models.iter().zip(&self.shards).enumerate().find_map(|(which, (model, shard))| {
            let mut state = Vec::new();
            shard.load_state(&mut |key, value| state.push((key, value))).expect("the state is read");
            if !state.iter().map(|(key, value)| (key, value)).eq(&model.state) {
                return Some(format!("shard {which}: state {state:?}, want {:?}", model.state));
            }
            let reads = everything(model);
            let replies = wait(shard.read(reads.clone())).expect("answered");
            reads.into_iter().zip(replies).find_map(|(read, reply): (Read, ReadReply)| {
                let right = model.answers(number_of, read);
                let differs = !right.contains(&reply);
                differs.then(|| format!("shard {which}: {read:?}\n got {reply:?}\nwant {right:?}"))
            })
        })
    }
}

/// The timelines of a history: neighbours in every part of their name.
fn timeline(number: u8) -> TimelineId {
    let main = TimelineId::main(TopicNumber(1), PartitionNumber(0));
    match number {
        0 => main,
        1 => main.lane(Lane::Retry(SubscriptionNumber(1))),
        _ => TimelineId { topic: TopicNumber(2), ..main },
    }
}

fn number_of(id: TimelineId) -> u8 {
    (0..TIMELINES).find(|number| timeline(*number) == id).expect("a timeline of this history")
}

fn place(handle: u64) -> IndexPlace {
    let index = if handle.is_multiple_of(2) { IndexKind::Key } else { IndexKind::Dedup };
    IndexPlace { index, topic: TopicNumber(1), partition: PartitionNumber(0), hash: [(handle / 2) as u8; 16] }
}

/// One write, done to the model and put into a batch.
fn write(random: &mut Random, model: &mut Naive, writes: &mut Vec<Write>) {
    let number = random.below(u64::from(TIMELINES)) as u8;
    let kind = random.below(20);
    let now = model.now;
    if kind >= 17 {
        return write_other(random, model, now, writes);
    }
    let timeline_id = timeline(number);
    let seq = model.seq.next();
    let kept = model.timelines.entry(number).or_default();
    match kind {
        0..9 => {
            model.seq = seq;
            let position = Position::new(due(random, kept), seq);
            let record = Bytes::from(vec![seq.0 as u8; random.below(60) as usize]);
            kept.records.insert(position, record.clone());
            writes.push(Write::Insert { timeline: timeline_id, position, record });
        }
        9..11 => {
            let ahead: Vec<Position> = kept.ahead().collect();
            let Some(position) = random.pick(&ahead).copied() else { return };
            kept.records.remove(&position);
            writes.push(Write::Remove { timeline: timeline_id, position });
        }
        11 => {
            let ahead = |position: Position| position.max(kept.line);
            let after = ahead(Position::before(due(random, kept)));
            let to = ahead(Position::after(due(random, kept)));
            let seq_max = Seq(model.seq.0.saturating_sub(random.below(4)));
            kept.remove_range(after, to, seq_max);
            writes.push(Write::RemoveRange { timeline: timeline_id, after, to, seq_max });
        }
        12..15 => {
            let whole_millisecond = random.one_in(2);
            kept.advance(random.below(6) as usize, whole_millisecond);
            if random.one_in(2) {
                writes.push(Write::Anchor { timeline: timeline_id, mark: kept.line_mark() });
            }
        }
        _ => {
            let mark = floor(random, kept);
            if mark.position > kept.floor.position {
                kept.floor = mark;
            }
            writes.push(Write::RaiseFloor { timeline: timeline_id, mark });
        }
    }
}

fn write_other(random: &mut Random, model: &mut Naive, now: Time, writes: &mut Vec<Write>) {
    if random.one_in(2) {
        let place = place(random.below(HANDLES));
        let position = Position::new(now, Seq(random.next()));
        let entry = IndexEntry {
            priority: random.next() as u8,
            first: position,
            position,
            outcome: random.next() as u8,
            at: now,
            expires_at: now.saturating_add(DelayMs::from_ms(random.below(300_000))),
        };
        model.index.insert(place, entry);
        writes.push(Write::PutIndex { place, entry });
    } else {
        let key = Bytes::from(vec![b'a'; random.below(STATE_KEYS) as usize]);
        let value = (!random.one_in(3)).then(|| Bytes::from(random.next().to_string()));
        match value.clone() {
            Some(value) => model.state.insert(key.clone(), value),
            None => model.state.remove(&key),
        };
        writes.push(Write::SetState { key, value });
    }
}

/// A due time ahead of the line: with the next sequence number, its own millisecond will do unless
/// the line has passed all of it.
fn due(random: &mut Random, kept: &NaiveTimeline) -> Time {
    let passed_whole = kept.line.seq == Seq(u64::MAX);
    let within = if random.one_in(3) { random.below(5) } else { random.below(SPREAD_MS) };
    kept.line.due.saturating_add(DelayMs::from_ms(within + u64::from(passed_whole)))
}

/// A floor between the present one and the line.
fn floor(random: &mut Random, kept: &NaiveTimeline) -> Mark {
    let first = kept.floor.offset.0;
    let passed = first + random.below(kept.crossed.len() as u64 - first + 1);
    if passed == kept.crossed.len() as u64 && random.one_in(2) {
        return kept.line_mark();
    }
    passed.checked_sub(1).and_then(|offset| kept.mark_past(offset as usize)).unwrap_or(kept.floor)
}

/// A read of anything that is or could be there.
fn read(random: &mut Random, model: &Naive) -> Read {
    let number = random.below(u64::from(TIMELINES)) as u8;
    let timeline = timeline(number);
    let kept = model.timelines.get(&number).cloned().unwrap_or_default();
    let all: Vec<Position> = kept.records.keys().copied().collect();
    let somewhere = |random: &mut Random| match random.below(8) {
        0 => Position::MIN,
        1 => Position::MAX,
        2 => Position::after(due(random, &kept)),
        3 => kept.floor.position,
        _ => random.pick(&all).copied().unwrap_or_default(),
    };
    match random.below(6) {
        0 => Read::Window {
            timeline,
            after: somewhere(random),
            to: somewhere(random),
            limit: 1 + random.below(10) as u32,
            bytes_max: random.below(300),
            values: !random.one_in(4),
        },
        1 => Read::Record { timeline, position: somewhere(random) },
        2 => {
            let (floor, line) = (kept.floor.offset.0, kept.crossed.len() as u64);
            if floor == line {
                return Read::Lookup(place(random.below(HANDLES)));
            }
            // Behind the line only: the store does not know where that is.
            let offset = floor + random.below(line - floor);
            Read::AtOffset { timeline, offset: Offset(offset), limit: 1 + random.below(line - offset) as u32 }
        }
        3 => match random.pick(&kept.crossed).copied() {
            Some(position) => Read::OffsetOf { timeline, position },
            None => Read::Lookup(place(random.below(HANDLES))),
        },
        4 => Read::Lookup(place(random.below(HANDLES))),
        _ => Read::Count {
            timeline,
            after: somewhere(random),
            to: somewhere(random),
            bucket_ms: MINUTE * (1 + random.below(3)),
        },
    }
}

/// Reads that together show everything of a shard.
fn everything(model: &Naive) -> Vec<Read> {
    let mut reads: Vec<Read> = (0..HANDLES).map(|handle| Read::Lookup(place(handle))).collect();
    let empty = NaiveTimeline::default();
    for number in 0..TIMELINES {
        let timeline = timeline(number);
        let kept = model.timelines.get(&number).unwrap_or(&empty);
        let (after, to) = (Position::MIN, Position::MAX);
        reads.push(Read::Window { timeline, after, to, limit: u32::MAX, bytes_max: u64::MAX, values: true });
        reads.push(Read::Count { timeline, after, to, bucket_ms: MINUTE });
        reads.extend(kept.crossed.iter().map(|position| Read::OffsetOf { timeline, position: *position }));
        let (floor, line) = (kept.floor.offset.0, kept.crossed.len() as u64);
        reads.extend((floor..line).map(|offset| Read::AtOffset { timeline, offset: Offset(offset), limit: 1 }));
    }
    reads
}
