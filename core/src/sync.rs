//! The one lock of the core. `tests/model/tests/interleavings` replaces it by one that tries every order of the
//! threads.

pub(crate) use std::sync::{Mutex, MutexGuard};
