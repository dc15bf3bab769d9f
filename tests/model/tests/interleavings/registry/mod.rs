//! As `core/src/registry/mod.rs` puts it together, with the tests inside.

#[path = "../../../../../core/src/registry/event.rs"]
mod event;
#[path = "../../../../../core/src/registry/handle.rs"]
mod handle;
#[path = "../../../../../core/src/registry/key.rs"]
mod key;
#[path = "../../../../../core/src/registry/run_registry.rs"]
mod run_registry;
#[path = "../../../../../core/src/registry/shared.rs"]
mod shared;
#[path = "../../../../../core/src/registry/stored.rs"]
mod stored;

pub use event::RegistryEvent;
pub use handle::{RunHandle, RunVersion, Stale};
pub use key::ThreadKey;
pub use run_registry::{Registered, RunRegistry};
pub use shared::SharedRegistry;

mod foreign;
mod history;
mod orders;
mod script;
