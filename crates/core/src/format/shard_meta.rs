//! What a shard keeps of itself, written with every commit.

use bytes::Bytes;
use punctual_types::{Epoch, Seq, Time};

use super::{
    FormatError,
    fields::{FieldReader, FieldWriter},
};

const WHAT: &str = "shard";
const VERSION: u8 = 1;

/// A shard's own state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardMeta {
    /// The highest sequence number given so far: never given again.
    pub last_seq: Seq,
    /// The latest time that the shard has acted at: it never acts at an earlier one.
    pub time: Time,
    /// How often the shard was opened.
    pub epoch: Epoch,
    /// Which boot of the machine `boottime_ns` counts from; all zero for a manual clock.
    pub boot: [u8; 16],
    /// Nanoseconds since that boot when this was written.
    pub boottime_ns: u64,
    /// Broker time at that moment, in nanoseconds since the Unix epoch.
    pub time_ns: u64,
}

impl ShardMeta {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = FieldWriter::new(VERSION, 64);
        out.number(1, self.last_seq.0).number(2, self.time.unix_ms()).number(3, self.epoch.0);
        out.bytes(4, &self.boot).number(5, self.boottime_ns).number(6, self.time_ns);
        out.finish()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// When it is damaged or of a later version.
    pub fn decode(value: Bytes) -> Result<Self, FormatError> {
        let mut fields = FieldReader::new(WHAT, VERSION, value)?;
        let mut meta = Self::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                1 => meta.last_seq = Seq(fields.as_number(&value)?),
                2 => meta.time = fields.as_time(&value)?,
                3 => meta.epoch = Epoch(fields.as_number(&value)?),
                4 => {
                    meta.boot =
                        value.as_ref().try_into().map_err(|_| FormatError::new(WHAT, "boot id is not 16 bytes"))?;
                }
                5 => meta.boottime_ns = fields.as_number(&value)?,
                6 => meta.time_ns = fields.as_number(&value)?,
                _ => {}
            }
        }
        Ok(meta)
    }
}
