//! The read side of Durable Streams, under the protocol's own tests of servers. The tests also write streams, of text
//! and of JSON; the writes go into the logs of turns. A text becomes an event that is a JSON string, and is returned as
//! text.

#![allow(clippy::unwrap_used)]

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::StreamExt;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::run::{Outcome, TurnStatus};
use stepwell_io::store::{
    EventStore, Generation, MemoryStore, NewTurn, PersistBatch, TurnKey, TurnStore,
};
use stepwell_serve::axum::durable_stream::{DurableRead, DurableReadError, durable_stream};
use stepwell_serve::parts::{DriverSetup, LocalEngine};
use stepwell_serve::{AgUiServer, ClientTrust};
use tokio_util::sync::CancellationToken;

/// Which of the protocol's tests are of reading, by the names of their groups and their own.
const READING: &str = "^(Read Operations|Long-Poll Operations|HEAD Metadata should|Offset Validation and|\
     Long-Poll Edge Cases|Caching and ETag should (generate|return)|SSE Mode|JSON Mode should (handle|wrap|store|preserve|concat|work)|\
     Read-Your-Writes|Browser Security Headers .* on (GET|HEAD|SSE|long-poll|error)|\
     Stream Closure (HEAD with|Read Closed|Long-poll with|SSE with))";

/// A binary body is no text, and so no event.
const NOT_OURS: &str = "base64|binary|octet-stream";

const CLOSED: &str = "stream-closed";

struct Streams {
    store: MemoryStore,
    server: AgUiServer,
    types: Mutex<HashMap<String, String>>,
}

fn key(path: &str) -> TurnKey {
    TurnKey::new(path, "stream")
}

/// The event at the end of each turn, which a stream does not show.
fn end() -> String {
    json!({ "type": "RUN_FINISHED" }).to_string()
}

fn is_json(media_type: &str) -> bool {
    media_type.starts_with("application/json")
}

impl Streams {
    fn new() -> Arc<Self> {
        let store = MemoryStore::new();
        let time = Duration::from_secs(3_600);
        let engine = LocalEngine::new(DriverSetup {
            store: Arc::new(store.clone()),
            is_durable: false,
            owner: "host".to_owned(),
            agent: None,
            offered: Vec::new(),
            observer: None,
            journals: None,
            most: 10,
            waiting: 10,
            run_time: time,
            interrupt_time: time,
            linger: None,
            store_timeout: time,
            elsewhere: None,
        });
        let engine = Arc::new(engine);
        Arc::new(Self {
            store,
            server: AgUiServer::of_engine(engine, ClientTrust::default(), time, time),
            types: Mutex::default(),
        })
    }

    /// Appends the events of a body, closes the stream if the headers say so, and returns the place after it.
    async fn append(&self, path: &str, headers: &HeaderMap, body: &[u8]) -> u64 {
        let turn = key(path);
        let media_type = self.types.lock().unwrap()[path].clone();
        let mut events = match serde_json::from_slice(body) {
            _ if body.is_empty() => Vec::new(),
            Ok(Value::Array(values)) if is_json(&media_type) => {
                values.iter().map(Value::to_string).collect()
            }
            Ok(value) if is_json(&media_type) => vec![value.to_string()],
            _ => vec![json!(String::from_utf8_lossy(body)).to_string()],
        };
        let closes = headers.get(CLOSED).is_some_and(|closed| closed == "true");
        if closes {
            events.push(end());
        }
        let first = self.store.event_log(&turn).await.unwrap().next;
        let next = first + events.len() as u64;
        let batch = PersistBatch {
            first: 0,
            blocks: Vec::new(),
            status: match closes {
                true => TurnStatus::Complete,
                false => TurnStatus::Streaming,
            },
            outcome: closes.then_some(Outcome::Success),
            checkpoint: String::new(),
            first_event: first,
            events,
            at: Timestamp(1),
        };
        let stored = self.store.persist(&turn, Generation::FIRST, &batch);
        stored.await.unwrap();
        next
    }
}

fn written(status: StatusCode, next: u64) -> Response {
    let offset = format!("{next:016}");
    (status, [("stream-next-offset", offset)]).into_response()
}

async fn put(
    State(streams): State<Arc<Streams>>,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let media_type = headers.get(header::CONTENT_TYPE);
    let media_type = media_type.map_or("application/octet-stream", |value| value.to_str().unwrap());
    let before = streams
        .types
        .lock()
        .unwrap()
        .insert(path.clone(), media_type.to_owned());
    if before.is_none() {
        let new = NewTurn::new(key(&path), "host", Timestamp(1));
        streams.store.begin_turn(&new).await.unwrap();
    }
    let next = streams.append(&path, &headers, &body).await;
    written(StatusCode::CREATED, next)
}

async fn post(
    State(streams): State<Arc<Streams>>,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let next = streams.append(&path, &headers, &body).await;
    written(StatusCode::NO_CONTENT, next)
}

async fn read(
    State(streams): State<Arc<Streams>>,
    Path(path): Path<String>,
    Query(mut asked): Query<DurableRead>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    asked.long_poll = Duration::from_millis(300);
    let close = CancellationToken::new();
    let read = durable_stream(
        &streams.server,
        key(&path),
        &method,
        &headers,
        &asked,
        close,
        (),
    );
    let response = match read.await {
        Ok(response) => response,
        Err(error) => {
            let status = match error {
                DurableReadError::Query(_) => StatusCode::BAD_REQUEST,
                DurableReadError::Gone => StatusCode::GONE,
                DurableReadError::Store(_) => StatusCode::NOT_FOUND,
            };
            return (status, [("x-content-type-options", "nosniff")]).into_response();
        }
    };
    let media_type = streams.types.lock().unwrap()[&path].clone();
    let (mut head, body) = response.into_parts();
    if head.headers[header::CONTENT_TYPE] == "text/event-stream" {
        let frames = body.into_data_stream();
        let shown = frames.map(move |frame| frame.map(|frame| events_shown(&frame, &media_type)));
        return Response::from_parts(head, Body::from_stream(shown));
    }
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let body = match body.is_empty() {
        true => String::new(),
        false => shown(std::str::from_utf8(&body).unwrap(), &media_type),
    };
    let media_type = HeaderValue::from_str(&media_type).unwrap();
    head.headers.insert(header::CONTENT_TYPE, media_type);
    Response::from_parts(head, Body::from(body))
}

/// Returns a body of events as a stream of this type has it.
fn shown(events: &str, media_type: &str) -> String {
    let events: Vec<Value> = serde_json::from_str(events).unwrap();
    let end: Value = serde_json::from_str(&end()).unwrap();
    let events = events.into_iter().filter(|event| *event != end);
    match is_json(media_type) {
        true => Value::Array(events.collect()).to_string(),
        false => events
            .map(|event| event.as_str().unwrap().to_owned())
            .collect(),
    }
}

/// The same of the frames of a stream.
fn events_shown(frames: &[u8], media_type: &str) -> Bytes {
    let frames = std::str::from_utf8(frames).unwrap();
    let frames = frames.split_inclusive("\n\n").map(|frame| {
        let Some(data) = frame.strip_prefix("event: data\ndata:") else {
            return frame.to_owned();
        };
        let data = shown(data.trim_end(), media_type);
        let is_empty = data.is_empty() || data == "[]";
        let lines = data
            .replace("\r\n", "\n")
            .replace('\r', "\n")
            .replace('\n', "\ndata:");
        match is_empty {
            true => String::new(),
            false => format!("event: data\ndata:{lines}\n\n"),
        }
    });
    frames.collect::<String>().into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_are_read_as_the_protocols_own_tests_read_streams() {
    let Ok(project) = std::env::var("STEPWELL_DURABLE_STREAMS") else {
        eprintln!(
            "SKIPPED: `cargo xtask test durable-streams` installs the tests of Durable Streams"
        );
        return;
    };
    let routes = get(read).put(put).post(post);
    let app = Router::new()
        .route("/v1/stream/{*path}", routes)
        .with_state(Streams::new());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let names = format!("{READING}(?!.*({NOT_OURS}))");
    let run = tokio::task::spawn_blocking(move || {
        let mut vitest = std::process::Command::new("npx");
        vitest.args(["vitest", "run", "--testNamePattern", &names]);
        vitest.current_dir(project).env("URL", url).status()
    });
    assert!(run.await.unwrap().unwrap().success());
}
