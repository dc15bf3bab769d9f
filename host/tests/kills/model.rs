//! A model of two providers whose answers follow from the question alone: two rounds of tools, then words.

use crate::moments::Moments;
use crate::wire::{Part, Provider, Said, each_call_has_its_result, rounds};
use axum::Router;
use axum::body::Body;
use axum::extract::{Json, OriginalUri, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::StreamExt;
use serde_json::{Value, json};
use std::convert::Infallible;
use tokio::sync::watch;

/// The number of rounds with calls before the model answers.
pub(crate) const ROUNDS: usize = 2;

/// The tools that it asks for in each round of a turn.
pub(crate) const CALLS: [&str; 4] = ["work", "look", "ask", "work"];

/// The same where the client has a tool of its own.
pub(crate) const CLIENT_CALLS: [&str; 3] = ["work", "where", "ask"];

/// Returns the calls that the model makes, in order.
pub(crate) fn calls(question: &str, names: &[&str]) -> Vec<String> {
    let rounds = (0..ROUNDS).flat_map(|round| calls_of(question, round, names));
    rounds.collect()
}

/// Returns the calls of a round: none in the last.
pub(crate) fn calls_of(question: &str, round: usize, names: &[&str]) -> Vec<String> {
    if round >= ROUNDS {
        return Vec::new();
    }
    let names = names.iter().enumerate();
    names
        .map(|(index, name)| id(question, round, index, name))
        .collect()
}

fn id(question: &str, round: usize, index: usize, name: &str) -> String {
    format!("{question}_{round}_{index}_{name}")
}

/// The parts of a request to the model.
#[derive(Clone)]
struct Model {
    moments: Moments,
    /// Whether the model ends its answers.
    ends: watch::Receiver<bool>,
}

/// Starts the model, and returns its address. No answer ends before `ends` is `true`.
pub(crate) async fn start(moments: Moments, ends: watch::Receiver<bool>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new()
        .route("/v1/chat/completions", post(answer))
        .route("/v1/messages", post(answer))
        .with_state(Model { moments, ends });
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/v1")
}

async fn answer(
    State(Model { moments, ends }): State<Model>,
    OriginalUri(uri): OriginalUri,
    Json(request): Json<Value>,
) -> Response {
    moments.step();
    let provider = Provider::of_path(uri.path());
    let transcript = provider.transcript(&request);
    let asked = transcript.iter().enumerate().rev();
    let mut asked = asked.filter_map(|(at, said)| match said {
        Said::User(question) => Some((at, question)),
        _ => None,
    });
    let (at, question) = asked.next().unwrap();
    if let Err(why) = each_call_has_its_result(&transcript) {
        return (StatusCode::BAD_REQUEST, why).into_response();
    }
    let round = rounds(&transcript[at..]);
    let offered = provider.tools(&request);
    let names: &[&str] = match offered.iter().any(|tool| tool == "where") {
        true => &CLIENT_CALLS,
        false => &CALLS,
    };
    let mut parts = vec![
        Part::Text(format!("Round {round} ")),
        Part::Text("of the answer.".to_owned()),
    ];
    if round < ROUNDS {
        for (index, name) in names.iter().enumerate() {
            let id = id(question, round, index, name);
            let text = json!({ "id": id }).to_string();
            let name = match *name {
                "where" => "where".to_owned(),
                name => format!("effects__{name}"),
            };
            parts.push(Part::Call { index, id, name });
            parts.push(Part::Arguments { index, text });
        }
    }
    let frames = provider.frames(&parts);
    let is_last = round == ROUNDS;
    let body = futures::stream::iter(frames).enumerate();
    let body = body.then(move |(number, frame)| {
        let (moments, mut ends) = (moments.clone(), ends.clone());
        async move {
            if is_last && number > 0 {
                let _ = ends.wait_for(|ends| *ends).await;
            }
            // The chunks before are on their way when this one comes.
            tokio::task::yield_now().await;
            moments.step();
            Ok::<_, Infallible>(frame)
        }
    });
    (
        [(CONTENT_TYPE, "text/event-stream")],
        Body::from_stream(body),
    )
        .into_response()
}
