//! The settings object of a schedule's PUT. Everything that an answer shows is taken back: what
//! cannot be set is passed over, so that what was read can be changed and sent.

use punctual_broker_api::{CatchUp, Code, Error, NewMessage, SchedulePatch, TopicName};

use crate::{
    json::{
        Fields, Json,
        read::{self, Place},
    },
    message,
};

const CATCH_UP: &[(&str, CatchUp)] = &[("none", CatchUp::None), ("last", CatchUp::Last), ("all", CatchUp::All)];

/// A change of a schedule.
pub(crate) fn schedule(body: &[u8]) -> Result<SchedulePatch, Error> {
    let mut fields = Fields::of_request(body)?;
    fields.pass_over(&["name", "runs", "next", "last"]);
    let patch = SchedulePatch {
        topic: fields.patch("topic", topic)?,
        message: fields.patch("message", message_of)?,
        cron: fields.patch("cron", read::text)?,
        timezone: fields.patch("timezone", read::text)?,
        every: fields.patch_duration("every")?,
        start: fields.patch("start", read::time)?,
        end: fields.patch("end", read::time)?,
        max_runs: fields.patch("max_runs", read::whole)?,
        jitter: fields.patch_duration("jitter")?,
        catch_up: fields.patch("catch_up", read::word(CATCH_UP))?,
        paused: fields.patch("paused", read::flag)?,
    };
    fields.finish()?;
    Ok(patch)
}

fn topic(place: Place<'_>, value: Json<'_>) -> Result<TopicName, Error> {
    let name = read::text(place, value)?;
    TopicName::parse(&name).map_err(|problem| {
        Error::new(Code::InvalidName, format!("the name of the topic, `{}`, {problem}", read::cut(&name)))
            .with_field(place.name)
    })
}

fn message_of(place: Place<'_>, mut value: Json<'_>) -> Result<NewMessage, Error> {
    if let Json::Object(object) = &mut value {
        for (name, _) in &mut object.entries {
            // As answers call it.
            if name == "expires_after_ms" {
                *name = "expires_after".into();
            }
        }
    }
    message::of_json(value).map_err(|error| {
        let field = error.field.as_ref().map_or(place.name.to_owned(), |field| format!("{}.{field}", place.name));
        error.with_field(field)
    })
}
