//! What the commands that edit have in common: who asks, under which name, and what is read from standard input.

use std::{
    fs,
    io::{self, IsTerminal as _, Read as _},
    path::Path,
};

use ccd_client::{new_txn_id, render};
use ccd_protocol::{
    Method,
    edit::{DiagnosticsLevel, EditOutcome},
};

use crate::{
    args::word,
    outcome::{self, Exit, Failure},
    session::Session,
};

/// Of every edit.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Whose edit it is: which versions of files it has seen [default: the terminal].
    #[arg(long, env = "CCD_RUN", value_name = "ID")]
    run: Option<String>,
    /// Names the transaction; the same edit under the same name is made once [default: a new name].
    #[arg(long, value_name = "ID")]
    txn: Option<String>,
    /// Show what would happen, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write to protected paths as well: .git, settings of editors and agents.
    #[arg(long)]
    pub(crate) allow_protected: bool,
    /// Write to read-only files as well.
    #[arg(long)]
    pub(crate) override_readonly: bool,
    /// Which diagnostics to tell: off, errors, warnings, all.
    #[arg(long, value_name = "LEVEL", value_parser = word::<DiagnosticsLevel>)]
    pub(crate) diagnostics: Option<DiagnosticsLevel>,
    /// Milliseconds to wait for diagnostics, up to 60000.
    #[arg(long, value_name = "MS")]
    pub(crate) wait_ms: Option<u64>,
}

impl Common {
    /// The run: as given, else one for each terminal, so that a person's commands know of each other.
    pub(crate) fn run_id(&self) -> Option<String> {
        self.given_run()
            .or_else(|| session_of(&fs::read_to_string("/proc/self/stat").ok()?).map(|session| format!("tty:{session}")))
    }

    /// The run, only if one was given: who names none may resolve the stages of all.
    pub(crate) fn given_run(&self) -> Option<String> {
        self.run.clone().filter(|run| !run.is_empty())
    }

    /// The name of the transaction.
    pub(crate) fn txn_id(&self) -> String {
        self.txn.clone().unwrap_or_else(new_txn_id)
    }

    /// A wait that is longer than the method's own deadline moves that.
    pub(crate) fn deadline_ms<M: Method>(&self) -> Option<u64> {
        let wait = self.wait_ms?;
        Some((M::DEADLINE.default_ms + wait).min(M::DEADLINE.cap_ms))
    }
}

/// The parameters of an edit: its own fields, then what it has in common with the others.
macro_rules! params {
    ($method:ident, $type:ident { $($field:ident: $value:expr),* $(,)? }, $session:ident, $common:expr) => {{
        let common: &$crate::edits::Common = &$common;
        $type {
            $($field: $value,)*
            workspace: Some($session.workspace()?),
            run_id: common.run_id(),
            txn_id: Some(common.txn_id()),
            dry_run: common.dry_run.then_some(true),
            allow_protected: common.allow_protected.then_some(true),
            override_readonly: common.override_readonly.then_some(true),
            diagnostics: common.diagnostics,
            wait_ms: common.wait_ms,
            deadline_ms: common.deadline_ms::<$method>(),
            ..$type::default()
        }
    }};
}
pub(crate) use params;

/// Makes an edit and prints its outcome.
pub(crate) async fn made<M>(session: &Session, params: &M::Params, txn_id: Option<&str>) -> Result<Exit, Failure>
where
    M: Method<Result = EditOutcome>,
{
    let raw = session.client().await?.edit_raw::<M>(params, txn_id.unwrap_or_default()).await?;
    session.print::<M>(&raw, render::edit)
}

/// All of standard input, or of a file; `what` it is, for whom it waits for.
pub(crate) fn text_of(session: &Session, file: Option<&Path>, what: &str) -> Result<String, Failure> {
    let bytes = match file {
        Some(file) if file != Path::new("-") => fs::read(session.cwd.join(file)).map_err(|error| Failure::Local {
            kind: "io",
            message: format!("{} cannot be read: {error}.", file.display()),
            exit: Exit::Usage,
        })?,
        _ => {
            let mut stdin = io::stdin().lock();
            if stdin.is_terminal() {
                outcome::note(&format!("Type {what}, and end it with Ctrl-D."));
            }
            let mut bytes = Vec::new();
            stdin.read_to_end(&mut bytes)?;
            bytes
        }
    };
    String::from_utf8(bytes).map_err(|_| Failure::Local {
        kind: "not_text",
        message: format!("What was given as {what} is not UTF-8 text."),
        exit: Exit::Usage,
    })
}

/// A command line that clap cannot refuse by itself.
pub(crate) fn usage(message: impl Into<String>) -> Failure {
    Failure::Local { kind: "usage", message: message.into(), exit: Exit::Usage }
}

/// The session in the line of a process in `/proc` (proc_pid_stat(5), field 6). It is 0 in a container that was entered
/// from outside; `rustix::process::getsid` does not survive that.
fn session_of(stat: &str) -> Option<u32> {
    // The name of the program, in parentheses, may hold anything; after it: state, parent, process group, session.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::session_of;

    #[test]
    fn a_session_is_read_whatever_the_program_is_called() {
        assert_eq!(session_of("41 (ccctl) R 40 41 39 34816 41 4194304 90"), Some(39));
        assert_eq!(session_of("41 (a) b (c) R 40 41 0 0 -1 4194304"), Some(0));
        assert_eq!(session_of("41 (ccctl"), None);
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert!(session_of(&own).is_some(), "{own}");
    }
}
