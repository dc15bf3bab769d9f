//! Many users of one agent at once.

use crate::{agent, answer, messages};
use bytes::Bytes;
use futures::future::join_all;
use http::Request;
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};
use stepwell_io::tool::ToolContext;
use stepwell_io::{HttpClient, tool, tools};
use stepwell_testing::reply::{call, text};
use tokio::sync::Barrier;

const USERS: usize = 100;

const RUNS_OF_A_USER: usize = 10;

/// What the app knows of the user of a request.
struct User(String);

/// The user's name.
#[tool]
async fn who_am_i(call: &ToolContext<User>) -> String {
    call.deps().0.clone()
}

/// The mark of a user's texts.
fn mark(user: usize) -> String {
    format!("<user {user:03}>")
}

/// The marks in a request.
fn marks(request: &Request<Bytes>) -> BTreeSet<String> {
    let body = String::from_utf8_lossy(request.body()).into_owned();
    let marks = body.split("<user ").skip(1);
    let marks = marks.map(|rest| format!("<user {}>", &rest[..3]));
    marks.collect()
}

/// The marks of each request that a model has received.
type Requests = Arc<Mutex<Vec<BTreeSet<String>>>>;

/// A model that answers with all that it was shown. It gives no first answer before as many requests are there as may
/// come at once.
fn model(at_once: usize, calls_tool: bool) -> (HttpClient, Requests) {
    let requests = Requests::default();
    let seen = Arc::clone(&requests);
    let all = Arc::new(Barrier::new(at_once));
    let client = HttpClient::from_fn(move |request| {
        seen.lock()
            .expect("no panic holds it")
            .push(marks(&request));
        let messages = messages(&request);
        let all = Arc::clone(&all);
        async move {
            let last_role = messages.last().map(|(role, _)| role.as_str());
            if last_role == Some("user") {
                all.wait().await;
            }
            if last_role == Some("user") && calls_tool {
                return io::Result::Ok(answer(&[call("a", "who_am_i", "{}")]));
            }
            let shown = messages
                .iter()
                .filter(|(role, _)| role == "user" || role == "tool");
            let shown: Vec<_> = shown.map(|(_, text)| text.as_str()).collect();
            Ok(answer(&[text(&shown.join("; "))]))
        }
    });
    (client, requests)
}

fn assert_unmixed(requests: &Requests, count: usize) {
    let requests = requests.lock().expect("no panic holds it");
    assert_eq!(requests.len(), count);
    let mixed = requests.iter().find(|marks| marks.len() != 1);
    assert_eq!(mixed, None, "a request is of one user");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_runs_of_one_agent_at_once_are_not_mixed() {
    let runs = USERS * RUNS_OF_A_USER;
    let (client, requests) = model(runs, true);
    let agent = agent(client).tools(tools![who_am_i]).build();
    let agent = agent.expect("it is set up");
    let results = join_all((0..runs).map(|run| {
        let user = mark(run % USERS);
        let prompt = format!("{user} run {run}");
        let agent = agent.with_deps(User(user.clone()));
        tokio::spawn(async move {
            let own = agent
                .run(prompt.as_str())
                .instructions(format!("Answer {user}."));
            (own.await, format!("{prompt}; {user}"))
        })
    }));
    for result in results.await {
        let (result, expected) = result.expect("no panic");
        let result = result.expect("it is answered");
        assert_eq!(result.output, expected);
        assert_eq!(result.hops(), 2);
    }
    assert_unmixed(&requests, 2 * runs);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_conversations_of_one_agent_at_once_are_not_mixed() {
    let (client, requests) = model(USERS, false);
    let agent = agent::<()>(client).build().expect("it is set up");
    let conversations = (0..USERS).map(|user| {
        let (agent, user) = (agent.clone(), mark(user));
        tokio::spawn(async move {
            let conversation = agent.conversation(user.as_str());
            let mut said = Vec::new();
            for message in 0..10 {
                said.push(format!("{user} message {message}"));
                let last = said[message].as_str();
                let result = conversation.send(last).await.expect("it is answered");
                assert_eq!(result.output, said.join("; "));
            }
            assert_eq!(conversation.transcript().messages().len(), 20);
        })
    });
    for conversation in join_all(conversations).await {
        conversation.expect("each has its own answers");
    }
    assert_unmixed(&requests, 10 * USERS);
    assert!(agent.registry().running().is_empty());
}
