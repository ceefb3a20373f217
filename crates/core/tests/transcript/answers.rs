//! What came of a command, as text.

use punctual_core::{
    Answer, BreakerState, CancelAnswer, DeliverNowAnswer, Delivered, ExtendAnswer, FoundMessage, Leased, LogOffsets,
    NackAnswer, PartitionStats, PreparedAnswer, PublishAnswer, PublishRefusal, Refused, RescheduleAnswer, SettleAnswer,
    format::{MessageRecord, StateKey},
};
use punctual_types::{Lane, Position, Read, ReadReply, Record, TimelineId, Write};

use super::{
    meaning::{lane_name, position_text},
    stage::Stage,
    words::Words,
};

/// Names that a line of a crossing shows at most.
const NAMES_SHOWN: usize = 12;

impl Stage {
    pub(super) fn tell(&mut self, answer: Answer) -> Vec<String> {
        match answer {
            Answer::Done => Vec::new(),
            Answer::Gone => vec!["gone".into()],
            Answer::Published(answers) => answers.into_iter().map(|answer| self.tell_published(answer)).collect(),
            Answer::Crossed(crossed) => vec![format!("{crossed:?}")],
            Answer::Leased(leased) => self.tell_leased(leased),
            Answer::Settled(answers) => tell_settled(&answers),
            Answer::Nacked(answers) => answers.into_iter().map(|answer| nacked(answer).into()).collect(),
            Answer::Extended(answers) => answers
                .into_iter()
                .map(|answer| match answer {
                    ExtendAnswer::Extended { expires_at } => format!("until {}", expires_at.unix_ms()),
                    ExtendAnswer::LeaseLost => "lease lost".into(),
                })
                .collect(),
            Answer::Returned(returned) if returned.is_empty() => vec!["nothing came back".into()],
            Answer::Returned(returned) => returned
                .into_iter()
                .map(|(partition, number)| format!("s{number} of t{} has something again", partition.topic))
                .collect(),
            Answer::Cancelled(answer) => vec![
                match answer {
                    CancelAnswer::Cancelled => "cancelled",
                    CancelAnswer::TooLate => "too late",
                    CancelAnswer::NotFound => "not found",
                }
                .into(),
            ],
            Answer::Rescheduled(Ok(answer)) => vec![match answer {
                RescheduleAnswer::Rescheduled { due } => format!("rescheduled, due {}", due.unix_ms()),
                RescheduleAnswer::TooLate => "too late".into(),
                RescheduleAnswer::NotFound => "not found".into(),
            }],
            Answer::Rescheduled(Err(refused)) => vec![refusal(refused)],
            Answer::DeliveredNow(answer) => vec![
                match answer {
                    DeliverNowAnswer::DeliveredNow => "delivered now",
                    DeliverNowAnswer::TooLate => "too late",
                    DeliverNowAnswer::NotFound => "not found",
                }
                .into(),
            ],
            Answer::LogOffsets(offsets) => vec![tell_offsets(&offsets)],
            Answer::LogRead(read) => {
                let told = read.records.iter().map(|(offset, record)| format!("{offset} {}", text(record)));
                told.chain([format!("next {}", read.next)]).collect()
            }
            Answer::OffsetCommitted(committed) => vec![if committed { "done" } else { "past the next" }.into()],
            Answer::Decided(answer) => vec![match answer {
                PreparedAnswer::Committed { due } => format!("committed, due {}", due.unix_ms()),
                PreparedAnswer::RolledBack => "rolled back".into(),
                PreparedAnswer::NotFound => "not found".into(),
            }],
            Answer::RangeCancelled { cancelled, next } => vec![match next {
                Some(next) => format!("{cancelled} cancelled up to {}", position_text(next)),
                None => "nothing to cancel".into(),
            }],
            Answer::Found(found) => vec![found.map_or_else(|| "not found".into(), |found| self.tell_found(*found))],
            Answer::Stats(stats) => tell_stats(&stats),
            Answer::Lines { lines, .. } => {
                lines.into_iter().map(|(id, line)| format!("{}: line {}", lane_name(id), position_text(line))).collect()
            }
            Answer::Outgoing(piece) => vec![format!("{piece:?}")],
            Answer::Accepted { dropped } => vec![format!("{dropped} dropped")],
            Answer::Line { line, floor, last_seq } => {
                vec![format!("line {}, floor {}, last number {last_seq}", position_text(line), position_text(floor))]
            }
        }
    }

    fn tell_published(&mut self, answer: PublishAnswer) -> String {
        let name = self.next_name();
        match answer {
            PublishAnswer::Accepted { message, due } => {
                format!("{} accepted, due {}", self.call(message, name), due.unix_ms())
            }
            PublishAnswer::Prepared { message, due } => {
                format!("{} prepared, due {}", self.call(message, name), due.unix_ms())
            }
            PublishAnswer::Duplicate { message, due } => {
                format!("duplicate of {}, due {}", self.name(message), due.unix_ms())
            }
            PublishAnswer::Replaced { message, due, replaced } => {
                let name = self.call(message, name);
                format!("{name} accepted in place of {}, due {}", self.name(replaced), due.unix_ms())
            }
            PublishAnswer::Kept { message, due } => format!("{} kept, due {}", self.name(message), due.unix_ms()),
            PublishAnswer::Refused(PublishRefusal::KeyConflict { message, due }) => {
                format!("refused: {} has the key, due {}", self.name(message), due.unix_ms())
            }
            PublishAnswer::Refused(PublishRefusal::Due(refused)) => refusal(refused),
        }
    }

    pub(super) fn tell_crossed(&mut self, timeline: TimelineId, answer: Answer) -> Vec<String> {
        let lane = lane_name(timeline);
        let Answer::Crossed(crossed) = answer else { return vec![format!("{lane}: gone")] };
        let names: Vec<_> = crossed.records.iter().take(NAMES_SHOWN).map(body).collect();
        let more = if crossed.more { ", and there is more" } else { "" };
        vec![match crossed.records.len() {
            0 => format!("{lane}: nothing crossed{more}"),
            count if count > NAMES_SHOWN => {
                format!("{lane}: {count} crossed from offset {}: {} …{more}", crossed.first, names.join(" "))
            }
            _ => format!("{lane}: crossed from offset {}: {}{more}", crossed.first, names.join(" ")),
        }]
    }

    fn tell_leased(&mut self, leased: Leased) -> Vec<String> {
        let mut told: Vec<_> = leased.deliveries.iter().map(|delivery| self.tell_delivered(delivery)).collect();
        if leased.passed_over > 0 {
            told.push(format!("{} passed over", leased.passed_over));
        }
        told.extend(leased.damaged.iter().map(|(offset, error)| format!("offset {offset} is damaged: {error}")));
        if told.is_empty() {
            told.push(if leased.progressed { "nothing yet".into() } else { "nothing".into() });
        }
        if told.len() > NAMES_SHOWN {
            let count = told.len();
            told.truncate(2);
            told.push(format!("… {count} in all"));
        }
        told
    }

    fn tell_delivered(&mut self, delivery: &Delivered) -> String {
        self.receipts.push(delivery.lease);
        let late = delivery.offered_at.since(delivery.due).ms();
        let late = if late > 0 { format!(", {late} ms late") } else { String::new() };
        format!(
            "r{} {} (offset {}) attempt {}, due {}{late}, until {}{}",
            self.receipts.len(),
            text(&delivery.record),
            delivery.lease.offset,
            delivery.attempt,
            delivery.due.unix_ms(),
            delivery.expires_at.unix_ms(),
            history(&delivery.record),
        )
    }

    fn tell_found(&mut self, found: FoundMessage) -> String {
        let mut told = format!(
            "{} published {}, deliver at {}, {}{}",
            text(&found.record),
            found.record.published_at.unix_ms(),
            found.record.deliver_at.unix_ms(),
            match (found.record.prepared, found.scheduled) {
                (Some(_), _) => "prepared",
                (None, true) => "scheduled",
                (None, false) => "crossed",
            },
            history(&found.record),
        );
        for progress in found.subscriptions {
            let state = match (progress.settled, progress.leased) {
                (true, _) => "settled",
                (false, true) => "leased",
                (false, false) => "ready",
            };
            told.push_str(&format!(", s{} {state} after {} attempts", progress.subscription, progress.attempts));
        }
        told
    }

    /// What the store or the shard has: `look records`, `look writes`, `look wake`, `look offers s1`.
    pub(super) fn look(&mut self, words: &Words) -> Vec<String> {
        let timeline = self.timeline(words);
        match words.at(1) {
            "records" => {
                self.records(timeline).iter().map(|it| format!("{} {}", position_text(it.position), body(it))).collect()
            }
            "writes" => {
                let batches = std::mem::take(&mut self.house.batches);
                let told = batches.iter().flat_map(|batch| &batch.writes).filter_map(written);
                told.filter(|line| words.after("writes").is_none_or(|word| line.starts_with(word))).collect()
            }
            "state" => self.house.state().into_iter().map(piece).collect(),
            "wake" => {
                let wake = self.house.shard.next_wake(self.house.durable);
                vec![wake.map_or_else(|| "never".into(), |time| format!("at {}", time.unix_ms()))]
            }
            "offers" => {
                let number = words.at(2)[1..].parse().expect("s and a number");
                let number = punctual_types::SubscriptionNumber(number);
                let offered = self.house.shard.offers(self.partition(words), number, self.now.floor);
                vec![match offered {
                    Some((Lane::Retry(_), room)) => format!("retries, room for {room}"),
                    Some((_, room)) => format!("fresh ones, room for {room}"),
                    None => "nothing".into(),
                }]
            }
            other => panic!("nothing to look at: {other:?}"),
        }
    }

    fn records(&self, timeline: TimelineId) -> Vec<Record> {
        let window = Read::Window {
            timeline,
            after: Position::MIN,
            to: Position::MAX,
            limit: u32::MAX,
            bytes_max: u64::MAX,
            values: true,
        };
        match self.house.read(vec![window]).pop() {
            Some(ReadReply::Records(records)) => records,
            other => panic!("a window was asked for: {other:?}"),
        }
    }
}

fn text(record: &MessageRecord) -> String {
    String::from_utf8(record.body.to_vec()).expect("bodies of transcripts are text")
}

fn body(record: &Record) -> String {
    if record.value.is_empty() {
        return position_text(record.position);
    }
    text(&MessageRecord::decode(record.value.clone()).expect("a message can be read"))
}

fn history(record: &MessageRecord) -> String {
    let mut told = String::new();
    if let Some(error) = &record.last_error {
        told.push_str(&format!(", last error {error:?}"));
    }
    if let Some(dead) = &record.dead_letter {
        told.push_str(&format!(
            ", dead (reason {}) from {} {} after {} attempts, first delivered {}",
            dead.reason,
            dead.topic,
            dead.subscription,
            dead.attempts,
            dead.first_delivered_at.map_or_else(|| "never".into(), |time| time.unix_ms().to_string()),
        ));
        if let Some(error) = &dead.last_error {
            told.push_str(&format!(", error {error:?}"));
        }
    }
    told
}

fn tell_offsets(offsets: &LogOffsets) -> String {
    let committed = offsets.committed.map(|offset| format!(", committed {offset}")).unwrap_or_default();
    format!("earliest {}, next {}, at {}{committed}", offsets.earliest, offsets.next, offsets.at)
}

fn tell_settled(answers: &[SettleAnswer]) -> Vec<String> {
    match answers {
        [first, ..] if answers.len() > NAMES_SHOWN && answers.iter().all(|answer| answer == first) => {
            vec![format!("{} of all {}", settled(*first), answers.len())]
        }
        _ => answers.iter().map(|answer| settled(*answer).into()).collect(),
    }
}

fn settled(answer: SettleAnswer) -> &'static str {
    match answer {
        SettleAnswer::Done => "done",
        SettleAnswer::LeaseLost => "lease lost",
    }
}

fn nacked(answer: NackAnswer) -> &'static str {
    match answer {
        NackAnswer::Retry => "retry",
        NackAnswer::DeadLettered => "dead-lettered",
        NackAnswer::LeaseLost => "lease lost",
    }
}

fn refusal(refused: Refused) -> String {
    match refused {
        Refused::DelayTooLong { delay, limit } => format!("refused: delay of {delay} over {limit}"),
        Refused::PastTheEnd => "refused: past the year 9999".into(),
    }
}

fn tell_stats(stats: &PartitionStats) -> Vec<String> {
    let totals = stats.totals;
    let mut told = vec![format!(
        "scheduled {}{}, retained {}, published {}, cancelled {}{}",
        stats.scheduled,
        if stats.prepared > 0 { format!(", prepared {}", stats.prepared) } else { String::new() },
        stats.retained,
        totals.published,
        totals.cancelled,
        expired(totals.expired)
    )];
    for subscription in &stats.subscriptions {
        let totals = subscription.totals;
        let oldest = subscription.oldest_due.map(|due| format!(", oldest due {}", due.unix_ms())).unwrap_or_default();
        let breaker = match subscription.breaker {
            BreakerState::Closed => "",
            BreakerState::Open => ", breaker open",
            BreakerState::HalfOpen => ", breaker half open",
        };
        let filtered = if totals.filtered > 0 { format!(", filtered {}", totals.filtered) } else { String::new() };
        told.push(format!(
            "s{}: ready {}, leased {}, retrying {}; delivered {}, acked {}, failed {}, retried {}, dead {}{filtered}{}{oldest}{breaker}",
            subscription.subscription,
            subscription.ready,
            subscription.leased,
            subscription.retrying,
            totals.delivered,
            totals.acked,
            totals.failed,
            totals.retried,
            totals.dead,
            expired(totals.expired),
        ));
    }
    told
}

/// Only where something has expired.
fn expired(count: u64) -> String {
    if count > 0 { format!(", expired {count}") } else { String::new() }
}

/// A piece of state by its name.
fn piece(key: StateKey) -> String {
    match key {
        StateKey::Shard => "shard".into(),
        StateKey::Timeline(timeline) => format!("timeline {}", lane_name(timeline)),
        StateKey::Reader(timeline, number) => format!("reader s{number} of {}", lane_name(timeline)),
        StateKey::AckChunk(timeline, number, chunk) => format!("acks {chunk} of s{number} of {}", lane_name(timeline)),
        StateKey::Failure(timeline, number, offset) => {
            format!("failures of offset {offset} of s{number} of {}", lane_name(timeline))
        }
        StateKey::SubscriptionTotals(topic, _, number) => format!("totals of s{number} of t{topic}"),
        StateKey::PartitionTotals(topic, _) => format!("totals of t{topic}"),
        StateKey::Arrived(source) => format!("taken from shard {}", source.shard),
    }
}

/// A write as text; pieces of state are left out, whose bytes have tests of their own.
fn written(write: &Write) -> Option<String> {
    Some(match write {
        Write::Insert { timeline, position, .. } => {
            format!("insert {} into {}", position_text(*position), lane_name(*timeline))
        }
        Write::Remove { timeline, position } => {
            format!("remove {} from {}", position_text(*position), lane_name(*timeline))
        }
        Write::RemoveRange { timeline, after, to, seq_max } => format!(
            "remove {} to {} up to number {seq_max} from {}",
            position_text(*after),
            position_text(*to),
            lane_name(*timeline)
        ),
        Write::PutIndex { place, entry } => format!(
            "index {:?}: first {}, stands {}, outcome {}, at {}, expires {}",
            place.index,
            position_text(entry.first),
            position_text(entry.position),
            entry.outcome,
            entry.at.unix_ms(),
            entry.expires_at.unix_ms()
        ),
        Write::Anchor { timeline, mark } => {
            format!("anchor {}: offset {} after {}", lane_name(*timeline), mark.offset, position_text(mark.position))
        }
        Write::RaiseFloor { timeline, mark } => {
            format!("floor of {}: offset {} after {}", lane_name(*timeline), mark.offset, position_text(mark.position))
        }
        Write::SetState { .. } => return None,
    })
}
