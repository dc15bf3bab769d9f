//! Many runs at once: the registry knows which run owns a thread, and which inputs come too late.
//!
//! A [`RunRegistry`] is data, like a run: it starts nothing, waits for nothing and has no callbacks. It makes a
//! [`RunHandle`] for each run, and the host passes this handle along with the inputs from the run's network, tools and
//! timers. A new run, a continuation, the end of a run and a removal make the handle before stale. An input with a stale
//! handle changes nothing, and is reported.
//!
//! ```
//! use stepwell_core::registry::{RegistryEvent, RunRegistry, ThreadKey};
//! use stepwell_core::run::Outcome;
//!
//! let mut registry = RunRegistry::new();
//! let thread = ThreadKey::from("thread-1");
//! registry.look_at(Some(thread.clone()));
//!
//! // The user sends a message, then another one before the first is answered.
//! let first = registry.register(thread.clone()).handle;
//! let registered = registry.register(thread.clone());
//! assert_eq!(registered.replaced.as_ref(), Some(&first)); // cancel that run: it no longer owns the thread
//!
//! // Bytes that still come for the first run are dropped.
//! let late = registry.check(&first).unwrap_err();
//! assert_eq!(late.to_string(), "the run thread-1#1.0 is stale: 2.0 owns its thread; drop what came for it");
//!
//! // The second calls a tool and continues with another stream, while the user looks at another thread.
//! let second = registry.replace(&registered.handle)?;
//! registry.look_at(Some(ThreadKey::from("thread-2")));
//! registry.complete(&second, Outcome::Success)?;
//! assert!(registry.unread(&thread));
//!
//! while let Some(event) = registry.poll_event() {
//!     if let RegistryEvent::Unread { key } = event {
//!         assert_eq!(key, thread); // show its dot
//!     }
//! }
//! # Ok::<(), stepwell_core::registry::Stale>(())
//! ```
//!
//! [`SharedRegistry`] is the same for hosts with threads.

mod event;
mod handle;
mod key;
mod run_registry;
mod shared;
mod stored;

pub use event::{MAX_EVENTS, RegistryEvent};
pub use handle::{RunHandle, RunVersion, Stale};
pub use key::ThreadKey;
pub use run_registry::{Registered, RunRegistry};
pub use shared::SharedRegistry;
