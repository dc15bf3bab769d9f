//! What is played with the backends.

use crate::backend::Backend;
use crate::support::{Chat, IntoChat as _};
use futures::StreamExt;
use serde_json::{Value, json};
use stepwell_core::dialect::HttpRequest;
use stepwell_core::event::Message;
use stepwell_io::message::{Interrupt, ResumeEntry};
use stepwell_io::tool::Tool;
use stepwell_io::turn::{Event, Finished, Outcome, RunEvent, TurnEvents};
use stepwell_io::{AgentBuilder, HttpClient};
use uuid::Uuid;

/// Begins a conversation that no other test has: the backends keep what was said by its id.
trait IntoOwnChat {
    fn own_chat(self) -> Chat;
}

impl IntoOwnChat for AgentBuilder {
    fn own_chat(self) -> Chat {
        self.chat().thread(Uuid::new_v4().to_string())
    }
}

/// The events of a turn, and how it ended.
async fn watch(mut turn: TurnEvents) -> (Vec<RunEvent>, Finished) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    (events, turn.finish().await)
}

async fn ask(agent: &Chat, question: &str) -> (Vec<RunEvent>, Finished) {
    let (events, finished) = watch(agent.send(question)).await;
    is_in_order(&events);
    (events, finished)
}

/// The backend keeps to the rules, and so there is nothing to warn of, but that LangGraph has its own way to ask.
#[track_caller]
fn is_in_order(events: &[RunEvent]) {
    let is_warning = |event: &&RunEvent| match event {
        RunEvent::Warning { message } => !message.contains("LangGraph's CUSTOM on_interrupt"),
        event => matches!(event, RunEvent::UnknownToolCall { .. }),
    };
    assert_eq!(events.iter().find(is_warning), None);
}

/// Returns the text of the last answer. A message that only a snapshot names comes after it, as the protocol has it.
fn last_text(finished: &Finished) -> String {
    let answers = finished.transcript.messages().iter();
    let mut texts = answers.filter_map(|message| match message {
        Message::Assistant(message) => message.content.clone(),
        _ => None,
    });
    texts.next_back().expect("there is an answer")
}

fn tool(name: &str) -> Tool {
    Tool::new(name, "Something of the device's.")
        .parameters(json!({ "type": "object", "properties": { "exact": { "type": "boolean" } } }))
}

fn with_tools(agent: AgentBuilder) -> Chat {
    agent
        .tool(tool("location"), |call| async move {
            let exact = call.arguments.value["exact"] == true;
            Ok::<_, std::io::Error>(if exact { "Bergen" } else { "Norway" })
        })
        .tool(tool("battery"), |_| async {
            Err::<String, _>("no battery")
        })
        .own_chat()
}

pub(crate) async fn text_arrives_and_the_thread_continues(backend: &Backend) {
    let agent = backend.agent().own_chat();
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(last_text(&finished), "Hello there.");
    let (_, finished) = ask(&agent, "And now?").await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(last_text(&finished), "I heard `And now?`.");
    assert_eq!(finished.transcript.messages().len(), 4);
}

pub(crate) async fn tools_of_the_backend_are_left_to_it(backend: &Backend) {
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

pub(crate) async fn tools_of_the_client_run_here_over_two_runs(backend: &Backend) {
    tools_of_the_client(backend, "app").await;
}

/// The backend streams nothing, so that the calls are only in a snapshot.
pub(crate) async fn tools_that_only_a_snapshot_asks_for_run_here(backend: &Backend) {
    tools_of_the_client(backend, "app, quietly").await;
}

async fn tools_of_the_client(backend: &Backend, question: &str) {
    let agent = with_tools(backend.agent());
    let (_, finished) = ask(&agent, question).await;
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

pub(crate) async fn tools_of_both_in_one_run(backend: &Backend) {
    let agent = with_tools(backend.agent());
    let (_, finished) = ask(&agent, "mixed").await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.hops, 2);
    let text = last_text(&finished);
    for given in ["secret_number=42", "location=Norway"] {
        assert!(text.contains(given), "{text}");
    }
}

pub(crate) async fn reasoning_is_shown_and_taken_back(backend: &Backend) {
    let agent = backend.agent().own_chat();
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
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(finished.outcome, Outcome::Success);
}

pub(crate) async fn sealed_reasoning_is_kept(backend: &Backend) {
    let agent = backend.agent().own_chat();
    let (_, finished) = ask(&agent, "think").await;
    let messages = serde_json::to_value(finished.transcript.messages()).expect("JSON");
    let reasoning = messages.as_array().expect("messages").iter();
    let mut reasoning = reasoning.filter(|message| message["role"] == "reasoning");
    let sealed = reasoning.next().expect("it is kept")["encryptedValue"].as_str();
    assert!(
        sealed.is_some_and(|value| value.contains("sealed")),
        "{messages}"
    );
}

pub(crate) async fn the_shared_state_follows_its_deltas(backend: &Backend) {
    let agent = backend.agent().own_chat();
    let (_, finished) = ask(&agent, "change").await;
    assert_eq!(finished.outcome, Outcome::Success);
    let state = json!({ "colour": "blue", "sizes": [1, 2] });
    assert_eq!(*finished.transcript.shared_state(), state);
    let (_, finished) = ask(&agent, "which").await;
    assert_eq!(
        last_text(&finished),
        "The tools gave colour_now=blue.",
        "it goes out"
    );
    assert_eq!(*finished.transcript.shared_state(), state, "it stays");
}

/// Returns the questions of the backend, and the turn that rests.
async fn asked(agent: &Chat, word: &str) -> (TurnEvents, Vec<Interrupt>) {
    let mut turn = agent.send(word);
    loop {
        let event = turn.next().await.expect("the turn goes on");
        is_in_order(std::slice::from_ref(&event));
        if let RunEvent::Interrupted { interrupts } = event {
            return (turn, interrupts);
        }
    }
}

/// Allows one file, and not the other.
fn answers(interrupts: &[Interrupt]) -> Vec<ResumeEntry> {
    let answer = |interrupt: &Interrupt| {
        let question = serde_json::to_string(interrupt).expect("JSON");
        let payload = match question.contains("a.txt") || question.contains("call-delete-a") {
            true => json!({ "approved": true }),
            false => json!({ "approved": false, "reason": "not that one" }),
        };
        json!({ "interruptId": interrupt.id, "status": "resolved", "payload": payload })
    };
    let entries: Vec<Value> = interrupts.iter().map(answer).collect();
    serde_json::from_value(Value::Array(entries)).expect("they are answers")
}

async fn goes_on(turn: TurnEvents) {
    let (events, finished) = watch(turn).await;
    is_in_order(&events);
    assert_eq!(finished.outcome, Outcome::Success);
    let text = last_text(&finished);
    assert!(text.contains("delete_file=a.txt is gone"), "{text}");
    assert!(!text.contains("b.txt is gone"), "{text}");
}

pub(crate) async fn an_answered_question_continues_the_turn(backend: &Backend) {
    let agent = backend.agent().own_chat();
    let (turn, interrupts) = asked(&agent, "delete").await;
    assert_eq!(interrupts.len(), 2, "{interrupts:#?}");
    turn.resume(answers(&interrupts))
        .await
        .expect("it is what was asked");
    goes_on(turn).await;
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(finished.outcome, Outcome::Success);
}

pub(crate) async fn what_it_asks_is_answered_after_a_restart(backend: &Backend) {
    restarted_while_asked(backend, "delete").await;
}

/// The same where the backend takes one answer at a time: of two, ADK 2.13 heeds the last.
pub(crate) async fn one_question_is_answered_after_a_restart(backend: &Backend) {
    restarted_while_asked(backend, "erase").await;
}

async fn restarted_while_asked(backend: &Backend, word: &str) {
    let agent = backend.agent().own_chat();
    let (turn, interrupts) = asked(&agent, word).await;
    let stored = turn.suspend().await.expect("it rests");
    drop(agent);
    let agent = backend.agent().own_chat();
    let turn = agent.revive(&stored).expect("it can be read");
    turn.resume(answers(&interrupts))
        .await
        .expect("it is what was asked");
    goes_on(turn).await;
}

pub(crate) async fn its_error_is_the_turns(backend: &Backend) {
    let agent = backend.agent().own_chat();
    let (_, finished) = ask(&agent, "fail").await;
    let Outcome::Failed { failure } = &finished.outcome else {
        panic!("{:?}", finished.outcome);
    };
    assert!(
        failure.to_string().contains("the model fell over"),
        "{failure}"
    );
    assert_eq!(finished.transcript.text(), "So far");
    let (_, finished) = ask(&agent, "hello").await;
    assert_eq!(finished.outcome, Outcome::Success);
}

pub(crate) async fn a_cancelled_turn_is_cancelled_there(backend: &Backend) {
    let agent = backend.agent().own_chat();
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
    assert_eq!(finished.transcript.text(), "One");
    // The backend answers this once it has noticed that its client has left.
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

/// Agno asks for approval by leaving the call to the app, whose tool of that name decides whether the backend may run
/// it.
pub(crate) async fn what_it_asks_by_a_call_is_answered_by_a_tool(backend: &Backend) {
    let leave = |call: stepwell_io::tool::ToolContext| async move {
        let accepted = call.arguments.value["path"] == "a.txt";
        Ok::<_, std::io::Error>(json!({ "accepted": accepted }).to_string())
    };
    let agent = backend.agent().tool(tool("delete_file"), leave).own_chat();
    goes_on(agent.send("delete")).await;
}
