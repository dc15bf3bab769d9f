//! Answers that the server stores, and the requests about them: OpenAI's Responses alone have such.
//!
//! Source: <https://platform.openai.com/docs/guides/background> and the reference of
//! <https://platform.openai.com/docs/api-reference/responses>. The texts of the refusals are OpenAI's.

mod answer;
mod query;
mod reader;
mod settings;

pub(crate) use settings::Readability;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;

use crate::Hop;
use crate::dialect::{Dialect, Refusal, stored_response};
use crate::server::body::Segment;
use crate::server::hop::Step;
use crate::server::plan::{self, Pace};
use crate::server::turn::{Turn, json_response, with_head};
use crate::writer::{Setting, Writer};
use answer::Answer;
use query::Query;

/// The beginning of the paths of stored answers.
const PATHS: &str = "/v1/responses/";

/// The most answers that are stored: the newest. A demo may run for days.
const MAX_STORED: usize = 1_000;

/// Returns whether a request on this path is about a stored answer.
pub(crate) fn is_about_stored(path: &str) -> bool {
    path.starts_with(PATHS)
}

/// Returns whether a request asks for an answer in the background.
pub(crate) fn is_wanted(dialect: Dialect, body: &Value) -> bool {
    dialect == Dialect::OpenAiResponses && body["background"] == true
}

/// The answers that can be asked for by their ids.
#[derive(Default)]
pub(crate) struct StoredAnswers(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    answers: HashMap<String, Stored>,
    /// The ids, from the oldest answer to the newest.
    ids: VecDeque<String>,
    /// The number of answers in the background so far.
    in_background: usize,
}

#[derive(Clone)]
enum Stored {
    InBackground(Arc<Answer>),
    /// An answer that was made while the client waited: its last event, or the body.
    Complete(Bytes),
}

impl Stored {
    /// Returns whether the answer can be found: one that a client waits for is stored when it is finished.
    fn is_there(&self) -> bool {
        let Self::Complete(last) = self else {
            return true;
        };
        let response = stored_response::read(last).response;
        response.is_some_and(|response| stored_response::is_final(&response))
    }
}

impl Kept {
    fn add(&mut self, id: String, answer: Stored) {
        if self.answers.insert(id.clone(), answer).is_some() {
            self.ids.retain(|other| *other != id);
        }
        self.ids.push_back(id);
        if self.ids.len() > MAX_STORED
            && let Some(oldest) = self.ids.pop_front()
        {
            self.answers.remove(&oldest);
        }
    }
}

impl StoredAnswers {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an answer that was planned whole, unless the request says otherwise.
    pub(crate) fn keep_complete(&self, dialect: Dialect, setting: &Setting, segments: &[Segment]) {
        if dialect != Dialect::OpenAiResponses || setting.request["store"] == false {
            return;
        }
        if let Some(Segment::Bytes(last)) = segments.last() {
            let id = format!("resp_{}", setting.position);
            self.kept().add(id, Stored::Complete(last.clone()));
        }
    }

    /// Begins an answer in the background. It continues whether or not its client stays.
    pub(crate) fn begin(
        &self,
        turn: Turn,
        hop: &Hop,
        steps: &[Step],
        setting: Setting,
        pace: &Pace,
    ) -> Response {
        let mut kept = self.kept();
        // Unique on the server, and the same on every run of the script.
        let id = format!("resp_{}_{}", setting.position, kept.in_background);
        kept.in_background += 1;
        let setting = setting.response_id(&*id);
        let writer = Writer::new(Dialect::OpenAiResponses, &setting);
        let segments = plan::background(hop, steps, &setting, pace, writer);
        let answer = Answer::begin(segments, hop, &turn.request);
        kept.add(id, Stored::InBackground(Arc::clone(&answer)));
        drop(kept);
        if answer.is_streamed {
            return stream(turn, &answer, hop, None, hop.cut_at);
        }
        let body = answer.begun().to_string().into();
        turn.respond(hop, "application/json", vec![Segment::Bytes(body)])
    }

    /// Answers a request about a stored answer.
    pub(crate) fn answer(&self, turn: Turn) -> Response {
        match self.find(&turn) {
            Err(refusal) => turn.refuse(&refusal),
            Ok((Stored::Complete(_), true)) => {
                turn.refuse(&Refusal::new(400, "Cannot cancel a synchronous response."))
            }
            Ok((Stored::InBackground(answer), true)) => match answer.cancel() {
                Ok(response) => turn.whole(json_response(200, &response)),
                // The answer may have ended while the request was on its way.
                Err(refusal) => turn.decline(&refusal),
            },
            Ok((stored, false)) => read(turn, &stored),
        }
    }

    /// Returns the answer that a request is about, and whether it should be cancelled.
    fn find(&self, turn: &Turn) -> Result<(Stored, bool), Refusal> {
        let (method, path) = (turn.request.method.as_str(), turn.request.path.as_str());
        let below = path.strip_prefix(PATHS).unwrap_or_default();
        let (id, cancels) = match below.strip_suffix("/cancel") {
            Some(id) => (id, true),
            None => (below, false),
        };
        if id.is_empty() || id.contains('/') {
            return Err(Refusal::unknown_url(method, path));
        }
        let allowed = if cancels { "POST" } else { "GET" };
        if method != allowed {
            return Err(Refusal::wrong_method(method, path, allowed));
        }
        let stored = self.kept().answers.get(id).cloned();
        let Some(stored) = stored.filter(Stored::is_there) else {
            return Err(Refusal::new(
                404,
                format!("Response with id '{id}' not found."),
            ));
        };
        if let Stored::InBackground(answer) = &stored
            && answer.authorization.as_deref() != turn.request.header("authorization")
        {
            return Err(Refusal {
                code: Some("invalid_api_key"),
                ..Refusal::new(401, "Incorrect API key provided: not that of the answer.")
            });
        }
        Ok((stored, cancels))
    }
}

/// Sends a stored answer: its events, or the answer as it is.
fn read(turn: Turn, stored: &Stored) -> Response {
    let query = match Query::parse(&turn.request.query) {
        Ok(query) => query,
        Err(refusal) => return turn.refuse(&refusal),
    };
    match stored {
        Stored::Complete(_) if query.stream => turn.refuse(&not_created_with("background")),
        Stored::Complete(last) => {
            let response = stored_response::read(last).response.unwrap_or_default();
            turn.whole(json_response(200, &response))
        }
        Stored::InBackground(answer) if !query.stream => {
            let response = answer.read();
            turn.whole(json_response(200, &response))
        }
        Stored::InBackground(answer) if !answer.is_streamed => {
            turn.refuse(&not_created_with("stream"))
        }
        Stored::InBackground(answer) if !answer.opens_body() => turn.decline(&Refusal::new(
            400,
            "This response can no longer be streamed because it is more than 5 minutes old",
        )),
        Stored::InBackground(answer) => {
            stream(turn, answer, &Hop::new(), query.starting_after, None)
        }
    }
}

fn not_created_with(field: &str) -> Refusal {
    let text =
        format!("This response cannot be streamed because it was not created with {field}=true.");
    Refusal {
        param: Some("stream".to_owned()),
        ..Refusal::new(400, text)
    }
}

/// Sends the events of an answer, those that are still to come too.
fn stream(
    turn: Turn,
    answer: &Arc<Answer>,
    head: &Hop,
    after: Option<u64>,
    cut_at: Option<usize>,
) -> Response {
    let kind = Dialect::OpenAiResponses.wire().stream_type();
    let body = reader::body(answer, after, cut_at, turn.connection, turn.receipt);
    with_head(Response::new(body), head, kind, true)
}
