//! What is in the store when.

use crate::support::IntoChat as _;
use crate::*;
use std::sync::Mutex;
use stepwell_io::WhenBusy;
use stepwell_io::store::Generation;
use stepwell_io::turn::Start;

#[tokio::test]
async fn a_turn_is_in_the_store_as_it_went() {
    let server = serve([asks(&["a", "b"]), says("Both are done.")]).await;
    let store = memory();
    let agent = agent(&server, &store).tool(work(), done).chat();
    let (_, finished) = watch(agent.send("Do it")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let [turn] = &turns(&store).await[..] else {
        panic!("one turn")
    };
    assert_eq!(turn.status, TurnStatus::Complete);
    assert_eq!(turn.outcome, Some(Outcome::Success));
    assert_eq!(turn.parent, None);
    let mut stored = kinds(turn);
    // Results are stored as the tools finish.
    stored[1..5].sort_unstable();
    let expected = [
        "text",
        "tool_result",
        "tool_result",
        "tool_use",
        "tool_use",
        "text",
    ];
    assert_eq!(stored, expected);
    let message = turn.message.as_ref().unwrap();
    assert_eq!(serde_json::to_value(message).unwrap()["content"], "Do it");
    assert_eq!(store.unfinished(None).await, Ok(Vec::new()));
    let thread = store.thread(&"thread-1".into()).await.unwrap().unwrap();
    assert_eq!(thread.title.as_deref(), Some("Do it"));
    assert_legal(&server);
}

#[tokio::test]
async fn nothing_goes_out_before_it_is_stored() {
    let server = Arc::new(serve([asks(&["a"]), says("Done.")]).await);
    let store = faulty();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = (Arc::clone(&server), Arc::clone(&requests));
    store.watch(move |write| {
        let entry = (write.to_owned(), seen.0.requests().len());
        seen.1.lock().unwrap().push(entry);
    });
    let inner = store.inner.clone();
    let agent = agent(&server, &store).tool(work(), move |call: ToolContext| {
        let inner = inner.clone();
        async move {
            let turns = turns(&inner).await;
            // Its own call is stored.
            assert_eq!(kinds(&turns[0]), ["text", "tool_use"]);
            done(call).await
        }
    });
    let (_, finished) = watch(agent.chat().send("Do it")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(results(&server.requests()[1]), ["a is done"]);
    let requests = requests.lock().unwrap();
    assert_eq!(requests[0], ("begin_turn".to_owned(), 0));
    // The result was stored before the second request.
    let after_first = requests
        .iter()
        .filter(|(write, sent)| write == "persist" && *sent == 1);
    assert!(after_first.count() >= 2, "{requests:?}");
}

#[tokio::test]
async fn a_turn_that_is_cancelled_is_stored_so() {
    let server = serve([asks(&["a"])]).await;
    let (store, calls) = (memory(), Arc::new(Semaphore::new(0)));
    let agent = agent(&server, &store).tool(work(), hangs(&calls)).chat();
    let turn = agent.send("Do it");
    begun(&calls, 1).await;
    turn.cancel();
    assert_eq!(watch(turn).await.1.outcome, Outcome::Cancelled);
    let turns = turns(&store).await;
    assert_eq!(turns[0].status, TurnStatus::Cancelled);
    assert_eq!(turns[0].outcome, Some(Outcome::Cancelled));
    assert_eq!(kinds(&turns[0]), ["text", "tool_use", "tool_error"]);
}

#[tokio::test]
async fn a_replaced_turn_is_closed_before_the_next_begins() {
    let server = serve([asks(&["a"]), says("Never mind.")]).await;
    let (store, calls) = (memory(), Arc::new(Semaphore::new(0)));
    let agent = agent(&server, &store).tool(work(), hangs(&calls)).chat();
    let first = agent.send("Do it");
    begun(&calls, 1).await;
    let second = agent.clone().when_busy(WhenBusy::Cancel).send("Leave it");
    let (_, second) = watch(second).await;
    assert_eq!(second.outcome, Outcome::Success);
    assert_eq!(watch(first).await.1.outcome, Outcome::Cancelled);
    let turns = turns(&store).await;
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0].status, TurnStatus::Cancelled);
    assert_eq!(turns[1].status, TurnStatus::Complete);
    assert_eq!(turns[1].parent, Some(turns[0].id.clone()));
    assert_legal(&server);
}

#[tokio::test]
async fn another_branch_continues_from_its_fork() {
    let server = serve([says("One."), says("Two."), says("Other."), says("More.")]).await;
    let store = memory();
    let agent = agent(&server, &store).chat();
    watch(agent.send("First")).await;
    watch(agent.send("Second")).await;
    let first = turns(&store).await[0].id.clone();
    let start = Start::new(
        "edited",
        stepwell_io::message::Message::user("edited-user", "Second, said better"),
    );
    let (_, finished) = watch(agent.branch(Some(first.clone()), start)).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let asked = contents(&server.requests()[2], "user");
    assert_eq!(asked, ["First", "Second, said better"]);
    // The thread continues from there.
    watch(agent.send("Third")).await;
    let asked = contents(&server.requests()[3], "user");
    assert_eq!(asked, ["First", "Second, said better", "Third"]);
    let turns = turns(&store).await;
    let parents: Vec<_> = turns.iter().map(|turn| turn.parent.clone()).collect();
    let expected = [
        None,
        Some(first.clone()),
        Some(first),
        Some("edited".into()),
    ];
    assert_eq!(parents, expected);
    let start = Start::new(
        "lost",
        stepwell_io::message::Message::user("lost-user", "?"),
    );
    let (_, finished) = watch(agent.branch(Some("nowhere".into()), start)).await;
    assert!(not_stored(&finished.outcome).contains("nowhere"));
    assert_legal(&server);
}

#[tokio::test]
async fn a_turn_exposes_the_generation_of_its_events() {
    let server = serve([says("Hello.")]).await;
    let store = memory();
    let agent = agent(&server, &store).chat();
    let mut turn = agent.send("Hello");
    let handle = turn.handle();
    let first = turn.next().await.unwrap();
    assert!(matches!(first, RunEvent::Started { .. }), "{first:?}");
    let stored = handle.stored().unwrap().clone();
    assert_eq!(stored.generation, Generation::FIRST);
    let events = ["shown".to_owned()];
    store
        .append_events(&stored.key, stored.generation, 0, &events)
        .await
        .unwrap();
    watch(turn).await;
    // The last one may come after the end.
    store
        .append_events(&stored.key, stored.generation, 1, &events)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_thread_of_the_store_is_read_before_anything_is_sent_on_it() {
    let server = serve([says("One."), says("Two."), asks(&["a"])]).await;
    let (store, calls) = (memory(), Arc::new(Semaphore::new(0)));
    let first = agent(&server, &store).tool(work(), hangs(&calls));
    let first = first.chat();
    assert!(
        first
            .conversation
            .load()
            .await
            .unwrap()
            .messages()
            .is_empty()
    );
    watch(first.send("A")).await;

    let later = agent(&server, &store).chat();
    assert!(later.transcript().messages().is_empty());
    let loaded = later.conversation.load().await.unwrap();
    assert_eq!(
        (loaded.messages().len(), loaded.text().as_str()),
        (2, "One.")
    );
    assert_eq!(later.transcript(), loaded, "it is known from then on");
    // Turns of another process are read too.
    watch(first.send("B")).await;
    assert_eq!(later.conversation.load().await.unwrap().text(), "Two.");
    // A turn that is under way is also read, as far as it is stored; its later blocks are not missed.
    let turn = first.send("C");
    begun(&calls, 1).await;
    assert_eq!(
        later.conversation.load().await.unwrap().text(),
        "Let me see."
    );
    assert_eq!(later.transcript().text(), "Two.");
    let turns = later.conversation.stored_turns().await.unwrap();
    let statuses: Vec<_> = turns.iter().map(|turn| turn.status).collect();
    let (complete, streaming) = (TurnStatus::Complete, TurnStatus::Streaming);
    assert_eq!(statuses, [complete, complete, streaming]);
    turn.cancel();
    let (_, finished) = watch(turn).await;
    let whole = finished.transcript.messages().len();
    assert_eq!(
        later.conversation.load().await.unwrap().messages().len(),
        whole
    );
}
