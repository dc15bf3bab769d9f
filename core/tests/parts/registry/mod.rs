//! The registry: who owns a thread, and what comes too late.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)] // the helpers are this one test's

mod events;
mod independent;
mod look;
mod model;
mod owners;
mod shared;
mod stored;

use stepwell_core::registry::{RegistryEvent, RunRegistry, ThreadKey};

pub fn thread(name: &str) -> ThreadKey {
    ThreadKey::from(name)
}

/// All that waits.
pub fn drain(registry: &mut RunRegistry) -> Vec<RegistryEvent> {
    std::iter::from_fn(|| registry.poll_event()).collect()
}
