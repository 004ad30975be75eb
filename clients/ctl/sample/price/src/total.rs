//! Sums of money, in cents.

/// One line of an order.
pub struct Item {
    pub cents: u64,
    pub count: u64,
}

/// The sum of all items, each with its discount.
pub fn total(items: &[Item]) -> u64 {
    let mut sum = 0;
    for item in items {
        sum += discounted(item);
    }
    sum
}

/// Ten of a kind cost as much as nine.
pub fn discounted(item: &Item) -> u64 {
    item.cents * (item.count - item.count / 10)
}

#[cfg(test)]
mod tests {
    use super::{Item, discounted};

    #[test]
    fn ten_cost_as_much_as_nine() {
        assert_eq!(discounted(&Item { cents: 2, count: 10 }), 18);
    }
}
