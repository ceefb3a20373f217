//! Batches: what fails the call, and what fails one message.

use expect_test::{Expect, expect};

use super::{show, show_error};
use crate::{batch, limits};

fn check(text: &str, expected: &Expect) {
    let shown = match batch::parse(text.as_bytes(), 3) {
        Ok(messages) => messages.iter().map(show).collect::<Vec<_>>().join("\n"),
        Err(error) => format!("the call: {}", show_error(&error)),
    };
    expected.assert_eq(&shown);
}

#[test]
fn a_fault_inside_one_message_leaves_its_neighbours_alone() {
    check(
        r#"{"messages":[{"body":"1"},{"body":"2","x":1},{"body":"3","delay":"1s"}]}"#,
        &expect![[r#"
        body b"1"
        unknown_field [x] this call knows no field `x`
        body b"3", delay 1000ms"#]],
    );
    check(
        r#"{"messages":[{"body":"1"},null,{"tag":"a","tag":"b"}]}"#,
        &expect![[r#"
        body b"1"
        invalid_field [-] a message is a JSON object, and this is not one
        invalid_field [tag] `tag` is given twice"#]],
    );
}

#[test]
fn an_empty_batch_is_a_batch() {
    check(r#" { "messages" : [ ] } "#, &expect![[r#""#]]);
}

#[test]
fn a_fault_of_the_envelope_fails_the_call() {
    for (text, expected) in [
        (
            "",
            expect![
                "the call: malformed_request [-] cannot read the batch as JSON: EOF while parsing a value at line 1 column 0"
            ],
        ),
        (
            "not json",
            expect!["the call: malformed_request [-] cannot read the batch as JSON: expected ident at line 1 column 2"],
        ),
        (
            "[]",
            expect![
                "the call: malformed_request [-] cannot read the batch as JSON: invalid type: sequence, expected an object with `messages` at line 1 column 0"
            ],
        ),
        ("{}", expect!["the call: malformed_request [messages] the batch has no `messages`"]),
        (
            r#"{"messages":{}}"#,
            expect![
                "the call: malformed_request [messages] cannot read the batch as JSON: invalid type: map, expected an array of messages at line 1 column 12"
            ],
        ),
        (
            r#"{"messages":null}"#,
            expect![
                "the call: malformed_request [messages] cannot read the batch as JSON: invalid type: null, expected an array of messages at line 1 column 16"
            ],
        ),
        (
            r#"{"messages":[{"body":"1"}"#,
            expect![
                "the call: malformed_request [-] cannot read the batch as JSON: EOF while parsing a list at line 1 column 25"
            ],
        ),
        (r#"{"messages":[],"extra":1}"#, expect!["the call: unknown_field [extra] a batch has no field `extra`"]),
        (r#"{"messages":[],"messages":[]}"#, expect!["the call: invalid_field [messages] `messages` is given twice"]),
        (
            r#"{"messages":[]} x"#,
            expect![
                "the call: malformed_request [-] cannot read the batch as JSON: trailing characters at line 1 column 17"
            ],
        ),
        (
            r#"{"messages":[{},{},{},{},{}]}"#,
            expect!["the call: batch_too_large [messages] the batch has 5 messages, allowed are 3"],
        ),
    ] {
        check(text, &expected);
    }
    check(
        &format!(r#"{{"messages":[{}1{}]}}"#, "[".repeat(200), "]".repeat(200)),
        &expect![
            "the call: malformed_request [-] cannot read the batch as JSON: recursion limit exceeded at line 1 column 139"
        ],
    );
}

#[test]
fn a_message_of_very_many_values_is_refused_and_its_neighbours_are_not() {
    let many = vec!["1"; limits::JSON_VALUES_MAX + 1].join(",");
    check(
        &format!(r#"{{"messages":[{{"headers":[{many}]}},{{"body":"2"}}]}}"#),
        &expect![[r#"
        malformed_request [-] the JSON document holds more than 65536 values
        body b"2""#]],
    );
}
