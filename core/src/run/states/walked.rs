//! The moves of runs, for the model checker.

use crate::run::protocol::{EdgeRow, StateKind};
use std::cell::RefCell;

thread_local! {
    static WALKED: RefCell<Vec<EdgeRow>> = const { RefCell::new(Vec::new()) };
}

/// Notes a move of the state. `on` is the full name of the trigger's type.
pub(super) fn note(from: StateKind, on: &'static str, to: StateKind) {
    let on = on.rsplit("::").next().unwrap_or(on);
    WALKED.with_borrow_mut(|walked| walked.push(EdgeRow { from, on, to }));
}

/// The moves of this thread's runs since the last call.
#[must_use]
pub fn take_walked() -> Vec<EdgeRow> {
    WALKED.take()
}
