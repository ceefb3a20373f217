//! What a data directory must look like to be opened, and that a refusal changes nothing.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use punctual_store_api::{Store, StoreError, Unusable};
use punctual_store_fjall::{
    FjallStore, OpenOptions,
    limits::{FORMAT_FILE_BYTES_MAX, START_FREE_BYTES_MIN},
};
use punctual_types::limits::SHARDS_MAX;
use tempfile::TempDir;

const SECRET: [u8; 16] = *b"0123456789abcdef";

fn options() -> OpenOptions {
    OpenOptions::new(4, SECRET)
}

fn temporary() -> TempDir {
    TempDir::new().expect("a temporary directory")
}

/// A data directory that was made and closed.
fn made() -> TempDir {
    let directory = temporary();
    let store = FjallStore::open(directory.path(), &options()).expect("opens");
    store.close().expect("closes");
    directory
}

fn refused(path: &Path, options: &OpenOptions) -> StoreError {
    match FjallStore::open(path, options) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

fn reason(error: &StoreError) -> Unusable {
    match error {
        StoreError::Unusable { reason, .. } => *reason,
        other => panic!("unusable was expected: {other}"),
    }
}

/// Every path below a directory, with the length and, of small files, the content.
fn contents(path: &Path) -> BTreeMap<PathBuf, (u64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let metadata = fs::metadata(&path).expect("metadata");
            if metadata.is_dir() {
                folders.push(path.clone());
                found.insert(path, (0, Vec::new()));
            } else {
                let small = metadata.len() < 100_000;
                let bytes = if small { fs::read(&path).expect("a file") } else { Vec::new() };
                found.insert(path, (metadata.len(), bytes));
            }
        }
    }
    found
}

#[test]
fn a_directory_keeps_the_shards_and_the_secret_it_was_made_with() {
    let directory = made();
    let store = FjallStore::open(directory.path(), &OpenOptions::new(9, [1; 16])).expect("opens");
    assert_eq!((store.shards(), store.secret()), (4, SECRET));
}

#[test]
fn a_directory_may_have_as_many_shards_as_the_limit_says() {
    let directory = temporary();
    let store = FjallStore::open(directory.path(), &OpenOptions::new(SHARDS_MAX, SECRET)).expect("opens");
    assert_eq!(store.shards(), SHARDS_MAX);
    assert!(store.shard(punctual_types::ShardNumber(SHARDS_MAX - 1)).is_ok());
}

#[test]
#[should_panic(expected = "1025 shards asked for")]
fn a_directory_with_more_shards_than_the_limit_is_a_bug_of_the_caller() {
    let directory = temporary();
    drop(FjallStore::open(directory.path(), &OpenOptions::new(SHARDS_MAX + 1, SECRET)));
}

#[test]
fn a_path_that_does_not_exist_is_made_with_its_parents() {
    let directory = temporary();
    let path = directory.path().join("a/b/c");
    let store = FjallStore::open(&path, &options()).expect("opens");
    assert_eq!(store.shards(), 4);
    assert!(path.join("punctual.format").is_file() && path.join("fjall").is_dir() && !path.join("fjall.new").exists());
}

#[test]
fn two_never_open_one_directory() {
    let directory = temporary();
    let store = FjallStore::open(directory.path(), &options()).expect("opens");
    let error = refused(directory.path(), &options());
    assert_eq!(reason(&error), Unusable::Locked);
    let path = directory.path().display().to_string();
    assert_eq!(error.to_string(), format!("cannot open data directory `{path}`: another process has it open"));
    drop(store);
    drop(FjallStore::open(directory.path(), &options()).expect("opens when the other is gone"));
}

#[test]
fn a_directory_of_something_else_is_refused_untouched() {
    let directory = temporary();
    fs::write(directory.path().join("holiday.jpg"), "beach").expect("written");
    let before = contents(directory.path());
    let error = refused(directory.path(), &options());
    assert_eq!(reason(&error), Unusable::Format);
    assert!(error.to_string().contains("holiday.jpg"), "{error}");
    assert_eq!(contents(directory.path()), before);
}

#[test]
fn a_file_in_the_place_of_a_directory_is_refused_untouched() {
    let directory = temporary();
    let path = directory.path().join("file");
    fs::write(&path, "text").expect("written");
    for path in [path.clone(), path.join("below")] {
        let error = refused(&path, &options());
        assert_eq!(reason(&error), Unusable::Access, "{error}");
    }
    assert_eq!(fs::read_to_string(&path).expect("still there"), "text");
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    // Refused to everyone, root included: the system makes no directories there.
    let error = refused(Path::new("/sys/punctual"), &options());
    assert_eq!(reason(&error), Unusable::Access, "{error}");
}

#[test]
fn a_directory_without_the_right_to_write_is_refused_untouched() {
    use std::os::unix::fs::PermissionsExt;
    let directory = made();
    let before = contents(directory.path());
    let lock = directory.path().join("punctual.lock");
    fs::remove_file(&lock).expect("removed");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o555)).expect("set");
    let opened = FjallStore::open(directory.path(), &options());
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("set");
    // Root may write anyway, and then the store opens.
    if let Err(error) = opened {
        assert_eq!(reason(&error), Unusable::Access, "{error}");
        fs::write(&lock, "").expect("written");
        assert_eq!(contents(directory.path()), before);
    }
}

#[test]
fn too_little_free_space_is_refused_untouched() {
    assert_eq!(options().free_bytes_min, START_FREE_BYTES_MIN);
    let directory = made();
    let before = contents(directory.path());
    let error = refused(directory.path(), &OpenOptions { free_bytes_min: u64::MAX, ..options() });
    assert_eq!(reason(&error), Unusable::Full);
    assert!(error.to_string().contains(&u64::MAX.to_string()), "{error}");
    assert_eq!(contents(directory.path()), before);

    let new = directory.path().join("new");
    assert_eq!(reason(&refused(&new, &OpenOptions { free_bytes_min: u64::MAX, ..options() })), Unusable::Full);
    assert_eq!(contents(&new), BTreeMap::new());
}

#[test]
fn a_damaged_format_file_is_called_damaged() {
    let directory = made();
    let file = directory.path().join("punctual.format");
    let text = fs::read_to_string(&file).expect("text");
    // The last is whole, but longer than any format file may be.
    let endless = format!("{}{text}", "#\n".repeat(FORMAT_FILE_BYTES_MAX as usize / 2));
    for damaged in [text.replace("shards 4", "shards 5"), text[..text.len() / 2].to_owned(), String::new(), endless] {
        fs::write(&file, &damaged).expect("written");
        let before = contents(directory.path());
        let error = refused(directory.path(), &options());
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("punctual.format"), "{error}");
        assert_eq!(contents(directory.path()), before);
    }
    fs::write(&file, text).expect("written");
    drop(FjallStore::open(directory.path(), &options()).expect("opens when it is whole again"));
}

#[test]
fn a_newer_format_is_refused_untouched() {
    let directory = made();
    // A file of format 2 as a later version would write it, with its check.
    let text = "punctual data directory\nformat 2\nwhatever comes\ncheck ";
    let check = text
        .strip_suffix("check ")
        .expect("ends so")
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    fs::write(directory.path().join("punctual.format"), format!("{text}{check:016x}\n")).expect("written");
    let before = contents(directory.path());
    let error = refused(directory.path(), &options());
    assert_eq!(reason(&error), Unusable::Format);
    assert!(error.to_string().contains("format 2"), "{error}");
    assert_eq!(contents(directory.path()), before);
}

#[test]
fn a_directory_whose_database_is_gone_is_not_taken_for_a_new_one() {
    let directory = made();
    fs::remove_dir_all(directory.path().join("fjall")).expect("removed");
    let error = refused(directory.path(), &options());
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn a_first_start_that_was_cut_off_is_taken_up_again() {
    // After the folder, before the format file.
    let directory = temporary();
    fs::create_dir(directory.path().join("fjall.new")).expect("made");
    fs::write(directory.path().join("punctual.lock"), "").expect("written");
    fs::write(directory.path().join("punctual.format.new"), "punctual da").expect("written");
    drop(FjallStore::open(directory.path(), &options()).expect("opens"));

    // After the format file, with a database half made.
    let format = fs::read(directory.path().join("punctual.format")).expect("read");
    let directory = temporary();
    fs::write(directory.path().join("punctual.format"), format).expect("written");
    fs::create_dir_all(directory.path().join("fjall.new/keyspaces")).expect("made");
    fs::write(directory.path().join("fjall.new/0.jnl"), vec![0; 1000]).expect("written");
    let store = FjallStore::open(directory.path(), &OpenOptions::new(9, [1; 16])).expect("opens");
    assert_eq!((store.shards(), store.secret()), (4, SECRET));
}

#[test]
fn a_damaged_journal_is_refused() {
    let directory = temporary();
    {
        let store = FjallStore::open(directory.path(), &options()).expect("opens");
        let shard = store.shard(punctual_types::ShardNumber(0)).expect("a shard");
        for round in 0..50_u8 {
            let key = bytes::Bytes::from(vec![round; 100]);
            let write = punctual_types::Write::SetState { key: key.clone(), value: Some(key) };
            let batch = punctual_types::Batch { writes: vec![write], ..Default::default() };
            punctual_store_api::testing::wait(shard.commit(batch)).expect("written");
        }
        store.close().expect("closes");
    }
    let journal = fs::read_dir(directory.path().join("fjall"))
        .expect("listed")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "jnl"))
        .expect("a journal");
    let mut bytes = fs::read(&journal).expect("read");
    let at = bytes.windows(100).position(|window| window == [20; 100]).expect("the twentieth value");
    bytes[at + 50] ^= 1;
    fs::write(&journal, bytes).expect("written");
    let error = refused(directory.path(), &options());
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}
