//! What the daemon and the shim say to each other over the leash.
//!
//! Both are the same binary, so there are no versions: the daemon re-executes its own image, also after an upgrade.

use std::{
    ffi::{OsStr, OsString},
    time::Duration,
};

/// The daemon's first byte, sent along with the three pipes of the child.
pub(crate) const BEGIN: u8 = b'B';
/// Send SIGTERM to the whole tree.
pub(crate) const TERMINATE: u8 = b'T';
/// Kill the whole tree and go.
pub(crate) const KILL: u8 = b'K';

/// How long the shim waits for its pipes, and for its child to become the program.
pub(crate) const BEGIN_LIMIT: Duration = Duration::from_secs(5);
/// Between SIGTERM and SIGKILL, when the leash is gone.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// How long the shim kills before it gives up on those whom the kernel does not let die.
pub(crate) const KILL_LIMIT: Duration = Duration::from_secs(10);

/// What the shim applies, from its command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The life of the tree, in ms; 0: no end.
    pub(crate) ttl_ms: u64,
    /// Open files, the soft limit; 0: as inherited.
    pub(crate) open_files: u64,
    /// Added to the child's `oom_score_adj`.
    pub(crate) oom_score: i32,
    /// Niceness of the child.
    pub(crate) nice: i32,
}

impl Settings {
    pub(crate) fn to_argument(self) -> OsString {
        format!("{},{},{},{}", self.ttl_ms, self.open_files, self.oom_score, self.nice).into()
    }

    pub(crate) fn from_argument(argument: &OsStr) -> Option<Self> {
        let mut parts = argument.to_str()?.split(',');
        let settings = Self {
            ttl_ms: parts.next()?.parse().ok()?,
            open_files: parts.next()?.parse().ok()?,
            oom_score: parts.next()?.parse().ok()?,
            nice: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(settings)
    }
}

/// What the shim tells, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The child runs the program.
    Started { pid: i32 },
    /// It does not: what was refused, and the error number.
    Failed { what: String, errno: i32 },
    /// The child exited with a code.
    Code(i32),
    /// A signal ended the child.
    Signal(i32),
    /// The time to live is over.
    Expired,
    /// The tree is gone: how many were killed for it, and how many would not die.
    Gone { killed: u32, left: u32 },
}

impl Report {
    pub(crate) fn to_line(&self) -> String {
        match self {
            Self::Started { pid } => format!("started {pid}\n"),
            Self::Failed { what, errno } => format!("failed {what} {errno}\n"),
            Self::Code(code) => format!("code {code}\n"),
            Self::Signal(signal) => format!("signal {signal}\n"),
            Self::Expired => "expired\n".to_owned(),
            Self::Gone { killed, left } => format!("gone {killed} {left}\n"),
        }
    }

    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        Some(match words[..] {
            ["started", pid] => Self::Started { pid: pid.parse().ok()? },
            ["failed", what, errno] => Self::Failed { what: what.to_owned(), errno: errno.parse().ok()? },
            ["code", code] => Self::Code(code.parse().ok()?),
            ["signal", signal] => Self::Signal(signal.parse().ok()?),
            ["expired"] => Self::Expired,
            ["gone", killed, left] => Self::Gone { killed: killed.parse().ok()?, left: left.parse().ok()? },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Report, Settings};

    #[test]
    fn what_is_said_is_understood() {
        for report in [
            Report::Started { pid: 7 },
            Report::Failed { what: "exec".to_owned(), errno: 2 },
            Report::Code(3),
            Report::Signal(9),
            Report::Expired,
            Report::Gone { killed: 2, left: 0 },
        ] {
            assert_eq!(Report::from_line(&report.to_line()), Some(report));
        }
        assert_eq!(Report::from_line("gone"), None);
        let settings = Settings { ttl_ms: 5, open_files: 4096, oom_score: -3, nice: 0 };
        assert_eq!(Settings::from_argument(&settings.to_argument()), Some(settings));
        assert_eq!(Settings::from_argument("1,2,3".as_ref()), None);
    }
}
