//! The sample project that ccctl carries: a shop in four languages.

use std::{fs, io, path::Path};

macro_rules! sample {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../sample/", $path)))),+]
    };
}

const FILES: &[(&str, &str)] = sample![
    "price/Cargo.toml",
    "price/src/lib.rs",
    "price/src/total.rs",
    "price/src/invoice.rs",
    "web/money.ts",
    "web/cart.ts",
    "stock/go.mod",
    "stock/reserve.go",
    "stock/order.go",
    "tools/catalogue.py",
    "tools/restock.py",
];

/// Files of it that hold source.
pub(super) fn sources() -> u64 {
    FILES.iter().filter(|(path, _)| !path.ends_with(".toml") && !path.ends_with(".mod")).count() as u64
}

/// Writes it into `root`, which is a fresh folder of ours.
pub(super) fn write(root: &Path) -> io::Result<()> {
    for (path, text) in FILES {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("every file of the sample lies in a folder"))?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// Whether every file of it is as it was written.
pub(super) fn is_whole(root: &Path) -> bool {
    FILES.iter().all(|(path, text)| fs::read(root.join(path)).is_ok_and(|bytes| bytes == text.as_bytes()))
}
