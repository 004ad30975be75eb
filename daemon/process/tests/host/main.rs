//! The binary that tests start in the place of `ccd`: a shim, or a daemon that owns one child and is there to be killed.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::{ffi::OsString, path::PathBuf, process::ExitCode, time::Duration};

use ccd_process::{Environment, Launcher, Spec, shim};

/// `--shim …`, or `daemon <instance> <ttl in ms> <file> <program> [argument…]`: starts the program, and writes its number
/// and that of its shim into the file.
fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_ref().and_then(|first| first.to_str()) {
        Some(shim::FLAG) => shim::main(arguments),
        Some("daemon") => daemon(arguments.collect()),
        _ => ExitCode::FAILURE,
    }
}

fn daemon(arguments: Vec<OsString>) -> ExitCode {
    let [instance, ttl, file, program, arguments @ ..] = &arguments[..] else { return ExitCode::FAILURE };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let environment = Environment::allowed(std::env::vars_os(), &["TEST_*"]);
        let mut spec = Spec::new(program, environment).arguments(arguments);
        let ttl: u64 = ttl.to_str().unwrap().parse().unwrap();
        spec.ttl = (ttl > 0).then(|| Duration::from_millis(ttl));
        let child = Launcher::new(instance.to_str().unwrap()).spawn(&spec).await.unwrap();
        let (file, part) = (PathBuf::from(file), PathBuf::from(file).with_extension("part"));
        std::fs::write(&part, format!("{} {}", child.pid(), child.shim_pid())).unwrap();
        std::fs::rename(part, file).unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(child);
    });
    ExitCode::SUCCESS
}
