//! As `src/registry/mod.rs` puts it together, with the tests inside.

#[path = "../../../src/registry/event.rs"]
mod event;
#[path = "../../../src/registry/handle.rs"]
mod handle;
#[path = "../../../src/registry/key.rs"]
mod key;
#[path = "../../../src/registry/run_registry.rs"]
mod run_registry;
#[path = "../../../src/registry/shared.rs"]
mod shared;
#[path = "../../../src/registry/stored.rs"]
mod stored;

pub use event::RegistryEvent;
pub use handle::{RunHandle, RunVersion, Stale};
pub use key::ThreadKey;
pub use run_registry::{Registered, RunRegistry};
pub use shared::SharedRegistry;

mod faulty;
mod foreign;
mod history;
mod orders;
mod script;
