//! Everything that may be asked about recurring schedules.

use punctual_types::NamespaceName;

use crate::{Page, PageRequest, Put, Reply, SchedulePatch, SchedulePath, ScheduleView};

/// The part of a [`crate::Broker`] that keeps recurring schedules. A run is an ordinary message:
/// it is published once for each nominal time, whatever crashes.
pub trait Schedules: Send + Sync + 'static {
    /// Lists schedules by name.
    fn list_schedules(&self, namespace: NamespaceName, page: PageRequest) -> Reply<'_, Page<ScheduleView>>;

    /// Reads a schedule; `schedule_not_found`.
    fn get_schedule(&self, schedule: SchedulePath) -> Reply<'_, ScheduleView>;

    /// Makes or changes a schedule. A change of its timing counts from now: what ran does not run
    /// again, and what has not is not made up for. `invalid_cron`, `unknown_timezone`,
    /// `exclusive_fields` for both `cron` and `every`, `too_many_schedules`.
    fn put_schedule(&self, schedule: SchedulePath, patch: SchedulePatch) -> Reply<'_, Put<ScheduleView>>;

    /// Deletes a schedule. Messages that it has published stay.
    fn delete_schedule(&self, schedule: SchedulePath) -> Reply<'_, ()>;

    /// Stops or starts a schedule. What would have run while it was paused is not made up for.
    fn set_schedule_paused(&self, schedule: SchedulePath, paused: bool) -> Reply<'_, ScheduleView>;

    /// Publishes a run now, paused or ended or not, with the present as its nominal time; the
    /// regular times stay as they are. Fails when the message is refused.
    fn trigger_schedule(&self, schedule: SchedulePath) -> Reply<'_, ScheduleView>;
}
