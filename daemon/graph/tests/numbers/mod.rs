//! A small generator of numbers.

/// A small generator of numbers, so that a failure repeats.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// Less than a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}
