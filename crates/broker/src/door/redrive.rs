//! Giving dead letters back to their subscription.

use punctual_broker_api::{Code, Error, RedriveRequest, SubscriptionPath};
use punctual_types::limits::REDRIVE_IDS_MAX;

use super::{Inner, validate::not_supported};

impl Inner {
    pub(super) async fn redrive(&self, _subscription: SubscriptionPath, request: RedriveRequest) -> Result<u64, Error> {
        let ids = request.ids.as_ref().map_or(0, Vec::len);
        if ids > REDRIVE_IDS_MAX {
            let text = format!("cannot redrive {ids} messages by id at once, the limit is {REDRIVE_IDS_MAX}");
            return Err(Error::new(Code::BatchTooLarge, text).with_field("ids"));
        }
        Err(not_supported("redrive"))
    }
}
