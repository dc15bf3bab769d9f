//! The server: takes requests and chooses the hop.

mod access;
mod background;
mod body;
mod connection;
mod error;
mod hop;
mod json;
mod plan;
mod record;
mod script;
mod turn;

pub use error::{ScriptError, StartError};
pub use hop::Hop;
pub use record::{Delivery, RecordedRequest};
pub use script::Script;

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::check::Rules;
use crate::dialect::{Dialect, Refusal};
use crate::writer::Setting;
use background::StoredAnswers;
use body::Segment;
use connection::{Connection, Connections, Listener};
use hop::Content;
use plan::Pace;
use record::Journal;
use turn::{Turn, json_response};

/// The longest request body that is read: room for a long conversation with images in it.
const LONGEST_REQUEST: usize = 64 * 1024 * 1024;

/// A running scripted provider. It stops, and its connections close, when it is dropped.
///
/// It listens on 127.0.0.1 only, and needs a tokio runtime.
///
/// On a free port, its addresses begin with a word of its own, and requests without it get a 404, take no hop and are
/// not kept: an app that still tries a server which is gone, and whose port this one was given, disturbs no script.
pub struct MockLlm {
    address: SocketAddr,
    server: Arc<Server>,
    connections: Connections,
    accepting: JoinHandle<()>,
}

impl MockLlm {
    /// Starts on a free port.
    ///
    /// # Errors
    /// [`StartError`] when the script has a hop that HTTP cannot carry, or no port is to be had.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start(script: Script) -> Result<Self, StartError> {
        Self::start_on(0, script).await
    }

    /// Starts on this port; 0 is any free one. On a port that was chosen, the addresses are plain: `/v1` and so on.
    ///
    /// # Errors
    /// As [`start`](Self::start), and when the port is taken.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start_on(port: u16, script: Script) -> Result<Self, StartError> {
        script.validate()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listen = |source| StartError::Listen { address, source };
        let inner = TcpListener::bind(address).await.map_err(listen)?;
        let address = inner.local_addr().map_err(listen)?;
        let connections = Connections::default();
        let listener = Listener {
            inner,
            connections: connections.clone(),
        };
        let word = RandomState::new().build_hasher().finish();
        let journal = Arc::new(Journal::new(script.discards_requests));
        let server = Arc::new(Server {
            script,
            prefix: (port == 0).then(|| format!("/mock-{word:016x}")),
            next: AtomicUsize::new(0),
            stored: StoredAnswers::default(),
            journal,
        });
        let app = Router::new()
            .fallback(take)
            .with_state(Arc::clone(&server))
            .into_make_service_with_connect_info::<Connection>();
        let accepting = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                tracing::error!(%error, "the mock provider stopped listening");
            }
        });
        Ok(Self {
            address,
            server,
            connections,
            accepting,
        })
    }

    /// The address it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the beginning of all its addresses: `http://127.0.0.1:PORT/mock-WORD`, or `http://127.0.0.1:PORT` on a
    /// port that was chosen.
    #[must_use]
    pub fn root(&self) -> String {
        let prefix = self.server.prefix.as_deref().unwrap_or_default();
        format!("http://{}{prefix}", self.address)
    }

    /// The root of the interfaces of OpenAI and Anthropic: `{root}/v1`. OpenAI's SDKs call it `base_url`;
    /// Anthropic's append the `/v1` themselves.
    #[must_use]
    pub fn base_url(&self) -> String {
        self.url(Dialect::OpenAiChat)
    }

    /// The address to give an app that speaks this dialect.
    #[must_use]
    pub fn url(&self, dialect: Dialect) -> String {
        self.root() + dialect.root()
    }

    /// Returns the address to which AG-UI runs are posted: `{root}/ag-ui`.
    #[must_use]
    pub fn ag_ui_url(&self) -> String {
        self.url(Dialect::AgUi)
    }

    /// The requests so far, in the order they came; of very many, the newest 10,000, and of large
    /// ones the newest 64 MiB. Of a script that [discards](Script::discard_requests) them, the newest one.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.server.journal.requests()
    }

    /// Returns the app's faults, one line each: requests that were refused, that an expectation did not hold for, or
    /// that came after the end of the script. A test ends well with `assert!(server.failures().is_empty())`.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        self.server.journal.failures()
    }

    /// Waits, without polling, until the requests are as a test needs them.
    ///
    /// ```no_run
    /// # async fn example(server: &stepwell_mock_llm::MockLlm) {
    /// use stepwell_mock_llm::Delivery;
    ///
    /// // The app was told to cancel: it must close the connection of its first request.
    /// server.wait_until(|requests| requests[0].delivery == Delivery::ClientLeft).await;
    /// # }
    /// ```
    pub async fn wait_until(&self, holds: impl FnMut(&[RecordedRequest]) -> bool) {
        self.server.journal.wait_until(holds).await;
    }

    /// Stops, and returns once the port is free. Answers under way are cut.
    pub async fn shutdown(mut self) {
        self.stop();
        // The task ends as cancelled, which is what was asked for.
        let _ = (&mut self.accepting).await;
    }

    fn stop(&self) {
        self.server.journal.stop();
        self.connections.close();
        self.accepting.abort();
    }
}

impl fmt::Debug for MockLlm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockLlm")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for MockLlm {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Server {
    script: Script,
    /// The prefix of the paths of its own requests.
    prefix: Option<String>,
    /// The hop of the next request, in a script that does not repeat.
    next: AtomicUsize,
    /// The answers that can be asked for by their ids.
    stored: StoredAnswers,
    journal: Arc<Journal>,
}

/// Takes every request of its own, whatever its path.
async fn take(
    State(server): State<Arc<Server>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
) -> Response {
    let asked = request.uri().path();
    let Some(path) = server.own(asked) else {
        tracing::warn!(path = %asked, "a request that is not for this server");
        let text = format!(
            "{asked} is no address of this mock provider: give the app its `base_url` or `root`."
        );
        return json_response(404, &serde_json::json!({"error": {"message": text}}));
    };
    let path = path.to_owned();
    match path.as_str() {
        "/__requests" => return json_response(200, &serde_json::json!(server.journal.requests())),
        "/__failures" => return json_response(200, &serde_json::json!(server.journal.failures())),
        _ => {}
    }
    let dialect = Dialect::of(&path);
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, LONGEST_REQUEST).await;
    let too_long = body.is_err();
    let bytes = body.unwrap_or_default();
    let request = RecordedRequest {
        method: head.method.to_string(),
        path,
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: headers(&head.headers),
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        bytes,
        dialect,
        delivery: Delivery::Sending,
    };
    tracing::debug!(method = %request.method, path = %request.path, "request");
    let receipt = server.journal.add(request.clone());
    let turn = Turn {
        request,
        connection,
        receipt,
    };
    if too_long {
        let text = format!("The request body is cut short or longer than {LONGEST_REQUEST} bytes.");
        return turn.refuse(&Refusal::new(413, text));
    }
    server.answer(turn).await
}

impl Server {
    /// The path behind the prefix; none when the request is not for this server.
    fn own<'a>(&self, path: &'a str) -> Option<&'a str> {
        match &self.prefix {
            Some(prefix) => path.strip_prefix(prefix.as_str()),
            None => Some(path),
        }
    }

    async fn answer(&self, turn: Turn) -> Response {
        let Turn { request, .. } = &turn;
        let (method, path) = (request.method.as_str(), request.path.as_str());
        let prefix = self.prefix.as_deref().unwrap_or_default();
        let access = &self.script.access;
        if let Err(refusal) = access.check(request, &format!("{prefix}{path}")) {
            return turn.decline(&refusal);
        }
        if let (Some(models), "GET") = (Dialect::models(path), method) {
            return turn.whole(json_response(200, &models));
        }
        let Some(dialect) = request.dialect else {
            let refusal = Refusal::unknown_url(method, path);
            return turn.refuse(&refusal);
        };
        if background::is_about_stored(path) {
            return self.stored.answer(turn);
        }
        if method != "POST" {
            let refusal = Refusal::wrong_method(method, path, "POST");
            return turn.refuse(&refusal);
        }
        if let Err(refusal) = self.check(dialect, request) {
            return turn.refuse(&refusal);
        }
        let wire = dialect.wire();
        let answers = wire.answers(&request.body);
        let number = if self.script.repeat {
            answers.since_user
        } else {
            self.next.fetch_add(1, Ordering::Relaxed)
        };
        let hops = self.script.hops(&script::question(&request.body));
        let Some(hop) = hops.get(number) else {
            let hops = hops.len();
            let text = format!(
                "The script of the mock provider is used up: it has {hops} hops, and this request is for \
                 hop {number}, counted from 0."
            );
            return turn.refuse(&Refusal {
                code: Some("script_used_up"),
                ..Refusal::new(500, text)
            });
        };
        if let Err(text) = hop.check(request) {
            let text = format!("The expectation of hop {number} does not hold: {text}");
            return turn.refuse(&Refusal {
                code: Some("expectation_failed"),
                ..Refusal::new(500, text)
            });
        }
        let position = if self.script.repeat {
            answers.in_all
        } else {
            number
        };
        let setting = Setting::new().request(request.body.clone());
        let setting = setting.position(position).signs();
        let pace = Pace {
            piece_delay: self.script.piece_delay,
            request_bytes: request.bytes.len(),
        };
        match &hop.content {
            Content::Silent => turn.never().await,
            Content::HangUp => turn.hang_up().await,
            Content::Whole { content_type, body } => {
                turn.respond(hop, content_type, vec![Segment::Bytes(body.clone())])
            }
            Content::Error(message) => turn.error(hop, wire, message),
            Content::Steps(steps) if background::is_wanted(dialect, &request.body) => {
                self.stored.begin(turn, dialect, hop, steps, setting, &pace)
            }
            Content::Steps(steps) => turn.play(hop, steps, dialect, &setting, &pace, &self.stored),
        }
    }

    /// Refuses what the provider would refuse. A script that is lenient takes any object.
    fn check(&self, dialect: Dialect, request: &RecordedRequest) -> Result<(), Refusal> {
        let wire = dialect.wire();
        wire.check_query(&request.query)?;
        let body = &request.body;
        if self.script.lenient && body.is_object() {
            return Ok(());
        }
        let rules = Rules::new(dialect).model(&request.path);
        if let Err(breaches) = rules.check(body) {
            let all: Vec<_> = breaches.iter().map(ToString::to_string).collect();
            let text = format!("The provider refuses the request: {}", all.join("; "));
            return Err(Refusal {
                param: breaches.first().map(|first| first.pointer.clone()),
                ..Refusal::new(400, text)
            });
        }
        wire.check_own(body)
    }
}

fn headers(map: &HeaderMap) -> Vec<(String, String)> {
    map.iter()
        .map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect()
}
