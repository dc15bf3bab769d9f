//! Several turns at once, and the owner of a thread.

use crate::cancel::Place;
use crate::support::{Chat, IntoChat as _};
use crate::*;
use stepwell_io::registry::RegistryEvent;
use stepwell_io::{ThreadKey, WhenBusy};

pub(crate) fn events(agent: &Chat) -> Vec<RegistryEvent> {
    std::iter::from_fn(|| agent.registry().poll_event()).collect()
}

/// The names of the registry's events: `started 1`, `continued 1.1`, `completed 1.1`.
pub(crate) fn names(events: &[RegistryEvent]) -> Vec<String> {
    let name = |event: &RegistryEvent| match event {
        RegistryEvent::RunStarted { handle } => Some(format!("started {handle}")),
        RegistryEvent::RunContinued { handle } => Some(format!("continued {handle}")),
        RegistryEvent::RunCompleted { handle, outcome } => {
            let outcome = if *outcome == Outcome::Cancelled {
                "cancelled"
            } else {
                "completed"
            };
            Some(format!("{outcome} {handle}"))
        }
        RegistryEvent::Unread { key } => Some(format!("unread {key}")),
        RegistryEvent::Read { key } => Some(format!("read {key}")),
        _ => None,
    };
    events.iter().filter_map(name).collect()
}

#[tokio::test]
async fn a_new_message_in_any_state_takes_the_thread() {
    for (place, dialect) in Place::all() {
        let what = format!("{place:?}, {dialect:?}");
        let server = serve([place.hop(), says("Sure.")]).await;
        let calls = Arc::new(Semaphore::new(0));
        let agent = place.agent(dialect, &server, &calls);
        let mut first = agent.send("A hard question");
        place.reached(&mut first, &server, &calls).await;
        // The events of the first turn are not taken: the second waits for neither it nor its tools.
        let second = agent.clone().when_busy(WhenBusy::Cancel).send("Forget it");
        let (_, second) = watch(second).await;
        assert_eq!(second.outcome, Outcome::Success, "{what}");
        assert_eq!(second.transcript.text(), "Sure.", "{what}");
        let (_, first) = watch(first).await;
        assert_eq!(first.outcome, Outcome::Cancelled, "{what}");
        assert_eq!(agent.transcript(), second.transcript, "{what}");
        assert_eq!(
            names(&events(&agent)),
            [
                "started thread-1#1.0",
                "cancelled thread-1#1.0",
                "started thread-1#2.0",
                "completed thread-1#2.0",
                "unread thread-1"
            ],
            "{what}"
        );
        // The old message and what came of it are in the new turn's history.
        let asked: Vec<_> = messages(&server.requests()[1], "user")
            .iter()
            .map(|message| message["content"].clone())
            .collect();
        assert_eq!(asked, ["A hard question", "Forget it"], "{what}");
        assert_legal(&server);
    }
}

#[tokio::test]
async fn late_results_of_a_replaced_turn_change_nothing() {
    // Two agents share a registry: the first notices that its thread is taken only by the next event for it.
    let server = serve([asks(&["a"]), says("Sure.")]).await;
    let calls = Arc::new(Semaphore::new(0));
    let first = Dialect::Chat.agent(&server).tool(work(), hangs(&calls));
    let first = first.chat();
    let registry = first.registry().clone();
    let second = Dialect::Chat.agent(&server).registry(registry.clone());
    let second = second.chat();
    let old = first.send("Go on");
    begun(&calls, 1).await;
    let (_, finished) = watch(second.send("Forget it")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    // The result is one that the old turn waits for: were it taken, there would be a third request.
    let told = old.handle().resolve_call("a", Ok("late".into())).await;
    assert_eq!(told, Err(stepwell_io::turn::TurnError::Over));
    let (_, finished) = watch(old).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert_eq!(server.requests().len(), 2);
    let stale = events(&first);
    let stale = stale
        .iter()
        .filter(|event| matches!(event, RegistryEvent::StaleInput(_)));
    assert!(stale.count() > 0, "and it is said so");
}

/// In a task of a runtime with one worker, what was spawned last begins first.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn turns_run_in_the_order_in_which_they_were_sent() {
    let script = Script::new().lenient().hop(Hop::silent());
    let server = MockLlm::start(script)
        .await
        .expect("the mock starts on loopback");
    let agent = Dialect::Chat
        .agent(&server)
        .chat()
        .when_busy(WhenBusy::Cancel);
    let sender = agent.clone();
    // All of them are sent before any has begun.
    let sent = tokio::spawn(async move {
        let turns = (0..10).map(|number| sender.send(number.to_string()));
        turns.collect::<Vec<_>>()
    });
    let turns = sent.await.expect("no panic");
    server.wait_until(|requests| !requests.is_empty()).await;
    agent.cancel();
    for turn in turns {
        assert_eq!(watch(turn).await.1.outcome, Outcome::Cancelled);
    }
    assert_eq!(
        server.requests().len(),
        1,
        "none is begun that is cancelled already"
    );
    let asked = &server.requests()[0];
    let numbers: Vec<_> = (0..10).map(|number| json!(number.to_string())).collect();
    let said = |messages: &[&Value]| -> Vec<Value> {
        messages
            .iter()
            .map(|message| message["content"].clone())
            .collect()
    };
    assert_eq!(said(&messages(asked, "user")), numbers);
    assert_eq!(agent.transcript().messages().len(), 10);
}

#[tokio::test]
async fn a_hop_continues_the_turn_once_and_never_starts_it_again() {
    for dialect in BOTH {
        let server = serve([asks(&["a"]), asks(&["b"]), says("Done.")]).await;
        let agent = dialect.agent(&server).tool(work(), done);
        let agent = agent.chat();
        agent.registry().look_at(Some(agent.thread_key().clone()));
        let (_, finished) = watch(agent.send("Go on")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(
            names(&events(&agent)),
            [
                "started thread-1#1.0",
                "continued thread-1#1.1",
                "continued thread-1#1.2",
                "completed thread-1#1.2"
            ]
        );
        assert_eq!(agent.registry().current(agent.thread_key()), None);
    }
}

#[tokio::test]
async fn the_user_looks_at_another_thread_and_returns() {
    let server = serve([asks(&["a"]), says("Here."), says("Done.")]).await;
    let calls = Arc::new(Semaphore::new(0));
    let agent = Dialect::Chat.agent(&server).tool(work(), hangs(&calls));
    let here = agent.chat();
    let there = here.thread("thread-2");
    let registry = here.registry();
    registry.look_at(Some(here.thread_key().clone()));
    let turn = here.send("Go on");
    begun(&calls, 1).await;
    registry.look_at(Some(there.thread_key().clone()));
    let (_, finished) = watch(there.send("Hello")).await;
    assert_eq!(finished.transcript.text(), "Here.");
    assert_eq!(there.transcript().text(), "Here.");
    assert!(!registry.unread(here.thread_key()), "not before its end");
    let handle = turn.handle();
    handle
        .resolve_call("a", Ok("42".into()))
        .await
        .expect("it is awaited");
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.transcript.text(), "Done.");
    assert_eq!(there.transcript().text(), "Here.", "it is not overwritten");
    assert_eq!(registry.unread_threads(), [here.thread_key().clone()]);
    registry.look_at(Some(here.thread_key().clone()));
    assert_eq!(registry.unread_threads(), []);
    // The same conversation is there under its key.
    assert_eq!(here.thread("thread-1").transcript(), here.transcript());
    assert_eq!(
        names(&events(&here))[1..],
        [
            "started thread-2#2.0",
            "completed thread-2#2.0",
            "continued thread-1#1.1",
            "completed thread-1#1.1",
            "unread thread-1",
            "read thread-1"
        ]
    );
    assert_legal(&server);
}

#[tokio::test]
async fn two_threads_with_tools_at_once_do_not_touch_each_other() {
    for dialect in BOTH {
        let script = Script::new()
            .hop(asks(&["a", "b"]))
            .hop(says("Done."))
            .repeat();
        let server = MockLlm::start(script)
            .await
            .expect("the mock starts on loopback");
        // No call can finish before those of both threads have begun.
        let all = Arc::new(tokio::sync::Barrier::new(4));
        let agent = dialect.agent(&server).tool(work(), move |call| {
            let all = Arc::clone(&all);
            async move {
                all.wait().await;
                done(call).await
            }
        });
        let one = agent.chat();
        let other = one.thread("thread-2");
        let (one_turn, other_turn) = (one.send("Go on"), other.send("Go on"));
        let ((_, first), (_, second)) = tokio::join!(watch(one_turn), watch(other_turn));
        assert_eq!(
            (first.outcome, second.outcome),
            (Outcome::Success, Outcome::Success)
        );
        assert_eq!(
            first.transcript.messages().len(),
            second.transcript.messages().len()
        );
        assert_legal(&server);
    }
}

#[tokio::test]
async fn cancel_in_one_thread_leaves_the_others_alone() {
    let script = Script::new().hop(asks(&["a"])).hop(says("Done.")).repeat();
    let server = MockLlm::start(script)
        .await
        .expect("the mock starts on loopback");
    let calls = Arc::new(Semaphore::new(0));
    let agent = Dialect::Chat.agent(&server).tool(work(), hangs(&calls));
    let one = agent.chat();
    let other = one.thread("thread-2");
    let (one_turn, other_turn) = (one.send("Go on"), other.send("Go on"));
    begun(&calls, 2).await;
    one.cancel();
    assert_eq!(watch(one_turn).await.1.outcome, Outcome::Cancelled);
    let handle = other_turn.handle();
    handle
        .resolve_call("a", Ok("42".into()))
        .await
        .expect("it is awaited");
    assert_eq!(watch(other_turn).await.1.outcome, Outcome::Success);
}

#[tokio::test]
async fn what_happens_to_the_turns_can_be_waited_for() {
    let server = serve([says("Done.")]).await;
    let agent = Dialect::Chat.agent(&server).chat();
    let watched = agent.clone();
    let seen = tokio::spawn(async move {
        let mut seen = Vec::new();
        loop {
            let event = watched.next_registry_event().await;
            let is_last = matches!(event, RegistryEvent::Unread { .. });
            seen.push(event);
            if is_last {
                return seen;
            }
        }
    });
    agent.send("Hello").detach();
    let seen = seen.await.expect("no panic");
    assert_eq!(
        names(&seen),
        [
            "started thread-1#1.0",
            "completed thread-1#1.0",
            "unread thread-1"
        ]
    );
}

#[tokio::test]
async fn a_forgotten_thread_is_stopped_and_begins_again() {
    let server = serve([Hop::silent(), says("Hello.")]).await;
    let agent = Dialect::Chat.agent(&server).chat();
    let thread = agent.thread(ThreadKey::new("server", "room", "thread-2"));
    let turn = thread.send("Remember this");
    server.wait_until(|requests| requests.len() == 1).await;
    thread.conversation.forget();
    assert_eq!(watch(turn).await.1.outcome, Outcome::Cancelled);
    let anew = agent.thread(thread.thread_key().clone());
    assert!(anew.transcript().messages().is_empty());
    let (_, finished) = watch(anew.send("Hello")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(messages(&server.requests()[1], "user").len(), 1);
}
