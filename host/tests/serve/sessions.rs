//! Sessions that the server keeps: turns continue without clients, and a client that resumes catches up.

use crate::file::File;
use crate::model::HeldModel;
use crate::server::{Server, refusal};
use crate::stream::{Run, all, events, kinds, text};
use reqwest::Response;
use serde_json::{Value, json};

const STORE: [&str; 2] = ["--store", "memory"];

impl Server {
    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Response {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        request.send().await.expect("an answer")
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status(), 200);
        serde_json::from_str(&response.text().await.expect("text")).expect("JSON")
    }

    /// Starts a turn.
    pub(crate) async fn begin(&self, thread: &str, turn: &str, message: &str) {
        let body = json!({ "turnId": turn, "message": message });
        let path = format!("/threads/{thread}/turns");
        let response = self.call("POST", &path, Some(body)).await;
        assert_eq!(response.status(), 201, "{}", response.text().await.unwrap());
    }

    /// Follows a turn, from its beginning or from after an event.
    pub(crate) async fn follow(&self, thread: &str, turn: &str, last: Option<u64>) -> Response {
        let mut request = self.request(
            "GET",
            &format!("/threads/{thread}/turns/{turn}/events?protocolVersion=1.0"),
        );
        if let Some(last) = last {
            request = request.header("last-event-id", format!("{turn}:{last}"));
        }
        request.send().await.expect("an answer")
    }

    /// Says how far the user has seen a turn; gives the status.
    pub(crate) async fn acknowledge(&self, thread: &str, turn: &str, index: u64) -> u16 {
        let body = json!({ "index": index });
        let answer = self.act(thread, turn, "acknowledge", body).await;
        answer.status().as_u16()
    }

    pub(crate) async fn act(
        &self,
        thread: &str,
        turn: &str,
        action: &str,
        body: Value,
    ) -> Response {
        let path = format!("/threads/{thread}/turns/{turn}/{action}");
        self.call("POST", &path, Some(body)).await
    }
}

/// Every event after the first ones, which were read before.
pub(crate) async fn later(response: Response, first: u64) -> Vec<Value> {
    let text = response.text().await.expect("text");
    let frames = text
        .split_terminator("\n\n")
        .filter(|frame| frame.starts_with("id: "));
    frames
        .zip(first..)
        .map(|(frame, index)| {
            let (id, data) = frame.split_once("\ndata: ").expect("an id and data");
            assert!(id.ends_with(&format!(":{index}")), "{id} is not {index}");
            serde_json::from_str(data).expect("JSON")
        })
        .collect()
}

#[tokio::test]
async fn a_turn_without_readers_continues_and_is_complete_later() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &STORE);
    server.begin("t", "r", "?").await;
    let mut listener = Run::new(server.follow("t", "r", None).await);
    listener.until("RUN_STARTED").await;
    drop(listener);
    model.asked().await;
    model.answer();
    let told = events(server.follow("t", "r", None).await).await;
    assert_eq!(text(&told), "At last.");
    assert_eq!(kinds(&told).last(), Some(&"RUN_FINISHED"));
    let again = events(server.follow("t", "r", None).await).await;
    assert_eq!(again, told, "a finished turn gives its whole log");
}

#[tokio::test]
async fn a_returning_client_gets_only_the_missed_events() {
    let server = Server::start(&STORE);
    server.begin("t", "r", "What are the numbers?").await;
    let whole = events(server.follow("t", "r", None).await).await;
    for last in 0..whole.len() {
        let rest = later(
            server.follow("t", "r", Some(last as u64)).await,
            last as u64 + 1,
        )
        .await;
        assert_eq!(rest, whole[last + 1..], "after {last}");
    }
}

#[tokio::test]
async fn two_listeners_receive_the_same() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &STORE);
    server.begin("t", "r", "?").await;
    let one = server.follow("t", "r", None).await;
    let other = server.follow("t", "r", None).await;
    model.asked().await;
    model.answer();
    let (one, other) = (events(one).await, events(other).await);
    assert_eq!(one, other);
    assert_eq!(text(&one), "At last.");
}

#[tokio::test]
async fn a_turn_is_cancelled_on_request() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &STORE);
    server.begin("t", "r", "?").await;
    let listener = server.follow("t", "r", None).await;
    model.asked().await;
    let done = server.act("t", "r", "cancel", json!({})).await;
    assert_eq!(done.status(), 204);
    let told = events(listener).await;
    let end = told.last().expect("an end");
    assert_eq!(end["outcome"], json!({"type": "cancelled"}), "{end}");
    let thread = server.json("/threads/t").await;
    assert_eq!(thread["thread"]["unfinishedTurn"], Value::Null);
    assert_eq!(thread["session"]["turns"][0]["status"], "cancelled");
    assert_eq!(
        server.act("t", "r", "cancel", json!({})).await.status(),
        204
    );
    // A page of another origin could send this unasked.
    let plain = server
        .request("POST", "/threads/t/turns/r/cancel")
        .send()
        .await;
    assert_eq!(refusal(plain.expect("an answer")).await.0, 415);
}

#[tokio::test]
async fn a_new_turn_stops_the_one_before() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &STORE);
    server.begin("t", "first", "?").await;
    let first = server.follow("t", "first", None).await;
    model.asked().await;
    server.begin("t", "second", "??").await;
    let end = events(first).await.pop().expect("an end");
    assert_eq!(end["outcome"], json!({"type": "cancelled"}), "{end}");
    model.asked().await;
    // The model may still hold the request of the first turn, which is closed.
    model.answer();
    model.answer();
    let told = events(server.follow("t", "second", None).await).await;
    assert_eq!(text(&told), "At last.");
}

#[tokio::test]
async fn a_tool_that_asks_is_allowed_or_denied() {
    for (approved, status, said) in [(true, "completed", "43"), (false, "denied", "not now")] {
        let server = Server::start(&STORE);
        server.begin("t", "r", "change").await;
        let mut listener = Run::new(server.follow("t", "r", None).await);
        let question = loop {
            let event = listener.until("CUSTOM").await;
            if event["name"] == "interrupt" {
                break event["value"].clone();
            }
        };
        assert_eq!(question["reason"], "tool_call");
        let wrong = json!({ "resume": [{ "interruptId": "other", "status": "cancelled" }] });
        let refused = refusal(server.act("t", "r", "resume", wrong).await).await;
        assert_eq!(refused, (422, "answer_invalid".to_owned()));
        let answer = json!({ "resume": [{
            "interruptId": question["id"],
            "status": "resolved",
            "payload": { "approved": approved, "reason": "not now" },
        }] });
        let done = server.act("t", "r", "resume", answer.clone()).await;
        assert_eq!(done.status(), 204, "{}", done.text().await.unwrap());
        let told = listener.rest().await;
        let result = all(&told, "TOOL_CALL_RESULT")[0]["content"].to_string();
        assert!(result.contains(said), "{result}");
        let statuses: Vec<_> = all(&told, "CUSTOM")
            .into_iter()
            .filter(|event| event["name"] == "tool_status")
            .map(|event| event["value"]["status"].clone())
            .collect();
        assert_eq!(statuses.last(), Some(&json!(status)));
        let late = refusal(server.act("t", "r", "resume", answer).await).await;
        assert_eq!(late, (409, "turn_over".to_owned()));
    }
}

#[tokio::test]
async fn threads_are_listed_shown_renamed_and_deleted() {
    let server = Server::start(&STORE);
    for thread in ["a", "b"] {
        server.begin(thread, "r", "hello there").await;
        events(server.follow(thread, "r", None).await).await;
    }
    let list = server.json("/threads").await;
    let ids: Vec<_> = list["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["threadId"])
        .collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(list["next"], Value::Null);
    let page = server.json("/threads?limit=1").await;
    let next = page["next"].as_str().expect("a next page");
    let rest = server.json(&format!("/threads?limit=1&after={next}")).await;
    assert_ne!(
        rest["threads"][0]["threadId"],
        page["threads"][0]["threadId"]
    );

    let view = server.json("/threads/a").await;
    assert_eq!(view["thread"]["title"], "hello there");
    let messages = view["session"]["messages"].as_array().expect("messages");
    let roles: Vec<_> = messages
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant"]);

    let renamed = server
        .call("PATCH", "/threads/a", Some(json!({ "title": "Numbers" })))
        .await;
    assert_eq!(renamed.status(), 204);
    assert_eq!(
        server.json("/threads/a").await["thread"]["title"],
        "Numbers"
    );
    assert_eq!(
        server.call("DELETE", "/threads/a", None).await.status(),
        204
    );
    let gone = refusal(server.get("/threads/a").await).await;
    assert_eq!(gone, (404, "no_thread".to_owned()));
    let gone = refusal(server.follow("a", "r", None).await).await;
    assert_eq!(gone, (404, "no_turn".to_owned()));
    let gone = refusal(server.call("DELETE", "/threads/a", None).await).await;
    assert_eq!(gone, (404, "no_thread".to_owned()));
}

#[tokio::test]
async fn an_edited_message_is_a_branch_of_its_own() {
    let server = Server::start(&STORE);
    server.begin("t", "one", "hello").await;
    events(server.follow("t", "one", None).await).await;
    server.begin("t", "two", "think").await;
    events(server.follow("t", "two", None).await).await;
    let body = json!({ "turnId": "edited", "parent": "one", "message": "hello again" });
    let response = server.call("POST", "/threads/t/turns", Some(body)).await;
    assert_eq!(response.status(), 201);
    events(server.follow("t", "edited", None).await).await;
    let ids = |view: &Value| -> Vec<String> {
        let turns = view["session"]["turns"].as_array().expect("turns").iter();
        turns
            .map(|turn| turn["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&server.json("/threads/t").await), ["one", "edited"]);
    assert_eq!(
        ids(&server.json("/threads/t?turn=two").await),
        ["one", "two"]
    );
    let turns = server.json("/threads/t").await["turns"]
        .as_array()
        .expect("turns")
        .len();
    assert_eq!(turns, 3);
    for (body, expected) in [
        (
            json!({ "turnId": "two", "message": "x" }),
            (409, "turn_exists"),
        ),
        (
            json!({ "parent": "none such", "message": "x" }),
            (404, "no_turn"),
        ),
        (json!({ "text": "x" }), (422, "invalid_input")),
        (
            json!({ "message": { "id": "m", "role": "system", "content": "x" } }),
            (422, "invalid_input"),
        ),
    ] {
        let refused = refusal(server.call("POST", "/threads/t/turns", Some(body)).await).await;
        assert_eq!(refused, (expected.0, expected.1.to_owned()));
    }
}

#[tokio::test]
async fn a_thread_is_shown_in_pages() {
    let server = Server::start(&[]);
    for turn in ["one", "two", "three", "four", "five"] {
        server.begin("t", turn, "hello").await;
        events(server.follow("t", turn, None).await).await;
    }
    let mut pages = Vec::new();
    let mut place = String::new();
    loop {
        let view = server.json(&format!("/threads/t?limit=2{place}")).await;
        assert_eq!(view["turns"].as_array().expect("turns").len(), 5);
        let session = &view["session"];
        let turns = session["turns"].as_array().expect("turns").iter();
        let turns: Vec<_> = turns.map(|turn| turn["id"].clone()).collect();
        assert_eq!(
            session["messages"].as_array().map(Vec::len),
            Some(2 * turns.len())
        );
        pages.push(turns);
        match view["before"].as_str() {
            Some(before) => place = format!("&turn={before}"),
            None => break,
        }
    }
    assert_eq!(
        json!(pages),
        json!([["four", "five"], ["two", "three"], ["one"]])
    );
}

#[tokio::test]
async fn a_server_reports_whether_its_sessions_outlive_it() {
    for (store, is_durable) in [(None, false), (Some("sqlite"), true)] {
        let file = File::new("durable");
        let address = file.store();
        let arguments = store.map(|_| ["--store", &address]);
        let server = Server::start(arguments.as_ref().map_or(&[], |arguments| &arguments[..]));
        server.begin("t", "r", "hello").await;
        let list = server.json("/threads").await;
        assert_eq!(list["durable"], json!(is_durable));
        assert_eq!(list["threads"][0]["threadId"], "t");
    }
}

#[tokio::test]
async fn what_the_client_had_last_must_be_of_the_turn() {
    let server = Server::start(&STORE);
    server.begin("t", "r", "hello").await;
    for last in ["other:1", "r:x", "7", "r:4000"] {
        let request = server.request("GET", "/threads/t/turns/r/events");
        let answer = request
            .header("last-event-id", last)
            .send()
            .await
            .expect("an answer");
        assert_eq!(refusal(answer).await, (422, "invalid_input".to_owned()));
    }
}

#[tokio::test]
async fn a_call_is_reported_by_its_label() {
    let server = Server::start(&STORE);
    server.begin("t", "r", "What are the numbers?").await;
    let told = events(server.follow("t", "r", None).await).await;
    let mut labels: Vec<_> = all(&told, "CUSTOM")
        .into_iter()
        .filter(|event| event["value"]["status"] == "completed")
        .map(|event| event["value"]["label"].as_str().unwrap().to_owned())
        .collect();
    labels.sort();
    let expected = ["Secret number of alice", "Secret number of bob"];
    assert_eq!(labels, expected);
    let view = server.json("/threads/t").await;
    let calls = &view["session"]["messages"][1]["tool_executions"];
    assert_eq!(calls[0]["label"], expected[0]);
}

#[tokio::test]
async fn a_failed_turn_reports_the_same_later() {
    let server = Server::before_url("http://127.0.0.1:1/v1", &STORE);
    server.begin("t", "r", "?").await;
    let told = events(server.follow("t", "r", None).await).await;
    let end = told.last().expect("an end");
    assert_eq!(end["code"], "model_unreachable");
    let view = server.json("/threads/t").await;
    let error = json!({ "code": end["code"], "message": end["message"] });
    assert_eq!(view["session"]["turns"][0]["error"], error);
    assert!(!view.to_string().contains("127.0.0.1"), "{view}");
}

#[tokio::test]
async fn a_turn_at_a_limit_reports_it_later() {
    let arguments = [&STORE[..], &["--max-tool-rounds", "1"]].concat();
    let server = Server::start(&arguments);
    server.begin("t", "r", "list").await;
    let told = events(server.follow("t", "r", None).await).await;
    let [.., notice, end] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(notice["name"], "limit_reached");
    assert_eq!(end["type"], "RUN_FINISHED");
    assert_eq!(end["metadata"]["stopReason"], "max_tool_rounds");
    let view = server.json("/threads/t").await;
    let turn = &view["session"]["turns"][0];
    assert_eq!(turn["status"], "complete");
    assert_eq!(turn["limit"], notice["value"]);
    assert_eq!(turn.get("error"), None);
}

#[tokio::test]
async fn a_thread_has_how_far_its_turn_was_read() {
    let server = Server::start(&STORE);
    for (turn, message) in [("one", "hello"), ("two", "think")] {
        server.begin("t", turn, message).await;
        events(server.follow("t", turn, None).await).await;
    }
    let told = events(server.follow("t", "two", None).await).await.len() as u64;
    let log = async |turn: &str| {
        let list = server.json("/threads").await;
        let view = server.json("/threads/t").await;
        let listed = list["threads"][0]["log"].clone();
        assert_eq!(listed, view["thread"]["log"]);
        let turns = view["turns"].as_array().expect("turns");
        let its = turns.iter().find(|known| known["id"] == turn);
        (listed, its.expect("the turn")["log"].clone())
    };
    let nothing = json!({ "next": told, "acknowledged": null });
    assert_eq!(log("two").await, (nothing.clone(), nothing.clone()));
    assert_eq!(server.acknowledge("t", "one", 3).await, 204);
    let (listed, of_one) = log("one").await;
    assert_eq!(listed, nothing, "the list is of the latest turn");
    assert_eq!(of_one["acknowledged"], 3);
    assert_eq!(server.acknowledge("t", "two", told - 1).await, 204);
    let all = json!({ "next": told, "acknowledged": told - 1 });
    assert_eq!(log("two").await, (all.clone(), all));
    assert_eq!(server.acknowledge("t", "two", told).await, 422);
}

#[tokio::test]
async fn waiting_and_running_threads_are_distinguished() {
    let server = Server::start(&STORE);
    server.begin("t", "r", "change").await;
    let mut listener = Run::new(server.follow("t", "r", None).await);
    let question = loop {
        let event = listener.until("CUSTOM").await;
        if event["name"] == "interrupt" {
            break event["value"]["id"].clone();
        }
    };
    let needs_user = async || server.json("/threads").await["threads"][0]["needsUser"].clone();
    while needs_user().await != true {
        tokio::task::yield_now().await;
    }
    let denied = json!({ "resume": [
        { "interruptId": question, "status": "resolved", "payload": { "approved": false } },
    ] });
    let answered = server.act("t", "r", "resume", denied).await;
    assert_eq!(answered.status(), 204);
    listener.until("RUN_FINISHED").await;
    while needs_user().await != false {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_turns_of_a_thread_share_a_state_that_the_model_changes() {
    let server = Server::start(&STORE);
    let results = async |turn: &str| {
        let events = events(server.follow("t", turn, None).await).await;
        let results = events
            .into_iter()
            .filter(|event| event["type"] == "TOOL_CALL_RESULT");
        results
            .map(|event| event["content"].as_str().expect("a text").to_owned())
            .collect::<Vec<_>>()
    };
    server.begin("t", "one", "list").await;
    let first = results("one").await;
    assert_eq!(first.len(), 2);
    assert!(first[1].contains("Drink tea"), "{first:?}");
    // The first turn's list is there for the second, which replaces it with its own.
    server.begin("t", "two", "list").await;
    let second = results("two").await;
    assert_eq!(second, first);
    let branch = json!({ "turnId": "other", "parent": null, "message": "list" });
    let begun = server.call("POST", "/threads/t/turns", Some(branch)).await;
    assert_eq!(begun.status(), 201);
    assert_eq!(results("other").await, first);
}
