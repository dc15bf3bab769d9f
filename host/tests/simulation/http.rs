//! Requests to a host's router, as a client makes them.

use super::clients::findings::Rule;
use super::clients::frames::{Frame, Frames};
use super::life::Life;
use super::world::{Up, World};
use axum::body::{Body, BodyDataStream};
use axum::http::{Request, Response};
use futures::StreamExt;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tower_service::Service;

/// How long a client waits for an answer, and for the next frame of a stream. The sum of the host's own limits is less.
const LONGEST: Duration = Duration::from_secs(150);

#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

/// The items of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    Frame(Frame),
    Closed,
    /// The host has died.
    Gone,
    /// Nothing came for as long as was waited.
    Nothing,
}

/// A stream of events.
pub(super) struct Events {
    body: BodyDataStream,
    frames: Frames,
    life: Arc<Life>,
    silent: Duration,
}

impl World {
    /// Sends a command. Returns `None` where the host dies before it answers, or does not answer.
    pub(super) async fn ask(
        &self,
        up: &Up,
        turn: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Option<Answer> {
        let what = format!("{method} {path}");
        let response = self.send(up, turn, method, path, body, &[]).await?;
        let answer = async {
            let status = response.status().as_u16();
            let body = axum::body::to_bytes(response.into_body(), 1 << 24).await;
            let body = body.unwrap_or_default();
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            Answer { status, body }
        };
        let answer = tokio::select! {
            biased;
            () = up.life.dies() => return None,
            answer = answer => answer,
        };
        let said = match answer.body["error"]["code"].as_str() {
            Some(code) => code.to_owned(),
            None => String::new(),
        };
        self.trace.note(format!(
            "{what} at {}: {} {said}",
            up.life.name, answer.status
        ));
        if answer.status == 500 {
            self.finds(Rule::AnswerFits, turn, format!("{what}: {said}"));
        }
        Some(answer)
    }

    /// Sends a request; the answer is there when its headers are.
    pub(super) async fn send(
        &self,
        up: &Up,
        turn: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, String)],
    ) -> Option<Response<Body>> {
        let what = format!("{method} {path}");
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let body = body.map_or(Body::empty(), |body| Body::from(body.to_string()));
        let request = request.body(body).expect("a request");
        let answer = up.router.clone().call(request);
        tokio::select! {
            biased;
            () = up.life.dies() => None,
            answer = tokio::time::timeout(LONGEST, answer) => match answer {
                Ok(Ok(answer)) => Some(answer),
                Ok(Err(never)) => match never {},
                Err(_) => {
                    let what = format!("{what} at {} has no answer", up.life.name);
                    self.finds(Rule::Answered, turn, what);
                    None
                }
            },
        }
    }
}

impl Events {
    pub(super) fn of(response: Response<Body>, life: Arc<Life>) -> Self {
        Self {
            body: response.into_body().into_data_stream(),
            frames: Frames::default(),
            life,
            silent: Duration::ZERO,
        }
    }

    /// Returns the next item, if it comes in time.
    pub(super) async fn next(&mut self, patience: Duration) -> Told {
        loop {
            if let Some(frame) = self.frames.next() {
                self.silent = Duration::ZERO;
                return Told::Frame(frame);
            }
            let begin = tokio::time::Instant::now();
            let chunk = tokio::select! {
                biased;
                () = self.life.dies() => return Told::Gone,
                chunk = tokio::time::timeout(patience, self.body.next()) => chunk,
            };
            match chunk {
                Ok(Some(Ok(chunk))) => self.frames.push(&chunk),
                Ok(Some(Err(_)) | None) => return Told::Closed,
                Err(_) => {
                    self.silent += begin.elapsed();
                    return Told::Nothing;
                }
            }
        }
    }

    /// Returns whether the stream is silent, though a stream sends a comment every now and then.
    pub(super) fn is_mute(&self) -> bool {
        self.silent > LONGEST
    }
}
