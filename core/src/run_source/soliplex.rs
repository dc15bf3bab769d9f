//! Soliplex: rooms, whose threads and runs the server makes.
//!
//! Source: the REST interface of Soliplex's server, `/api/v1/rooms/{room}/agui`, <https://github.com/soliplex/soliplex>.

use super::rest::{CreatedThread, RunRequests, RunSourceError, answer};
use crate::dialect::{
    AgUiOptions, Decode, Decoder, Dialect, Endpoint, HopIds, HttpRequest, Quirks, Resumption,
    SEGMENT, Secret, Sink,
};
use crate::event::{EventRef, Message, Violation};
use crate::transcript::Transcript;
use crate::wire::Frame;
use crate::{RunId, ThreadId};
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A room of a Soliplex server.
///
/// ```
/// use stepwell_core::run_source::{RunRequests, Soliplex};
///
/// let room = Soliplex::new("https://chat.example.org", "support").key("token");
/// let request = room.create_thread();
/// assert_eq!(request.url, "https://chat.example.org/api/v1/rooms/support/agui");
///
/// let body = br#"{"thread_id": "t-1", "runs": {"r-1": {"run_id": "r-1"}}}"#;
/// let thread = room.thread_created(200, body)?;
/// assert_eq!(thread.run_id, Some("r-1".into()));
/// # Ok::<(), stepwell_core::run_source::RunSourceError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Soliplex {
    server: String,
    room: String,
    key: Option<Secret>,
}

/// A run that the server has kept.
#[derive(Clone, Debug, PartialEq)]
pub struct SoliplexRun {
    /// The run's id.
    pub run_id: RunId,
    /// The messages that the run was given.
    pub messages: Vec<Message>,
    /// The run's AG-UI events, as the server kept them.
    pub events: Vec<Value>,
}

impl Soliplex {
    /// The room of this name on the server at this address (`https://host`, without `/api`).
    #[must_use]
    pub fn new(server: impl Into<String>, room: impl Into<String>) -> Self {
        let mut server = server.into();
        server.truncate(server.trim_end_matches('/').len());
        Self {
            server,
            room: room.into(),
            key: None,
        }
    }

    /// The same with the user's bearer token.
    #[must_use]
    pub fn key(mut self, key: impl Into<Secret>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Returns the endpoint of the room's runs: an address for each, and streams that resume after the last event seen.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        let mut quirks = Quirks::default();
        quirks.resumption = Resumption::LastEventId;
        quirks.ag_ui = AgUiOptions::EXPECTED;
        quirks.ag_ui.is_before_1_0 = true;
        Endpoint {
            provider: "ag-ui".to_owned(),
            dialect: Dialect::AgUi,
            base_url: format!("{}/{{thread_id}}/{{run_id}}", self.threads()),
            model: self.room.clone(),
            key: self.key.clone(),
            headers: Vec::new(),
            key_header: None,
            quirks,
        }
    }

    /// Asks which runs a thread has.
    #[must_use]
    pub fn list_runs(&self, thread_id: &ThreadId) -> HttpRequest {
        self.request("GET", &[thread_id], None)
    }

    /// Reads the answer to [`list_runs`](Self::list_runs), given its status: the runs, oldest first.
    ///
    /// # Errors
    /// The server refused, or what it answers cannot be read.
    pub fn runs_listed(&self, status: u16, body: &[u8]) -> Result<Vec<RunId>, RunSourceError> {
        let thread: Thread = read(answer(status, body)?)?;
        let mut runs: Vec<_> = thread.runs.into_values().collect();
        runs.sort_by(|a, b| a.created.cmp(&b.created));
        Ok(runs.into_iter().map(|run| run.run_id).collect())
    }

    /// Builds the request for a run's input and events.
    #[must_use]
    pub fn get_run(&self, thread_id: &ThreadId, run_id: &RunId) -> HttpRequest {
        self.request("GET", &[thread_id, run_id], None)
    }

    /// Reads the answer to [`get_run`](Self::get_run), given its status.
    ///
    /// # Errors
    /// The server refused, or what it answers cannot be read.
    pub fn run_kept(&self, status: u16, body: &[u8]) -> Result<SoliplexRun, RunSourceError> {
        let run: Run = read(answer(status, body)?)?;
        Ok(SoliplexRun {
            run_id: run.run_id,
            messages: run.run_input.unwrap_or_default().messages,
            events: run.events.unwrap_or_default(),
        })
    }

    /// Rebuilds the conversation of a thread from its runs, oldest first, to continue it. An event that cannot be read
    /// is skipped, and noted in the trace.
    #[must_use]
    pub fn transcript(thread_id: &ThreadId, runs: &[SoliplexRun]) -> Transcript {
        let mut transcript = Transcript::default();
        for run in runs {
            for message in &run.messages {
                // The app's instructions are not part of the history: they are sent again with each run.
                if !matches!(message, Message::System(_) | Message::Developer(_)) {
                    let _ = transcript.push(message.clone());
                }
            }
            let ids = HopIds {
                thread_id: thread_id.clone(),
                run_id: run.run_id.clone(),
                ..HopIds::default()
            };
            let mut decoder = Decoder::new(Dialect::AgUi, ids);
            for event in &run.events {
                let data = event.to_string();
                let frame = Frame {
                    data: data.as_bytes(),
                    ..Frame::default()
                };
                let decoded = decoder.frame(frame, &mut Applies(&mut transcript));
                if let Err(error) = decoded {
                    tracing::warn!(target: "stepwell", run = %run.run_id, %error, "an event of the history is left out");
                }
            }
        }
        let messages = transcript.messages().to_vec();
        Transcript::new(messages).with_shared_state(transcript.shared_state().clone())
    }

    fn threads(&self) -> String {
        let room = utf8_percent_encode(&self.room, SEGMENT);
        format!("{}/api/v1/rooms/{room}/agui", self.server)
    }

    fn request(&self, method: &'static str, path: &[&str], body: Option<Value>) -> HttpRequest {
        let mut url = self.threads();
        for segment in path {
            url.push('/');
            url.extend(utf8_percent_encode(segment, SEGMENT));
        }
        let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
        if body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        if let Some(key) = &self.key {
            headers.push((
                "authorization".to_owned(),
                format!("Bearer {}", key.expose()),
            ));
        }
        HttpRequest {
            method,
            url,
            headers,
            body: body.map_or_else(Vec::new, |body| body.to_string().into_bytes()),
        }
    }
}

/// Takes the events of a history, whatever their order.
struct Applies<'a>(&'a mut Transcript);

impl Sink for Applies<'_> {
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        let _ = self.0.apply(event);
        Ok(())
    }

    fn warning(&mut self, message: &str) {
        tracing::debug!(target: "stepwell", message, "an event of the history is odd");
    }
}

impl RunRequests for Soliplex {
    fn create_thread(&self) -> HttpRequest {
        self.request("POST", &[], Some(json!({})))
    }

    fn thread_created(&self, status: u16, body: &[u8]) -> Result<CreatedThread, RunSourceError> {
        let thread: Thread = read(answer(status, body)?)?;
        let first = thread.runs.into_values().next();
        let input = first.as_ref().and_then(|run| run.run_input.as_ref());
        Ok(CreatedThread {
            thread_id: thread.thread_id,
            state: input.map(|input| input.state.clone()).unwrap_or_default(),
            run_id: first.map(|run| run.run_id),
        })
    }

    fn create_run(&self, thread_id: &ThreadId, parent: Option<&RunId>) -> HttpRequest {
        let body = match parent {
            Some(parent) => json!({ "parent_run_id": parent }),
            None => json!({}),
        };
        self.request("POST", &[thread_id], Some(body))
    }

    fn run_created(&self, status: u16, body: &[u8]) -> Result<RunId, RunSourceError> {
        let run: Run = read(answer(status, body)?)?;
        Ok(run.run_id)
    }
}

#[derive(Deserialize)]
struct Thread {
    thread_id: ThreadId,
    #[serde(default)]
    runs: BTreeMap<String, Run>,
}

#[derive(Deserialize)]
struct Run {
    run_id: RunId,
    /// A date in ISO 8601, so that the order of the texts is the order of time.
    #[serde(default)]
    created: Option<String>,
    #[serde(default)]
    run_input: Option<RunInput>,
    #[serde(default)]
    events: Option<Vec<Value>>,
}

/// A run's input as the server keeps it, in the terms of AG-UI.
#[derive(Default, Deserialize)]
struct RunInput {
    #[serde(default)]
    state: Value,
    #[serde(default)]
    messages: Vec<Message>,
}

fn read<T: for<'de> Deserialize<'de>>(answer: Value) -> Result<T, RunSourceError> {
    serde_json::from_value(answer).map_err(|error| RunSourceError::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::ApiErrorKind;

    fn room() -> Soliplex {
        Soliplex::new("https://h/", "a room/é").key("secret")
    }

    #[test]
    fn requests_have_the_room_and_the_ids_in_their_paths_and_the_key_in_its_header() {
        let request = room().create_run(&"t/1".into(), Some(&"r".into()));
        assert_eq!(request.method, "POST");
        assert_eq!(
            request.url,
            "https://h/api/v1/rooms/a%20room%2F%C3%A9/agui/t%2F1"
        );
        assert_eq!(request.body, br#"{"parent_run_id":"r"}"#);
        let key = ("authorization".to_owned(), "Bearer secret".to_owned());
        assert!(request.headers.contains(&key));
        assert!(!format!("{:?} {request:?}", room()).contains("secret"));
        let request = room().create_run(&"t".into(), None);
        assert_eq!(request.body, b"{}");
        assert_eq!(room().get_run(&"t".into(), &"r".into()).method, "GET");
    }

    #[test]
    fn a_thread_comes_with_its_first_run_and_its_state() {
        let body = json!({"thread_id": "t", "runs": {"r": {"run_id": "r", "run_input": {"state": {"a": 1}}}}});
        let thread = room().thread_created(201, body.to_string().as_bytes());
        let expected = CreatedThread {
            thread_id: "t".into(),
            run_id: Some("r".into()),
            state: json!({"a": 1}),
        };
        assert_eq!(thread, Ok(expected));
        let bare = room().thread_created(200, br#"{"thread_id": "t"}"#);
        assert_eq!(bare.map(|thread| thread.run_id), Ok(None));
    }

    #[test]
    fn what_is_refused_and_what_cannot_be_read_are_told_apart() {
        let refused = room().run_created(401, br#"{"detail": "log in first"}"#);
        let Err(RunSourceError::Refused(error)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(error.kind, ApiErrorKind::Authentication);
        assert!(error.message.contains("log in first"), "{error}");
        for body in ["", "<html>", "[]", "{}", r#"{"run_id": 1}"#] {
            let read = room().run_created(200, body.as_bytes());
            assert!(matches!(read, Err(RunSourceError::Unreadable(_))), "{body}");
        }
    }

    #[test]
    fn runs_are_listed_oldest_first() {
        let body = json!({"thread_id": "t", "runs": {
            "a": {"run_id": "a", "created": "2026-02-01T00:00:00Z"},
            "b": {"run_id": "b", "created": "2026-01-01T00:00:00Z"},
        }});
        let runs = room().runs_listed(200, body.to_string().as_bytes());
        assert_eq!(runs, Ok(vec!["b".into(), "a".into()]));
    }

    #[test]
    fn a_history_is_what_was_said_and_what_came_of_it_and_a_broken_event_costs_itself_only() {
        let message = |json: Value| serde_json::from_value::<Message>(json).unwrap();
        let run = SoliplexRun {
            run_id: "r".into(),
            messages: vec![
                message(json!({"id": "instructions", "role": "system", "content": "Be kind."})),
                message(json!({"id": "u", "role": "user", "content": "Hello"})),
            ],
            events: vec![
                json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
                json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
                json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi"}),
                json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": 7}),
                json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": " there"}),
                json!({"type": "STATE_SNAPSHOT", "snapshot": {"seen": true}}),
            ],
        };
        let transcript = Soliplex::transcript(&"t".into(), &[run]);
        let said: Vec<_> = (transcript.messages().iter())
            .map(|message| {
                (
                    message.id().to_string(),
                    serde_json::to_value(message).unwrap()["content"].clone(),
                )
            })
            .collect();
        assert_eq!(
            said,
            [
                ("u".to_owned(), json!("Hello")),
                ("m".to_owned(), json!("Hi there"))
            ]
        );
        assert_eq!(*transcript.shared_state(), json!({"seen": true}));
    }
}
