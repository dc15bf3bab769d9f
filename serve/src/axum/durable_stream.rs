//! The reading half of the Durable Streams protocol over the log of a turn
//! (<https://github.com/durable-streams/durable-streams/blob/main/PROTOCOL.md>, draft 1.0): a stream of JSON, one message for
//! each event, closed when the turn is over. An offset is the number of the next event.

use crate::follow::{LogPart, LogRead};
use crate::run::AgUiServer;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures::{Stream, stream};
use serde::Deserialize;
use serde_json::json;
use std::convert::Infallible;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use stepwell_io::store::{StoreError, TurnKey};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How long a long poll waits. Clients expect half a minute at most.
const LONG_POLL: Duration = Duration::from_secs(20);

/// How long a stream of events stays open. Its client then resumes at its offset, on any host.
const SSE: Duration = Duration::from_secs(60);

/// After how long a silence a stream of events sends a comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Since when intervals of the protocol are counted, in seconds since 1970: 2024-10-09.
const EPOCH: u64 = 1_728_432_000;

/// The length of an interval, in seconds.
const INTERVAL: u64 = 20;

const NEXT_OFFSET: HeaderName = HeaderName::from_static("stream-next-offset");
const UP_TO_DATE: HeaderName = HeaderName::from_static("stream-up-to-date");
const CLOSED: HeaderName = HeaderName::from_static("stream-closed");
const CURSOR: HeaderName = HeaderName::from_static("stream-cursor");

/// The headers that a page of another origin must see.
pub const EXPOSED: [HeaderName; 5] = [NEXT_OFFSET, UP_TO_DATE, CLOSED, CURSOR, header::ETAG];

/// What a read asks for, in its query.
#[derive(Clone, Debug, Deserialize)]
pub struct DurableRead {
    /// The offset at which the read begins: `-1` for the beginning, `now` for the end, or one that the server returned
    /// before.
    offset: Option<String>,
    /// `long-poll` or `sse`.
    live: Option<String>,
    /// The cursor that was given before.
    cursor: Option<String>,
    /// How long a long poll waits.
    #[serde(skip, default = "long_poll_time")]
    pub long_poll: Duration,
}

fn long_poll_time() -> Duration {
    LONG_POLL
}

/// Why a log is not read.
#[derive(Debug, thiserror::Error)]
pub enum DurableReadError {
    /// The query is none of the protocol's.
    #[error("{0}")]
    Query(&'static str),
    /// The events after the offset were dropped.
    #[error("the events after this `offset` were dropped: read on from `now`, or get the thread")]
    Gone,
    /// There is no such turn, or the store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads the log of a turn. `close` closes the client's connection; `guard` is dropped when the answer is given, or its stream
/// is over.
///
/// # Errors
/// The query is none of the protocol's, there is no such turn, or the store cannot be read.
pub async fn durable_stream(
    server: &AgUiServer,
    turn: TurnKey,
    method: &Method,
    headers: &HeaderMap,
    read: &DurableRead,
    close: CancellationToken,
    guard: impl Send + 'static,
) -> Result<Response, DurableReadError> {
    let is_live = read.live.is_some() && method != Method::HEAD;
    let log = server.log(turn, is_live);
    if method == Method::HEAD {
        return head(&log).await;
    }
    let from = match read.offset.as_deref() {
        None if is_live => {
            return Err(DurableReadError::Query("a live read needs an `offset`"));
        }
        None | Some("-1") => 0,
        Some("now") => log.end().await?,
        Some(offset) => place(offset, log.end().await?)?,
    };
    match read.live.as_deref() {
        None => catch_up(&log, from, read, headers, &close).await,
        Some("long-poll") => long_poll(&log, from, read, &close).await,
        Some("sse") => {
            // A refusal must come before the stream begins.
            if log.part(from, &close).await?.is_gone {
                return Err(DurableReadError::Gone);
            }
            Ok(events(log, from, read, close, guard))
        }
        Some(_) => Err(DurableReadError::Query("`live` is `long-poll` or `sse`")),
    }
}

async fn head(log: &LogRead) -> Result<Response, DurableReadError> {
    let end = log.end().await?;
    let part = log.part(end, &CancellationToken::new()).await?;
    let mut response = response(StatusCode::OK, Body::empty(), "no-store");
    describe(response.headers_mut(), &part, None);
    Ok(response)
}

async fn catch_up(
    log: &LogRead,
    from: u64,
    read: &DurableRead,
    headers: &HeaderMap,
    close: &CancellationToken,
) -> Result<Response, DurableReadError> {
    let part = log.part(from, close).await?;
    if part.is_gone {
        return Err(DurableReadError::Gone);
    }
    // The end is another one soon.
    let cached = match read.offset.as_deref() {
        Some("now") => "no-store",
        _ => "private, no-cache",
    };
    let closed = if part.is_closed { ":c" } else { "" };
    let tag = format!("\"{from}:{}{closed}\"", part.next);
    let known = headers.get(header::IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = match is_known {
        true => response(StatusCode::NOT_MODIFIED, Body::empty(), cached),
        false => response(StatusCode::OK, Body::from(part.json.clone()), cached),
    };
    describe(response.headers_mut(), &part, None);
    set(response.headers_mut(), header::ETAG, &tag);
    Ok(response)
}

async fn long_poll(
    log: &LogRead,
    from: u64,
    read: &DurableRead,
    close: &CancellationToken,
) -> Result<Response, DurableReadError> {
    let part = log.wait(from, read.long_poll, close).await?;
    if part.is_gone {
        return Err(DurableReadError::Gone);
    }
    let mut response = match part.is_empty {
        true => response(StatusCode::NO_CONTENT, Body::empty(), "no-store"),
        false => response(StatusCode::OK, Body::from(part.json.clone()), "no-store"),
    };
    describe(response.headers_mut(), &part, Some(cursor(read)));
    Ok(response)
}

/// A stream of events: each part, and where it ends.
fn events(
    log: LogRead,
    from: u64,
    read: &DurableRead,
    close: CancellationToken,
    guard: impl Send + 'static,
) -> Response {
    let cursor = cursor(read);
    let end = Instant::now() + SSE;
    let begin = Some((log, from, true, None::<LogPart>, guard));
    let frames = stream::unfold(begin, move |state| {
        let close = close.clone();
        async move {
            let (log, from, is_first, before, guard) = state?;
            // The events of the log before are sent.
            drop(before);
            let left = end.saturating_duration_since(Instant::now());
            let longest = match is_first {
                true => Duration::ZERO,
                false => left.min(KEEP_ALIVE),
            };
            let Ok(part) = log.wait(from, longest, &close).await else {
                // The client resumes at its offset.
                return None;
            };
            if part.is_gone {
                return None;
            }
            let is_over = part.is_closed || left.is_zero() || log.let_go.is_cancelled();
            let frame = match part.is_empty && !is_first && !part.is_closed {
                true => Bytes::from_static(b":\n\n"),
                false => frame(&part, cursor),
            };
            let next = (!is_over).then(|| (log, part.next, false, Some(part), guard));
            Some((frame, next))
        }
    });
    let body = Body::from_stream(ok(frames));
    let mut response = response(StatusCode::OK, body, "no-cache");
    set(
        response.headers_mut(),
        header::CONTENT_TYPE,
        "text/event-stream",
    );
    response
}

fn ok(
    frames: impl Stream<Item = Bytes> + Send + 'static,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    use futures::StreamExt;
    frames.map(Ok)
}

fn frame(part: &LogPart, cursor: u64) -> Bytes {
    let mut control = json!({ "streamNextOffset": offset(part.next) });
    if part.is_closed {
        control["streamClosed"] = true.into();
    } else {
        control["streamCursor"] = cursor.to_string().into();
        if part.is_up_to_date {
            control["upToDate"] = true.into();
        }
    }
    // JSON has no line break of its own.
    let data = match part.is_empty {
        true => String::new(),
        false => format!("event: data\ndata:{}\n\n", part.json),
    };
    format!("{data}event: control\ndata:{control}\n\n").into()
}

/// The place that an offset names.
fn place(offset: &str, end: u64) -> Result<u64, DurableReadError> {
    let digits = offset.bytes().all(|byte| byte.is_ascii_digit());
    let place = offset.parse().ok().filter(|place| digits && *place <= end);
    place.ok_or(DurableReadError::Query(
        "`offset` is `-1`, `now`, or the `Stream-Next-Offset` of a read before",
    ))
}

/// Offsets are compared as texts.
fn offset(place: u64) -> String {
    format!("{place:016}")
}

/// The cursor of a live read: the interval of now, or one after that of the read before, so that no cache takes the one for
/// the other.
fn cursor(read: &DurableRead) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs()).saturating_sub(EPOCH) / INTERVAL;
    let before = read.cursor.as_ref();
    match before.and_then(|before| before.parse::<u64>().ok()) {
        Some(before) if before >= now => {
            let jitter = Uuid::new_v4().as_u128() % u128::from(3600 / INTERVAL);
            before.saturating_add(1 + u64::try_from(jitter).unwrap_or_default())
        }
        _ => now,
    }
}

fn describe(headers: &mut HeaderMap, part: &LogPart, cursor: Option<u64>) {
    set(headers, NEXT_OFFSET, &offset(part.next));
    if part.is_up_to_date {
        set(headers, UP_TO_DATE, "true");
    }
    if part.is_closed {
        set(headers, CLOSED, "true");
    } else if let Some(cursor) = cursor {
        set(headers, CURSOR, &cursor.to_string());
    }
}

fn response(status: StatusCode, body: Body, cached: &'static str) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    set(headers, header::CONTENT_TYPE, "application/json");
    set(headers, header::CACHE_CONTROL, cached);
    set(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    let policy = HeaderName::from_static("cross-origin-resource-policy");
    set(headers, policy, "same-origin");
    response
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
