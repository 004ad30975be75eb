//! What the graph refuses, as outward errors.

use ccd_corpus::Skipped;
use ccd_graph::{Freshness, Graph, IndexError, QueryError};
use ccd_protocol::{ErrorKind, RpcError, graph as wire};

use crate::{
    api::{asking::Subject, convert},
    rpc::call::Call,
    workspaces::{RunError, Workspace, place::shown},
};

pub(super) fn run_failed(call: &Call, workspace: &Workspace, error: RunError) -> RpcError {
    match error {
        RunError::Work(error) => call.daemon.work_failed(error),
        RunError::Index(IndexError::Cancelled) => cancelled(),
        RunError::Index(IndexError::Path(path)) => {
            RpcError::new(ErrorKind::NotFound, format!("{path} cannot be indexed: it is no file or folder of the workspace."))
                .with("path", path)
        }
        RunError::Index(IndexError::Root(reason)) => {
            RpcError::new(ErrorKind::Io, format!("The root {} cannot be read: {reason}.", workspace.path))
                .with("path", workspace.path.to_string())
                .with("os_error", reason)
        }
        RunError::Closed => closed(workspace),
    }
}

fn cancelled() -> RpcError {
    RpcError::new(ErrorKind::Cancelled, "The call was cancelled while running.").with("phase", "running")
}

fn not_ready(done: u64, total: u64) -> RpcError {
    RpcError::new(
        ErrorKind::IndexNotReady,
        format!("The index is being made ({done} of {total} files). Try again, or wait for it with graph.index."),
    )
    .with("done", done)
    .with("total", total)
}

pub(super) fn language_unsupported(language: &str, message: String) -> RpcError {
    let mut supported: Vec<&str> = ccd_grammars::LanguageId::all().map(ccd_grammars::LanguageId::name).collect();
    supported.sort_unstable();
    RpcError::new(ErrorKind::LanguageUnsupported, format!("{message} Those that there are: {}.", supported.join(", ")))
        .with("language", language)
        .with("supported", supported)
}

/// The workspace was closed while the call was under way.
pub(super) fn closed(workspace: &Workspace) -> RpcError {
    RpcError::new(ErrorKind::WorkspaceUnknown, format!("{} was closed meanwhile. Name it again to open it.", workspace.path))
        .with("root", workspace.path.to_string())
        .with("open", Vec::<String>::new())
}

/// The root was moved or replaced while the call waited; the next one finds out what is there now.
pub(super) fn moved(subject: &Subject) -> RpcError {
    RpcError::new(
        ErrorKind::IndexNotReady,
        format!("The root {} was moved or replaced meanwhile. Try again.", subject.workspace.path),
    )
    .with("done", 0)
    .with("total", 0)
}

pub(super) fn explain(subject: &Subject, graph: &Graph, error: QueryError) -> RpcError {
    let root = &*subject.workspace.path;
    match error {
        QueryError::SymbolUnknown { name, closest } => {
            // "There is none" is only known when all files were seen.
            if let Freshness::Indexing { done, total } = graph.state().freshness {
                return not_ready(done, total);
            }
            let hint = match closest.first() {
                Some(near) => format!("Did you mean `{near}`?"),
                None => "graph.search finds symbols by a part of their name.".to_owned(),
            };
            RpcError::new(ErrorKind::SymbolUnknown, format!("There is no symbol `{}`. {hint}", clip(&name)))
                .with("closest", closest)
        }
        QueryError::SymbolAmbiguous { name, count, candidates } => {
            let candidates: Vec<wire::Symbol> = candidates.into_iter().map(|symbol| convert::symbol(root, symbol)).collect();
            RpcError::new(
                ErrorKind::SymbolAmbiguous,
                format!(
                    "{count} symbols are called `{}`. Ask again with the `id` or the qualified name of one of them.",
                    clip(&name)
                ),
            )
            .with("candidates", serde_json::to_value(candidates).unwrap_or_default())
            .with("count", count)
        }
        QueryError::Skipped(skipped) => skip_error(subject, &skipped),
        QueryError::LanguageUnsupported { rel } => {
            let language =
                std::path::Path::new(&rel).extension().map_or(String::new(), |text| text.to_string_lossy().into_owned());
            language_unsupported(&language, format!("No grammar claims {rel}."))
        }
        QueryError::ModuleUnknown(module) => RpcError::new(
            ErrorKind::NotFound,
            format!("No file of the workspace is the module `{}` and none imports it.", clip(&module)),
        )
        .with("path", module),
        QueryError::NotReady { done, total } => not_ready(done, total),
        QueryError::Cancelled => cancelled(),
    }
}

fn clip(text: &str) -> String {
    ccd_text::clip(text.as_bytes(), 200)
}

fn skip_error(subject: &Subject, skipped: &Skipped) -> RpcError {
    let path = subject.workspace.root().path().join(&subject.rel);
    let name = path.display();
    let say = |kind, message: String| RpcError::new(kind, message).with("path", shown(&path));
    match skipped {
        Skipped::Binary => say(ErrorKind::NotText, format!("{name} is not text.")),
        Skipped::Generated => say(ErrorKind::NotText, format!("{name} is minified; it is not indexed.")),
        Skipped::TooLarge { size, limit } => {
            say(ErrorKind::TooLarge, format!("{name} has {size} bytes, the limit is {limit} (index.max_file_kib)."))
                .with("size", *size)
                .with("limit", *limit)
        }
        Skipped::TooDeep { depth } => {
            say(ErrorKind::TooDeep, format!("{name} nests deeper than {depth} levels (index.max_depth).")).with("depth", *depth)
        }
        Skipped::ParseDeadline { deadline_ms } => {
            say(ErrorKind::DeadlineExceeded, format!("{name} did not parse within {deadline_ms} ms (index.parse_deadline_ms)."))
                .with("phase", "parsing")
                .with("deadline_ms", *deadline_ms)
        }
        Skipped::PathNotUtf8 => say(ErrorKind::PathNotUtf8, format!("The name of {name} is not UTF-8.")),
        Skipped::NotRegular { what } => {
            say(ErrorKind::NotRegular, format!("{name} is a {what}, not a regular file.")).with("what", *what)
        }
        Skipped::Unreadable { reason } => say(ErrorKind::Permission, format!("{name} cannot be read: {reason}.")),
        Skipped::OutsideRoot { resolved } => subject.daemon.workspaces.outside(&subject.workspace, &path, resolved),
        Skipped::IsDirectory => say(ErrorKind::IsDirectory, format!("{name} is a folder. Name a file.")),
        Skipped::NotFound => say(ErrorKind::NotFound, format!("There is no file {name}.")),
        Skipped::Ignored => say(ErrorKind::NotFound, format!("{name} is left out by an ignore rule; it is not in the index.")),
    }
}
