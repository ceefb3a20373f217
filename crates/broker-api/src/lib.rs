//! What may be asked of a Punctual broker, and what it may answer.
//!
//! Doors (HTTP, gRPC, …) turn bytes into these requests and these answers into bytes; the
//! embedded broker and the remote client both implement [`Broker`], so that a program, a test and
//! the command line say the same thing to either. Nothing here knows a wire format, a store or
//! how a message is kept.
#![warn(missing_docs)]

mod access;
mod broker;
mod clock;
mod consumer;
mod delivery;
mod error;
mod handle;
mod health;
mod limits;
mod log;
mod message_id;
mod outcome;
mod page;
mod path;
mod publish;
mod request_id;
mod schedule;
mod schedules;
mod settings;
mod stats;
pub mod time_text;
mod view;

pub use access::Access;
pub use broker::{Broker, Reply};
pub use clock::{ClockMode, ClockView};
pub use consumer::{Consumer, ReceiveRequest, SubscribeRequest};
pub use delivery::{DeadLetterHistory, DeadLetterReason, Delivery, Receipt};
pub use error::{Code, Error, Kind};
pub use futures_util::future::BoxFuture;
pub use handle::Handle;
pub use health::Health;
pub use limits::Limits;
pub use log::{Log, LogOffsets, LogPartition, LogReadRequest, LogRecord};
pub use message_id::MessageId;
pub use outcome::{
    AckOutcome, CancelOutcome, DeliverNowOutcome, ExtendOutcome, NackOutcome, NackRequest, PreparedOutcome,
    ReleaseOutcome, RescheduleOutcome,
};
pub use page::{
    ListRequest, Page, PageRequest, RedriveRequest, SubscriptionListRequest, SubscriptionListState, TimeRange,
    TimelineBucket, TimelineRequest,
};
pub use path::{SubscriptionPath, TopicPath};
pub use publish::{NewMessage, OnConflict, Prepare, PublishStatus, Published, When};
pub use request_id::{REQUEST_ID_BYTES_MAX, REQUEST_ID_HEADER, RequestIds};
pub use schedule::{CatchUp, SchedulePatch, SchedulePath, ScheduleRun, ScheduleSettings, ScheduleView};
pub use schedules::Schedules;
pub use settings::{
    Breaker, Durability, NamespaceLimits, NamespacePatch, NamespaceSettings, OnExpiry, Patch, RetryPatch, RetryPolicy,
    SeekTo, Start, SubscriptionPatch, SubscriptionSettings, TopicPatch, TopicSettings,
};
pub use stats::{BreakerState, NamespaceView, Put, SubscriptionStats, SubscriptionView, TopicStats, TopicView};
pub use view::{MessageState, MessageView, SubscriptionMessageState, SubscriptionProgress};

pub use punctual_types::{
    DelayMs, NameError, NamespaceName, ScheduleName, SubscriptionName, Time, TopicName, parse_duration,
};
