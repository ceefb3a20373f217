//! Pages and buckets.

use punctual_broker_api::TimelineBucket;
use serde::{Serialize, ser::SerializeMap};

use super::At;

/// A bucket of a timeline.
#[derive(Serialize)]
pub(crate) struct Bucket {
    from: At,
    count: u64,
}

impl Bucket {
    pub(crate) const fn of(bucket: &TimelineBucket) -> Self {
        Self { from: At(bucket.from), count: bucket.count }
    }
}

/// `{"{name}":[…],"next_cursor":…}`: the list is called after what is in it.
pub(crate) struct PageAnswer<'p, T> {
    name: &'static str,
    items: Vec<T>,
    next_cursor: Option<&'p str>,
}

impl<'p, T> PageAnswer<'p, T> {
    pub(crate) const fn of(name: &'static str, items: Vec<T>, next_cursor: Option<&'p str>) -> Self {
        Self { name, items, next_cursor }
    }
}

impl<T: Serialize> Serialize for PageAnswer<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(self.name, &self.items)?;
        map.serialize_entry("next_cursor", &self.next_cursor)?;
        map.end()
    }
}
