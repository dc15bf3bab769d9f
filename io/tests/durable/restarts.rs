//! Hosts that die and restart. A kill is a runtime that is dropped, with all that runs on it.

use crate::support::IntoChat as _;
use crate::*;
use std::sync::atomic::{AtomicU32, Ordering};
use stepwell_io::ErrorKind;
use stepwell_io::host::NewRun;
use stepwell_io::store::{Lease, MemoryStore, NewTurn, StoreError};
use stepwell_io::tool::ToolAnswer;

/// Begins a turn on a runtime of its own, and drops that when `ready`.
pub(crate) fn killed<F: Future<Output = ()> + Send + 'static>(
    life: impl FnOnce() -> F + Send + 'static,
) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(life());
        // The drop ends its tasks, which renew the lease of their owner.
        drop(runtime);
    })
    .join()
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_tool_runs_again_only_if_idempotent() {
    for (is_idempotent, runs) in [(false, 1), (true, 2)] {
        let server = Arc::new(serve([asks(&["a"]), says("Done.")]).await);
        let store = memory();
        let count = Arc::new(AtomicU32::new(0));
        let tool = if is_idempotent {
            work().idempotent()
        } else {
            work()
        };
        let life = {
            let (server, store, tool) = (Arc::clone(&server), store.clone(), tool.clone());
            let count = Arc::clone(&count);
            move || async move {
                let calls = Arc::new(Semaphore::new(0));
                let begins = Arc::clone(&calls);
                let agent = agent(&server, &store).tool(tool, move |_| {
                    count.fetch_add(1, Ordering::SeqCst);
                    begins.add_permits(1);
                    std::future::pending::<Result<String, String>>()
                });
                agent.chat().send("Do it").detach();
                begun(&calls, 1).await;
            }
        };
        killed(life);
        let left = turns(&store).await;
        assert!(!is_closed(&left[0]));

        let counted = Arc::clone(&count);
        let agent = agent(&server, &store).tool(tool, move |call| {
            counted.fetch_add(1, Ordering::SeqCst);
            done(call)
        });
        let agent = agent.chat();
        let recovered = agent.recover().await.unwrap().pop().unwrap();
        assert_eq!(recovered.key, key(&left[0]));
        let (_, finished) = watch(recovered.turn.unwrap().into_events()).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(count.load(Ordering::SeqCst), runs);
        let told = &results(&server.requests()[1])[0];
        assert_eq!(told == "a is done", is_idempotent, "{told}");
        let turns = turns(&store).await;
        assert!(is_closed(&turns[0]));
        assert_eq!(kinds(&turns[0]).len(), 4);
        assert_eq!(agent.transcript(), finished.transcript);
        assert!(agent.recover().await.unwrap().is_empty());
        assert_legal(&server);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_dies_while_the_model_speaks_asks_again() {
    let server = Arc::new(serve([Hop::new().text("Half of").stall(), says("All of it.")]).await);
    let store = memory();
    let life = {
        let (server, store) = (Arc::clone(&server), store.clone());
        move || async move {
            let agent = agent(&server, &store).chat();
            let mut turn = agent.send("Tell me");
            while !matches!(turn.next().await, Some(RunEvent::AgUi(_))) {}
            turn.detach();
        }
    };
    killed(life);
    let agent = agent(&server, &store).chat();
    let recovered = agent.recover().await.unwrap().pop().unwrap();
    let (_, finished) = watch(recovered.turn.unwrap().into_events()).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "All of it.");
    assert_eq!(contents(&server.requests()[1], "user"), ["Tell me"]);
    let turns = turns(&store).await;
    assert_eq!(kinds(&turns[0]), ["text"]);
}

#[tokio::test]
async fn a_turn_with_only_a_stored_message_begins_again() {
    let server = serve([says("First."), says("Second.")]).await;
    let store = memory();
    watch(agent(&server, &store).chat().send("One")).await;
    let first = turns(&store).await.remove(0);
    let left = TurnKey::new(stepwell_io::ThreadKey::from("thread-1"), "left");
    let mut new = NewTurn::new(left, "stepwell", stepwell_core::Timestamp(u64::MAX >> 20));
    new.parent = Some(first.id.clone());
    new.message = Some(stepwell_io::message::Message::user("left-user", "Two"));
    store.begin_turn(&new).await.unwrap();
    let agent = agent(&server, &store).chat();
    let recovered = agent.recover().await.unwrap().pop().unwrap();
    let (_, finished) = watch(recovered.turn.unwrap().into_events()).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(contents(&server.requests()[1], "user"), ["One", "Two"]);
    assert!(turns(&store).await.iter().all(is_closed));
}

#[tokio::test]
async fn no_turn_is_recovered_that_is_under_way_here_or_elsewhere() {
    let server = serve([asks(&["a"])]).await;
    let (store, calls) = (memory(), Arc::new(Semaphore::new(0)));
    let owner = "lives elsewhere";
    let lease = Lease::acquire(std::sync::Arc::new(store.clone()), owner)
        .await
        .unwrap();
    let mut other = NewTurn::new(
        TurnKey::new(stepwell_io::ThreadKey::from("thread-2"), "theirs"),
        owner,
        stepwell_core::Timestamp(1),
    );
    other.message = Some(stepwell_io::message::Message::user("m", "?"));
    store.begin_turn(&other).await.unwrap();
    let agent = agent(&server, &store).tool(work(), hangs(&calls)).chat();
    let turn = agent.send("Do it");
    begun(&calls, 1).await;
    assert!(agent.recover().await.unwrap().is_empty());
    // Nor by another agent of the same program.
    let second = self::agent(&server, &store).chat();
    assert!(second.recover().await.unwrap().is_empty());
    assert_eq!(store.unfinished(None).await.unwrap().len(), 2);
    lease.end().await;
    assert_eq!(second.recover().await.unwrap().len(), 1);
    turn.cancel();
    assert_eq!(watch(turn).await.1.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn a_program_that_is_started_again_knows_the_conversation() {
    let server = serve([asks(&["a"]), says("It is 7."), says("Still 7.")]).await;
    let store = memory();
    let host = || agent(&server, &store).tool(work(), done).chat();
    let (_, live) = watch(host().send("What is it?")).await;
    let again = host();
    let (_, finished) = watch(again.send("And now?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let requests = server.requests();
    let before = requests[2].body["messages"].as_array().unwrap();
    let live_requests = requests[1].body["messages"].as_array().unwrap();
    // The provider sees the earlier requests and answers, and the new question.
    assert_eq!(before[..live_requests.len()], live_requests[..]);
    assert_eq!(before.len(), live_requests.len() + 2);
    let messages = live.transcript.messages();
    assert_eq!(finished.transcript.messages()[..messages.len()], *messages);
    assert_legal(&server);
}

#[tokio::test]
async fn a_turn_that_was_suspended_is_revived_from_its_store() {
    let server = serve([asks(&["later"]), says("It has arrived.")]).await;
    let store = memory();
    let host = || {
        let tool = |_| async { Ok::<_, String>(ToolAnswer::Deferred) };
        agent(&server, &store).tool(work(), tool).chat()
    };
    let turn = host().send("Order it");
    turn.handle().rested().await.unwrap();
    let kept = turn.suspend().await.unwrap();
    assert!(!is_closed(&turns(&store).await[0]));
    let agent = host();
    let turn = agent.revive(&kept).unwrap();
    let handle = turn.handle();
    handle.rested().await.unwrap();
    handle
        .resolve_call("later", Ok("delivered".into()))
        .await
        .unwrap();
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(results(&server.requests()[1]), ["delivered"]);
    assert!(is_closed(&turns(&store).await[0]));
    // The turn is over: the snapshot is of no use any more.
    let (_, finished) = watch(agent.revive(&kept).unwrap()).await;
    assert!(not_stored(&finished.outcome).contains("already"));
    assert_legal(&server);
}

#[tokio::test]
async fn recovery_reports_an_unreadable_store() {
    let server = serve([]).await;
    let store = faulty();
    let mut new = NewTurn::new(
        TurnKey::new(stepwell_io::ThreadKey::from("thread-1"), "left"),
        "stepwell",
        stepwell_core::Timestamp(1),
    );
    new.message = Some(stepwell_io::message::Message::user("m", "?"));
    store.begin_turn(&new).await.unwrap();
    let away = crate::faulty::away();
    store.next([crate::faulty::Fault::Before(away.clone())]);
    let agent = agent(&server, &store).chat();
    let error = agent.recover().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.downcast_ref(), Some(&away));
    assert!(matches!(
        store.begin_turn(&new).await,
        Err(StoreError::Exists { .. })
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_with_backend_runs_continues_after_a_kill() {
    let server = Arc::new(serve([asks(&["a"]), says("Done.")]).await);
    let store = memory();
    let made = Arc::new(AtomicU32::new(0));
    let host = |server: &MockLlm, store: &MemoryStore, made: &Arc<AtomicU32>| {
        let made = Arc::clone(made);
        agent(server, store).run_source(move |_: NewRun| {
            let number = made.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, String>(format!("run-{number}").into()) }
        })
    };
    let life = {
        let (server, store, made) = (Arc::clone(&server), store.clone(), Arc::clone(&made));
        move || async move {
            let calls = Arc::new(Semaphore::new(0));
            let agent = host(&server, &store, &made).tool(work().idempotent(), hangs(&calls));
            agent.chat().send("Do it").detach();
            begun(&calls, 1).await;
        }
    };
    killed(life);
    let agent = host(&server, &store, &made).tool(work().idempotent(), done);
    let agent = agent.chat();
    let recovered = agent.recover().await.unwrap().pop().unwrap();
    let (events, finished) = watch(recovered.turn.unwrap().into_events()).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let hops = events.iter().filter_map(|event| match event {
        RunEvent::HopStarted { hop, run_id } => Some((*hop, run_id.to_string())),
        _ => None,
    });
    assert_eq!(hops.collect::<Vec<_>>(), [(1, "run-1".to_owned())]);
    assert_eq!(made.load(Ordering::SeqCst), 2, "a run for each hop");
    let turns = turns(&store).await;
    assert_eq!(turns.len(), 1);
    assert_eq!(
        kinds(&turns[0]),
        ["text", "tool_use", "tool_result", "text"]
    );
    assert!(is_closed(&turns[0]));
    // The next turn continues from it.
    assert_eq!(agent.transcript(), finished.transcript);
    assert_legal(&server);
}

#[tokio::test]
async fn forgotten_threads_stay_stored_and_deleted_ones_do_not() {
    let server = serve([says("One."), says("Two.")]).await;
    let store = memory();
    let agent = agent(&server, &store).chat();
    watch(agent.send("First")).await;
    agent.conversation.forget();
    assert_eq!(turns(&store).await.len(), 1);
    assert!(agent.conversation.delete().await.unwrap());
    assert!(turns(&store).await.is_empty());
    assert!(!agent.conversation.delete().await.unwrap());
    let (_, finished) = watch(agent.thread("thread-1").send("Second")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(contents(&server.requests()[1], "user"), ["Second"]);
}
