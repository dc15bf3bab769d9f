//! The queue of events holds what it can, and says what it could not.

use super::{drain, thread};
use stepwell_core::registry::{MAX_EVENTS, RegistryEvent, RunRegistry};

#[test]
fn a_host_that_takes_no_events_is_told_how_many_it_missed() {
    let mut registry = RunRegistry::new();
    let old = registry.register(thread("a")).handle;
    let new = registry.register(thread("a")).handle;
    drain(&mut registry);
    for _ in 0..MAX_EVENTS {
        let _ = registry.check(&old);
    }
    registry.disposal_failed(&old, "the first too many");
    registry.disposal_failed(&old, "and another");
    let events = drain(&mut registry);
    assert_eq!(events[0], RegistryEvent::Missed { count: 2 });
    assert_eq!(events.len(), 1 + MAX_EVENTS);
    assert!(
        matches!(&events[MAX_EVENTS], RegistryEvent::DisposalFailed { message, .. } if message == "and another")
    );
    // The rest stands as if they had been taken.
    assert_eq!(registry.check(&new), Ok(()));
    assert_eq!(drain(&mut registry), []);
}

#[test]
fn a_full_queue_has_missed_nothing() {
    let mut registry = RunRegistry::new();
    let handle = registry.register(thread("a")).handle;
    for _ in 1..MAX_EVENTS {
        registry.disposal_failed(&handle, "");
    }
    let events = drain(&mut registry);
    assert_eq!(events.len(), MAX_EVENTS);
    assert_eq!(events[0], RegistryEvent::RunStarted { handle });
}
