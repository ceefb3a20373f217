//! A checkpoint: everything that the shards keep but their records, as of one commit.
//!
//! It is a journal that says the same in fewer words: frames of batches, read by the same code. The
//! last frame is a mark, so that one that was cut off is told.

use punctual_store_api::StoreError;
use punctual_types::{Batch, CommitNumber, ShardNumber, Write};

use crate::{
    batch::encode,
    journal::{
        SegmentNumber,
        frame::{Chain, Frame, HEADER_BYTES, Header, Kind, Seed, frame_bytes, payload_check},
    },
    kept::{Kept, Place},
    limits::{CHECKPOINT_BYTES_MAX, CHECKPOINT_WRITES_MAX},
    run::Run,
    vfs::{Vfs, read_all},
};

const PREFIX: &str = "checkpoint.";

/// The name of a checkpoint's file.
pub(crate) fn file_name(number: u32) -> String {
    format!("{PREFIX}{number:08x}")
}

/// The number in a file's name, if it is one of a checkpoint.
pub(crate) fn number_of(name: &str) -> Option<u32> {
    let number = u32::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()?;
    (file_name(number) == name).then_some(number)
}

/// The frames of a checkpoint on their way to its file.
struct Frames {
    seed: Seed,
    bytes: Vec<u8>,
    chain: Chain,
    last: CommitNumber,
}

impl Frames {
    fn put(&mut self, kind: Kind, shard: ShardNumber, payload: &[u8]) {
        self.last = match kind {
            Kind::Batch => CommitNumber(self.last.0 + 1),
            Kind::Mark => self.last,
        };
        let header = Header {
            kind,
            shard,
            payload_bytes: u32::try_from(payload.len()).expect("few writes, each shorter than a batch"),
            payload_check: payload_check(payload),
            previous: self.chain,
            commit: self.last,
            durable: CommitNumber(0),
        };
        let (head, chain) = header.to_bytes(self.seed);
        let end = self.bytes.len() + frame_bytes(payload.len());
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(payload);
        self.bytes.resize(end, 0);
        self.chain = chain;
    }
}

/// Writes a checkpoint and makes it durable, but for its name.
pub(crate) fn write(
    vfs: &dyn Vfs,
    secret: [u8; 16],
    number: u32,
    shards: &[Kept],
    runs: &[std::sync::Arc<Run>],
) -> Result<(), StoreError> {
    let seed = Seed::of_checkpoint(secret, number);
    let mut frames = Frames { seed, bytes: Vec::new(), chain: Chain::default(), last: CommitNumber(0) };
    for (shard, kept) in (0..).map(ShardNumber).zip(shards) {
        let (now, writes) = kept.writes(runs);
        for piece in writes.chunks(CHECKPOINT_WRITES_MAX) {
            let mut payload = Vec::new();
            encode(&Batch { now, writes: Vec::<Write>::from(piece) }, &mut payload);
            frames.put(Kind::Batch, shard, &payload);
        }
    }
    frames.put(Kind::Mark, ShardNumber(0), &[]);
    let name = file_name(number);
    let file =
        vfs.create(&name, frames.bytes.len() as u64).map_err(|error| StoreError::failed("making", &*name, error))?;
    file.write_at(&frames.bytes, 0).map_err(|error| StoreError::failed("writing", &*name, error))?;
    file.sync().map_err(|error| StoreError::failed("syncing", &*name, error))
}

/// Brings back what a checkpoint says.
pub(crate) fn load(vfs: &dyn Vfs, secret: [u8; 16], number: u32, shards: &mut [Kept]) -> Result<(), StoreError> {
    let name = file_name(number);
    let damaged = |detail: String| StoreError::corrupt(&*name, detail);
    let file = vfs.open(&name).and_then(|file| read_all(&file, CHECKPOINT_BYTES_MAX));
    let bytes = file.map_err(|error| StoreError::failed("reading", &*name, error))?;
    let seed = Seed::of_checkpoint(secret, number);
    let (mut at, mut chain, mut last) = (0, Chain::default(), CommitNumber(0));
    loop {
        let frame = bytes.get(at..).and_then(|rest| Frame::first_of(rest, seed));
        let frame = frame.filter(|frame| frame.header.previous == chain);
        let frame = frame.ok_or_else(|| damaged(format!("nothing can be read at byte {at}")))?;
        let payload = at + HEADER_BYTES;
        at += frame.bytes();
        match frame.header.kind {
            Kind::Mark if at == bytes.len() && frame.header.commit == last => return Ok(()),
            Kind::Batch if frame.header.commit.0 == last.0 + 1 => {}
            Kind::Mark | Kind::Batch => return Err(damaged(format!("the frame before byte {at} is out of order"))),
        }
        (chain, last) = (frame.chain, frame.header.commit);
        let kept = shards.get_mut(usize::from(frame.header.shard.0));
        let kept = kept.ok_or_else(|| damaged(format!("it names shard {}", frame.header.shard)))?;
        // It has no records, so the place of its batches is never used.
        let place = Place { segment: SegmentNumber(0), at: 0 };
        kept.apply(frame.payload, place)
            .map_err(|none| damaged(format!("the batch step at byte {} is none", payload + none.at)))?;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use punctual_types::{Mark, Offset, PartitionNumber, Position, Seq, Time, TimelineId, TopicNumber};

    use super::*;
    use crate::vfs::SimulatedDisk;

    const SECRET: [u8; 16] = [3; 16];
    const TIMELINE: TimelineId = TimelineId::main(TopicNumber(1), PartitionNumber(0));

    fn shards() -> Vec<Kept> {
        (0..2).map(|shard| Kept::new(ShardNumber(shard), Vec::new().into())).collect()
    }

    fn filled() -> Vec<Kept> {
        let mut shards = shards();
        let position = |seq| Position::new(Time::from_unix_ms(seq * 5).expect("in range"), Seq(seq));
        let writes = vec![
            Write::RaiseFloor { timeline: TIMELINE, mark: Mark { offset: Offset(3), position: position(3) } },
            Write::Anchor { timeline: TIMELINE, mark: Mark { offset: Offset(7), position: position(7) } },
            Write::SetState { key: Bytes::from_static(b"a"), value: Some(Bytes::from_static(b"b")) },
        ];
        let mut payload = Vec::new();
        encode(&Batch { now: Time::ZERO, writes }, &mut payload);
        shards[1].apply(&payload, Place { segment: SegmentNumber(1), at: 0 }).expect("a batch");
        shards
    }

    #[test]
    fn a_checkpoint_brings_everything_back() {
        let disk = SimulatedDisk::default();
        let filled = filled();
        write(&disk, SECRET, 5, &filled, &[]).expect("written");
        let mut loaded = shards();
        load(&disk, SECRET, 5, &mut loaded).expect("loaded");
        for (loaded, filled) in loaded.iter().zip(&filled) {
            assert_eq!(loaded.writes(&[]), filled.writes(&[]));
        }
    }

    #[test]
    fn a_checkpoint_with_any_one_bit_flipped_or_cut_anywhere_is_refused() {
        let disk = SimulatedDisk::default();
        write(&disk, SECRET, 5, &filled(), &[]).expect("written");
        let name = file_name(5);
        let bytes = disk.contents(&name).expect("there");
        let mut passed = 0;
        for bit in 0..bytes.len() as u64 * 8 {
            disk.flip(&name, bit);
            passed += u64::from(load(&disk, SECRET, 5, &mut shards()).is_ok());
            disk.flip(&name, bit);
        }
        assert!(passed < 8 * 8, "{passed} bits of padding say nothing");
        for cut in 0..bytes.len() {
            disk.replace(&name, bytes[..cut].to_vec());
            load(&disk, SECRET, 5, &mut shards()).expect_err("refused");
        }
        disk.replace(&name, bytes);
        load(&disk, [4; 16], 5, &mut shards()).expect_err("another directory's");
    }

    #[test]
    fn many_writes_make_many_frames_and_a_file_beyond_its_bound_is_refused() {
        let disk = SimulatedDisk::default();
        let mut many = shards();
        for n in 0..=CHECKPOINT_WRITES_MAX {
            let value = Some(Bytes::new());
            let writes = vec![Write::SetState { key: Bytes::from(n.to_string()), value }];
            let mut payload = Vec::new();
            encode(&Batch { now: Time::ZERO, writes }, &mut payload);
            many[0].apply(&payload, Place { segment: SegmentNumber(1), at: 0 }).expect("a batch");
        }
        write(&disk, SECRET, 1, &many, &[]).expect("written");
        let mut loaded = shards();
        load(&disk, SECRET, 1, &mut loaded).expect("loaded");
        assert_eq!(loaded[0].state().count(), CHECKPOINT_WRITES_MAX + 1);
        assert!(CHECKPOINT_BYTES_MAX < u64::from(u32::MAX));
    }
}
