//! A run is a future of its result.

use crate::{Body, agent, answer, echo, silent, watched_echo};
use futures::future::join_all;
use http::Response;
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use stepwell_io::{ErrorKind, HttpClient};
use tokio::sync::{Semaphore, oneshot};

#[tokio::test]
async fn runs_are_spawned_joined_and_selected() {
    let agent = agent::<()>(echo()).build().expect("it is set up");
    let spawned = tokio::spawn(agent.run("spawned"));
    let joined = join_all(["first", "second"].map(|prompt| agent.run(prompt)));
    let joined: Vec<_> = joined
        .await
        .into_iter()
        .map(|result| result.expect("it is answered").output)
        .collect();
    assert_eq!(joined, ["first", "second"]);
    let spawned = spawned.await.expect("no panic").expect("it is answered");
    assert_eq!(spawned.output, "spawned");
    let selected = tokio::select! {
        result = agent.run("selected") => result,
        () = pending() => unreachable!(),
    };
    assert_eq!(selected.expect("it is answered").output, "selected");
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_poll() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let client = watched_echo(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let agent = agent::<()>(client).build().expect("it is set up");
    let conversation = agent.conversation("alice");
    let (run, message) = (agent.run("never"), conversation.send("never"));
    let waiting = agent.run("later").instructions("Be brief.");
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    drop((run, message));
    assert_eq!(requests.load(Ordering::Relaxed), 0);
    assert!(conversation.transcript().messages().is_empty());
    assert!(agent.registry().running().is_empty());
    assert_eq!(waiting.await.expect("it is answered").output, "later");
    assert_eq!(requests.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn dropping_a_run_cancels_its_turn() {
    let begun = Arc::new(Semaphore::new(0));
    let (dropped, was_dropped) = oneshot::channel::<()>();
    let (begins, guard) = (Arc::clone(&begun), Mutex::new(Some(dropped)));
    let client = HttpClient::from_fn(move |_| {
        begins.add_permits(1);
        let guard = guard.lock().expect("no panic holds it").take();
        async move {
            let _held_until_dropped = guard;
            pending::<io::Result<Response<Body>>>().await
        }
    });
    let agent = agent::<()>(client).build().expect("it is set up");
    let mut run = agent.run("Hello");
    tokio::select! {
        _ = &mut run => unreachable!(),
        begun = begun.acquire() => drop(begun.expect("nobody closes it")),
    }
    drop(run);
    assert!(was_dropped.await.is_err(), "the request is dropped");
}

#[tokio::test]
async fn a_run_that_has_begun_gives_no_stream() {
    let agent = agent::<()>(silent(|| {})).build().expect("it is set up");
    let mut run = agent.run("Hello");
    assert!(futures::poll!(&mut run).is_pending());
    let error = run.stream().result().await.expect_err("it has begun");
    assert_eq!(error.kind(), ErrorKind::Misuse);
}

#[tokio::test]
async fn a_run_without_a_conversation_continues_a_given_transcript() {
    let client = HttpClient::from_fn(|request| {
        let said = crate::texts(&request, "user").join(", ");
        async move { io::Result::Ok(answer(&[stepwell_testing::reply::text(&said)])) }
    });
    let agent = agent::<()>(client).build().expect("it is set up");
    let first = agent.run("one").await.expect("it is answered");
    let second = agent.run("two").history(first.transcript().clone()).await;
    assert_eq!(second.expect("it is answered").output, "one, two");
    let other = agent.run("three").await.expect("it is answered");
    assert_eq!(other.output, "three", "the agent remembers nothing");
}

#[tokio::test]
async fn options_of_a_run_that_never_begins_change_nothing() {
    let agent = agent::<()>(echo()).build().expect("it is set up");
    let earlier = agent.run("one").await.expect("it is answered");
    let conversation = agent.conversation("alice");
    drop(
        conversation
            .send("two")
            .history(earlier.transcript().clone()),
    );
    assert!(conversation.transcript().messages().is_empty());
    let result = conversation
        .send("two")
        .history(earlier.transcript().clone())
        .await;
    assert_eq!(result.expect("it is answered").messages().len(), 4);
}

#[tokio::test]
async fn cancel_all_ends_every_turn_and_no_later_one() {
    let begun = Arc::new(Semaphore::new(0));
    let begins = Arc::clone(&begun);
    let agent = agent::<()>(silent(move || begins.add_permits(1)));
    let agent = agent.build().expect("it is set up");
    let conversation = agent.conversation("alice");
    let turns = [agent.stream("one"), conversation.stream("two")];
    drop(begun.acquire_many(2).await.expect("nobody closes it"));
    agent.cancel_all();
    for turn in turns {
        let error = turn.result().await.expect_err("it is cancelled");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
    let later = agent.stream("three");
    drop(begun.acquire_many(3).await.expect("nobody closes it"));
    later.cancel();
}
