//! JSON documents and queries below the level of a call.

use expect_test::{Expect, expect};
use punctual_broker_api::{Code, Error};

use super::show_error;
use crate::{
    json::{Fields, read},
    query,
};

fn check<T: std::fmt::Debug>(texts: &[&str], read: impl Fn(&str) -> Result<T, Error>, expected: &Expect) {
    let show = |text: &&str| read(text).map_or_else(|error| show_error(&error), |value| format!("{value:?}"));
    expected.assert_eq(&texts.iter().map(show).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_request_without_a_body_is_an_empty_object() {
    check(
        &["", "{}", " ", "[]", "null", "{\"a\":1}", "\u{feff}{}"],
        |text| Fields::of_request(text.as_bytes()).and_then(|fields| fields.finish()),
        &expect![[r#"
            ()
            ()
            malformed_request [-] cannot read the request as JSON: EOF while parsing a value at line 1 column 1
            malformed_request [-] the request is JSON, but not a JSON object
            malformed_request [-] the request is JSON, but not a JSON object
            unknown_field [a] this call knows no field `a`
            malformed_request [-] cannot read the request as JSON: expected value at line 1 column 1"#]],
    );
}

#[test]
fn bytes_that_are_not_utf8_are_refused() {
    let error = Fields::of_request(b"{\"a\":\"\xff\"}").expect_err("not UTF-8");
    expect!["malformed_request [-] cannot read the request as JSON: invalid unicode code point at line 1 column 7"]
        .assert_eq(&show_error(&error));
}

#[test]
fn receipts_are_a_list_of_texts_of_bounded_length() {
    check(
        &[
            r#"{"receipts":["a","b"]}"#,
            r#"{"receipts":[]}"#,
            r#"{"receipts":["a","b","c","d"]}"#,
            r#"{"receipts":["a",5]}"#,
            r#"{"receipts":"a"}"#,
            r#"{"receipts":null}"#,
            r#"{}"#,
        ],
        |text| {
            Fields::of_request(text.as_bytes())?.required("receipts", read::list(3, Code::BatchTooLarge, read::text))
        },
        &expect![[r#"
            ["a", "b"]
            []
            batch_too_large [receipts] cannot take `receipts`: it has 4 values, allowed are 3
            invalid_field [receipts[1]] cannot take `receipts`: 5 is not a string
            invalid_field [receipts] cannot take `receipts`: "a" is not an array
            malformed_request [receipts] the request has no `receipts`
            malformed_request [receipts] the request has no `receipts`"#]],
    );
}

#[test]
fn flags_and_numbers_of_a_query_come_as_text_and_those_of_json_do_not() {
    check(
        &["a=true", "a=false", "a=1", "a", "b=true"],
        |text| query::parse(Some(text))?.optional("a", read::flag),
        &expect![[r#"
            Some(true)
            Some(false)
            invalid_field [a] cannot take `a`: "1" is not true or false
            invalid_field [a] cannot take `a`: "" is not true or false
            None"#]],
    );
    check(
        &["a=1", "a=01", "a=+1", "a=", "a=99999999999999999999"],
        |text| query::parse(Some(text))?.optional("a", read::whole::<u32>),
        &expect![[r#"
            Some(1)
            Some(1)
            invalid_field [a] cannot take `a`: " 1" is not a whole number from 0 to 4294967295
            invalid_field [a] cannot take `a`: "" is not a whole number from 0 to 4294967295
            invalid_field [a] cannot take `a`: "99999999999999999999" is not a whole number from 0 to 4294967295"#]],
    );
    check(
        &[r#"{"a":"true"}"#, r#"{"a":true}"#],
        |text| Fields::of_request(text.as_bytes())?.optional("a", read::flag),
        &expect![[r#"
            invalid_field [a] cannot take `a`: "true" is not true or false
            Some(true)"#]],
    );
}
