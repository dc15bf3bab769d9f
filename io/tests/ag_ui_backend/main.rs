//! Turns with a backend that is not ours: Pydantic AI's AG-UI adapter with its scripted model, in
//! `tests/ag-ui-backend`. `cargo xtask test ag-ui-backend` installs it and runs these tests, which are ignored else.

use futures::StreamExt;
use serde_json::{Value, json};
use std::process::Stdio;
use stepwell_core::dialect::HttpRequest;
use stepwell_io::{
    Agent, AgentBuilder, Event, Finished, HttpClient, Interrupt, Outcome, ResumeEntry, RunEvent,
    Tool, Turn, provider,
};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The Python that has the backend's packages.
const PYTHON: &str = "STEPWELL_AG_UI_PYTHON";

struct Backend {
    url: String,
    _process: Child,
}

impl Backend {
    async fn start() -> Self {
        let python = std::env::var(PYTHON).expect("the suite names the Python");
        let app = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/ag-ui-backend/app.py");
        let mut process = Command::new(python)
            .arg(app)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the backend starts");
        let stdout = process.stdout.take().expect("a pipe");
        let line = BufReader::new(stdout).lines().next_line().await;
        let url = line.expect("text").expect("it tells its address");
        Self {
            url,
            _process: process,
        }
    }

    fn agent(&self) -> AgentBuilder {
        let provider = provider::find("ag-ui").expect("it is in the table");
        let url = format!("{}/", self.url);
        let endpoint = provider.endpoint(None, "", Some(&url), None);
        Agent::builder(endpoint.expect("an address is all it needs"))
    }
}

/// The events of a turn, and how it ended.
async fn watch(mut turn: Turn) -> (Vec<RunEvent>, Finished) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    (events, turn.finish().await)
}

async fn ask(agent: &Agent, question: &str) -> (Vec<RunEvent>, Finished) {
    let (events, finished) = watch(agent.send(question)).await;
    is_in_order(&events);
    (events, finished)
}

/// The backend keeps to the rules, and so there is nothing to warn of.
#[track_caller]
fn is_in_order(events: &[RunEvent]) {
    let is_warning = |event: &&RunEvent| {
        matches!(
            event,
            RunEvent::Warning { .. } | RunEvent::UnknownToolCall { .. }
        )
    };
    assert_eq!(events.iter().find(is_warning), None);
}

/// The text of the last answer.
fn last_text(finished: &Finished) -> String {
    let messages = finished.conversation.messages();
    let last = messages.last().expect("there is an answer");
    let message = serde_json::to_value(last).expect("JSON");
    assert_eq!(message["role"], "assistant", "{message}");
    message["content"].as_str().unwrap_or_default().to_owned()
}

fn tool(name: &str) -> Tool {
    Tool::new(name, "Something of the device's.")
        .parameters(json!({ "type": "object", "properties": { "exact": { "type": "boolean" } } }))
}

fn with_tools(agent: AgentBuilder) -> Agent {
    agent
        .tool(tool("location"), |call| async move {
            let exact = call.arguments.value["exact"] == true;
            Ok::<_, std::io::Error>(if exact { "Bergen" } else { "Norway" })
        })
        .tool(tool("battery"), |_| async {
            Err::<String, _>("no battery")
        })
        .build()
        .expect("the agent is set up")
}

#[tokio::test]
#[ignore = "needs the backend: cargo xtask test ag-ui-backend"]
async fn text_comes_and_the_thread_goes_on() {
    let backend = Backend::start().await;
    let agent = backend.agent().build().expect("the agent is set up");
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(last_text(&finished), "Hello there.");
    let (_, finished) = ask(&agent, "And now?").await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(last_text(&finished), "I heard `And now?`.");
    assert_eq!(finished.conversation.messages().len(), 4);
}

#[tokio::test]
#[ignore = "needs the backend: cargo xtask test ag-ui-backend"]
async fn tools_of_the_backend_are_left_to_it() {
    let backend = Backend::start().await;
    let agent = with_tools(backend.agent());
    let (events, finished) = ask(&agent, "both").await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.hops, 1);
    assert_eq!(
        last_text(&finished),
        "The tools gave secret_number=42, secret_number=7."
    );
    let results: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::AgUi(Event::ToolCallResult(result)) => Some(result.content.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 2, "{events:#?}");
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(
        finished.outcome,
        Outcome::Success,
        "its history is taken back"
    );
}

#[tokio::test]
#[ignore = "needs the backend: cargo xtask test ag-ui-backend"]
async fn tools_of_the_client_run_here_over_two_runs() {
    let backend = Backend::start().await;
    let agent = with_tools(backend.agent());
    let (_, finished) = ask(&agent, "app").await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.hops, 2);
    let text = last_text(&finished);
    assert!(
        text.starts_with("The tools gave location=Bergen, battery="),
        "{text}"
    );
    assert!(text.contains("no battery"), "{text}");
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(finished.outcome, Outcome::Success);
}

#[tokio::test]
#[ignore = "needs the backend: cargo xtask test ag-ui-backend"]
async fn tools_of_both_in_one_run() {
    let backend = Backend::start().await;
    let agent = with_tools(backend.agent());
    let (_, finished) = ask(&agent, "mixed").await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.hops, 2);
    let text = last_text(&finished);
    for given in ["secret_number=42", "location=Norway"] {
        assert!(text.contains(given), "{text}");
    }
}

#[tokio::test]
#[ignore = "needs the backend: cargo xtask test ag-ui-backend"]
async fn reasoning_is_shown_and_taken_back() {
    let backend = Backend::start().await;
    let agent = backend.agent().build().expect("the agent is set up");
    let (events, finished) = ask(&agent, "think").await;
    assert_eq!(finished.outcome, Outcome::Success);
    let thought: String = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::AgUi(Event::ReasoningMessageContent(piece)) => Some(piece.delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(thought, "Let me see.");
    assert_eq!(last_text(&finished), "I see.");
    let messages = serde_json::to_value(finished.conversation.messages()).expect("JSON");
    let reasoning = messages.as_array().expect("messages").iter();
    let mut reasoning = reasoning.filter(|message| message["role"] == "reasoning");
    let sealed = &reasoning.next().expect("it is kept")["encryptedValue"];
    assert!(
        sealed
            .as_str()
            .is_some_and(|value| value.contains("sealed")),
        "{messages}"
    );
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(finished.outcome, Outcome::Success);
}

#[tokio::test]
#[ignore = "needs the backend: cargo xtask test ag-ui-backend"]
async fn the_shared_state_follows_its_deltas() {
    let backend = Backend::start().await;
    let agent = backend.agent().build().expect("the agent is set up");
    let (_, finished) = ask(&agent, "change").await;
    assert_eq!(finished.outcome, Outcome::Success);
    let state = json!({ "colour": "blue", "sizes": [1, 2] });
    assert_eq!(*finished.conversation.state(), state);
    let (_, finished) = ask(&agent, "which").await;
    assert_eq!(
        last_text(&finished),
        "The tools gave colour_now=blue.",
        "it goes out"
    );
    assert_eq!(*finished.conversation.state(), state, "it stays");
}

/// What the backend asks, and the turn that rests.
async fn asked(agent: &Agent) -> (Turn, Vec<Interrupt>) {
    let mut turn = agent.send("delete");
    loop {
        let event = turn.next().await.expect("the turn goes on");
        is_in_order(std::slice::from_ref(&event));
        if let RunEvent::Interrupted { interrupts } = event {
            return (turn, interrupts);
        }
    }
}

fn answers(interrupts: &[Interrupt]) -> Vec<ResumeEntry> {
    let payloads = [
        json!({ "approved": true }),
        json!({ "approved": false, "reason": "not that one" }),
    ];
    let entries: Vec<Value> = interrupts
        .iter()
        .zip(payloads)
        .map(|(interrupt, payload)| {
            json!({ "interruptId": interrupt.id, "status": "resolved", "payload": payload })
        })
        .collect();
    serde_json::from_value(Value::Array(entries)).expect("they are answers")
}

async fn goes_on(turn: Turn) {
    let (events, finished) = watch(turn).await;
    is_in_order(&events);
    assert_eq!(finished.outcome, Outcome::Success);
    let text = last_text(&finished);
    assert!(text.contains("delete_file=a.txt is gone"), "{text}");
    assert!(text.contains("not that one"), "{text}");
    assert!(!text.contains("b.txt is gone"), "{text}");
}

#[tokio::test]
#[ignore = "needs the backend: cargo xtask test ag-ui-backend"]
async fn what_it_asks_is_answered_and_the_turn_goes_on() {
    let backend = Backend::start().await;
    let agent = backend.agent().build().expect("the agent is set up");
    let (turn, interrupts) = asked(&agent).await;
    let calls: Vec<_> = interrupts
        .iter()
        .map(|interrupt| interrupt.tool_call_id.as_deref())
        .collect();
    assert_eq!(calls, [Some("call-delete-a"), Some("call-delete-b")]);
    turn.resume(answers(&interrupts))
        .await
        .expect("it is what was asked");
    goes_on(turn).await;
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(finished.outcome, Outcome::Success);
}

#[tokio::test]
#[ignore = "needs the backend: cargo xtask test ag-ui-backend"]
async fn what_it_asks_is_answered_after_a_restart() {
    let backend = Backend::start().await;
    let agent = backend.agent().build().expect("the agent is set up");
    let (turn, interrupts) = asked(&agent).await;
    let stored = turn.suspend().await.expect("it rests");
    drop(agent);
    let agent = backend.agent().build().expect("the agent is set up");
    let turn = agent.revive(&stored).expect("it can be read");
    turn.resume(answers(&interrupts))
        .await
        .expect("it is what was asked");
    goes_on(turn).await;
}

#[tokio::test]
#[ignore = "needs the backend: cargo xtask test ag-ui-backend"]
async fn its_error_is_the_turns() {
    let backend = Backend::start().await;
    let agent = backend.agent().build().expect("the agent is set up");
    let (_, finished) = ask(&agent, "fail").await;
    let Outcome::Failed { failure } = &finished.outcome else {
        panic!("{:?}", finished.outcome);
    };
    assert!(
        failure.to_string().contains("the model fell over"),
        "{failure}"
    );
    assert_eq!(finished.conversation.text(), "So far");
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(finished.outcome, Outcome::Success);
}

#[tokio::test]
#[ignore = "needs the backend: cargo xtask test ag-ui-backend"]
async fn a_cancelled_turn_is_cancelled_there() {
    let backend = Backend::start().await;
    let agent = backend.agent().build().expect("the agent is set up");
    let mut turn = agent.send("wait");
    loop {
        let event = turn.next().await.expect("the turn goes on");
        if let RunEvent::AgUi(Event::TextMessageContent(_)) = event {
            break;
        }
    }
    turn.cancel();
    let finished = turn.finish().await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert_eq!(finished.conversation.text(), "One");
    // The backend answers this when it has seen that its client has gone.
    let client = HttpClient::new().expect("a client");
    let asked = HttpRequest {
        method: "GET",
        url: format!("{}/cancelled", backend.url),
        headers: Vec::new(),
        body: Vec::new(),
    };
    let seen = client.exchange(asked).await.expect("an answer");
    assert_eq!(seen, (200, b"cancelled".to_vec()));
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(finished.outcome, Outcome::Success);
}
