//! Two hosts on one PostgreSQL. The server's address is in `STEPWELL_POSTGRES`.

use crate::model::HeldModel;
use crate::server::Server;
use crate::sessions::later;
use crate::stream::{Run, all, events, kinds, text};
use futures::stream::{self, StreamExt};
use serde_json::{Value, json};

/// The number of concurrent turns.
const AT_ONCE: usize = 4;

/// Returns the number of repetitions: a small share, unless `STEPWELL_CATCH_UPS` sets more.
fn times() -> usize {
    let wanted = std::env::var("STEPWELL_CATCH_UPS").ok();
    wanted.map_or(10, |wanted| wanted.parse().expect("a number"))
}

fn url() -> Option<String> {
    let url = std::env::var("STEPWELL_POSTGRES").ok();
    if url.is_none() {
        eprintln!("SKIPPED: set STEPWELL_POSTGRES to a server's address");
    }
    url
}

fn host(url: &str) -> Server {
    Server::start(&["--store", url])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_begins_on_one_host_is_followed_on_the_other() {
    let Some(url) = url() else { return };
    let name = format!("two-hosts-{}", std::process::id());
    let (one, other) = (host(&url), host(&url));
    let turns = stream::iter(0..times()).map(|number| {
        let thread = format!("{name}-{number}");
        follows(&one, &other, thread, number)
    });
    let told: usize = turns
        .buffer_unordered(AT_ONCE)
        .fold(0, |sum, count| async move { sum + count })
        .await;
    println!(
        "{} catch-ups: {told} events, each once and in order",
        times()
    );
}

/// Begins a turn on one host, reads some of it there, and continues on the other while it is emitted.
async fn follows(one: &Server, other: &Server, thread: String, number: usize) -> usize {
    one.begin(&thread, "r", "What are the numbers?").await;
    let mut seen = Vec::new();
    // Another place each time; a turn has some twenty events.
    let wanted = number % 16;
    if wanted > 0 {
        let mut listener = Run::new(one.follow(&thread, "r", None).await);
        while seen.len() < wanted {
            let event = listener.next().await.expect("the turn goes on");
            seen.extend(Some(event).filter(|event| !event.is_null()));
        }
    }
    let last = seen.len().checked_sub(1).map(|last| last as u64);
    let rest = later(other.follow(&thread, "r", last).await, seen.len() as u64).await;
    seen.extend(rest);
    assert!(text(&seen).ends_with("Bob's is 7"), "{seen:#?}");
    // The complete log, on either host, is what the client has put together.
    for host in [one, other] {
        assert_eq!(events(host.follow(&thread, "r", None).await).await, seen);
    }
    seen.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_on_one_host_see_turns_of_a_restarted_one_end() {
    let Some(url) = url() else { return };
    let name = format!("started-again-{}", std::process::id());
    let model = HeldModel::start().await;
    let start = || Server::before_url(&model.url, &["--store", &url]);
    // Either host may continue the turns of the one.
    let (one, other) = (start(), start());
    let threads: Vec<_> = (0..AT_ONCE)
        .map(|number| format!("{name}-{number}"))
        .collect();
    let mut listeners = Vec::new();
    for thread in &threads {
        one.begin(thread, "r", "?").await;
        let mut listener = Run::new(other.follow(thread, "r", None).await);
        listener.until("RUN_STARTED").await;
        model.asked().await;
        listeners.push(listener);
    }
    drop(one);
    // The first requests were from the host that died.
    threads.iter().for_each(|_| model.answer());
    let one = start();
    for _ in &threads {
        model.asked().await;
        model.answer();
    }
    for (listener, thread) in listeners.iter_mut().zip(&threads) {
        // The stream that began before the kill continues to the end.
        let rest = listener.rest().await;
        assert_eq!(kinds(&rest).last(), Some(&"RUN_FINISHED"));
        assert_eq!(text(&rest), "At last.");
        let whole = events(one.follow(thread, "r", None).await).await;
        assert_eq!(all(&whole, "RUN_STARTED").len(), 1);
        assert_eq!(whole[1..], rest);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_of_another_host_can_be_cancelled() {
    let Some(url) = url() else { return };
    let thread = format!("cancelled-{}", std::process::id());
    let (one, other) = (host(&url), host(&url));
    one.begin(&thread, "r", "wait").await;
    let listener = one.follow(&thread, "r", None).await;
    let path = format!("/threads/{thread}/turns/r/cancel");
    let request = other
        .request("POST", &path)
        .header("content-type", "application/json");
    let done = request.body("{}").send().await.expect("an answer");
    assert_eq!(done.status(), 204);
    let told: Vec<Value> = later(listener, 0).await;
    let end = told.last().expect("an end");
    assert_eq!(end["outcome"]["type"], "cancelled", "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_that_race_for_a_thread_begin_or_conflict() {
    let Some(url) = url() else { return };
    let (one, other) = (host(&url), host(&url));
    let thread = format!("race-{}", std::process::id());
    let path = format!("/threads/{thread}/turns");
    for round in 0..times() {
        let starts = (0..6).map(|number| {
            let host = [&one, &other][number % 2];
            let body = json!({ "turnId": format!("r{round}-{number}"), "message": "wait" });
            let path = &path;
            async move { host.call("POST", path, Some(body)).await.status().as_u16() }
        });
        let statuses = futures::future::join_all(starts).await;
        let is_known = statuses.iter().all(|status| [201, 409].contains(status));
        assert!(is_known && statuses.contains(&201), "{statuses:?}");
    }
    // Else the turn that waits would be taken over by the hosts of the tests that come.
    let path = format!("/threads/{thread}");
    let deleted = one.call("DELETE", &path, None).await;
    assert!(deleted.status().is_success());
}
