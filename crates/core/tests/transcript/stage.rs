//! What a transcript's verbs do.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use punctual_core::{Command, LeaseRef, MessageHandle, NackItem, OnExpiry, PartitionId, TopicRules};
use punctual_types::{DelayMs, Lane, MessageRef, Now, PartitionNumber, Position, Seq, Time, TimelineId, TopicNumber};

use super::{
    meaning::{self, consumer, due, item, lane_name, position_text, rules, start, subscription, topic},
    words::{self, Words},
};
use crate::support::house::House;

/// A shard, and the names that a transcript has given to what it met.
pub(crate) struct Stage {
    pub(super) house: House,
    pub(super) now: Now,
    pub(super) names: BTreeMap<MessageRef, String>,
    messages: BTreeMap<String, MessageRef>,
    /// The names of what is being published, in the order of the answers.
    naming: VecDeque<String>,
    pub(super) receipts: Vec<LeaseRef>,
    /// Whether everything is durable as soon as it is written.
    syncing: bool,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let now = Now::exactly(Time::ZERO);
        Self {
            house: House::new(now),
            now,
            names: BTreeMap::new(),
            messages: BTreeMap::new(),
            naming: VecDeque::new(),
            receipts: Vec::new(),
            syncing: true,
        }
    }

    /// Does what a line says; what came of it, a line each.
    pub(crate) fn perform(&mut self, line: &str) -> Vec<String> {
        let words = Words::of(line);
        let told = match words.at(0) {
            "at" => self.at(&words),
            "sync" => self.sync(&words),
            "topic" => self.topic(&words),
            "sub" => self.subscribe(&words),
            "publish" => self.publish(&words),
            "publish-many" => self.publish_many(&words),
            "advance" => self.advance(&words),
            "expire" => self.ask(Command::ExpireLeases { limit: words.number("max").unwrap_or(1000) }),
            "floors" => self.floors(),
            "retain" => self.retain(),
            "lease" => self.lease(&words),
            "nack" => self.nack(&words),
            "seek" => self.seek(&words),
            "cancel-range" => self.cancel_range(&words),
            "restart" => self.restart(false),
            "crash" => self.restart(true),
            "together" => self.together(&words),
            "look" => self.look(&words),
            "damage" => self.damage(&words),
            _ => {
                let command = self.plain(&words);
                self.ask(command)
            }
        };
        if self.syncing {
            self.house.sync();
        }
        told
    }

    /// The verbs that are one command each.
    fn plain(&self, words: &Words) -> Command {
        let partition = self.partition(words);
        let subscription = || subscription(words.at(1));
        let leases = || self.leases(words);
        match words.at(0) {
            "ack" => Command::Ack { leases: leases() },
            "release" => Command::Release { leases: leases() },
            "extend" => {
                Command::Extend { leases: leases(), lease: words.duration("for").expect("`extend … for TIME`") }
            }
            "cancel" => Command::Cancel { partition, handle: self.handle(words) },
            "deliver" => Command::DeliverNow { partition, handle: self.handle(words) },
            "reschedule" => Command::Reschedule {
                partition,
                handle: self.handle(words),
                due: due(words),
                max_delay: words.duration("limit"),
            },
            "commit" | "rollback" => Command::Decide {
                partition,
                message: *self.messages.get(words.at(1)).expect("a message that was prepared"),
                commit: words.at(0) == "commit",
            },
            "offsets" | "read" | "commit-offset" => meaning::log_command(partition, words),
            "get" => Command::Get { partition, handle: self.handle(words) },
            "stats" => Command::Stats { partition },
            "cancel-range" => Command::CancelRange {
                timeline: self.timeline(words),
                after: Position::before(words.time("from").unwrap_or(Time::ZERO)),
                to: Position::after(words.time("to").unwrap_or(Time::MAX)),
                seq_max: self.house.shard.last_seq(),
            },
            "lines" => Command::Lines { partition },
            "line" => Command::Line { timeline: self.timeline(words) },
            "unsub" => Command::Unsubscribe { partition, subscription: subscription() },
            "delete" => Command::DeletePartition { partition: topic(words.at(1)) },
            "disconnect" => Command::Disconnect {
                partition,
                subscription: subscription(),
                consumer: consumer(words),
                graceful: !words.has("abruptly"),
            },
            "keep" => Command::Keep {
                pieces: vec![(Bytes::from_static(&[16]), Some(Bytes::copy_from_slice(words.at(1).as_bytes())))],
                publishes: Vec::new(),
            },
            other => panic!("no such verb: {other:?}"),
        }
    }

    pub(super) fn ask(&mut self, command: Command) -> Vec<String> {
        let answer = self.house.ask(command, self.now);
        self.tell(answer)
    }

    fn at(&mut self, words: &Words) -> Vec<String> {
        // `at 5000.5` lies between two milliseconds.
        let (whole, between) = match words.at(1).split_once('.') {
            Some((whole, _)) => (words::time(whole), true),
            None => (words::time(words.at(1)), false),
        };
        let ceil = if between { whole.saturating_add(DelayMs::from_ms(1)) } else { whole };
        self.now = Now { floor: whole, ceil };
        Vec::new()
    }

    fn sync(&mut self, words: &Words) -> Vec<String> {
        if words.has("off") {
            self.syncing = false;
        } else {
            self.syncing = words.has("on") || self.syncing;
            self.house.sync();
        }
        Vec::new()
    }

    fn topic(&mut self, words: &Words) -> Vec<String> {
        let rules = TopicRules {
            name: words.at(1).into(),
            dedup_window: words.duration("window").unwrap_or(DelayMs::from_secs(600)),
            offers_wait_for_sync: !words.has("async"),
            retention: words.duration("retention"),
            keep_acked: words.duration("keep-acked").unwrap_or_default(),
            in_doubt: words.after("in-doubt").map(|name| topic(name).topic),
            on_expiry: if words.has("dead-letter") { OnExpiry::DeadLetter } else { OnExpiry::Drop },
        };
        self.ask(Command::Configure { partition: topic(words.at(1)), rules })
    }

    fn subscribe(&mut self, words: &Words) -> Vec<String> {
        let (rules, start) = (rules(words), start(words));
        let (partition, subscription) = (self.partition(words), subscription(words.at(1)));
        self.ask(Command::Subscribe { partition, subscription, rules, start })
    }

    fn publish(&mut self, words: &Words) -> Vec<String> {
        let command = self.publishing(words);
        self.ask(command)
    }

    fn publishing(&mut self, words: &Words) -> Command {
        let names = words.at(1).split(',');
        self.naming.extend(names.clone().map(str::to_owned));
        let items = names.map(|name| item(name, words)).collect();
        Command::Publish { partition: self.partition(words), items, max_delay: words.duration("limit") }
    }

    fn publish_many(&mut self, words: &Words) -> Vec<String> {
        let count: u64 = words.at(1).parse().expect("`publish-many COUNT NAME`");
        let names = (0..count).map(|number| format!("{}{number}", words.at(2)));
        self.naming.extend(names.clone());
        let items = names.map(|name| item(&name, words)).collect();
        let command = Command::Publish { partition: self.partition(words), items, max_delay: None };
        let told = self.ask(command);
        vec![told.first().expect("something was published").clone(), format!("… {count} in all")]
    }

    /// Moves every line that is due once, or the one that is named.
    fn advance(&mut self, words: &Words) -> Vec<String> {
        let durable = self.house.durable;
        let due = self.house.shard.due_timelines(self.now.floor, durable);
        let due = match words.after("line") {
            Some(_) => vec![self.timeline(words)],
            None => due,
        };
        if due.is_empty() {
            return vec!["nothing is due".into()];
        }
        let mut told = Vec::new();
        for timeline in due {
            if let Lane::Expiry | Lane::Check = timeline.lane {
                self.ask(match timeline.lane {
                    Lane::Check => Command::Check { timeline },
                    _ => Command::Expire { timeline },
                });
                told.push(format!("{}: taken", lane_name(timeline)));
                continue;
            }
            let values = !words.has("blind");
            let answer = self.house.ask(Command::Advance { timeline, durable, values }, self.now);
            told.extend(self.tell_crossed(timeline, answer));
        }
        told
    }

    /// Ends what has been kept for long enough, piece by piece.
    fn retain(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        while let Some(timeline) = self.house.shard.due_retentions(self.now.floor).first().copied() {
            self.ask(Command::Retain { timeline });
            let line = self.ask(Command::Line { timeline });
            told.push(format!("{}: {}", lane_name(timeline), line.join("")));
        }
        told.extend(self.floors());
        told
    }

    fn floors(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        while let Some(timeline) = self.house.shard.risen_floor() {
            self.ask(Command::RaiseFloor { timeline });
            let line = self.ask(Command::Line { timeline });
            told.push(format!("{}: {}", lane_name(timeline), line.join("")));
        }
        told
    }

    fn lease(&mut self, words: &Words) -> Vec<String> {
        let (partition, subscription) = (self.partition(words), subscription(words.at(1)));
        let offered = self.house.shard.offers(partition, subscription, self.now.floor);
        let Some((lane, room)) = offered else { return vec!["nothing is offered".into()] };
        let lane = if words.has("retries") {
            Lane::Retry(subscription)
        } else if words.has("fresh") {
            Lane::MAIN
        } else {
            lane
        };
        self.ask(Command::Lease {
            partition,
            subscription,
            lane,
            consumer: consumer(words),
            max: words.number("max").unwrap_or(1000).min(room),
            bytes_max: words.number("bytes").unwrap_or(1 << 20),
            lease: words.duration("for"),
        })
    }

    fn nack(&mut self, words: &Words) -> Vec<String> {
        let random = words.number("random").unwrap_or(1 << 63);
        let items = self.leases(words).into_iter().map(|lease| NackItem { lease, random }).collect();
        self.ask(Command::Nack { items, delay: words.duration("after"), error: words.rest_after("error") })
    }

    fn seek(&mut self, words: &Words) -> Vec<String> {
        let to = match words.after("to").expect("`seek SUB to …`") {
            "earliest" => Some(Time::ZERO),
            "latest" => None,
            time => Some(words::time(time)),
        };
        self.ask(Command::Seek { partition: self.partition(words), subscription: subscription(words.at(1)), to })
    }

    fn cancel_range(&mut self, words: &Words) -> Vec<String> {
        let seq_max = match words.after("published-by") {
            Some(name) => self.messages[name].first.seq,
            None => self.house.shard.last_seq(),
        };
        let (mut after, to) = (
            Position::before(words.time("from").unwrap_or(Time::ZERO)),
            Position::after(words.time("to").unwrap_or(Time::MAX)),
        );
        let mut told = Vec::new();
        let timeline = self.timeline(words);
        loop {
            let answer = self.house.ask(Command::CancelRange { timeline, after, to, seq_max }, self.now);
            let punctual_core::Answer::RangeCancelled { cancelled, next } = answer else { unreachable!() };
            match next {
                Some(next) => {
                    told.push(format!("{cancelled} cancelled up to {}", position_text(next)));
                    after = next;
                }
                None => return told,
            }
        }
    }

    fn restart(&mut self, crashed: bool) -> Vec<String> {
        if crashed {
            self.house.crash(self.now);
        } else {
            self.house.restart(self.now);
        }
        let (epoch, time) = (self.house.shard.epoch(), self.house.shard.time());
        vec![format!("epoch {epoch}, time {}, last number {}", time.unix_ms(), self.house.shard.last_seq())]
    }

    /// `damage a` gives the stored message other bytes, `damage a away` takes it.
    fn damage(&mut self, words: &Words) -> Vec<String> {
        let message = self.messages[words.at(1)];
        let record = (!words.has("away")).then(|| Bytes::from_static(b"\x01\x99"));
        self.house.damage(message.timeline(), message.first, record);
        Vec::new()
    }

    /// Asks several things in one group: `together cancel a | publish b key=k`.
    fn together(&mut self, words: &Words) -> Vec<String> {
        let line = words.rest_after("together").unwrap_or_default();
        let commands = line
            .split('|')
            .map(|part| {
                let words = Words::of(part);
                if words.at(0) == "publish" { self.publishing(&words) } else { self.plain(&words) }
            })
            .collect();
        let answers = self.house.ask_all(commands, self.now);
        answers.into_iter().flat_map(|answer| self.tell(answer)).collect()
    }

    /// The name of the message that the next answer to a publish is about.
    pub(super) fn next_name(&mut self) -> String {
        self.naming.pop_front().expect("an answer for each message")
    }

    /// Calls a message by a name from here on.
    pub(super) fn call(&mut self, message: MessageRef, name: String) -> String {
        self.names.insert(message, name.clone());
        self.messages.insert(name.clone(), message);
        name
    }

    /// The name of a message that was published before.
    pub(super) fn name(&self, message: MessageRef) -> &str {
        self.names.get(&message).expect("an answer names a message that was accepted")
    }

    pub(super) fn partition(&self, words: &Words) -> PartitionId {
        topic(words.after("in").unwrap_or("t1"))
    }

    pub(super) fn timeline(&self, words: &Words) -> TimelineId {
        let priority = Lane::Priority(words.number("priority").unwrap_or(0));
        let lane = words.after("retries-of").map_or(priority, |name| Lane::Retry(subscription(name)));
        self.partition(words).lane(lane)
    }

    fn leases(&self, words: &Words) -> Vec<LeaseRef> {
        let number = |word: &str| word[1..].parse::<usize>().expect("a receipt is r and a number");
        match (words.after("from"), words.after("to")) {
            (Some(from), Some(to)) => self.receipts[number(from) - 1..number(to)].to_vec(),
            _ => words.numbered('r').into_iter().map(|word| self.receipts[number(word) - 1]).collect(),
        }
    }

    fn handle(&self, words: &Words) -> MessageHandle {
        match words.named("key") {
            Some(key) => MessageHandle::Key(House::hash().of(key.as_bytes())),
            None if words.at(1) == "nobody" => MessageHandle::Message(MessageRef {
                topic: TopicNumber(1),
                partition: PartitionNumber(0),
                priority: 0,
                first: Position::new(words.time("due").unwrap_or(Time::ZERO), Seq(77_777)),
            }),
            None => MessageHandle::Message(*self.messages.get(words.at(1)).expect("a message that was published")),
        }
    }
}
