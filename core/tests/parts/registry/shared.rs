//! Threads that race for one registry.

use super::thread;
use std::cell::Cell;
use std::sync::Barrier;
use stepwell_core::registry::{RegistryEvent, RunRegistry, SharedRegistry, Stale};
use stepwell_core::run::Outcome;
use tracing::span;

const RACERS: usize = 8;
const ROUNDS: usize = 200;

/// Lets all racers do the same at once, and gives what came of it.
fn race<T: Send>(act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(RACERS);
    std::thread::scope(|scope| {
        let racers: Vec<_> = (0..RACERS)
            .map(|racer| {
                let (act, barrier) = (&act, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    act(racer)
                })
            })
            .collect();
        racers
            .into_iter()
            .map(|racer| racer.join().unwrap())
            .collect()
    })
}

fn events(registry: &SharedRegistry) -> Vec<RegistryEvent> {
    std::iter::from_fn(|| registry.poll_event()).collect()
}

#[test]
fn i11_of_racing_replaces_exactly_one_wins() {
    let registry = SharedRegistry::default();
    let mut owner = registry.register(thread("a")).handle;
    events(&registry);
    for _ in 0..ROUNDS {
        let results = race(|_| registry.replace(&owner));
        let mut winners = results.iter().filter_map(|result| result.as_ref().ok());
        let winner = winners.next().expect("one wins");
        assert_eq!(winners.next(), None, "two won");
        for lost in results.iter().filter_map(|result| result.as_ref().err()) {
            assert_eq!(
                (&lost.given, lost.current),
                (&owner, Some(winner.version()))
            );
        }
        let said = events(&registry);
        let continued = RegistryEvent::RunContinued {
            handle: winner.clone(),
        };
        assert_eq!(said[0], continued);
        assert_eq!(said.len(), RACERS);
        assert_eq!(registry.current(&thread("a")).as_ref(), Some(winner));
        owner = winner.clone();
    }
}

#[test]
fn i11_a_run_is_completed_or_continued_or_replaced_by_one() {
    let registry = SharedRegistry::default();
    for _ in 0..ROUNDS {
        let owner = registry.register(thread("a")).handle;
        let won = race(|racer| match racer % 4 {
            0 => registry.replace(&owner).is_ok(),
            1 => registry.complete(&owner, Outcome::Success).is_ok(),
            2 => registry.register(thread("a")).replaced.as_ref() == Some(&owner),
            _ => registry.remove(&thread("a")).as_ref() == Some(&owner),
        });
        assert_eq!(won.into_iter().filter(|won| *won).count(), 1);
        assert!(registry.check(&owner).is_err());
        registry.remove(&thread("a"));
        // Each run began once and ended once, in this order.
        let mut live = None;
        for event in events(&registry) {
            match event {
                RegistryEvent::RunStarted { handle } => {
                    assert_eq!(live.replace(handle.generation()), None);
                }
                RegistryEvent::RunContinued { handle } => {
                    assert_eq!(live, Some(handle.generation()));
                }
                RegistryEvent::RunCompleted { handle, .. } => {
                    assert_eq!(live.take(), Some(handle.generation()));
                }
                _ => {}
            }
        }
        assert_eq!(live, None);
    }
}

#[test]
fn two_threads_with_tools_at_once() {
    let registry = SharedRegistry::default();
    let results = race(|racer| -> Result<(), Stale> {
        let key = thread(&racer.to_string());
        for _ in 0..ROUNDS {
            let run = registry.register(key.clone()).handle;
            registry.check(&run)?;
            let run = registry.replace(&run)?;
            registry.check(&run)?;
            registry.complete(&run, Outcome::Success)?;
        }
        Ok(())
    });
    assert_eq!(results, vec![Ok(()); RACERS]);
    assert_eq!(registry.unread_threads().len(), RACERS);
    assert_eq!(registry.running(), []);
}

#[test]
fn clones_share_and_snapshots_do_not() {
    fn is_shareable<T: Send + Sync + 'static>(_: &T) {}
    let mut registry = RunRegistry::new();
    let run = registry.register(thread("a")).handle;
    let shared = SharedRegistry::from(registry);
    is_shareable(&shared);
    let (clone, snapshot) = (shared.clone(), shared.snapshot());
    clone.look_at(Some(thread("b")));
    clone.complete(&run, Outcome::Success).unwrap();
    clone.disposal_failed(&run, "no");
    assert!(shared.check(&run).is_err());
    assert!(shared.unread(&thread("a")) && !shared.unread(&thread("b")));
    assert_eq!(shared.unread_threads(), [thread("a")]);
    assert_eq!(shared.looked_at(), Some(thread("b")));
    assert_eq!(shared.current(&thread("a")), None);
    assert_eq!(shared.remove(&thread("a")), None);
    assert!(!clone.unread(&thread("a")));
    let names: Vec<_> = events(&shared)
        .iter()
        .map(|event| {
            format!("{event:?}")
                .split([' ', '('])
                .next()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        names,
        [
            "RunStarted",
            "RunCompleted",
            "Unread",
            "DisposalFailed",
            "StaleInput",
            "Read"
        ]
    );
    assert_eq!(snapshot.current(&thread("a")), Some(run.clone()));
    assert_eq!(SharedRegistry::from(snapshot).running(), [run]);
}

thread_local! {
    static TRACED: Cell<usize> = const { Cell::new(0) };
}

/// Counts what each thread traces. It is there for all: where one thread alone has a subscriber, what another one traces
/// first is off for good.
struct Counting;

impl tracing::Subscriber for Counting {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "stepwell"
    }

    fn event(&self, _: &tracing::Event<'_>) {
        TRACED.set(TRACED.get() + 1);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// That it is not done under the lock, `tests/model/tests/interleavings` shows.
#[test]
fn what_is_refused_is_traced() {
    tracing::subscriber::set_global_default(Counting).expect("the only one");
    tracing::callsite::rebuild_interest_cache();
    let registry = SharedRegistry::default();
    let old = registry.register("thread".into()).handle;
    let new = registry.replace(&old).unwrap();
    assert!(registry.check(&new).is_ok());
    assert_eq!(TRACED.get(), 0);
    registry.check(&old).unwrap_err();
    registry.replace(&old).unwrap_err();
    registry.complete(&old, Outcome::Success).unwrap_err();
    registry.disposal_failed(&old, "no");
    assert_eq!(TRACED.get(), 4);
    let mut own = registry.snapshot();
    own.check(&old).unwrap_err();
    own.replace(&old).unwrap_err();
    own.complete(&old, Outcome::Success).unwrap_err();
    own.disposal_failed(&old, "no");
    assert_eq!(TRACED.get(), 8);
}
