//! Clients that begin turns, follow them, say what they have seen, and come back to the host that was started again.

use crate::host::Host;
use crate::moments::{Moments, Random};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Turns side by side.
const WORKERS: usize = 3;

/// The turns of a thread.
const TURNS: u32 = 2;

/// One turn, and what its client knows of it.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) thread: String,
    number: u32,
    /// Whether the host has said that the turn began.
    pub(crate) has_begun: bool,
    /// The events, as they were told.
    pub(crate) events: Vec<String>,
    /// The last event that the host has taken note of.
    pub(crate) acknowledged: Option<u64>,
    is_over: bool,
}

impl Told {
    fn new(thread: String, number: u32) -> Self {
        Self {
            thread,
            number,
            has_begun: false,
            events: Vec::new(),
            acknowledged: None,
            is_over: false,
        }
    }

    pub(crate) fn turn(&self) -> String {
        format!("{}-{}", self.thread, self.number)
    }

    fn path(&self, host: &Host) -> String {
        format!("{}/threads/{}/turns/{}", host.url, self.thread, self.turn())
    }
}

/// The host is gone.
struct Gone;

impl From<reqwest::Error> for Gone {
    fn from(_: reqwest::Error) -> Self {
        Self
    }
}

/// All clients. Clones are the same.
#[derive(Clone)]
pub(crate) struct Clients(Arc<Inner>);

struct Inner {
    moments: Moments,
    random: Random,
    /// Turns that nobody follows at the moment.
    idle: Mutex<Vec<Told>>,
    over: Mutex<Vec<Told>>,
    threads: Mutex<u32>,
}

impl Clients {
    pub(crate) fn new(moments: Moments, random: Random) -> Self {
        Self(Arc::new(Inner {
            moments,
            random,
            idle: Mutex::default(),
            over: Mutex::default(),
            threads: Mutex::default(),
        }))
    }

    /// Begins and follows turns until the host is killed.
    pub(crate) async fn live(&self, host: &Host) {
        self.work(host, true).await;
        assert!(
            self.0.idle.lock().unwrap().len() >= WORKERS,
            "a client left a host that was not killed"
        );
    }

    /// Follows what is left to its end.
    pub(crate) async fn finish(&self, host: &Host) {
        self.work(host, false).await;
        let left = self.0.idle.lock().unwrap().clone();
        assert!(left.is_empty(), "turns did not end: {left:?}");
    }

    /// All turns, when they are over.
    pub(crate) fn told(&self) -> Vec<Told> {
        self.0.over.lock().unwrap().clone()
    }

    async fn work(&self, host: &Host, begins: bool) {
        // Connections to a host that is gone are of no use.
        let client = Client::new();
        let workers = (0..WORKERS).map(|_| {
            let (clients, host, client) = (self.clone(), host.clone(), client.clone());
            tokio::spawn(async move {
                while let Some(mut told) = clients.next(begins) {
                    let turn = clients.turn(&host, &client, &mut told);
                    if turn.await.is_err() {
                        clients.0.idle.lock().unwrap().push(told);
                        return;
                    }
                    if told.number < TURNS {
                        let next = Told::new(told.thread.clone(), told.number + 1);
                        clients.0.idle.lock().unwrap().push(next);
                    }
                    clients.0.over.lock().unwrap().push(told);
                }
            })
        });
        for worker in workers.collect::<Vec<_>>() {
            worker.await.unwrap();
        }
    }

    /// A turn that was left, or a new one.
    fn next(&self, begins: bool) -> Option<Told> {
        let left = self.0.idle.lock().unwrap().pop();
        left.or_else(|| {
            begins.then(|| {
                let mut threads = self.0.threads.lock().unwrap();
                *threads += 1;
                Told::new(format!("thread-{threads}"), 1)
            })
        })
    }

    /// Begins the turn, if it has not begun, and follows it to its end.
    async fn turn(&self, host: &Host, client: &Client, told: &mut Told) -> Result<(), Gone> {
        if !told.has_begun {
            self.0.moments.step();
            let body = json!({ "turnId": told.turn(), "message": told.turn() });
            let url = format!("{}/threads/{}/turns", host.url, told.thread);
            let answer = post(client, &url, &body).await?;
            // A host before may have begun it and been killed before it could say so.
            let is_begun = [StatusCode::CREATED, StatusCode::CONFLICT].contains(&answer);
            assert!(is_begun, "{}: {answer}", told.turn());
            told.has_begun = true;
        }
        self.0.moments.step();
        while !told.is_over {
            self.follow(host, client, told).await?;
        }
        Ok(())
    }

    async fn follow(&self, host: &Host, client: &Client, told: &mut Told) -> Result<(), Gone> {
        let mut request = client.get(format!("{}/events", told.path(host)));
        if let Some(last) = told.events.len().checked_sub(1) {
            request = request.header("last-event-id", format!("{}:{last}", told.turn()));
        }
        let mut response = request.send().await?;
        assert_eq!(response.status(), 200, "{}", told.turn());
        let mut unread = String::new();
        while let Some(chunk) = response.chunk().await? {
            self.0.moments.bytes(chunk.len());
            unread.push_str(std::str::from_utf8(&chunk).unwrap());
            while let Some((frame, rest)) = unread.split_once("\n\n") {
                let frame = frame.to_owned();
                unread = rest.to_owned();
                self.0.moments.step();
                if self.take(told, &frame) && self.0.random.below(4) == 0 {
                    self.acknowledge(host, client, told).await?;
                }
            }
        }
        Ok(())
    }

    /// Takes note of what the client is told. `true` if it was an event of the turn.
    fn take(&self, told: &mut Told, frame: &str) -> bool {
        let Some((id, data)) = frame.split_once("\ndata: ") else {
            return false;
        };
        let expected = format!("id: {}:{}", told.turn(), told.events.len());
        assert_eq!(id, expected, "each event comes once, in order");
        assert!(!told.is_over, "{data} comes after the end");
        let event: Value = serde_json::from_str(data).unwrap();
        told.is_over = ["RUN_FINISHED", "RUN_ERROR"].contains(&event["type"].as_str().unwrap());
        told.events.push(data.to_owned());
        true
    }

    async fn acknowledge(&self, host: &Host, client: &Client, told: &mut Told) -> Result<(), Gone> {
        let last = told.events.len() as u64 - 1;
        let url = format!("{}/acknowledge", told.path(host));
        let answer = post(client, &url, &json!({ "index": last })).await?;
        assert_eq!(answer, StatusCode::NO_CONTENT, "{}", told.turn());
        told.acknowledged = Some(last);
        Ok(())
    }
}

async fn post(client: &Client, url: &str, body: &Value) -> Result<StatusCode, Gone> {
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .body(body.to_string());
    Ok(request.send().await?.status())
}
