//! Every setting of the server, in one table: from it come the flags, the names of the
//! environment variables, the keys of the file, the help and the defaults.

/// What kind of value a setting takes, for the flag's shape and for what may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One value.
    Value,
    /// True or false; the flag alone means true.
    Switch,
    /// A list of secrets: no flag, since other users can see a process's arguments, and never
    /// shown. In the environment separated by commas.
    Secrets,
}

/// One setting.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The key in the file, with a dot where it lies in a table.
    pub key: &'static str,
    /// What kind of value it takes.
    pub form: Form,
    /// What stands for the value in the help.
    pub placeholder: &'static str,
    /// The value when nobody sets one.
    pub default: &'static str,
    /// What it means.
    pub help: &'static str,
}

impl Setting {
    /// The flag's name, without the dashes in front.
    pub(crate) fn flag(&self) -> String {
        self.key.replace(['.', '_'], "-")
    }

    /// The environment variable: nested keys with two underscores.
    pub(crate) fn variable(&self) -> String {
        format!("PUNCTUAL_{}", self.key.replace('.', "__").to_uppercase())
    }

    /// The setting of a key.
    pub(crate) fn of(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }
}

const fn value(key: &'static str, placeholder: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting { key, form: Form::Value, placeholder, default, help }
}

/// The table. The defaults of `limits` are those of the broker, repeated here as text so that the
/// help can show them; a test keeps both equal.
pub(crate) const SETTINGS: &[Setting] = &[
    value("data", "DIR", "./data", "where messages are kept; made when it does not exist"),
    value("http", "ADDR", "127.0.0.1:7800", "where HTTP listens; port 0 is any free one, `off` is no HTTP"),
    value("grpc", "ADDR", "127.0.0.1:7801", "where gRPC listens; port 0 is any free one, `off` is no gRPC"),
    Setting {
        key: "insecure",
        form: Form::Switch,
        placeholder: "true|false",
        default: "false",
        help: "listen beyond loopback without tokens: whoever reaches the port may do everything",
    },
    Setting {
        key: "tokens",
        form: Form::Secrets,
        placeholder: "TOKEN,…",
        default: "",
        help: "bearer tokens that open the doors; none: every caller is let in",
    },
    value("store", "STORE", "fjall", "how messages are kept: `fjall` on disk, `memory` until the process ends"),
    value("shards", "N", "16", "shards of a new data directory, 1 to 1024; fixed when it is made"),
    value("workers", "N", "auto", "threads that run the shards; `auto` is one a core"),
    value("cache_bytes", "SIZE", "64MiB", "memory for blocks read from the store"),
    value("clock", "MODE", "system", "`system`, or `manual`: time stands still until `punctual clock advance`"),
    value("clock_start", "TIME", "now", "where a manual clock starts, RFC 3339 or Unix milliseconds"),
    value(
        "clock_start_jump_max",
        "DURATION",
        "30d",
        "a start that would jump further ahead holds the schedule until `punctual clock accept`",
    ),
    value("log.level", "FILTER", "info", "error, warn, info, debug or trace, also by module: `info,punctual=debug`"),
    value("log.format", "FORMAT", "human", "`human` or `json`, one object a line"),
    value("limits.body_bytes_max", "SIZE", "4MiB", "bytes of a message body"),
    value("limits.headers_bytes_max", "SIZE", "64KiB", "bytes of all header names and values of a message"),
    value("limits.headers_max", "N", "128", "headers of a message"),
    value("limits.batch_messages_max", "N", "10000", "messages of a batch"),
    value("limits.batch_bytes_max", "SIZE", "16MiB", "bytes of a batch"),
    value("limits.topics_max", "N", "10000", "topics of a namespace"),
    value("limits.schedules_max", "N", "1000", "recurring schedules of a namespace"),
    value("limits.connections_max", "N", "20000", "connections to all doors together"),
    value("limits.receive_messages_max", "N", "1000", "messages of one receive call"),
    value("limits.receive_bytes_max", "SIZE", "4MiB", "bytes of one receive call"),
    value("limits.receive_wait_max", "DURATION", "60s", "longest wait of a receive call"),
    value(
        "limits.disk_reserve_bytes",
        "SIZE",
        "256MiB",
        "free disk space below which publishing is refused, so that acks and cancels still have room",
    ),
];
