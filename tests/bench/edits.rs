//! Edits through the socket: one hunk in a long file, and many files made durable.

use std::{
    fs,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::{
    daemon::{Daemon, Wire},
    queries::Spread,
};

/// Patches of one hunk in one run.
const PATCHES: usize = 200;
/// Lines of the file that they change.
const LINES: usize = 1000;
/// Files of the patch that is made durable.
const FILES: usize = 40;
/// How often that is done.
const ROUNDS: usize = 20;

pub(crate) struct Edits {
    /// One hunk, `durability = "process"`.
    pub(crate) one: Spread,
    /// Many files in one patch, `durability = "power"`.
    pub(crate) many: Duration,
    /// What the same number of new files costs that are written and synced one after the other, with their folders.
    pub(crate) syncs: Duration,
}

pub(crate) fn measure(base: &Path) -> anyhow::Result<Edits> {
    Ok(Edits { one: one(&base.join("process"))?, ..many(&base.join("power"))? })
}

fn start(base: &Path, durability: &str) -> anyhow::Result<(Daemon, Wire, String)> {
    let project = base.join("project");
    fs::create_dir_all(&project)?;
    let folders = base.join("daemon");
    let config = ccd_client::Paths::below(&folders).config;
    fs::create_dir_all(&config)?;
    fs::write(config.join("config.toml"), format!("[edit]\ndurability = \"{durability}\"\n"))?;
    let daemon = Daemon::start(&folders)?;
    let mut wire = Wire::connect(&daemon.paths)?;
    let root = project.to_str().context("the scratch folder is not UTF-8")?.to_owned();
    wire.call("workspace.open", &json!({"root": root}))?;
    Ok((daemon, wire, root))
}

fn one(base: &Path) -> anyhow::Result<Spread> {
    let (daemon, mut wire, root) = start(base, "process")?;
    let lines = |at: usize, text: &str| {
        (0..LINES).map(|n| if n == at { format!("    {text}\n") } else { format!("    step_{n}();\n") }).collect::<String>()
    };
    let file = Path::new(&root).join("long.rs");
    fs::write(&file, lines(LINES / 2, "value_0();"))?;
    let mut times = Vec::new();
    for n in 0..PATCHES {
        let (before, after) = (LINES / 2 - 1, LINES / 2 + 1);
        let patch = format!(
            "*** Begin Patch\n*** Update File: long.rs\n@@\n     step_{before}();\n-    value_{n}();\n+    value_{}();\n     \
             step_{after}();\n*** End Patch\n",
            n + 1
        );
        times.push(wire.time("edit.apply_patch", &json!({"workspace": root, "patch": patch}))?);
    }
    if fs::read_to_string(&file)? != lines(LINES / 2, &format!("value_{PATCHES}();")) {
        bail!("the patches did not do what they say");
    }
    drop(wire);
    daemon.stop()?;
    Ok(Spread::of(times))
}

fn many(base: &Path) -> anyhow::Result<Edits> {
    let (daemon, mut wire, root) = start(base, "power")?;
    let text = |n: usize| format!("value {n}\n").repeat(50);
    for file in 0..FILES {
        fs::write(Path::new(&root).join(format!("f{file}.txt")), text(0))?;
    }
    let beside = base.join("beside");
    fs::create_dir_all(&beside)?;
    let (mut patches, mut syncs) = (Vec::new(), Vec::new());
    for n in 0..ROUNDS {
        let mut patch = String::from("*** Begin Patch\n");
        for file in 0..FILES {
            patch.push_str(&format!("*** Update File: f{file}.txt\n@@\n-value {n}\n+value {}\n", n + 1));
            for _ in 1..50 {
                patch.push_str(&format!("-value {n}\n+value {}\n", n + 1));
            }
        }
        patch.push_str("*** End Patch\n");
        patches.push(wire.time("edit.apply_patch", &json!({"workspace": root, "patch": patch}))?);
        syncs.push(plainly(&beside, &text(n))?);
    }
    if fs::read_to_string(Path::new(&root).join("f0.txt"))? != text(ROUNDS) {
        bail!("the patches did not do what they say");
    }
    drop(wire);
    daemon.stop()?;
    patches.sort_unstable();
    syncs.sort_unstable();
    let one = Spread::of(vec![Duration::ZERO]);
    Ok(Edits { one, many: patches[ROUNDS / 2], syncs: syncs[ROUNDS / 2] })
}

/// Every file synced; then the folder, and what a journal and a stored outcome need: two files and three times a folder.
fn plainly(folder: &Path, text: &str) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    for file in 0..FILES + 2 {
        let new = folder.join("new");
        let mut opened = fs::File::create(&new)?;
        opened.write_all(text.as_bytes())?;
        opened.sync_all()?;
        fs::rename(&new, folder.join(format!("f{file}")))?;
    }
    for _ in 0..4 {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(begun.elapsed())
}
