//! A question for a graph: its workspace, its worker, the state that it is answered on.

use std::{path::PathBuf, sync::Arc};

use ccd_corpus::Cancel;
use ccd_files::Root;
use ccd_graph::{Answer, Graph, QueryError};
use ccd_protocol::{Method, RpcError};

use crate::{
    api::{
        cursor::Question,
        refusal::{closed, explain, moved},
    },
    daemon::Daemon,
    rpc::call::Call,
    workspaces::{Target, Where, Workspace},
};

/// A question about one workspace, ready to be asked.
pub(super) struct Asking {
    call: Call,
    pub(super) target: Target,
    root: Arc<Root>,
    graph: Arc<Graph>,
}

/// A workspace may be closed by another client between two steps of a call; the call opens it again this often.
const TRIES: u32 = 3;

impl Asking {
    /// Finds or opens the workspace, and lets a run that is about to end do so.
    pub(super) async fn begin(call: &Call, at: Where) -> Result<Self, RpcError> {
        for _ in 1..TRIES {
            let target = call.target(at.clone()).await?;
            target.workspace.prepare(call).await?;
            if let Some(asking) = Self::on(call, &target) {
                return Ok(asking);
            }
        }
        Self::last(call, at).await
    }

    /// The same without waiting for a run: an outline needs only its file.
    pub(super) async fn at_once(call: &Call, at: Where) -> Result<Self, RpcError> {
        for _ in 1..TRIES {
            let target = call.target(at.clone()).await?;
            target.workspace.ensure_indexed(None, None);
            if let Some(asking) = Self::on(call, &target) {
                return Ok(asking);
            }
        }
        Self::last(call, at).await
    }

    async fn last(call: &Call, at: Where) -> Result<Self, RpcError> {
        let target = call.target(at).await?;
        target.workspace.ensure_indexed(None, None);
        Self::on(call, &target).ok_or_else(|| closed(&target.workspace))
    }

    /// None if the workspace was closed.
    fn on(call: &Call, target: &Target) -> Option<Self> {
        let (root, graph) = target.workspace.root_and_graph()?;
        Some(Self { call: call.clone(), target: target.clone(), root, graph })
    }

    pub(super) fn root(&self) -> String {
        self.target.workspace.path.to_string()
    }

    /// The cursor machinery of this question.
    pub(super) fn question<M: Method>(&self, params: &impl serde::Serialize) -> Question {
        let workspace = &self.target.workspace;
        Question::new(&self.call.daemon.instance, &workspace.path, workspace.incarnation(), M::NAME, params)
    }

    /// Asks the graph on a worker.
    pub(super) async fn ask<T, F>(&self, question: F) -> Result<Answer<T>, RpcError>
    where
        T: Send + 'static,
        F: FnOnce(&Subject, &Graph, &Cancel) -> Result<Result<Answer<T>, QueryError>, RpcError> + Send + 'static,
    {
        let subject = Subject {
            daemon: Arc::clone(&self.call.daemon),
            workspace: Arc::clone(&self.target.workspace),
            rel: self.target.rel.clone(),
        };
        let (root, graph) = (Arc::clone(&self.root), Arc::clone(&self.graph));
        self.call
            .query(move |cancel| {
                if !root.is_current() {
                    return Err(moved(&subject));
                }
                question(&subject, &graph, cancel)?.map_err(|error| explain(&subject, &graph, error))
            })
            .await?
    }
}

/// What a question on a worker knows.
pub(super) struct Subject {
    pub(super) daemon: Arc<Daemon>,
    pub(super) workspace: Arc<Workspace>,
    pub(super) rel: PathBuf,
}
