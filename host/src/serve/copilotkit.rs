//! The routes of CopilotKit's runtime, for its clients in a page: `runtimeUrl` is `/api/copilotkit`. They name an agent, of
//! which there is one here: `default`.
//!
//! The wire is that of `@copilotkit/runtime` 1.75 without a platform behind it: `info`, `agent/{agent}/run`,
//! `agent/{agent}/connect` and `agent/{agent}/stop/{thread}`
//! (<https://github.com/CopilotKit/CopilotKit/tree/main/packages/runtime/src/v2/runtime>).

use super::capabilities;
use super::connections::CloseConnection;
use super::endpoint::{closed_by, run_agent};
use super::extract::{Asker, Path};
use super::refusal::{Code, Refusal};
use super::requests::check_id;
use super::server::Server;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_io::RunId;
use stepwell_serve::axum::{check_content_type, read_body, response};
use stepwell_serve::parts::PreparedRun;
use stepwell_serve::{Encoding, read_input, understand};

/// The version of the runtime whose wire this is: its clients look at it.
const VERSION: &str = "1.75.0";

/// The agent's name, which clients use by default.
const AGENT: &str = "default";

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/info", get(info))
        .route("/agent/{agent}/run", post(run))
        .route("/agent/{agent}/connect", post(connect))
        .route("/agent/{agent}/stop/{thread}", post(stop))
}

/// Returns the features of this server. Features of a platform are not offered, so that no client asks for one.
async fn info(State(server): State<Arc<Server>>) -> Json<Value> {
    let agent = json!({
        "name": AGENT,
        "description": "",
        "className": "Stepwell",
        "capabilities": capabilities::of(&server),
    });
    Json(json!({
        "version": VERSION,
        "agents": { AGENT: agent },
        "mode": "sse",
        "audioFileTranscriptionEnabled": false,
        "threadEndpoints": {
            "list": false,
            "inspect": false,
            "mutations": false,
            "realtimeMetadata": false,
        },
        "suggestions": false,
        "a2uiEnabled": false,
        "openGenerativeUIEnabled": false,
        "telemetryDisabled": true,
    }))
}

fn check_agent(agent: &str) -> Result<(), Refusal> {
    if agent == AGENT {
        return Ok(());
    }
    let message = format!("no such agent: the agent of this server is `{AGENT}`");
    Err(Refusal::new(Code::NoAgent, message))
}

/// Takes a run, as at `/agent`.
async fn run(
    state: State<Arc<Server>>,
    asker: Asker,
    Path(agent): Path<String>,
    close: Option<Extension<CloseConnection>>,
    request: Request,
) -> Result<Response, Refusal> {
    check_agent(&agent)?;
    run_agent(state, asker, close, request).await
}

/// Streams the conversation of a thread, and the further events of its run.
async fn connect(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path(agent): Path<String>,
    close: Option<Extension<CloseConnection>>,
    request: Request,
) -> Result<Response, Refusal> {
    check_agent(&agent)?;
    let (head, body) = request.into_parts();
    let encoding = Encoding::accepted(&head.headers)?;
    let open = server.user_limits.stream(&user)?;
    check_content_type(&head.headers)?;
    let body = read_body(body, server.serving.limits.body).await?;
    let (its_server, asker) = (Arc::clone(&server), user.clone());
    let read = move |body: &[u8]| -> Result<_, Refusal> {
        let input = read_input(body)?;
        let key = asker.thread(input.thread_id.clone());
        let run = PreparedRun::new(&its_server.agent, input, its_server.serving.trust)?;
        Ok((run, key))
    };
    let (run, key) = understand(body, read).await?;
    let stream = server.runs.connect(&key, &run, closed_by(close)).await?;
    Ok(response(encoding, open.around(stream.frames(encoding))))
}

/// The body of a stop request.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stop {
    run_id: Option<RunId>,
}

/// Stops the run of a thread that is under way.
async fn stop(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path((agent, thread)): Path<(String, String)>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    check_agent(&agent)?;
    check_id("thread", &thread)?;
    let (head, body) = request.into_parts();
    check_content_type(&head.headers)?;
    let body = read_body(body, server.serving.limits.body).await?;
    let run_id = read_stop(body.as_ref())?.run_id;
    let thread = user.thread(thread);
    let stopped = server.runs.end_run(&thread, run_id.as_ref()).await?;
    Ok(Json(json!({ "stopped": stopped })))
}

fn read_stop(body: &[u8]) -> Result<Stop, Refusal> {
    if body.is_empty() {
        return Ok(Stop::default());
    }
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("the body does not say which run to stop, as `{{runId}}`: {error}");
        Refusal::new(Code::InvalidInput, message)
    })
}
