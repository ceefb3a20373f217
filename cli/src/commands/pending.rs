//! What is scheduled: `scheduled` lists it, `timeline` counts it.

use clap::Args;
use punctual_broker_api::{
    DelayMs, ListRequest, Time, TimeRange, TimelineRequest, TopicName, parse_duration,
    time_text::{format_time, parse_time},
};

use crate::{
    connection::Connection,
    failure::Failure,
    json,
    table::{body_preview, or_dash},
};

/// Messages of one page: the most that the broker gives.
const PAGE: u32 = 1000;

/// `punctual scheduled`
#[derive(Args, Debug)]
pub(crate) struct Scheduled {
    /// The topic
    #[arg(value_parser = TopicName::parse)]
    topic: TopicName,
    #[command(flatten)]
    range: Range,
    /// Only keys that begin so
    #[arg(long)]
    key_prefix: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    limit: u64,
    /// Leave bodies out
    #[arg(long)]
    no_body: bool,
}

#[derive(Args, Debug)]
struct Range {
    /// The first time: RFC 3339, or Unix milliseconds
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<Time>,
    /// The first time after the range
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    to: Option<Time>,
}

impl From<Range> for TimeRange {
    fn from(range: Range) -> Self {
        Self { from: range.from, to: range.to }
    }
}

impl Scheduled {
    /// Lists page by page, so that the list never has to fit into memory.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let output = connection.shared.output();
        let mut left = self.limit;
        let mut request = ListRequest {
            topic: connection.topic(&self.topic),
            range: self.range.into(),
            key_prefix: self.key_prefix,
            limit: PAGE,
            cursor: None,
            with_body: !self.no_body,
        };
        while left > 0 {
            request.limit = u32::try_from(left).unwrap_or(PAGE).min(PAGE);
            let page = connection.broker.list(request.clone()).await?;
            for view in &page.items {
                output.print(&json::view(view), || {
                    let body = view.body.as_deref().map(body_preview);
                    let key = or_dash(view.key.as_ref());
                    format!("{}  {}  {key}  {}", format_time(view.deliver_at), view.id, or_dash(body))
                })?;
            }
            left = left.saturating_sub(page.items.len() as u64);
            request.cursor = page.next_cursor;
            if request.cursor.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// `punctual timeline`
#[derive(Args, Debug)]
pub(crate) struct Timeline {
    /// The topic
    #[arg(value_parser = TopicName::parse)]
    topic: TopicName,
    #[command(flatten)]
    range: Range,
    /// How wide a bucket is: whole minutes
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "1m")]
    bucket: DelayMs,
}

impl Timeline {
    /// Counts.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let output = connection.shared.output();
        let request =
            TimelineRequest { topic: connection.topic(&self.topic), range: self.range.into(), bucket: self.bucket };
        for bucket in connection.broker.timeline(request).await? {
            output.print(&json::bucket(&bucket), || format!("{}  {}", format_time(bucket.from), bucket.count))?;
        }
        Ok(())
    }
}
