//! Agents behind the app's own server: requests are answered here, and the language's package transports requests and
//! answers.

use crate::agent::Agent;
use crate::effect::HttpHeader;
use crate::json_value::JsonValue;
use crate::runtime::{on_runtime, runtime};
use crate::time::Duration;
use futures::StreamExt;
use futures::future::{AbortHandle, Abortable};
use futures::stream::{BoxStream, iter};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use stepwell_serve::{
    AgUiServer as Server, ChatRequest, ChatStream, ClientTrust, Encoding, EventStream, Refused,
    RunLimits as Limits, STREAM_ID, StopRequest, check_content_type, read_input, stream_id,
};
use tokio::sync::Mutex;

/// The limits of an `AgUiServer`'s runs.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct RunLimits {
    /// The most runs at once: 256 if absent.
    #[uniffi(default = None)]
    pub runs: Option<u32>,
    /// How long a run may take, without the time that it waits for its user: 10 minutes if absent.
    #[uniffi(default = None)]
    pub run_time: Option<Duration>,
    /// How long a question to the user stays open: an hour if absent.
    #[uniffi(default = None)]
    pub interrupt_time: Option<Duration>,
    /// How long a run continues without a client, so that its client may resume it: 30 seconds if absent.
    #[uniffi(default = None)]
    pub resume_time: Option<Duration>,
}

/// A request as the server received it.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ServedRequest {
    /// The method, in capitals.
    pub method: String,
    /// The path, below the one where the agent is served.
    pub path: String,
    /// The type of the body: `Content-Type`.
    pub content_type: Option<String>,
    /// The part after the path's question mark.
    pub query: String,
    /// The accepted types: `Accept`.
    pub accept: Option<String>,
    /// The last event that the client received: `Last-Event-ID`.
    pub last_event_id: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Runs agents for AG-UI clients, at `POST /agent`, and for chats of the AI SDK, at `POST /api/chat`, and `GET` of
/// `/api/chat/{id}/stream`. `POST /agent/stop` and `POST /api/chat/{id}/stop` stop a run.
#[derive(Debug, uniffi::Object)]
pub struct AgUiServer {
    server: Server,
}

/// An answer: its status and headers, and its body as a stream. Releasing the answer releases its run.
#[derive(uniffi::Object)]
pub struct ServedReply {
    status: u16,
    headers: Vec<HttpHeader>,
    body: Arc<Mutex<BoxStream<'static, Vec<u8>>>>,
    closing: AbortHandle,
}

/// The events of a turn as one complete AG-UI run. Releasing the events stops the turn.
#[derive(Debug, uniffi::Object)]
pub struct AgUiEvents {
    events: Mutex<EventStream>,
}

#[uniffi::export]
impl AgUiServer {
    /// Creates a server without runs. Only trusted clients may give the model instructions: their `system` and
    /// `developer` messages are sent unchanged, and their context and state follow the agent's instructions. For other
    /// clients such messages are dropped, and context and state are sent as the user's words.
    // Uniffi passes records by value.
    #[allow(clippy::needless_pass_by_value)]
    #[uniffi::constructor(default(trust_clients = false))]
    pub fn new(limits: RunLimits, trust_clients: bool) -> Arc<Self> {
        let usual = Limits::default();
        let time = |time: Option<Duration>, usual| time.map_or(usual, Into::into);
        let trust = match trust_clients {
            true => ClientTrust::Trusted,
            false => ClientTrust::Untrusted,
        };
        let limits = Limits {
            runs: limits.runs.map_or(usual.runs, |runs| runs as usize),
            run_time: time(limits.run_time, usual.run_time),
            interrupt_time: time(limits.interrupt_time, usual.interrupt_time),
            resume_time: time(limits.resume_time, usual.resume_time),
        };
        let server = Server::with_trust(limits, trust);
        Arc::new(Self { server })
    }

    /// Answers a request with a run of this agent, in a room of a server: the conversations of two rooms are different,
    /// whatever their ids. If the request starts no run, the answer is the error, as JSON, or
    /// as text for a chat.
    // Uniffi passes records by value.
    #[allow(clippy::needless_pass_by_value)]
    #[uniffi::method(default(server = "", room = ""))]
    pub async fn answer(
        &self,
        agent: Arc<Agent>,
        request: ServedRequest,
        server: String,
        room: String,
    ) -> Arc<ServedReply> {
        let served = Served {
            server: self.server.in_room(&server, &room),
            agent: agent.inner().clone(),
        };
        let answered = on_runtime(async move { Ok(served.answer(&request).await) });
        let answered = answered.await;
        answered.unwrap_or_else(|_| ServedReply::refused(&Refused::stopping()))
    }

    /// Stops taking runs, and gives those under way this time to end.
    pub async fn stop(&self, grace: Duration) {
        let server = self.server.clone();
        let Ok(runtime) = runtime() else { return };
        // A task that panicked has nothing left to stop.
        let _ = runtime
            .spawn(async move { server.stop(grace.into()).await })
            .await;
    }
}

/// A server, and the agent that it runs for a request.
struct Served {
    server: Server,
    agent: stepwell_io::Agent<(), serde_json::Value>,
}

impl Served {
    async fn answer(&self, request: &ServedRequest) -> Arc<ServedReply> {
        let path = request.path.trim_end_matches('/');
        let refused = |refused: Refused| ServedReply::refused(&refused);
        let refused_chat = |refused: Refused| ServedReply::refused_chat(&refused);
        match (request.method.as_str(), path) {
            ("POST", "/agent") => self.run(request).await.unwrap_or_else(refused),
            ("POST", "/agent/stop") => self.stop(request).await.unwrap_or_else(refused),
            ("POST", "/api/chat") => self.chat(request).await.unwrap_or_else(refused_chat),
            (_, "/agent" | "/agent/stop" | "/api/chat") => ServedReply::empty(405),
            (method, path) => {
                let chat = self.of_chat(method, path, &request.query).await;
                chat.unwrap_or_else(refused_chat)
            }
        }
    }

    async fn run(&self, request: &ServedRequest) -> Result<Arc<ServedReply>, Refused> {
        let mut accepted = HeaderMap::new();
        if let Some(accept) = &request.accept
            && let Ok(accept) = HeaderValue::from_str(accept)
        {
            accepted.insert(HeaderName::from_static("accept"), accept);
        }
        let encoding = Encoding::accepted(&accepted)?;
        check_content_type(request.content_type.as_deref())?;
        let input = read_input(&request.body)?;
        let last = request.last_event_id.as_deref();
        let events = self.server.run_from(&self.agent, input, last).await?;
        let frames = events.frames(encoding);
        Ok(ServedReply::streamed(
            encoding,
            frames.map(Vec::from).boxed(),
        ))
    }

    async fn stop(&self, request: &ServedRequest) -> Result<Arc<ServedReply>, Refused> {
        check_content_type(request.content_type.as_deref())?;
        let StopRequest { thread_id, run_id } = StopRequest::read(&request.body)?;
        let stopped = self.server.stop_run(&thread_id, run_id.as_ref());
        stopped.await?;
        Ok(ServedReply::empty(204))
    }

    async fn chat(&self, request: &ServedRequest) -> Result<Arc<ServedReply>, Refused> {
        check_content_type(request.content_type.as_deref())?;
        let chat = ChatRequest::read(&request.body)?;
        let id = chat.input.thread_id.clone();
        let stream = self.server.chat(&self.agent, chat).await?;
        Ok(chat_reply(id.as_str(), stream))
    }

    /// Returns a chat's stream, or stops its run.
    async fn of_chat(
        &self,
        method: &str,
        path: &str,
        query: &str,
    ) -> Result<Arc<ServedReply>, Refused> {
        let chat = path.strip_prefix("/api/chat/");
        let Some((chat, what)) = chat.and_then(|chat| chat.rsplit_once('/')) else {
            return Ok(ServedReply::empty(404));
        };
        match (method, what) {
            ("GET", "stream") => {
                let stream = self.server.chat_stream(&chat.into()).await?;
                let fields = query.split('&').filter_map(|field| field.split_once('='));
                let mut start = fields.filter(|(name, _)| *name == "startIndex");
                let start = start.next().and_then(|(_, index)| index.parse().ok());
                Ok(match stream {
                    Some(stream) => chat_reply(chat, stream.starting_at(start.unwrap_or(0))),
                    None => ServedReply::empty(204),
                })
            }
            ("DELETE", "stream") | ("POST", "stop") => {
                self.server.stop_chat(&chat.into()).await?;
                Ok(ServedReply::empty(204))
            }
            (_, "stream" | "stop") => Ok(ServedReply::empty(405)),
            _ => Ok(ServedReply::empty(404)),
        }
    }
}

fn chat_reply(chat: &str, stream: ChatStream) -> Arc<ServedReply> {
    let frames = stream.frames().map(Vec::from).boxed();
    let stream_id = HttpHeader {
        name: STREAM_ID.to_owned(),
        value: stream_id(chat),
    };
    let mut headers = headers_of(Encoding::UiMessages);
    headers.push(stream_id);
    ServedReply::new(200, headers, frames)
}

fn headers_of(encoding: Encoding) -> Vec<HttpHeader> {
    let headers = encoding.headers().into_iter();
    let header = |(name, value): (&str, &str)| HttpHeader {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    headers.map(header).collect()
}

#[uniffi::export]
impl ServedReply {
    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the headers, with names in lower case.
    pub fn headers(&self) -> Vec<HttpHeader> {
        self.headers.clone()
    }

    /// Returns the next chunk of the body; none when the body is complete, or closed.
    pub async fn next(&self) -> Option<Vec<u8>> {
        let body = Arc::clone(&self.body);
        let next = on_runtime(async move {
            let mut body = body.lock().await;
            let piece = body.next().await;
            if piece.is_none() {
                // Closing a body releases its run.
                *body = iter([]).boxed();
            }
            Ok(piece)
        });
        // Without the threads there is no run.
        next.await.ok().flatten()
    }

    /// Reports that the client has gone away and wants no more of the body.
    pub fn close(&self) {
        self.closing.abort();
    }
}

impl std::fmt::Debug for ServedReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedReply")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl ServedReply {
    fn new(status: u16, headers: Vec<HttpHeader>, body: BoxStream<'static, Vec<u8>>) -> Arc<Self> {
        let (closing, closed) = AbortHandle::new_pair();
        Arc::new(Self {
            status,
            headers,
            body: Arc::new(Mutex::new(Abortable::new(body, closed).boxed())),
            closing,
        })
    }

    fn streamed(encoding: Encoding, body: BoxStream<'static, Vec<u8>>) -> Arc<Self> {
        Self::new(200, headers_of(encoding), body)
    }

    fn refused(refused: &Refused) -> Arc<Self> {
        let body = refused.to_json().to_string();
        Self::plain(refused, "application/json", body)
    }

    /// The AI SDK shows the body of such an answer to the user as it is.
    fn refused_chat(refused: &Refused) -> Arc<Self> {
        Self::plain(
            refused,
            "text/plain; charset=utf-8",
            refused.message.clone(),
        )
    }

    fn plain(refused: &Refused, content_type: &str, body: String) -> Arc<Self> {
        let mut headers = vec![HttpHeader {
            name: "content-type".to_owned(),
            value: content_type.to_owned(),
        }];
        let status = refused.reason.status().as_u16();
        if status == 503 {
            headers.push(HttpHeader {
                name: "retry-after".to_owned(),
                value: "1".to_owned(),
            });
        }
        Self::new(status, headers, iter([body.into_bytes()]).boxed())
    }

    fn empty(status: u16) -> Arc<Self> {
        Self::new(status, Vec::new(), iter([]).boxed())
    }
}

#[uniffi::export]
impl AgUiEvents {
    /// Waits for the next event, in AG-UI's JSON form; none after the end of the run.
    pub async fn next(&self) -> Option<JsonValue> {
        let entry = self.events.lock().await.next().await?;
        String::from_utf8(entry.json).ok().map(JsonValue::from_text)
    }
}

impl AgUiEvents {
    pub(crate) fn new(events: EventStream) -> Arc<Self> {
        Arc::new(Self {
            events: Mutex::new(events),
        })
    }
}
