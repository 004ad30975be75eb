//! Grants and worktrees over real folders. The repositories are laid out by hand, as git does it.

use std::{fs, os::unix::fs::symlink};

use super::*;

struct Place {
    base: PathBuf,
    _folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        Self { base, _folder: folder }
    }

    fn path(&self, rel: &str) -> PathBuf {
        self.base.join(rel)
    }

    fn write(&self, rel: &str, text: &str) {
        let path = self.path(rel);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(path, text).expect("it is written");
    }

    fn root(&self, rel: &str) -> Root {
        fs::create_dir_all(self.path(rel)).expect("it is made");
        Root::open(&self.path(rel), None).expect("it is a root")
    }

    fn trust(&self) -> Trust {
        Trust::new(&self.path("state"))
    }

    /// A repository with a worktree, linked both ways.
    fn linked(&self, repository: &str, worktree: &str, name: &str) {
        let entry = format!("{repository}/.git/worktrees/{name}");
        self.write(&format!("{entry}/gitdir"), &format!("{}\n", self.path(worktree).join(".git").display()));
        self.write(&format!("{entry}/commondir"), "../..\n");
        self.write(&format!("{worktree}/.git"), &format!("gitdir: {}\n", self.path(&entry).display()));
    }

    fn of(&self, trust: &Trust, rel: &str) -> String {
        let state = trust.of(&self.root(rel), [], None);
        match (state.by, state.from) {
            (Some(TrustedBy::Worktree), Some(from)) => {
                format!("worktree of {}", from.strip_prefix(&shown(&self.base)).expect("a root of the test"))
            }
            (Some(by), _) => format!("{by:?}").to_lowercase(),
            (None, _) if state.detail.is_some() => "replaced".to_owned(),
            (None, _) => "untrusted".to_owned(),
        }
    }
}

#[test]
fn a_grant_is_of_one_folder_and_survives() {
    let place = Place::new();
    let trust = place.trust();
    assert!(trust.grant(&place.root("a/p"), true, Vec::new()).expect("it is granted"));
    assert!(!trust.grant(&place.root("a/p"), true, Vec::new()).expect("it is granted already"));
    for (rel, wanted) in [("a/p", "grant"), ("a", "untrusted"), ("a/p/sub", "untrusted"), ("b/p", "untrusted")] {
        assert_eq!(place.of(&trust, rel), wanted, "{rel}");
        assert_eq!(place.of(&place.trust(), rel), wanted, "{rel} after a restart");
    }
    assert!(trust.revoke(&place.path("a/p")).expect("it is taken back"));
    assert!(!trust.revoke(&place.path("a/p")).expect("there is none"));
    assert_eq!(place.of(&place.trust(), "a/p"), "untrusted");
}

#[test]
fn what_another_daemon_took_back_does_not_return() {
    let place = Place::new();
    let (one, other) = (place.trust(), place.trust());
    one.grant(&place.root("p"), true, Vec::new()).expect("it is granted");
    other.grant(&place.root("q"), true, Vec::new()).expect("it is granted");
    assert!(other.revoke(&place.path("p")).expect("it is taken back"));
    assert!(!one.revoke(&place.path("p")).expect("it is gone already"));
    let left: Vec<String> = one.list().into_iter().map(|grant| grant.root).collect();
    assert_eq!(left, [shown(&place.path("q"))]);
}

#[test]
fn another_folder_at_the_same_path_is_untrusted() {
    let place = Place::new();
    let trust = place.trust();
    trust.grant(&place.root("p"), true, Vec::new()).expect("it is granted");
    fs::rename(place.path("p"), place.path("q")).expect("it is moved");
    assert_eq!(place.of(&trust, "q"), "untrusted");
    assert_eq!(place.of(&trust, "p"), "replaced");
    fs::remove_dir(place.path("p")).expect("it is removed");
    fs::rename(place.path("q"), place.path("p")).expect("it is moved back");
    assert_eq!(place.of(&trust, "p"), "grant");
    // A root that is held open while its folder is moved away.
    let held = place.root("p");
    fs::rename(place.path("p"), place.path("q")).expect("it is moved");
    assert_eq!(trust.of(&held, [], None).state, TrustWord::Untrusted);
}

#[test]
fn a_number_that_is_used_again_does_not_carry_trust() {
    let place = Place::new();
    let trust = place.trust();
    let root = place.root("p");
    if root.born_ns().is_none() {
        // This file system keeps no births: the numbers are all there is.
        return;
    }
    let known = Grant { born_ns: root.born_ns().map(|born| born - 1), ..Grant::of(&root, true, Vec::new()) };
    store::write(&trust.file, &[known]).expect("it is written");
    assert_eq!(place.of(&place.trust(), "p"), "replaced");
}

#[test]
fn worktrees_inherit_where_both_sides_say_so() {
    let place = Place::new();
    place.linked("main", "wt", "one");
    place.linked("main", "far/wt2", "two");
    let trust = place.trust();
    assert_eq!(place.of(&trust, "wt"), "untrusted");
    trust.grant(&place.root("main"), true, Vec::new()).expect("it is granted");
    assert_eq!(place.of(&trust, "wt"), "worktree of /main");
    assert_eq!(place.of(&trust, "far/wt2"), "worktree of /main");
    assert_eq!(place.of(&trust, "wt/sub"), "untrusted");
    // Relative, as newer versions of git write it if asked.
    place.write("main/.git/worktrees/one/gitdir", "../../../../wt/.git\n");
    place.write("wt/.git", "gitdir: ../main/.git/worktrees/one\n");
    assert_eq!(place.of(&trust, "wt"), "worktree of /main");
    // Not asked for, taken back, or of a repository that was replaced.
    trust.grant(&place.root("main"), false, Vec::new()).expect("it is granted");
    assert_eq!(place.of(&trust, "wt"), "untrusted");
    trust.grant(&place.root("main"), true, Vec::new()).expect("it is granted");
    fs::rename(place.path("main"), place.path("moved")).expect("it is moved");
    place.linked("main", "wt", "one");
    assert_eq!(place.of(&trust, "wt"), "untrusted");
}

#[test]
fn a_worktree_that_is_trusted_shares_with_nobody() {
    let place = Place::new();
    place.linked("main", "wt", "one");
    place.linked("main", "wt2", "two");
    let trust = place.trust();
    trust.grant(&place.root("wt"), true, Vec::new()).expect("it is granted");
    assert_eq!(place.of(&trust, "wt"), "grant");
    assert_eq!(place.of(&trust, "main"), "untrusted");
    assert_eq!(place.of(&trust, "wt2"), "untrusted");
}

#[test]
fn what_a_checkout_says_of_itself_does_not_count() {
    let place = Place::new();
    place.linked("main", "wt", "one");
    let trust = place.trust();
    trust.grant(&place.root("main"), true, Vec::new()).expect("it is granted");
    let entry = place.path("main/.git/worktrees/one");
    let claim = format!("gitdir: {}\n", entry.display());

    // It names the entry of another worktree, or the repository itself.
    place.write("evil/.git", &claim);
    assert_eq!(place.of(&trust, "evil"), "untrusted");
    place.write("evil2/.git", &format!("gitdir: {}\n", place.path("main/.git").display()));
    assert_eq!(place.of(&trust, "evil2"), "untrusted");
    // It has a repository of its own, which names the trusted one as what it shares.
    place.write("evil3/.git/commondir", &format!("{}\n", place.path("main/.git").display()));
    assert_eq!(place.of(&trust, "evil3"), "untrusted");
    // Its `.git` is a link to the worktree's, or the same file under another name.
    place.root("evil4");
    symlink(place.path("wt/.git"), place.path("evil4/.git")).expect("a link");
    assert_eq!(place.of(&trust, "evil4"), "untrusted");
    place.root("evil5");
    fs::hard_link(place.path("wt/.git"), place.path("evil5/.git")).expect("a second name");
    assert_eq!(place.of(&trust, "evil5"), "untrusted");
    // It carries entries of its own, and names one of them.
    place.write("evil6/.git", "gitdir: fake/.git/worktrees/x\n");
    place.write("evil6/fake/.git/worktrees/x/gitdir", &format!("{}\n", place.path("evil6/.git").display()));
    assert_eq!(place.of(&trust, "evil6"), "untrusted");
    // Words that are no paths, and files that are none.
    for (at, text) in ["", "gitdir:", "gitdir: \0", "../main/.git/worktrees/one"].iter().enumerate() {
        place.write(&format!("odd{at}/.git"), text);
        assert_eq!(place.of(&trust, &format!("odd{at}")), "untrusted", "{text:?}");
    }
    assert_eq!(place.of(&trust, "wt"), "worktree of /main");

    // The repository says it, the folder does not.
    place.write("wt/.git", "gitdir: elsewhere\n");
    assert_eq!(place.of(&trust, "wt"), "untrusted");
    // The folder says it, the repository names another.
    place.write("wt/.git", &claim);
    place.write("main/.git/worktrees/one/gitdir", &format!("{}\n", place.path("other/.git").display()));
    assert_eq!(place.of(&trust, "wt"), "untrusted");
}

#[test]
fn folders_of_the_configuration_hold_what_lies_below_them() {
    let place = Place::new();
    let trust = place.trust();
    let home = place.path("home");
    for rel in ["home/src/a/b", "home/src-evil/a", "elsewhere/c"] {
        place.root(rel);
    }
    symlink(place.path("elsewhere"), place.path("home/src/link")).expect("a link");
    let folders = ["~/src", "/no/such/folder"];
    let check = |rel: &str, wanted: bool| {
        let state = trust.of(&place.root(rel), folders, Some(&home));
        assert_eq!(state.by == Some(TrustedBy::Config), wanted, "{rel}");
        assert!(!wanted || state.from.as_deref() == Some("~/src"));
    };
    check("home/src/a", true);
    check("home/src/a/b", true);
    check("home/src", false);
    check("home/src-evil/a", false);
    // A link from inside leads to a folder that lies elsewhere.
    check("home/src/link/c", false);
    assert_eq!(trust.of(&place.root("home/src/a"), folders, None).state, TrustWord::Untrusted);
}

#[test]
fn a_damaged_file_trusts_nobody_and_makes_room() {
    let place = Place::new();
    let trust = place.trust();
    trust.grant(&place.root("p"), true, vec![Allowed::Config, Allowed::Config]).expect("it is granted");
    assert_eq!(trust.list()[0].allow, [Allowed::Config]);
    let file = place.path("state/trust/grants.json");
    let whole = fs::read_to_string(&file).expect("it is there");
    for broken in
        [&whole[..whole.len() / 2], "", "{}", &whole.replace("\"format\":1", "\"format\":2"), &whole.replace("\"dev\"", "\"x\"")]
    {
        fs::write(&file, broken).expect("it is written");
        let trust = place.trust();
        assert_eq!(place.of(&trust, "p"), "untrusted");
        assert!(trust.notice().is_some_and(|notice| notice.contains("grants.json is damaged")), "{broken}");
    }
    let trust = place.trust();
    assert!(trust.grant(&place.root("q"), true, Vec::new()).expect("it is granted"));
    assert_eq!((trust.notice(), place.of(&place.trust(), "q").as_str()), (None, "grant"));
    assert!(fs::symlink_metadata(place.path("state/trust/grants.json.damaged")).is_ok());
}

#[test]
fn the_command_that_grants_it_can_be_pasted() {
    assert_eq!(quoted("/p/a-b_c.d"), "/p/a-b_c.d");
    assert_eq!(quoted("/p/it's $HOME"), r"'/p/it'\''s $HOME'");
    assert_eq!(untrusted(Path::new("/a b")).fix.as_deref(), Some("ccctl trust '/a b'"));
}

#[test]
fn a_file_that_cannot_be_read_is_not_replaced() {
    let place = Place::new();
    place.trust().grant(&place.root("p"), true, Vec::new()).expect("it is granted");
    let open = |mode| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(place.path("state/trust"), fs::Permissions::from_mode(mode)).expect("its mode");
    };
    open(0o755);
    let trust = place.trust();
    assert_eq!(place.of(&trust, "p"), "untrusted");
    assert!(trust.grant(&place.root("q"), true, Vec::new()).is_err());
    open(0o700);
    assert_eq!(place.of(&place.trust(), "p"), "grant");
}
