//! A topic as a log, for the doors of log-style protocols.

use punctual_broker_api::{
    Error, Log, LogOffsets, LogPartition, LogReadRequest, LogRecord, Reply, SubscriptionPath, Time, TopicPath,
};

use super::{Broker, validate::not_supported};

fn refuse<T: Send + 'static>(call: &str) -> Reply<'static, T> {
    Box::pin(std::future::ready(Err::<T, Error>(not_supported(call))))
}

impl Log for Broker {
    fn partitions(&self, _topic: TopicPath) -> Reply<'_, u16> {
        refuse("partitions")
    }

    fn offsets(&self, _partition: LogPartition) -> Reply<'_, LogOffsets> {
        refuse("offsets")
    }

    fn read(&self, _request: LogReadRequest) -> Reply<'_, Vec<LogRecord>> {
        refuse("read")
    }

    fn offset_at(&self, _partition: LogPartition, _time: Time) -> Reply<'_, u64> {
        refuse("offset_at")
    }

    fn commit_offset(&self, _subscription: SubscriptionPath, _partition: u16, _offset: u64) -> Reply<'_, ()> {
        refuse("commit_offset")
    }

    fn committed_offset(&self, _subscription: SubscriptionPath, _partition: u16) -> Reply<'_, Option<u64>> {
        refuse("committed_offset")
    }
}
