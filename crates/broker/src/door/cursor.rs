//! Cursors: where a page ended, bound to the query it belongs to.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use punctual_broker_api::{Code, Error};
use punctual_core::HandleHash;
use punctual_types::{PartitionNumber, Position, Seq, Time};

const VERSION: u8 = 1;
const CHECK_BYTES: usize = 8;

/// The last message of a page: pages go by due time, then partition, then sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct After {
    pub(super) due: Time,
    pub(super) partition: PartitionNumber,
    pub(super) seq: Seq,
}

impl After {
    /// The position after which a partition's messages of the next page lie.
    pub(super) fn position_in(self, partition: PartitionNumber) -> Position {
        match partition.cmp(&self.partition) {
            std::cmp::Ordering::Less => Position::after(self.due),
            std::cmp::Ordering::Equal => Position::new(self.due, self.seq),
            std::cmp::Ordering::Greater => Position::before(self.due),
        }
    }
}

fn check(hash: &HandleHash, query: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut signed = bytes.to_vec();
    signed.extend_from_slice(query);
    hash.of(&signed).into_iter().take(CHECK_BYTES).collect()
}

fn seal(hash: &HandleHash, query: &[u8], place: &[u8]) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(place);
    let check = check(hash, query, &bytes);
    bytes.extend_from_slice(&check);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn open(hash: &HandleHash, query: &[u8], cursor: &str) -> Result<Vec<u8>, Error> {
    let refused = || {
        Error::new(Code::InvalidCursor, "the cursor is not one that this query gave out")
            .with_field("cursor")
            .with_hint("begin again without a cursor; filters must stay the same from page to page")
    };
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| refused())?;
    let length = bytes.len().checked_sub(CHECK_BYTES).ok_or_else(refused)?;
    let (signed, given) = bytes.split_at_checked(length).ok_or_else(refused)?;
    if signed.first() != Some(&VERSION) || check(hash, query, signed) != given {
        return Err(refused());
    }
    Ok(signed.get(1..).unwrap_or_default().to_vec())
}

/// The cursor of a page of messages.
pub(super) fn after_message(hash: &HandleHash, query: &[u8], after: After) -> String {
    let mut place = after.due.unix_ms().to_be_bytes().to_vec();
    place.extend_from_slice(&after.partition.0.to_be_bytes());
    place.extend_from_slice(&after.seq.0.to_be_bytes());
    seal(hash, query, &place)
}

/// Where a page of messages goes on.
pub(super) fn read_message(hash: &HandleHash, query: &[u8], cursor: &str) -> Result<After, Error> {
    let place = open(hash, query, cursor)?;
    let read = || {
        let due = u64::from_be_bytes(place.get(..8)?.try_into().ok()?);
        let partition = u16::from_be_bytes(place.get(8..10)?.try_into().ok()?);
        let seq = u64::from_be_bytes(place.get(10..)?.try_into().ok()?);
        Some(After { due: Time::from_unix_ms(due)?, partition: PartitionNumber(partition), seq: Seq(seq) })
    };
    read().ok_or_else(|| Error::new(Code::InvalidCursor, "the cursor has another form").with_field("cursor"))
}

/// The cursor of a page of names.
pub(super) fn after_name(hash: &HandleHash, query: &[u8], name: &str) -> String {
    seal(hash, query, name.as_bytes())
}

/// Where a page of names goes on: after this one.
pub(super) fn read_name(hash: &HandleHash, query: &[u8], cursor: &str) -> Result<String, Error> {
    String::from_utf8(open(hash, query, cursor)?)
        .map_err(|_| Error::new(Code::InvalidCursor, "the cursor has another form").with_field("cursor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_query() {
        let hash = HandleHash::new([1; 16]);
        let due = Time::from_unix_ms(77).expect("small");
        let after = After { due, partition: PartitionNumber(3), seq: Seq(9) };
        let cursor = after_message(&hash, b"query", after);
        assert_eq!(read_message(&hash, b"query", &cursor), Ok(after));
        for (query, cursor) in
            [(&b"other"[..], cursor.as_str()), (b"query", "junk"), (b"query", ""), (b"query", &cursor[1..])]
        {
            assert_eq!(read_message(&hash, query, cursor).map_err(|error| error.code), Err(Code::InvalidCursor));
        }
        let names = after_name(&hash, b"query", "orders");
        assert_eq!(read_name(&hash, b"query", &names).as_deref(), Ok("orders"));
        assert!(read_message(&hash, b"query", &names).is_err());
    }

    #[test]
    fn pages_of_several_partitions_neither_skip_nor_repeat() {
        let due = Time::from_unix_ms(77).expect("small");
        let after = After { due, partition: PartitionNumber(3), seq: Seq(9) };
        assert_eq!(after.position_in(PartitionNumber(2)), Position::after(due));
        assert_eq!(after.position_in(PartitionNumber(3)), Position::new(due, Seq(9)));
        assert_eq!(after.position_in(PartitionNumber(4)), Position::before(due));
    }
}
