//! A subscriber of traces that does not return until the other threads are done with the registry.

use super::history::Call;
use super::{RunHandle, SharedRegistry, ThreadKey};
use shuttle::sync::mpsc::{Receiver, channel};
use std::cell::RefCell;
use std::sync::Once;
use tracing::span;

thread_local! {
    /// All threads of a run are one thread of the system.
    static OTHERS_ARE_DONE: RefCell<Option<Receiver<()>>> = const { RefCell::new(None) };
}

struct Stuck;

impl tracing::Subscriber for Stuck {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "stepwell"
    }

    fn event(&self, _: &tracing::Event<'_>) {
        let others = OTHERS_ARE_DONE.with(RefCell::take);
        if let Some(others) = others {
            others.recv().unwrap();
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// The calls that are traced when their handle is stale.
pub(super) const TRACED: [fn(RunHandle) -> Call; 4] =
    [Call::Check, Call::Replace, Call::Complete, Call::Fails];

/// One thread's stale handle is traced, and the subscriber waits for the other thread, which uses the registry.
pub(super) fn stuck_subscriber(registry: &SharedRegistry, traced: fn(RunHandle) -> Call) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| tracing::subscriber::set_global_default(Stuck).unwrap());
    let key = ThreadKey::from("thread");
    let stale = registry.register(key.clone()).handle;
    drop(registry.register(key.clone()));
    let (done, others_are_done) = channel();
    OTHERS_ARE_DONE.with(|slot| slot.replace(Some(others_are_done)));
    let refused = {
        let (registry, call) = (registry.clone(), traced(stale));
        shuttle::thread::spawn(move || call.make(&registry))
    };
    drop(registry.current(&key));
    drop(registry.register(key));
    done.send(()).unwrap();
    refused.join().unwrap();
    assert!(
        OTHERS_ARE_DONE.with(|slot| slot.borrow().is_none()),
        "nothing was traced"
    );
}
