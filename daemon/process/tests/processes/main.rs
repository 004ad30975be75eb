//! Real processes: started, flooded, abandoned, killed. What must be gone is looked for in `/proc` by its marker.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]
#![allow(clippy::print_stdout, reason = "figures of a run, shown with --nocapture")]

mod daemon;
mod life;
mod memory;
mod probes;
mod streams;
mod world;
