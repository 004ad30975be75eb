//! Marker AND program AND the program ran; the reason says which is missing.

use std::{fs, os::unix::fs::PermissionsExt as _};

use ccd_lsp::{Reason, Settings};

use crate::world::World;

struct Row {
    program: Option<(&'static str, u32)>,
    file: &'static str,
    expected: Result<&'static str, (Reason, &'static str)>,
}

async fn check(row: Row, trusted: bool) {
    let mut world = World::new(Settings::default());
    for (name, text) in [
        ("rusty/Cargo.toml", "[package]\nname='r'"),
        ("rusty/src/lib.rs", ""),
        ("bare/lone.rs", ""),
        ("mono/Cargo.toml", "[workspace]\nmembers=['one','two']"),
        ("mono/one/Cargo.toml", "[package]\nname='one'"),
        ("mono/one/src/lib.rs", ""),
    ] {
        world.put(name, text);
    }
    let bin = world.folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    if let Some((script, mode)) = row.program {
        fs::write(bin.join("rust-analyzer"), script).unwrap();
        fs::set_permissions(bin.join("rust-analyzer"), fs::Permissions::from_mode(mode)).unwrap();
    }
    world.set("PATH", bin.to_str().unwrap());
    world.checkout.trusted = trusted;
    let claims = world.pool.serving(&world.checkout, &world.path(row.file)).await;
    let claim = &claims[0];
    match (row.expected, &claim.found) {
        (Ok(root), Ok(_)) => assert_eq!(claim.root.as_ref(), Some(&world.path(root))),
        (Err((reason, words)), Err(error)) => {
            assert_eq!(error.reason, reason, "{error}");
            assert!(error.detail.contains(words), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

const RUNS: Option<(&str, u32)> = Some(("#!/bin/sh\necho rust-analyzer 1\n", 0o755));
const SHIM: Option<(&str, u32)> = Some(("#!/bin/sh\necho \"error: Unknown binary 'rust-analyzer'\" >&2\nexit 1\n", 0o755));
const HANGS: Option<(&str, u32)> = Some(("#!/bin/sh\nexec /bin/sleep 600\n", 0o755));
const LIB: &str = "rusty/src/lib.rs";

#[tokio::test]
async fn each_missing_half_is_named() {
    let rows = [
        Row { program: RUNS, file: LIB, expected: Ok("rusty") },
        Row { program: RUNS, file: "mono/one/src/lib.rs", expected: Ok("mono") },
        Row { program: None, file: LIB, expected: Err((Reason::NoBinary, "binary")) },
        Row { program: RUNS, file: "bare/lone.rs", expected: Err((Reason::NoMarker, "marker")) },
        Row { program: SHIM, file: LIB, expected: Err((Reason::ProbeFailed, "Unknown binary")) },
        Row { program: Some(("#!/bin/sh\n", 0o644)), file: LIB, expected: Err((Reason::NoBinary, "binary")) },
        Row { program: HANGS, file: LIB, expected: Err((Reason::ProbeFailed, "time")) },
        Row { program: RUNS, file: "../outside.rs", expected: Err((Reason::NoMarker, "outside")) },
    ];
    for row in rows {
        check(row, true).await;
    }
}

#[tokio::test]
async fn nothing_is_tried_without_trust() {
    check(Row { program: SHIM, file: LIB, expected: Err((Reason::Untrusted, "not trusted")) }, false).await;
    check(Row { program: None, file: LIB, expected: Err((Reason::NoBinary, "binary")) }, false).await;
}
