//! Transactions over the real file system.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]
#![allow(clippy::print_stderr, reason = "figures, and reasons why a part of a test could not run here")]

mod awkward;
mod basics;
mod chaos;
mod kept;
mod mounts;
mod races;
mod world;
