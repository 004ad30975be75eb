//! The units, and the protocol of the manager.

use std::{
    io::ErrorKind,
    os::unix::{
        fs::{DirBuilderExt, PermissionsExt},
        net::UnixDatagram,
    },
    path::Path,
    process::Command,
    time::Duration,
};

use ccd_tests::{Folders, PATIENCE, ccd, eventually};
use rustix::process::Signal;
use serde_json::json;

#[test]
fn the_units_are_right() {
    let folders = Folders::new();
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd");
    for name in ["ccd.socket", "ccd.service"] {
        let text = std::fs::read_to_string(units.join(name)).unwrap();
        let text = text.replace("%h/.local/bin/ccd", ccd().to_str().unwrap());
        folders.write(&format!("units/{name}"), text);
    }
    std::fs::DirBuilder::new().mode(0o700).create(folders.path("runtime")).unwrap();
    let output = Command::new("systemd-analyze")
        .args(["--user", "verify"])
        .args([folders.path("units/ccd.socket"), folders.path("units/ccd.service")])
        .env("XDG_RUNTIME_DIR", folders.path("runtime"))
        .output();
    match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && !said.contains("ccd."), "{said}");
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("systemd-analyze is missing; install it with: sudo apt-get install -y systemd")
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn it_tells_the_manager_that_it_serves_is_well_and_ends() {
    let folders = Folders::new();
    let told = UnixDatagram::bind(folders.path("notify")).unwrap();
    told.set_read_timeout(Some(PATIENCE)).unwrap();
    let next = || {
        let mut message = [0; 256];
        let length = told.recv(&mut message).expect("the manager is told something");
        String::from_utf8_lossy(&message[..length]).trim_end().to_owned()
    };
    let mut child = folders
        .command()
        .env("NOTIFY_SOCKET", folders.path("notify"))
        .env("WATCHDOG_USEC", Duration::from_millis(300).as_micros().to_string())
        .spawn()
        .unwrap();
    assert_eq!(next(), "READY=1");
    assert_eq!(next(), "WATCHDOG=1");
    let pid = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    eventually("it says that it ends", || (next() == "STOPPING=1").then_some(()));
    assert!(eventually("it ends", || child.try_wait().unwrap()).success());
}

#[test]
fn a_socket_that_is_handed_over_is_used_and_left() {
    let folders = Folders::new();
    let socket = folders.path("given.sock");
    let start = format!(
        "import os, socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind({socket:?})\ns.listen()\n\
         os.dup2(s.fileno(), 3)\nos.set_inheritable(3, True)\nos.environ['LISTEN_FDS'] = '1'\nos.environ['LISTEN_PID'] = str(os.getpid())\n\
         os.execv({program:?}, [{program:?}])\n",
        socket = socket.to_str().unwrap(),
        program = ccd().to_str().unwrap(),
    );
    let script = folders.write("start.py", start);
    let ours = folders.command();
    let mut command = Command::new("python3");
    command.arg(script);
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command.spawn().unwrap();
    let stream = eventually("it serves", || std::os::unix::net::UnixStream::connect(&socket).ok());
    let mut client = ccd_tests::Client::new(stream);
    assert_eq!(client.call("daemon.status", json!({}))["pid"], child.id());
    assert!(folders.socket().symlink_metadata().is_err(), "it makes no socket of its own");
    client.call("daemon.retire", json!({"reason": "test"}));
    assert!(eventually("it ends", || child.try_wait().unwrap()).success());
    assert!(socket.symlink_metadata().unwrap().permissions().mode() > 0, "the socket is the manager's");
}
