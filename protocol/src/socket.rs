//! Where the socket is, as far as daemon and clients have to agree to the letter.

use std::path::Path;

/// The name of the socket inside the runtime folder.
pub const SOCKET_NAME: &str = "ccd-1.sock";

/// Bytes of a socket's path that the kernel takes.
pub const SOCKET_PATH_MAX: usize = 107;

/// The name of the socket in the fallback folder, for a runtime folder whose path is too long: FNV-1a, 64 bits, of the
/// bytes of that path. So simple that every client can find the same name.
pub fn short_socket_name(runtime: &Path) -> String {
    let bytes = runtime.as_os_str().as_encoded_bytes();
    let hash =
        bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}-{SOCKET_NAME}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_names_are_the_published_ones() {
        let table = include_str!("../../tests/socket-names.tsv");
        let rows = table.lines().filter(|row| !row.starts_with('#'));
        for (name, path) in rows.map(|row| row.split_once('\t').expect("name and path")) {
            assert_eq!(short_socket_name(Path::new(path)), format!("{name}-{SOCKET_NAME}"), "{path}");
        }
    }
}
