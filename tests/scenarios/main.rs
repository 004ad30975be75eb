//! Scenarios over a real daemon and a real socket, one file a capability.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]
#![allow(clippy::print_stdout, reason = "figures of promises, and what recorded cases agreed")]

mod ast;
mod cases;
mod chaos;
mod config;
mod control;
mod edit;
mod envelope;
mod events;
mod flood;
mod graph;
mod http;
mod lifecycle;
mod stages;
mod systemd;
mod trust;
mod watching;
mod workspace;
