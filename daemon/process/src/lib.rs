//! The one place that starts processes, and the one that ends them.
//!
//! # The model
//!
//! A language server or a debug adapter is never a child of the daemon itself. Between the two stands a **shim**: the
//! daemon's own binary, started again as a small single-threaded supervisor ([`shim`]).
//!
//! ```text
//! daemon  --socketpair-->  shim (own session, subreaper)  -->  child  -->  whatever it starts
//!    |                                                           |
//!    '------------------ stdin, stdout, stderr: three pipes -----'
//! ```
//!
//! * The shim's stdin is one end of a socket pair. Over it the daemon sends the three pipes of the child (`SCM_RIGHTS`) and
//!   one-byte orders, and the shim sends lines about what happens. So no descriptor is ever inherited by its number, and
//!   nothing else that the daemon starts can hold the leash.
//! * The pair is the **leash**: its end (the daemon dropped it, crashed, or was killed) makes the shim end the tree: SIGTERM,
//!   2 s, SIGKILL until there are no descendants. As a subreaper it gets back those who left by a double fork or a new session.
//! * When the direct child exits, the shim tells how, and kills what is left of the tree. A time to live runs on its own
//!   clock, so a daemon that hangs keeps nothing alive.
//! * If the shim itself is killed, its direct child dies with it (parent death signal: safe there, for the shim has one thread),
//!   and the rest is found by the marker `CCD_OWNER=<instance>:<slot>` that each inherits: by the daemon at once, or by
//!   the next daemon's [`sweep`].
//!
//! # The parts
//!
//! * [`Launcher`] starts a [`Child`] from a [`Spec`]; [`Input`], [`Output`], [`Tail`] and [`ExitWatch`] are its ends.
//! * [`Prober`] runs a binary for a moment, to see whether it runs at all; [`Lookup`] finds it; [`Environment`] says what it
//!   is told.
//! * [`Instances`] records which daemons there were; [`sweep`] ends what dead ones left.
//! * [`memory`] measures trees. [`Restarts`] and [`Population`] decide who may start and who must go; they are data and do nothing.
//!
//! Every wait has a deadline and every queue a bound. What processes print is data: [`Tail`] shows it without control characters.

mod child;
mod environment;
mod exit;
mod input;
mod instance;
mod launcher;
mod lookup;
pub mod memory;
mod output;
mod population;
mod probe;
mod proc;
mod restarts;
pub mod shim;
mod spec;
mod supervise;
mod sweep;
mod tail;
mod wire;

pub use child::{Child, Ladder, Step, Stopped};
pub use environment::Environment;
pub use exit::{Exit, ExitWatch, Gone};
pub use input::{Input, InputError};
pub use instance::{Instance, Instances};
pub use launcher::{Launcher, SpawnError};
pub use lookup::{Dropped, Lookup, LookupError, clean_path};
pub use output::Output;
pub use population::{Admission, Caps, Entry, Population};
pub use probe::{Probe, ProbeError, Probed, Prober};
pub use restarts::{Restarts, Verdict};
pub use spec::{Limits, Spec};
pub use sweep::{Swept, sweep};
pub use tail::Tail;

/// The variable that says whose a process is: `<instance>:<slot>`.
pub const OWNER: &str = "CCD_OWNER";
