//! The response of a run: its log, in the encoding that the client asked for.

use super::encoding::Encoding;
use super::event_log::LogReader;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures::{Stream, stream};
use std::convert::Infallible;
use std::time::Duration;
use stepwell_io::RunId;

/// Streams the log as it grows. A client that goes away drops the reader, which the run notices.
pub(super) fn reply(
    encoding: Encoding,
    run_id: RunId,
    log: LogReader,
    keep_alive: Duration,
) -> Response {
    streamed(encoding, frames(encoding, run_id, log, keep_alive))
}

/// A response whose body is these frames.
pub(super) fn streamed(
    encoding: Encoding,
    frames: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let body = Body::from_stream(frames);
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, encoding.media_type()),
        (header::CACHE_CONTROL, "no-cache"),
        // nginx would collect the events otherwise.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn frames(
    encoding: Encoding,
    run_id: RunId,
    log: LogReader,
    keep_alive: Duration,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold((log, run_id), move |(mut log, run_id)| async move {
        loop {
            match tokio::time::timeout(keep_alive, log.next()).await {
                Ok(None) => return None,
                Ok(Some(entry)) => {
                    let frame = encoding.event(&run_id, &entry);
                    return Some((Ok(frame), (log, run_id)));
                }
                Err(_) => {
                    if let Some(comment) = encoding.keep_alive() {
                        return Some((Ok(comment), (log, run_id)));
                    }
                }
            }
        }
    })
}
