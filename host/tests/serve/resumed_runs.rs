//! Clients of `/agent` that resume a run.

use crate::model::HeldModel;
use crate::server::{Server, asks};
use crate::stream::{Run, all, events, kinds, text};
use serde_json::{Value, json};
use stepwell_mock_llm::{Delivery, Hop, MockLlm, Script};

async fn from(server: &Server, input: &Value, last: &str) -> reqwest::Response {
    let request = server.post(input).header("last-event-id", last);
    request.send().await.expect("an answer")
}

#[tokio::test]
async fn a_run_under_way_posted_again_is_joined() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &[]);
    let mut first = Run::new(server.run(&asks("first", "?")).await);
    first.until("RUN_STARTED").await;
    let mut again = Run::new(server.run(&asks("first", "?")).await);
    again.until("RUN_STARTED").await;
    let snapshot = again.until("MESSAGES_SNAPSHOT").await;
    assert_eq!(snapshot["messages"][0]["content"], "?");
    model.answer();
    assert_eq!(text(&first.rest().await), "At last.");
    assert_eq!(text(&again.rest().await), "At last.");
}

#[tokio::test]
async fn a_client_joining_mid_message_gets_its_beginning() {
    let stalls = Hop::new().text("Half a sentence").stall();
    let model = MockLlm::start(Script::new().hop(stalls)).await;
    let model = model.expect("the mock starts");
    let server = Server::before(&model, &[]);
    let mut first = Run::new(server.run(&asks("first", "?")).await);
    first.until("TEXT_MESSAGE_CONTENT").await;
    let mut again = Run::new(server.run(&asks("first", "?")).await);
    let snapshot = again.until("MESSAGES_SNAPSHOT").await;
    assert_eq!(snapshot["messages"].as_array().map(Vec::len), Some(1));
    again.until("TEXT_MESSAGE_START").await;
    let so_far = again.until("TEXT_MESSAGE_CONTENT").await;
    let said = so_far["delta"].as_str().expect("a text");
    assert!("Half a sentence".starts_with(said), "{said}");
}

/// Posts a run again, and returns its events without the history before it.
async fn again(server: &Server, input: &Value) -> Vec<Value> {
    without_history(events(server.run(input).await).await)
}

/// Removes the snapshot of the messages before the run, which follows `RUN_STARTED`: the client would have them twice.
fn without_history(mut events: Vec<Value>) -> Vec<Value> {
    let history = events.remove(1);
    assert_eq!(history["type"], "MESSAGES_SNAPSHOT");
    let messages = history["messages"].as_array().expect("messages");
    assert_eq!(messages[0]["role"], "user");
    events
}

#[tokio::test]
async fn a_run_that_is_over_is_played_again_or_from_an_event_on() {
    let server = Server::start(&[]);
    let input = asks("first", "numbers");
    let whole = events(server.run(&input).await).await;
    assert_eq!(again(&server, &input).await, whole);
    let last = from(&server, &input, "first:1").await;
    let body = last.text().await.expect("text");
    let frames: Vec<_> = body.split_terminator("\n\n").collect();
    assert_eq!(frames.len(), whole.len() - 2, "{body}");
    assert!(
        frames
            .last()
            .is_some_and(|frame| frame.contains("RUN_FINISHED"))
    );
    // The id of an event of another run is none of this one's.
    let other = from(&server, &input, "other:1").await;
    assert_eq!(without_history(events(other).await), whole);
}

#[tokio::test]
async fn a_cut_client_resumes_with_its_partial_answer() {
    let server = Server::start(&[]);
    let mut input = asks("first", "numbers");
    let whole = events(server.run(&input).await).await;
    let begun = all(&whole, "TEXT_MESSAGE_START")[0];
    let part = json!({"id": begun["messageId"], "role": "assistant", "content": "A part"});
    let messages = input["messages"].as_array_mut().expect("messages");
    messages.push(part);
    assert_eq!(again(&server, &input).await, whole);
}

#[tokio::test]
async fn other_messages_are_another_run_whatever_its_id() {
    let server = Server::start(&[]);
    let first = events(server.run(&asks("same", "numbers")).await).await;
    let mut input = asks("same", "hello");
    input["messages"][0]["id"] = json!("another");
    let second = events(server.run(&input).await).await;
    assert_ne!(text(&first), text(&second));
    assert_eq!(second[0]["runId"], "same");
    assert_eq!(again(&server, &input).await, second);
}

#[tokio::test]
async fn a_run_in_the_background_outlives_its_connection() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &["--resume-timeout", "0"]);
    let mut input = asks("first", "?");
    input["forwardedProps"] = json!({"background": true});
    let mut first = Run::new(server.run(&input).await);
    first.until("RUN_STARTED").await;
    model.asked().await;
    drop(first);
    model.answer();
    let rest = events(server.run(&input).await).await;
    assert_eq!(text(&rest), "At last.");
    assert_eq!(kinds(&rest).last(), Some(&"RUN_FINISHED"));
}

#[tokio::test]
async fn a_client_reattaches_to_a_named_or_the_latest_run() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &[]);
    let mut first = Run::new(server.run(&asks("first", "?")).await);
    first.until("RUN_STARTED").await;
    let mut input = asks("another", "?");
    input["threadId"] = asks("first", "?")["threadId"].clone();
    input["messages"] = json!([]);
    let mut wants = async |run: &str| {
        input["forwardedProps"] = json!({"reattach": run});
        server.run(&input).await
    };
    let mut joined = Vec::new();
    for run in ["first", ""] {
        let mut run = Run::new(wants(run).await);
        assert_eq!(run.until("RUN_STARTED").await["runId"], "first");
        joined.push(run);
    }
    assert_eq!(wants("none").await.status(), 404);
    model.answer();
    joined.push(first);
    for mut run in joined {
        assert_eq!(text(&run.rest().await), "At last.");
    }
    for run in ["first", ""] {
        let again = events(wants(run).await).await;
        assert_eq!(text(&again), "At last.");
        assert_eq!(kinds(&again).last(), Some(&"RUN_FINISHED"));
    }
}

#[tokio::test]
async fn a_run_is_stopped_by_a_request_of_its_own() {
    let stalls = Hop::new().text("I wait.").stall();
    let model = MockLlm::start(Script::new().hop(stalls)).await;
    let model = model.expect("the mock starts");
    let server = Server::before(&model, &[]);
    let mut run = Run::new(server.run(&asks("first", "?")).await);
    run.until("TEXT_MESSAGE_CONTENT").await;
    let thread = asks("first", "?")["threadId"].clone();
    for (id, is_stopped) in [("other", false), ("first", true)] {
        let stop = server.request("POST", "/agent/stop");
        let stop = stop.json(&json!({"threadId": thread, "runId": id}));
        assert_eq!(stop.send().await.expect("an answer").status(), 204);
        let delivery = model.requests()[0].delivery;
        assert!(is_stopped || delivery == Delivery::Sending, "{id}");
    }
    let rest = run.rest().await;
    assert_eq!(rest.last().expect("an end")["outcome"]["type"], "cancelled");
}

#[tokio::test]
async fn an_answer_that_is_posted_again_counts_once() {
    let server = Server::start(&[]);
    let asked = events(server.run(&asks("first", "change")).await).await;
    let interrupt = &asked.last().expect("an end")["outcome"]["interrupts"][0];
    let entry = json!({"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": true}});
    let mut input = asks("first", "change");
    input["runId"] = json!("second");
    input["resume"] = json!([entry]);
    let second = events(server.run(&input).await).await;
    assert_eq!(all(&second, "TOOL_CALL_RESULT").len(), 1);
    assert_eq!(again(&server, &input).await, second);
}

#[tokio::test]
async fn a_follower_of_the_thread_may_answer_a_runs_question() {
    let server = Server::start(&[]);
    let asked = events(server.run(&asks("first", "change")).await).await;
    let interrupt = &asked.last().expect("an end")["outcome"]["interrupts"][0];
    let entry = json!({"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": true}});
    let body = json!({ "resume": [entry] });
    let answered = server.act("thread-of-first", "first", "resume", body).await;
    assert_eq!(answered.status(), 204);
    let told = events(server.follow("thread-of-first", "first", None).await).await;
    assert_eq!(all(&told, "RUN_STARTED").len(), 2);
    assert_eq!(all(&told, "TOOL_CALL_RESULT").len(), 1);
    assert_eq!(kinds(&told).last(), Some(&"RUN_FINISHED"));
}
