//! A promise that is written but not in the list of `store_conformance!` would be run by nobody.

use std::{collections::BTreeSet, fs, path::Path};

#[test]
fn every_promise_is_in_the_list_that_stores_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testing/conformance");
    let mut written = BTreeSet::new();
    for entry in fs::read_dir(&folder).expect("the folder of the promises") {
        let text = fs::read_to_string(entry.expect("an entry").path()).expect("a source file");
        let functions = text.lines().filter_map(|line| line.strip_prefix("pub fn ")?.split_once("<H: Harness>"));
        written.extend(functions.map(|(name, _)| name.to_owned()));
    }
    let list = fs::read_to_string(folder.join("mod.rs")).expect("the list");
    let (_, list) = list.split_once("@ $harness;").expect("the list begins");
    let (list, _) = list.split_once(");").expect("the list ends");
    let listed: BTreeSet<String> = list.split_whitespace().map(str::to_owned).collect();
    assert!(written.len() > 40, "the promises were found: {written:?}");
    assert_eq!(written, listed);
}
