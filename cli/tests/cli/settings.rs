//! Where settings come from, and what may not be set.

use crate::support::{Said, finish, punctual, run, text};

/// The value and the source of a setting, as `--print-config` shows them.
async fn shown(file: Option<&str>, variables: &[(&str, &str)], flags: &[&str]) -> Said {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("punctual.toml");
    let mut command = punctual();
    command.args(["serve", "--print-config", "--json"]).args(flags).envs(variables.iter().copied());
    if let Some(file) = file {
        std::fs::write(&path, file).expect("a file");
        command.args(["--config", text(&path)]);
    }
    finish(command, b"").await
}

fn setting(said: &Said, key: &str) -> (String, String) {
    assert_eq!(said.code, 0, "{said:?}");
    let objects = said.objects();
    let object = objects.iter().find(|object| object["key"] == key).unwrap_or_else(|| panic!("no {key}: {said:?}"));
    let value = object["value"].as_str().map_or_else(|| object["value"].to_string(), str::to_owned);
    (value, object["source"].as_str().expect("a source").to_owned())
}

#[tokio::test]
async fn a_flag_counts_before_the_environment_before_the_file_before_the_default() {
    let file = Some("http = '127.0.0.1:1'\n[limits]\nbody_bytes_max = 1\n");
    let environment = [("PUNCTUAL_HTTP", "127.0.0.1:2"), ("PUNCTUAL_LIMITS__BODY_BYTES_MAX", "2")];
    let flags = ["--http", "127.0.0.1:3", "--limits-body-bytes-max", "3"];
    let said = shown(file, &environment, &flags).await;
    assert_eq!(setting(&said, "http"), ("127.0.0.1:3".into(), "flag --http".into()));
    assert_eq!(setting(&said, "limits.body_bytes_max"), ("3".into(), "flag --limits-body-bytes-max".into()));
    let said = shown(file, &environment, &[]).await;
    assert_eq!(setting(&said, "http"), ("127.0.0.1:2".into(), "environment PUNCTUAL_HTTP".into()));
    let (value, source) = setting(&said, "limits.body_bytes_max");
    assert_eq!((value.as_str(), source.as_str()), ("2", "environment PUNCTUAL_LIMITS__BODY_BYTES_MAX"));
    let said = shown(file, &[], &[]).await;
    let (value, source) = setting(&said, "http");
    assert_eq!(value, "127.0.0.1:1");
    assert!(source.starts_with("file /") && source.ends_with("punctual.toml"), "{source}");
    assert_eq!(setting(&said, "limits.body_bytes_max").0, "1");
    assert_eq!(setting(&shown(None, &[], &[]).await, "http"), ("127.0.0.1:7800".into(), "default".into()));
}

#[tokio::test]
async fn the_printed_settings_are_a_file_that_gives_the_same_settings() {
    let flags = ["--data", "/tmp/x \"y\"", "--insecure", "--workers", "3", "--cache-bytes", "1MiB"];
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("again.toml");
    let mut command = punctual();
    command.args(["serve", "--print-config"]).args(flags);
    std::fs::write(&path, finish(command, b"").await.stdout).expect("a file");
    let again = run(&["serve", "--print-config", "--json", "--config", text(&path)]).await;
    let direct = shown(None, &[], &flags).await;
    for object in direct.objects() {
        let key = object["key"].as_str().expect("a key");
        assert_eq!(setting(&again, key).0, setting(&direct, key).0, "{key}");
    }
}

#[tokio::test]
async fn tokens_are_counted_and_never_shown() {
    let said = shown(None, &[("PUNCTUAL_TOKENS", "s3cret,other")], &[]).await;
    assert_eq!(setting(&said, "tokens"), (r#"{"hidden":2}"#.into(), "environment PUNCTUAL_TOKENS".into()));
    assert!(!said.stdout.contains("s3cret"), "{said:?}");
}

#[tokio::test]
async fn an_unknown_key_of_the_file_is_an_error_that_names_the_key_and_the_file() {
    let said = shown(Some("[limits]\nbody = 1\n"), &[], &[]).await;
    assert_eq!(said.code, 17, "{said:?}");
    assert!(said.stderr.contains("`limits.body`") || said.stderr.contains("limits.body"), "{said:?}");
    assert!(said.stderr.contains("punctual.toml"), "{said:?}");
}

#[tokio::test]
async fn a_bad_value_is_bad_usage_in_a_flag_and_bad_configuration_elsewhere() {
    assert_eq!(shown(None, &[], &["--cache-bytes", "much"]).await.code, 2);
    let said = shown(None, &[("PUNCTUAL_CACHE_BYTES", "much")], &[]).await;
    assert_eq!(said.code, 17, "{said:?}");
    assert!(said.stderr.contains("PUNCTUAL_CACHE_BYTES"), "{said:?}");
}

#[tokio::test]
async fn an_address_beyond_loopback_is_refused_without_tokens() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let said = run(&["serve", "--data", text(&data), "--http", "0.0.0.0:0", "--grpc", "off"]).await;
    assert_eq!(said.code, 17, "{said:?}");
    assert!(said.stderr.contains("0.0.0.0:0") && said.stderr.contains("--insecure"), "{said:?}");
    assert!(!data.exists(), "nothing was made");
}
