//! The store, through the door that every store has, on real files and on a disk that dies.

mod checking;
mod desk;
mod differential;
mod directory;
mod dying;
mod folding;
mod folding_beside;
mod on_disk;
mod promises;
