//! What an app sees of agents, runs, conversations, turns, errors and models. The model is a function: nothing is sent.

mod errors;
mod memory;
mod models;
mod pending;
mod runs;
mod stores;
mod tool_errors;
mod turn_stream;
mod users;
mod when_busy;

use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, Request, Response};
use serde_json::Value;
use std::future::pending;
use std::io;
use stepwell_core::dialect::Dialect;
use stepwell_io::{Agent, AgentBuilder, Device, HttpClient, Model};
use stepwell_testing::reply::{Part, body, media_type, text};

const DIALECT: Dialect = Dialect::OpenAiChat;

type Body = stream::Iter<std::array::IntoIter<io::Result<Bytes>, 1>>;

/// Returns the agent of a model behind this client.
fn agent<D>(client: HttpClient) -> AgentBuilder<D> {
    let model = Model::openai_compatible("any", "http://model.example/v1");
    Agent::builder(model).client(client).device(&Device::new())
}

/// Returns an answer of the model.
fn answer(parts: &[Part]) -> Response<Body> {
    let bytes = Bytes::from(body(DIALECT, 0, parts));
    let mut response = Response::new(stream::iter([Ok(bytes)]));
    let media_type = HeaderValue::from_static(media_type(DIALECT));
    response.headers_mut().insert("content-type", media_type);
    response
}

/// Returns the role and the text of each message of a request.
fn messages(request: &Request<Bytes>) -> Vec<(String, String)> {
    let body: Value = serde_json::from_slice(request.body()).expect("a request is JSON");
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let message = |message: Value| (text(&message["role"]), text(&message["content"]));
    messages.into_iter().map(message).collect()
}

/// Returns the texts of a request's messages with this role.
fn texts(request: &Request<Bytes>, role: &str) -> Vec<String> {
    let messages = messages(request).into_iter();
    let of_role = messages.filter(|(own, _)| own == role);
    of_role.map(|(_, text)| text).collect()
}

/// A model that answers with the user's last message.
fn echo() -> HttpClient {
    watched_echo(|_| {})
}

/// A model that answers with the user's last message, and shows each request to `watch`.
fn watched_echo(watch: impl Fn(&Request<Bytes>) + Send + Sync + 'static) -> HttpClient {
    HttpClient::from_fn(move |request| {
        watch(&request);
        let said = texts(&request, "user").pop().unwrap_or_default();
        async move { io::Result::Ok(answer(&[text(&said)])) }
    })
}

/// A model that gives each request this answer.
fn says(parts: &[Part]) -> HttpClient {
    let parts = parts.to_vec();
    HttpClient::from_fn(move |_| {
        let answer = answer(&parts);
        async { io::Result::Ok(answer) }
    })
}

/// A model that refuses each request with this status.
fn refuses(status: u16, reason: &'static str) -> HttpClient {
    HttpClient::from_fn(move |_| async move {
        let mut response = Response::new(stream::iter([Ok(Bytes::from_static(reason.as_bytes()))]));
        *response.status_mut() = status.try_into().expect("it is a status");
        io::Result::Ok(response)
    })
}

/// A model that never answers. `asked` is called with each request.
fn silent(asked: impl Fn() + Send + Sync + 'static) -> HttpClient {
    HttpClient::from_fn(move |_| {
        asked();
        pending::<io::Result<Response<Body>>>()
    })
}
