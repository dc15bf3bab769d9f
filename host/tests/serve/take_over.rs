//! Hosts on one store that die, freeze, are cut off, or start at once: a turn continues at another, and only at one.
//! The address of a PostgreSQL server is in `STEPWELL_POSTGRES`, with the folder of its socket.
//!
//! `STEPWELL_TAKE_OVERS` sets how often each is tried (1). The time of a take-over is printed, and not checked.
#![cfg(unix)]

use crate::audit::{Audit, judge};
use crate::file::File;
use crate::line::{Line, State};
use crate::model::HeldModel;
use crate::program::before;
use crate::server::Server;
use crate::stream::{Run, all, events, kinds, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;
use stepwell_mock_llm::{Dialect, Hop, MockLlm, Script};

/// The number of turns that a host has when it is lost.
const TURNS: usize = 4;

fn times() -> usize {
    let wanted = std::env::var("STEPWELL_TAKE_OVERS").ok();
    wanted.map_or(1, |wanted| wanted.parse().expect("a number"))
}

fn url() -> Option<String> {
    let url = std::env::var("STEPWELL_POSTGRES").ok();
    if url.is_none() {
        eprintln!("SKIPPED: set STEPWELL_POSTGRES to a server's address");
    }
    url
}

fn host(model: &HeldModel, store: &str) -> Server {
    Server::before_url(&model.url, &["--store", store])
}

/// A host whose log is read.
fn logged(model: &HeldModel, store: &str) -> (Server, impl FnMut(&str) + use<>) {
    let arguments = [
        ["--provider", "openai-compatible"],
        ["--model", "m"],
        ["--base-url", &*model.url],
        ["--store", store],
    ];
    let mut server = Server::start_logged(&arguments.concat(), "info", Stdio::piped());
    let mut lines = BufReader::new(server.stderr()).lines();
    let until = move |words: &str| {
        let line = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(words)));
        line.unwrap_or_else(|| panic!("the log does not say `{words}`"))
            .expect("a line");
    };
    (server, until)
}

fn signal(server: &Server, name: &str) {
    let sent = Command::new("kill")
        .args([name, &server.id().to_string()])
        .status();
    assert!(sent.expect("kill is there").success());
}

/// Begins turns on a host until the model is asked for each, and follows them on another.
async fn begin(name: &str, on: &Server, model: &HeldModel, at: &Server) -> Vec<(String, Run)> {
    let mut turns = Vec::new();
    for number in 0..TURNS {
        let thread = format!("{name}-{number}");
        on.begin(&thread, "r", "?").await;
        model.asked().await;
        let mut listener = Run::new(at.follow(&thread, "r", None).await);
        listener.until("RUN_STARTED").await;
        turns.push((thread, listener));
    }
    turns
}

/// Waits until the model is asked for all turns again, lets it answer, and reads all to their ends.
async fn go_on(what: &str, lost_at: Instant, turns: &mut [(String, Run)], model: &HeldModel) {
    model.asked().await;
    let first = lost_at.elapsed();
    for _ in 1..TURNS {
        model.asked().await;
    }
    let last = lost_at.elapsed();
    println!(
        "take-over, {what}: {TURNS} turns go on after {:.2} to {:.2} s",
        first.as_secs_f64(),
        last.as_secs_f64()
    );
    // The first requests may be from the host that died.
    for _ in 0..2 * TURNS {
        model.answer();
    }
    for (_, listener) in turns {
        let rest = listener.rest().await;
        assert_eq!(kinds(&rest).last(), Some(&"RUN_FINISHED"));
        assert_eq!(text(&rest), "At last.");
    }
}

/// Returns the logs of the turns, after checks on all hosts: one beginning, one answer and one end each.
async fn whole(turns: &[(String, Run)], hosts: &[&Server]) -> Vec<Vec<Value>> {
    let mut logs = Vec::new();
    for (thread, _) in turns {
        let log = events(hosts[0].follow(thread, "r", None).await).await;
        for kind in ["RUN_STARTED", "RUN_FINISHED"] {
            assert_eq!(all(&log, kind).len(), 1, "{log:#?}");
        }
        assert_eq!(text(&log), "At last.");
        for host in hosts {
            assert_eq!(events(host.follow(thread, "r", None).await).await, log);
        }
        logs.push(log);
    }
    logs
}

/// Watches a schema of its own.
async fn audit(url: &str, name: &str) -> Audit {
    Audit::start(url, &name.to_lowercase().replace('-', "_")).await
}

/// Of every write of both hosts none of the old one's comes after the new one's first, turn by turn.
async fn one_writes(what: &str, audit: &Audit) {
    let writes = audit.writes().await;
    let judged = judge(&writes).expect("one writes at a time");
    assert_eq!(judged.handed_on, TURNS, "{writes:#?}");
    println!("audit, {what}: {judged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_hosts_turns_continue_at_another() {
    let Some(url) = url() else { return };
    for round in 0..times() {
        let name = format!("killed-{}-{round}", std::process::id());
        let model = HeldModel::start().await;
        let one = host(&model, &url);
        let other = host(&model, &url);
        let mut turns = begin(&name, &one, &model, &other).await;
        let killed_at = Instant::now();
        drop(one);
        go_on("killed (SIGKILL)", killed_at, &mut turns, &model).await;
        whole(&turns, &[&other]).await;
        assert_eq!(model.questions(), 2 * TURNS, "once again for each turn");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_host_loses_its_turns_to_another() {
    let Some(url) = url() else { return };
    for round in 0..times() {
        let name = format!("frozen-{}-{round}", std::process::id());
        let model = HeldModel::start().await;
        let audit = audit(&url, &name).await;
        let (one, mut until) = logged(&model, &audit.store("one"));
        let other = host(&model, &audit.store("other"));
        let mut turns = begin(&name, &one, &model, &other).await;
        let frozen_at = Instant::now();
        signal(&one, "-STOP");
        go_on("frozen (SIGSTOP)", frozen_at, &mut turns, &model).await;
        let told = whole(&turns, &[&other]).await;
        // The frozen host now receives its own answers, which no client waits for.
        signal(&one, "-CONT");
        for _ in 0..TURNS {
            until("a turn is left to its new owner");
        }
        assert_eq!(whole(&turns, &[&other, &one]).await, told);
        assert_eq!(model.questions(), 2 * TURNS, "once again for each turn");
        one_writes("frozen (SIGSTOP)", &audit).await;
        is_back(&name, &one, &model).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_off_hosts_turns_continue_at_another() {
    let Some(url) = url() else { return };
    let cuts = [
        (State::Ended, "cut off"),
        (State::Silent, "cut off and not told"),
    ];
    for (round, (cut, what)) in (0..times()).flat_map(|round| cuts.map(|cut| (round, cut))) {
        let name = format!("{cut:?}-{}-{round}", std::process::id());
        let model = HeldModel::start().await;
        let (audit, line) = (audit(&url, &name).await, Line::to(&url, &name));
        let (one, mut until) = logged(&model, &audit.store_at(&line.url, "one"));
        let other = host(&model, &audit.store("other"));
        let mut turns = begin(&name, &one, &model, &other).await;
        let cut_at = Instant::now();
        line.set(cut);
        go_on(what, cut_at, &mut turns, &model).await;
        let told = whole(&turns, &[&other]).await;
        // By now the host has its own answers, which no client waits for.
        line.set(State::Whole);
        for _ in 0..TURNS {
            until("a turn is left to its new owner");
        }
        assert_eq!(whole(&turns, &[&other, &one]).await, told);
        assert_eq!(model.questions(), 2 * TURNS, "once again for each turn");
        one_writes(what, &audit).await;
        is_back(&name, &one, &model).await;
    }
}

/// A host that was lost takes new turns, and keeps them.
async fn is_back(name: &str, one: &Server, model: &HeldModel) {
    let thread = format!("{name}-back");
    one.begin(&thread, "r", "?").await;
    model.asked().await;
    model.answer();
    let told = events(one.follow(&thread, "r", None).await).await;
    assert_eq!(text(&told), "At last.");
    assert_eq!(model.questions(), 2 * TURNS + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_starting_hosts_one_continues_each_turn() {
    let Some(url) = url() else { return };
    for round in 0..times() {
        let name = format!("at-once-{}-{round}", std::process::id());
        let model = HeldModel::start().await;
        let one = host(&model, &url);
        for number in 0..TURNS {
            one.begin(&format!("{name}-{number}"), "r", "?").await;
            model.asked().await;
        }
        let killed_at = Instant::now();
        drop(one);
        let start = || {
            let (model, store) = (model.url.clone(), url.clone());
            tokio::task::spawn_blocking(move || Server::before_url(&model, &["--store", &store]))
        };
        let (one, other) = tokio::join!(start(), start());
        let (one, other) = (one.expect("it starts"), other.expect("it starts"));
        let mut turns = Vec::new();
        for number in 0..TURNS {
            let thread = format!("{name}-{number}");
            let mut listener = Run::new(other.follow(&thread, "r", None).await);
            listener.until("RUN_STARTED").await;
            turns.push((thread, listener));
        }
        go_on("two hosts start at once", killed_at, &mut turns, &model).await;
        whole(&turns, &[&one, &other]).await;
        assert_eq!(model.questions(), 2 * TURNS, "once again for each turn");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_the_same_name_leaves_the_turns_of_one_that_lives() {
    let Some(url) = url() else { return };
    let name = format!("same-name-{}", std::process::id());
    let model = HeldModel::start().await;
    let start = || Server::before_url(&model.url, &["--store", &url, "--owner", "the-host"]);
    let one = start();
    one.begin(&name, "r", "?").await;
    model.asked().await;
    // When the host answers it has looked for orphaned turns.
    let other = start();
    let second = format!("{name}-second");
    other.begin(&second, "r", "?").await;
    model.asked().await;
    assert_eq!(model.questions(), 2, "once for each turn");
    model.answer();
    model.answer();
    for thread in [&name, &second] {
        let told = events(one.follow(thread, "r", None).await).await;
        assert_eq!(text(&told), "At last.");
        assert_eq!(events(other.follow(thread, "r", None).await).await, told);
    }
    assert_eq!(model.questions(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_resumes_anothers_turns_in_a_shared_file() {
    let file = File::new("shared");
    let model = HeldModel::start().await;
    let one = host(&model, &file.store());
    let other = host(&model, &file.store());
    let mut turns = begin("shared", &one, &model, &other).await;
    let mut others = begin("others", &other, &model, &one).await;
    // A process that starts takes no turn of one that is alive.
    drop(host(&model, &file.store()));
    assert_eq!(model.questions(), 2 * TURNS);
    let killed_at = Instant::now();
    drop(one);
    go_on("killed, on a file", killed_at, &mut turns, &model).await;
    whole(&turns, &[&other]).await;
    for (thread, _) in &mut others {
        let told = events(other.follow(thread, "r", None).await).await;
        assert_eq!(text(&told), "At last.");
    }
    assert_eq!(
        model.questions(),
        3 * TURNS,
        "once again for each turn of the killed one"
    );
}

/// A turn that has asked the user and left a call to the client, on a host that is killed: another host, before another
/// provider, accepts both answers.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_hosts_turn_waits_for_is_brought_to_another() {
    let Some(url) = url() else { return };
    for round in 0..times() {
        let thread = format!("waits-{}-{round}", std::process::id());
        let calls = Hop::new()
            .tool_call_with_id("sum", "calculator", json!({"expression": "40 + 2"}))
            .tool_call_with_id("place", "where", json!({}));
        let script = Script::new().hop(calls).hop(Hop::new().text("Done."));
        let model = MockLlm::start(script).await.expect("the mock starts");
        let arguments = ["--store", &*url, "--ask-before", "calculator"];
        let one = Server::before(&model, &arguments);
        let base = model.url(Dialect::Anthropic);
        let provider = before("anthropic", &base);
        let arguments = [&provider[..], &arguments].concat();
        let other = Server::start_with(&arguments, Some(("ANTHROPIC_API_KEY", "test-key")));
        let tools = json!([{"name": "where", "description": "Where the user is."}]);
        let body = json!({"turnId": "r", "message": "?", "tools": tools});
        let path = format!("/threads/{thread}/turns");
        let begun = one.call("POST", &path, Some(body)).await;
        assert_eq!(begun.status(), 201);
        let mut listener = Run::new(other.follow(&thread, "r", None).await);
        let (mut is_asked, mut is_left) = (false, false);
        while !(is_asked && is_left) {
            let event = listener.next().await.expect("it goes on");
            is_asked |= event["name"] == "interrupt";
            is_left |=
                event["value"]["toolCallId"] == "place" && event["value"]["status"] == "deferred";
        }
        drop(one);
        listener.until("MESSAGES_SNAPSHOT").await;
        let entry = json!({"interruptId": "interrupt-sum", "status": "resolved", "payload": {"approved": true}});
        for (action, said) in [
            ("resume", json!({ "resume": [entry] })),
            ("calls/place/result", json!({"content": "Here."})),
        ] {
            let taken = other.act(&thread, "r", action, said).await;
            assert_eq!(taken.status(), 204, "{action}");
        }
        let rest = listener.rest().await;
        assert_eq!(kinds(&rest).last(), Some(&"RUN_FINISHED"));
        assert_eq!(text(&rest), "Done.");
        let log = events(other.follow(&thread, "r", None).await).await;
        for call in ["sum", "place"] {
            let mut results = all(&log, "TOOL_CALL_RESULT");
            results.retain(|result| result["toolCallId"] == call);
            assert_eq!(results.len(), 1, "{call}: {log:#?}");
        }
        assert!(model.failures().is_empty(), "{:?}", model.failures());
    }
}
