//! An object for people: a line per field, nested ones with a dot.

use serde_json::Value;

/// The fields of an object, lined up.
pub(crate) fn text(object: &Value) -> String {
    let mut rows = Vec::new();
    collect("", object, &mut rows);
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect();
    lines.join("\n")
}

fn collect(prefix: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                collect(&name, value, rows);
            }
        }
        Value::Null => rows.push((prefix.to_owned(), "-".to_owned())),
        Value::String(text) => rows.push((prefix.to_owned(), text.clone())),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => rows.push((prefix.to_owned(), value.to_string())),
    }
}
