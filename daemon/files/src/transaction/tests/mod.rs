//! Transactions over file systems that fail.
