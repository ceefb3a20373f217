//! Where messages begin and end in the body of a call: five bytes tell the length of each.

/// Bytes before a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// Follows a body piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    /// The prefix as far as it has come.
    prefix: [u8; PREFIX_BYTES],
    /// Bytes of the message under way that have come, its prefix included.
    arrived: usize,
}

impl Framing {
    /// Follows a further piece; whether a message ended in it.
    pub(crate) fn follow(&mut self, mut piece: &[u8]) -> bool {
        let mut ended = false;
        while !piece.is_empty() {
            let missing = match self.length() {
                None => PREFIX_BYTES - self.arrived,
                Some(length) => length - self.arrived,
            };
            let (now, later) = piece.split_at(missing.min(piece.len()));
            let in_prefix = self.prefix.iter_mut().skip(self.arrived);
            in_prefix.zip(now).for_each(|(place, byte)| *place = *byte);
            self.arrived += now.len();
            piece = later;
            if self.length() == Some(self.arrived) {
                self.arrived = 0;
                ended = true;
            }
        }
        ended
    }

    /// Bytes of the message that is under way; none between two.
    pub(crate) const fn under_way(&self) -> usize {
        self.arrived
    }

    /// The whole length of the message under way, once its prefix has come.
    pub(crate) fn length(&self) -> Option<usize> {
        let [_, length @ ..] = self.prefix;
        let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
        (self.arrived >= PREFIX_BYTES).then_some(PREFIX_BYTES + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_end_where_their_length_says_however_the_body_is_cut() {
        // Three bytes, none, one byte; and the beginning of a fourth.
        let body = [0, 0, 0, 0, 3, 9, 9, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 7, 0, 0];
        let expected = [1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 0, 1, 2];
        let mut byte_by_byte = Framing::default();
        for (byte, expected) in body.iter().zip(expected) {
            let ended = byte_by_byte.follow(&[*byte]);
            assert_eq!((byte_by_byte.under_way(), ended), (expected, expected == 0));
        }
        for cut in 0..=body.len() {
            let mut framing = Framing::default();
            let (first, second) = body.split_at(cut);
            framing.follow(first);
            framing.follow(second);
            assert_eq!(framing.under_way(), 2, "cut at {cut}");
        }
    }
}
