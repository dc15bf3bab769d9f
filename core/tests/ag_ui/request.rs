//! What is sent to an AG-UI agent.

use crate::support::*;
use serde_json::{Value, json};
use stepwell_core::RunId;
use stepwell_core::dialect::{
    Dialect, Endpoint, GenerationSettings, HopIds, HttpRequest, ModelRequest, Quirks,
};
use stepwell_core::event::{Message, ResumeEntry, ToolDefinition};

struct Request {
    endpoint: Endpoint,
    parent_run_id: Option<RunId>,
    messages: Vec<Message>,
    tools: Vec<ToolDefinition>,
    state: Value,
    settings: GenerationSettings,
    resume: Vec<ResumeEntry>,
}

impl Request {
    fn new() -> Self {
        Self {
            endpoint: Endpoint {
                provider: "agent".to_owned(),
                dialect: Dialect::AgUi,
                base_url: "https://agent.example/run?room=1".to_owned(),
                model: String::new(),
                key: None,
                headers: Vec::new(),
                key_header: None,
                quirks: Quirks::default(),
            },
            parent_run_id: None,
            messages: Vec::new(),
            tools: Vec::new(),
            state: Value::Null,
            settings: GenerationSettings::default(),
            resume: Vec::new(),
        }
    }

    fn encode(&self) -> HttpRequest {
        let ids = HopIds {
            thread_id: "thread".into(),
            run_id: "run".into(),
            ..HopIds::default()
        };
        Dialect::AgUi.encoder().encode(&ModelRequest {
            endpoint: &self.endpoint,
            ids: &ids,
            instructions: None,
            parent_run_id: self.parent_run_id.as_ref(),
            messages: &self.messages.iter().collect::<Vec<_>>(),
            tools: &self.tools,
            state: &self.state,
            settings: &self.settings,
            resume: &self.resume,
            compact_above: None,
            now: stepwell_core::Timestamp(0),
        })
    }

    fn body(&self) -> Value {
        let body = serde_json::from_slice(&self.encode().body).unwrap();
        if let Some(fixtures) = fixtures("requests against the JSON Schema") {
            assert_valid(
                &Schema::load(&fixtures).of("RunAgentInput"),
                &body,
                "request",
            );
        }
        body
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[test]
fn an_empty_request_has_what_old_agents_require() {
    assert_eq!(
        Request::new().body(),
        json!({
            "threadId": "thread", "runId": "run", "protocolVersion": "1.0", "state": {},
            "messages": [], "tools": [], "context": [], "forwardedProps": {},
        })
    );
}

#[test]
fn a_full_request() {
    let mut request = Request::new();
    let messages = json!([
        {"role": "system", "id": "1", "content": "c", "name": "n"},
        {"role": "user", "id": "2", "content": [
            {"type": "text", "text": "t"},
            {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}]},
        {"role": "reasoning", "id": "3", "content": "hm", "encryptedValue": "v"},
        {"role": "assistant", "id": "4", "subagentRunId": "s", "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{not json"}}]},
        {"role": "tool", "id": "5", "toolCallId": "c", "content": "", "error": "it failed",
            "metadata": {"open": [null]}},
    ]);
    request.messages = read(messages.clone());
    let tools =
        json!([{"name": "n", "description": "d", "parameters": true, "metadata": {"open": 1}}]);
    request.tools = read(tools.clone());
    let resume = json!([{"interruptId": "i", "status": "resolved", "payload": false}]);
    request.resume = read(resume.clone());
    request.parent_run_id = Some("parent".into());
    request.state = json!([1, null]);
    request
        .settings
        .extra
        .insert("command".to_owned(), json!({"any": null}));
    assert_eq!(
        request.body(),
        json!({
            "threadId": "thread", "runId": "run", "protocolVersion": "1.0", "parentRunId": "parent",
            "state": [1, null], "messages": messages, "tools": tools, "context": [],
            "forwardedProps": {"command": {"any": null}}, "resume": resume,
        })
    );
}

#[test]
fn a_tool_always_has_parameters() {
    let mut request = Request::new();
    request.tools = read(json!([{"name": "n", "description": "d"}]));
    assert_eq!(
        request.body()["tools"][0]["parameters"],
        json!({"type": "object", "properties": {}})
    );
}

#[test]
fn activities_and_unknown_fields_stay_at_home() {
    let mut request = Request::new();
    request.messages = read(json!([
        {"role": "activity", "id": "a", "activityType": "t", "content": {}},
        {"role": "assistant", "id": "m", "newer": 1, "metadata": {"open": 1}, "toolCalls": [
            {"id": "c", "type": "function", "newer": 2,
                "function": {"name": "n", "arguments": "", "newer": 3}}]},
        {"role": "user", "id": "u", "content": [{"type": "text", "text": "t", "newer": 4}]},
    ]));
    request.tools = read(json!([{"name": "n", "description": "d", "newer": 5}]));
    request.resume = read(json!([{"interruptId": "i", "status": "cancelled", "newer": 6}]));
    let body = request.body();
    assert!(!body.to_string().contains("newer"), "{body}");
    assert_eq!(body["messages"].as_array().unwrap().len(), 2);
    assert_eq!(body["messages"][0]["metadata"], json!({"open": 1}));
}

#[test]
fn the_headers_of_a_request() {
    let mut request = Request::new();
    let sent = request.encode();
    assert_eq!(
        (sent.method, sent.url.as_str()),
        ("POST", "https://agent.example/run?room=1")
    );
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let json = pair("content-type", "application/json");
    let stream = pair("accept", "text/event-stream");
    assert_eq!(sent.headers, [json.clone(), stream.clone()]);

    request.endpoint.key = Some("secret".into());
    request.endpoint.headers = vec![pair("X-Room", "1"), pair("x-room", "2")];
    let sent = request.encode();
    let key = pair("authorization", "Bearer secret");
    assert_eq!(
        sent.headers,
        [
            json.clone(),
            stream.clone(),
            key,
            pair("x-room", "1"),
            pair("x-room", "2")
        ]
    );
    assert!(!format!("{sent:?}").contains("secret"));

    // The endpoint's own word counts.
    request.endpoint.headers = vec![pair("Authorization", "Basic abc")];
    assert_eq!(
        request.encode().headers,
        [json, stream, pair("authorization", "Basic abc")]
    );
}

#[test]
fn a_request_reads_back_as_run_started_repeats_it() {
    let mut request = Request::new();
    request.messages = vec![Message::user("u", "hello")];
    let body = request.body();
    let (events, warnings) = taken(&[
        json!({"type": "RUN_STARTED", "threadId": "thread", "runId": "run", "input": body}),
    ]);
    assert_eq!((&events[0]["input"], warnings.len()), (&body, 0));
}

#[test]
fn an_address_takes_the_hops_ids_in_their_places() {
    let mut request = Request::new();
    request.endpoint.base_url = "https://h/rooms/a/{thread_id}/{run_id}?run={run_id}".to_owned();
    assert_eq!(request.encode().url, "https://h/rooms/a/thread/run?run=run");

    let ids = HopIds {
        thread_id: "a/b?c".into(),
        run_id: "{thread_id} é".into(),
        ..HopIds::default()
    };
    let model_request = ModelRequest {
        endpoint: &request.endpoint,
        ids: &ids,
        instructions: None,
        parent_run_id: None,
        messages: &[],
        tools: &[],
        state: &Value::Null,
        settings: &request.settings,
        resume: &[],
        compact_above: None,
        now: stepwell_core::Timestamp(0),
    };
    assert_eq!(
        Dialect::AgUi.encoder().encode(&model_request).url,
        "https://h/rooms/a/a%2Fb%3Fc/%7Bthread_id%7D%20%C3%A9?run=%7Bthread_id%7D%20%C3%A9"
    );
}

#[test]
fn an_answer_to_langgraph_is_forwarded() {
    let native = json!({"langgraph": {"event": "on_interrupt", "id": "a"}});
    let made = json!({"langgraph": {"event": "on_interrupt"}});
    let answered = |resume: Value| {
        let mut request = Request::new();
        request.resume = read(resume);
        let extra = &mut request.settings.extra;
        extra.insert("team".to_owned(), json!("a"));
        extra.insert("command".to_owned(), json!({"update": 1}));
        let body = request.body();
        assert_eq!(body["forwardedProps"]["team"], "a");
        assert_eq!(body["forwardedProps"]["command"]["update"], 1);
        assert_eq!(body.get("resume"), None, "it is not answered twice");
        body["forwardedProps"]["command"]["resume"].clone()
    };
    let answer = |id: &str, payload: Value, metadata: &Value| json!({"interruptId": id, "status": "resolved", "payload": payload, "metadata": metadata});
    let other = |status: &str, metadata: &Value| json!({"interruptId": "a", "status": status, "metadata": metadata});
    let silent = |metadata| other("resolved", metadata);
    let cancelled = |metadata| other("cancelled", metadata);
    let told = json!({"__agui_cancelled__": true, "interrupt_id": "a"});
    for (given, forwarded) in [
        (json!([answer("a", json!({}), &native)]), json!({"a": {}})),
        (json!([answer("a", json!("1"), &native)]), json!({"a": "1"})),
        (json!([silent(&native)]), json!({"a": true})),
        (json!([cancelled(&native)]), json!({"a": told})),
        (
            json!([answer("b", json!({"x": 1}), &made)]),
            json!({"x": 1}),
        ),
        (json!([answer("b", json!("yes"), &made)]), json!("yes")),
        (json!([answer("b", json!("1"), &made)]), json!("\"1\"")),
        (json!([cancelled(&made)]), told.clone()),
        (
            json!([answer("b", json!(1), &made), answer("c", json!(2), &made)]),
            json!(1),
        ),
    ] {
        assert_eq!(answered(given.clone()), forwarded, "{given}");
    }
}
