//! What was asked of the server, and what became of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;
use tokio::sync::Notify;

use crate::Dialect;

/// The most requests, and the most failures, that are kept: the newest. A demo may run for days.
const MAX_KEPT: usize = 10_000;

/// The most bytes of requests that are kept, except for the newest request. Each carries its complete conversation.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// One request as it came in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// `POST`, `GET` …
    pub method: String,
    /// The path, without the query: `/v1/chat/completions`.
    pub path: String,
    /// What follows the `?`, empty without one.
    pub query: String,
    /// Names in lower case, in the order they came; see [`header`](Self::header).
    pub headers: Vec<(String, String)>,
    /// The body as JSON, `Null` when it is not JSON.
    pub body: Value,
    /// The body as it came.
    pub bytes: Bytes,
    /// The dialect the path belongs to, if any.
    pub dialect: Option<Dialect>,
    /// The progress of the answer.
    pub delivery: Delivery,
}

impl RecordedRequest {
    /// The value of a header, in whatever case the name is written.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// As `GET /__requests` gives it. A body that is not JSON is given as text.
impl Serialize for RecordedRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let headers: serde_json::Map<String, Value> = self
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", &self.method)?;
        map.serialize_entry("path", &self.path)?;
        map.serialize_entry("query", &self.query)?;
        map.serialize_entry("headers", &headers)?;
        if self.body.is_null() {
            map.serialize_entry("body", &String::from_utf8_lossy(&self.bytes))?;
        } else {
            map.serialize_entry("body", &self.body)?;
        }
        map.serialize_entry("dialect", &self.dialect.map(Dialect::name))?;
        map.serialize_entry("delivery", &self.delivery)?;
        map.end()
    }
}

/// The progress of the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delivery {
    /// There is more to come, or the script stalls.
    Sending,
    /// All of it was handed to HTTP.
    Complete,
    /// The script, or the end of the server, cut it.
    Cut,
    /// The client closed the connection before the end: what a cancelled run must do.
    ClientLeft,
}

/// All requests and failures of a server.
pub(crate) struct Journal {
    kept: Mutex<Kept>,
    max_bytes: usize,
    changed: Notify,
    stopped: AtomicBool,
}

#[derive(Default)]
struct Kept {
    /// The number of requests before the first that is kept.
    dropped: usize,
    requests: Vec<RecordedRequest>,
    /// The approximate memory of the requests.
    bytes: usize,
    failures: Vec<String>,
}

impl Kept {
    fn add(&mut self, request: RecordedRequest, max_bytes: usize) {
        self.bytes += weight(&request);
        self.requests.push(request);
        let mut left = self.requests.len();
        while left > 1 && (left > MAX_KEPT || self.bytes > max_bytes) {
            self.bytes -= weight(&self.requests[self.requests.len() - left]);
            left -= 1;
        }
        let dropped = self.requests.len() - left;
        self.requests.drain(..dropped);
        self.dropped += dropped;
    }
}

/// Returns the approximate memory of a request: its body is kept as it came, and as JSON, which takes some four times
/// as much.
fn weight(request: &RecordedRequest) -> usize {
    const REST: usize = 1 << 10;
    let json = if request.body.is_null() { 0 } else { 4 };
    REST + request.bytes.len() * (1 + json)
}

impl Journal {
    /// Creates a journal without requests. One that discards them keeps only the newest.
    pub(crate) fn new(discards_requests: bool) -> Self {
        Self {
            kept: Mutex::default(),
            max_bytes: if discards_requests { 0 } else { MAX_KEPT_BYTES },
            changed: Notify::new(),
            stopped: AtomicBool::new(false),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a request and gives the handle to what becomes of it.
    pub(crate) fn add(self: &Arc<Self>, request: RecordedRequest) -> Receipt {
        let mut kept = self.kept();
        kept.add(request, self.max_bytes);
        let number = kept.dropped + kept.requests.len() - 1;
        drop(kept);
        self.changed.notify_waiters();
        Receipt {
            journal: Arc::clone(self),
            number,
            settled: false,
        }
    }

    /// From now on an answer that is dropped was cut by the server.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.kept().requests.clone()
    }

    pub(crate) fn failures(&self) -> Vec<String> {
        self.kept().failures.clone()
    }

    pub(crate) async fn wait_until(&self, mut holds: impl FnMut(&[RecordedRequest]) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // From here on a change wakes us, so none falls between the look and the wait.
            changed.as_mut().enable();
            if holds(&self.kept().requests) {
                return;
            }
            changed.await;
        }
    }
}

/// The handle that reports the fate of one request. If it is dropped before, the client has left.
pub(crate) struct Receipt {
    journal: Arc<Journal>,
    number: usize,
    settled: bool,
}

impl Receipt {
    pub(crate) fn settle(&mut self, delivery: Delivery) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        let mut kept = self.journal.kept();
        let place = self.number.checked_sub(kept.dropped);
        if let Some(request) = place.and_then(|place| kept.requests.get_mut(place)) {
            request.delivery = delivery;
        }
        drop(kept);
        self.journal.changed.notify_waiters();
    }

    /// Keeps what was wrong with the request.
    pub(crate) fn fail(&self, message: &str) {
        let mut kept = self.journal.kept();
        if kept.failures.len() == MAX_KEPT {
            kept.failures.remove(0);
        }
        let number = self.number;
        kept.failures.push(format!("request {number}: {message}"));
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        let stopped = self.journal.stopped.load(Ordering::Acquire);
        self.settle(if stopped {
            Delivery::Cut
        } else {
            Delivery::ClientLeft
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: usize, length: usize) -> RecordedRequest {
        RecordedRequest {
            method: "POST".to_owned(),
            path: format!("/{number}"),
            query: String::new(),
            headers: Vec::new(),
            body: Value::Null,
            bytes: vec![b'a'; length].into(),
            dialect: None,
            delivery: Delivery::Sending,
        }
    }

    #[test]
    fn keeps_the_newest_requests_within_a_number_of_bytes() {
        let mut kept = Kept::default();
        for number in 0..10 {
            kept.add(request(number, 9 << 10), 50 << 10);
        }
        let paths: Vec<_> = kept.requests.iter().map(|request| &*request.path).collect();
        assert_eq!(paths, ["/5", "/6", "/7", "/8", "/9"]);
        assert_eq!((kept.dropped, kept.bytes), (5, 50 << 10));
        kept.add(request(10, 1 << 20), 50 << 10);
        assert_eq!(
            (kept.requests.len(), kept.dropped),
            (1, 10),
            "the newest is always kept"
        );
    }

    #[test]
    fn keeps_only_the_newest_request_where_they_are_discarded() {
        let journal = Arc::new(Journal::new(true));
        let mut receipts: Vec<_> = (0..3)
            .map(|number| journal.add(request(number, 10)))
            .collect();
        // The request of this receipt is no longer kept.
        receipts[0].settle(Delivery::Cut);
        receipts[2].settle(Delivery::Complete);
        let kept = journal.requests();
        let kept: Vec<_> = kept
            .iter()
            .map(|kept| (&*kept.path, kept.delivery))
            .collect();
        assert_eq!(kept, [("/2", Delivery::Complete)]);
    }

    #[test]
    fn counts_a_body_that_is_json_as_that_too() {
        let mut json = request(0, 1000);
        let text = weight(&json);
        json.body = Value::Bool(true);
        assert_eq!(weight(&json) - text, 4000);
    }
}
