//! `ccctl logs`.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::Duration,
};

use ccd_client::render::clean_text;

use crate::{
    outcome::{self, Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The last lines to show.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,
    /// Go on with what is written from now on.
    #[arg(short, long)]
    follow: bool,
}

/// The log is rotated at 8 MiB: its last part holds any number of lines that a person asks for.
const TAIL_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let path = session.paths.log();
    let mut file = open(&path)?;
    let lines = tail(&mut file, args.lines)?;
    if session.json {
        outcome::data(&format!("{}\n", serde_json::json!({ "log": path.display().to_string(), "lines": lines })))?;
    } else {
        outcome::data(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    }
    if !args.follow {
        return Ok(Exit::Ok);
    }
    loop {
        // A file tells nobody that it grew; a fifth of a second is soon enough for a reader.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        if rotated(&file, &path) {
            file = open(&path)?;
            file.read_to_string(&mut text)?;
        }
        if !text.is_empty() {
            let clean: String = text.split_inclusive('\n').map(|line| clean_text(line.trim_end_matches('\n')) + "\n").collect();
            outcome::data(&clean)?;
        }
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| {
        Failure::refused(
            "not_found",
            format!(
                "The log {} cannot be read: {error}. A daemon under systemd logs to the journal: `journalctl --user -u ccd`.",
                path.display()
            ),
        )
    })
}

fn tail(file: &mut File, lines: usize) -> Result<Vec<String>, Failure> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut reader = BufReader::new(&mut *file);
    let mut all = Vec::new();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        all.push(clean_text(String::from_utf8_lossy(&line).trim_end_matches('\n')));
        line.clear();
    }
    if start > 0 && !all.is_empty() {
        all.remove(0);
    }
    Ok(all.split_off(all.len().saturating_sub(lines)))
}

/// The path leads to another file than the open one, or the file was cut.
fn rotated(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(named)) => open.ino() != named.ino() || open.dev() != named.dev(),
        _ => false,
    }
}
