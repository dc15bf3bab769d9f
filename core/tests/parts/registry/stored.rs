//! A registry is data: stored, read, and refused if it cannot be one.

use super::{drain, thread};
use serde_json::{Value, json};
use stepwell_core::registry::{MAX_EVENTS, RegistryEvent, RunHandle, RunRegistry, RunVersion};
use stepwell_core::run::{Outcome, TurnLimit};

fn read(stored: &Value) -> Result<RunRegistry, String> {
    serde_json::from_str(&stored.to_string()).map_err(|error| error.to_string())
}

fn busy() -> (RunRegistry, RunHandle) {
    let mut registry = RunRegistry::new();
    let done = registry.register(thread("done")).handle;
    registry
        .complete(
            &done,
            Outcome::LimitReached {
                limit: TurnLimit::MaxToolRounds { max: 1 },
            },
        )
        .unwrap();
    registry.look_at(Some(thread("a")));
    let run = registry.register(thread("a")).handle;
    let run = registry.replace(&run).unwrap();
    registry.check(&done).unwrap_err();
    registry.disposal_failed(&done, "no");
    (registry, run)
}

#[test]
fn what_is_stored_is_read_again_with_the_events_that_wait() {
    let (mut registry, run) = busy();
    let stored = serde_json::to_value(&registry).unwrap();
    let mut other = read(&stored).unwrap();
    assert_eq!(other, registry);
    assert_eq!(serde_json::to_value(&other).unwrap(), stored);
    assert_eq!(other.check(&run), Ok(()));
    assert!(other.unread(&thread("done")));
    assert_eq!(drain(&mut other), drain(&mut registry));
}

#[test]
fn generations_go_on_after_remove_and_a_round_trip() {
    let mut registry = RunRegistry::new();
    let mut last = 0;
    for _ in 0..5 {
        let run = registry.register(thread("a")).handle;
        assert!(run.generation() > last);
        last = run.generation();
        registry.remove(&thread("a"));
        registry = read(&serde_json::to_value(&registry).unwrap()).unwrap();
    }
}

#[test]
fn a_handle_is_read_again_as_it_was_stored() {
    let (mut registry, run) = busy();
    let stored = serde_json::to_value(&run).unwrap();
    assert_eq!(
        stored,
        json!({"key": {"server": "", "room": "", "thread": "a"}, "generation": 2, "hop": 1})
    );
    let read: RunHandle = serde_json::from_value(stored).unwrap();
    assert_eq!(registry.check(&read), Ok(()));
    // Server and room may be left out; a handle that was never given out is stale.
    let forged = json!({"key": {"thread": "a"}, "generation": 2, "hop": 2});
    let forged: RunHandle = serde_json::from_value(forged).unwrap();
    assert!(registry.check(&forged).is_err());
}

#[test]
fn what_no_registry_can_have_written_is_refused() {
    let (registry, _) = busy();
    let good = serde_json::to_value(&registry).unwrap();
    let run = |thread: &str, generation: u64| json!({"key": {"thread": thread}, "generation": generation, "hop": 0});
    let refused: [(&str, Value, &str); 7] = [
        (
            "/runs",
            json!([run("a", 0)]),
            "a#0.0 is not of a generation from 1 to 2",
        ),
        (
            "/runs",
            json!([run("a", 3)]),
            "a#3.0 is not of a generation from 1 to 2",
        ),
        (
            "/runs",
            json!([run("a", 1), run("a", 2)]),
            "two runs in the thread a",
        ),
        (
            "/runs",
            json!([run("a", 2), run("b", 2)]),
            "two runs of generation 2",
        ),
        (
            "/unread",
            json!([{"thread": "a"}]),
            "a is looked at and unread",
        ),
        (
            "/last_generation",
            json!((1u64 << 53) + 1),
            "9007199254740993",
        ),
        ("/last_generation", json!(-1), "invalid value"),
    ];
    for (place, value, message) in refused {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = value;
        let error = read(&bad).unwrap_err();
        assert!(error.contains(message), "{place}: {error}");
    }
    for last in [2, 1 << 53] {
        let mut still_good = good.clone();
        still_good["last_generation"] = json!(last);
        let mut registry = read(&still_good).unwrap();
        assert_eq!(registry.register(thread("n")).handle.generation(), last + 1);
    }
}

#[test]
fn a_run_that_has_used_all_hops_still_gets_a_new_handle() {
    let mut registry = read(&json!({
        "last_generation": 7,
        "runs": [{"key": {"thread": "a"}, "generation": 7, "hop": u32::MAX}],
        "unread": [],
        "looked_at": null,
    }))
    .unwrap();
    let old = registry.current(&thread("a")).unwrap();
    let new = registry.replace(&old).unwrap();
    let version = RunVersion {
        generation: 8,
        hop: u32::MAX,
    };
    assert_eq!(new.version(), version);
    assert!(registry.check(&old).is_err());
    assert!(registry.replace(&old).is_err());
    assert_eq!(registry.current(&thread("a")), Some(new));
}

#[test]
fn a_stored_queue_is_no_longer_than_a_live_one() {
    let mut registry = RunRegistry::new();
    let _ = registry.register(thread("a"));
    let mut stored = serde_json::to_value(&registry).unwrap();
    let events = stored
        .pointer_mut("/events/events")
        .unwrap()
        .as_array_mut()
        .unwrap();
    *events = vec![events[0].clone(); MAX_EVENTS + 3];
    let mut registry = read(&stored).unwrap();
    let events = drain(&mut registry);
    assert_eq!(events.len(), MAX_EVENTS + 1);
    assert_eq!(events[0], RegistryEvent::Missed { count: 3 });
}
