//! One owner a thread: register, replace, complete, remove, and what comes with a stale handle.

use super::{drain, thread};
use stepwell_core::registry::{RegistryEvent, RunHandle, RunRegistry, RunVersion, ThreadKey};
use stepwell_core::run::Outcome;

fn version(generation: u64, hop: u32) -> RunVersion {
    RunVersion { generation, hop }
}

/// Every call with a handle that is stale: nothing changes but that it is said.
fn assert_stale(registry: &mut RunRegistry, handle: &RunHandle, current: Option<RunVersion>) {
    drain(registry);
    let before = registry.clone();
    let errors = [
        registry.check(handle).unwrap_err(),
        registry.replace(handle).unwrap_err(),
        registry.complete(handle, Outcome::Success).unwrap_err(),
    ];
    for error in &errors {
        assert_eq!((&error.given, error.current), (handle, current));
    }
    assert_eq!(drain(registry), errors.map(RegistryEvent::StaleInput));
    assert_eq!(*registry, before);
}

#[test]
fn a_run_owns_its_thread_until_it_is_over() {
    let mut registry = RunRegistry::new();
    assert_eq!(registry.current(&thread("a")), None);
    let registered = registry.register(thread("a"));
    assert_eq!(registered.replaced, None);
    let run = registered.handle;
    assert_eq!(run.version(), version(1, 0));
    assert_eq!((run.generation(), run.hop()), (1, 0));
    assert_eq!(registry.current(&thread("a")), Some(run.clone()));
    assert_eq!(registry.check(&run), Ok(()));
    assert_eq!(registry.complete(&run, Outcome::Truncated), Ok(()));
    assert_eq!(registry.current(&thread("a")), None);
    assert_stale(&mut registry, &run, None);
}

#[test]
fn user_sends_again_on_the_same_thread() {
    let mut registry = RunRegistry::new();
    let old = registry.register(thread("a")).handle;
    let old = registry.replace(&old).unwrap();
    drain(&mut registry);
    let registered = registry.register(thread("a"));
    let new = registered.handle;
    assert_eq!(registered.replaced, Some(old.clone()));
    assert_eq!(new.version(), version(2, 0));
    assert_eq!(
        drain(&mut registry),
        [
            RegistryEvent::RunCompleted {
                handle: old.clone(),
                outcome: Outcome::Cancelled
            },
            RegistryEvent::RunStarted {
                handle: new.clone()
            },
        ]
    );
    assert_stale(&mut registry, &old, Some(version(2, 0)));
    assert_eq!(registry.check(&new), Ok(()));
    // Not even the old run's end, which the host tells when it has cancelled it, makes the thread unread.
    assert!(!registry.unread(&thread("a")));
}

#[test]
fn a_continuation_is_the_same_run_under_a_new_handle() {
    let mut registry = RunRegistry::new();
    let first = registry.register(thread("a")).handle;
    drain(&mut registry);
    let second = registry.replace(&first).unwrap();
    assert_eq!(second.version(), version(1, 1));
    assert_eq!(registry.current(&thread("a")), Some(second.clone()));
    assert_eq!(
        drain(&mut registry),
        [RegistryEvent::RunContinued {
            handle: second.clone()
        }]
    );
    assert_stale(&mut registry, &first, Some(version(1, 1)));
    let third = registry.replace(&second).unwrap();
    assert_eq!(third.version(), version(1, 2));
    assert!(first < second && second < third);
}

#[test]
fn disposal_fails_and_the_swap_stands() {
    let mut registry = RunRegistry::new();
    let old = registry.register(thread("a")).handle;
    let new = registry.replace(&old).unwrap();
    drain(&mut registry);
    let before = registry.clone();
    registry.disposal_failed(&old, "the socket would not close");
    assert_eq!(
        drain(&mut registry),
        [RegistryEvent::DisposalFailed {
            handle: old,
            message: "the socket would not close".into()
        }]
    );
    assert_eq!(registry, before);
    assert_eq!(registry.check(&new), Ok(()));
}

#[test]
fn a_removed_thread_gives_its_run_back_and_starts_after_it() {
    let mut registry = RunRegistry::new();
    let run = registry.register(thread("a")).handle;
    drain(&mut registry);
    assert_eq!(registry.remove(&thread("a")), Some(run.clone()));
    assert_eq!(
        drain(&mut registry),
        [RegistryEvent::RunCompleted {
            handle: run.clone(),
            outcome: Outcome::Cancelled
        }]
    );
    assert_eq!(registry.remove(&thread("a")), None);
    assert_eq!(drain(&mut registry), []);
    assert_stale(&mut registry, &run, None);
    let next = registry.register(thread("a")).handle;
    assert!(next > run, "{next} is not after {run}");
    assert_stale(&mut registry, &run, Some(next.version()));
}

#[test]
fn host_goes_away_and_late_inputs_change_nothing() {
    let mut registry = RunRegistry::new();
    let runs = ["a", "b", "c"].map(|name| registry.register(thread(name)).handle);
    let running: Vec<_> = registry.running().collect();
    assert_eq!(running, runs);
    for run in &running {
        assert_eq!(registry.remove(run.key()).as_ref(), Some(run));
    }
    assert_eq!(registry.running().count(), 0);
    for run in &runs {
        assert_stale(&mut registry, run, None);
    }
}

#[test]
fn nothing_is_kept_of_threads_that_are_over() {
    let mut registry = RunRegistry::new();
    for number in 0..10_000 {
        let key = thread(&number.to_string());
        registry.look_at(Some(key.clone()));
        let run = registry.register(key.clone()).handle;
        if number % 2 == 0 {
            registry.complete(&run, Outcome::Success).unwrap();
        } else {
            registry.remove(&key);
        }
        drain(&mut registry);
    }
    registry.look_at(None);
    let stored = serde_json::to_string(&registry).unwrap();
    assert!(stored.len() < 200, "{stored}");
}

#[test]
fn server_room_and_thread_all_make_the_key() {
    let keys = [
        ThreadKey::from("t"),
        ThreadKey::new("s", "", "t"),
        ThreadKey::new("", "s", "t"),
        ThreadKey::new("s", "r", "t"),
        ThreadKey::new("s", "r", "u"),
    ];
    let mut registry = RunRegistry::new();
    for key in &keys {
        assert_eq!(registry.register(key.clone()).replaced, None);
    }
    assert_eq!(registry.running().count(), keys.len());
    let shown: Vec<_> = keys.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["t", "s//t", "/s/t", "s/r/t", "s/r/u"]);
}

#[test]
fn a_stale_handle_is_named_with_what_took_its_place() {
    let mut registry = RunRegistry::new();
    let old = registry.register(ThreadKey::new("s", "r", "t")).handle;
    let new = registry.register(old.key().clone()).handle;
    assert_eq!(
        registry.check(&old).unwrap_err().to_string(),
        "the run s/r/t#1.0 is stale: 2.0 owns its thread; drop what came for it"
    );
    registry.complete(&new, Outcome::Success).unwrap();
    assert_eq!(
        registry.check(&old).unwrap_err().to_string(),
        "the run s/r/t#1.0 is stale: nothing runs in its thread; drop what came for it"
    );
}

#[test]
fn a_good_handle_is_checked_without_an_allocation() {
    let mut registry = RunRegistry::new();
    let runs = ["a", "b", "c", "d"].map(|name| registry.register(thread(name)).handle);
    let allocations = allocation_counter::measure(|| {
        for run in &runs {
            assert!(registry.check(run).is_ok());
        }
    });
    assert_eq!(allocations.count_total, 0);
}

#[test]
fn a_thread_id_alone_makes_the_key_of_that_thread() {
    let id = stepwell_core::ThreadId::from("thread-1");
    let key = ThreadKey::from(id.clone());
    assert_eq!(key.thread, id);
    assert_eq!(key, ThreadKey::from("thread-1"));
    assert_ne!(key, ThreadKey::default());
}
