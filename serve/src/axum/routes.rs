//! The routes.

use crate::axum::body::{chat_response, check_content_type, read_body, response};
use crate::axum::refusal::{ChatRefusal, Refusal};
use crate::axum::requests::{KEEP_ALIVE, MAX_BODY};
use crate::request::input::read_input;
use crate::request::{StopRequest, understand};
use crate::run::AgUiServer;
use crate::ui_message::ChatRequest;
use crate::wire::{Encoding, LAST_EVENT_ID};
use axum::Router;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::Agent;

/// The routes of an agent: `POST /agent` for AG-UI clients, `POST /api/chat` for chats of the AI SDK, and `GET
/// /api/chat/{id}/stream` for clients that resume a stream (204 if there is none). `POST /agent/stop`, with `threadId`
/// and `runId`, and `POST /api/chat/{id}/stop` stop a run. Move the routes with axum's `nest`, and put an
/// authentication check before them with its `layer`.
///
/// The system prompt is the agent's alone: see [`ClientTrust`](crate::ClientTrust). To let clients that are back ends
/// of yours give the model instructions, give [`AgentRoutes::server`] an [`AgUiServer::with_trust`].
///
/// All clients share the threads: any client that knows a thread's id can answer its questions. An app with users gives
/// each a [room](AgUiServer::in_room) of their own, in handlers with an [`AgUiServer`].
pub fn router(agent: Agent) -> Router {
    AgentRoutes::new(agent).router()
}

/// [`router`], with other limits.
///
/// ```
/// # use stepwell_io::{Agent, provider};
/// use stepwell_serve::axum::AgentRoutes;
/// use stepwell_serve::{AgUiServer, RunLimits};
/// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
/// # let agent = Agent::builder(endpoint).build()?;
///
/// let server = AgUiServer::new(RunLimits { runs: 20, ..RunLimits::default() });
/// let routes = AgentRoutes::new(agent).server(server.clone()).max_body(1 << 20).router();
/// // … and when the app stops: server.stop(grace).await
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AgentRoutes {
    agent: Agent,
    server: AgUiServer,
    max_body: usize,
    keep_alive: Duration,
}

impl AgentRoutes {
    /// The routes as [`router`] has them.
    #[must_use]
    pub fn new(agent: Agent) -> Self {
        Self {
            agent,
            server: AgUiServer::default(),
            max_body: MAX_BODY,
            keep_alive: KEEP_ALIVE,
        }
    }

    /// Sets whose runs they are: for other limits, to stop them, or to share them.
    #[must_use]
    pub fn server(self, server: AgUiServer) -> Self {
        Self { server, ..self }
    }

    /// Sets the longest body of a request, in bytes: 16 MiB if not set.
    #[must_use]
    pub fn max_body(self, max_body: usize) -> Self {
        Self { max_body, ..self }
    }

    /// Sets how long a stream may be silent before a comment is sent: 15 seconds if not set.
    #[must_use]
    pub fn keep_alive(self, keep_alive: Duration) -> Self {
        Self { keep_alive, ..self }
    }

    /// The router.
    pub fn router(self) -> Router {
        Router::new()
            .route("/agent", post(run))
            .route("/api/chat", post(chat))
            .route("/agent/stop", post(stop))
            .route("/api/chat/{chat}/stream", get(resume).delete(stop_chat))
            .route("/api/chat/{chat}/stop", post(stop_chat))
            .with_state(Arc::new(self))
    }
}

async fn run(
    State(routes): State<Arc<AgentRoutes>>,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let encoding = Encoding::accepted(&head.headers)?;
    check_content_type(&head.headers)?;
    let body = read_body(body, routes.max_body).await?;
    let input = understand(body, read_input).await?;
    let last = head.headers.get(LAST_EVENT_ID);
    let last = last.and_then(|last| last.to_str().ok());
    let events = routes.server.run_from(&routes.agent, input, last).await?;
    let events = events.keep_alive(routes.keep_alive);
    Ok(response(encoding, events.frames(encoding)))
}

async fn chat(
    State(routes): State<Arc<AgentRoutes>>,
    request: Request,
) -> Result<Response, ChatRefusal> {
    let (head, body) = request.into_parts();
    check_content_type(&head.headers)?;
    let body = read_body(body, routes.max_body).await?;
    let chat = understand(body, ChatRequest::read).await?;
    let id = chat.input.thread_id.clone();
    let stream = routes.server.chat(&routes.agent, chat).await?;
    let stream = stream.keep_alive(routes.keep_alive);
    Ok(chat_response(id.as_str(), stream.frames()))
}

async fn resume(
    State(routes): State<Arc<AgentRoutes>>,
    Path(chat): Path<String>,
    Query(from): Query<StreamStart>,
) -> Result<Response, ChatRefusal> {
    let chat = chat.into();
    let stream = routes.server.chat_stream(&chat);
    Ok(match stream.await? {
        Some(stream) => {
            let stream = stream.starting_at(from.start_index.unwrap_or(0));
            let stream = stream.keep_alive(routes.keep_alive);
            chat_response(chat.as_str(), stream.frames())
        }
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

async fn stop_chat(
    State(routes): State<Arc<AgentRoutes>>,
    Path(chat): Path<String>,
) -> Result<StatusCode, ChatRefusal> {
    let chat = chat.into();
    let stopped = routes.server.stop_chat(&chat);
    stopped.await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn stop(
    State(routes): State<Arc<AgentRoutes>>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let (head, body) = request.into_parts();
    check_content_type(&head.headers)?;
    let body = read_body(body, routes.max_body).await?;
    let StopRequest { thread_id, run_id } = StopRequest::read(body.as_ref())?;
    let stopped = routes.server.stop_run(&thread_id, run_id.as_ref());
    stopped.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Where a client resumes the stream of a chat.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StreamStart {
    /// The number of parts that the client has.
    start_index: Option<usize>,
}
