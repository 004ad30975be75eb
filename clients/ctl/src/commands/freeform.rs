//! `ccctl freeform`: a streamed call of a freeform tool, from lines of JSON to one line of JSON. Needs no daemon.

use std::io::{self, BufRead, BufReader, Read as _};

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
    let mut exit = None;
    while let Some(event) = next(&mut input)? {
        let last = matches!(event, Some(Event::Done { .. } | Event::Abort | Event::TransportFailed { .. }));
        // What is no event is damage to the stream, like a piece that is missing.
        if let Some(outcome) = call.event(event.unwrap_or(Event::Abort)) {
            exit = Some(told(outcome)?);
        }
        // What follows an early refusal is read all the same: its writer must not meet a closed pipe.
        if last {
            break;
        }
    }
    match (exit, call.end()) {
        (Some(exit), _) => Ok(exit),
        (None, Some(outcome)) => told(outcome),
        (None, None) => Err(Failure::refused("internal", "The stream ended without an outcome.")),
    }
}

/// The next line, and the event that it is; none at the end of the stream.
fn next(input: &mut impl BufRead) -> io::Result<Option<Option<Event>>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(serde_json::from_slice(&line).ok()));
        }
    }
}

fn told(outcome: Outcome) -> Result<Exit, Failure> {
    let (line, exit) = match outcome {
        Outcome::Patch { id, patch } => (json!({"id": id, "patch": patch}), Exit::Ok),
        Outcome::Rejected { message } => (json!({"rejected": message}), Exit::Refused),
        Outcome::TransportFailed { reason } => (json!({"transport_failed": reason}), Exit::Refused),
    };
    outcome::data(&format!("{line}\n"))?;
    Ok(exit)
}
