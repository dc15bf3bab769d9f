//! Sorted maps and sets out of a few items.

/// The items in a `BTreeMap` or a `BTreeSet`, put in one by one.
///
/// `collect` sorts them first, by a routine of its own for each type of item: each is 4 KB of a library.
pub(crate) fn sorted<T, C: Default + Extend<T>>(items: impl IntoIterator<Item = T>) -> C {
    let mut sorted = C::default();
    sorted.extend(items);
    sorted
}
