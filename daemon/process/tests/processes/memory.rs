//! The memory of a tree.

use std::time::Instant;

use ccd_process::memory;

use crate::world::{launcher, python, read_line, sh};

#[tokio::test]
async fn a_tree_is_measured_with_all_below_it() {
    let launcher = launcher("memory");
    let script = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    block = b'x' * (50 << 20)\n    print('full', flush=True)\ntime.sleep(60)";
    let mut large = launcher.spawn(&python(script)).await.unwrap();
    let small = launcher.spawn(&sh("exec sleep 60")).await.unwrap();
    assert_eq!(read_line(&mut large).await, "full");
    let begun = Instant::now();
    let measured = memory::of_trees(&[large.shim_pid(), small.shim_pid(), 0]).unwrap();
    println!("{measured:?} in {:?}", begun.elapsed());
    assert_eq!((measured[0].processes, measured[1].processes, measured[2]), (2, 1, memory::TreeMemory::default()));
    assert!(measured[0].bytes > 50 << 20 && measured[0].bytes < 200 << 20);
    assert!(measured[1].bytes > 0 && measured[1].bytes < 10 << 20);
}
