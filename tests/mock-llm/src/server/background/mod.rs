//! Answers that the server stores, and the requests about them, in the dialects that have such.

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
use crate::dialect::stored::{self, Refused, StoredForm};
use crate::dialect::{Dialect, Refusal};
use crate::server::body::Segment;
use crate::server::hop::Step;
use crate::server::plan::{self, Pace};
use crate::server::turn::{Turn, json_response, with_head};
use crate::writer::{Setting, Writer};
use answer::Answer;
use query::Query;

/// The most answers that are stored: the newest. A demo may run for days.
const MAX_STORED: usize = 1_000;

/// Returns whether a request on this path is about a stored answer.
pub(crate) fn is_about_stored(path: &str) -> bool {
    stored::of_path(path).is_some()
}

/// Returns whether a request asks for an answer in the background.
pub(crate) fn is_wanted(dialect: Dialect, body: &Value) -> bool {
    stored::of(dialect).is_some() && body["background"] == true
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
    Complete(&'static dyn StoredForm, Bytes),
}

impl Stored {
    /// Returns whether the answer can be found: one that a client waits for is stored when it is finished.
    fn is_there(&self) -> bool {
        let Self::Complete(form, last) = self else {
            return true;
        };
        let answer = form.read(last).answer;
        answer.is_some_and(|answer| stored::is_final(&answer))
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
        let Some(form) = stored::of(dialect).filter(|_| setting.request["store"] != false) else {
            return;
        };
        let has_answer = |segment: &&Segment| matches!(segment, Segment::Bytes(bytes) if form.read(bytes).answer.is_some());
        if let Some(Segment::Bytes(last)) = segments.iter().rev().find(has_answer) {
            let id = form.id(setting.position, None);
            self.kept().add(id, Stored::Complete(form, last.clone()));
        }
    }

    /// Begins an answer in the background. It continues whether or not its client stays.
    pub(crate) fn begin(
        &self,
        turn: Turn,
        dialect: Dialect,
        hop: &Hop,
        steps: &[Step],
        setting: Setting,
        pace: &Pace,
    ) -> Response {
        let Some(form) = stored::of(dialect) else {
            return turn.refuse(&Refusal::new(400, "The provider makes no such answers."));
        };
        let mut kept = self.kept();
        // Unique on the server, and the same on every run of the script.
        let id = form.id(setting.position, Some(kept.in_background));
        kept.in_background += 1;
        let setting = setting.response_id(&*id);
        let writer = Writer::new(dialect, &setting);
        let segments = plan::background(hop, steps, &setting, pace, writer);
        let answer = Answer::begin(form, segments, hop, &turn.request);
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
            Ok((Stored::Complete(form, _), true)) => {
                turn.refuse(&form.refusal(Refused::Synchronous))
            }
            Ok((Stored::InBackground(answer), true)) => match answer.cancel() {
                Ok(answer) => turn.whole(json_response(200, &answer)),
                // The answer may have ended while the request was on its way.
                Err(refusal) => turn.decline(&refusal),
            },
            Ok((stored, false)) => read(turn, &stored),
        }
    }

    /// Returns the answer that a request is about, and whether it should be cancelled.
    fn find(&self, turn: &Turn) -> Result<(Stored, bool), Refusal> {
        let (method, path) = (turn.request.method.as_str(), turn.request.path.as_str());
        let Some(form) = stored::of_path(path) else {
            return Err(Refusal::unknown_url(method, path));
        };
        let below = path.strip_prefix(form.paths()).unwrap_or_default();
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
            return Err(form.refusal(Refused::Unknown(id)));
        };
        if let Stored::InBackground(answer) = &stored
            && answer.key.as_deref() != turn.request.header(form.key_header())
        {
            return Err(form.refusal(Refused::WrongKey));
        }
        Ok((stored, cancels))
    }
}

/// Sends a stored answer: its events, or the answer as it is.
fn read(turn: Turn, stored: &Stored) -> Response {
    let form = match stored {
        Stored::Complete(form, _) => *form,
        Stored::InBackground(answer) => answer.form,
    };
    let query = match Query::parse(&turn.request.query, form) {
        Ok(query) => query,
        Err(refusal) => return turn.refuse(&refusal),
    };
    match stored {
        Stored::Complete(..) if query.stream => {
            turn.refuse(&form.refusal(Refused::NotCreatedWith("background")))
        }
        Stored::Complete(_, last) => {
            let answer = form.read(last).answer.unwrap_or_default();
            turn.whole(json_response(200, &answer))
        }
        Stored::InBackground(answer) if !query.stream => {
            let answer = answer.read();
            turn.whole(json_response(200, &answer))
        }
        Stored::InBackground(answer) if !answer.is_streamed => {
            turn.refuse(&form.refusal(Refused::NotCreatedWith("stream")))
        }
        Stored::InBackground(answer) if !answer.opens_body() => {
            turn.decline(&form.refusal(Refused::TooOld))
        }
        Stored::InBackground(answer) => stream(turn, answer, &Hop::new(), query.after, None),
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
    let kind = answer.form.dialect().wire().stream_type();
    let body = reader::body(answer, after, cut_at, turn.connection, turn.receipt);
    with_head(Response::new(body), head, kind, true)
}
