//! `ccctl patch`.

use std::path::{Path, PathBuf};

use ccd_client::{envelope::unwrap_patch, render, tool};
use ccd_protocol::edit::{ApplyPatch, ApplyPatchParams, Grammar, GrammarParams};

use crate::{
    edits::{self, Common, params, text_of},
    outcome::{self, Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The patch [default: standard input].
    file: Option<PathBuf>,
    /// Where relative paths of the patch count from [default: the working folder if it lies in the project, else the project].
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// Print the grammar of a patch (Lark), and do nothing else.
    #[arg(long, conflicts_with_all = ["file", "cwd", "tool"])]
    grammar: bool,
    /// Print the definition of a freeform tool for this API, and do nothing else.
    #[arg(long, value_name = "API", conflicts_with_all = ["file", "cwd"])]
    tool: Option<Api>,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Api {
    /// The Responses API.
    OpenaiResponses,
    /// The Chat Completions API.
    OpenaiChat,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    if args.grammar || args.tool.is_some() {
        return print_grammar(session, args.tool).await;
    }
    let text = text_of(session, args.file.as_deref(), "the patch, from '*** Begin Patch' to '*** End Patch'")?;
    let patch = unwrap_patch(&text).map_err(|error| Failure::refused("patch_syntax", error.to_string()))?.into_owned();
    let params = params!(
        ApplyPatch,
        ApplyPatchParams { patch: patch, cwd: Some(cwd(session, args.cwd.as_deref())?) },
        session,
        args.common
    );
    edits::made::<ApplyPatch>(session, &params, params.txn_id.as_deref()).await
}

fn cwd(session: &Session, given: Option<&Path>) -> Result<String, Failure> {
    match given {
        Some(folder) => session.new_file(folder),
        None if session.cwd.starts_with(&session.root) => session.new_file("."),
        None => session.workspace(),
    }
}

async fn print_grammar(session: &Session, api: Option<Api>) -> Result<Exit, Failure> {
    let client = session.client().await?;
    let raw = client.call_raw::<Grammar>(&GrammarParams::default(), None).await?;
    let Some(api) = api else {
        // For a program: never cut.
        return session.print::<Grammar>(&raw, |result, _| render::grammar(result, render::Options::with_max_bytes(usize::MAX)));
    };
    let shape = match api {
        Api::OpenaiResponses => tool::Shape::Responses,
        Api::OpenaiChat => tool::Shape::Chat,
    };
    let grammar = client.call::<Grammar>(&GrammarParams::default()).await?;
    let definition = tool::definition(shape, &grammar);
    outcome::data(&if session.json { format!("{definition}\n") } else { format!("{definition:#}\n") })?;
    Ok(Exit::Ok)
}
