//! Positions and marks: 48 bits of due time, 64 of sequence number.

use punctual_types::{Mark, Offset, Position, Seq, Time};

use super::take;

/// Bytes of a position.
pub(crate) const BYTES: usize = 14;
/// Bytes of a mark: an offset and a position.
pub(crate) const MARK_BYTES: usize = 8 + BYTES;

/// The stored form of a time: its low 48 bits, which hold every time up to the year 9999.
pub(crate) fn time_to_bytes(time: Time) -> [u8; 6] {
    let [high_a, high_b, bytes @ ..] = time.unix_ms().to_be_bytes();
    debug_assert_eq!([high_a, high_b], [0, 0]);
    bytes
}

/// Takes a time off the front; `None` when it is none.
pub(crate) fn take_time(bytes: &mut &[u8]) -> Option<Time> {
    let [a, b, c, d, e, f] = take(bytes)?;
    Time::from_unix_ms(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
}

/// The stored form of a position; sorts as positions do.
pub(crate) fn to_bytes(position: Position) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..6].copy_from_slice(&time_to_bytes(position.due));
    bytes[6..].copy_from_slice(&position.seq.0.to_be_bytes());
    bytes
}

/// Takes a position off the front; `None` when it is none.
pub(crate) fn take_position(bytes: &mut &[u8]) -> Option<Position> {
    let due = take_time(bytes)?;
    Some(Position::new(due, Seq(u64::from_be_bytes(take(bytes)?))))
}

/// The stored form of a mark: offset, position.
pub(crate) fn mark_to_bytes(mark: Mark) -> [u8; MARK_BYTES] {
    let mut bytes = [0; MARK_BYTES];
    bytes[..8].copy_from_slice(&mark.offset.0.to_be_bytes());
    bytes[8..].copy_from_slice(&to_bytes(mark.position));
    bytes
}

/// The mark of a stored form; `None` when it is none.
pub(crate) fn mark_from_bytes(mut bytes: &[u8]) -> Option<Mark> {
    let offset = Offset(u64::from_be_bytes(take(&mut bytes)?));
    let position = take_position(&mut bytes)?;
    bytes.is_empty().then_some(Mark { offset, position })
}

#[cfg(test)]
mod tests {
    use super::{super::examples, *};

    #[test]
    fn a_position_is_six_bytes_of_due_time_and_eight_of_sequence_number() {
        assert_eq!(to_bytes(examples::position()), examples::POSITION);
        assert_eq!(take_position(&mut examples::POSITION.as_slice()), Some(examples::position()));
        assert_eq!(take_position(&mut to_bytes(Position::MAX).as_slice()), Some(Position::MAX));
        assert_eq!(take_position(&mut [0xff; BYTES].as_slice()), None);
    }

    #[test]
    fn a_mark_is_an_offset_and_a_position() {
        let mark = Mark { offset: Offset(0x3132_3334_3536_3738), position: examples::position() };
        let mut bytes = vec![0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38];
        bytes.extend(examples::POSITION);
        assert_eq!(mark_to_bytes(mark).as_slice(), bytes);
        assert_eq!(mark_from_bytes(&bytes), Some(mark));
        bytes.push(0);
        assert_eq!(mark_from_bytes(&bytes), None);
    }
}
