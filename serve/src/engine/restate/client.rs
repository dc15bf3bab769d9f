//! How a host asks Restate, over HTTP.

use crate::engine::EngineError;
use crate::engine::reply::Reply;
use crate::engine::restate::protocol::{Invocation, Tell};
use crate::engine::restate::protocol::{THREAD, TURN};
use futures::FutureExt;
use futures::future::BoxFuture;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{RequestBuilder, Response};
use serde_json::json;
use std::fmt::Debug;
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use stepwell_io::store::{StoreError, TurnKey};

/// The time that a request may take to which Restate replies at once.
const LONGEST: Duration = Duration::from_secs(10);

const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The requests of a host to Restate.
pub trait Restate: Debug + Send + Sync {
    /// Has a turn driven, once for each `once`; after `delay`, if there is one. Returns when Restate has stored that.
    fn send<'a>(
        &'a self,
        invocation: &'a Invocation,
        once: &'a str,
        delay: Option<Duration>,
    ) -> BoxFuture<'a, Result<(), RestateError>>;

    /// Tells a turn something, and waits for what becomes of it.
    fn tell<'a>(
        &'a self,
        tell: &'a Tell,
        longest: Duration,
    ) -> BoxFuture<'a, Result<Reply, RestateError>>;

    /// Replies to a signal. Only the first reply counts.
    fn reply<'a>(
        &'a self,
        to: &'a str,
        reply: &'a Reply,
    ) -> BoxFuture<'a, Result<(), RestateError>>;
}

/// Why Restate did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum RestateError {
    #[error("Restate cannot be reached at {url}: {reason}")]
    Away { url: String, reason: String },
    #[error("Restate has not taken {what}: it answers {status}: {said}")]
    Refused {
        what: &'static str,
        status: u16,
        said: String,
    },
    #[error("Restate's answer cannot be read: {0}")]
    Answer(reqwest::Error),
}

impl From<RestateError> for EngineError {
    fn from(error: RestateError) -> Self {
        let message = error.to_string();
        StoreError::Unavailable { message }.into()
    }
}

/// Restate's addresses, and what reaches them. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    ingress: String,
    admin: String,
}

impl Client {
    /// # Errors
    /// There is no TLS to be had.
    pub(super) fn new(ingress: &str, admin: &str) -> Result<Self, reqwest::Error> {
        // The client has the process's crypto provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(LONGEST)
            .tcp_nodelay(true)
            .build()?;
        let plain = |url: &str| url.trim_end_matches('/').to_owned();
        Ok(Self {
            http,
            ingress: plain(ingress),
            admin: plain(admin),
        })
    }

    /// Makes the services known that are served at `url`.
    pub(super) async fn register(&self, url: &str) -> Result<(), RestateError> {
        let body = json!({ "uri": url, "force": false });
        let url = format!("{}/deployments", self.admin);
        let request = self.http.post(url).timeout(LONGEST).json(&body);
        self.done("this host's services", request).await?;
        Ok(())
    }

    async fn done(
        &self,
        what: &'static str,
        request: RequestBuilder,
    ) -> Result<Response, RestateError> {
        let response = request.send().await.map_err(|error| RestateError::Away {
            url: error
                .url()
                .map_or_else(String::new, |url| url.origin().ascii_serialization()),
            reason: innermost(&error),
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let said = response.text().await.unwrap_or_default();
        Err(RestateError::Refused {
            what,
            status: status.as_u16(),
            said: said.chars().take(300).collect(),
        })
    }
}

impl Restate for Client {
    fn send<'a>(
        &'a self,
        invocation: &'a Invocation,
        once: &'a str,
        delay: Option<Duration>,
    ) -> BoxFuture<'a, Result<(), RestateError>> {
        async move {
            let object = object(&invocation.thread);
            let mut url = format!("{}/{THREAD}/{object}/{TURN}/send", self.ingress);
            if let Some(delay) = delay {
                url += &format!("?delay={}ms", delay.as_millis());
            }
            let request = self.http.post(url).header("idempotency-key", once);
            let request = request.timeout(LONGEST).json(invocation);
            self.done("a turn", request).await?;
            Ok(())
        }
        .boxed()
    }

    fn tell<'a>(
        &'a self,
        tell: &'a Tell,
        longest: Duration,
    ) -> BoxFuture<'a, Result<Reply, RestateError>> {
        async move {
            let object = object(&tell.thread);
            let url = format!("{}/{THREAD}/{object}/tell", self.ingress);
            let request = self.http.post(url).timeout(longest).json(tell);
            let response = self.done("what a turn is told", request).await?;
            response.json().await.map_err(RestateError::Answer)
        }
        .boxed()
    }

    fn reply<'a>(
        &'a self,
        to: &'a str,
        reply: &'a Reply,
    ) -> BoxFuture<'a, Result<(), RestateError>> {
        async move {
            let url = format!("{}/restate/awakeables/{to}/resolve", self.ingress);
            let request = self.http.post(url).timeout(LONGEST).json(reply);
            match self.done("a reply", request).await {
                // No caller waits for it any more.
                Err(RestateError::Refused { status: 404, .. }) => Ok(()),
                replied => replied.map(|_| ()),
            }
        }
        .boxed()
    }
}

/// Returns the innermost source of an error of the HTTP library.
fn innermost(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Returns Restate's key of a thread, as a path has it: the parts of the thread's key, none of which contains a slash.
fn object(thread: &ThreadKey) -> String {
    let ThreadKey {
        server,
        room,
        thread,
    } = thread;
    let parts = [server, room, thread.as_str()];
    let parts = parts.map(|part| utf8_percent_encode(part, PLAIN).to_string());
    utf8_percent_encode(&parts.join("/"), PLAIN).to_string()
}

/// Returns the idempotency key under which a turn that has begun is sent to be driven.
pub(super) fn begun(turn: &TurnKey) -> String {
    format!("begun/{}", utf8_percent_encode(turn.turn.as_str(), PLAIN))
}

/// Returns the idempotency key under which a turn that rests from this generation on is sent.
pub(super) fn lapsed(turn: &TurnKey, since: u64) -> String {
    let turn = utf8_percent_encode(turn.turn.as_str(), PLAIN);
    format!("lapsed/{turn}/{since}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_differ_have_names_that_do() {
        let thread = |room: &str, thread: &str| ThreadKey {
            room: room.to_owned(),
            ..ThreadKey::from(thread)
        };
        assert_eq!(object(&thread("", "t")), "%2F%2Ft");
        assert_ne!(object(&thread("a/b", "t")), object(&thread("a", "b/t")));
    }
}
