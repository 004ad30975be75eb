//! What is told to whom, case by case.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod attribution;
mod bounds;
mod news;
mod sources;
mod world;
