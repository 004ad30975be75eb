//! What an order costs.

pub mod invoice;
pub mod total;
