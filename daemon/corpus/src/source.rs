//! Reading a source file.

use std::path::Path;

use ccd_files::{Root, Stat};
use ccd_text::Version;

use crate::{Limits, Skipped};

/// Bytes looked at for a NUL.
const BINARY_PROBE: usize = 8 * 1024;
/// Mean bytes a line over which a file counts as minified.
const MINIFIED_LINE: usize = 300;
/// A short file of one long line is data or a fixture, not a bundle.
const MINIFIED_SIZE: usize = 4 * 1024;
/// Where a header that says "generated" must begin.
const HEADER: usize = 1024;

/// A source file's bytes and what follows from them alone.
#[derive(Clone, Debug)]
pub struct Source {
    /// All of it, without a byte order mark being removed.
    pub bytes: Vec<u8>,
    /// Taken before the first byte was read.
    pub stat: Stat,
    /// Of the bytes.
    pub version: Version,
    /// Its header says that a tool wrote it.
    pub generated: bool,
}

/// Reads a source file of a workspace, or says why it is left out.
pub fn read(root: &Root, rel: &Path, limits: &Limits) -> Result<Source, Skipped> {
    let file = root.read(rel, limits.max_file_bytes)?;
    let version = Version::of(&file.bytes);
    if file.bytes[..file.bytes.len().min(BINARY_PROBE)].contains(&0) {
        return Err(Skipped::Binary);
    }
    if is_minified(&file.bytes) {
        // A file of brackets alone looks so as well, and what is wrong with it is another thing.
        return Err(match nesting(&file.bytes) > limits.max_depth {
            true => Skipped::TooDeep { depth: limits.max_depth },
            false => Skipped::Generated,
        });
    }
    Ok(Source { generated: says_generated(&file.bytes), bytes: file.bytes, stat: file.stat, version })
}

fn is_minified(bytes: &[u8]) -> bool {
    if bytes.len() < MINIFIED_SIZE {
        return false;
    }
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
    bytes.len() / lines > MINIFIED_LINE
}

/// How deep brackets nest, wherever they stand.
fn nesting(bytes: &[u8]) -> u32 {
    let (mut open, mut most) = (0u32, 0u32);
    for &byte in bytes {
        match byte {
            b'(' | b'[' | b'{' => {
                open += 1;
                most = most.max(open);
            }
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
}

fn says_generated(bytes: &[u8]) -> bool {
    let header = &bytes[..bytes.len().min(HEADER)];
    ["Code generated", "@generated", "DO NOT EDIT"]
        .iter()
        .any(|mark| header.windows(mark.len()).any(|window| window == mark.as_bytes()))
}
