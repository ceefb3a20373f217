//! What the document says about recurring schedules.

use super::operation::{Answer, CURSOR, LIMIT, Operation, RequestBody, body, json_answers};
use crate::call::Call;

const SCHEDULE_PUT: &[Answer] = json_answers![200 "Schedule" "Changed.", 201 "Schedule" "Made."];

/// A call without a body that answers the schedule.
const fn on_schedule(summary: &'static str) -> Operation {
    const SCHEDULE: &[Answer] = json_answers![200 "Schedule" "The schedule as it is now."];
    Operation { summary, tag: "schedules", query: &[], body: None, answers: SCHEDULE }
}

pub(super) const SCHEDULES: &[(Call, Operation)] = &[
    (
        Call::ListSchedules,
        Operation {
            summary: "List recurring schedules by name",
            tag: "schedules",
            query: &[LIMIT, CURSOR],
            body: None,
            answers: json_answers![200 "SchedulePage" "A page."],
        },
    ),
    (Call::GetSchedule, on_schedule("Read a recurring schedule")),
    (
        Call::PutSchedule,
        Operation {
            summary: "Make or change a recurring schedule",
            tag: "schedules",
            query: &[],
            body: body!["ScheduleSettings"],
            answers: SCHEDULE_PUT,
        },
    ),
    (
        Call::DeleteSchedule,
        Operation {
            summary: "Delete a recurring schedule; messages that it has published stay",
            tag: "schedules",
            query: &[],
            body: None,
            answers: json_answers![200 "Done" "Done."],
        },
    ),
    (Call::PauseSchedule, on_schedule("Stop a recurring schedule")),
    (Call::ResumeSchedule, on_schedule("Start it again; what would have run meanwhile is not made up for")),
    (Call::TriggerSchedule, on_schedule("Publish a run now; the regular times stay as they are")),
];
