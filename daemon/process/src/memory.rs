//! The memory of trees of processes.

use std::io;

use crate::proc::{self, Family};

/// What a tree uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeMemory {
    /// Its proportional set size: memory that is shared is counted by its share, so trees can be summed. In bytes.
    pub bytes: u64,
    /// How many processes it has, without the shim.
    pub processes: u32,
}

/// Measures the trees below these shims ([`crate::Child::shim_pid`]), in their order. `/proc` is read once for all of them.
/// It blocks: some ms, and a few more for each GiB that is mapped. Ask every 5 s, on a thread that may block.
///
/// # Errors
/// If `/proc` cannot be read. A process that ends meanwhile counts as nothing.
pub fn of_trees(shims: &[u32]) -> io::Result<Vec<TreeMemory>> {
    let family = Family::new(proc::all()?);
    let measure = |shim: &u32| {
        // 0 is above all processes, and no shim.
        let shim = i32::try_from(*shim).ok().filter(|shim| *shim > 0);
        let below = shim.map(|shim| family.below(shim)).unwrap_or_default();
        let living = below.iter().filter(|process| !process.zombie);
        let mut memory = TreeMemory::default();
        for process in living {
            memory.processes += 1;
            memory.bytes += proc::proportional(process.pid).unwrap_or(0);
        }
        memory
    };
    Ok(shims.iter().map(measure).collect())
}
