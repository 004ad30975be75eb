//! Places where a test can stop, fail or kill the process, chosen by `CCD_FAILPOINT=<name>:kill|error|pause`.
//!
//! Compiled only with the feature `failpoints`; a release has none. `pause` stops the whole process (SIGSTOP) until
//! it is told to go on (SIGCONT), so that a test can see that it stands still and needs no clock.

use rustix::io::Errno;

/// Passes a place. Says EIO where a test asked for an error there.
#[cfg(feature = "failpoints")]
pub fn failpoint(name: &str) -> Result<(), Errno> {
    use std::sync::OnceLock;

    use rustix::process::{Signal, getpid, kill_process};

    static CHOSEN: OnceLock<Option<(String, String)>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let value = std::env::var("CCD_FAILPOINT").ok()?;
        let (name, action) = value.rsplit_once(':')?;
        Some((name.to_owned(), action.to_owned()))
    });
    match chosen {
        Some((chosen, action)) if chosen == name => match action.as_str() {
            "kill" => kill_process(getpid(), Signal::KILL).map(|()| until_it_comes()),
            "pause" => kill_process(getpid(), Signal::STOP).map(|()| until_it_comes()),
            _ => Err(Errno::IO),
        },
        _ => Ok(()),
    }
}

/// The kernel may hand a signal to another thread first; this one must not go on meanwhile.
#[cfg(feature = "failpoints")]
fn until_it_comes() {
    std::thread::sleep(std::time::Duration::from_millis(100));
}

/// Passes a place.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn failpoint(_name: &str) -> Result<(), Errno> {
    Ok(())
}
