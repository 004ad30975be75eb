//! An order on paper.

use crate::total::{Item, total};

/// The last line of an invoice.
pub fn invoice_line(items: &[Item]) -> String {
    let cents = total(items);
    format!("{}.{:02}", cents / 100, cents % 100)
}
