//! Servers that misbehave, and real ones. Where the real ones are looked for is said in `real`.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod detection;
mod misbehaviour;
mod real;
mod world;
