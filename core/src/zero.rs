//! Counts that a stored form leaves out.

/// Returns whether a count is 0: stored forms leave it out then.
pub(crate) fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}
