//! Namespaces: list, read, make, change, delete.

use std::sync::Arc;

use punctual_broker_api::{
    Code, Error, NamespacePatch, NamespaceSettings, NamespaceView, Page, PageRequest, Patch, Put,
};
use punctual_types::{NamespaceName, limits};

use super::{
    Inner,
    topics::page_of,
    validate::{check_range, not_supported},
};
use crate::catalog::{Entry, Namespace, NamespaceEntry, forget, keep};

impl Inner {
    fn namespace_view(&self, name: &NamespaceName, namespace: &Namespace) -> NamespaceView {
        let topics = namespace.topics.values().filter(|topic| self.is_visible(topic)).count() as u64;
        NamespaceView { name: name.to_string(), settings: namespace.settings.clone(), topics }
    }

    pub(super) async fn list_namespaces(self: &Arc<Self>, request: PageRequest) -> Result<Page<NamespaceView>, Error> {
        let catalog = self.catalog();
        let named = catalog.namespaces.iter().map(|(name, it)| (name.to_string(), self.namespace_view(name, it)));
        page_of(self, b"namespaces", &request, named)
    }

    pub(super) async fn get_namespace(self: &Arc<Self>, name: NamespaceName) -> Result<NamespaceView, Error> {
        let catalog = self.catalog();
        Ok(self.namespace_view(&name, catalog.namespace(&name)?))
    }

    pub(super) async fn put_namespace(
        self: &Arc<Self>,
        name: NamespaceName,
        patch: NamespacePatch,
    ) -> Result<Put<NamespaceView>, Error> {
        let inner = self.clone();
        let changed = name.clone();
        let created = self
            .change(async move {
                let current = inner.catalog().namespaces.get(&changed).map(|it| it.settings.clone());
                let created = current.is_none();
                let settings = settings_of(current.unwrap_or_default(), patch)?;
                let entry = NamespaceEntry { name: changed.clone(), settings: settings.clone() };
                inner.keep(vec![keep(&Entry::Namespace(entry))]).await?;
                inner.catalog_mut().namespaces.entry(changed).or_default().settings = settings;
                Ok(created)
            })
            .await?;
        Ok(Put { object: self.get_namespace(name).await?, created })
    }

    pub(super) async fn delete_namespace(self: &Arc<Self>, name: NamespaceName) -> Result<(), Error> {
        if name == NamespaceName::default() {
            return Err(Error::new(Code::NamespaceInUse, "cannot delete namespace `default`: it is always there"));
        }
        let inner = self.clone();
        self.change(async move {
            let (topics, settings) = {
                let catalog = inner.catalog();
                let namespace = catalog.namespace(&name)?;
                (namespace.topics.values().cloned().collect::<Vec<_>>(), namespace.settings.clone())
            };
            inner.delete_schedules(&name).await?;
            inner.delete_topics(topics).await?;
            inner.keep(vec![forget(&Entry::Namespace(NamespaceEntry { name: name.clone(), settings }))]).await?;
            inner.catalog_mut().namespaces.remove(&name);
            Ok(())
        })
        .await
    }
}

/// The settings after a change, checked.
fn settings_of(current: NamespaceSettings, patch: NamespacePatch) -> Result<NamespaceSettings, Error> {
    let default = NamespaceSettings::default();
    let settings = NamespaceSettings {
        max_delay: match patch.max_delay {
            Patch::Keep => current.max_delay,
            Patch::Reset => None,
            Patch::Set(max_delay) => Some(max_delay),
        },
        delay_levels: patch.delay_levels.apply(current.delay_levels, default.delay_levels),
        auto_create: patch.auto_create.apply(current.auto_create, default.auto_create),
        limits: patch.limits.apply(current.limits, default.limits),
    };
    check_range("delay_levels", settings.delay_levels.len(), 0, limits::DELAY_LEVELS_MAX)?;
    if settings.limits.max_bytes.is_some() {
        return Err(not_supported("limits.max_bytes"));
    }
    Ok(settings)
}
