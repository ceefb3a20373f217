//! The settings with their meaning: read strictly, each error names the setting and its source.

use std::{net::SocketAddr, path::PathBuf};

use punctual_broker_api::{Access, ClockMode, DelayMs, Limits, Time, parse_duration, time_text::parse_time};

use super::layers::{Layered, Layers, Source};
use crate::{exit::Exit, failure::Failure};

/// Where messages are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    /// On disk.
    Fjall,
    /// In memory, until the process ends.
    Memory,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Human,
    /// One JSON object a line.
    Json,
}

/// What the server needs to know.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The data directory.
    pub data: PathBuf,
    /// Where HTTP listens, unless it is off.
    pub http: Option<SocketAddr>,
    /// Where gRPC listens, unless it is off.
    pub grpc: Option<SocketAddr>,
    /// Who is let in.
    pub access: Access,
    /// Where messages are kept.
    pub store: StoreKind,
    /// Shards of a new directory.
    pub shards: u16,
    /// Threads that run shards; `None` is one a core.
    pub workers: Option<usize>,
    /// Memory for blocks of the store.
    pub cache_bytes: u64,
    /// How broker time advances.
    pub clock: ClockMode,
    /// Where a manual clock starts; `None` is the wall clock's time.
    pub clock_start: Option<Time>,
    /// A start that would jump further ahead than this is held until the clock is accepted.
    pub clock_start_jump_max: DelayMs,
    /// What is logged.
    pub log_level: String,
    /// How it is logged.
    pub log_format: LogFormat,
    /// The limits in force.
    pub limits: Limits,
}

/// A bad value: of a flag it is a usage error, of the file or the environment a bad configuration.
fn bad(key: &str, value: &Layered, what: &str) -> Failure {
    let exit = match value.source {
        Source::Flag(_) => Exit::Usage,
        Source::Default | Source::File(_) | Source::Environment(_) => Exit::Configuration,
    };
    Failure::new(exit, format!("setting `{key}` ({}): `{}` {what}", value.source, value.text()))
}

fn read<T>(layers: &Layers, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, Failure> {
    let value = layers.get(key);
    parse(value.text()).map_err(|what| bad(key, value, &what))
}

fn word<T: Copy>(layers: &Layers, key: &str, words: &[(&str, T)]) -> Result<T, Failure> {
    read(layers, key, |text| {
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        found.ok_or_else(|| {
            let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            format!("is not one of {}", allowed.join(", "))
        })
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("is not a whole number that fits into {}", std::any::type_name::<T>()))
}

/// Bytes: a whole number, alone or with KiB, MiB or GiB.
fn size(text: &str) -> Result<u64, String> {
    let units = [("KiB", 1u64 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let (digits, factor) = units
        .iter()
        .find_map(|(unit, factor)| text.strip_suffix(unit).map(|digits| (digits, *factor)))
        .unwrap_or((text, 1));
    let malformed = "is not a number of bytes such as 65536, 64KiB, 4MiB, 1GiB".to_owned();
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(malformed);
    }
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(|| "is over 64 bits".to_owned())
}

fn size_in_memory(text: &str) -> Result<usize, String> {
    usize::try_from(size(text)?).map_err(|_| "is more than this machine can address".to_owned())
}

fn duration(text: &str) -> Result<DelayMs, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

fn address(text: &str) -> Result<Option<SocketAddr>, String> {
    if text == "off" {
        return Ok(None);
    }
    let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    named
        .as_deref()
        .unwrap_or(text)
        .parse()
        .map(Some)
        .map_err(|_| "is neither an address with a port, such as 127.0.0.1:7800 or [::1]:7800, nor `off`".to_owned())
}

fn limits(layers: &Layers) -> Result<Limits, Failure> {
    Ok(Limits {
        body_bytes_max: read(layers, "limits.body_bytes_max", size_in_memory)?,
        headers_bytes_max: read(layers, "limits.headers_bytes_max", size_in_memory)?,
        headers_max: read(layers, "limits.headers_max", number)?,
        batch_messages_max: read(layers, "limits.batch_messages_max", number)?,
        batch_bytes_max: read(layers, "limits.batch_bytes_max", size_in_memory)?,
        topics_max: read(layers, "limits.topics_max", number)?,
        schedules_max: read(layers, "limits.schedules_max", number)?,
        connections_max: read(layers, "limits.connections_max", number)?,
        receive_messages_max: read(layers, "limits.receive_messages_max", number)?,
        receive_bytes_max: read(layers, "limits.receive_bytes_max", size)?,
        receive_wait_max: read(layers, "limits.receive_wait_max", duration)?,
        disk_reserve_bytes: read(layers, "limits.disk_reserve_bytes", size)?,
    })
}

impl Settings {
    /// Reads every setting.
    ///
    /// # Errors
    /// The first value that cannot be read, and addresses that would open the broker to strangers.
    pub(crate) fn read(layers: &Layers) -> Result<Self, Failure> {
        let settings = Self {
            data: PathBuf::from(read(layers, "data", |text| {
                if text.is_empty() { Err("is not a directory".to_owned()) } else { Ok(text.to_owned()) }
            })?),
            http: read(layers, "http", address)?,
            grpc: read(layers, "grpc", address)?,
            access: access(layers)?,
            store: word(layers, "store", &[("fjall", StoreKind::Fjall), ("memory", StoreKind::Memory)])?,
            shards: read(layers, "shards", |text| match number(text)? {
                shards @ 1..=1024 => Ok(shards),
                _ => Err("is not from 1 to 1024".to_owned()),
            })?,
            workers: read(layers, "workers", |text| match text {
                "auto" => Ok(None),
                "0" => Err("is not at least 1".to_owned()),
                text => number(text).map(Some),
            })?,
            cache_bytes: read(layers, "cache_bytes", size)?,
            clock: word(layers, "clock", &[("system", ClockMode::System), ("manual", ClockMode::Manual)])?,
            clock_start: read(layers, "clock_start", |text| match text {
                "now" => Ok(None),
                text => parse_time(text).map(Some),
            })?,
            clock_start_jump_max: read(layers, "clock_start_jump_max", duration)?,
            log_level: layers.get("log.level").text().to_owned(),
            log_format: word(layers, "log.format", &[("human", LogFormat::Human), ("json", LogFormat::Json)])?,
            limits: limits(layers)?,
        };
        settings.refuse_strangers(word(layers, "insecure", &[("true", true), ("false", false)])?)?;
        Ok(settings)
    }

    fn refuse_strangers(&self, insecure: bool) -> Result<(), Failure> {
        if insecure || !self.access.is_open() {
            return Ok(());
        }
        for (door, address) in [("http", self.http), ("grpc", self.grpc)] {
            if let Some(address) = address.filter(|address| !address.ip().to_canonical().is_loopback()) {
                let message = format!(
                    "refusing to listen on {address} for {door}: it is not a loopback address and there are no tokens"
                );
                return Err(Failure::new(Exit::Configuration, message).with_hint(
                    "set tokens (PUNCTUAL_TOKENS, or `tokens` in the file), or pass --insecure to let everyone in",
                ));
            }
        }
        Ok(())
    }
}

fn access(layers: &Layers) -> Result<Access, Failure> {
    let value = layers.get("tokens");
    // An empty token would be a door that looks locked and is not.
    if value.items.iter().any(|token| token.is_empty() || token.chars().any(char::is_whitespace)) {
        let message = format!("setting `tokens` ({}): a token is empty or holds white space", value.source);
        return Err(Failure::new(Exit::Configuration, message));
    }
    Ok(Access::new(value.items.clone()))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use super::{super::layers::read_file, *};

    fn settings(file: &str) -> Result<Settings, Failure> {
        let file = read_file(Path::new("p.toml"), file).expect("a good file");
        Settings::read(&Layers::gather(&BTreeMap::new(), |_| None, &file))
    }

    #[test]
    fn the_defaults_of_the_table_are_the_limits_of_the_broker() {
        assert_eq!(settings("").expect("the defaults are good").limits, Limits::default());
    }

    #[test]
    fn a_value_that_cannot_be_read_names_its_setting_its_source_and_what_is_allowed() {
        for (file, parts) in [
            ("http = '127.0.0.1'", ["`http` (file p.toml)", "127.0.0.1:7800"]),
            ("store = 'disk'", ["`store`", "fjall, memory"]),
            ("shards = 0", ["`shards`", "1 to 1024"]),
            ("shards = 70000", ["`shards`", "whole number"]),
            ("cache_bytes = '1GB'", ["`cache_bytes`", "1GiB"]),
            ("clock_start = 'noon'", ["`clock_start`", "RFC 3339"]),
            ("insecure = 'yes'", ["`insecure`", "true, false"]),
            ("limits.receive_wait_max = '1 minute'", ["`limits.receive_wait_max`", "duration"]),
            ("limits.body_bytes_max = '17179869184GiB'", ["`limits.body_bytes_max`", "64 bits"]),
            ("tokens = ['']", ["`tokens`", "empty"]),
        ] {
            let failure = settings(file).expect_err(file);
            assert_eq!(failure.exit, Exit::Configuration, "{file}");
            assert!(parts.iter().all(|part| failure.message.contains(part)), "{}", failure.message);
        }
    }

    #[test]
    fn an_address_beyond_loopback_needs_tokens_or_insecure() {
        for address in ["0.0.0.0:7800", "[::]:7800", "192.168.1.5:7800"] {
            let file = format!("http = '{address}'");
            let failure = settings(&file).expect_err(address);
            assert_eq!(failure.exit, Exit::Configuration);
            assert!(failure.message.contains(address), "{}", failure.message);
            settings(&format!("{file}\ninsecure = true")).expect("insecure was asked for");
            settings(&format!("{file}\ntokens = ['secret']")).expect("there is a token");
        }
        for address in ["127.0.0.1:0", "127.8.8.8:1", "[::1]:1", "localhost:7800", "[::ffff:127.0.0.1]:1", "off"] {
            settings(&format!("grpc = '{address}'")).expect(address);
        }
    }
}
