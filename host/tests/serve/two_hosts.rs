//! Two hosts on one PostgreSQL. The server's address is in `STEPWELL_POSTGRES`.

use crate::server::Server;
use crate::sessions::later;
use crate::stream::{events, text};
use serde_json::Value;

/// How often: a small share, unless `STEPWELL_CATCH_UPS` says more.
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

#[tokio::test(flavor = "multi_thread")]
async fn what_begins_on_one_host_is_followed_on_the_other() {
    let Some(url) = url() else { return };
    let name = format!("two-hosts-{}", std::process::id());
    let one = Server::start(&["--store", &url, "--owner", &format!("{name}-one")]);
    let other = Server::start(&["--store", &url, "--owner", &format!("{name}-other")]);
    for number in 0..times() {
        let thread = format!("{name}-{number}");
        one.begin(&thread, "r", "What are the numbers?").await;
        let followed = events(other.follow(&thread, "r", None).await).await;
        assert!(text(&followed).ends_with("Bob's is 7"), "{followed:#?}");
        let own = events(one.follow(&thread, "r", None).await).await;
        assert_eq!(own, followed, "turn {number}");
        let half = followed.len() as u64 / 2;
        let rest = later(other.follow(&thread, "r", Some(half)).await, half + 1).await;
        assert_eq!(rest, followed[half as usize + 1..]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_of_another_host_can_be_cancelled() {
    let Some(url) = url() else { return };
    let thread = format!("cancelled-{}", std::process::id());
    let one = Server::start(&["--store", &url, "--owner", &format!("{thread}-one")]);
    let other = Server::start(&["--store", &url, "--owner", &format!("{thread}-other")]);
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
