//! Answers of OpenAI's Responses that are made in the background.

use reqwest::{Method, Response};
use serde_json::{Value, json};
use stepwell_mock_llm::{Delivery, Hop, MockLlm, Script};

use crate::client::{client, json_of, post, received, serve, start};

const TEXT: &str = "It is warm and dry.";

fn request() -> Value {
    json!({"model": "m", "input": "How is it?", "stream": true, "background": true, "store": true})
}

async fn ask(server: &MockLlm, body: &Value) -> Response {
    post(
        &format!("{}/responses", server.base_url()),
        body.to_string(),
    )
    .await
}

async fn about(server: &MockLlm, method: Method, path: &str) -> Response {
    let url = format!("{}/responses/{path}", server.base_url());
    let response = client().request(method, url).send().await;
    response.expect("a response comes")
}

async fn get(server: &MockLlm, path: &str) -> Response {
    about(server, Method::GET, path).await
}

async fn cancel(server: &MockLlm, id: &str) -> (u16, Value) {
    let response = about(server, Method::POST, &format!("{id}/cancel")).await;
    (response.status().as_u16(), json_of(response).await)
}

async fn status(server: &MockLlm, id: &str) -> Value {
    json_of(get(server, id).await).await["status"].take()
}

/// The events of a body, and whether it ended as HTTP requires.
async fn events(response: Response) -> (Vec<Value>, bool) {
    assert_eq!(response.status(), 200);
    let (bytes, is_complete) = received(response).await;
    let text = String::from_utf8(bytes).unwrap();
    let events = text.split_terminator("\n\n").map(|frame| {
        let (kind, data) = frame.split_once('\n').unwrap();
        let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(kind, format!("event: {}", event["type"].as_str().unwrap()));
        event
    });
    (events.collect(), is_complete)
}

fn text(events: &[Value]) -> String {
    let deltas = events.iter().filter_map(|event| event["delta"].as_str());
    deltas.collect()
}

fn numbers(events: &[Value]) -> Vec<u64> {
    let numbers = events.iter().map(|event| &event["sequence_number"]);
    numbers.map(|number| number.as_u64().unwrap()).collect()
}

async fn refused(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let error = json_of(response).await["error"].take();
    assert_eq!(error["type"], "invalid_request_error", "{error}");
    (status, error["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn an_answer_is_queued_and_then_made() {
    let server = serve(Hop::new().text(TEXT)).await;
    let (events, is_complete) = events(ask(&server, &request()).await).await;
    assert!(is_complete);
    assert_eq!(text(&events), TEXT);
    let begins: Vec<_> = events[..3]
        .iter()
        .map(|event| {
            let response = &event["response"];
            assert_eq!(response["background"], true);
            (
                event["type"].as_str().unwrap(),
                response["status"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        begins,
        [
            ("response.created", "queued"),
            ("response.queued", "queued"),
            ("response.in_progress", "in_progress"),
        ]
    );
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(
        numbers(&events),
        (0..events.len() as u64).collect::<Vec<_>>()
    );
    let id = last["response"]["id"].as_str().unwrap();
    assert_eq!(json_of(get(&server, id).await).await, last["response"]);
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn a_body_continues_after_any_event() {
    let server = serve(Hop::new().reasoning("Hm.").text(TEXT)).await;
    let (all, _) = events(ask(&server, &request()).await).await;
    let (again, _) = events(get(&server, "resp_0_0?stream=true").await).await;
    assert_eq!(again, all);
    for after in 0..all.len() {
        let path = format!("resp_0_0?stream=true&starting_after={after}");
        let (rest, is_complete) = events(get(&server, &path).await).await;
        assert_eq!(rest, all[after + 1..]);
        assert!(is_complete);
    }
    let (nothing, _) = events(get(&server, "resp_0_0?stream=true&starting_after=999").await).await;
    assert_eq!(nothing, [] as [Value; 0]);
}

#[tokio::test]
async fn each_body_is_cut_after_so_many_events() {
    for every in 1..=5 {
        let hop = Hop::new().text(TEXT).tool_call("get", json!({"a": 1}));
        let server = serve(hop.drop_every(every)).await;
        let (mut all, mut is_complete) = events(ask(&server, &request()).await).await;
        while !is_complete {
            let last = numbers(&all).pop().unwrap();
            let path = format!("resp_0_0?stream=true&starting_after={last}");
            let (more, ends) = events(get(&server, &path).await).await;
            assert_eq!(more.len(), if ends { more.len() } else { every });
            is_complete = ends;
            all.extend(more);
        }
        assert_eq!(numbers(&all), (0..all.len() as u64).collect::<Vec<_>>());
        assert_eq!(all.last().unwrap()["type"], "response.completed");
        assert_eq!(server.requests()[0].delivery, Delivery::Cut);
        let posts = server
            .requests()
            .into_iter()
            .filter(|request| request.method == "POST");
        assert_eq!(posts.count(), 1);
    }
}

#[tokio::test]
async fn a_body_that_ends_early_leaves_the_rest_to_the_next_one() {
    for hop in [
        Hop::new().text("It is ").cut().text("warm and dry."),
        Hop::new().text("It is ").end_early().text("warm and dry."),
        Hop::new().text(TEXT).cut_at(900),
        Hop::new().text(TEXT).chunks_of(7).cut_at(900),
    ] {
        let server = serve(hop).await;
        let (bytes, _) = received(ask(&server, &request()).await).await;
        let first = String::from_utf8(bytes).unwrap();
        let first = first.rfind("\n\n").map_or("", |end| &first[..end]);
        let last = first.matches("\n\n").count();
        let path = format!("resp_0_0?stream=true&starting_after={last}");
        let (rest, is_complete) = events(get(&server, &path).await).await;
        assert!(is_complete);
        assert_eq!(numbers(&rest)[0], last as u64 + 1);
        let whole = json_of(get(&server, "resp_0_0").await).await;
        let texts = whole["output"].as_array().unwrap().iter();
        let texts: String = texts
            .map(|item| item["content"][0]["text"].as_str().unwrap())
            .collect();
        assert_eq!(texts, TEXT);
    }
}

#[tokio::test]
async fn an_answer_is_streamed_for_a_while_and_then_read_as_a_whole() {
    let server = serve(Hop::new().text(TEXT).drop_every(2).streams(2).reads(2)).await;
    assert_eq!(
        numbers(&events(ask(&server, &request()).await).await.0),
        [0, 1]
    );
    let path = "resp_0_0?stream=true&starting_after=1";
    assert_eq!(numbers(&events(get(&server, path).await).await.0), [2, 3]);
    let message = "This response can no longer be streamed because it is more than 5 minutes old";
    for _ in 0..2 {
        assert_eq!(
            refused(get(&server, path).await).await,
            (400, message.to_owned())
        );
    }
    for expected in ["in_progress", "in_progress", "completed", "completed"] {
        assert_eq!(status(&server, "resp_0_0").await, expected);
    }
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn an_answer_continues_while_no_client_is_there() {
    let pause = std::time::Duration::from_millis(1);
    let server = serve(Hop::new().text("It is ").pause(pause).text("warm.")).await;
    drop(ask(&server, &request()).await);
    let (events, _) = events(get(&server, "resp_0_0?stream=true").await).await;
    assert_eq!(text(&events), "It is warm.");
}

#[tokio::test]
async fn an_answer_without_a_stream_is_asked_for_until_it_is_there() {
    let server = serve(Hop::new().text(TEXT).reads(1)).await;
    let mut request = request();
    request["stream"] = false.into();
    let begun = json_of(ask(&server, &request).await).await;
    assert_eq!(
        (&begun["id"], &begun["status"]),
        (&json!("resp_0_0"), &json!("queued"))
    );
    assert_eq!(status(&server, "resp_0_0").await, "in_progress");
    assert_eq!(status(&server, "resp_0_0").await, "completed");
    let (code, message) = refused(get(&server, "resp_0_0?stream=true").await).await;
    assert!(code == 400 && message.contains("stream=true"), "{message}");
}

#[tokio::test]
async fn a_cancelled_answer_ends_its_streams() {
    let server = serve(Hop::new().text("It is ").stall()).await;
    let streamed = ask(&server, &request()).await;
    assert_eq!(status(&server, "resp_0_0").await, "in_progress");
    let (code, response) = cancel(&server, "resp_0_0").await;
    assert_eq!((code, &response["status"]), (200, &json!("cancelled")));
    assert_eq!(response["output"], json!([]));
    let (events, is_complete) = events(streamed).await;
    assert!(is_complete);
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.failed");
    assert_eq!(last["response"], response);
    assert_eq!(cancel(&server, "resp_0_0").await, (200, response));
    assert_eq!(status(&server, "resp_0_0").await, "cancelled");
    assert!(server.failures().is_empty());
}

#[tokio::test]
async fn an_answer_that_has_ended_is_not_cancelled() {
    let completed = "Cannot cancel a completed response.";
    let failed = "Cannot cancel a failed response.";
    let incomplete = "Cannot cancel an incomplete response.";
    for (hop, expected) in [
        (Hop::new().text(TEXT), completed),
        (Hop::new().error_event("Oh no"), failed),
        (Hop::new().stop_reason("max_output_tokens"), incomplete),
    ] {
        let server = serve(hop).await;
        ask(&server, &request()).await;
        let (code, body) = cancel(&server, "resp_0_0").await;
        assert_eq!((code, &body["error"]["message"]), (400, &json!(expected)));
    }
    let server = serve(Hop::new().text(TEXT).reads(1)).await;
    ask(&server, &request()).await;
    let (_, response) = cancel(&server, "resp_0_0").await;
    assert_eq!(
        response["status"], "cancelled",
        "while it says that it is in progress"
    );
}

#[tokio::test]
async fn what_the_provider_refuses_is_refused() {
    let server = serve(Hop::new().text(TEXT)).await;
    for (change, what) in [
        (json!({"store": false}), "/store"),
        (json!({"background": "yes"}), "/background"),
    ] {
        let mut request = request();
        request
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let (code, message) = refused(ask(&server, &request).await).await;
        assert!(code == 400 && message.contains(what), "{message}");
    }
    assert_eq!(
        ask(&server, &request()).await.status(),
        200,
        "no hop was taken"
    );
    for (method, path, code) in [
        (Method::GET, "resp_9", 404),
        (Method::POST, "resp_9/cancel", 404),
        (Method::GET, "resp_0_0/nothing", 404),
        (Method::GET, "", 404),
        (Method::POST, "resp_0_0", 405),
        (Method::DELETE, "resp_0_0", 405),
        (Method::GET, "resp_0_0/cancel", 405),
        (Method::GET, "resp_0_0?stream=true&starting_after=two", 400),
        (Method::GET, "resp_0_0?stream=maybe", 400),
    ] {
        let (refused, message) = refused(about(&server, method, path).await).await;
        assert_eq!(refused, code, "{path}: {message}");
    }
    assert_eq!(server.failures().len(), 11);
}

#[tokio::test]
async fn an_answer_is_given_out_to_its_key_alone() {
    let server = serve(Hop::new().text(TEXT)).await;
    let url = format!("{}/responses", server.base_url());
    let post = client()
        .post(&url)
        .bearer_auth("right")
        .body(request().to_string());
    assert_eq!(post.send().await.unwrap().status(), 200);
    for (key, expected) in [("right", 200), ("wrong", 401)] {
        let get = client().get(format!("{url}/resp_0_0")).bearer_auth(key);
        assert_eq!(get.send().await.unwrap().status(), expected);
    }
}

#[tokio::test]
async fn an_answer_in_the_foreground_is_stored_too() {
    let hop = || Hop::new().text(TEXT);
    let server = start(
        Script::new()
            .hop(hop())
            .hop(hop())
            .hop(hop())
            .hop(hop().end_early()),
    )
    .await;
    let mut request = request();
    request["background"] = false.into();
    let (streamed, _) = events(ask(&server, &request).await).await;
    let whole = &streamed.last().unwrap()["response"];
    assert_eq!(
        (&whole["id"], &whole["background"]),
        (&json!("resp_0"), &json!(false))
    );
    assert_eq!(json_of(get(&server, "resp_0").await).await, *whole);
    request["stream"] = false.into();
    let whole = json_of(ask(&server, &request).await).await;
    assert_eq!(json_of(get(&server, "resp_1").await).await, whole);
    request["store"] = false.into();
    ask(&server, &request).await;
    assert_eq!(
        get(&server, "resp_2").await.status(),
        404,
        "it was not stored"
    );
    request["store"] = true.into();
    request["stream"] = true.into();
    ask(&server, &request).await;
    assert_eq!(get(&server, "resp_3").await.status(), 404, "it has no end");

    let (code, body) = cancel(&server, "resp_0").await;
    let message = "Cannot cancel a synchronous response.";
    assert_eq!((code, &body["error"]["message"]), (400, &json!(message)));
    let (code, message) = refused(get(&server, "resp_0?stream=true").await).await;
    assert!(
        code == 400 && message.contains("background=true"),
        "{message}"
    );
}

#[tokio::test]
async fn requests_about_an_answer_take_no_hop() {
    let hop = |text: &str| {
        Hop::new().text(text).expect(|request| match &request.body {
            Value::Null => Err("a request about an answer".to_owned()),
            _ => Ok(()),
        })
    };
    let server = start(Script::new().hop(hop("One")).hop(hop("Two"))).await;
    ask(&server, &request()).await;
    get(&server, "resp_0_0").await;
    let (second, _) = events(ask(&server, &request()).await).await;
    assert_eq!(text(&second), "Two");
    assert_eq!(second[0]["response"]["id"], "resp_1_1");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1].path, "/v1/responses/resp_0_0");
    assert_eq!(
        requests[1].dialect.map(|dialect| dialect.name()),
        Some("openai-responses")
    );
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn ids_are_unique_where_a_script_repeats() {
    let server = start(Script::new().hop(Hop::new().text(TEXT)).repeat()).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let (events, _) = events(ask(&server, &request()).await).await;
        ids.push(events[0]["response"]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids, ["resp_0_0", "resp_0_1", "resp_0_2"]);
}

#[tokio::test]
async fn a_script_in_json_says_it_too() {
    let hop = json!({"steps": [{"text": TEXT}], "drop_every": 2, "streams": 1, "reads": 1});
    let script = Script::from_json(&json!({"hops": [hop]}).to_string()).unwrap();
    let server = start(script).await;
    assert_eq!(
        numbers(&events(ask(&server, &request()).await).await.0),
        [0, 1]
    );
    assert_eq!(get(&server, "resp_0_0?stream=true").await.status(), 400);
    assert_eq!(status(&server, "resp_0_0").await, "in_progress");
    assert_eq!(status(&server, "resp_0_0").await, "completed");

    let error = Script::from_json(r#"{"hops": [{"steps": [], "drop_every": 0}]}"#).unwrap_err();
    assert!(error.to_string().contains("use 1 or more"), "{error}");
}
