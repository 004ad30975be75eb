//! Builds and their order.

/// The build of this client, as it says in `daemon.hello`.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");

/// Whether build `ours` is newer than build `theirs`.
///
/// Only the version counts (`0.2.0` of `0.2.0+ab12`): a commit has no order, and two builds of one
/// version replacing each other in turn would never end. What is no version is never newer.
pub fn is_newer(ours: &str, theirs: &str) -> bool {
    match (version(ours), version(theirs)) {
        (Some(ours), Some(theirs)) => ours > theirs,
        _ => false,
    }
}

fn version(build: &str) -> Option<[u64; 3]> {
    let numbers = build.split(['+', '-']).next()?;
    let mut parts = numbers.split('.').map(|part| part.parse::<u64>().ok());
    let version = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn only_a_higher_version_is_newer() {
        assert!(is_newer("0.2.0", "0.1.9+ab12"));
        assert!(is_newer("0.10.0+x", "0.9.0"));
        assert!(!is_newer("0.1.0+bb", "0.1.0+aa"));
        assert!(!is_newer("0.1.0", "0.2.0"));
        assert!(!is_newer("dev", "0.1.0"));
        assert!(!is_newer("0.1.0", ""));
        assert!(!is_newer("1.0.0.1", "0.1.0"));
    }
}
