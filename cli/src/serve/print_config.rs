//! `serve --print-config`: what counts, and where each came from. The text is a configuration
//! file again.

use serde_json::{Value, json};

use super::{
    layers::{Layered, Layers},
    setting::{Form, Setting},
};
use crate::{failure::Failure, output::Output};

/// Prints every setting.
pub(crate) fn print(layers: &Layers, output: Output) -> Result<(), Failure> {
    for (setting, value) in layers.iter() {
        let shown = shown(setting, value);
        let object = json!({"key": setting.key, "value": shown, "source": value.source.to_string()});
        output.print(&object, || match setting.form {
            Form::Value | Form::Switch => format!("{} = {shown}  # {}", setting.key, value.source),
            // As a comment: what is hidden cannot be read back.
            Form::Secrets => format!("# {}: {}, not shown  # {}", setting.key, value.items.len(), value.source),
        })?;
    }
    Ok(())
}

fn shown(setting: &Setting, value: &Layered) -> Value {
    match setting.form {
        Form::Value => value.text().into(),
        Form::Switch => (value.text() == "true").into(),
        Form::Secrets => json!({"hidden": value.items.len()}),
    }
}
