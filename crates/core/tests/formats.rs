//! Stored bytes, kind by kind: what lies on users' disks. A change here is a change of format.
//!
//! Each value has its bytes written out. They are read to the value and the value is written to
//! the same bytes; every prefix of them and random bytes are read without a panic; a later version
//! is refused and an unknown field passed over.

use bytes::Bytes;
use proptest::prelude::*;
use punctual_core::{
    Due, HandleHash, OnKeyConflict, PartitionId, PublishItem, Transfer, TransferItem, TransferSource,
    format::{
        DeadLetter, ExpiryMark, FormatError, LetterSource, MessageRecord, Prepared, StateKey, failure::Failure,
        partition_totals::PartitionTotals, reader_state, reader_state::ReaderState, shard_meta::ShardMeta,
        subscription_totals::SubscriptionTotals, timeline_state::TimelineState, transfer,
    },
};
use punctual_types::{
    DelayMs, Epoch, Lane, Mark, MessageRef, Offset, PartitionNumber, Position, Seq, ShardNumber, SubscriptionNumber,
    Time, TimelineId, TopicNumber,
};

/// A kind of stored value.
struct Kind<T> {
    decode: fn(Bytes) -> Result<T, FormatError>,
    encode: fn(&T) -> Bytes,
}

const RECORD: Kind<MessageRecord> = Kind { decode: MessageRecord::decode, encode: MessageRecord::encode };
const SHARD: Kind<ShardMeta> = Kind { decode: ShardMeta::decode, encode: ShardMeta::encode };
const TIMELINE: Kind<TimelineState> = Kind { decode: TimelineState::decode, encode: TimelineState::encode };
const READER: Kind<ReaderState> = Kind { decode: reader_state::decode, encode: |state| reader_state::encode(*state) };
const MARK: Kind<ExpiryMark> = Kind { decode: ExpiryMark::decode, encode: ExpiryMark::encode };
const FAILURE: Kind<Failure> = Kind { decode: Failure::decode, encode: Failure::encode };
const PARTITION: Kind<PartitionTotals> = Kind { decode: PartitionTotals::decode, encode: PartitionTotals::encode };
const SUBSCRIPTION: Kind<SubscriptionTotals> =
    Kind { decode: SubscriptionTotals::decode, encode: SubscriptionTotals::encode };

/// Checks a value of tagged fields against its bytes, every damage that can be told, and what is to
/// be passed over.
#[track_caller]
fn check<T: PartialEq + std::fmt::Debug>(kind: &Kind<T>, value: T, bytes: &[u8]) {
    let stored = Bytes::copy_from_slice(bytes);
    assert_eq!((kind.encode)(&value), stored, "written");
    assert_eq!((kind.decode)(stored), Ok(value), "read");
    for end in 0..bytes.len() {
        // A prefix that ends between fields reads as a value without the rest; none panics.
        let _ = (kind.decode)(Bytes::copy_from_slice(&bytes[..end]));
    }
    assert!((kind.decode)(Bytes::new()).is_err(), "no bytes at all");
    for version in [0, 2, 255] {
        let mut other = bytes.to_vec();
        other[0] = version;
        assert!((kind.decode)(other.into()).is_err(), "version {version}");
    }
    let again = (kind.decode)([bytes, &[200, 3, 1, 2, 3, 201, 0]].concat().into()).expect("unknown fields are legal");
    assert_eq!((kind.encode)(&again), bytes, "unknown fields are passed over");
    for cut in [&[200][..], &[200, 0x80], &[200, 5, 1], &[200, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]] {
        let damaged = [bytes, cut].concat();
        assert!((kind.decode)(damaged.into()).is_err(), "a field that is cut off: {cut:?}");
    }
}

fn time(ms: u64) -> Time {
    Time::from_unix_ms(ms).expect("before the year 10000")
}

fn message() -> MessageRef {
    MessageRef {
        topic: TopicNumber(0x0102_0304),
        partition: PartitionNumber(0x0506),
        priority: 7,
        first: Position::new(time(0x0809_0a0b_0c0d), Seq(0x0e0f_1011_1213_1415)),
    }
}

const MESSAGE: &[u8] = b"\x01\x15\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15";

#[test]
fn a_message_without_anything_is_its_id_its_time_and_its_body() {
    let record = MessageRecord::new(message(), time(0x0800_0000_0001), Bytes::from_static(b"hi"));
    check(&RECORD, record, &[b"\x01", MESSAGE, b"\x02\x06\x08\x00\x00\x00\x00\x01", b"\x10\x02hi"].concat());
    let empty = MessageRecord::new(message(), Time::ZERO, Bytes::new());
    check(&RECORD, empty, &[b"\x01", MESSAGE, b"\x10\x00"].concat());
}

#[test]
fn a_message_with_everything_keeps_its_bytes() {
    let record = MessageRecord {
        deliver_at: time(0x0b0a),
        key: Some("k".into()),
        dedup_id: Some("dd".into()),
        ordering_key: Some("o".into()),
        tag: Some(String::new()),
        headers: vec![("a".into(), "bc".into()), (String::new(), "é".into()), ("a".into(), String::new())],
        expires_after: Some(DelayMs::ZERO),
        attempts: 3,
        first_delivered_at: Some(time(0x0102)),
        last_error: Some("no".into()),
        dead_letter: Some(DeadLetter {
            reason: DeadLetter::EXPIRED,
            topic: "t".into(),
            subscription: "s".into(),
            attempts: 0x0203,
            first_delivered_at: Some(time(0x0304)),
            last_error: Some("e".into()),
            from: Some(LetterSource {
                partition: PartitionId { topic: TopicNumber(0x0102_0304), partition: PartitionNumber(0x0506) },
                subscription: SubscriptionNumber(0x0708_090a),
            }),
        }),
        prepared: Some(Prepared { timeout: DelayMs::from_ms(0x0506), max_checks: 7, checks: 8 }),
        ..MessageRecord::new(message(), time(1), Bytes::from(vec![0xab; 200]))
    };
    let headers = b"\x08\x1e\0\0\0\x01a\0\0\0\x02bc\0\0\0\0\0\0\0\x02\xc3\xa9\0\0\0\x01a\0\0\0\0";
    let mut bytes =
        [b"\x01", MESSAGE, b"\x02\x01\x01\x03\x02\x0b\x0a\x04\x01k\x05\x02dd\x06\x01o\x07\x00", headers].concat();
    bytes.extend_from_slice(b"\x09\x08\0\0\0\0\0\0\0\0\x0a\x01\x03\x0b\x02\x01\x02\x0c\x02no");
    bytes.extend_from_slice(b"\x0d\x01\x02\x0e\x01t\x0f\x01s\x11\x02\x02\x03\x12\x02\x03\x04\x13\x01e");
    bytes.extend_from_slice(b"\x17\x0a\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a");
    bytes.extend_from_slice(b"\x14\x01\x08\x15\x08\0\0\0\0\0\0\x05\x06\x16\x01\x07");
    bytes.extend_from_slice(b"\x10\xc8\x01");
    bytes.extend_from_slice(&[0xab; 200]);
    check(&RECORD, record, &bytes);
}

#[test]
fn a_message_that_is_cut_off_anywhere_is_refused() {
    let record = MessageRecord { key: Some("k".into()), ..MessageRecord::new(message(), time(1), Bytes::new()) };
    let stored = record.encode();
    for end in 0..stored.len() {
        assert!(MessageRecord::decode(stored.slice(..end)).is_err(), "cut to {end} of {} bytes", stored.len());
    }
}

#[test]
fn a_message_that_is_damaged_is_refused() {
    let refused = |fields: &[u8]| MessageRecord::decode([b"\x01", MESSAGE, b"\x10\0", fields].concat().into()).is_err();
    assert!(!refused(b"\x10\0"), "the body comes last, but need not");
    assert!(MessageRecord::decode(Bytes::from_static(b"\x01\x10\x02hi")).is_err(), "no id");
    assert!(MessageRecord::decode(Bytes::from_static(b"\x01\x01\x02hi\x10\x02hi")).is_err(), "a short id");
    assert!(refused(b"\x02\x06\xff\xff\xff\xff\xff\xff"), "a time after the year 9999");
    assert!(refused(b"\x02\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01"), "a number of nine bytes");
    assert!(refused(b"\x0a\x05\x01\0\0\0\0"), "attempts of more than 32 bits");
    assert!(refused(b"\x0d\x02\x01\0"), "a reason of more than 8 bits");
    assert!(refused(b"\x04\x01\xff"), "a key that is not UTF-8");
    assert!(refused(b"\x08\x03\0\0\0"), "headers that end within a length");
    assert!(refused(b"\x08\x05\0\0\0\x09a"), "a header longer than all");
    assert!(refused(b"\x08\x05\0\0\0\x01a"), "a header without a value");
    assert!(refused(b"\x08\x09\0\0\0\x01\xff\0\0\0\0"), "a header that is not UTF-8");
    let mut late = [b"\x01", MESSAGE].concat();
    late[9..15].fill(0xff);
    assert!(MessageRecord::decode(late.into()).is_err(), "an id after the year 9999");
}

const TRANSFER: Kind<Transfer> = Kind { decode: transfer::decode, encode: transfer::encode };

#[test]
fn a_transfer_keeps_its_bytes() {
    let timeline =
        TimelineId { topic: TopicNumber(2), partition: PartitionNumber(3), lane: Lane::Retry(SubscriptionNumber(4)) };
    let item = TransferItem::Record { timeline, due: time(0x0102), record: Bytes::from_static(b"any") };
    check(
        &TRANSFER,
        Transfer { number: 5, item },
        b"\x01\x01\x01\x05\x02\x0b\0\0\0\x02\0\x03\x02\0\0\0\x04\x03\x03any\x04\x02\x01\x02",
    );
    let item = PublishItem {
        due: Due::After(DelayMs::from_ms(7)),
        body: Bytes::from_static(b"hi"),
        key: Some("k".into()),
        on_conflict: OnKeyConflict::Replace,
        dedup_id: None,
        ordering_key: None,
        tag: None,
        headers: Vec::new(),
        priority: 0,
        expires_after: None,
        prepare: None,
    };
    let partition = PartitionId { topic: TopicNumber(2), partition: PartitionNumber(3) };
    let record = [&b"\x01\x01\x15\0\0\0\x02\0\x03"[..], &[0; 15], b"\x04\x01k\x10\x02hi"].concat();
    let to = b"\x01\x01\x01\x01\x02\x0b\0\0\0\x02\0\x03\x01\0\0\0\0\x03\x1f";
    check(
        &TRANSFER,
        Transfer { number: 1, item: TransferItem::Publish { partition, item: Box::new(item) } },
        &[&to[..], &record, b"\x04\x01\x07\x05\x01\x02\x06\x01\x02"].concat(),
    );
}

#[test]
fn a_body_is_shared_with_the_stored_bytes() {
    let stored = MessageRecord::new(message(), Time::ZERO, Bytes::from_static(b"body")).encode();
    let body = MessageRecord::decode(stored.clone()).expect("it was just written").body;
    assert_eq!(body.as_ptr(), stored[stored.len() - 4..].as_ptr());
}

#[test]
fn a_shard_keeps_its_bytes() {
    let meta = ShardMeta {
        last_seq: Seq(0x0102),
        time: time(0x0304),
        epoch: Epoch(5),
        boot: *b"0123456789abcdef",
        boottime_ns: 0x0708,
        time_ns: u64::MAX,
    };
    let bytes =
        b"\x01\x01\x02\x01\x02\x02\x02\x03\x04\x03\x01\x05\x04\x100123456789abcdef\x05\x02\x07\x08\x06\x08\xff\xff\xff\xff\xff\xff\xff\xff";
    check(&SHARD, meta, bytes);
    check(&SHARD, ShardMeta::default(), &[b"\x01\x04\x10", &[0u8; 16][..]].concat());
    assert!(ShardMeta::decode(Bytes::from_static(b"\x01\x04\x02ab")).is_err(), "a short boot id");
}

#[test]
fn a_timeline_keeps_its_bytes() {
    let mark = |offset, due, seq| Mark { offset: Offset(offset), position: Position::new(time(due), Seq(seq)) };
    let state = TimelineState { line: mark(0x0102, 0x03, 0x04), floor: mark(0x05, 0x02, 0x0607), scheduled: 9 };
    let bytes = b"\x01\x01\x02\x01\x02\x02\x01\x03\x03\x01\x04\x04\x01\x05\x05\x01\x02\x06\x02\x06\x07\x07\x01\x09";
    check(&TIMELINE, state, bytes);
    check(&TIMELINE, TimelineState::default(), b"\x01");
    assert!(TimelineState::decode(Bytes::from_static(b"\x01\x04\x01\x01")).is_err(), "a floor ahead of the line");
}

#[test]
fn a_reader_and_its_acks_keep_their_bytes() {
    let state = ReaderState { floor: Offset(0x0102), began_at: time(0x0304) };
    check(&READER, state, b"\x01\x01\x02\x01\x02\x02\x02\x03\x04");
    check(&READER, ReaderState::default(), b"\x01");
    let mut chunk = [0u64; 16];
    chunk[0] = 1;
    chunk[15] = 1 << 63 | 2;
    let mut bytes = [0u8; 128];
    bytes[7] = 1;
    bytes[120] = 0x80;
    bytes[127] = 2;
    assert_eq!(reader_state::encode_chunk(&chunk), bytes[..]);
    assert_eq!(reader_state::decode_chunk(&bytes), Ok(chunk));
    for length in (0..128).chain([129, 136]) {
        assert!(reader_state::decode_chunk(&vec![0; length]).is_err(), "{length} bytes");
    }
}

#[test]
fn a_mark_of_expiry_keeps_its_bytes() {
    let position = Position::new(time(0x0102_0304_0506), Seq(7));
    let mark = ExpiryMark { message: message(), position, lane: Lane::MAIN, counted: false };
    let stands = b"\x02\x0e\x01\x02\x03\x04\x05\x06\0\0\0\0\0\0\0\x07";
    check(&MARK, mark, &[b"\x01", MESSAGE, stands].concat());
    let again = ExpiryMark { lane: Lane::Retry(SubscriptionNumber(9)), counted: true, ..mark };
    check(&MARK, again, &[b"\x01", MESSAGE, stands, b"\x03\x05\x02\0\0\0\x09\x04\x01\x01"].concat());
    assert!(ExpiryMark::decode(Bytes::from_static(b"\x01")).is_err(), "a mark of nothing");
}

#[test]
fn a_failure_keeps_its_bytes() {
    let failure = Failure { count: 2, first_delivered_at: time(0x0102), not_before: None, last_error: None };
    check(&FAILURE, failure.clone(), b"\x01\x01\x01\x02\x02\x02\x01\x02");
    let parked = Failure { not_before: Some(time(0x03)), last_error: Some("no".into()), ..failure };
    check(&FAILURE, parked, b"\x01\x01\x01\x02\x02\x02\x01\x02\x03\x01\x03\x04\x02no");
    assert!(Failure::decode(Bytes::from_static(b"\x01\x01\x05\x01\0\0\0\0")).is_err(), "a count of 33 bits");
}

#[test]
fn totals_keep_their_bytes() {
    let totals = PartitionTotals { published: 1, cancelled: 0x0203, expired: 4 };
    check(&PARTITION, totals, b"\x01\x01\x01\x01\x02\x02\x02\x03\x03\x01\x04");
    let totals = SubscriptionTotals { delivered: 5, acked: 4, failed: 3, retried: 2, dead: 1, filtered: 6, expired: 7 };
    check(
        &SUBSCRIPTION,
        totals,
        b"\x01\x01\x01\x05\x02\x01\x04\x03\x01\x03\x04\x01\x02\x05\x01\x01\x06\x01\x06\x07\x01\x07",
    );
}

#[test]
fn state_keys_keep_their_bytes_and_nothing_else_is_one() {
    let timeline = TimelineId {
        topic: TopicNumber(0x0102_0304),
        partition: PartitionNumber(0x0506),
        lane: Lane::Retry(SubscriptionNumber(0x0708_090a)),
    };
    let (topic, partition, subscription) = (timeline.topic, timeline.partition, SubscriptionNumber(0x0b0c_0d0e));
    let lane = b"\x01\x02\x03\x04\x05\x06\x02\x07\x08\x09\x0a";
    let keys: [(StateKey, Vec<u8>); 8] = [
        (StateKey::Shard, vec![1]),
        (StateKey::Timeline(timeline), [b"\x02", &lane[..]].concat()),
        (StateKey::Reader(timeline, subscription), [b"\x03", &lane[..], b"\x0b\x0c\x0d\x0e"].concat()),
        (
            StateKey::AckChunk(timeline, subscription, 0x0f),
            [b"\x04", &lane[..], b"\x0b\x0c\x0d\x0e\0\0\0\0\0\0\0\x0f"].concat(),
        ),
        (
            StateKey::Failure(timeline, subscription, Offset(0x1011)),
            [b"\x05", &lane[..], b"\x0b\x0c\x0d\x0e\0\0\0\0\0\0\x10\x11"].concat(),
        ),
        (
            StateKey::SubscriptionTotals(topic, partition, subscription),
            b"\x06\x01\x02\x03\x04\x05\x06\x0b\x0c\x0d\x0e".to_vec(),
        ),
        (StateKey::PartitionTotals(topic, partition), b"\x07\x01\x02\x03\x04\x05\x06".to_vec()),
        (
            StateKey::Arrived(TransferSource { directory: *b"0123456789abcdef", shard: ShardNumber(0x0102) }),
            b"\x090123456789abcdef\x01\x02".to_vec(),
        ),
    ];
    for (key, bytes) in keys {
        assert_eq!(key.to_bytes(), bytes);
        assert_eq!(StateKey::from_bytes(&bytes), Some(key));
        for end in 0..bytes.len() {
            assert_eq!(StateKey::from_bytes(&bytes[..end]), None, "{key:?} cut to {end}");
        }
        assert_eq!(StateKey::from_bytes(&[&bytes[..], b"\0"].concat()), None, "{key:?} and more");
    }
    for family in (0..=255).filter(|family| !(1..=7).contains(family)) {
        assert_eq!(StateKey::from_bytes(&[family; 30]), None, "family {family}");
    }
}

#[test]
fn handles_are_hashed_as_they_were() {
    // SipHash-2-4 with 128 bits; the first vector is of its authors.
    let hash = HandleHash::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    let published = [0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93];
    assert_eq!(hash.of(b""), published);
    assert_eq!(hash.partition(b"", 1000), (u64::from_le_bytes(published[..8].try_into().expect("8")) % 1000) as u16);
    assert_eq!(hash.partition(b"anything", 0), 0);
}

#[test]
fn numbers_and_lengths_end_at_their_bounds() {
    let reader = |bytes: &[u8]| reader_state::decode(Bytes::copy_from_slice(bytes)).map(|state| state.floor);
    assert_eq!(reader(b"\x01\x01\x08\xff\xff\xff\xff\xff\xff\xff\xff"), Ok(Offset(u64::MAX)));
    assert_eq!(reader(b"\x01\x01\x03\x00\x00\x05"), Ok(Offset(5)), "leading zeros");
    assert_eq!(reader(b"\x01\x01\x81\x00\x05"), Ok(Offset(5)), "a length with a leading zero");
    assert!(reader(b"\x01\x01\x09\0\0\0\0\0\0\0\0\x01").is_err(), "nine bytes");
    assert!(reader(b"\x01\x01\xff\xff\xff\xff\x7f").is_err(), "longer than the value");
    assert!(reader(b"\x01\x01\x81\x80\x80\x80\x80\x00\x05").is_err(), "a length of six digits");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_read_or_refused_and_never_panic(
        version in 0u8..3, fields in prop::collection::vec((0u8..22, prop::collection::vec(any::<u8>(), 0..24)), 0..8),
        tail in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let mut bytes = vec![version];
        for (tag, value) in fields {
            bytes.push(tag);
            bytes.push(value.len() as u8);
            bytes.extend(value);
        }
        bytes.extend(tail);
        let bytes = Bytes::from(bytes);
        let _ = StateKey::from_bytes(&bytes);
        let _ = reader_state::decode_chunk(&bytes);
        // Whatever is read is written to bytes that read as the same.
        fn same<T: PartialEq + std::fmt::Debug>(kind: &Kind<T>, bytes: &Bytes) {
            if let Ok(value) = (kind.decode)(bytes.clone()) {
                assert_eq!((kind.decode)((kind.encode)(&value)), Ok(value));
            }
        }
        same(&SHARD, &bytes);
        same(&TIMELINE, &bytes);
        same(&READER, &bytes);
        same(&MARK, &bytes);
        same(&FAILURE, &bytes);
        same(&PARTITION, &bytes);
        same(&SUBSCRIPTION, &bytes);
        let _ = MessageRecord::decode(bytes);
    }

    #[test]
    fn a_damaged_message_is_read_or_refused_and_never_panics(
        place in any::<prop::sample::Index>(), bits in 1u8.., cut in any::<prop::sample::Index>(),
        body in prop::collection::vec(any::<u8>(), 0..300), key in ".{0,20}", headers in prop::collection::vec((".{0,9}", ".{0,9}"), 0..4),
    ) {
        let record = MessageRecord {
            key: Some(key), headers, dead_letter: Some(DeadLetter::default()), attempts: 4,
            ..MessageRecord::new(message(), time(77), body.into())
        };
        let stored = record.encode();
        prop_assert_eq!(MessageRecord::decode(stored.clone()).expect("it was just written").body, record.body);
        let mut damaged = stored.to_vec();
        damaged[place.index(stored.len())] ^= bits;
        damaged.truncate(cut.index(stored.len()) + 1);
        let _ = MessageRecord::decode(damaged.into());
    }
}
