//! One request and its answer over HTTP.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;

use crate::dialect::{Dialect, Refusal, Wire};
use crate::server::background::StoredAnswers;
use crate::server::body::{self, Segment};
use crate::server::connection::Connection;
use crate::server::hop::Step;
use crate::server::plan::{self, Pace};
use crate::server::record::{Delivery, Receipt};
use crate::writer::{Setting, Writer};
use crate::{Hop, RecordedRequest};

/// The media type of Bedrock's streams.
const EVENT_STREAM: &str = "application/vnd.amazon.eventstream";

/// One request and the way to answer it.
pub(crate) struct Turn {
    pub(crate) request: RecordedRequest,
    pub(crate) connection: Connection,
    pub(crate) receipt: Receipt,
}

impl Turn {
    pub(crate) fn play(
        self,
        hop: &Hop,
        steps: &[Step],
        dialect: Dialect,
        setting: &Setting,
        pace: &Pace,
        stored: &StoredAnswers,
    ) -> Response {
        let wire = dialect.wire();
        if wire.streams(&setting.request) {
            let writer = Writer::new(dialect, setting);
            let segments = plan::stream(hop, steps, setting, pace, writer);
            stored.keep_complete(dialect, setting, &segments);
            return self.respond(hop, wire.stream_type(), segments);
        }
        let (mut segments, answer) = plan::whole(hop, steps, setting, pace);
        match answer {
            Ok(answer) => {
                if let Some(answer) = answer {
                    let answer = wire.whole(setting, &answer).to_string();
                    segments.push(Segment::Bytes(answer.into()));
                }
                stored.keep_complete(dialect, setting, &segments);
                self.respond(hop, "application/json", segments)
            }
            // Nothing was sent yet: a provider reports the error with the status.
            Err(message) => {
                let mut hop = hop.clone();
                hop.status = 500;
                self.error(&hop, wire, &message)
            }
        }
    }

    pub(crate) fn error(self, hop: &Hop, wire: &dyn Wire, message: &str) -> Response {
        let refusal = Refusal::new(hop.status, message);
        let body = wire.error(&refusal).to_string();
        let response = self.respond(hop, "application/json", vec![Segment::Bytes(body.into())]);
        with_headers(response, wire, &refusal)
    }

    /// Sends what a hop came to.
    pub(crate) fn respond(
        self,
        hop: &Hop,
        content_type: &str,
        mut segments: Vec<Segment>,
    ) -> Response {
        if let Some(limit) = hop.cut_at {
            segments = body::cut_at(segments, limit);
        }
        if let Some(size) = hop.chunks_of {
            segments = body::chunks_of(segments, size);
        }
        let streamed = ["text/event-stream", "application/x-ndjson", EVENT_STREAM]
            .iter()
            .any(|kind| content_type.starts_with(kind));
        let response = match <[Segment; 1]>::try_from(segments) {
            // A complete body with its length, as providers send what they do not stream.
            Ok([Segment::Bytes(bytes)]) if !streamed && hop.chunks_of.is_none() => {
                let Self { receipt, .. } = self;
                complete(receipt, bytes)
            }
            Ok([segment]) => {
                Response::new(body::play(vec![segment], self.connection, self.receipt))
            }
            Err(segments) => Response::new(body::play(segments, self.connection, self.receipt)),
        };
        with_head(response, hop, content_type, streamed)
    }

    /// Answers with the server's own error, and keeps it as a failure of the app.
    pub(crate) fn refuse(self, refusal: &Refusal) -> Response {
        let RecordedRequest { method, path, .. } = &self.request;
        self.receipt
            .fail(&format!("{method} {path}: {}", refusal.message));
        self.decline(refusal)
    }

    /// Answers with an error that is no fault of the app's.
    pub(crate) fn decline(self, refusal: &Refusal) -> Response {
        // A client that has the wrong path is most likely one of OpenAI's.
        let dialect = self.request.dialect.unwrap_or(Dialect::OpenAiChat);
        let wire = dialect.wire();
        let response = json_response(refusal.status, &wire.error(refusal));
        self.whole(with_headers(response, wire, refusal))
    }

    pub(crate) fn whole(mut self, response: Response) -> Response {
        self.receipt.settle(Delivery::Complete);
        response
    }

    /// Holds the request open until the client leaves, which drops this.
    pub(crate) async fn never(self) -> Response {
        std::future::pending().await
    }

    pub(crate) async fn hang_up(mut self) -> Response {
        self.receipt.settle(Delivery::Cut);
        self.connection.close();
        std::future::pending().await
    }
}

/// Puts the headers of the dialect's errors on a response.
fn with_headers(mut response: Response, wire: &dyn Wire, refusal: &Refusal) -> Response {
    for (name, value) in wire.error_headers(refusal) {
        if let Ok(value) = HeaderValue::try_from(value) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
    response
}

fn complete(mut receipt: Receipt, body: Bytes) -> Response {
    receipt.settle(Delivery::Complete);
    Response::new(Body::from(body))
}

/// Puts status and headers on a hop's response. They were validated before the server started.
pub(crate) fn with_head(
    mut response: Response,
    hop: &Hop,
    content_type: &str,
    streamed: bool,
) -> Response {
    if let Ok(status) = StatusCode::from_u16(hop.status) {
        *response.status_mut() = status;
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(content_type) {
        headers.insert(header::CONTENT_TYPE, value);
    }
    if streamed {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    for (name, value) in &hop.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    response
}

pub(crate) fn json_response(status: u16, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
