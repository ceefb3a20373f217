//! The stage on which transcripts are played: verbs to commands, answers to text.

mod answers;
mod meaning;
mod stage;
mod words;

pub(crate) use stage::Stage;
