//! What a running tool asks: in a run, where the next one has the answer, and in a session, over a restart too.

use crate::file::File;
use crate::server::{Server, asks, refusal};
use crate::stream::{Run, all, events};
use serde_json::{Value, json};

/// The word that has the scripted model order tea, by a tool that asks two questions.
const ORDER: &str = "order";

const ORDERED: &str = "Ordered: 2 cups of green tea.";

fn order() -> Value {
    json!({ "tea": "green", "cups": 2 })
}

fn answer(interrupt: &Value, payload: &Value) -> Value {
    json!({ "interruptId": interrupt["id"], "status": "resolved", "payload": payload })
}

fn cancelled(interrupt: &Value) -> Value {
    json!({ "interruptId": interrupt["id"], "status": "cancelled" })
}

/// A run on the one thread, and the only question that it ends with, if it asks one.
async fn run(server: &Server, id: &str, entries: Value) -> (Vec<Value>, Value) {
    let mut input = asks("tea", ORDER);
    input["runId"] = json!(id);
    input["resume"] = entries;
    let events = events(server.run(&input).await).await;
    let outcome = &events.last().expect("an end")["outcome"];
    let interrupts = outcome["interrupts"].as_array();
    assert!(interrupts.is_none_or(|interrupts| interrupts.len() == 1));
    let interrupt = outcome["interrupts"][0].clone();
    (events, interrupt)
}

fn result(events: &[Value]) -> String {
    let results = all(events, "TOOL_CALL_RESULT");
    results.first().expect("a result")["content"].to_string()
}

#[tokio::test]
async fn a_run_ends_with_a_question_and_the_next_answers_it() {
    let server = Server::start(&[]);
    let (_, which) = run(&server, "one", json!([])).await;
    assert_eq!(which["reason"], "input_required");
    assert_eq!(which["message"], "Which tea shall it be?");
    assert_eq!(which["toolCallId"], "call_0_0");
    assert_eq!(
        which["responseSchema"]["properties"]["cups"]["type"],
        "integer"
    );
    let misfit = answer(&which, &json!({ "tea": "green", "cups": "two" }));
    let (refused, _) = run(&server, "two", json!([misfit])).await;
    let refused = refused.last().expect("an end");
    assert_eq!(refused["code"], "interrupt_answer_invalid");
    assert!(refused["message"].to_string().contains("cups"), "{refused}");
    let (_, sure) = run(&server, "three", json!([answer(&which, &order())])).await;
    assert_eq!(sure["message"], "Order 2 cups of green tea?");
    let (settled, _) = run(&server, "four", json!([answer(&sure, &json!(true))])).await;
    assert!(result(&settled).contains(ORDERED));
    let end = settled.last().expect("an end");
    assert_eq!(end["outcome"]["type"], "success");
}

#[tokio::test]
async fn what_a_tool_asks_is_declined_by_a_cancellation() {
    let server = Server::start(&[]);
    let (_, which) = run(&server, "one", json!([])).await;
    let (settled, _) = run(&server, "two", json!([cancelled(&which)])).await;
    assert!(result(&settled).contains("no tea"));
}

#[tokio::test]
async fn what_a_tool_asks_lapses_and_blocks_nothing() {
    let server = Server::start(&["--interrupt-timeout", "0"]);
    let (asked, which) = run(&server, "one", json!([])).await;
    assert_ne!(which, Value::Null, "{asked:#?}");
    let (late, _) = run(&server, "two", json!([answer(&which, &order())])).await;
    assert_eq!(late.last().expect("an end")["code"], "interrupt_expired");
    let mut input = asks("tea", "hello");
    input["runId"] = json!("three");
    let goes_on = events(server.run(&input).await).await;
    assert_eq!(goes_on.last().expect("an end")["type"], "RUN_FINISHED");
}

/// Returns the next question of a turn.
async fn question(listener: &mut Run) -> Value {
    loop {
        let event = listener.next().await.expect("it goes on");
        if event["name"] == "interrupt" {
            return event["value"].clone();
        }
    }
}

async fn resume(server: &Server, entry: Value) -> reqwest::Response {
    let body = json!({ "resume": [entry] });
    server.act("t", "r", "resume", body).await
}

/// Returns the answers that a turn has reported, by their questions.
fn answered(events: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    all(events, "CUSTOM")
        .into_iter()
        .filter(|event| event["name"] == "interrupt_answered")
        .map(|event| {
            let value = &event["value"];
            (text(&value["interruptId"]), text(&value["status"]))
        })
        .collect()
}

#[tokio::test]
async fn a_session_asks_what_its_tool_wants_to_know() {
    let server = Server::start(&["--store", "memory"]);
    server.begin("t", "r", ORDER).await;
    let mut listener = Run::new(server.follow("t", "r", None).await);
    let which = question(&mut listener).await;
    assert_eq!(which["reason"], "input_required");
    let misfit = answer(&which, &json!({ "tea": "coffee", "cups": 1 }));
    let refused = refusal(resume(&server, misfit).await).await;
    assert_eq!(refused, (422, "answer_invalid".to_owned()));
    let list = server.json("/threads").await;
    assert_eq!(list["threads"][0]["needsUser"], true);
    let taken = resume(&server, answer(&which, &order())).await;
    assert_eq!(taken.status(), 204);
    let sure = question(&mut listener).await;
    assert_eq!(
        resume(&server, answer(&sure, &json!(true))).await.status(),
        204
    );
    let told = listener.rest().await;
    assert!(result(&told).contains(ORDERED));
    let late = refusal(resume(&server, answer(&sure, &json!(true))).await).await;
    assert_eq!(late, (409, "turn_over".to_owned()));
    // A later client sees the same.
    let whole = events(server.follow("t", "r", None).await).await;
    let id = |question: &Value| question["id"].as_str().expect("an id").to_owned();
    let resolved = "resolved".to_owned();
    assert_eq!(
        answered(&whole),
        [(id(&which), resolved.clone()), (id(&sure), resolved)]
    );
}

#[tokio::test]
async fn a_call_that_is_stopped_while_it_asks_withdraws_its_question() {
    let server = Server::start(&["--store", "memory"]);
    server.begin("t", "r", ORDER).await;
    let mut listener = Run::new(server.follow("t", "r", None).await);
    let which = question(&mut listener).await;
    let call = which["toolCallId"].as_str().expect("a call");
    let stopped = server
        .act("t", "r", &format!("calls/{call}/cancel"), json!({}))
        .await;
    assert_eq!(stopped.status(), 204);
    let told = listener.rest().await;
    let id = which["id"].as_str().expect("an id").to_owned();
    assert_eq!(answered(&told), [(id, "cancelled".to_owned())]);
    assert_eq!(told.last().expect("an end")["type"], "RUN_FINISHED");
}

#[tokio::test]
async fn a_tool_continues_when_its_question_expires() {
    let server = Server::start(&["--store", "memory", "--interrupt-timeout", "1"]);
    server.begin("t", "r", ORDER).await;
    let told = events(server.follow("t", "r", None).await).await;
    assert!(result(&told).contains("no tea"));
    let [(_, status)] = &answered(&told)[..] else {
        panic!("{told:#?}");
    };
    assert_eq!(status, "cancelled");
}

/// The next start runs a tool that asks again where it is idempotent: no user is asked twice what they have answered.
#[tokio::test]
async fn after_a_restart_only_open_questions_are_asked() {
    for answers_before in [0, 1] {
        let file = File::new(&format!("tool-asks-{answers_before}"));
        let store = file.store();
        let server = Server::start(&["--store", &store]);
        server.begin("t", "r", ORDER).await;
        let mut listener = Run::new(server.follow("t", "r", None).await);
        let mut open = question(&mut listener).await;
        if answers_before == 1 {
            let taken = resume(&server, answer(&open, &order())).await;
            assert_eq!(taken.status(), 204);
            open = question(&mut listener).await;
        }
        drop(server);
        let server = Server::start(&["--store", &store]);
        let payload = match answers_before {
            0 => order(),
            _ => json!(true),
        };
        // The question may not have been asked again yet.
        let taken = resume(&server, answer(&open, &payload)).await;
        assert_eq!(taken.status(), 204, "{}", taken.text().await.unwrap());
        let mut listener = Run::new(server.follow("t", "r", None).await);
        question(&mut listener).await;
        let sure = question(&mut listener).await;
        if answers_before == 0 {
            let taken = resume(&server, answer(&sure, &json!(true))).await;
            assert_eq!(taken.status(), 204);
        }
        let told = listener.rest().await;
        assert!(result(&told).contains(ORDERED), "{told:#?}");
        let whole = events(server.follow("t", "r", None).await).await;
        let asked = all(&whole, "CUSTOM");
        let asked = asked.iter().filter(|event| event["name"] == "interrupt");
        assert_eq!(asked.count(), 2, "each is asked once");
        let statuses: Vec<_> = answered(&whole)
            .into_iter()
            .map(|(_, status)| status)
            .collect();
        assert_eq!(statuses, ["resolved", "resolved"]);
    }
}
