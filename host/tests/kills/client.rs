//! Clients that begin turns, follow them, answer their questions, and acknowledge what they have seen. When their host
//! is killed, they continue at another host, or at the one that was started again.

use crate::agent::Answered;
use crate::clients::chance::Chance;
use crate::clients::frames::{Frame, Frames};
use crate::clients::tools;
use crate::clients::view::View;
use crate::decision::Decision;
use crate::harm::Harm;
use crate::host::{Host, Hosts};
use crate::model::{CALLS, CLIENT_CALLS, calls};
use crate::moments::Moments;
use crate::said;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Streams send something every second: the host of one that is silent for this time has died.
const SILENCE: Duration = Duration::from_secs(5);

/// The pause of a client that is asked to retry.
const PAUSE: Duration = Duration::from_millis(100);

/// The time after which a turn counts as stuck: many times what the longest takes.
pub(crate) const STUCK: Duration = Duration::from_secs(5 * 60);

/// The turns of a thread.
const TURNS: u32 = 2;

/// One turn, and what its client knows of it.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) thread: String,
    number: u32,
    /// Whether the client has a tool of its own.
    has_tools: bool,
    /// Whether a host has reported that the turn began.
    has_begun: bool,
    pub(crate) view: View,
    /// The last event that a host has taken note of.
    pub(crate) acknowledged: Option<u64>,
    /// The questions of which a host has taken the answer.
    pub(crate) answered: HashSet<String>,
    /// The calls of the client's tool of which a host has taken the result.
    pub(crate) brought: HashSet<String>,
}

impl Told {
    fn new(thread: String, number: u32, has_tools: bool) -> Self {
        Self {
            thread,
            number,
            has_tools,
            has_begun: false,
            view: View::default(),
            acknowledged: None,
            answered: HashSet::new(),
            brought: HashSet::new(),
        }
    }

    pub(crate) fn turn(&self) -> String {
        format!("{}-{}", self.thread, self.number)
    }

    /// Returns the calls that the model makes, in order.
    pub(crate) fn calls(&self) -> Vec<String> {
        let names: &[&str] = match self.has_tools {
            true => &CLIENT_CALLS,
            false => &CALLS,
        };
        calls(&self.turn(), names)
    }

    fn path(&self, host: &Host) -> String {
        format!("{}/threads/{}/turns/{}", host.url, self.thread, self.turn())
    }
}

/// The host has died.
pub(crate) struct Gone;

impl From<reqwest::Error> for Gone {
    fn from(_: reqwest::Error) -> Self {
        Self
    }
}

/// All clients. Clones are the same.
#[derive(Clone)]
pub(crate) struct Clients(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) hosts: Hosts,
    pub(crate) moments: Moments,
    pub(crate) chance: Chance,
    pub(crate) client: Client,
    /// The file that the hosts' logs go to.
    pub(crate) hosts_log: PathBuf,
    pub(crate) threads: AtomicU32,
    /// Nothing more is begun.
    pub(crate) ends: AtomicBool,
    over: Mutex<Vec<Told>>,
    /// The questions of the clients of `/agent`.
    pub(crate) answered: Mutex<Vec<Answered>>,
    /// The last harm, and its time.
    harmed: Mutex<Option<(Harm, Instant)>>,
    /// The times from a harm to the event that shows a turn's continuation.
    go_on: Mutex<BTreeMap<Harm, Vec<Duration>>>,
}

impl Clients {
    pub(crate) fn new(hosts: Hosts, moments: Moments, chance: Chance, hosts_log: PathBuf) -> Self {
        let client = Client::builder().read_timeout(SILENCE).build();
        Self(Arc::new(Inner {
            hosts,
            moments,
            chance,
            client: client.unwrap(),
            hosts_log,
            threads: AtomicU32::default(),
            ends: AtomicBool::default(),
            over: Mutex::default(),
            answered: Mutex::default(),
            harmed: Mutex::default(),
            go_on: Mutex::default(),
        }))
    }

    /// Begins and follows this number of turns side by side, until no more may begin; then follows those to their end.
    pub(crate) async fn live(&self, sessions: usize) {
        let workers = (0..sessions).map(|_| {
            let clients = self.clone();
            tokio::spawn(async move {
                while !clients.0.ends.load(Ordering::SeqCst) {
                    clients.thread().await;
                }
            })
        });
        let mut workers: Vec<_> = workers.collect();
        let clients = self.clone();
        workers.push(tokio::spawn(async move { clients.ask_agent().await }));
        let workers = futures::future::try_join_all(workers);
        workers.await.unwrap();
    }

    pub(crate) fn begin_no_more(&self) {
        self.0.ends.store(true, Ordering::SeqCst);
    }

    /// Harm is done now.
    pub(crate) fn is_harmed(&self, harm: Harm) {
        *self.0.harmed.lock().unwrap() = Some((harm, Instant::now()));
    }

    /// All turns, when they are over.
    pub(crate) fn told(&self) -> Vec<Told> {
        self.0.over.lock().unwrap().clone()
    }

    /// The questions that were answered at `/agent`.
    pub(crate) fn answered(&self) -> Vec<Answered> {
        self.0.answered.lock().unwrap().clone()
    }

    /// Returns how long it took until turns continued.
    pub(crate) fn go_on(&self) -> BTreeMap<Harm, Vec<Duration>> {
        self.0.go_on.lock().unwrap().clone()
    }

    /// The threads as the host shows them, by the turn that is shown.
    pub(crate) async fn views(&self, host: &Host) -> BTreeMap<String, Value> {
        let mut views = BTreeMap::new();
        for told in self.told() {
            let (thread, turn) = (&told.thread, told.turn());
            let url = format!("{}/threads/{thread}?turn={turn}", host.url);
            // Its connections may have been ended just before.
            let answer = loop {
                let answer = self.0.client.get(&url).send().await.unwrap();
                match answer.status() {
                    StatusCode::OK => break answer,
                    StatusCode::SERVICE_UNAVAILABLE => tokio::time::sleep(PAUSE).await,
                    other => panic!("{url}: {other}"),
                }
            };
            views.insert(turn, answer.json().await.unwrap());
        }
        views
    }

    async fn thread(&self) {
        let number = self.0.threads.fetch_add(1, Ordering::SeqCst) + 1;
        for turn in 1..=TURNS {
            let mut told = Told::new(format!("thread-{number}"), turn, number.is_multiple_of(2));
            let whole = tokio::time::timeout(STUCK, self.whole_turn(&mut told));
            if whole.await.is_err() {
                said::print_of(&told.turn(), &self.0.hosts_log);
                panic!("the turn is stuck: {told:#?}");
            }
            self.0.over.lock().unwrap().push(told);
        }
    }

    async fn whole_turn(&self, told: &mut Told) {
        while !told.view.fold.is_over {
            let host = self.0.hosts.any(self.0.chance.below(1 << 32)).await;
            // The turn continues at another host, or at the next.
            let _ = self.turn(&host, told).await;
        }
    }

    /// Begins the turn, if it has not begun, and follows it to its end.
    async fn turn(&self, host: &Host, told: &mut Told) -> Result<(), Gone> {
        if !told.has_begun {
            self.0.moments.step();
            let mut body = json!({ "turnId": told.turn(), "message": told.turn() });
            if told.has_tools {
                body["tools"] = tools();
            }
            let url = format!("{}/threads/{}/turns", host.url, told.thread);
            let answer = self.post(&url, &body).await?;
            self.is_there(answer).await?;
            // A host before may have begun the turn and been killed before it could reply.
            let is_begun = [StatusCode::CREATED, StatusCode::CONFLICT].contains(&answer);
            assert!(is_begun, "{}: {answer}", told.turn());
            told.has_begun = true;
        }
        self.0.moments.step();
        while !told.view.fold.is_over {
            self.follow(host, told).await?;
        }
        Ok(())
    }

    async fn follow(&self, host: &Host, told: &mut Told) -> Result<(), Gone> {
        let mut request = self
            .0
            .client
            .get(format!("{}/events?protocolVersion=1.0", told.path(host)));
        if let Some(last) = told.view.last_event_id(&told.turn()) {
            request = request.header("last-event-id", last);
        }
        let mut response = request.send().await?;
        self.is_there(response.status()).await?;
        assert_eq!(response.status(), 200, "{}", told.turn());
        let mut frames = Frames::default();
        while let Some(chunk) = response.chunk().await? {
            self.0.moments.bytes(chunk.len());
            frames.push(&chunk);
            for frame in frames.by_ref() {
                self.0.moments.step();
                let is_event = match frame {
                    Frame::Event(id, data) => {
                        self.take(told, &id, data);
                        true
                    }
                    Frame::Notice | Frame::Prelude(_) | Frame::Comment => false,
                };
                if is_event && self.0.chance.one_in(4) {
                    self.acknowledge(host, told).await?;
                }
                // A user takes a moment, and answers at the latest when nothing else happens.
                if !is_event || self.0.chance.one_in(3) {
                    self.answer(told).await;
                    self.bring(told).await;
                }
            }
        }
        Ok(())
    }

    /// Notes an event that the client receives.
    fn take(&self, told: &mut Told, id: &str, data: String) {
        let event: Value = serde_json::from_str(&data).unwrap();
        if event["name"] == "interrupt" {
            let id = event["value"]["id"].as_str().unwrap();
            assert!(!told.answered.contains(id), "{id} was answered: {data}");
        }
        let snapshots = told.view.fold.snapshots;
        let broken = told.view.take(&told.turn(), id, data);
        assert!(broken.is_empty(), "{}: {broken:?}", told.turn());
        let fold = &told.view.fold;
        if fold.snapshots > snapshots
            && let Some((harm, at)) = *self.0.harmed.lock().unwrap()
        {
            let mut go_on = self.0.go_on.lock().unwrap();
            go_on.entry(harm).or_default().push(at.elapsed());
        }
    }

    async fn acknowledge(&self, host: &Host, told: &mut Told) -> Result<(), Gone> {
        let last = told.view.events.len() as u64 - 1;
        let url = format!("{}/acknowledge", told.path(host));
        let answer = self.post(&url, &json!({ "index": last })).await?;
        self.is_there(answer).await?;
        assert_eq!(answer, StatusCode::NO_CONTENT, "{}", told.turn());
        told.acknowledged = Some(last);
        Ok(())
    }

    /// Answers one of the open questions, at the host that has the turn.
    async fn answer(&self, told: &mut Told) {
        let mut open = told.view.fold.questions.iter();
        let open = open.find(|(id, _)| !told.answered.contains(*id));
        let Some((id, Some(call))) = open.map(|(id, call)| (id.clone(), call.clone())) else {
            return;
        };
        let body = json!({ "resume": [Decision::of(&call).entry(&id, &call)] });
        if self.tell(told, "resume", &body).await {
            told.answered.insert(id);
            self.0.moments.question();
        }
    }

    /// Brings one of the results that are awaited, to the host that has the turn.
    async fn bring(&self, told: &mut Told) {
        let mut open = told.view.fold.awaited().into_iter();
        let Some(call) = open.find(|call| !told.brought.contains(call)) else {
            return;
        };
        let action = format!("calls/{call}/result");
        if self
            .tell(told, &action, &json!({ "content": "here" }))
            .await
        {
            told.brought.insert(call);
            self.0.moments.question();
        }
    }

    /// Tells the turn something, at the host that has it. `true` if it was taken.
    async fn tell(&self, told: &Told, action: &str, body: &Value) -> bool {
        // The host may be killed before the command arrives, while it does, and right after that.
        self.0.moments.question();
        for host in self.0.hosts.up() {
            let url = format!("{}/{action}", told.path(&host));
            let meanwhile = async {
                tokio::task::yield_now().await;
                self.0.moments.question();
            };
            let (answer, ()) = tokio::join!(self.post(&url, body), meanwhile);
            match answer.ok() {
                Some(StatusCode::NO_CONTENT) => return true,
                // The host has died; another host has the turn; or an earlier command was accepted.
                None
                | Some(
                    StatusCode::CONFLICT
                    | StatusCode::NOT_FOUND
                    | StatusCode::UNPROCESSABLE_ENTITY
                    | StatusCode::SERVICE_UNAVAILABLE,
                ) => {}
                Some(other) => panic!("{action}: {other}"),
            }
        }
        false
    }

    /// Fails where a host answers that it stops, or does not reach its store.
    pub(crate) async fn is_there(&self, answer: StatusCode) -> Result<(), Gone> {
        if answer != StatusCode::SERVICE_UNAVAILABLE {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
        Err(Gone)
    }

    async fn post(&self, url: &str, body: &Value) -> Result<StatusCode, Gone> {
        let request = self.0.client.post(url);
        let request = request.header("content-type", "application/json");
        Ok(request.body(body.to_string()).send().await?.status())
    }
}
