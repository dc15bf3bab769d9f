//! Which path is answered by what.

use super::connections::{HEALTH_PATH, READY_PATH};
use super::extract::Asker;
use super::metrics::MEDIA_TYPE;
use super::openapi::{AGENT_PATH, CHAT_PATH, openapi};
use super::refusal::{Code, Refusal, as_text_for_chats};
use super::server::Server;
use super::{
    authorization, capabilities, copilotkit, endpoint, host_name, journals, page, sessions,
    turn_events, turn_stream, turns,
};
use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, Method, Uri, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_serve::axum::durable_stream::EXPOSED;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser may cache the answer to a preflight request.
const PREFLIGHT: Duration = Duration::from_secs(600);

pub(super) fn router(server: Arc<Server>) -> Router {
    let guarded = Router::new()
        .route(AGENT_PATH, post(endpoint::run_agent))
        .route(CHAT_PATH, post(endpoint::run_chat))
        .route(
            "/api/chat/{chat}/stream",
            get(endpoint::resume_chat).delete(endpoint::stop_chat),
        )
        .route("/agent/stop", post(endpoint::stop_agent))
        .route("/api/chat/{chat}/stop", post(endpoint::stop_chat))
        .nest("/api/copilotkit", copilotkit::routes())
        .route("/capabilities", get(capabilities::get))
        .route("/metrics", get(metrics))
        .route("/threads", get(sessions::list))
        .route(
            "/threads/{thread}",
            get(sessions::view)
                .patch(sessions::rename)
                .delete(sessions::delete),
        )
        .route("/threads/{thread}/turns", post(turns::start))
        .nest("/threads/{thread}/turns/{turn}", turn())
        .route_layer(from_fn_with_state(
            Arc::clone(&server),
            authorization::check,
        ))
        .route_layer(from_fn_with_state(Arc::clone(&server), host_name::check));
    // The page asks for the token itself. It alone is compressed: an event stream would wait in the compressor, and the
    // page's length reveals nothing about a user's messages.
    let page = Router::new()
        .route("/", get(page::index))
        .route("/page/{file}", get(page::file))
        .route_layer(CompressionLayer::new())
        .route_layer(from_fn_with_state(Arc::clone(&server), host_name::check));
    let origins = &server.serving.origins;
    let cors = (!origins.is_empty()).then(|| cors(origins));
    let router = Router::new()
        .route(HEALTH_PATH, get(health))
        .route(READY_PATH, get(ready))
        .route("/openapi.json", get(openapi))
        .merge(page)
        .merge(guarded)
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown)
        .with_state(server);
    let router = match cors {
        Some(cors) => router.layer(cors),
        None => router,
    };
    let router = router.layer(from_fn(host_name::check_one));
    router.layer(from_fn(as_text_for_chats))
}

fn turn() -> Router<Arc<Server>> {
    Router::new()
        .route("/events", get(turn_events::get))
        .route("/stream", get(turn_stream::get))
        .route("/journal", get(journals::get))
        .route("/cancel", post(turns::cancel))
        .route("/calls/{call}/cancel", post(turns::cancel_call))
        .route("/calls/{call}/result", post(turns::bring_result))
        .route("/resume", post(turns::resume))
        .route("/acknowledge", post(turns::acknowledge))
}

fn cors(origins: &[String]) -> CorsLayer {
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        let origins = origins
            .iter()
            .filter_map(|origin| origin.parse::<HeaderValue>().ok());
        AllowOrigin::list(origins)
    };
    CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::ACCEPT,
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::IF_NONE_MATCH,
            HeaderName::from_static(stepwell_serve::LAST_EVENT_ID),
        ])
        .expose_headers(
            [
                header::RETRY_AFTER,
                HeaderName::from_static(stepwell_serve::STREAM_ID),
            ]
            .into_iter()
            .chain(EXPOSED)
            .collect::<Vec<_>>(),
        )
        .max_age(PREFLIGHT)
}

/// Reports that the process answers.
async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Returns whether the server takes runs.
async fn ready(State(server): State<Arc<Server>>) -> Result<Json<Value>, Refusal> {
    if server.runs.is_closed() {
        return Err(Refusal::stopping());
    }
    let trouble = server.store_health.trouble().await;
    if server.store_health.is_damaged() {
        return Err(Refusal::store_damaged());
    }
    if trouble.is_some() {
        let message = "the server cannot reach its store, or not write there: see its log";
        return Err(Refusal::new(Code::StoreUnavailable, message));
    }
    Ok(Json(json!({ "status": "ready" })))
}

/// Returns the server's counts, for Prometheus. They cover all users together, and so no user may read them: the
/// operator of the server has a token of their own.
async fn metrics(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
) -> Result<impl IntoResponse, Refusal> {
    if user.is_named() {
        let message =
            "the metrics are of all users: they are for the server's own token, `--token`";
        return Err(Refusal::new(Code::Forbidden, message));
    }
    let text = server.metrics.text();
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text))
}

async fn unknown(uri: Uri) -> Refusal {
    let message = format!(
        "there is nothing at `{}`: runs are posted to {AGENT_PATH}",
        uri.path()
    );
    Refusal::new(Code::NotFound, message)
}

async fn wrong_method(method: Method, uri: Uri) -> Refusal {
    let message = format!(
        "`{}` does not take {method}: see the header Allow",
        uri.path()
    );
    Refusal::new(Code::MethodNotAllowed, message)
}
