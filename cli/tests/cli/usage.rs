//! What is wrong with the command line is told before anything is done.

use crate::support::run;

#[tokio::test]
async fn a_wrong_command_line_ends_with_code_2_and_names_the_argument() {
    for (args, part) in [
        (&["publish", "orders"][..], "BODY"),
        (&["publish", "orders", "x", "--delay", "5 minutes"], "--delay"),
        (&["publish", "orders", "x", "--delay", "-5s"], "-5"),
        (&["publish", "orders", "x", "--delay", "5s", "--at", "0"], "--at"),
        (&["publish", "or ders", "x"], "TOPIC"),
        (&["publish", "orders", "x", "-H", "novalue"], "NAME=VALUE"),
        (&["publish", "orders", "--lines", "f", "--key", "k"], "--key"),
        (&["publish", "orders", "x", "--raw"], "--raw"),
        (&["consume", "orders"], "--subscription"),
        (&["consume", "orders", "-s", "a", "--max", "0"], "--max"),
        (&["consume", "orders", "-s", "a", "--ack", "--no-ack"], "--no-ack"),
        (&["get", "orders"], "ID"),
        (&["cancel", "orders", "id", "--key", "k"], "--key"),
        (&["reschedule", "orders", "id"], "--delay"),
        (&["topic", "set", "orders", "--durability", "never"], "sync, async, memory"),
        (&["sub", "seek", "orders", "a", "yesterday"], "earliest"),
        (&["sub", "set", "orders", "a", "--start", "yesterday"], "earliest"),
        (&["sub", "set", "orders", "a", "--breaker", "5,1m"], "FAILURES,WINDOW,PAUSE"),
        (&["sub", "redrive", "orders", "a", "--from", "yesterday"], "RFC 3339"),
        (&["clock", "advance", "soon"], "duration"),
        (&["schedule", "set", "s", "--every", "soon"], "duration"),
        (&["schedule", "set", "s", "--every", "1m", "--cron", "* * * * *"], "--cron"),
        (&["schedule", "set", "s", "--catch-up", "some"], "none, last, all"),
        (&["schedule", "show", "s p"], "SCHEDULE"),
        (&["serve", "--colour"], "--colour"),
        (&["serve", "--shards", "0"], "1 to 1024"),
        (&["bench", "publish", "--delays", "gauss:1s"], "uniform"),
        (&["topic", "ls", "--server", "not an address"], "not an address"),
        (&["no-such-command"], "no-such-command"),
    ] {
        let said = run(args).await;
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        assert!(said.stderr.contains(part), "{args:?} should name {part}: {}", said.stderr);
        assert_eq!(said.stdout, "", "{args:?}");
    }
}

#[tokio::test]
async fn nobody_at_the_address_ends_with_code_3_in_both_forms() {
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
    let server = free.to_string();
    let said = run(&["publish", "orders", "x", "--server", &server]).await;
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.stderr.contains(&server), "{said:?}");
    let said = run(&["topic", "ls", "--json", "--server", &server]).await;
    assert_eq!(said.code, 3, "{said:?}");
    let object: serde_json::Value = serde_json::from_str(&said.stderr).expect("one object on stderr");
    assert_eq!(object["error"]["code"], "unreachable");
    assert_eq!(object["exit_code"], 3);
    assert_eq!(said.stdout, "");
}

#[tokio::test]
async fn the_help_of_serve_lists_every_setting_with_its_variable() {
    let said = run(&["serve", "--help"]).await;
    assert_eq!(said.code, 0);
    let shown = run(&["serve", "--print-config", "--json"]).await;
    let settings = shown.objects();
    assert!(settings.len() > 20, "{settings:?}");
    for setting in settings {
        let key = setting["key"].as_str().expect("a key");
        let variable = format!("PUNCTUAL_{}", key.replace('.', "__").to_uppercase());
        assert!(said.stdout.contains(&format!("[env: {variable}]")), "the help lacks {variable}");
    }
}
