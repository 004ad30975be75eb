//! Where the machine sets limits: a full disk, other mounts, rights of another user. Each part runs the driver in a
//! mount namespace of its own, or as another user, and says why where that is not possible.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Output},
};

use crate::{
    chaos::driver,
    world::{World, journals},
};

/// Runs a shell script in a mount namespace of its own; none where that is not allowed. `$ROOT`, `$STATE` and
/// `$DRIVER` are set.
fn isolated(world: &World, script: &str) -> Option<Output> {
    let possible = Command::new("unshare").args(["-m", "true"]).output();
    if !possible.as_ref().is_ok_and(|output| output.status.success()) {
        eprintln!("no mount namespaces here: {possible:?}");
        return None;
    }
    let output = Command::new("unshare")
        .args(["-m", "sh", "-euc", script])
        .env("ROOT", world.root.path())
        .env("STATE", world.state_path())
        .env("DRIVER", driver())
        .output()
        .unwrap();
    let (said, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if err.contains("mount:") {
        eprintln!("nothing can be mounted here: {err}");
        return None;
    }
    assert!(output.status.success(), "{script}\n{said}{err}");
    Some(output)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_full_disk_leaves_everything_old() {
    let world = World::new();
    let script = r#"
        mount -t tmpfs -o size=256k tmpfs "$ROOT"
        for file in a b c; do echo "$file old" > "$ROOT/$file"; done
        big=$(head -c 100000 /dev/zero | tr '\0' x)
        for how in power process; do
            "$DRIVER" apply "$ROOT" "$STATE" full-$how $how "write:a:$big" "write:b:$big" "write:c:$big" || true
            "$DRIVER" apply "$ROOT" "$STATE" place-$how $how "inplace:a:$big" "inplace:b:$big" "inplace:c:$big" || true
            cat "$ROOT/a" "$ROOT/b" "$ROOT/c"
            ls -A "$ROOT"
        done
        "$DRIVER" apply "$ROOT" "$STATE" fits process "write:a:$big"
    "#;
    let Some(output) = isolated(&world, script) else { return };
    let said = said(&output);
    assert_eq!(said.matches("refused NoSpace").count(), 4, "{said}");
    assert_eq!(said.matches("a old\nb old\nc old\na\nb\nc\n").count(), 2, "{said}");
    assert!(said.trim_end().ends_with("committed Exchange []"), "{said}");
    assert_eq!(journals(&world.state_path()), [""; 0]);
}

#[test]
fn another_mount_in_the_root_is_staged_beside_and_a_mounted_file_written_in_place() {
    let world = World::new();
    world.put("a", "a old\n");
    world.put("sub/b", "b old\n");
    world.put("file", "file old\n");
    world.put("elsewhere/x", "x\n");
    world.put("mounted", "mounted old\n");
    // A bind mount of the same file system has the same device, and no rename leads into it.
    let script = r#"
        mount --bind "$ROOT/elsewhere" "$ROOT/sub"
        echo "b old" > "$ROOT/sub/b"
        mount --bind "$ROOT/mounted" "$ROOT/file"
        "$DRIVER" apply "$ROOT" "$STATE" id power "write:a:a new
" "write:sub/b:b new
" "add:sub/deep/c:c
" "remove:sub/x" "write:file:file new
"
        "$DRIVER" apply "$ROOT" "$STATE" refused power "write:a:other
" "write:sub/b:other
" "remove:file" || true
        cat "$ROOT/a" "$ROOT/sub/b" "$ROOT/sub/deep/c" "$ROOT/file"
        find "$ROOT" -name '.ccd*'
        CCD_FAILPOINT=swapped:2:kill "$DRIVER" apply "$ROOT" "$STATE" killed power "write:sub/b:other
" "write:file:other
" || true
        "$DRIVER" recover "$ROOT" "$STATE"
        cat "$ROOT/sub/b" "$ROOT/file"
        CCD_FAILPOINT=staged:kill "$DRIVER" apply "$ROOT" "$STATE" staged power "write:sub/b:other
" "write:file:other
" || true
        "$DRIVER" recover "$ROOT" "$STATE"
        find "$ROOT" -name '.ccd*'
    "#;
    let Some(output) = isolated(&world, script) else { return };
    let said = said(&output);
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("committed JournaledInPlace []"), "{said}");
    assert!(lines.next().unwrap().starts_with("refused CommitFailed") && said.contains("EBUSY"), "{said}");
    let rest: Vec<_> = lines.collect();
    assert_eq!(rest, ["a new", "b new", "c", "file new", "settled killed rolled_back", "b new", "file new"], "{said}");
    assert_eq!(world.text("mounted"), "file new\n");
    assert_eq!(journals(&world.state_path()), [""; 0]);
}

#[test]
fn a_folder_that_may_not_be_written_is_written_in_place_or_refused() {
    let world = World::new();
    if !rustix::process::geteuid().is_root() {
        eprintln!("not root: no other user can be taken on");
        return;
    }
    world.put("closed/mine", "mine old\n");
    world.put("closed/theirs", "theirs old\n");
    world.put("open", "open old\n");
    let open = |path: std::path::PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let program = world.dir.path().join("driver");
    fs::copy(driver(), &program).unwrap();
    open(program.clone(), 0o755);
    open(world.dir.path().to_path_buf(), 0o755);
    for (path, mode) in [("closed/mine", 0o666), ("closed/theirs", 0o644), ("open", 0o666)] {
        open(world.path(path), mode);
    }
    open(world.path("closed"), 0o755);
    let state = world.dir.path().join("other");
    fs::create_dir(&state).unwrap();
    open(state.clone(), 0o700);
    std::os::unix::fs::chown(&state, Some(65_534), Some(65_534)).unwrap();
    let run = |specs: &[&str]| {
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .arg("apply")
            .args([world.root.path(), &state])
            .args(["id", "power"])
            .args(specs)
            .output()
            .unwrap();
        said(&output)
    };
    // The root is closed as well: what can be is written in place.
    assert!(run(&["write:closed/mine:mine new\n", "write:open:open new\n"]).starts_with("committed JournaledInPlace"));
    assert_eq!((world.text("closed/mine").as_str(), world.text("open").as_str()), ("mine new\n", "open new\n"));
    for refused in ["write:closed/theirs:x", "remove:closed/mine", "add:closed/new:x", "add:new:x"] {
        let said = run(&["write:open:never\n", refused]);
        assert!(said.starts_with("refused ReadOnly"), "{refused}: {said}");
        assert_eq!(world.text("open"), "open new\n");
    }
    // An owner that cannot be given back: refused, unless told otherwise.
    open(world.root.path().to_path_buf(), 0o777);
    let said = run(&["write:open:again\n"]);
    assert!(said.starts_with("refused Metadata") && said.contains("owner"), "{said}");
    assert_eq!(world.text("open"), "open new\n");
    world.no_litter();
    assert_eq!(journals(&state), [""; 0]);
}

#[test]
fn a_folder_with_a_default_acl_gives_it_to_new_files() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let world = World::new();
    fs::create_dir(world.path("d")).unwrap();
    let entry = |tag: u16, rights: u16, id: u32| [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat();
    let none = u32::MAX;
    let acl = [
        2_u32.to_le_bytes().to_vec(),
        entry(1, 7, none),
        entry(2, 6, 1),
        entry(4, 5, none),
        entry(16, 7, none),
        entry(32, 0, none),
    ];
    if let Err(errno) = setxattr(world.path("d"), "system.posix_acl_default", &acl.concat(), XattrFlags::empty()) {
        eprintln!("no ACLs here: {errno}");
        return;
    }
    fs::write(world.path("d/plain"), "").unwrap();
    world.commit(vec![crate::world::write("d/ours", "x", ccd_files::Expect::Absent)]).unwrap();
    let read = |name: &str| {
        let mut buffer = [0; 256];
        let size = getxattr(world.path(name), "system.posix_acl_access", &mut buffer).unwrap();
        (buffer[..size].to_vec(), fs::metadata(world.path(name)).unwrap().permissions().mode())
    };
    assert_eq!(read("d/ours"), read("d/plain"));
    world.no_litter();
}

#[test]
fn a_file_of_a_lower_layer_changes_its_inode_and_is_still_the_same_file() {
    let world = World::new();
    world.put("a", "a old\n");
    world.put("d/b", "b old\n");
    world.put("gone", "gone\n");
    // The layers lie on two file systems, so that what is copied up gets another device.
    let script = r#"
        upper=$(dirname "$ROOT")/upper
        mkdir "$upper"
        mount -t tmpfs tmpfs "$upper"
        mkdir "$upper/up" "$upper/work"
        mount -t overlay -o "lowerdir=$ROOT,upperdir=$upper/up,workdir=$upper/work" overlay "$ROOT"
        "$DRIVER" apply "$ROOT" "$STATE" id power "write:a:a new
" "write:d/b:b new
" "remove:gone" "add:c/d:c
"
        "$DRIVER" apply "$ROOT" "$STATE" refused power "write:a:never
" "write:d/b:never
" "add:c/d:never" || true
        CCD_FAILPOINT=swapped:2:kill "$DRIVER" apply "$ROOT" "$STATE" killed power "write:a:never
" "write:d/b:never
" || true
        "$DRIVER" recover "$ROOT" "$STATE"
        cat "$ROOT/a" "$ROOT/d/b" "$ROOT/c/d"
        find "$ROOT" -name '.ccd*' -o -name gone
    "#;
    let Some(output) = isolated(&world, script) else { return };
    let said = said(&output);
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("committed Exchange []"), "{said}");
    assert!(lines.next().unwrap().starts_with("refused ContentChanged"), "{said}");
    assert_eq!(lines.collect::<Vec<_>>(), ["settled killed rolled_back", "a new", "b new", "c"], "{said}");
    assert_eq!(journals(&world.state_path()), [""; 0]);
}
