//! Answers that the provider makes in the background: over a network that breaks, and until the turn leaves them.

use crate::support::{Chat, IntoChat as _, assert_legal, serve};
use crate::{lookup, secret_number, watch};
use futures::StreamExt;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use stepwell_io::credentials::CredentialRequest;
use stepwell_io::turn::{Event, Finished, Outcome, RunEvent, TurnEvents};
use stepwell_io::{Agent, AgentBuilder, ErrorKind, Model, WhenBusy};
use stepwell_mock_llm::{Delivery, Hop, MockLlm, RecordedRequest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const TEXT: &str = "Alice's number is what I shall ask for. ";

fn model(server: &MockLlm) -> Model {
    let model = Model::openai("mock-model").base_url(server.base_url());
    model.api_key("test-key").in_background()
}

/// A model of Gemini, whose interactions are made in the background.
fn gemini(server: &MockLlm) -> Model {
    let url = server.url(stepwell_mock_llm::Dialect::GeminiInteractions);
    let model = Model::gemini("gemini-3-flash").base_url(url);
    model.api_key("test-key").in_background()
}

type ModelOf = fn(&MockLlm) -> Model;

/// The models of each provider that makes answers in the background, and what the first request that resumes one begins with.
const MODELS: [(ModelOf, &str); 2] = [
    (model, "resp_0_0?stream=true&starting_after="),
    (gemini, "v1_0_0?stream=true&last_event_id="),
];

fn agent(server: &MockLlm) -> AgentBuilder {
    agent_of(model(server))
}

fn agent_of(model: Model) -> AgentBuilder {
    let agent = Agent::builder(model).tool(secret_number(), lookup);
    agent.configure(|config| {
        config.retry.first_delay = Duration::from_millis(1);
        config.retry.max_delay = Duration::from_millis(2);
    })
}

/// An answer with all that an answer has.
fn asks() -> Hop {
    let hop = Hop::new().reasoning("Who is Alice?").text(TEXT);
    hop.tool_call("get_secret_number", json!({"name": "alice"}))
}

/// A turn of two answers, the first of which is as `change` has it, and a turn after it.
async fn talk(change: impl Fn(Hop) -> Hop) -> (MockLlm, String, Finished) {
    talk_with(model, change).await
}

/// The same with a model of another provider.
async fn talk_with(
    model: fn(&MockLlm) -> Model,
    change: impl Fn(Hop) -> Hop,
) -> (MockLlm, String, Finished) {
    let hops = [asks(), Hop::new().text("It is 42.")].map(change);
    let server = serve(hops.into_iter().chain([Hop::new().text("Bye.")])).await;
    let chat = agent_of(model(&server)).chat();
    let (events, finished) = watch(chat.send("What is Alice's number?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let (_, after) = watch(chat.send("Thank you")).await;
    assert_eq!(after.outcome, Outcome::Success);
    assert_legal(&server);
    (server, shown(&events), finished)
}

/// The text that the app was shown.
fn shown(events: &[RunEvent]) -> String {
    events.iter().filter_map(delta).collect()
}

fn delta(event: &RunEvent) -> Option<&str> {
    match event {
        RunEvent::AgUi(Event::TextMessageContent(content)) => Some(&content.delta),
        _ => None,
    }
}

fn posts(server: &MockLlm) -> Vec<RecordedRequest> {
    let requests = server.requests().into_iter();
    let posts = requests.filter(|request| request.method == "POST" && !is_cancel(request));
    posts.collect()
}

/// The requests about answers, after the common part of their paths.
fn reads(server: &MockLlm) -> Vec<String> {
    let requests = server.requests().into_iter();
    let reads = requests.filter(|request| request.method == "GET");
    let line = |request: RecordedRequest| {
        let id = request
            .path
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        match &*request.query {
            "" => id,
            query => format!("{id}?{query}"),
        }
    };
    reads.map(line).collect()
}

fn is_cancel(request: &RecordedRequest) -> bool {
    request.method == "POST" && request.path.ends_with("/cancel")
}

/// Waits until the provider has cancelled this number of answers, and returns the requests for it.
async fn cancelled(server: &MockLlm, count: usize) -> Vec<RecordedRequest> {
    let is_done =
        |request: &&RecordedRequest| is_cancel(request) && request.delivery == Delivery::Complete;
    let all = |requests: &[RecordedRequest]| requests.iter().filter(is_done).count() == count;
    server.wait_until(all).await;
    let requests = server.requests().into_iter();
    requests.filter(is_cancel).collect()
}

/// The status of an answer, as the provider replies with it to a request that is not the agent's.
async fn status(server: &MockLlm, method: &str, path: &str, key: &str) -> Value {
    let root = server.root();
    let prefix = root.trim_start_matches("http://");
    let prefix = prefix.trim_start_matches(|letter| letter != '/');
    let head = format!("host: localhost\r\nauthorization: Bearer {key}\r\nconnection: close");
    let request = format!("{method} {prefix}/v1/responses/{path} HTTP/1.1\r\n{head}\r\n\r\n");
    let connected = TcpStream::connect(server.address()).await;
    let mut socket = connected.expect("it listens");
    let sent = socket.write_all(request.as_bytes()).await;
    sent.expect("it reads");
    let mut response = String::new();
    let read = socket.read_to_string(&mut response).await;
    read.expect("it answers");
    let (_, body) = response.split_once("\r\n\r\n").expect("a body");
    let mut body: Value = serde_json::from_str(body).expect("JSON");
    body["status"].take()
}

/// Takes events until the app was shown this text.
async fn until(turn: &mut TurnEvents, text: &str) {
    let mut so_far = String::new();
    while so_far != text {
        let event = turn.next().await.expect("the turn continues");
        so_far.push_str(delta(&event).unwrap_or_default());
    }
}

#[tokio::test]
async fn drops_at_any_event_change_nothing() {
    for (model, resumed) in MODELS {
        let (whole, text, finished) = talk_with(model, |hop| hop).await;
        assert!(
            text.starts_with(TEXT) && text.ends_with("It is 42."),
            "{text}"
        );
        assert_eq!(reads(&whole), [""; 0]);
        let histories = |server: &MockLlm| -> Vec<Value> {
            let posts = posts(server).into_iter();
            posts.map(|request| request.body["input"].clone()).collect()
        };
        for every in 1..=5 {
            let (server, dropped_text, dropped) =
                talk_with(model, |hop| hop.drop_every(every)).await;
            assert_eq!(dropped_text, text, "{every}");
            assert_eq!(dropped.transcript.text(), finished.transcript.text());
            assert_eq!(
                dropped.transcript.reasoning(),
                finished.transcript.reasoning()
            );
            assert_eq!(histories(&server), histories(&whole), "{every}");
            assert_eq!(posts(&server).len(), 3, "one request for each answer");
            let (id, field) = resumed.split_once('?').expect("a query");
            for (number, read) in reads(&server).iter().enumerate() {
                let is_first = read.starts_with(resumed);
                assert!(number > 0 || is_first, "{id}: {read}");
                assert!(read.contains(field), "{read}");
            }
            assert!(!reads(&server).is_empty());
            assert!(!server.requests().iter().any(is_cancel));
        }
    }
}

#[tokio::test]
async fn an_interaction_that_is_no_longer_streamed_is_read_as_a_whole() {
    let (_, text, _) = talk_with(gemini, |hop| hop).await;
    let change = |hop: Hop| hop.drop_every(4).streams(2);
    let (server, read_text, _) = talk_with(gemini, change).await;
    assert_eq!(read_text, text);
    assert!(reads(&server).iter().any(|read| read == "v1_0_0"));
}

#[tokio::test]
async fn drops_within_an_event_change_nothing() {
    let (_, text, _) = talk(|hop| hop).await;
    // Behind the first event: before it nothing is known of the answer, and it is asked for again.
    for at in (2_500..8_000).step_by(577) {
        let (server, dropped_text, _) = talk(|hop| hop.cut_at(at)).await;
        assert_eq!(dropped_text, text, "{at}");
        assert_eq!(posts(&server).len(), 3, "{at}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_longer_streamed_is_read_as_a_whole() {
    let (_, text, finished) = talk(|hop| hop).await;
    let hops = [
        asks().drop_every(4).streams(2).reads(2),
        Hop::new().text("It is 42."),
    ];
    let server = serve(hops).await;
    let chat = agent(&server)
        .configure(|config| config.timeouts.silence = None)
        .chat();
    let turn = chat.send("What is Alice's number?");
    let is_read = |request: &RecordedRequest| {
        request.path.ends_with("/resp_0_0")
            && request.query.is_empty()
            && request.delivery == Delivery::Complete
    };
    server
        .wait_until(|requests| requests.iter().any(is_read))
        .await;
    // The clock moves on only when nothing else does, over the pauses between two reads.
    tokio::time::pause();
    let (events, read) = watch(turn).await;
    tokio::time::resume();
    assert_eq!(read.outcome, Outcome::Success);
    assert_eq!(shown(&events), text);
    assert_eq!(read.transcript.text(), finished.transcript.text());
    assert_eq!(posts(&server).len(), 2);
    let streamed = |after| format!("resp_0_0?stream=true&starting_after={after}");
    let whole = "resp_0_0".to_owned();
    assert_eq!(
        reads(&server),
        [
            streamed(3),
            streamed(7),
            whole.clone(),
            whole.clone(),
            whole
        ]
    );
    assert_legal(&server);
}

#[tokio::test]
async fn a_turn_that_is_cancelled_cancels_its_answer() {
    let server = serve([Hop::new().text("So far").stall(), Hop::new().text("Yes?")]).await;
    let chat = agent(&server).chat();
    let mut turn = chat.send("Tell me");
    until(&mut turn, "So far").await;
    let found = status(&server, "GET", "resp_0_0", "test-key").await;
    assert_eq!(found, "in_progress");
    turn.cancel();
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert_eq!(finished.transcript.text(), "So far");
    let cancels = cancelled(&server, 1).await;
    assert_eq!(cancels[0].path, "/v1/responses/resp_0_0/cancel");
    assert_eq!(cancels[0].header("authorization"), Some("Bearer test-key"));
    let found = status(&server, "GET", "resp_0_0", "test-key").await;
    assert_eq!(found, "cancelled");

    let (_, finished) = watch(chat.send("Are you there?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(posts(&server).len(), 2);
    assert_legal(&server);
}

#[tokio::test]
async fn a_turn_that_is_dropped_or_replaced_cancels_its_answer() {
    for is_dropped in [true, false] {
        let server = serve([Hop::new().text("So far").stall(), Hop::new().text("Yes?")]).await;
        let chat = agent(&server).chat();
        let mut turn = chat.send("Tell me");
        until(&mut turn, "So far").await;
        if is_dropped {
            drop(turn);
        } else {
            let next = chat.clone().when_busy(WhenBusy::Cancel).send("Forget it");
            let (_, next) = watch(next).await;
            assert_eq!(next.outcome, Outcome::Success);
        }
        cancelled(&server, 1).await;
        let found = status(&server, "GET", "resp_0_0", "test-key").await;
        assert_eq!(found, "cancelled");
        assert_legal(&server);
    }
}

#[tokio::test]
async fn an_answer_that_is_cancelled_elsewhere_ends_the_turn() {
    let server = serve([Hop::new().text("So far").stall()]).await;
    let chat = agent(&server).chat();
    let mut turn = chat.send("Tell me");
    until(&mut turn, "So far").await;
    let found = status(&server, "POST", "resp_0_0/cancel", "test-key").await;
    assert_eq!(found, "cancelled");
    let (_, finished) = watch(turn).await;
    assert!(matches!(finished.outcome, Outcome::Failed { .. }));
    assert_eq!(finished.transcript.text(), "So far");
    assert_eq!(posts(&server).len(), 1);
}

/// Asks for the credentials of each request: the keys in their order, and the last of them from then on.
fn keyed(server: &MockLlm, keys: &'static [&'static str]) -> (Chat, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let model = Model::openai("mock-model").base_url(server.base_url());
    let agent = agent_of(model.in_background()).credentials(move |_: CredentialRequest| {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        let key = keys
            .get(number)
            .or(keys.last())
            .copied()
            .unwrap_or_default();
        async move { Ok::<_, Infallible>(key.to_owned()) }
    });
    (agent.chat(), asked)
}

fn keys(server: &MockLlm) -> Vec<String> {
    let requests = server.requests().into_iter();
    let key = |request: RecordedRequest| request.header("authorization").unwrap_or("").to_owned();
    requests.map(key).collect()
}

#[tokio::test]
async fn each_request_about_an_answer_has_the_apps_key() {
    let server = serve([Hop::new().text(TEXT).drop_every(4)]).await;
    let (chat, asked) = keyed(&server, &["right"]);
    let (events, finished) = watch(chat.send("Tell me")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(shown(&events), TEXT);
    let keys = keys(&server);
    assert!(keys.len() > 2);
    assert!(keys.iter().all(|key| key == "Bearer right"), "{keys:?}");
    assert_eq!(asked.load(Ordering::Relaxed), keys.len());
    assert_eq!(posts(&server).len(), 1);
    assert_legal(&server);
}

#[tokio::test]
async fn an_answer_with_the_apps_key_is_cancelled_with_it() {
    let server = serve([Hop::new().text("So far").stall()]).await;
    let (chat, _) = keyed(&server, &["right", "wrong"]);
    let mut turn = chat.send("Tell me");
    until(&mut turn, "So far").await;
    turn.cancel();
    watch(turn).await;
    cancelled(&server, 1).await;
    assert_eq!(keys(&server), ["Bearer right"; 2]);
    let found = status(&server, "GET", "resp_0_0", "right").await;
    assert_eq!(found, "cancelled");
}

#[tokio::test]
async fn a_key_that_is_refused_is_asked_for_again() {
    let server = serve([Hop::new().text(TEXT).drop_every(7)]).await;
    let (chat, _) = keyed(&server, &["right", "expired", "right"]);
    let (events, finished) = watch(chat.send("Tell me")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(shown(&events), TEXT);
    assert_eq!(
        keys(&server)[..3],
        ["Bearer right", "Bearer expired", "Bearer right"]
    );
    assert_eq!(posts(&server).len(), 1);
}

#[tokio::test]
async fn a_wrong_key_fails_the_turn_and_what_was_shown_stays() {
    let server = serve([
        Hop::new().text(TEXT).drop_every(7).reads(9),
        Hop::new().text("Yes?"),
    ])
    .await;
    let (chat, _) = keyed(&server, &["right", "wrong", "wrong", "right"]);
    let (events, finished) = watch(chat.send("Tell me")).await;
    let problem = finished.outcome.problem().expect("the key is wrong");
    assert_eq!(problem.kind, ErrorKind::Authentication);
    let text = shown(&events);
    assert!(!text.is_empty() && TEXT.starts_with(&text), "{text:?}");
    assert_eq!(finished.transcript.text(), text);
    assert_eq!(reads(&server).len(), 2);
    // The key that began the answer ends it.
    let cancels = cancelled(&server, 1).await;
    assert_eq!(cancels[0].header("authorization"), Some("Bearer right"));
    let found = status(&server, "GET", "resp_0_0", "right").await;
    assert_eq!(found, "cancelled");

    let (_, finished) = watch(chat.send("Are you there?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let input = posts(&server)[1].body["input"].to_string();
    assert!(input.contains(&text), "{input}");
}
