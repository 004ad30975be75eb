//! `ccctl freeform`: a streamed call of a freeform tool, from lines of JSON to one line of JSON. Needs no daemon.

use std::io::{self, BufRead as _, BufReader, Read as _};

use ccd_client::freeform::{Call, Event, Outcome};
use serde_json::json;

use crate::outcome::{self, Exit, Failure};

/// A line that is longer is no event.
const LONGEST: u64 = 64 << 20;

/// What stands below the help.
const EVENTS: &str = r#"In, one JSON object a line:
  {"event":"start","id":"c1","name":"apply_patch","type":"custom_tool_call"}
  {"event":"delta","id":"c1","text":"*** Begin"}
  {"event":"done","id":"c1","name":"apply_patch","type":"custom_tool_call","input":"*** Begin Patch..."}
  {"event":"abort"}
  {"event":"transport_failed","reason":"..."}

Out, one line: {"id":"c1","patch":"..."}; or {"rejected":"what to tell the model"} if the pieces are not the whole,
or it is no patch; or {"transport_failed":"..."}. The exit code is 0 with a patch, else 1."#;

#[derive(Debug, clap::Args)]
#[command(after_help = EVENTS)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args) -> Result<Exit, Failure> {
    let mut call = Call::default();
    let mut input = BufReader::new(io::stdin().lock());
    let mut line = Vec::new();
    let outcome = loop {
        line.clear();
        let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        if read == 0 {
            break call.end();
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        // What is no event is damage to the stream, like a piece that is missing.
        let event = serde_json::from_slice(&line).unwrap_or(Event::Abort);
        if let Some(outcome) = call.event(event) {
            break Some(outcome);
        }
    };
    let (line, exit) = match outcome {
        Some(Outcome::Patch { id, patch }) => (json!({"id": id, "patch": patch}), Exit::Ok),
        Some(Outcome::Rejected { message }) => (json!({"rejected": message}), Exit::Refused),
        Some(Outcome::TransportFailed { reason }) => (json!({"transport_failed": reason}), Exit::Refused),
        None => return Err(Failure::refused("internal", "The stream ended without an outcome.")),
    };
    outcome::data(&format!("{line}\n"))?;
    Ok(exit)
}
