//! Paths as callers give them: absolute, bounded, without NUL.

use std::path::{Path, PathBuf};

use ccd_protocol::RpcError;

use crate::rpc::params::wrong;

/// Bytes of a path.
const LONGEST: usize = 4096;

/// The path in this field, if it can be one.
pub(crate) fn absolute(field: &str, text: &str) -> Result<PathBuf, RpcError> {
    if text.is_empty() {
        return Err(wrong(field, "an absolute path, not an empty one"));
    }
    if text.len() > LONGEST {
        return Err(wrong(field, format!("a path of at most {LONGEST} bytes")));
    }
    if text.contains('\0') {
        return Err(wrong(field, "a path without NUL"));
    }
    if !text.starts_with('/') {
        return Err(wrong(field, "an absolute path; make it absolute against your working folder"));
    }
    Ok(PathBuf::from(text))
}

/// A path as it stands in an answer.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
