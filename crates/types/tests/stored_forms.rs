//! Forms that lie on users' disks: changing one of these bytes is a change of format.

use punctual_types::{
    Lane, MessageRef, PartitionNumber, Position, Seq, ShardNumber, SubscriptionNumber, Time, TimelineId, TopicNumber,
    placement,
};

fn time(ms: u64) -> Time {
    Time::from_unix_ms(ms).expect("a time before the year 10000")
}

#[test]
fn a_timeline_is_eleven_bytes_in_the_order_of_its_parts() {
    let id = TimelineId {
        topic: TopicNumber(0x0102_0304),
        partition: PartitionNumber(0x0506),
        lane: Lane::Retry(SubscriptionNumber(0x0708_090a)),
    };
    assert_eq!(id.to_bytes(), [1, 2, 3, 4, 5, 6, 2, 7, 8, 9, 10]);
    assert_eq!(TimelineId::from_bytes(&id.to_bytes()), Some(id));
    assert_eq!(TimelineId::from_bytes(&id.to_bytes()[..10]), None);
}

#[test]
fn every_lane_comes_back_and_nothing_else_is_a_lane() {
    for (lane, bytes) in [
        (Lane::Priority(7), [1, 0, 0, 0, 7]),
        (Lane::Retry(SubscriptionNumber(9)), [2, 0, 0, 0, 9]),
        (Lane::Expiry, [3, 0, 0, 0, 0]),
        (Lane::Check, [4, 0, 0, 0, 0]),
        (Lane::Outgoing(ShardNumber(0x0102)), [5, 0, 0, 1, 2]),
    ] {
        assert_eq!(lane.to_bytes(), bytes);
        assert_eq!(Lane::from_bytes(bytes), Some(lane));
    }
    for bytes in [[0; 5], [1, 0, 0, 1, 0], [3, 0, 0, 0, 1], [5, 0, 1, 0, 0], [6, 0, 0, 0, 0]] {
        assert_eq!(Lane::from_bytes(bytes), None);
    }
}

#[test]
fn a_message_reference_keeps_the_last_millisecond_of_the_year_9999() {
    let reference = MessageRef {
        topic: TopicNumber(1),
        partition: PartitionNumber(2),
        priority: 3,
        first: Position::new(Time::MAX, Seq(u64::MAX)),
    };
    let bytes = reference.to_bytes();
    assert_eq!(
        bytes,
        [0, 0, 0, 1, 0, 2, 3, 0xe6, 0x77, 0xd2, 0x1f, 0xdb, 0xff, 255, 255, 255, 255, 255, 255, 255, 255]
    );
    assert_eq!(MessageRef::from_bytes(&bytes), Some(reference));
}

#[test]
fn partitions_of_a_topic_lie_on_shards_beside_each_other() {
    assert_eq!(placement(TopicNumber(15), PartitionNumber(0), 16), ShardNumber(15));
    assert_eq!(placement(TopicNumber(15), PartitionNumber(1), 16), ShardNumber(0));
    assert_eq!(placement(TopicNumber(u32::MAX), PartitionNumber(u16::MAX), 16), ShardNumber(14));
}

#[test]
fn times_end_with_the_year_9999_and_nothing_is_clamped() {
    use punctual_types::DelayMs;
    assert_eq!(Time::from_unix_ms(253_402_300_800_000), None);
    assert_eq!(time(1).checked_add(DelayMs::from_ms(u64::MAX)), None);
    assert_eq!(Time::MAX.checked_add(DelayMs::from_ms(1)), None);
    assert_eq!(time(5).checked_add(DelayMs::from_ms(7)), Some(time(12)));
}
