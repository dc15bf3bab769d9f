//! What the user looks at, and what they have not read.

use super::{drain, thread};
use stepwell_core::registry::{RegistryEvent, RunRegistry};
use stepwell_core::run::Outcome;

#[test]
fn user_looks_at_another_thread_and_comes_back() {
    let mut registry = RunRegistry::new();
    let (a, b) = (thread("a"), thread("b"));
    registry.look_at(Some(a.clone()));
    let run = registry.register(a.clone()).handle;
    registry.look_at(Some(b.clone()));
    // It goes on in the background, and nothing is unread before the end.
    let run = registry.replace(&run).unwrap();
    assert_eq!(registry.check(&run), Ok(()));
    assert!(!registry.unread(&a));
    drain(&mut registry);

    registry.complete(&run, Outcome::Success).unwrap();
    assert!(registry.unread(&a) && !registry.unread(&b));
    assert_eq!(registry.looked_at(), Some(&b));
    assert_eq!(
        drain(&mut registry),
        [
            RegistryEvent::RunCompleted {
                handle: run,
                outcome: Outcome::Success
            },
            RegistryEvent::Unread { key: a.clone() },
        ]
    );

    registry.look_at(Some(a.clone()));
    assert!(!registry.unread(&a));
    assert_eq!(registry.looked_at(), Some(&a));
    assert_eq!(drain(&mut registry), [RegistryEvent::Read { key: a }]);
}

#[test]
fn coming_back_before_the_end_leaves_nothing_unread() {
    let mut registry = RunRegistry::new();
    let run = registry.register(thread("a")).handle;
    registry.look_at(Some(thread("b")));
    registry.look_at(Some(thread("a")));
    registry.complete(&run, Outcome::Success).unwrap();
    assert!(!registry.unread(&thread("a")));
    assert_eq!(registry.unread_threads().count(), 0);
}

#[test]
fn who_looks_at_nothing_has_all_ends_unread_each_said_once() {
    let mut registry = RunRegistry::new();
    for name in ["b", "a", "b"] {
        let run = registry.register(thread(name)).handle;
        registry.complete(&run, Outcome::Cancelled).unwrap();
    }
    let unread: Vec<_> = registry.unread_threads().cloned().collect();
    assert_eq!(unread, [thread("a"), thread("b")]);
    let said = drain(&mut registry)
        .into_iter()
        .filter(|event| matches!(event, RegistryEvent::Unread { .. }))
        .count();
    assert_eq!(said, 2);
}

#[test]
fn a_new_run_leaves_the_thread_unread_until_someone_looks() {
    let mut registry = RunRegistry::new();
    let run = registry.register(thread("a")).handle;
    registry.complete(&run, Outcome::Success).unwrap();
    let _ = registry.register(thread("a"));
    assert!(registry.unread(&thread("a")));
    registry.look_at(None);
    assert!(registry.unread(&thread("a")));
}

#[test]
fn only_looking_changes_what_is_looked_at() {
    let mut registry = RunRegistry::new();
    registry.look_at(Some(thread("a")));
    let run = registry.register(thread("b")).handle;
    registry.complete(&run, Outcome::Success).unwrap();
    registry.remove(&thread("b"));
    registry.remove(&thread("a"));
    assert_eq!(registry.looked_at(), Some(&thread("a")));
    registry.look_at(None);
    assert_eq!(registry.looked_at(), None);
}

#[test]
fn a_removed_thread_is_not_unread() {
    let mut registry = RunRegistry::new();
    let run = registry.register(thread("a")).handle;
    registry.complete(&run, Outcome::Success).unwrap();
    drain(&mut registry);
    assert_eq!(registry.remove(&thread("a")), None);
    assert!(!registry.unread(&thread("a")));
    assert_eq!(
        drain(&mut registry),
        [RegistryEvent::Read { key: thread("a") }]
    );
}
