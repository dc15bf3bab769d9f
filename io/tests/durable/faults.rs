//! Stores that fail.

use crate::faulty::{Fault, away};
use crate::support::IntoChat as _;
use crate::*;
use stepwell_io::store::StoreError;

fn full() -> StoreError {
    StoreError::Full {
        message: "no space left".to_owned(),
    }
}

fn read_only() -> StoreError {
    StoreError::ReadOnly {
        message: "read only".to_owned(),
    }
}

#[tokio::test]
async fn a_store_that_recovers_has_everything_once() {
    for error in [away(), full()] {
        let server = serve([asks(&["a"]), says("Done.")]).await;
        let store = faulty();
        // The turn begins at the third try, and its first write is done at the fourth.
        let fails = |times| std::iter::repeat_n(Fault::Before(error.clone()), times);
        store.next(fails(2).chain([Fault::None]).chain(fails(3)));
        let agent = agent(&server, &store).tool(work(), done).chat();
        let (events, finished) = watch(agent.send("Do it")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        let warned = warnings(&events);
        assert_eq!(warned.len(), 5, "{warned:?}");
        let says_why = |warning: &&str| warning.contains(&error.to_string());
        assert!(warned.iter().all(says_why), "{warned:?}");
        let turns = turns(&store).await;
        assert_eq!(
            kinds(&turns[0]),
            ["text", "tool_use", "tool_result", "text"]
        );
        assert_eq!(turns[0].outcome, Some(Outcome::Success));
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_not_done_twice() {
    let server = serve([asks(&["a"]), says("Done.")]).await;
    let store = faulty();
    // Each second write is done, but reported as failed.
    let lost = || [Fault::After(away()), Fault::None];
    store.next((0..10).flat_map(|_| lost()));
    let agent = agent(&server, &store).tool(work(), done).chat();
    let (_, finished) = watch(agent.send("Do it")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let turns = turns(&store).await;
    assert_eq!(
        kinds(&turns[0]),
        ["text", "tool_use", "tool_result", "text"]
    );
    assert!(is_closed(&turns[0]));
}

#[tokio::test]
async fn a_turn_that_cannot_begin_sends_nothing() {
    for (error, tries) in [(away(), 6), (full(), 6), (read_only(), 1)] {
        let server = serve([says("Hello.")]).await;
        let store = faulty();
        store.always(Fault::Before(error.clone()));
        let agent = agent(&server, &store).chat();
        let (events, finished) = watch(agent.send("Hello?")).await;
        assert_eq!(not_stored(&finished.outcome), error.to_string());
        assert_eq!(warnings(&events).len(), tries - 1);
        assert!(matches!(events.last(), Some(RunEvent::Completed(_))));
        assert!(server.requests().is_empty());
        assert!(agent.transcript().messages().is_empty(), "it has not begun");
        assert!(turns(&store).await.is_empty());
        // The next one does not remember it.
        store.always(Fault::None);
        let (_, finished) = watch(agent.send("Hello?")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(contents(&server.requests()[0], "user"), ["Hello?"]);
    }
}

#[tokio::test]
async fn a_store_that_stays_away_fails_a_recoverable_turn() {
    for error in [away(), full(), read_only()] {
        let server = serve([asks(&["a"]), says("Done.")]).await;
        let store = faulty();
        let down = store.clone();
        let fault = Fault::Before(error.clone());
        let agent = |store: &Faulty| agent(&server, store);
        let first = agent(&store).tool(work(), move |call| {
            // The call is stored, its result cannot be.
            down.always(fault.clone());
            done(call)
        });
        let (events, finished) = watch(first.chat().send("Do it")).await;
        assert_eq!(not_stored(&finished.outcome), error.to_string());
        let last = warnings(&events).pop().unwrap_or_default();
        assert!(
            last.contains("the end of the turn could not be stored"),
            "{last}"
        );
        assert_eq!(server.requests().len(), 1, "nothing was built on it");
        let left = turns(&store).await;
        assert_eq!(kinds(&left[0]), ["text", "tool_use"]);
        assert!(!is_closed(&left[0]));
        // The disk works again, and the program is started again.
        store.always(Fault::None);
        let second = agent(&store).tool(work(), |_| async { Err::<String, _>("run twice") });
        let recovered = second.chat().recover().await.unwrap();
        let [recovered] = <[_; 1]>::try_from(recovered).unwrap();
        let (_, finished) = watch(recovered.turn.unwrap().into_events()).await;
        assert_eq!(finished.outcome, Outcome::Success);
        let told = &results(&server.requests()[1])[0];
        assert!(told.contains("not known"), "{told}");
        let turns = turns(&store).await;
        assert_eq!(kinds(&turns[0]), ["text", "tool_use", "tool_error", "text"]);
        assert!(is_closed(&turns[0]));
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_turn_is_cancelled_while_it_waits_for_its_store() {
    let server = serve([says("Hello.")]).await;
    let store = faulty();
    store.always(Fault::Before(away()));
    let agent = agent(&server, &store).configure(|config| {
        config.retry.first_delay = Duration::from_secs(3_600);
        config.retry.max_delay = Duration::from_secs(3_600);
    });
    let mut turn = agent.chat().send("Hello?");
    let first = turn.next().await.unwrap();
    assert!(matches!(first, RunEvent::Warning { .. }), "{first:?}");
    turn.cancel();
    let (_, finished) = watch(turn).await;
    assert_eq!(not_stored(&finished.outcome), away().to_string());
    assert!(server.requests().is_empty());
}

/// An agent that waits, with a tool whose result the store refuses until it is repaired.
fn waits(
    server: &MockLlm,
    store: &Faulty,
    error: &StoreError,
    begun: &Arc<Semaphore>,
) -> crate::support::Chat {
    let (down, begun) = (store.clone(), Arc::clone(begun));
    let fault = Fault::Before(error.clone());
    let agent = agent(server, store).wait_for_store();
    let agent = agent.tool(work(), move |call| {
        down.always(fault.clone());
        begun.add_permits(1);
        done(call)
    });
    agent.chat()
}

#[tokio::test]
async fn a_turn_waits_for_its_store_however_long_it_takes() {
    for error in [away(), full(), read_only()] {
        let server = serve([asks(&["a"]), says("Done.")]).await;
        let (store, calls) = (faulty(), Arc::new(Semaphore::new(0)));
        let turn = waits(&server, &store, &error, &calls).send("Do it");
        let mut trouble = turn.handle().store_trouble();
        let told = trouble.wait_for(Option::is_some).await.unwrap().clone();
        assert_eq!(told, Some(error.clone()));
        // More often than a turn tries that does not wait.
        let (tries, tried) = tokio::sync::mpsc::unbounded_channel();
        store.watch(move |_| {
            let _ = tries.send(());
        });
        let mut tried = tried;
        for _ in 0..30 {
            tried.recv().await.unwrap();
        }
        assert_eq!(server.requests().len(), 1, "nothing is built on it");
        store.always(Fault::None);
        let (events, finished) = watch(turn).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(*trouble.borrow_and_update(), None);
        assert_eq!(warnings(&events).len(), 1, "it is said once");
        let turns = turns(&store).await;
        assert_eq!(
            kinds(&turns[0]),
            ["text", "tool_use", "tool_result", "text"]
        );
        assert!(is_closed(&turns[0]));
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_turn_that_is_cancelled_while_it_waits_loses_nothing() {
    let server = serve([asks(&["a"])]).await;
    let (store, calls) = (faulty(), Arc::new(Semaphore::new(0)));
    let turn = waits(&server, &store, &full(), &calls).send("Do it");
    let mut trouble = turn.handle().store_trouble();
    trouble.wait_for(Option::is_some).await.unwrap();
    turn.cancel();
    store.always(Fault::None);
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    let turns = turns(&store).await;
    assert_eq!(kinds(&turns[0]), ["text", "tool_use", "tool_result"]);
    assert_eq!(turns[0].outcome, Some(Outcome::Cancelled));
}

#[tokio::test]
async fn a_released_waiting_turn_continues_elsewhere() {
    for is_over in [false, true] {
        let server = serve([asks(&["a"]), says("Done.")]).await;
        let (store, calls) = (faulty(), Arc::new(Semaphore::new(0)));
        let turn = waits(&server, &store, &away(), &calls).send("Do it");
        let mut trouble = turn.handle().store_trouble();
        trouble.wait_for(Option::is_some).await.unwrap();
        if is_over {
            turn.cancel();
            // The turn has ended, and its end cannot be stored.
            turn.handle().transcript().await.ok();
        }
        let kept = turn.suspend().await;
        assert!(kept.is_ok() || is_over, "{kept:?}");
        store.always(Fault::None);
        let left = turns(&store).await;
        assert_eq!(kinds(&left[0]), ["text", "tool_use"]);
        assert!(!is_closed(&left[0]));
        let next = agent(&server, &store).tool(work(), done).chat();
        let recovered = next.recover().await.unwrap().pop().unwrap();
        let (_, finished) = watch(recovered.turn.unwrap().into_events()).await;
        assert_eq!(finished.outcome, Outcome::Success);
    }
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use super::*;
    use stepwell_io::store::{SqliteOptions, SqliteStore};
    use tempfile::TempDir;

    #[tokio::test]
    async fn a_full_disk_fails_the_turn_which_continues_with_room() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("turns.db");
        let mut options = SqliteOptions::default();
        options.max_bytes = Some(300_000);
        let store = SqliteStore::open_with(&file, options).await.unwrap();
        let server = serve([asks(&["a"]), says("Done.")]).await;
        let large = |_| async { Ok::<_, String>("x".repeat(400_000)) };
        let first = agent(&server, &store).tool(work().idempotent(), large);
        let first = first.chat();
        let (events, finished) = watch(first.send("Hello?")).await;
        assert!(
            not_stored(&finished.outcome).contains("full"),
            "{:?}",
            finished.outcome
        );
        assert!(!warnings(&events).is_empty());
        let left = turns(&store).await;
        assert_eq!(
            kinds(&left[0]),
            ["text", "tool_use"],
            "nothing is half written"
        );
        assert!(!is_closed(&left[0]));
        assert_eq!(server.requests().len(), 1);
        store.close().await;
        drop((first, store));

        let store = SqliteStore::open(&file).await.unwrap();
        let second = agent(&server, &store).tool(work().idempotent(), large);
        let recovered = second.chat().recover().await.unwrap().pop().unwrap();
        let (_, finished) = watch(recovered.turn.unwrap().into_events()).await;
        assert_eq!(finished.outcome, Outcome::Success);
        let turns = turns(&store).await;
        assert_eq!(turns.len(), 1);
        assert_eq!(
            kinds(&turns[0]),
            ["text", "tool_use", "tool_result", "text"]
        );
    }

    #[tokio::test]
    async fn a_file_that_may_only_be_read_fails_the_turn_at_once() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("turns.db");
        let server = serve([says("One."), says("Two.")]).await;
        let store = SqliteStore::open(&file).await.unwrap();
        watch(agent(&server, &store).chat().send("First")).await;
        store.close().await;
        let mut options = SqliteOptions::default();
        options.read_only = true;
        let store = SqliteStore::open_with(&file, options).await.unwrap();
        let reader = agent(&server, &store).chat();
        let (events, finished) = watch(reader.send("Second")).await;
        assert!(
            not_stored(&finished.outcome).contains("not written"),
            "{:?}",
            finished.outcome
        );
        assert_eq!(warnings(&events), [""; 0], "there is nothing to wait for");
        assert_eq!(server.requests().len(), 1);
        assert_eq!(turns(&store).await.len(), 1, "and is read all the same");
    }

    #[tokio::test]
    async fn a_file_that_another_program_locks_is_waited_for() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("turns.db");
        let mut options = SqliteOptions::default();
        options.busy_timeout = Duration::ZERO;
        let store = SqliteStore::open_with(&file, options).await.unwrap();
        let other = rusqlite::Connection::open(&file).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let server = serve([says("Hello.")]).await;
        let mut turn = agent(&server, &store).chat().send("Hello?");
        let warned = turn.next().await.unwrap();
        let RunEvent::Warning { message } = warned else {
            panic!("{warned:?}")
        };
        assert!(message.contains("locked"), "{message}");
        other.execute_batch("ROLLBACK").unwrap();
        let (_, finished) = watch(turn).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(turns(&store).await.len(), 1);
    }
}
