//! Tools of a client's in the turns of sessions: offered to the model, left to whichever client brings the result.

use crate::file::File;
use crate::server::{Server, refusal};
use crate::stream::{Run, all, events};
use reqwest::Response;
use serde_json::{Value, json};
use stepwell_mock_llm::{Hop, MockLlm, Script};

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "Where the user is."})
}

/// Starts a model that asks where the user is and calls a tool of the server's, and then answers with this text.
async fn asking(tool: &str) -> MockLlm {
    let calls = Hop::new()
        .tool_call_with_id("place", tool, json!({}))
        .tool_call_with_id("sum", "calculator", json!({"expression": "40 + 2"}));
    let script = Script::new()
        .hop(calls)
        .hop(Hop::new().text("You are there."));
    MockLlm::start(script).await.expect("the mock starts")
}

async fn post(server: &Server, body: &Value) -> Response {
    let request = server.request("POST", "/threads/t/turns");
    let request = request.header("content-type", "application/json");
    let request = request.body(body.to_string());
    request.send().await.expect("an answer")
}

async fn begin(server: &Server, name: &str) {
    let body = json!({"turnId": "r", "message": "?", "tools": [tool(name)]});
    let begun = post(server, &body).await;
    assert_eq!(begun.status(), 201, "{}", begun.text().await.unwrap());
}

/// Follows the turn until its call of the client's tool waits, and the server's own is done.
async fn awaited(server: &Server) {
    let mut listener = Run::new(server.follow("t", "r", None).await);
    let (mut is_awaited, mut is_done) = (false, false);
    while !(is_awaited && is_done) {
        let event = listener.next().await.expect("it goes on");
        let value = &event["value"];
        is_awaited |= value["toolCallId"] == "place" && value["status"] == "deferred";
        is_done |= event["type"] == "TOOL_CALL_RESULT" && event["toolCallId"] == "sum";
    }
}

async fn bring(server: &Server, call: &str, result: Value) -> Response {
    let action = format!("calls/{call}/result");
    server.act("t", "r", &action, result).await
}

/// Returns the reported result of the call, and the outcome of the turn.
async fn told(server: &Server) -> (Value, Value) {
    let told = events(server.follow("t", "r", None).await).await;
    let results = all(&told, "TOOL_CALL_RESULT");
    let snapshots = all(&told, "MESSAGES_SNAPSHOT");
    let stored = snapshots
        .iter()
        .flat_map(|snapshot| snapshot["messages"].as_array().expect("messages"));
    let mut results = results.into_iter().chain(stored);
    let result = results.find(|result| result["toolCallId"] == "place");
    let result = result.expect("a result")["content"].clone();
    (result, told.last().expect("an end").clone())
}

#[tokio::test]
async fn a_call_waits_for_its_result_and_takes_one() {
    let model = asking("where").await;
    let server = Server::before(&model, &["--store", "memory"]);
    begin(&server, "where").await;
    awaited(&server).await;
    let offered = model.requests()[0].body["tools"].to_string();
    assert!(offered.contains(r#""where""#), "{offered}");

    let is = |status, code: &str| (status, code.to_owned());
    let here = || json!({"content": "Patan"});
    let unknown = refusal(bring(&server, "none", here()).await).await;
    assert_eq!(unknown, is(404, "no_call"));
    let servers_own = refusal(bring(&server, "sum", here()).await).await;
    assert_eq!(servers_own, is(409, "call_not_waiting"));
    for body in [
        json!({}),
        json!({"content": "a", "error": "b"}),
        json!({"content": 7}),
    ] {
        let refused = refusal(bring(&server, "place", body).await).await;
        assert_eq!(refused, is(422, "invalid_input"));
    }
    let path = "/threads/t/turns/other/calls/place/result";
    let no_turn = server.request("POST", path);
    let no_turn = no_turn.header("content-type", "application/json");
    let no_turn = no_turn
        .body(here().to_string())
        .send()
        .await
        .expect("an answer");
    assert_eq!(refusal(no_turn).await, is(404, "no_turn"));

    assert_eq!(bring(&server, "place", here()).await.status(), 204);
    let again = refusal(bring(&server, "place", json!({"content": "Agra"})).await).await;
    assert!(
        [is(409, "call_not_waiting"), is(409, "turn_over")].contains(&again),
        "{again:?}"
    );
    let (result, end) = told(&server).await;
    assert_eq!(result, "Patan");
    assert_eq!(end["type"], "RUN_FINISHED");
    let over = refusal(bring(&server, "place", here()).await).await;
    assert_eq!(over, is(409, "turn_over"));
}

#[tokio::test]
async fn a_failed_tool_is_reported_to_the_model() {
    let model = asking("where").await;
    let server = Server::before(&model, &["--store", "memory"]);
    begin(&server, "where").await;
    awaited(&server).await;
    let failed = json!({"error": "there is no signal"});
    assert_eq!(bring(&server, "place", failed).await.status(), 204);
    let (result, _) = told(&server).await;
    assert_eq!(result, "there is no signal");
    assert!(
        model.requests()[1]
            .body
            .to_string()
            .contains("there is no signal")
    );
}

#[tokio::test]
async fn after_a_restart_the_clients_tool_still_works() {
    let (file, model) = (File::new("client-tools"), asking("where").await);
    let store = file.store();
    let server = Server::before(&model, &["--store", &store]);
    begin(&server, "where").await;
    awaited(&server).await;
    drop(server);
    let server = Server::before(&model, &["--store", &store]);
    awaited(&server).await;
    let here = json!({"content": "Patan"});
    assert_eq!(bring(&server, "place", here).await.status(), 204);
    let (result, end) = told(&server).await;
    assert_eq!(
        (&result, &end["type"]),
        (&json!("Patan"), &json!("RUN_FINISHED"))
    );
    let requests = model.requests();
    assert_eq!(requests.len(), 2, "nothing was asked again");
    assert_eq!(requests[1].body["tools"], requests[0].body["tools"]);
}

#[tokio::test]
async fn a_turn_whose_tool_is_the_servers_own_after_a_restart_ends() {
    let file = File::new("client-tools-taken");
    let model = asking("get_secret_number").await;
    let store = file.store();
    let server = Server::before(&model, &["--store", &store]);
    begin(&server, "get_secret_number").await;
    awaited(&server).await;
    drop(server);
    // With the scripted model the server has a tool of this name.
    let server = Server::start(&["--store", &store]);
    let told = events(server.follow("t", "r", None).await).await;
    let end = told.last().expect("an end");
    let end = (&end["type"], &end["code"]);
    assert_eq!(end, (&json!("RUN_ERROR"), &json!("turn_failed")));
}

#[tokio::test]
async fn a_call_without_a_result_times_out() {
    let model = asking("where").await;
    let arguments = [
        "--store",
        "memory",
        "--interrupt-timeout",
        "1",
        "--run-timeout",
        "600",
    ];
    let server = Server::before(&model, &arguments);
    begin(&server, "where").await;
    let (_, end) = told(&server).await;
    assert_eq!(end["type"], "RUN_FINISHED");
}

#[tokio::test]
async fn a_call_that_waits_is_stopped_like_any_other() {
    let model = asking("where").await;
    let server = Server::before(&model, &["--store", "memory"]);
    begin(&server, "where").await;
    awaited(&server).await;
    let stopped = server.act("t", "r", "calls/place/cancel", json!({})).await;
    assert_eq!(stopped.status(), 204);
    let late = bring(&server, "place", json!({"content": "Patan"})).await;
    assert_eq!(late.status(), 409);
    let (result, end) = told(&server).await;
    assert_ne!(result, "Patan");
    assert_eq!(end["type"], "RUN_FINISHED");
}

#[tokio::test]
async fn refused_tools_leave_the_turn_under_way_alone() {
    let model = asking("where").await;
    let server = Server::before(&model, &["--store", "memory"]);
    begin(&server, "where").await;
    awaited(&server).await;
    let many: Vec<_> = (0..4_097)
        .map(|number| tool(&format!("t{number}")))
        .collect();
    let long = json!({"name": "long", "description": "x".repeat(300_000)});
    for (tools, code) in [
        (json!([tool("calculator")]), "unusable_tool"),
        (json!([tool("change_state")]), "unusable_tool"),
        (json!([tool("one"), tool("one")]), "unusable_tool"),
        (json!([tool("not a name")]), "unusable_tool"),
        (
            json!([{"name": "odd", "description": "", "parameters": {"type": "nonsense"}}]),
            "unusable_tool",
        ),
        (json!(many), "invalid_input"),
        (json!([long]), "invalid_input"),
        (json!({}), "invalid_input"),
    ] {
        let body = json!({"turnId": "other", "message": "?", "tools": tools});
        let refused = refusal(post(&server, &body).await).await;
        assert_eq!(refused, (422, code.to_owned()));
    }
    assert_eq!(
        bring(&server, "place", json!({"content": "Patan"}))
            .await
            .status(),
        204
    );
    assert_eq!(told(&server).await.0, "Patan");
}
