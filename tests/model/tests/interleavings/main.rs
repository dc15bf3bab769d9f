//! The core's own source of the registry, with a lock that tries every order in which its threads' steps can come (shuttle).
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)] // what the crate exports, these tests need not use

// The items that the source takes from its crate.
use stepwell_core::{ThreadId, run};

mod registry;

/// In the place of the crate's own.
mod sync {
    pub(crate) use shuttle::sync::{Mutex, MutexGuard};
}
