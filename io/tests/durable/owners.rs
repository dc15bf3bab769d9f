//! Several hosts on one store.

use crate::support::IntoChat as _;
use crate::*;
use stepwell_io::store::{Generation, NewTurn};
use stepwell_io::{ErrorKind, WhenBusy};

#[tokio::test]
async fn a_turn_that_another_host_claimed_stops_and_writes_no_more() {
    let server = serve([asks(&["a"]), says("Never sent.")]).await;
    let (store, calls) = (memory(), Arc::new(Semaphore::new(0)));
    let finish = Arc::new(Semaphore::new(0));
    let (begin, end) = (Arc::clone(&calls), Arc::clone(&finish));
    let agent = agent(&server, &store).tool(work(), move |call| {
        let (begin, end) = (Arc::clone(&begin), Arc::clone(&end));
        async move {
            begin.add_permits(1);
            end.acquire().await.unwrap().forget();
            done(call).await
        }
    });
    let turn = agent.chat().send("Do it");
    begun(&calls, 1).await;
    let stored = turns(&store).await;
    let claimed = store
        .claim(&key(&stored[0]), Generation::FIRST, "other")
        .await
        .unwrap();
    assert!(claimed.checkpoint.is_some());
    finish.add_permits(1);
    let (events, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    let warned = warnings(&events);
    assert!(
        warned
            .iter()
            .any(|warning| warning.contains("another host")),
        "{warned:?}"
    );
    assert_eq!(turns(&store).await, stored, "the turn is the other host's");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_new_message_stops_a_dead_hosts_turn() {
    let server = serve([asks(&["a"]), says("All right.")]).await;
    let (store, calls) = (memory(), Arc::new(Semaphore::new(0)));
    let first = agent(&server, &store)
        .owner("first")
        .tool(work(), hangs(&calls))
        .chat();
    let mut left = first.send("Do it");
    begun(&calls, 1).await;

    let second = agent(&server, &store)
        .owner("second")
        .tool(work(), |_| async { Err::<String, _>("run twice") });
    let (_, finished) = watch(second.chat().send("Leave it")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let turns = turns(&store).await;
    assert_eq!(turns[0].status, TurnStatus::Cancelled);
    assert_eq!(kinds(&turns[0]), ["text", "tool_use", "tool_error"]);
    assert_eq!(turns[1].status, TurnStatus::Complete);
    assert_eq!(turns[1].parent, Some(turns[0].id.clone()));
    // The history has the messages up to then.
    assert_eq!(
        contents(&server.requests()[1], "user"),
        ["Do it", "Leave it"]
    );
    assert_eq!(results(&server.requests()[1]).len(), 1);
    assert_legal(&server);
    assert!(matches!(left.next().await, Some(RunEvent::Started { .. })));
}

#[tokio::test]
async fn a_new_message_closes_an_unreadable_turn() {
    for snapshot in [None, Some("no snapshot".to_owned())] {
        let server = serve([says("Hello.")]).await;
        let store = memory();
        let mut new = NewTurn::new(
            TurnKey::new(stepwell_io::ThreadKey::from("thread-1"), "left"),
            "dead",
            stepwell_core::Timestamp(1),
        );
        new.message = Some(stepwell_io::message::Message::user(
            "left-user",
            "Is anybody there?",
        ));
        new.checkpoint = snapshot;
        store.begin_turn(&new).await.unwrap();
        let agent = agent(&server, &store).chat();
        let (_, finished) = watch(agent.send("Hello?")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        let turns = turns(&store).await;
        assert_eq!(turns[0].status, TurnStatus::Cancelled);
        assert_eq!(turns[1].parent, Some("left".into()));
        let said = contents(&server.requests()[0], "user");
        assert_eq!(said, ["Is anybody there?", "Hello?"]);
    }
}

#[tokio::test]
async fn a_host_continues_from_another_hosts_turns() {
    let server = serve([says("One."), says("Two."), says("Three.")]).await;
    let store = memory();
    let host = |name| agent(&server, &store).owner(name).chat();
    let (first, second) = (host("first"), host("second"));
    watch(first.send("A")).await;
    watch(second.send("B")).await;
    watch(first.send("C")).await;
    assert_eq!(contents(&server.requests()[2], "user"), ["A", "B", "C"]);
    let said = contents(&server.requests()[2], "assistant");
    assert_eq!(said, ["One.", "Two."]);
    let turns = turns(&store).await;
    assert_eq!(turns[2].parent, Some(turns[1].id.clone()));
    assert_legal(&server);
}

#[tokio::test]
async fn two_agents_on_one_store_do_not_mix_their_turns() {
    let server = serve([asks(&["a"]), says("All right."), says("And you?")]).await;
    let (store, calls) = (memory(), Arc::new(Semaphore::new(0)));
    let host = || agent(&server, &store).tool(work(), hangs(&calls));
    let (first, second) = (host().chat(), host().chat());
    let left = first.send("I am Alice");
    begun(&calls, 1).await;
    let stored = turns(&store).await;

    let (_, refused) = watch(second.send("I am Bob")).await;
    let Outcome::Failed { failure } = &refused.outcome else {
        panic!("{:?}", refused.outcome);
    };
    assert_eq!(*failure, Failure::Busy);
    assert_eq!(refused.outcome.problem().unwrap().kind, ErrorKind::Busy);
    assert_eq!(turns(&store).await, stored, "nothing is stored of it");
    assert_eq!(server.requests().len(), 1);

    // An app that allows it stops what another host drives.
    let run = second.run("Leave it").when_busy(WhenBusy::Cancel);
    assert_eq!(run.await.unwrap().output, "All right.");
    let said = contents(&server.requests()[1], "user");
    assert_eq!(said, ["I am Alice", "Leave it"]);
    assert!(first.transcript().messages().is_empty());
    drop(left);
    // A turn without a living owner blocks no other.
    let (_, finished) = watch(first.send("Hello")).await;
    assert_eq!(finished.outcome, Outcome::Success);
}
