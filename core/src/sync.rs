//! The one lock of the core. `tests/model/tests/interleavings` puts another in its place, which tries every order of the threads.

pub(crate) use std::sync::{Mutex, MutexGuard};
