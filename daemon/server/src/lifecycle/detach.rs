//! Leaving the terminal: a session of its own at the start, no output of its own once it serves.

use std::{fs::OpenOptions, io};

/// Makes this process the leader of a session, so that the end of a terminal or of the client does not reach it.
pub fn own_session() {
    // It fails where we lead one already, which is what is wanted.
    let _ = rustix::process::setsid();
}

/// Gives back the streams that whoever started us reads until their end.
pub fn release_streams() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
