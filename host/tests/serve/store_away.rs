//! Stores that are full, stopped, or can only be read for a while. Of a PostgreSQL server the address is in
//! `STEPWELL_POSTGRES`, and `STEPWELL_POSTGRES_CONTROL` is a program that stops it, starts it, and gives it a statement.

use crate::file::File;
use crate::model::HeldModel;
use crate::server::Server;
use crate::stream::{Run, events, kinds, text};
use serde_json::Value;
use std::process::Command;
use stepwell_mock_llm::{Hop, MockLlm, Script};

/// Reads until the client is notified that the turn waits for the store, and returns the reason.
async fn waits(listener: &mut Run) -> String {
    let notice = listener.until_notice("store_waiting").await;
    notice["value"]["code"].as_str().expect("a code").to_owned()
}

fn warnings(told: &[Value]) -> Vec<&str> {
    let warnings = told.iter().filter(|event| event["name"] == "warning");
    warnings
        .map(|event| event["value"]["code"].as_str().expect("a code"))
        .collect()
}

async fn status(server: &Server, thread: &str) -> Value {
    let view = server.get(&format!("/threads/{thread}")).await;
    let view: Value = serde_json::from_str(&view.text().await.expect("text")).expect("JSON");
    view["session"]["turns"][0]["status"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_waits_for_room_in_a_full_file() {
    // One delta: its log and its block have room together if there is nothing else, and next to the fillers neither
    // has.
    let words = "word".repeat(85_000);
    let fillers = ["a", "b", "c", "d", "e", "f", "g"];
    let noted = fillers.iter().fold(Script::new(), |script, _| {
        script.hop(Hop::new().text("Noted."))
    });
    let script = noted.hop(Hop::new().pieces(words.len()).text(&words));
    let model = MockLlm::start(script).await.expect("the mock starts");
    let file = File::new("full");
    let store = format!("{}?max_bytes=1000000", file.store());
    let server = Server::before(&model, &["--store", &store]);
    for filler in fillers {
        server.begin(filler, "f", &"x".repeat(100_000)).await;
        events(server.follow(filler, "f", None).await).await;
    }
    server.begin("t", "r", "Speak at length.").await;
    let mut listener = Run::new(server.follow("t", "r", None).await);
    assert_eq!(waits(&mut listener).await, "store_full");
    assert_eq!(status(&server, "t").await, "streaming");
    for filler in fillers {
        let gone = server.request("DELETE", &format!("/threads/{filler}"));
        let gone = gone.send().await.expect("an answer");
        assert_eq!(gone.status(), 204);
    }
    listener.rest().await;
    let whole = events(server.follow("t", "r", None).await).await;
    assert_eq!(text(&whole), words, "it is there once");
    assert_eq!(kinds(&whole).last(), Some(&"RUN_FINISHED"));
    assert_eq!(warnings(&whole), ["store_full"]);
    assert_eq!(status(&server, "t").await, "complete");
}

/// The address of a server that the test may stop and start, and what does it.
fn postgres() -> Option<(String, impl Fn(&[&str]))> {
    let url = std::env::var("STEPWELL_POSTGRES").ok();
    let program = std::env::var("STEPWELL_POSTGRES_CONTROL").ok();
    let Some((url, program)) = url.zip(program) else {
        eprintln!("SKIPPED: set STEPWELL_POSTGRES and STEPWELL_POSTGRES_CONTROL");
        return None;
    };
    let control = move |words: &[&str]| {
        let done = Command::new("sh").arg(&program).args(words).status();
        assert!(done.expect("it starts").success(), "{words:?}");
    };
    Some((url, control))
}

/// The scenes run one after the other: they share the server.
#[tokio::test(flavor = "multi_thread")]
async fn turns_survive_a_stopped_or_read_only_postgresql() {
    let Some((url, control)) = postgres() else {
        return;
    };
    let down: [(&[&str], &[&str], &str); 2] = [
        (&["stop"], &["start"], "store_unavailable"),
        (
            &["sql", "ALTER SYSTEM SET default_transaction_read_only = on"],
            &["sql", "ALTER SYSTEM RESET default_transaction_read_only"],
            "store_read_only",
        ),
    ];
    for (number, (stop, start, code)) in down.into_iter().enumerate() {
        let model = HeldModel::start().await;
        let name = format!("away-{}-{number}", std::process::id());
        let server = Server::before_url(&model.url, &["--store", &url]);
        server.begin(&name, "r", "?").await;
        let mut listener = Run::new(server.follow(&name, "r", None).await);
        listener.until("RUN_STARTED").await;
        model.asked().await;
        control(stop);
        // The text of this answer cannot be stored.
        model.answer();
        assert_eq!(waits(&mut listener).await, code);
        control(start);
        let rest = listener.rest().await;
        assert_eq!(kinds(&rest).last(), Some(&"RUN_FINISHED"));
        let whole = events(server.follow(&name, "r", None).await).await;
        assert_eq!(text(&whole), "At last.");
        assert_eq!(status(&server, &name).await, "complete");
    }
}
