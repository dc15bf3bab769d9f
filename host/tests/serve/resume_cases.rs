//! The cases of `tests/resume`, over HTTP. The tool that they know is that of an MCP server.
#![cfg(unix)]

use crate::mcp::{TOOL, command};
use crate::server::Server;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::{StreamExt, stream};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use stepwell_core::event::{Event, Message};
use stepwell_core::transcript::Transcript;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// A model that follows a case: its answer to each request, chunk by chunk.
#[derive(Clone)]
struct Agent {
    answers: Arc<Vec<Vec<Value>>>,
    asked: Arc<AtomicUsize>,
    go: Arc<Semaphore>,
}

impl Agent {
    async fn start(answers: &Value) -> (Self, String) {
        let agent = Self {
            answers: Arc::new(serde_json::from_value(answers.clone()).unwrap()),
            asked: Arc::default(),
            go: Arc::new(Semaphore::new(0)),
        };
        let app = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(agent.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        (agent, url)
    }
}

async fn answer(State(agent): State<Agent>) -> Response {
    let number = agent.asked.fetch_add(1, Ordering::SeqCst);
    let pieces = agent.answers[number].clone();
    let calls = pieces.iter().any(|piece| piece.get("call").is_some());
    let end = if calls { "tool_calls" } else { "stop" };
    let go = Arc::clone(&agent.go);
    let said = stream::iter(pieces).then(move |piece| {
        let go = Arc::clone(&go);
        async move {
            if piece == "hold" {
                go.acquire().await.unwrap().forget();
                return Bytes::new();
            }
            let delta = match piece.get("call") {
                Some(tool) => json!({ "tool_calls": [{
                    "index": 0, "id": "call", "type": "function",
                    "function": { "name": own_name(tool.as_str().unwrap()), "arguments": piece["arguments"].to_string() },
                }] }),
                None => json!({ "content": piece["say"] }),
            };
            chunk(&delta, None)
        }
    });
    let end = format!(
        "{}data: [DONE]\n\n",
        String::from_utf8_lossy(&chunk(&json!({}), Some(end)))
    );
    let body = said.chain(stream::iter([Bytes::from(end)]));
    let body = Body::from_stream(body.map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// Returns this server's name of a tool of the cases.
fn own_name(tool: &str) -> &'static str {
    assert_eq!(tool, "greet");
    TOOL
}

fn chunk(delta: &Value, end: Option<&str>) -> Bytes {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
    format!("data: {}\n\n", json!({ "choices": [choice] })).into()
}

/// A stream of a case: what was read of it.
#[derive(Default)]
struct Read {
    response: Option<reqwest::Response>,
    unread: String,
    last_id: String,
    events: Vec<Value>,
}

impl Read {
    /// Reads until `holds`, of the last event that was read and how many there are. Whether it came to that.
    async fn until(&mut self, holds: impl Fn(&Value, usize) -> bool) -> bool {
        while let Some(event) = self.next().await {
            let is_it = holds(&event, self.events.len() + 1);
            self.events.push(event);
            if is_it {
                return true;
            }
        }
        false
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            let Some((frame, rest)) = self.unread.split_once("\n\n") else {
                let response = self.response.as_mut().expect("the stream is open");
                let chunk = response.chunk().await.unwrap()?;
                // The cases speak ASCII.
                self.unread.push_str(std::str::from_utf8(&chunk).unwrap());
                continue;
            };
            let field = |name: &str| {
                let mut lines = frame.lines();
                lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
            };
            let (id, data) = (field("id: "), field("data: "));
            self.unread = rest.to_owned();
            if let Some(id) = id {
                self.last_id = id;
            }
            if let Some(data) = data {
                return Some(serde_json::from_str(&data).unwrap());
            }
        }
    }

    fn text(&self) -> String {
        let messages = messages(&self.events);
        let texts = messages.iter().filter_map(|message| match message {
            Message::Assistant(said) => said.content.clone(),
            _ => None,
        });
        texts.collect()
    }
}

/// Returns the messages that these events fold to.
fn messages(events: &[Value]) -> Vec<Message> {
    let mut fold = Transcript::default();
    for event in events {
        let event: Event = serde_json::from_value(event.clone()).unwrap();
        let _ = fold.apply((&event).into());
    }
    fold.messages().to_vec()
}

/// Plays a case, and cuts the stream after `cut` events where the case asks for it. Returns whether the run has that
/// many.
async fn play(case: &Value, cut: usize) -> bool {
    let (agent, url) = Agent::start(&case["agent"]).await;
    let command = command();
    let mut arguments = vec!["--mcp", &*command];
    for tool in case["asks"].as_array().into_iter().flatten() {
        arguments.extend(["--ask-before", own_name(tool.as_str().unwrap())]);
    }
    let server = Server::before_url(&url, &arguments);
    let steps = case["steps"].as_array().unwrap();
    let mut reads: BTreeMap<String, Read> = BTreeMap::new();
    let mut asked = Vec::new();
    for step in steps {
        let text = |field: &str| step[field].as_str().map(str::to_owned);
        if let Some(name) = text("post") {
            let run = text("runId").unwrap_or_else(|| name.clone());
            let mut input = json!({
                "threadId": "t", "runId": run, "protocolVersion": "1.0",
                "messages": [{ "id": "said", "role": "user", "content": steps[0]["say"] }],
            });
            if step["background"] == true {
                input["forwardedProps"] = json!({ "background": true });
            }
            if step["answer"] == true {
                input["resume"] = json!(asked);
            }
            let mut request = server.post(&input);
            if let Some(other) = text("after") {
                request = request.header("last-event-id", &reads[&other].last_id);
            }
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 200, "{step}");
            let read = Read {
                response: Some(response),
                ..Read::default()
            };
            reads.insert(name, read);
        } else if let Some(name) = text("read") {
            let read = reads.get_mut(&name).unwrap();
            let kind = text("until");
            let count = step.get("count").map(|_| cut);
            let came = read
                .until(|event, number| {
                    kind.as_ref().is_some_and(|kind| event["type"] == **kind)
                        || count == Some(number)
                })
                .await;
            if count.is_some() && !came {
                return false;
            }
            assert!(came || (kind.is_none() && count.is_none()), "{name} ends");
            let last = read.events.last();
            let interrupts = last.and_then(|last| last["outcome"]["interrupts"].as_array());
            if let Some(interrupts) = interrupts {
                let approved = json!({ "approved": true });
                let answers = interrupts.iter().map(|asked| {
                    json!({ "interruptId": asked["id"], "status": "resolved", "payload": approved })
                });
                asked = answers.collect();
            }
        } else if let Some(name) = text("cut") {
            reads.get_mut(&name).unwrap().response = None;
        } else if let Some(run) = text("stop") {
            let stop = server.request("POST", "/agent/stop");
            let stop = stop.json(&json!({ "threadId": "t", "runId": run }));
            assert_eq!(stop.send().await.unwrap().status(), 204);
        } else {
            assert_eq!(step["go"], true, "{step}");
            agent.go.add_permits(1);
        }
    }
    check(&case["expect"], &reads);
    true
}

fn check(expect: &Value, reads: &BTreeMap<String, Read>) {
    let fields = |name: &str| expect.get(name).and_then(Value::as_object).cloned();
    let each = |name: &str| fields(name).unwrap_or_else(Map::new);
    for (name, text) in each("text") {
        assert_eq!(reads[&name].text(), text, "{name}");
    }
    for (name, end) in each("end") {
        let last = reads[&name].events.last().unwrap();
        let (kind, outcome) = match end.as_str().unwrap().split_once('/') {
            Some((kind, outcome)) => (kind.to_owned(), Some(outcome.to_owned())),
            None => (end.as_str().unwrap().to_owned(), None),
        };
        assert_eq!(last["type"], kind, "{name}: {last}");
        if let Some(outcome) = outcome {
            assert_eq!(last["outcome"]["type"], outcome, "{name}: {last}");
        }
    }
    let sum = |names: &Value| -> Vec<Value> {
        let names = names.as_str().unwrap().split('+');
        let events = names.flat_map(|name| reads[name].events.clone());
        // A client that posts a run again first receives the messages before the run.
        events
            .filter(|event| event["type"] != "MESSAGES_SNAPSHOT")
            .collect()
    };
    for pair in expect["same"].as_array().into_iter().flatten() {
        assert_eq!(sum(&pair[0]), sum(&pair[1]), "{pair}");
    }
    for (tool, count) in each("calls") {
        // The client has the messages of the run before.
        let told = [&reads["first"], &reads["whole"]].map(|read| &*read.events);
        let messages = messages(&told.concat());
        let calls = messages.iter().filter_map(|message| match message {
            Message::Assistant(said) => Some(&said.tool_calls),
            _ => None,
        });
        let calls: Vec<_> = calls
            .flatten()
            .filter(|call| call.function.name == own_name(&tool))
            .map(|call| call.id.clone())
            .collect();
        let is_result = |message: &&Message| match message {
            Message::Tool(result) => calls.contains(&result.tool_call_id),
            _ => false,
        };
        let results = messages.iter().filter(is_result).count();
        assert_eq!(json!(results), count, "{tool}");
    }
}

#[tokio::test]
async fn each_case_behaves_as_its_file_describes() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/resume");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        eprintln!("{}", path.display());
        let case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let steps = case["steps"].as_array().unwrap();
        let is_each = steps.iter().any(|step| step["count"] == "each");
        let mut cut = 1;
        while play(&case, cut).await && is_each {
            cut += 1;
        }
        assert!(!is_each || cut > 4, "the run has several events");
        count += 1;
    }
    assert!(count >= 6, "{count} cases");
}
