//! The model: the content of its answers follows from the question, their form from the seed.

use super::clients::TOOL;
use super::clients::chance::Chance;
use super::clients::findings::Rule;
use super::life::Life;
use super::wire::{Part, Provider, Said, each_call_has_its_result, rounds};
use super::world::World;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::HttpClient;
use stepwell_io::http::SendError;

type Answer = Response<BoxStream<'static, Result<Bytes, SendError>>>;

/// The fault of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    None,
    Refused(u16),
    Unreachable,
    /// The answer ends after this number of frames.
    Cut(usize),
    /// The same without an error.
    EndsEarly(usize),
    Silent(usize),
}

/// The connections of one life of a host to its model.
pub(super) fn client(world: &Arc<World>, life: &Arc<Life>) -> HttpClient {
    let (world, life) = (Arc::clone(world), Arc::clone(life));
    HttpClient::from_fn(move |request| answer(Arc::clone(&world), Arc::clone(&life), request))
}

async fn answer(
    world: Arc<World>,
    life: Arc<Life>,
    request: Request<Bytes>,
) -> Result<Answer, SendError> {
    life.moment("a request to the model").await;
    let provider = Provider::of_path(request.uri().path());
    let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let transcript = provider.transcript(&body);
    let question = transcript
        .iter()
        .rposition(|said| matches!(said, Said::User(_)));
    let question = question.unwrap_or(0);
    let Some(Said::User(text)) = transcript.get(question) else {
        return Ok(refusal(400, "nobody asks"));
    };
    let mut words = text.split_whitespace();
    let turn = words.next().unwrap_or_default().to_owned();
    if let Err(why) = each_call_has_its_result(&transcript) {
        world.finds(
            Rule::HistoryIsWhole,
            &turn,
            format!("{why}: {transcript:?}"),
        );
        return Ok(refusal(400, &why));
    }
    let round = rounds(&transcript[question..]);
    let wanted: Vec<String> = words.nth(round).map_or(Vec::new(), |round| {
        round.split('+').map(str::to_owned).collect()
    });
    let offered = provider.tools(&body);
    let mut posted = world.posted().into_iter();
    let has_tools = posted.any(|posted| posted.turn == turn && posted.has_tools);
    if has_tools && !offered.iter().any(|name| name == TOOL) {
        world.finds(
            Rule::ToolsStay,
            &turn,
            format!("{} offers {offered:?}", life.name),
        );
    }
    let number = world.next_answer();
    let calls: Vec<_> = wanted
        .into_iter()
        .filter(|name| offered.contains(name))
        .enumerate()
        .map(|(index, name)| {
            (
                index,
                format!("{turn}_{round}_{index}_{name}_{number}"),
                name,
            )
        })
        .collect();
    world.trace.note(format!(
        "{} asks the model for round {round} of {turn}: answer {number} with {} calls",
        life.name,
        calls.len()
    ));
    let chance = Chance::of(world.seed, &format!("answer {number}"));
    let mut parts = Vec::new();
    for piece in 0..chance.below(4) {
        parts.push(Part::Text(format!("{turn} {round}.{piece} of {number}; ")));
    }
    if parts.is_empty() && calls.is_empty() {
        parts.push(Part::Text(format!("{turn} ends by {number}.")));
    }
    for (index, id, name) in calls {
        let text = json!({ "id": id }).to_string();
        let (first, second) = text.split_at(3);
        let (first, second) = (first.to_owned(), second.to_owned());
        parts.push(Part::Call { index, id, name });
        parts.push(Part::Arguments { index, text: first });
        parts.push(Part::Arguments {
            index,
            text: second,
        });
    }
    let frames = provider.frames(&parts);
    let trouble = match world.is_calm() || !chance.one_in(9) {
        true => Trouble::None,
        false => {
            let at = usize::try_from(chance.below(frames.len() as u64)).unwrap_or(0);
            *chance.of_slice(&[
                Trouble::Refused(500),
                Trouble::Refused(429),
                Trouble::Unreachable,
                Trouble::Cut(at),
                Trouble::EndsEarly(at),
                Trouble::Silent(at),
            ])
        }
    };
    let pause = match chance.below(4) {
        0 => chance.millis(100..4_000),
        _ => chance.millis(0..40),
    };
    tokio::time::sleep(pause).await;
    life.moment("the model answers").await;
    if trouble != Trouble::None {
        world.trace.note(format!("answer {number}: {trouble:?}"));
    }
    match trouble {
        Trouble::Refused(status) => return Ok(refusal(status, "not now")),
        Trouble::Unreachable => return Err(SendError::new("could not connect")),
        _ => {}
    }
    let slow = chance.one_in(3);
    world.gives(number, &life);
    let body = Body {
        frames: frames.into(),
        trouble,
        given: 0,
        slow,
        chance,
        life,
        world,
        number,
    };
    let pieces = stream::unfold(body, |mut body| async move {
        let piece = body.next().await?;
        Some((piece, body))
    });
    let mut answer = Response::new(pieces.boxed());
    answer.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("text/event-stream"),
    );
    Ok(answer)
}

struct Body {
    frames: VecDeque<String>,
    trouble: Trouble,
    given: usize,
    slow: bool,
    chance: Chance,
    life: Arc<Life>,
    world: Arc<World>,
    number: u64,
}

impl Body {
    async fn next(&mut self) -> Option<Result<Bytes, SendError>> {
        let pause = match (self.slow, self.chance.below(3)) {
            (true, 0) => self.chance.millis(200..6_000),
            (_, 1) => self.chance.millis(1..60),
            _ => Duration::ZERO,
        };
        if pause.is_zero() {
            // Each delta comes by itself now and then.
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(pause).await;
        }
        self.life.moment("a piece of an answer").await;
        match self.trouble {
            Trouble::Cut(at) if at == self.given => {
                self.frames.clear();
                self.trouble = Trouble::None;
                return Some(Err(SendError::new("the body broke off")));
            }
            Trouble::EndsEarly(at) if at == self.given => return None,
            Trouble::Silent(at) if at == self.given => std::future::pending().await,
            _ => {}
        }
        self.given += 1;
        let frame = self.frames.pop_front();
        if self.frames.is_empty() {
            self.world.has_given(self.number);
        }
        frame.map(|frame| Ok(frame.into()))
    }
}

fn refusal(status: u16, message: &str) -> Answer {
    let body = json!({ "error": { "message": message, "type": "server_error" } }).to_string();
    let piece = stream::iter([Ok(Bytes::from(body))]);
    let mut answer = Response::new(piece.boxed());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    answer
}
