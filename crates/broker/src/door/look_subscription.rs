//! Looking at what a subscription still has to do, without leasing it.

use punctual_broker_api::{Error, MessageView, Page, SubscriptionListRequest};

use super::{Inner, validate::not_supported};

impl Inner {
    pub(super) async fn list_subscription_messages(
        &self,
        _request: SubscriptionListRequest,
    ) -> Result<Page<MessageView>, Error> {
        Err(not_supported("list_subscription_messages"))
    }
}
