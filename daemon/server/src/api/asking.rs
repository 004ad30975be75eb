//! A question for a graph: its workspace, its worker, the state that it is answered on.

use std::{path::PathBuf, sync::Arc};

use ccd_corpus::Cancel;
use ccd_graph::{Answer, Graph, QueryError};
use ccd_protocol::{ErrorKind, Method, RpcError};

use crate::{
    api::{cursor::Question, refusal::explain},
    daemon::Daemon,
    rpc::call::Call,
    workspaces::{Target, Where, Workspace},
};

/// A question about one workspace, ready to be asked.
pub(super) struct Asking {
    call: Call,
    pub(super) target: Target,
    graph: Arc<Graph>,
}

impl Asking {
    /// Finds or opens the workspace, and lets a run that is about to end do so.
    pub(super) async fn begin(call: &Call, at: Where) -> Result<Self, RpcError> {
        let target = call.target(at).await?;
        target.workspace.prepare(call).await?;
        Self::on(call, target)
    }

    /// The same without waiting for a run: an outline needs only its file.
    pub(super) async fn at_once(call: &Call, at: Where) -> Result<Self, RpcError> {
        let target = call.target(at).await?;
        target.workspace.ensure_indexed(None, None);
        Self::on(call, target)
    }

    fn on(call: &Call, target: Target) -> Result<Self, RpcError> {
        let graph = target.workspace.graph().ok_or_else(|| RpcError::new(ErrorKind::Retiring, "The daemon is ending."))?;
        Ok(Self { call: call.clone(), target, graph })
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
        let graph = Arc::clone(&self.graph);
        self.call
            .query(move |cancel| question(&subject, &graph, cancel)?.map_err(|error| explain(&subject, &graph, error)))
            .await?
    }
}

/// What a question on a worker knows.
pub(super) struct Subject {
    pub(super) daemon: Arc<Daemon>,
    pub(super) workspace: Arc<Workspace>,
    pub(super) rel: PathBuf,
}
