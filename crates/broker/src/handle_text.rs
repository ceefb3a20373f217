//! Message ids and receipts as text.
//!
//! Both are base64url over a version byte, the numbers, and a keyed checksum, so that a made-up one
//! is told from one that was given out: an id that never was is `not_found` and never `too_late`.
//! The version byte makes the first letter an `A`, so that neither looks like a flag of a command
//! line. At most 64 characters.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use punctual_broker_api::{MessageId, Receipt};
use punctual_core::{HandleHash, LeaseRef};
use punctual_types::{Epoch, MessageRef, Offset, SubscriptionNumber, TimelineId};

const VERSION: u8 = 1;
const ID_CHECK_BYTES: usize = 4;
const RECEIPT_CHECK_BYTES: usize = 8;
const RECEIPT_BYTES: usize = TimelineId::BYTES + 4 + 8 + 8 + 8;

/// Writes and reads ids and receipts of one data directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandleText {
    ids: HandleHash,
    receipts: HandleHash,
}

impl HandleText {
    /// Under keys derived from the directory's secret, one for each purpose.
    pub(crate) fn new(secret: [u8; 16]) -> Self {
        let root = HandleHash::new(secret);
        Self { ids: HandleHash::new(root.of(b"message id")), receipts: HandleHash::new(root.of(b"receipt")) }
    }

    pub(crate) fn id(&self, message: MessageRef) -> MessageId {
        MessageId::new(&seal::<ID_CHECK_BYTES>(&self.ids, &message.to_bytes()))
    }

    /// The message of an id that this directory gave out.
    pub(crate) fn message(&self, id: &MessageId) -> Option<MessageRef> {
        let bytes = open::<{ MessageRef::BYTES }, ID_CHECK_BYTES>(&self.ids, id.as_str())?;
        MessageRef::from_bytes(&bytes)
    }

    pub(crate) fn receipt(&self, lease: &LeaseRef) -> Receipt {
        let mut bytes = Vec::with_capacity(RECEIPT_BYTES);
        bytes.extend_from_slice(&lease.timeline.to_bytes());
        bytes.extend_from_slice(&lease.subscription.0.to_be_bytes());
        bytes.extend_from_slice(&lease.offset.0.to_be_bytes());
        bytes.extend_from_slice(&lease.epoch.0.to_be_bytes());
        bytes.extend_from_slice(&lease.serial.to_be_bytes());
        Receipt::new(&seal::<RECEIPT_CHECK_BYTES>(&self.receipts, &bytes))
    }

    /// The lease of a receipt that this directory gave out.
    pub(crate) fn lease(&self, receipt: &Receipt) -> Option<LeaseRef> {
        let bytes = open::<RECEIPT_BYTES, RECEIPT_CHECK_BYTES>(&self.receipts, receipt.as_str())?;
        let (timeline, rest) = bytes.split_at_checked(TimelineId::BYTES)?;
        let (subscription, rest) = rest.split_first_chunk::<4>()?;
        let (offset, rest) = rest.split_first_chunk::<8>()?;
        let (epoch, rest) = rest.split_first_chunk::<8>()?;
        let serial: &[u8; 8] = rest.first_chunk()?;
        Some(LeaseRef {
            timeline: TimelineId::from_bytes(timeline)?,
            subscription: SubscriptionNumber(u32::from_be_bytes(*subscription)),
            offset: Offset(u64::from_be_bytes(*offset)),
            epoch: Epoch(u64::from_be_bytes(*epoch)),
            serial: u64::from_be_bytes(*serial),
        })
    }
}

fn seal<const CHECK: usize>(key: &HandleHash, bytes: &[u8]) -> String {
    let mut sealed = Vec::with_capacity(1 + bytes.len() + CHECK);
    sealed.push(VERSION);
    sealed.extend_from_slice(bytes);
    let check = key.of(&sealed);
    sealed.extend(check.iter().take(CHECK));
    URL_SAFE_NO_PAD.encode(sealed)
}

fn open<const BYTES: usize, const CHECK: usize>(key: &HandleHash, text: &str) -> Option<[u8; BYTES]> {
    let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
    if sealed.len() != 1 + BYTES + CHECK || sealed.first() != Some(&VERSION) {
        return None;
    }
    let (signed, check) = sealed.split_at_checked(1 + BYTES)?;
    let expected = key.of(signed);
    // All bytes are compared, so that the time taken does not tell how many are right.
    let different = check.iter().zip(expected).fold(0, |different, (ours, theirs)| different | (ours ^ theirs));
    (different == 0).then_some(())?;
    signed.get(1..)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use punctual_types::{Lane, PartitionNumber, Position, Seq, Time, TopicNumber};

    use super::*;

    fn message() -> MessageRef {
        MessageRef {
            topic: TopicNumber(7),
            partition: PartitionNumber(1),
            priority: 0,
            first: Position::new(Time::MAX, Seq(99)),
        }
    }

    fn lease() -> LeaseRef {
        LeaseRef {
            timeline: TimelineId { topic: TopicNumber(7), partition: PartitionNumber(1), lane: Lane::MAIN },
            subscription: SubscriptionNumber(3),
            offset: Offset(1 << 40),
            epoch: Epoch(12),
            serial: 5,
        }
    }

    #[test]
    fn ids_and_receipts_come_back_and_fit_into_64_characters() {
        let text = HandleText::new([9; 16]);
        let (id, receipt) = (text.id(message()), text.receipt(&lease()));
        assert_eq!(text.message(&id), Some(message()));
        assert_eq!(text.lease(&receipt), Some(lease()));
        assert_eq!((id.as_str().len(), receipt.as_str().len()), (35, 64));
        assert!(id.as_str().starts_with('A') && receipt.as_str().starts_with('A'));
    }

    #[test]
    fn what_was_not_given_out_here_is_nothing() {
        let (text, other) = (HandleText::new([9; 16]), HandleText::new([8; 16]));
        assert_eq!(other.message(&text.id(message())), None);
        assert_eq!(other.lease(&text.receipt(&lease())), None);
        let id = text.id(message());
        for place in 0..id.as_str().len() {
            let mut forged = id.as_str().as_bytes().to_vec();
            forged[place] = if forged[place] == b'B' { b'C' } else { b'B' };
            let forged = MessageId::new(std::str::from_utf8(&forged).expect("ASCII"));
            assert_eq!(text.message(&forged), None, "character {place} was changed");
        }
        for junk in ["", "A", "not base64!", "AAAA", id.as_str().get(1..).expect("long enough")] {
            assert_eq!(text.message(&MessageId::new(junk)), None);
        }
    }
}
