//! Compiles `proto/punctual/v1` without a system `protoc`.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorSet, field_descriptor_proto, source_code_info::Location};

/// Every file of the package, below `proto/`.
const FILES: [&str; 6] = [
    "punctual/v1/admin.proto",
    "punctual/v1/broker.proto",
    "punctual/v1/error.proto",
    "punctual/v1/message.proto",
    "punctual/v1/messages.proto",
    "punctual/v1/schedules.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut descriptors = protox::compile(FILES, [root])?;

    // What reflection answers: the files as they are written, without their comments.
    let mut reflected = descriptors.clone();
    reflected.file.iter_mut().for_each(|file| file.source_code_info = None);
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("punctual.v1.bin"), reflected.encode_to_vec())?;

    maps_to_headers(&mut descriptors);
    tonic_prost_build::configure()
        .bytes(".")
        .codec_path("crate::Codec")
        .build_transport(false)
        .compile_fds(descriptors)?;
    Ok(())
}

/// Generates a map as the repeated entry that it is on the wire, one type for all of them. A map type
/// would lose the order of headers, which come back exactly as sent, and hash each of them on the way.
fn maps_to_headers(descriptors: &mut FileDescriptorSet) {
    let is_map = |message: &DescriptorProto| message.options.as_ref().is_some_and(|options| options.map_entry());
    for file in &mut descriptors.file {
        let mut entry = None;
        for message in &mut file.message_type {
            let Some(at) = message.nested_type.iter().position(is_map) else { continue };
            let map = message.nested_type.remove(at);
            for field in &mut message.field {
                if field.type_name().ends_with(map.name()) {
                    field.type_name = Some(format!(".{}.Header", file.package.as_deref().unwrap_or_default()));
                }
            }
            entry = Some(map);
        }
        let Some(mut entry) = entry else { continue };
        let are_text = entry.field.iter().all(|field| field.r#type() == field_descriptor_proto::Type::String);
        assert!(are_text, "a map of anything but text to text needs a type of its own here");
        entry.name = Some("Header".to_owned());
        entry.options = None;
        // The generator looks a comment up for everything it writes: message 4, field 2.
        let place = i32::try_from(file.message_type.len()).expect("so many messages");
        for path in [vec![4, place], vec![4, place, 2, 0], vec![4, place, 2, 1]] {
            let location = Location { path, span: vec![0, 0, 0], ..Location::default() };
            file.source_code_info.get_or_insert_default().location.push(location);
        }
        file.message_type.push(entry);
    }
}
