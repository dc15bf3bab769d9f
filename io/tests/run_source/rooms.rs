//! A mock of a Soliplex server: it makes the threads and runs, takes a run's input once, and continues a stream after
//! the event that a request names.
//!
//! Source: the REST interface of Soliplex, `/api/v1/rooms/{room}/agui`.

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router, middleware};
use futures::StreamExt;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::net::TcpListener;

/// The server's behaviour in a run.
#[derive(Clone, Default)]
pub(crate) struct Says {
    events: Vec<Value>,
    /// The numbers of events after which the connection breaks, once each.
    cuts: VecDeque<usize>,
    /// The run is not made, for this reason.
    refusal: Option<&'static str>,
}

impl Says {
    pub(crate) fn text(text: &str) -> Self {
        let mut events =
            vec![json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"})];
        events.extend(text.split_inclusive(' ').map(
            |delta| json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta}),
        ));
        events.push(json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}));
        Self {
            events,
            ..Self::default()
        }
    }

    pub(crate) fn call(tool: &str) -> Self {
        let id = "call-1";
        Self {
            events: vec![
                json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": tool}),
                json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": "{}"}),
                json!({"type": "TOOL_CALL_END", "toolCallId": id}),
            ],
            ..Self::default()
        }
    }

    pub(crate) fn no_run(why: &'static str) -> Self {
        Self {
            refusal: Some(why),
            ..Self::default()
        }
    }

    pub(crate) fn cut_at(mut self, cuts: impl IntoIterator<Item = usize>) -> Self {
        self.cuts = cuts.into_iter().collect();
        self
    }
}

#[derive(Default)]
struct Inner {
    script: VecDeque<Says>,
    /// The runs that were posted to: their input, and their behaviour.
    runs: BTreeMap<String, (Value, Says)>,
    made: u32,
    seen: Vec<String>,
    last_input: Value,
}

type Shared = Arc<Mutex<Inner>>;

pub(crate) struct Rooms {
    address: String,
    inner: Shared,
}

fn lock(inner: &Shared) -> MutexGuard<'_, Inner> {
    inner.lock().expect("nobody panicked")
}

impl Rooms {
    pub(crate) async fn serve(script: impl IntoIterator<Item = Says>) -> Self {
        let inner = Shared::default();
        lock(&inner).script.extend(script);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let room = "/api/v1/rooms/{room}/agui";
        let app = Router::new()
            .route(room, post(create_thread))
            .route(&format!("{room}/{{thread}}"), post(create_run).get(thread))
            .route(&format!("{room}/{{thread}}/{{run}}"), post(run).get(kept))
            .layer(middleware::map_request(allowed))
            .with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, inner }
    }

    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    pub(crate) fn then(&self, script: impl IntoIterator<Item = Says>) {
        lock(&self.inner).script.extend(script);
    }

    /// The requests that changed something, in order.
    pub(crate) fn seen(&self) -> Vec<String> {
        lock(&self.inner).seen.clone()
    }

    pub(crate) fn last_input(&self) -> Value {
        lock(&self.inner).last_input.clone()
    }
}

async fn allowed(request: Request) -> Result<Request, StatusCode> {
    let token = request.headers().get(header::AUTHORIZATION);
    match token.is_some_and(|token| token == "Bearer token") {
        true => Ok(request),
        false => Err(StatusCode::UNAUTHORIZED),
    }
}

fn made(inner: &mut Inner) -> String {
    inner.made += 1;
    format!("run-{}", inner.made)
}

async fn create_thread(
    State(inner): State<Shared>,
    Path(room): Path<String>,
    uri: axum::http::Uri,
    body: String,
) -> Response {
    if room == "page" {
        return "<html>not here</html>".into_response();
    }
    let mut inner = lock(&inner);
    inner.seen.push(format!("POST {uri} {body}"));
    let run = made(&mut inner);
    Json(json!({
        "thread_id": "thread-1", "room_id": room, "created": "2026-01-01T00:00:00Z",
        "runs": {run.clone(): {"run_id": run, "created": "2026-01-01T00:00:00Z",
            "run_input": {"state": {"feature": {}}}, "events": []}},
    }))
    .into_response()
}

async fn create_run(State(inner): State<Shared>, uri: axum::http::Uri, body: String) -> Response {
    let mut inner = lock(&inner);
    inner.seen.push(format!("POST {uri} {body}"));
    if let Some(why) = inner.script.front().and_then(|says| says.refusal) {
        inner.script.pop_front();
        return (StatusCode::CONFLICT, Json(json!({"detail": why}))).into_response();
    }
    let run = made(&mut inner);
    Json(json!({"run_id": run, "thread_id": "thread-1", "created": "2026-01-01T00:00:01Z"}))
        .into_response()
}

async fn run(
    State(inner): State<Shared>,
    Path((_, thread, run)): Path<(String, String, String)>,
    headers: HeaderMap,
    uri: axum::http::Uri,
    Json(input): Json<Value>,
) -> Response {
    let mut inner = lock(&inner);
    let field = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
    let cursor = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = match (cursor, field("parentRunId").as_str()) {
        (Some(cursor), _) => format!(" resumed at {cursor}"),
        (None, "") => String::new(),
        (None, parent) => format!(" after {parent}"),
    };
    inner
        .seen
        .push(format!("POST {uri} of {}{after}", field("runId")));
    inner.last_input = input.clone();
    if field("runId") != run
        || field("threadId") != thread
        || input.get("protocolVersion").is_some()
    {
        return StatusCode::UNPROCESSABLE_ENTITY.into_response();
    }
    if cursor.is_none() {
        if inner.runs.contains_key(&run) {
            let detail = json!({"detail": "the run has started already"});
            return (StatusCode::CONFLICT, Json(detail)).into_response();
        }
        let says = inner
            .script
            .pop_front()
            .expect("the script says nothing more");
        inner.runs.insert(run.clone(), (input, says));
    }
    let (_, says) = inner.runs.get_mut(&run).expect("it was begun");
    let from = cursor.map_or(0, |cursor| {
        let index = cursor
            .strip_prefix(&format!("{run}:"))
            .expect("an id of this run");
        index.parse::<usize>().expect("an index") + 1
    });
    let events = whole(&thread, &run, &says.events);
    let cut = says.cuts.pop_front();
    let frames: String = (events.iter().enumerate().skip(from))
        .take(cut.unwrap_or(usize::MAX).saturating_sub(from))
        .map(|(index, event)| format!("id: {run}:{index}\ndata: {event}\n\n: keep-alive\n\n"))
        .collect();
    let mut pieces = vec![Ok(Bytes::from(frames))];
    if cut.is_some() {
        pieces.push(Err(io::Error::from(io::ErrorKind::ConnectionReset)));
    }
    // The events go out before the connection breaks.
    let pieces = futures::stream::iter(pieces).then(|piece| async {
        tokio::task::yield_now().await;
        piece
    });
    let body = Body::from_stream(pieces);
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn whole(thread: &str, run: &str, events: &[Value]) -> Vec<Value> {
    let of_run = |kind: &str| json!({"type": kind, "threadId": thread, "runId": run});
    let mut whole = vec![of_run("RUN_STARTED")];
    whole.extend(events.iter().map(|event| {
        let mut event = event.clone();
        // Ids are unique in the thread.
        if event["messageId"] == "m" {
            event["messageId"] = json!(format!("{run}-m"));
        }
        event
    }));
    whole.push(of_run("RUN_FINISHED"));
    whole
}

async fn thread(State(inner): State<Shared>) -> Json<Value> {
    let inner = lock(&inner);
    let runs = inner.runs.keys().map(|run| {
        (
            run.clone(),
            json!({"run_id": run, "created": format!("2026-01-01T00:00:0{run}Z")}),
        )
    });
    let runs: Map<String, Value> = runs.collect();
    Json(json!({"thread_id": "thread-1", "runs": runs}))
}

async fn kept(
    State(inner): State<Shared>,
    Path((_, thread, run)): Path<(String, String, String)>,
) -> Response {
    let inner = lock(&inner);
    let Some((input, says)) = inner.runs.get(&run) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    Json(json!({
        "run_id": run, "run_input": input, "events": whole(&thread, &run, &says.events),
    }))
    .into_response()
}
