//! `file:` URIs, made and read.

use std::{
    ffi::OsString,
    fmt::Write as _,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Component, Path, PathBuf},
};

/// The URI of an absolute path. Everything that is not certain to pass is escaped.
pub(crate) fn of(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Into memory.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// The absolute path that a URI means; none if it is no file of this machine, or climbs.
pub(crate) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file:")?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
        None => rest,
    };
    let path = path.split(['?', '#']).next().unwrap_or(path);
    if !path.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = (byte == b'%').then(|| after.get(..2)).flatten().and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(0) => return None,
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    let path = PathBuf::from(OsString::from_vec(bytes));
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    plain.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back() {
        for name in ["/a/b.rs", "/ä ö/%41#?/x", "/a:b/(c)[d]@e"] {
            assert_eq!(path(&of(Path::new(name))), Some(PathBuf::from(name)), "{name}");
        }
        assert_eq!(of(Path::new("/a b/é")), "file:///a%20b/%C3%A9");
    }

    #[test]
    fn what_is_no_file_is_none() {
        for uri in ["http://a/b", "untitled:a", "file://host/a", "file:///a/../b", "file:///a%00b", "file:a", ""] {
            assert_eq!(path(uri), None, "{uri}");
        }
        assert_eq!(path("file:///a%2Fb%zz"), Some(PathBuf::from("/a/b%zz")));
        assert_eq!(path("file:/a"), Some(PathBuf::from("/a")));
    }
}
