//! A server under load: a scripted one, whose every answer is known, and the program's own.

use crate::file::File;
use crate::run::{Ran, finish, stepwell};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// The text of a turn of the scripted server.
const SAID: [&str; 5] = [
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
    r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello"}"#,
    r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
];

/// The answer of the scripted server to the run of a number, from 0.
type Script = fn(usize) -> Response;

/// A server whose answers are known. It ends with the test.
struct Server {
    url: String,
    seen: Arc<Seen>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Default)]
struct Seen {
    /// Method and path of each request.
    requests: Mutex<Vec<String>>,
    came: Condvar,
    tokens: Mutex<Vec<String>>,
}

impl Server {
    fn start(script: Script) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let seen = Arc::new(Seen::default());
        let app = Router::new()
            .fallback(answer)
            .with_state((Arc::clone(&seen), script));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self {
            url,
            seen,
            _runtime: runtime,
        }
    }

    fn agent(&self) -> String {
        format!("{}/agent", self.url)
    }

    /// The requests of a method whose path ends so.
    fn count(&self, method: &str, end: &str) -> usize {
        count(&self.seen.requests.lock().unwrap(), method, end)
    }

    /// Waits until there were this number of requests.
    fn wait_for(&self, method: &str, end: &str, expected: usize) {
        let requests = self.seen.requests.lock().unwrap();
        let is_early = |requests: &mut Vec<String>| count(requests, method, end) < expected;
        drop(self.seen.came.wait_while(requests, is_early).unwrap());
    }
}

fn count(requests: &[String], method: &str, end: &str) -> usize {
    let is_one = |request: &&String| request.starts_with(method) && request.ends_with(end);
    requests.iter().filter(is_one).count()
}

async fn answer(State((seen, script)): State<(Arc<Seen>, Script)>, request: Request) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let number = {
        let mut requests = seen.requests.lock().unwrap();
        let ends = if path.starts_with("/threads") {
            "/events"
        } else {
            "/agent"
        };
        let number = requests
            .iter()
            .filter(|request| request.ends_with(ends))
            .count();
        requests.push(format!("{method} {path}"));
        seen.came.notify_all();
        number
    };
    if let Some(token) = request.headers().get(header::AUTHORIZATION) {
        let token = token.to_str().expect("text").to_owned();
        seen.tokens.lock().unwrap().push(token);
    }
    if path.ends_with("/turns") {
        let body = json!({ "threadId": "t", "turnId": format!("turn-{number}") });
        (StatusCode::CREATED, body.to_string()).into_response()
    } else if path.ends_with("/cancel") || method == Method::DELETE {
        StatusCode::NO_CONTENT.into_response()
    } else {
        script(number)
    }
}

/// A stream of these events, which then ends.
fn says(events: &[&str]) -> Response {
    let body: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// A stream of one event that never ends.
fn hangs() -> Response {
    let first = format!("data: {}\n\n", SAID[0]);
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from(first))]);
    let body = Body::from_stream(first.chain(stream::pending()));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn refuses(status: u16, code: &str) -> Response {
    let body = json!({ "error": { "code": code, "message": "It is not to be." } });
    let status = StatusCode::from_u16(status).expect("a status");
    (status, body.to_string()).into_response()
}

fn load(arguments: &[&str]) -> Ran {
    finish(stepwell(&[&["load"], arguments].concat()), b"")
}

#[test]
fn turns_events_and_failures_are_those_that_the_server_gave() {
    // The first is the one that is not measured.
    let server = Server::start(|number| match number {
        3 => refuses(503, "too_many_runs"),
        4 => says(&[
            SAID[0],
            r#"{"type":"RUN_ERROR","message":"no","code":"rate_limited"}"#,
        ]),
        5 | 6 => says(&SAID[..3]),
        _ => says(&SAID),
    });
    let ran = load(&[
        &server.agent(),
        "--turns",
        "10",
        "--runs",
        "1",
        "--json",
        "-",
    ])
    .succeeded();
    assert_eq!(server.count("POST", "/agent"), 11);
    let report = ran.json();
    assert_eq!(
        (&report["schema"], &report["kind"]),
        (&json!(1), &json!("agent"))
    );
    assert_eq!(report["url"], server.agent());
    let level = &report["levels"][0];
    assert_eq!(level["turns_ended"], 6);
    assert_eq!(level["turns_failed"], 4);
    assert_eq!(level["turns_unfinished"], 0);
    assert_eq!(level["events"], 6 * 5 + 2 + 2 * 3);
    let failures = level["failures"].as_array().expect("failures");
    assert_eq!(failures.len(), 3, "{failures:?}");
    assert_eq!(
        failures[0],
        json!({ "reason": "the stream ended before the turn did", "count": 2 })
    );
    for reason in ["503 too_many_runs", "RUN_ERROR rate_limited"] {
        let expected = json!({ "reason": reason, "count": 1 });
        assert!(failures.contains(&expected), "{failures:?}");
    }
    let times = &level["latencies"];
    assert_eq!(times["turn"]["count"], 6);
    assert_eq!(times["refused"]["count"], 1);
    assert_eq!(times["first_event"]["count"], 9);
    assert_eq!(times["first_text"]["count"], 8);
    let percentiles = ["p50_ms", "p90_ms", "p99_ms", "p99_9_ms", "max_ms"];
    let percentiles = percentiles.map(|name| times["turn"][name].as_f64().expect(name));
    assert!(
        percentiles.is_sorted() && percentiles[0] > 0.0,
        "{percentiles:?}"
    );
}

#[test]
fn each_follower_of_a_session_counts_and_the_sessions_are_deleted() {
    let server = Server::start(|_| says(&SAID));
    let arguments = [
        &*server.url,
        "--turns",
        "4",
        "--runs",
        "1",
        "--followers",
        "3",
        "--thread-turns",
        "2",
        "--json",
        "-",
    ];
    let report = load(&arguments).succeeded().json();
    assert_eq!(report["kind"], "sessions");
    let level = &report["levels"][0];
    assert_eq!(
        (&level["turns_ended"], &level["events"]),
        (&json!(4), &json!(4 * 3 * 5))
    );
    assert_eq!(level["latencies"]["accepted"]["count"], 4);
    assert_eq!(level["latencies"]["turn"]["count"], 4);
    // One request of the turn that is not measured.
    assert_eq!(server.count("POST", "/turns"), 4 + 1);
    assert_eq!(server.count("GET", "/events"), (4 + 1) * 3);
    assert_eq!(server.count("DELETE", ""), 2 + 1);

    let kept = Server::start(|_| says(&SAID));
    load(&[&kept.url, "--turns", "1", "--keep", "--json", "-"]).succeeded();
    assert_eq!(kept.count("DELETE", ""), 0);
}

#[test]
fn a_turn_that_waits_for_its_user_has_failed() {
    let server = Server::start(|number| match number {
        0 => says(&SAID),
        _ => says(&[
            SAID[0],
            r#"{"type":"CUSTOM","name":"interrupt","value":{"id":"i"}}"#,
        ]),
    });
    let ran = load(&[&server.url, "--turns", "1", "--json", "-"]);
    let line = ran.failed(1);
    assert!(
        line.contains("no turn came to its end: the turn asks the user"),
        "{line}"
    );
    assert_eq!(ran.json()["levels"][0]["turns_failed"], 1);
}

#[test]
fn the_token_goes_with_every_request_and_is_shown_nowhere() {
    let server = Server::start(|_| says(&SAID));
    let json = File::new("token.json");
    let mut command = stepwell(&["load", &server.url, "--turns", "1", "--json"]);
    command
        .arg(json.as_str())
        .env("STEPWELL_SERVE_TOKEN", "s3cret");
    let ran = finish(command, b"").succeeded();
    let tokens = server.seen.tokens.lock().unwrap();
    let requests = server.seen.requests.lock().unwrap().len();
    assert_eq!(*tokens, vec!["Bearer s3cret"; requests]);
    let written = json.text();
    assert!(!ran.out.contains("s3cret") && !written.contains("s3cret"));
}

#[test]
fn what_is_wrong_with_the_server_is_said_in_one_line_and_nothing_is_measured() {
    #[track_caller]
    fn says_so(url: &str, expected: &[&str]) {
        let ran = load(&[url, "--json", "-"]);
        assert_eq!(ran.out, "");
        let line = ran.failed(1);
        assert!(line.contains("nothing was measured"), "{line}");
        for words in expected {
            assert!(line.contains(words), "{words}: {line}");
        }
    }
    let wrong_key = Server::start(|_| refuses(401, "unauthorized"));
    says_so(
        &wrong_key.agent(),
        &["401 unauthorized", "It is not to be.", "--token"],
    );
    assert_eq!(wrong_key.count("POST", ""), 1);
    let full = Server::start(|_| refuses(429, "too_many_requests"));
    says_so(
        &full.agent(),
        &["429 too_many_requests", "it takes no turn now"],
    );
    let stopping = Server::start(|_| (StatusCode::SERVICE_UNAVAILABLE, "<html>").into_response());
    says_so(&stopping.agent(), &["503 Service Unavailable"]);
    let page = Server::start(|_| says(&["<html>"]));
    says_so(&page.agent(), &["what came is no event of AG-UI"]);
    says_so(
        "http://127.0.0.1:1/agent",
        &["no connection", "http://127.0.0.1:1/agent"],
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_gives_what_was_measured_says_so_and_stops_the_turns() {
    let server = Server::start(|number| match number {
        0..=3 => says(&SAID),
        _ => hangs(),
    });
    let mut command = stepwell(&["load", &server.url, "--steps", "2,4", "--json", "-"]);
    let mut child = command.spawn().expect("the program starts");
    drop(child.stdin.take());
    // Three turns came to their end, and both runs have begun one that does not.
    server.wait_for("GET", "/events", 1 + 3 + 2);
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status();
    assert!(killed.expect("kill runs").success());
    let ran = Ran::from(child.wait_with_output().expect("the program ends"));
    assert_eq!((ran.code, &*ran.err), (Some(130), ""));
    let report = ran.json();
    assert_eq!(report["interrupted"], true);
    let levels = report["levels"].as_array().expect("levels");
    assert_eq!(levels.len(), 1);
    assert_eq!(
        (&levels[0]["turns_ended"], &levels[0]["turns_unfinished"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(server.count("POST", "/cancel"), 2);
}

/// Checks that each field, and each kind of latency, is in the guide.
fn assert_documented(value: &Value) {
    const GUIDE: &str = include_str!("../../../docs/guides/load.md");
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                assert!(
                    GUIDE.contains(&format!("`{name}`")),
                    "{name} is not in the guide"
                );
                assert_documented(value);
            }
        }
        Value::Array(values) => values.iter().for_each(assert_documented),
        _ => {}
    }
}

#[test]
fn the_tables_the_json_and_the_picture_tell_the_same() {
    let server = Server::start(|_| says(&SAID));
    let (json, picture) = (File::new("figures.json"), File::new("figures.svg"));
    let mut command = stepwell(&["load", &server.agent(), "--turns", "4", "--steps", "1,2"]);
    command
        .arg("--json")
        .arg(json.as_str())
        .arg("--picture")
        .arg(picture.as_str());
    let ran = finish(command, b"").succeeded();
    for words in [
        "1 at once: 4 turns",
        "2 at once: 4 turns",
        "first event",
        "99.9 %",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    let report: Value = serde_json::from_str(&json.text()).expect("JSON");
    assert_documented(&report);
    let at_once = report["levels"].as_array().expect("levels").iter();
    let at_once: Vec<_> = at_once
        .map(|level| level["runs_at_once"].as_u64())
        .collect();
    assert_eq!(at_once, [Some(1), Some(2)]);

    let svg = picture.text();
    let parsed = roxmltree::Document::parse(&svg).expect("XML");
    let root = parsed.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    let texts: Vec<_> = root
        .descendants()
        .filter(|node| node.has_tag_name((root.tag_name().namespace().unwrap_or_default(), "text")))
        .filter_map(|node| node.text().map(str::trim))
        .collect();
    for words in [
        "turn: latency by percentile",
        "turns a second",
        "1 at once",
        "2 at once",
        "99.9 %",
        "max",
    ] {
        assert!(texts.contains(&words), "{words}: {texts:?}");
    }
    assert!(svg.contains("prefers-color-scheme:dark"));
}

/// Returns a port for a program that needs a fixed one: below those that the system gives out, so that no connection of
/// another test takes it meanwhile.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() % 4_000;
    loop {
        let number = (first + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % 4_000;
        let port = 24_000 + number as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A `stepwell serve` process that ends with the test.
struct Serve {
    child: Child,
    url: String,
}

impl Serve {
    fn start(arguments: &[&str]) -> Self {
        let mut command = stepwell(&[&["serve", "--listen", "127.0.0.1:0"], arguments].concat());
        let mut child = command
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the program starts");
        let stdout = child.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let url = line.split_whitespace().last().unwrap_or_default();
        let url = url.trim_end_matches("/agent").to_owned();
        Self { child, url }
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_word_of_the_played_model_is_timed_at_every_follower() {
    let address = format!("127.0.0.1:{}", free_port());
    let base_url = format!("http://{address}/v1");
    let provider = [
        "--provider",
        "openai-compatible",
        "--model",
        "time",
        "--base-url",
        &base_url,
    ];
    let server = Serve::start(&provider);
    let arguments = [
        &*server.url,
        "--turns",
        "2",
        "--runs",
        "2",
        "--followers",
        "2",
        "--json",
        "-",
        "--model",
        &address,
        "--words",
        "50",
        "--speaks",
        "1",
    ];
    let report = load(&arguments).succeeded().json();
    assert_eq!(
        report["model"],
        json!({ "words_per_second": 50, "speaks_s": 1 })
    );
    let level = &report["levels"][0];
    assert_eq!(level["turns_ended"], 2);
    assert_eq!(level["latencies"]["delivery"]["count"], 2 * 2 * 50);
}

#[test]
fn a_model_that_the_server_does_not_ask_is_said_to_be_none_of_its() {
    let server = Serve::start(&[]);
    let address = format!("127.0.0.1:{}", free_port());
    let ran = load(&[&server.url, "--model", &address]);
    let line = ran.failed(1);
    assert!(
        line.contains("no word of the model played here came"),
        "{line}"
    );
}

#[test]
fn a_server_with_the_scripted_model_is_measured_without_a_key() {
    let server = Serve::start(&[]);
    let agent = format!("{}/agent", server.url);
    for url in [&agent, &server.url] {
        let level = load(&[url, "--turns", "3", "--json", "-"])
            .succeeded()
            .json();
        assert_eq!(level["levels"][0]["turns_ended"], 3, "{level}");
    }
}
