//! Many runs at once through `stepwell serve`, on loopback: whether all that the model says arrives, in order; how much
//! memory a run takes; how long an event waits in the server, and a word on its way from the model to the client.
//!
//! `cargo bench -p stepwell --bench serve_load -- --runs 500 --rate 200 --seconds 10`
//!
//! The model and the clients are in this process, and share the processors with the server: the delay is that of the
//! whole way, over both connections.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::routing::post;
use clap::Parser;
use futures::future::join_all;
use futures::stream;
use serde_json::json;
use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// How much is asked of the server.
#[derive(Clone, Copy, Debug, Parser)]
struct Load {
    /// Runs at once.
    #[arg(long, default_value_t = 500)]
    runs: usize,
    /// Words a second that the model says in each.
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// How long it speaks.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// cargo says so of itself.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What the words count from.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fn nanos() -> u64 {
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn main() {
    let load = Load::parse();
    LazyLock::force(&START);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(measure(load));
}

async fn measure(load: Load) {
    let model = model(load).await;
    let server = Server::start(&model, load);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    // One run first: what the server needs once is no run's.
    let warm = Load { seconds: 1, ..load };
    run(&client, &server.url, "warm", warm).await;
    let before = server.resident();

    let is_over = Arc::new(AtomicBool::new(false));
    let watch = tokio::spawn(highest(server.child.id(), Arc::clone(&is_over)));
    let begin = Instant::now();
    let runs = (0..load.runs).map(|number| {
        let (client, url) = (client.clone(), server.url.clone());
        async move { run(&client, &url, &format!("run-{number}"), load).await }
    });
    let mut delays: Vec<u64> = join_all(runs.map(tokio::spawn))
        .await
        .into_iter()
        .flat_map(|run| run.expect("a run is whole"))
        .collect();
    let took = begin.elapsed();
    is_over.store(true, Ordering::Relaxed);
    let highest = watch.await.expect("the memory is watched");

    delays.sort_unstable();
    let words = delays.len();
    let expected = load.runs * words_of(load);
    assert_eq!(words, expected, "words were lost");
    let at = |part: f64| {
        let index = ((words - 1) as f64 * part) as usize;
        Duration::from_nanos(delays[index])
    };
    let per_run = highest.saturating_sub(before) / load.runs;
    println!(
        "{} runs, {} words in each: all {words} arrived, in order",
        load.runs,
        words_of(load)
    );
    println!("time           {took:.1?} for {} s of speech", load.seconds);
    println!("memory         {per_run} KiB a run ({before} KiB before, {highest} KiB at most)");
    println!(
        "on the way     median {:.1?}, p99 {:.1?}, highest {:.1?}",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    let (median, p99) = server.waits(&client).await;
    println!(
        "in the server  median at most {median}, p99 at most {p99}, from the event to the socket"
    );
}

fn words_of(load: Load) -> usize {
    (load.rate * load.seconds) as usize
}

/// A run to its end: how long each word was on its way.
async fn run(client: &reqwest::Client, url: &str, name: &str, load: Load) -> Vec<u64> {
    let input = json!({
        "threadId": name,
        "runId": name,
        "messages": [{"id": "m", "role": "user", "content": load.seconds.to_string()}],
    });
    let request = client.post(url).header("content-type", "application/json");
    let response = request.body(input.to_string()).send().await;
    let mut response = response.expect("an answer");
    assert_eq!(response.status(), 200);
    let mut unread = String::new();
    let mut delays = Vec::with_capacity(words_of(load));
    let mut last = 0;
    let mut is_finished = false;
    while let Some(chunk) = response.chunk().await.expect("the body goes on") {
        let now = nanos();
        unread.push_str(std::str::from_utf8(&chunk).expect("text"));
        let whole = unread.rfind("\n\n").map_or(0, |at| at + 2);
        for frame in unread[..whole].split("\n\n") {
            is_finished |= frame.contains(r#""type":"RUN_FINISHED""#);
            let Some((_, delta)) = frame.split_once(r#""delta":""#) else {
                continue;
            };
            let words = delta.trim_end_matches(r#""}"#).split_ascii_whitespace();
            for word in words {
                let said: u64 = word.parse().expect("a time");
                assert!(said > last, "the words are in order");
                last = said;
                delays.push(now.saturating_sub(said));
            }
        }
        unread.drain(..whole);
    }
    assert!(is_finished, "the run comes to its end");
    assert_eq!(delays.len(), words_of(load), "{name}: words were lost");
    delays
}

/// A model that says the time, again and again.
async fn model(load: Load) -> String {
    let answer = move |body: Bytes| async move {
        // The question is for how long.
        let question: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        let messages = question["messages"].as_array().expect("messages");
        let content = messages
            .last()
            .and_then(|message| message["content"].as_str());
        let seconds = content.and_then(|content| content.parse().ok());
        let seconds = seconds.expect("a number of seconds");
        let words = words_of(Load { seconds, ..load });
        let ticks = tokio::time::interval(Duration::from_secs(1) / load.rate);
        let pieces = stream::unfold((ticks, 0), move |(mut ticks, said)| async move {
            let piece = match said {
                _ if said < words => {
                    ticks.tick().await;
                    let now = nanos();
                    format!(
                        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{now} \"}}}}]}}\n\n"
                    )
                }
                _ if said == words => {
                    let end =
                        r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
                    format!("{end}\n\ndata: [DONE]\n\n")
                }
                _ => return None,
            };
            Some((Ok::<_, Infallible>(piece), (ticks, said + 1)))
        });
        (
            [(header::CONTENT_TYPE, "text/event-stream")],
            Body::from_stream(pieces),
        )
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let app = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// The program, serving. It ends when this is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(model: &str, load: Load) -> Self {
        let runs = load.runs.max(1).to_string();
        let mut child = Command::new(env!("CARGO_BIN_EXE_stepwell"))
            .args(["serve", "--listen", "127.0.0.1:0", "--max-runs", &runs])
            .args([
                "--provider",
                "openai-compatible",
                "--model",
                "m",
                "--base-url",
                model,
            ])
            .env_remove("STEPWELL_SERVE_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let url = line
            .split_whitespace()
            .last()
            .unwrap_or_default()
            .to_owned();
        Self { child, url }
    }

    fn resident(&self) -> usize {
        resident(self.child.id())
    }

    /// How long the half and 99 of 100 events waited at most, of all since the server began: the bounds of the buckets
    /// of its own histogram.
    async fn waits(&self, client: &reqwest::Client) -> (String, String) {
        let url = self.url.replace("/agent", "/metrics");
        let metrics = client.get(url).send().await.expect("an answer");
        let metrics = metrics.text().await.expect("text");
        let buckets: Vec<(f64, f64)> = metrics
            .lines()
            .filter_map(|line| {
                let bucket = line.strip_prefix("stepwell_event_delay_seconds_bucket{le=\"")?;
                let (bound, count) = bucket.split_once("\"} ")?;
                Some((bound.parse().unwrap_or(f64::INFINITY), count.parse().ok()?))
            })
            .collect();
        let all = buckets.last().expect("the server counts").1;
        let under = |part: f64| {
            let bucket = buckets.iter().find(|(_, count)| *count >= all * part);
            let (bound, _) = bucket.expect("the last one has all");
            format!("{:.2} ms", bound * 1000.0)
        };
        (under(0.5), under(0.99))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The memory that a process has, in KiB. Only Linux tells; elsewhere it is 0.
fn resident(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

async fn highest(process: u32, is_over: Arc<AtomicBool>) -> usize {
    let mut highest = 0;
    while !is_over.load(Ordering::Relaxed) {
        highest = highest.max(resident(process));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    highest
}
