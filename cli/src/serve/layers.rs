//! Which value of a setting counts: a flag's, else the environment's, else the file's, else the
//! default. Knows nothing of what the values mean.

use std::{collections::BTreeMap, fmt, path::Path};

use toml::{Table, Value};

use super::setting::{Form, SETTINGS, Setting};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nobody set it.
    Default,
    /// The configuration file.
    File(String),
    /// An environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {path}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}

/// A value as it was written; a list has one item a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layered {
    /// The text, or the items of a list.
    pub items: Vec<String>,
    /// Where it came from.
    pub source: Source,
}

impl Layered {
    /// The value of a setting that is not a list.
    pub(crate) fn text(&self) -> &str {
        self.items.first().map_or("", String::as_str)
    }
}

/// Every setting with the value that counts.
#[derive(Debug)]
pub(crate) struct Layers {
    values: BTreeMap<&'static str, Layered>,
}

impl Layers {
    /// Puts the layers over each other. `flags` and `variables` look a name up.
    pub(crate) fn gather(
        flags: &BTreeMap<&'static str, String>,
        variables: impl Fn(&str) -> Option<String>,
        file: &BTreeMap<&'static str, Layered>,
    ) -> Self {
        let values = SETTINGS.iter().map(|setting| (setting.key, choose(setting, flags, &variables, file)));
        Self { values: values.collect() }
    }

    /// The value that counts.
    pub(crate) fn get(&self, key: &str) -> &Layered {
        // Only a key that is not in the table can be missing: a slip of the programmer.
        self.values.get(key).unwrap_or_else(|| panic!("`{key}` is not in the table of settings"))
    }

    /// Every setting in the order of the table.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static Setting, &Layered)> {
        SETTINGS.iter().map(|setting| (setting, self.get(setting.key)))
    }
}

fn choose(
    setting: &'static Setting,
    flags: &BTreeMap<&'static str, String>,
    variables: &impl Fn(&str) -> Option<String>,
    file: &BTreeMap<&'static str, Layered>,
) -> Layered {
    if let Some(text) = flags.get(setting.key) {
        return Layered { items: vec![text.clone()], source: Source::Flag(setting.flag()) };
    }
    let variable = setting.variable();
    // A variable that is set to nothing counts as not set, as is usual in compose files.
    if let Some(text) = variables(&variable).filter(|text| !text.is_empty()) {
        let items = match setting.form {
            Form::Value | Form::Switch => vec![text],
            Form::Secrets => text.split(',').map(|item| item.trim().to_owned()).collect(),
        };
        return Layered { items, source: Source::Environment(variable) };
    }
    if let Some(value) = file.get(setting.key) {
        return value.clone();
    }
    let items = if setting.default.is_empty() { Vec::new() } else { vec![setting.default.to_owned()] };
    Layered { items, source: Source::Default }
}

/// Reads the settings of a file's text. `path` is for the messages.
///
/// # Errors
/// A sentence that names the file, and the key when one is at fault.
pub(crate) fn read_file(path: &Path, text: &str) -> Result<BTreeMap<&'static str, Layered>, String> {
    let table: Table = text.parse().map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    let mut values = BTreeMap::new();
    collect(path, "", &table, &mut values)?;
    Ok(values)
}

fn collect(
    path: &Path,
    prefix: &str,
    table: &Table,
    values: &mut BTreeMap<&'static str, Layered>,
) -> Result<(), String> {
    for (name, value) in table {
        let key = format!("{prefix}{name}");
        let inside = format!("{key}.");
        match (Setting::of(&key), value) {
            (Some(setting), value) => {
                let items = items_of(setting, value).ok_or_else(|| {
                    format!("`{key}` in `{}` is {}, which is no value for it", path.display(), value.type_str())
                })?;
                let source = Source::File(path.display().to_string());
                values.insert(setting.key, Layered { items, source });
            }
            (None, Value::Table(nested)) if SETTINGS.iter().any(|setting| setting.key.starts_with(&inside)) => {
                collect(path, &inside, nested, values)?;
            }
            (None, _) => return Err(format!("`{key}` in `{}` is not a setting", path.display())),
        }
    }
    Ok(())
}

fn items_of(setting: &Setting, value: &Value) -> Option<Vec<String>> {
    match (setting.form, value) {
        (Form::Value | Form::Switch, Value::String(text)) => Some(vec![text.clone()]),
        (Form::Value, Value::Integer(number)) => Some(vec![number.to_string()]),
        (Form::Switch, Value::Boolean(on)) => Some(vec![on.to_string()]),
        (Form::Value, Value::Datetime(time)) => Some(vec![time.to_string()]),
        (Form::Secrets, Value::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        (Form::Value, Value::Boolean(_))
        | (Form::Switch, Value::Integer(_) | Value::Datetime(_))
        | (Form::Value | Form::Switch, Value::Float(_) | Value::Array(_) | Value::Table(_))
        | (
            Form::Secrets,
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Table(_),
        ) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(flag: Option<&str>, variable: Option<&str>, file: Option<&str>) -> Layered {
        let flags = flag.map(|text| ("http", text.to_owned())).into_iter().collect();
        let file = match file {
            Some(text) => read_file(Path::new("p.toml"), text).expect("a good file"),
            None => BTreeMap::new(),
        };
        let variables = |name: &str| if name == "PUNCTUAL_HTTP" { variable.map(str::to_owned) } else { None };
        Layers::gather(&flags, variables, &file).get("http").clone()
    }

    #[test]
    fn a_flag_counts_before_the_environment_before_the_file_before_the_default() {
        let file = Some("http = 'file:1'");
        for (flag, variable, file, text, source) in [
            (Some("flag:1"), Some("env:1"), file, "flag:1", "flag --http"),
            (None, Some("env:1"), file, "env:1", "environment PUNCTUAL_HTTP"),
            (None, Some(""), file, "file:1", "file p.toml"),
            (None, None, file, "file:1", "file p.toml"),
            (None, None, None, "127.0.0.1:7800", "default"),
        ] {
            let layered = gathered(flag, variable, file);
            assert_eq!((layered.text(), layered.source.to_string().as_str()), (text, source));
        }
    }

    #[test]
    fn nested_keys_are_tables_in_the_file_and_two_underscores_in_the_environment() {
        let file = read_file(Path::new("p.toml"), "[limits]\nbody_bytes_max = 7\n").expect("a good file");
        let layers = Layers::gather(&BTreeMap::new(), |_| None, &file);
        assert_eq!(layers.get("limits.body_bytes_max").text(), "7");
        let variables = |name: &str| (name == "PUNCTUAL_LIMITS__BODY_BYTES_MAX").then(|| "8".to_owned());
        let layers = Layers::gather(&BTreeMap::new(), variables, &file);
        assert_eq!(layers.get("limits.body_bytes_max").text(), "8");
    }

    #[test]
    fn tokens_are_a_list_in_the_file_and_separated_by_commas_in_the_environment() {
        let file = read_file(Path::new("p.toml"), "tokens = ['a', 'b']").expect("a good file");
        assert_eq!(Layers::gather(&BTreeMap::new(), |_| None, &file).get("tokens").items, ["a", "b"]);
        let variables = |name: &str| (name == "PUNCTUAL_TOKENS").then(|| "c, d".to_owned());
        assert_eq!(Layers::gather(&BTreeMap::new(), variables, &file).get("tokens").items, ["c", "d"]);
    }

    #[test]
    fn an_unknown_key_of_the_file_is_refused_by_name() {
        for (text, key) in [
            ("htp = 'x'", "htp"),
            ("[limits]\nbody = 1", "limits.body"),
            ("[limit]\nbody_bytes_max = 1", "limit"),
            ("[http]\nlisten = 1", "http"),
            ("log = 'info'", "log"),
        ] {
            let message = read_file(Path::new("p.toml"), text).expect_err(text);
            assert!(message.contains(&format!("`{key}` in `p.toml`")), "{message}");
        }
    }
}
