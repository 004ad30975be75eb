//! `ccctl rewrite`.

use std::io::{self, BufRead as _, IsTerminal as _};

use ccd_client::render;
use ccd_protocol::ast::{Action, Edit, EditParams, Nested, Resolve, ResolveParams, Stage};

use crate::{
    args::word,
    commands::grep::{Shape, operands, shaped},
    edits::{Common, params},
    outcome::{self, Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Code with metavariables.
    #[arg(allow_hyphen_values = true)]
    pattern: String,
    /// What is to stand in its place, with the metavariables of the pattern.
    #[arg(allow_hyphen_values = true)]
    template: String,
    /// Files and folders [default: the whole project].
    paths: Vec<String>,
    #[command(flatten)]
    shape: Shape,
    /// Matches inside others: `outermost` leaves them, `recurse` rewrites them first.
    #[arg(long, value_name = "WORD", value_parser = word::<Nested>)]
    nested: Option<Nested>,
    /// Seconds for which the prepared change waits.
    #[arg(long, value_name = "SECONDS")]
    ttl: Option<u64>,
    /// Write it without asking.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    common: Common,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let shape = args.shape;
    let context = shape.context.is_some();
    let (pattern, paths) = operands(session, Some(args.pattern).filter(|_| !context), args.paths, context)?;
    let stage = shaped!(
        EditParams { rewrite: args.template, nested: args.nested, run_id: args.common.run_id(), ttl_s: args.ttl },
        session,
        shape,
        (pattern, paths)
    );
    let raw = session.client().await?.call_raw::<Edit>(&stage, None).await?;
    let made: Option<Stage> = serde_json::from_str(raw.get()).ok();
    let id = made.and_then(|stage| stage.stage_id);
    let dry = args.common.dry_run;
    // What is about to be dropped is not offered.
    let text = |stage: &Stage, options| match dry {
        true => render::stage(&Stage { stage_id: None, ..stage.clone() }, options),
        false => render::stage(stage, options),
    };
    // The answer of the last call shows what was done.
    if !(args.yes && !dry && id.is_some()) {
        session.print::<Edit>(&raw, text)?;
    }
    let Some(id) = id else { return Ok(Exit::Refused) };
    let accept = if dry {
        false
    } else if args.yes {
        true
    } else if !session.json && io::stdin().is_terminal() && io::stdout().is_terminal() {
        if !confirmed()? {
            discard(session, id, &args.common).await?;
            return Ok(Exit::Refused);
        }
        true
    } else {
        // The stage waits, and its line says how it is accepted.
        return Ok(Exit::Ok);
    };
    if !accept {
        discard(session, id, &args.common).await?;
        return Ok(Exit::Ok);
    }
    let params = params!(Resolve, ResolveParams { stage_id: id, action: Action::Accept }, session, args.common);
    let raw = session.client().await?.edit_raw::<Resolve>(&params, params.txn_id.as_deref().unwrap_or_default()).await?;
    session.print::<Resolve>(&raw, render::resolve)
}

async fn discard(session: &Session, id: String, common: &Common) -> Result<(), Failure> {
    let params = ResolveParams { stage_id: id, action: Action::Discard, run_id: common.run_id(), ..ResolveParams::default() };
    session.client().await?.call_raw::<Resolve>(&params, None).await?;
    if !session.json {
        outcome::note("Nothing was written; the prepared change is discarded.");
    }
    Ok(())
}

fn confirmed() -> Result<bool, Failure> {
    outcome::note("Write this? [y/N]");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
