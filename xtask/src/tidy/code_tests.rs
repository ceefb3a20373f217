//! What the scanner takes for code, for tests and for paths.

use super::*;

fn paths(source: &str) -> Vec<String> {
    Code::of(source).mentions().into_iter().map(|mention| format!("{}:{}", mention.line, mention.path)).collect()
}

#[test]
fn text_in_comments_and_literals_is_not_code() {
    let source = r####"
// std::fs in a comment
/* std::fs /* nested */ std::fs */
let a = "std::fs \" std::fs"; let b = r#"std::fs " "#; let c = b"std::fs"; let d = '"'; let e = '\'';
fn f<'a>(x: &'a str) { std::net::f(x) }
"####;
    let text = Code::of(source).text().to_owned();
    assert!(!text.contains("std::fs"), "{text}");
    assert!(text.contains("std::net::f(x)"), "{text}");
    assert_eq!(text.lines().count(), source.lines().count());
}

#[test]
fn use_trees_are_spelled_out_with_the_line_of_each_branch() {
    assert_eq!(
        paths("use std::{fs::{self, File}, io as other,\n time::Instant};"),
        ["1:std::fs", "1:std::fs::File", "1:std::io", "2:std::time::Instant"]
    );
}

#[test]
fn a_path_is_read_over_line_breaks_and_from_the_root() {
    assert_eq!(paths("::std::env\n  ::var(x)"), ["1:std::env::var", "2:x"]);
}

#[test]
fn lines_of_test_items_are_marked() {
    let code =
        Code::of("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n#[tokio::test]\nfn d() {}\n");
    let marked: Vec<usize> = (1..=8).filter(|line| code.is_test_line(*line)).collect();
    assert_eq!(marked, [2, 3, 4, 5, 7, 8]);
}

#[test]
fn test_modules_in_files_of_their_own_are_known_by_name() {
    let code = Code::of("#[cfg(test)]\n#[path = \"x\"]\nmod tests;\n#[cfg(not(test))]\nmod real;\n");
    assert_eq!(code.test_modules(), ["tests"]);
}

#[test]
fn a_body_ends_at_its_own_brace_and_a_semicolon_in_brackets_does_not_end_the_head() {
    let code = Code::of("fn a(x: [u8; 4]) { if x { } } fn b();");
    assert_eq!(code.body_after(0), Some(17..29));
    assert_eq!(code.body_after(30), None);
}
