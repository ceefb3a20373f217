//! Giving space back: what lies at or below a durable floor, and index entries past their time.
//!
//! Two ways, because a message that is due once is written once and its table may never be
//! touched again. A *filter* drops the dead whenever fjall rewrites a table anyway. A *search*,
//! now and then, finds tables that lie below a floor from end to end and drops them whole.
//!
//! Both know durable floors only. A floor that was written but not synced can be undone by a
//! power cut; were its records gone by then, offsets counted from the old floor would be wrong
//! and what nobody acknowledged durably would be lost.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use fjall::{
    AbstractTree, Database,
    compaction::filter::{CompactionFilter, CompactionFilterResult, Context, Factory, ItemAccessor, Verdict},
};
use punctual_types::{Position, ShardNumber, Time};

use crate::{
    database::{INDEX, Keyspaces, RECORDS, STATE},
    keys::{self, Prefix},
};

/// A key of no shard. See [`Reclaim::unpin_journals`].
const SENTINEL: [u8; 2] = [0xff; 2];

/// What may be dropped, as far as it is durable.
#[derive(Default)]
pub(crate) struct Reclaim {
    floors: RwLock<HashMap<Prefix, Position>>,
    /// The newest broker time of a durable batch, by shard: a shard that is behind still needs
    /// entries that by another's time have expired.
    times: RwLock<HashMap<ShardNumber, Time>>,
}

impl Reclaim {
    /// A floor has become durable.
    pub(crate) fn raise(&self, prefix: Prefix, floor: Position) {
        let mut floors = self.floors.write().unwrap_or_else(PoisonError::into_inner);
        let kept = floors.entry(prefix).or_default();
        *kept = floor.max(*kept);
    }

    /// A batch of this time of a shard has become durable.
    pub(crate) fn reach(&self, shard: ShardNumber, now: Time) {
        let mut times = self.times.write().unwrap_or_else(PoisonError::into_inner);
        let kept = times.entry(shard).or_default();
        *kept = now.max(*kept);
    }

    /// Whether an entry has expired by the time of its own shard.
    fn is_expired(&self, key: &[u8], expires_at: Time) -> bool {
        let times = self.times.read().unwrap_or_else(PoisonError::into_inner);
        keys::index::shard(key).and_then(|shard| times.get(&shard)).is_some_and(|now| expires_at < *now)
    }

    pub(crate) fn floor(&self, prefix: &Prefix) -> Option<Position> {
        self.floors.read().unwrap_or_else(PoisonError::into_inner).get(prefix).copied()
    }

    /// The filter of a keyspace.
    pub(crate) fn filter_of(self: &Arc<Self>, keyspace: &str) -> Option<Arc<dyn Factory>> {
        let dead: Dead = match keyspace {
            RECORDS => Dead::Record,
            INDEX => Dead::Entry,
            STATE => Dead::Anchor,
            _ => return None,
        };
        Some(Arc::new(Filters { reclaim: self.clone(), dead }))
    }

    /// Keeps the journals moving. fjall deletes a sealed journal when every keyspace that was in it
    /// has flushed something newer, and judges that by the newest entry in the keyspace's tables.
    /// When the newest were reclaimed and the keyspace is idle from then on, it would keep that
    /// journal and all after it for ever: an entry of no shard gives it something to flush.
    pub(crate) fn unpin_journals(database: &Database, keyspaces: &Keyspaces) -> fjall::Result<()> {
        for keyspace in [&keyspaces.records, &keyspaces.index, &keyspaces.state] {
            if database.journal_count() > 1 && keyspace.tree.active_memtable().is_empty() {
                keyspace.insert(SENTINEL, [])?;
            }
        }
        Ok(())
    }

    /// Drops every table of records that lies whole at or below one timeline's floor. Gives the
    /// number of timelines in which there were such.
    pub(crate) fn drop_dead_tables(&self, keyspaces: &Keyspaces) -> fjall::Result<usize> {
        let mut dead = HashMap::<Prefix, Position>::new();
        for table in keyspaces.records.tree.current_version().iter_tables() {
            let range = &table.metadata.key_range;
            let (Some((first, _)), Some((last, position))) =
                (keys::record::parts(range.min()), keys::record::parts(range.max()))
            else {
                continue;
            };
            if let Some(floor) = self.floor(&last).filter(|floor| first == last && position <= *floor) {
                dead.insert(last, floor);
            }
        }
        if dead.is_empty() {
            return Ok(0);
        }
        for (prefix, floor) in &dead {
            let from = keys::record::key_under(*prefix, Position::MIN);
            let to = keys::record::key_under(*prefix, *floor);
            // Only tables that lie within the range from end to end are dropped.
            keyspaces.records.tree.drop_range(from.as_slice()..=to.as_slice())?;
        }
        Ok(dead.len())
    }
}

/// Which test a filter applies.
#[derive(Clone, Copy)]
enum Dead {
    Record,
    Entry,
    Anchor,
}

/// Makes the filter of one compaction.
struct Filters {
    reclaim: Arc<Reclaim>,
    dead: Dead,
}

impl Factory for Filters {
    fn name(&self) -> &str {
        match self.dead {
            Dead::Record => "records below the floor",
            Dead::Entry => "expired index entries",
            Dead::Anchor => "anchors below the floor",
        }
    }

    fn make_filter(&self, _context: &Context) -> Box<dyn CompactionFilter> {
        Box::new(Filter { reclaim: self.reclaim.clone(), dead: self.dead, floor: None })
    }
}

/// The filter of one compaction.
struct Filter {
    reclaim: Arc<Reclaim>,
    dead: Dead,
    /// The floor that was looked up last: keys come in order, so it is mostly the same.
    floor: Option<(Prefix, Option<Position>)>,
}

impl Filter {
    fn passed(&mut self, prefix: Prefix, position: Position) -> bool {
        let floor = match self.floor {
            Some((known, floor)) if known == prefix => floor,
            _ => {
                let floor = self.reclaim.floor(&prefix);
                self.floor = Some((prefix, floor));
                floor
            }
        };
        floor.is_some_and(|floor| position <= floor)
    }
}

impl CompactionFilter for Filter {
    fn filter_item(&mut self, item: ItemAccessor<'_>, _context: &Context) -> CompactionFilterResult {
        let gone = match self.dead {
            Dead::Record => keys::record::parts(item.key()).is_some_and(|(prefix, at)| self.passed(prefix, at)),
            Dead::Entry => keys::index::expires_at(&item.value()?)
                .is_some_and(|expires_at| self.reclaim.is_expired(item.key(), expires_at)),
            Dead::Anchor => keys::anchor::mark(item.key(), &item.value()?)
                .is_some_and(|(prefix, mark)| self.passed(prefix, mark.position)),
        };
        Ok(match self.dead {
            _ if !gone => Verdict::Keep,
            // A record's key is written once and never again, so nothing older can come up.
            Dead::Record => Verdict::Destroy,
            // Entries are overwritten, and an older one may lie in a lower level with a later
            // expiry: only a tombstone keeps it down. Anchors may be put twice.
            Dead::Entry | Dead::Anchor => Verdict::Remove,
        })
    }
}
