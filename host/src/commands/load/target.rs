//! The measured server, and the requests to it.

use super::trouble::Trouble;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, Response, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::time::Duration;
use stepwell_core::dialect::Secret;
use stepwell_demo::Failure;

/// The time that it may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of bytes that are read of a refusal.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// A running server.
#[derive(Clone, Debug)]
pub(super) struct Target {
    client: Client,
    url: Url,
    token: Option<Secret>,
    /// Whether its sessions are measured, not an AG-UI agent.
    pub(super) is_sessions: bool,
}

impl Target {
    pub(super) fn new(text: &str, token: Option<Secret>) -> Result<Self, Failure> {
        let unusable = |reason: &dyn std::fmt::Display| {
            Failure::usage(format!(
                "`{text}` is no address of a server ({reason}): write it as http://127.0.0.1:8000/agent for an AG-UI \
                 agent, or as http://127.0.0.1:8000/ for the sessions of `stepwell serve`"
            ))
        };
        let url = Url::parse(text).map_err(|error| unusable(&error))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(unusable(&"it is not of http"));
        }
        // The client uses the process's crypto provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true);
        if is_loopback(&url) {
            client = client.no_proxy();
        }
        Ok(Self {
            client: client.build().map_err(Failure::failed)?,
            is_sessions: matches!(url.path(), "" | "/"),
            url,
            token,
        })
    }

    /// Returns what the target is, for people.
    pub(super) fn words(&self) -> String {
        let kind = if self.is_sessions {
            "sessions"
        } else {
            "AG-UI agent"
        };
        format!("{kind} at {}", self.address())
    }

    /// Returns the address without its password.
    pub(super) fn address(&self) -> String {
        let mut url = self.url.clone();
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.into()
    }

    /// Runs the agent, and returns the stream of its events.
    pub(super) async fn run(&self, id: &str, message: &str) -> Result<Response, Trouble> {
        let input = json!({
            "threadId": id,
            "runId": id,
            "state": {},
            "messages": [{ "id": format!("{id}-user"), "role": "user", "content": message }],
            "tools": [],
            "context": [],
            "forwardedProps": {},
            "protocolVersion": "1.0",
        });
        let request = self.client.post(self.url.clone());
        self.send(body(request, &input).header(ACCEPT, "text/event-stream"))
            .await
    }

    /// Begins a turn of a session, and returns its id.
    pub(super) async fn start(&self, thread: &str, message: &str) -> Result<String, Trouble> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Started {
            turn_id: String,
        }
        let request = self.client.post(self.of_thread(thread, &["turns"]));
        let response = self.send(body(request, &json!({ "message": message })));
        let read = response.await?.bytes().await.map_err(Trouble::of)?;
        let started: Started = serde_json::from_slice(&read)
            .map_err(|_| Trouble::new("the answer to a new turn has no `turnId`"))?;
        Ok(started.turn_id)
    }

    /// Follows a turn of a session from its first event.
    pub(super) async fn follow(&self, thread: &str, turn: &str) -> Result<Response, Trouble> {
        let mut url = self.of_thread(thread, &["turns", turn, "events"]);
        url.set_query(Some("protocolVersion=1.0"));
        let request = self.client.get(url).header(ACCEPT, "text/event-stream");
        self.send(request).await
    }

    /// Stops a turn of a session.
    pub(super) async fn cancel(&self, thread: &str, turn: &str) -> Result<(), Trouble> {
        let request = self
            .client
            .post(self.of_thread(thread, &["turns", turn, "cancel"]));
        self.send(body(request, &json!({}))).await.map(drop)
    }

    /// Deletes a session.
    pub(super) async fn delete(&self, thread: &str) -> Result<(), Trouble> {
        let request = self.client.delete(self.of_thread(thread, &[]));
        self.send(request).await.map(drop)
    }

    fn of_thread(&self, thread: &str, rest: &[&str]) -> Url {
        let mut url = self.url.clone();
        // A URL with a host can have a path.
        if let Ok(mut path) = url.path_segments_mut() {
            path.clear().extend(["threads", thread]).extend(rest);
        }
        url
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Trouble> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        };
        let response = request.send().await.map_err(Trouble::of)?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal(response).await)
    }
}

fn body(request: RequestBuilder, value: &Value) -> RequestBuilder {
    request
        .header(CONTENT_TYPE, "application/json")
        .body(value.to_string())
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Reads a refusal: its code and message, if it has them.
async fn refusal(mut response: Response) -> Trouble {
    #[derive(Deserialize)]
    struct Refused {
        error: Reason,
    }
    #[derive(Deserialize)]
    struct Reason {
        code: String,
        message: Option<String>,
    }
    let status = response.status();
    let mut read = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        read.extend_from_slice(&chunk);
        if read.len() > MAX_REFUSAL_BYTES {
            break;
        }
    }
    let number = status.as_u16();
    let trouble = match serde_json::from_slice::<Refused>(&read) {
        Ok(Refused { error }) => {
            let trouble = Trouble::new(format!("{number} {}", error.code));
            trouble.saying(error.message.unwrap_or_default())
        }
        Err(_) => Trouble::new(format!(
            "{number} {}",
            status.canonical_reason().unwrap_or_default()
        )),
    };
    trouble.refused(number)
}
