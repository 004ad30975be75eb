//! `ccctl trust` asks a person at a terminal, and nobody else.

use std::process::Command;

use crate::place::{Place, Ran, needed};

/// Runs ccctl without a terminal, or with one on which these answers are typed; standard input says yes to everything.
fn asked(place: &Place, answers: Option<&str>, arguments: &[&str]) -> Ran {
    const SCRIPT: &str = r#"
import os, pty, subprocess, sys
answers, command = sys.argv[1], sys.argv[2:]
if answers == "-":
    done = subprocess.run(command, input=b"y\ny\ny\n", start_new_session=True, timeout=20)
    sys.exit(done.returncode)
main, side = pty.openpty()
os.write(main, answers.encode().replace(b",", b"\n"))
def own():
    import fcntl, termios
    os.setsid()
    fcntl.ioctl(side, termios.TIOCSCTTY, 0)
done = subprocess.run(command, stdin=subprocess.DEVNULL, preexec_fn=own, timeout=20)
os.set_blocking(main, False)
try:
    sys.stderr.write(os.read(main, 65536).decode())
except BlockingIOError:
    pass
sys.exit(done.returncode)
"#;
    let ccctl = needed("CCCTL_BIN");
    let made = place.command(&ccctl, arguments);
    let mut command = Command::new("python3");
    command.args(["-c", SCRIPT, answers.unwrap_or("-")]).arg(&ccctl).args(arguments);
    command.current_dir(made.get_current_dir().unwrap());
    command.envs(made.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::of(command)
}

#[test]
fn without_a_terminal_nobody_is_asked_and_nothing_is_trusted() {
    let place = Place::new();
    let ran = asked(&place, None, &["trust"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("There is no terminal to ask on") && ran.stderr.contains("--yes"), "{ran:?}");
    let ran = place.run(&["trust", "--list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "0 trusted roots\n"));
}

#[test]
fn a_person_says_yes_or_no() {
    let place = Place::new();
    let root = place.base.join("project").display().to_string();
    let ran = asked(&place, Some("n,"), &["trust"]);
    assert!(
        ran.code == 1 && ran.stderr.contains(&format!("Trust {root}?")) && ran.stderr.contains("Nothing was changed"),
        "{ran:?}"
    );
    let ran = asked(&place, Some(","), &["trust"]);
    assert_eq!(ran.code, 1, "no answer is a no: {ran:?}");
    let ran = asked(&place, Some("y,n,"), &["trust"]);
    assert_eq!((ran.code, ran.stdout.lines().next()), (0, Some(format!("{root}  trusted").as_str())), "{ran:?}");
    let ran = place.run(&["trust", "--list"]);
    assert_eq!(ran.stdout, format!("{root}\n1 trusted root\n"));
    let ran = asked(&place, Some("y,,"), &["trust"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = place.run(&["trust", "--list"]);
    assert_eq!(ran.stdout, format!("{root} and its worktrees\n1 trusted root\n"));
    // A folder without a repository has no worktrees to ask about.
    let ran = asked(&place, Some("y,"), &["trust", "../src"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.stderr.contains("worktrees too"), "{ran:?}");
}

#[test]
fn a_script_grants_shows_and_takes_back() {
    let place = Place::new();
    let root = place.base.join("project").display().to_string();
    let ran = place.run(&["trust", "--yes", "--no-worktrees", "--allow", "config"]);
    assert_eq!(
        (ran.code, ran.stdout.lines().next()),
        (0, Some(format!("{root}  trusted, with its own config").as_str())),
        "{ran:?}"
    );
    let ran = place.run(&["status"]);
    assert!(ran.stdout.contains(&format!("1 trusted root:\n  {root}, with its own config\n")), "{ran:?}");
    assert_eq!(place.json(&["trust", "--list"])["trusted"][0]["root"], root);
    let ran = place.run(&["trust", "--yes", "--no-worktrees", "--allow", "config"]);
    assert!(ran.code == 0 && ran.stdout.contains("it was trusted so already"), "{ran:?}");
    let ran = place.run(&["trust", "--revoke"]);
    assert_eq!((ran.code, ran.stdout.lines().next()), (0, Some(format!("{root}  untrusted").as_str())), "{ran:?}");
    let ran = place.run(&["trust", &root, "--revoke"]);
    assert!(ran.code == 1 && ran.stdout.contains("there was no grant to take back"), "{ran:?}");
    assert_eq!(place.json(&["trust", "--yes"])["trust"]["by"], "grant");
    for wrong in
        [&["trust", "--list", "--yes"][..], &["trust", "--revoke", "--no-worktrees"], &["trust", "--allow", "all", "--yes"]]
    {
        assert_eq!(place.run(wrong).code, 2, "{wrong:?}");
    }
    assert_eq!(place.run(&["trust", "--yes", "/"]).code, 1);
}
