//! What every command shares: where it stands, how it connects, how it answers.

use std::{
    io,
    path::{Path, PathBuf},
};

use ccd_client::{Client, ClientError, ConnectOptions, Paths, place, render};
use ccd_protocol::{
    Method, PositionOrName,
    graph::State,
    workspace::{Freshness, Status, StatusParams},
};
use serde_json::value::RawValue;
use tokio::sync::OnceCell;

use crate::{
    args::{Args, Wait},
    commands::index,
    outcome::{self, Exit, Failure},
};

pub(crate) struct Session {
    pub(crate) json: bool,
    pub(crate) cwd: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) text: render::Options,
    pub(crate) paths: Paths,
    client: OnceCell<Client>,
}

impl Session {
    pub(crate) fn new(args: &Args) -> io::Result<Self> {
        let cwd = std::env::current_dir()?;
        let root = match &args.root {
            Some(root) => place::absolute(&cwd, root),
            None => place::root_of(&cwd),
        };
        let text = render::Options::with_max_bytes(args.max_bytes as usize);
        Ok(Self { json: args.json, cwd, root, text, paths: Paths::from_env(), client: OnceCell::new() })
    }

    /// The root as the wire takes it.
    pub(crate) fn workspace(&self) -> Result<String, Failure> {
        utf8(self.root.clone())
    }

    /// A file as the wire takes it.
    pub(crate) fn file(&self, path: &str) -> Result<String, Failure> {
        utf8(place::file(&self.cwd, &self.root, path))
    }

    /// A file that may not be there yet: counts from the working folder and never means another one of the same name.
    pub(crate) fn new_file(&self, path: impl AsRef<Path>) -> Result<String, Failure> {
        utf8(place::absolute(&self.cwd, path.as_ref()))
    }

    pub(crate) fn symbol(&self, text: &str) -> PositionOrName {
        place::symbol(&self.cwd, &self.root, text)
    }

    /// Whether `text` names a file or folder that is there.
    pub(crate) fn is_path(&self, text: &str) -> bool {
        place::file(&self.cwd, &self.root, text).symlink_metadata().is_ok()
    }

    /// A file, or else a module by its name: path and module of the wire, of which one is set.
    pub(crate) fn file_or_module(&self, text: String) -> Result<(Option<String>, Option<String>), Failure> {
        if self.is_path(&text) { Ok((Some(self.file(&text)?), None)) } else { Ok((None, Some(text))) }
    }

    /// The connection; starts the daemon.
    pub(crate) async fn client(&self) -> Result<&Client, ClientError> {
        let client = self.client.get_or_try_init(|| Client::connect(ConnectOptions::new("ccctl"))).await?;
        for notice in client.take_notices() {
            outcome::note(&notice);
        }
        Ok(client)
    }

    /// A connection to a daemon that runs already.
    pub(crate) async fn running(&self) -> Result<Client, ClientError> {
        Client::connect(ConnectOptions::new("ccctl").without_start()).await
    }

    /// Calls a method and prints its answer.
    pub(crate) async fn answer<M: Method>(
        &self,
        params: &M::Params,
        text: impl FnOnce(&M::Result, render::Options) -> String,
    ) -> Result<Exit, Failure> {
        let raw = self.client().await?.call_raw::<M>(params, None).await?;
        self.print::<M>(&raw, text)
    }

    /// As [`Self::answer`], for a question to the graph: half an index is not answered from, unless asked so.
    pub(crate) async fn ask_graph<M: Method>(
        &self,
        params: &M::Params,
        wait: &Wait,
        text: impl FnOnce(&M::Result, render::Options) -> String,
    ) -> Result<Exit, Failure> {
        let client = self.client().await?;
        let first = client.call_raw::<M>(params, None).await;
        let raw = match first {
            Ok(raw) if wait.no_wait || is_whole(&raw) => raw,
            Err(ClientError::Rpc(error)) if wait.no_wait || !lacks_index(&error) => return Err(ClientError::Rpc(error).into()),
            Err(error) if self.index_is_whole(client).await => return Err(error.into()),
            Ok(_) | Err(ClientError::Rpc(_)) => {
                index::wait(self).await?;
                client.call_raw::<M>(params, None).await?
            }
            Err(error) => return Err(error.into()),
        };
        self.print::<M>(&raw, text)
    }

    async fn index_is_whole(&self, client: &Client) -> bool {
        let Ok(workspace) = self.workspace() else { return false };
        let status = client.call::<Status>(&StatusParams { workspace, deadline_ms: None }).await;
        status.is_ok_and(|status| matches!(status.index.state.state, Freshness::Ready | Freshness::Stale))
    }

    /// Prints a result: as it came, or as text.
    pub(crate) fn print<M: Method>(
        &self,
        raw: &RawValue,
        text: impl FnOnce(&M::Result, render::Options) -> String,
    ) -> Result<Exit, Failure> {
        if self.json {
            outcome::data(&format!("{}\n", raw.get()))?;
            return Ok(Exit::Ok);
        }
        let result: M::Result = serde_json::from_str(raw.get()).map_err(|error| Failure::Local {
            kind: "internal",
            message: format!(
                "The answer of {} is not what this client expects ({error}). `ccctl stop` ends a daemon of another build.",
                M::NAME
            ),
            exit: Exit::Internal,
        })?;
        outcome::data(&text(&result, self.text))?;
        Ok(Exit::Ok)
    }
}

fn is_whole(raw: &RawValue) -> bool {
    match serde_json::from_str::<State>(raw.get()) {
        Ok(state) => matches!(state.state, Freshness::Ready | Freshness::Stale),
        Err(_) => true,
    }
}

/// Errors that an index under way explains: the symbol may be in a file that was not read yet.
fn lacks_index(error: &ccd_protocol::RpcError) -> bool {
    use ccd_protocol::ErrorKind::{IndexNotReady, SymbolUnknown};
    error.is(IndexNotReady) || error.is(SymbolUnknown)
}

/// A path as the wire takes it.
pub(crate) fn utf8(path: PathBuf) -> Result<String, Failure> {
    path.into_os_string().into_string().map_err(|path| {
        Failure::refused(
            "path_not_utf8",
            format!(
                "The path {} is not UTF-8 and cannot be asked for. Rename it, or name a folder above it.",
                path.to_string_lossy()
            ),
        )
    })
}
