//! The agent through the traits that other languages implement, over real HTTP.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use stepwell_ffi::{
    Agent, AgentSetup, AgentTool, ApprovalTask, CallbackError, ChooseModelTask, ContentPart,
    ContextEntry, ContextPolicy, CreateRunTask, CredentialsTask, DecodeOutputTask, Event, Failure,
    HookTask, HttpTask, InstructionsTask, JournalSink, JsonValue, Outcome, QuestionTask,
    RegistryEvent, RunIds, RunnerDuties, StepwellError, TaskRunner, ToolContext, ToolError,
    ToolFailureKind, ToolHandler, ToolInvocation, ToolOutput, ToolResult, ToolTask,
    TrimContextTask, TurnOptions, WhenBusy, replay_journal,
};
use stepwell_mock_llm::{Hop, MockLlm, Script};
use support::{config, conversation, definition, key, say, say_with};
use tokio::sync::mpsc;

/// A tool whose code always returns the same result.
struct Gives(Result<ToolOutput, ToolError>);

#[async_trait::async_trait]
impl ToolHandler for Gives {
    async fn call(
        &self,
        _invocation: ToolInvocation,
        _: Arc<ToolContext>,
    ) -> Result<ToolOutput, ToolError> {
        self.0.clone()
    }
}

fn tool(name: &str, result: Result<ToolOutput, ToolError>) -> AgentTool {
    AgentTool {
        definition: definition(name),
        handler: Arc::new(Gives(result)),
    }
}

fn results(events: &[Event]) -> HashMap<String, ToolResult> {
    let result = |event: &Event| match event {
        Event::ToolCallUpdate { name, result, .. } => Some((name.clone(), result.clone()?)),
        _ => None,
    };
    events.iter().filter_map(result).collect()
}

async fn all_events(agent: &Agent) -> Vec<Event> {
    let turn = say(agent, "Go");
    let mut events = Vec::new();
    loop {
        let batch = turn.next_batch().await;
        if batch.is_empty() {
            return events;
        }
        events.extend(batch);
    }
}

async fn start(script: Script) -> MockLlm {
    MockLlm::start(script).await.unwrap()
}

fn calls(names: &[&str]) -> Hop {
    let call = |hop: Hop, name: &&str| hop.tool_call(*name, json!({}));
    names.iter().fold(Hop::new(), call)
}

#[tokio::test]
async fn a_tools_errors_keep_their_kind() {
    let server = start(
        Script::new()
            .hop(calls(&["fine", "painted", "failed", "odd"]))
            .hop(Hop::new().text("Done")),
    )
    .await;
    let failed = ToolError::Failed {
        reason: "no".into(),
    };
    let odd = ToolError::Unexpected {
        reason: "Oops".into(),
    };
    let picture = json!({
        "type": "image",
        "source": { "type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png" },
    });
    let painted = ToolOutput {
        text: "A dot".to_owned(),
        parts: vec![ContentPart {
            json: JsonValue::from_text(picture.to_string()),
        }],
    };
    let tools = vec![
        tool("fine", Ok("42".into())),
        tool("painted", Ok(painted)),
        tool("failed", Err(failed)),
        tool("odd", Err(odd)),
    ];
    let agent = Agent::new(
        config(&server.base_url()),
        AgentSetup {
            tools,
            ..AgentSetup::default()
        },
    )
    .unwrap();
    let events = all_events(&agent).await;
    let results = results(&events);
    assert_eq!(
        results["fine"],
        ToolResult::Finished {
            content: "42".into(),
            parts: None,
        }
    );
    let ToolResult::Finished {
        content,
        parts: Some(parts),
    } = &results["painted"]
    else {
        panic!("{:?}", results["painted"]);
    };
    assert_eq!(content, "A dot");
    let parts: Value = serde_json::from_str(parts.as_str()).unwrap();
    assert_eq!(parts[1], picture);
    let kind = |name: &str| match &results[name] {
        ToolResult::Failed { kind, .. } => Some(*kind),
        ToolResult::Finished { .. } => None,
    };
    assert_eq!(kind("failed"), Some(ToolFailureKind::Error));
    assert_eq!(kind("odd"), Some(ToolFailureKind::Panicked));
    assert_eq!(
        events.last(),
        Some(&Event::Completed {
            outcome: Outcome::Success
        })
    );
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

/// Passes on its calls, and answers nothing.
struct Watching(mpsc::UnboundedSender<String>, Mutex<Vec<Arc<ToolTask>>>);

impl TaskRunner for Watching {
    fn run_tool(&self, task: Arc<ToolTask>) -> Result<(), CallbackError> {
        let name = task.invocation().name;
        if name == "kept" {
            self.1.lock().unwrap().push(task);
        }
        let _ = self.0.send(format!("run {name}"));
        match name.as_str() {
            "refused" => Err(CallbackError::Failed {
                reason: "no loop".into(),
            }),
            _ => Ok(()),
        }
    }

    fn ask_approval(&self, _task: Arc<ApprovalTask>) -> Result<(), CallbackError> {
        Ok(())
    }

    fn ask_user(&self, _task: Arc<QuestionTask>) -> Result<(), CallbackError> {
        unreachable!("no tool asks")
    }

    fn create_run(&self, _task: Arc<CreateRunTask>) -> Result<(), CallbackError> {
        Ok(())
    }

    fn trim_context(&self, _task: Arc<TrimContextTask>) -> Result<(), CallbackError> {
        Ok(())
    }
    fn choose_model(&self, _task: Arc<ChooseModelTask>) -> Result<(), CallbackError> {
        Ok(())
    }

    fn decode_output(&self, _task: Arc<DecodeOutputTask>) -> Result<(), CallbackError> {
        Ok(())
    }

    fn give_credentials(&self, _task: Arc<CredentialsTask>) -> Result<(), CallbackError> {
        unreachable!("the key is the configuration's")
    }

    fn run_hook(&self, _task: Arc<HookTask>) -> Result<(), CallbackError> {
        unreachable!("there are no hooks")
    }

    fn make_instructions(&self, _task: Arc<InstructionsTask>) -> Result<(), CallbackError> {
        unreachable!("the instructions are the configuration's")
    }

    fn send_request(&self, _task: Arc<HttpTask>) -> Result<(), CallbackError> {
        unreachable!("Stepwell sends the requests of this agent")
    }

    fn cancel(&self, _task: u64) -> Result<(), CallbackError> {
        let _ = self.0.send("cancel".into());
        Ok(())
    }
}

fn watched(base_url: &str, names: &[&str]) -> (Arc<Agent>, mpsc::UnboundedReceiver<String>) {
    let (sender, heard) = mpsc::unbounded_channel();
    let mut config = config(base_url);
    config.tools = names.iter().copied().map(definition).collect();
    for tool in &mut config.tools {
        tool.requires_approval = tool.name == "asked";
    }
    let runner = Arc::new(Watching(sender, Mutex::default()));
    (
        Agent::for_runners(config, AgentSetup::default())
            .unwrap()
            .with_runner(
                runner,
                RunnerDuties {
                    asks_approvals: true,
                    ..RunnerDuties::default()
                },
                None,
            ),
        heard,
    )
}

#[tokio::test]
async fn a_task_without_an_answer_is_a_failed_tool() {
    let names = ["dropped", "refused", "asked"];
    let server = start(
        Script::new()
            .hop(calls(&names))
            .hop(Hop::new().text("Done")),
    )
    .await;
    let (agent, _heard) = watched(&server.base_url(), &names);
    let events = all_events(&agent).await;
    let results = results(&events);
    for (name, expected) in [
        ("dropped", ToolFailureKind::Panicked),
        ("refused", ToolFailureKind::Panicked),
        ("asked", ToolFailureKind::Denied),
    ] {
        assert!(
            matches!(&results[name], ToolResult::Failed { kind, .. } if *kind == expected),
            "{name}: {results:?}"
        );
    }
    assert_eq!(
        events.last(),
        Some(&Event::Completed {
            outcome: Outcome::Success
        })
    );
}

#[tokio::test]
async fn letting_go_of_a_turn_stops_its_tasks() {
    let server = start(Script::new().hop(calls(&["kept"]))).await;
    let (agent, mut heard) = watched(&server.base_url(), &["kept"]);
    let turn = say(&agent, "Go");
    assert_eq!(heard.recv().await.as_deref(), Some("run kept"));
    drop(turn);
    assert_eq!(heard.recv().await.as_deref(), Some("cancel"));
}

#[tokio::test]
async fn a_result_is_taken_once() {
    let server = start(Script::new().hop(Hop::hang_up())).await;
    let agent = Agent::new(config(&server.base_url()), AgentSetup::default()).unwrap();
    let turn = say(&agent, "Hi");
    let Outcome::Failed {
        failure, transient, ..
    } = turn.finish().await.unwrap().outcome
    else {
        panic!("there was no answer");
    };
    assert!(matches!(failure, Failure::Connection { .. }), "{failure:?}");
    assert!(transient);
    assert!(matches!(
        turn.finish().await,
        Err(StepwellError::Misuse { .. })
    ));
    assert!(turn.next_batch().await.is_empty());
}

#[test]
fn what_an_agent_cannot_do_is_said_at_once() {
    let mut stored = config("http://localhost/v1");
    stored.persist_attempts = Some(1);
    let mut without_code = config("http://localhost/v1");
    without_code.tools = vec![definition("tool")];
    let mut no_schema = definition("tool");
    no_schema.parameters = Some(JsonValue::from_text("{".into()));
    let mut bad_schema = config("http://localhost/v1");
    bad_schema.tools = vec![no_schema];
    let mut no_source = config("http://localhost/v1");
    no_source.run_ids = Some(RunIds::Host);
    let mut no_trimmer = config("http://localhost/v1");
    no_trimmer.context_guard.at_limit = Some(ContextPolicy::Trim);
    for config in [stored, without_code, bad_schema, no_source, no_trimmer] {
        let refused = Agent::new(config, AgentSetup::default());
        assert!(
            matches!(refused, Err(StepwellError::Configuration { .. })),
            "{refused:?}"
        );
    }
    let agent = Agent::new(config("http://localhost/v1"), AgentSetup::default()).unwrap();
    let nonsense = JsonValue::from_text("nonsense".into());
    let refused = agent.conversation_with_history(key("thread"), nonsense, None);
    assert!(matches!(
        refused,
        Err(StepwellError::InvalidArgument { .. })
    ));
}

/// Keeps the lines, and fails each time.
#[derive(Default)]
struct Lines(Mutex<String>);

impl JournalSink for Lines {
    fn write(&self, turn: String, lines: String) -> Result<(), CallbackError> {
        assert!(!turn.is_empty());
        self.0.lock().unwrap().push_str(&lines);
        Err(CallbackError::Failed {
            reason: "the disk is full".into(),
        })
    }
}

#[tokio::test]
async fn a_turns_journal_goes_to_the_app() {
    let server = start(Script::new().hop(Hop::new().text("Hello"))).await;
    let lines = Arc::new(Lines::default());
    let journal = Some(Arc::clone(&lines) as Arc<dyn JournalSink>);
    let config = config(&server.base_url());
    let agent = Agent::new(
        config,
        AgentSetup {
            journal,
            ..AgentSetup::default()
        },
    )
    .unwrap();
    let turn = say(&agent, "Hi");
    assert_eq!(turn.finish().await.unwrap().outcome, Outcome::Success);
    let replayed = replay_journal(&lines.0.lock().unwrap()).unwrap();
    assert!(replayed.is_closed);
    assert_eq!(replayed.outcome, Some(Outcome::Success));
}

#[tokio::test]
async fn an_ag_ui_agent_gets_the_context_and_shares_the_state() {
    let change = json!({
        "type": "STATE_DELTA",
        "delta": [{ "op": "add", "path": "/pages", "value": 2 }],
    });
    let script = Script::new().hop(Hop::new().raw_frame(change).text("Hello"));
    let server = start(script).await;
    let mut config = config(&server.ag_ui_url());
    config.provider = "ag-ui".into();
    config.settings.context = vec![ContextEntry {
        description: "The page".into(),
        value: "Orders".into(),
    }];
    config.ag_ui.is_before_1_0 = Some(true);
    let state = r#"{"colour":"blue"}"#;
    let agent = Agent::new(config, AgentSetup::default()).unwrap();
    let conversation = agent
        .conversation_with_history(
            key("thread"),
            JsonValue::of(&json!([])),
            Some(JsonValue::from_text(state.into())),
        )
        .unwrap();
    assert_eq!(conversation.shared_state().as_str(), state);
    let turn = say(&agent, "Hi");
    assert_eq!(turn.finish().await.unwrap().outcome, Outcome::Success);
    assert_eq!(
        conversation.shared_state().as_str(),
        r#"{"colour":"blue","pages":2}"#
    );
    let body = &server.requests()[0].body;
    assert_eq!(body["state"], json!({ "colour": "blue" }));
    let entry = json!({ "description": "The page", "value": "Orders" });
    assert_eq!(body["context"], json!([entry]));
    assert!(body.get("protocolVersion").is_none(), "{body}");
}

#[test]
fn a_state_that_is_no_json_is_refused() {
    let agent = Agent::new(config("http://localhost/v1"), AgentSetup::default()).unwrap();
    let refused = agent.conversation_with_history(
        key("thread"),
        JsonValue::of(&json!([])),
        Some(JsonValue::from_text("{".into())),
    );
    assert!(
        matches!(refused, Err(StepwellError::InvalidArgument { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn which_threads_are_unread_is_in_the_registry() {
    let script = Script::new()
        .hop(Hop::new().text("Hello"))
        .hop(Hop::new().text("Hello"));
    let server = start(script).await;
    let agent = Agent::new(config(&server.base_url()), AgentSetup::default()).unwrap();
    let registry = agent.registry();
    registry.look_at(Some(key("first")));
    let mut held = Vec::new();
    for thread in ["first", "other"] {
        let conversation = agent.conversation(key(thread));
        assert_eq!(conversation.key(), key(thread));
        let turn = say_with(&conversation, "Hi", TurnOptions::default());
        turn.finish().await.unwrap();
        held.push(conversation);
    }
    assert_eq!(registry.unread_threads(), [key("other")]);
    let unread = RegistryEvent::Unread { key: key("other") };
    assert_eq!(registry.take_events().last(), Some(&unread));
}

#[tokio::test]
async fn two_users_of_one_agent_are_not_mixed() {
    let script = Script::new()
        .hop(Hop::silent())
        .hop(Hop::new().text("Hello"))
        .hop(Hop::new().text("As you like"));
    let server = start(script).await;
    let agent = Agent::new(config(&server.base_url()), AgentSetup::default()).unwrap();
    let alice = conversation(&agent);
    let send = |text: &str, when_busy| {
        let options = TurnOptions {
            when_busy,
            ..TurnOptions::default()
        };
        say_with(&alice, text, options)
    };
    let first = send("I am Alice", None);
    server.wait_until(|requests| requests.len() == 1).await;
    let second = send("I am Bob", None).finish().await.unwrap();
    let refused = stepwell_ffi::require_whole(second).unwrap_err();
    let stepwell_ffi::TurnError::Busy { problem, finished } = refused else {
        panic!("{refused}");
    };
    assert!(problem.advice.contains("when_busy"), "{}", problem.advice);
    assert_eq!((finished.text.as_str(), finished.hops), ("", 0));
    assert_eq!(finished.messages.as_str(), "[]");
    let bob = agent.conversation(key("bob"));
    let own = say_with(&bob, "I am Bob", TurnOptions::default())
        .finish()
        .await;
    assert_eq!(own.unwrap().text, "Hello");
    let third = send("Leave it", Some(WhenBusy::Cancel)).finish().await;
    assert_eq!(third.unwrap().text, "As you like");
    assert_eq!(first.finish().await.unwrap().outcome, Outcome::Cancelled);
    let asked = server.requests()[2].body.to_string();
    assert!(asked.contains("Alice") && !asked.contains("Bob"), "{asked}");
}
