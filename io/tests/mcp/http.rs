//! Servers at an address.

use crate::server::Server;
use crate::support::*;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::IntoResponse;
use axum::{Json, Router};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use stepwell_io::mcp::{McpServerConfig, McpServers};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A server in this process.
struct Host {
    address: SocketAddr,
    authorizations: Arc<Mutex<Vec<String>>>,
    /// Words with which the next messages are refused.
    refusals: Arc<Mutex<Vec<&'static str>>>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Host {
    async fn start(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let stop = CancellationToken::new();
        let mut config = StreamableHttpServerConfig::default();
        config.cancellation_token = stop.child_token();
        let shared = Server::default();
        let service = StreamableHttpService::new(
            move || Ok(shared.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let authorizations = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&authorizations);
        let refusals = Arc::new(Mutex::new(Vec::new()));
        let refused: Arc<Mutex<Vec<&'static str>>> = Arc::clone(&refusals);
        let note = middleware::from_fn(move |request: Request, next: Next| {
            let value = request.headers().get("authorization");
            let value = value
                .and_then(|value| value.to_str().ok())
                .unwrap_or("none");
            seen.lock().expect("no panic").push(value.to_owned());
            let is_message = request.method() == Method::POST;
            let refusal = is_message.then(|| refused.lock().expect("no panic").pop());
            async move {
                let Some(words) = refusal.flatten() else {
                    return next.run(request).await;
                };
                // Without the id of what it refuses, as servers do that have not read it.
                let error = json!({ "code": -32000, "message": words });
                let body = json!({ "jsonrpc": "2.0", "error": error });
                (StatusCode::BAD_REQUEST, Json(body)).into_response()
            }
        });
        let app = Router::new().nest_service("/mcp", service).layer(note);
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                served = axum::serve(listener, app) => served.expect("it serves"),
                () = stopped.cancelled() => {}
            }
        });
        Self {
            address,
            authorizations,
            refusals,
            stop,
            task,
        }
    }

    fn refuse(&self, words: &'static str) {
        self.refusals.lock().expect("no panic").push(words);
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    async fn stop(self) -> SocketAddr {
        self.stop.cancel();
        self.task.await.expect("it ends");
        self.address
    }
}

async fn connect(config: McpServerConfig) -> McpServers {
    let servers = McpServers::connect(one(config), options()).await;
    servers.expect("the server answers")
}

pub(crate) async fn calls_progress_and_cancel_go_over_http() {
    let host = Host::start("127.0.0.1:0").await;
    let servers = connect(McpServerConfig::http(host.url())).await;
    assert_eq!(names(&servers).len(), 11);
    let arguments = json!({ "text": "over there" });
    assert_eq!(text(&servers, "test__echo", arguments).await, "over there");
    assert_eq!(
        error(&servers, "test__refuse", json!({})).await,
        "the MCP server `test` refused the call: no such folder (error -32602)"
    );
    let mut events = servers.events();
    tokio::select! {
        _ = call(&servers, "test__slow", json!({})) => panic!("it ends only when it is cancelled"),
        _ = wait_for(&mut events, progress) => {}
    }
    assert_eq!(text(&servers, "test__cancelled", json!({})).await, "1");
    servers.close().await;
    host.stop().await;
}

pub(crate) async fn a_server_that_was_started_again_is_called_again() {
    let host = Host::start("127.0.0.1:0").await;
    let servers = connect(McpServerConfig::http(host.url())).await;
    let mut events = servers.events();
    let arguments = || json!({ "text": "hello" });
    assert_eq!(text(&servers, "test__echo", arguments()).await, "hello");
    let slow = error(&servers, "test__slow", json!({}));
    let stop = async {
        wait_for(&mut events, progress).await;
        host.stop().await
    };
    let (failed, address) = tokio::join!(slow, stop);
    assert!(failed.starts_with("the MCP server `test` "), "{failed}");
    let failed = error(&servers, "test__echo", arguments()).await;
    assert!(failed.starts_with("the MCP server `test` "), "{failed}");
    // The new one knows nothing of the session.
    let host = Host::start(&address.to_string()).await;
    assert_eq!(text(&servers, "test__echo", arguments()).await, "hello");
    servers.close().await;
    host.stop().await;
}

pub(crate) async fn a_refusal_that_names_no_call_is_its_answer() {
    let host = Host::start("127.0.0.1:0").await;
    let servers = connect(McpServerConfig::http(host.url())).await;
    let arguments = || json!({ "text": "hello" });
    host.refuse("the quota is used up");
    let failed = error(&servers, "test__echo", arguments()).await;
    assert!(failed.contains("the quota is used up"), "{failed}");
    // An expired session is replaced, and the call is sent again.
    host.refuse("Bad Request: No valid session ID provided");
    assert_eq!(text(&servers, "test__echo", arguments()).await, "hello");
    servers.close().await;
    host.stop().await;
}

pub(crate) async fn headers_are_sent_and_never_shown() {
    let host = Host::start("127.0.0.1:0").await;
    let mut config = McpServerConfig::http(format!("{}?key=hush", host.url()));
    if let McpServerConfig::Http { headers, .. } = &mut config {
        headers.insert("Authorization".to_owned(), "Bearer hush".to_owned());
    }
    assert!(!format!("{config:?}").contains("hush"), "{config:?}");
    let servers = connect(config.clone()).await;
    assert_eq!(
        text(&servers, "test__echo", json!({ "text": "x" })).await,
        "x"
    );
    servers.close().await;
    let seen = host.authorizations.lock().expect("no panic").clone();
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|value| value == "Bearer hush"), "{seen:?}");
    host.stop().await;

    let refused = McpServers::connect(one(config), options()).await;
    let refused = refused.expect_err("nobody is there").to_string();
    assert!(refused.contains("it cannot be reached: "), "{refused}");
    assert!(!refused.contains("hush"), "{refused}");
}

pub(crate) async fn an_address_that_is_none_is_refused() {
    for (url, reason) in [
        ("localhost:80/mcp", "its URL cannot be read"),
        ("ftp://localhost/mcp", "http:// or https://"),
        ("http://[", "its URL cannot be read"),
    ] {
        let refused = McpServers::connect(one(McpServerConfig::http(url)), options()).await;
        let refused = refused.expect_err("no address").to_string();
        assert!(refused.contains(reason), "{url}: {refused}");
    }
    let mut config = McpServerConfig::http("http://localhost/mcp");
    if let McpServerConfig::Http { headers, .. } = &mut config {
        headers.insert("x-key".to_owned(), "hush\n".to_owned());
    }
    let refused = McpServers::connect(one(config), options()).await;
    let refused = refused.expect_err("no header").to_string();
    assert!(refused.contains("`x-key` has a value"), "{refused}");
    assert!(!refused.contains("hush"), "{refused}");
}
