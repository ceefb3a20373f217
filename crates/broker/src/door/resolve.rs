//! From names to topics and subscriptions, made on first use where the namespace allows it.

use std::sync::{Arc, PoisonError, RwLockReadGuard};

use punctual_broker_api::{Code, Error, SubscriptionPatch, SubscriptionPath, TopicPatch, TopicPath};

use super::Inner;
use crate::catalog::{Catalog, Subscription, Topic};

impl Inner {
    pub(crate) fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn check_running(&self) -> Result<(), Error> {
        if self.stopping.load(std::sync::atomic::Ordering::Acquire) {
            return Err(Error::new(Code::ShuttingDown, "the broker is stopping").with_retry_after_ms(1000));
        }
        Ok(())
    }

    pub(super) fn may_create(&self, path: &TopicPath) -> Result<bool, Error> {
        Ok(self.catalog().namespace(&path.namespace)?.settings.auto_create)
    }

    /// The topic, made with default settings when there is none.
    pub(super) async fn topic_or_new(self: &Arc<Self>, path: &TopicPath) -> Result<Arc<Topic>, Error> {
        let found = self.catalog().topic(path);
        match found {
            Ok(topic) => Ok(topic),
            Err(error) if error.code == Code::TopicNotFound && self.may_create(path)? => {
                self.create_or_change_topic(path.clone(), TopicPatch::default()).await.map(|(topic, _)| topic)
            }
            Err(error) => Err(error),
        }
    }

    /// The subscription, made with its topic when there is none.
    pub(super) async fn subscription_or_new(
        self: &Arc<Self>,
        path: &SubscriptionPath,
    ) -> Result<(Arc<Topic>, Arc<Subscription>), Error> {
        let found = self.catalog().subscription(path);
        match found {
            Ok(found) => Ok(found),
            Err(error)
                if matches!(error.code, Code::TopicNotFound | Code::SubscriptionNotFound)
                    && self.may_create(&path.topic)? =>
            {
                self.create_or_change_subscription(path.clone(), SubscriptionPatch::default()).await?;
                self.catalog().subscription(path)
            }
            Err(error) => Err(error),
        }
    }
}
