//! Members of an agent and its turns other than the plain turn: custom ids and runs, full contexts, threads, reads of a
//! turn under way.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use stepwell_ffi::{
    Agent, AgentHook, AgentSetup, AgentTool, ApprovalTask, Authorization, CallbackError,
    ChooseModelTask, CompactionWay, ContextOverflow, CreateRunTask, CredentialRequest,
    CredentialSource, CredentialsTask, DecodeOutputTask, Event, Failure, FallbackModel, Hook,
    HookAnswer, HookMoment, HookSpec, HookSubject, HookTask, HopContext, HttpTask,
    InstructionsRequest, InstructionsSource, InstructionsTask, JsonValue, ModelChoice,
    ModelChooser, NewRun, Outcome, OutputDecoder, OutputType, QuestionTask, RegistryEvent, RunIds,
    RunRegistry, RunSource, RunnerDuties, SessionStore, Start, StepwellError, StoreSetup,
    TaskRunner, ToolContext, ToolError, ToolHandler, ToolInvocation, ToolOutput, ToolTask,
    TrimContextTask, Trimmed, Trimmer, Turn, TurnOptions, newest_messages,
};
use stepwell_mock_llm::{Hop, MockLlm, Script};
use support::{config, definition, key, say, say_with};

async fn serve(script: Script) -> MockLlm {
    MockLlm::start(script).await.unwrap()
}

fn says(text: &str) -> Hop {
    Hop::new().text(text)
}

fn start(run_id: &str, text: &str) -> Start {
    Start {
        run_id: run_id.to_owned(),
        parent_run_id: None,
        text: Some(text.to_owned()),
        message: None,
        resume: Vec::new(),
        options: TurnOptions::default(),
        parts: Vec::new(),
    }
}

/// Starts a turn that nothing is remembered of.
fn one_off(agent: &Agent, run_id: &str) -> Arc<Turn> {
    let turn = agent.start(start(run_id, "Hi"), Vec::new(), None, None, true);
    turn.unwrap()
}

/// Returns the texts of a conversation, in order.
fn texts(messages: &JsonValue) -> Vec<String> {
    let messages: Vec<Value> = serde_json::from_str(messages.as_str()).unwrap();
    let text = |message: &Value| message["content"].as_str().map(str::to_owned);
    messages.iter().filter_map(text).collect()
}

/// Makes the ids of runs, and records the requests.
#[derive(Default)]
struct Backend(Mutex<Vec<NewRun>>);

impl Backend {
    fn create(&self, new: NewRun) -> String {
        let mut created = self.0.lock().unwrap();
        created.push(new);
        format!("run-{}", created.len())
    }
}

#[async_trait::async_trait]
impl RunSource for Backend {
    async fn create_run(&self, new: NewRun) -> Result<String, CallbackError> {
        Ok(self.create(new))
    }
}

/// A backend that cannot be reached.
struct Away;

#[async_trait::async_trait]
impl RunSource for Away {
    async fn create_run(&self, _new: NewRun) -> Result<String, CallbackError> {
        Err(CallbackError::Failed {
            reason: "the backend is away".into(),
        })
    }
}

/// Keeps the newest half.
struct Half;

fn half(overflow: ContextOverflow, messages: &JsonValue) -> Trimmed {
    let messages: Vec<Value> = serde_json::from_str(messages.as_str()).unwrap();
    assert_eq!(messages.len(), overflow.messages.len());
    Trimmed {
        keep: newest_messages(overflow, 0.5),
        summary: Some("There were many x.".into()),
    }
}

#[async_trait::async_trait]
impl Trimmer for Half {
    async fn trim(
        &self,
        overflow: ContextOverflow,
        messages: JsonValue,
    ) -> Result<Option<Trimmed>, CallbackError> {
        Ok(Some(half(overflow, &messages)))
    }
}

/// Chooses the last model.
struct Last;

fn last(context: &HopContext) -> u32 {
    u32::try_from(context.models.len() - 1).unwrap()
}

#[async_trait::async_trait]
impl ModelChooser for Last {
    async fn choose(&self, context: HopContext) -> Result<u32, CallbackError> {
        Ok(last(&context))
    }
}

/// Does what `Backend`, `Half` and `Last` do, by tasks.
struct ByTasks(Backend);

impl TaskRunner for ByTasks {
    fn run_tool(&self, _task: Arc<ToolTask>) -> Result<(), CallbackError> {
        unreachable!("there is no tool")
    }

    fn ask_approval(&self, _task: Arc<ApprovalTask>) -> Result<(), CallbackError> {
        unreachable!("there is no tool")
    }

    fn ask_user(&self, _task: Arc<QuestionTask>) -> Result<(), CallbackError> {
        unreachable!("there is no tool")
    }

    fn create_run(&self, task: Arc<CreateRunTask>) -> Result<(), CallbackError> {
        assert!(task.finish(self.0.create(task.new_run())));
        Ok(())
    }

    fn trim_context(&self, task: Arc<TrimContextTask>) -> Result<(), CallbackError> {
        assert!(task.finish(Some(half(task.overflow(), &task.messages()))));
        Ok(())
    }

    fn choose_model(&self, task: Arc<ChooseModelTask>) -> Result<(), CallbackError> {
        assert!(task.finish(last(&task.context())));
        Ok(())
    }

    fn decode_output(&self, task: Arc<DecodeOutputTask>) -> Result<(), CallbackError> {
        match decoded(&task.value()) {
            None => task.finish(),
            Some(reason) => task.refuse(reason),
        };
        Ok(())
    }

    fn give_credentials(&self, task: Arc<CredentialsTask>) -> Result<(), CallbackError> {
        assert!(task.finish(credentials(&task.request())));
        Ok(())
    }

    fn run_hook(&self, task: Arc<HookTask>) -> Result<(), CallbackError> {
        assert_eq!(task.hook(), "guard");
        assert!(task.finish(looked(task.subject())));
        Ok(())
    }

    fn make_instructions(&self, task: Arc<InstructionsTask>) -> Result<(), CallbackError> {
        assert!(task.finish(format!("Turn {}.", task.request().turn)));
        Ok(())
    }

    fn send_request(&self, _task: Arc<HttpTask>) -> Result<(), CallbackError> {
        unreachable!("Stepwell sends the requests of this agent")
    }

    fn cancel(&self, _task: u64) -> Result<(), CallbackError> {
        Ok(())
    }
}

/// Decodes the app's type, which accepts at most 30 days.
fn decoded(value: &JsonValue) -> Option<String> {
    let value: Value = serde_json::from_str(value.as_str()).unwrap();
    let is_long = value["days"].as_u64().unwrap() > 30;
    is_long.then(|| "a trip has at most 30 days (at /days)".to_owned())
}

struct Decodes;

#[async_trait::async_trait]
impl OutputDecoder for Decodes {
    async fn decode(&self, value: JsonValue) -> Result<Option<String>, CallbackError> {
        Ok(decoded(&value))
    }
}

#[tokio::test]
async fn the_app_has_the_last_word_on_a_typed_answer() {
    let answers = || {
        Script::new()
            .hop(says(r#"{"days":90}"#))
            .hop(says(r#"{"days":3}"#))
    };
    let (here, there) = (serve(answers()).await, serve(answers()).await);
    let schema = json!({"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]});
    let typed = |server: &MockLlm| {
        let mut config = config(&server.base_url());
        config.output = Some(OutputType {
            name: "Trip".to_owned(),
            schema: JsonValue::of(&schema),
            description: None,
            mode: None,
            retries: None,
            decoded_by_host: true,
        });
        config
    };
    let refused = Agent::new(typed(&here), AgentSetup::default());
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("decodes its typed answers")
    );
    let setup = AgentSetup {
        output_decoder: Some(Arc::new(Decodes)),
        ..AgentSetup::default()
    };
    let own = Agent::new(typed(&here), setup).unwrap();
    let runner = Arc::new(ByTasks(Backend::default()));
    let elsewhere = Agent::for_runners(typed(&there), AgentSetup::default())
        .unwrap()
        .with_runner(runner, RunnerDuties::default(), None);
    for agent in [own, elsewhere] {
        let finished = say(&agent, "A trip").finish().await.unwrap();
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(finished.output, Some(JsonValue::of(&json!({"days": 3}))));
        assert_eq!(finished.hops, 2);
    }
}

/// Returns more than the window of the test's model.
fn long_history() -> JsonValue {
    let message =
        |at| json!({ "id": format!("old-{at}"), "role": "user", "content": "x".repeat(4_000) });
    JsonValue::of(&Value::from_iter((0..3).map(message)))
}

#[tokio::test]
async fn a_backend_makes_the_ids_of_the_runs() {
    let server = serve(Script::new().hop(says("Hello")).hop(says("Again"))).await;
    let backend = Arc::new(Backend::default());
    let setup = AgentSetup {
        run_source: Some(Arc::clone(&backend) as _),
        ..AgentSetup::default()
    };
    let agent = Agent::new(config(&server.base_url()), setup).unwrap();
    let finished = agent
        .conversation(key("garden"))
        .start(start("first", "Hi"), Vec::new())
        .unwrap()
        .finish()
        .await;
    assert_eq!(finished.unwrap().outcome, Outcome::Success);
    let created = backend.0.lock().unwrap().clone();
    assert_eq!(created[0].thread_id, "garden");
    assert_eq!(created.len(), 1);

    let mut config = config(&server.base_url());
    config.run_ids = Some(RunIds::Host);
    let runner = Arc::new(ByTasks(Backend::default()));
    let agent = Agent::for_runners(config, AgentSetup::default())
        .unwrap()
        .with_runner(Arc::clone(&runner) as _, RunnerDuties::default(), None);
    let finished = say(&agent, "Hi").finish().await;
    assert_eq!(finished.unwrap().outcome, Outcome::Success);
    assert_eq!(runner.0.0.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_run_that_is_not_created_is_why_the_turn_fails() {
    let setup = AgentSetup {
        run_source: Some(Arc::new(Away)),
        ..AgentSetup::default()
    };
    let agent = Agent::new(config("http://localhost/v1"), setup).unwrap();
    let finished = say(&agent, "Hi").finish().await;
    let Outcome::Failed { message, .. } = finished.unwrap().outcome else {
        panic!("there is no run");
    };
    assert!(message.contains("the backend is away"), "{message}");
}

#[tokio::test]
async fn the_app_says_what_to_leave_out_of_a_full_context() {
    let server = serve(Script::new().hop(says("Yes.")).hop(says("Yes."))).await;
    let mut config = config(&server.base_url());
    config.context_guard.window = Some(1_500);
    let here = AgentSetup {
        trim_context: Some(Arc::new(Half)),
        ..AgentSetup::default()
    };
    let agent = Agent::new(config.clone(), here).unwrap();
    config.context_guard.at_limit = Some(stepwell_ffi::ContextPolicy::Trim);
    let runner = Arc::new(ByTasks(Backend::default()));
    let elsewhere = Agent::for_runners(config, AgentSetup::default())
        .unwrap()
        .with_runner(runner, RunnerDuties::default(), None);
    for agent in [agent, elsewhere] {
        let conversation = agent
            .conversation_with_history(key("thread"), long_history(), None)
            .unwrap();
        let finished = say_with(&conversation, "And?", TurnOptions::default())
            .finish()
            .await;
        assert_eq!(finished.unwrap().outcome, Outcome::Success);
        assert_eq!(texts(&conversation.messages()).len(), 5, "nothing is lost");
    }
    for request in server.requests() {
        let sent = request.body["messages"].as_array().unwrap();
        assert!(sent.len() < 4, "{sent:?}");
        let first = sent[0]["content"].as_str().unwrap();
        assert!(first.contains("There were many x."), "{first}");
    }
}

#[tokio::test]
async fn a_model_summarises_and_the_next_turn_begins_from_there() {
    let script = Script::new().hop(says("Yes.")).hop(says("Still yes."));
    let server = serve(script.hop(says("All of it."))).await;
    let writer = serve(Script::new().hop(says("Many x.")).hop(says("All x."))).await;
    let mut config = config(&server.base_url());
    config.context_guard.window = Some(3_500);
    config.compaction.ways = vec![CompactionWay::Summary {
        model: Some(other_model(&writer)),
        instructions: Some("Count the x.".to_owned()),
        keep: 0.25,
    }];
    let agent = Agent::new(config.clone(), AgentSetup::default()).unwrap();
    let conversation = agent
        .conversation_with_history(key("thread"), long_history(), None)
        .unwrap();
    let whole = TurnOptions {
        whole_history: true,
        ..TurnOptions::default()
    };
    for options in [TurnOptions::default(), TurnOptions::default(), whole] {
        let finished = say_with(&conversation, "And?", options).finish().await;
        assert_eq!(finished.unwrap().outcome, Outcome::Success);
    }
    let sent = |server: &MockLlm| {
        let requests = server.requests().into_iter();
        let texts = requests.map(|request| request.body["messages"].to_string());
        texts.collect::<Vec<_>>()
    };
    let [first, second] = &sent(&writer)[..] else {
        panic!("{:?}", sent(&writer));
    };
    assert!(first.contains("Count the x.") && !second.contains("Many x."));
    let said = sent(&server);
    assert!(said[0].contains("Many x.") && said[1].contains("Many x."));
    assert!(said[2].contains("All x."));

    config.compaction.ways = vec![CompactionWay::Host];
    let refused = Agent::new(config, AgentSetup::default());
    assert!(refused.unwrap_err().to_string().contains("`trim_context`"));
}

fn other_model(server: &MockLlm) -> FallbackModel {
    FallbackModel {
        provider: "openai-compatible".to_owned(),
        model: "other".to_owned(),
        api: None,
        base_url: Some(server.base_url()),
        key: None,
        headers: HashMap::new(),
        credentials: None,
        settings: None,
        price: None,
        resumption: None,
    }
}

#[tokio::test]
async fn another_model_answers_when_the_first_has_failed() {
    let first = serve(Script::new().hop(Hop::error(503, "Out of order"))).await;
    let second = serve(Script::new().hop(says("I can."))).await;
    let mut config = config(&first.base_url());
    config.retry.attempts = 1;
    config.fallback.models = vec![other_model(&second)];
    let agent = Agent::new(config, AgentSetup::default()).unwrap();
    let turn = one_off(&agent, "run-1");
    let mut changed = None;
    loop {
        let batch = turn.next_batch().await;
        if batch.is_empty() {
            break;
        }
        for event in batch {
            if let Event::ModelChanged { model, after, .. } = event {
                changed = Some((model.model, after));
            }
        }
    }
    assert_eq!(
        changed,
        Some((
            "other".to_owned(),
            Some(stepwell_ffi::ErrorKind::ServerError)
        ))
    );
    assert_eq!(turn.finish().await.unwrap().outcome, Outcome::Success);
}

#[tokio::test]
async fn the_app_chooses_the_models_of_the_hops() {
    let here = serve(Script::new()).await;
    let other = serve(Script::new().hop(says("Yes.")).hop(says("Yes."))).await;
    let mut config = config(&here.base_url());
    config.fallback.models = vec![other_model(&other)];
    let setup = AgentSetup {
        model_for: Some(Arc::new(Last)),
        ..AgentSetup::default()
    };
    let agent = Agent::new(config.clone(), setup).unwrap();
    config.fallback.choice = Some(ModelChoice::Host);
    let refused = Agent::new(config.clone(), AgentSetup::default());
    assert!(refused.unwrap_err().to_string().contains("`model_for`"));
    let runner = Arc::new(ByTasks(Backend::default()));
    let elsewhere = Agent::for_runners(config, AgentSetup::default())
        .unwrap()
        .with_runner(runner, RunnerDuties::default(), None);
    for agent in [agent, elsewhere] {
        let finished = say(&agent, "Hi").finish().await.unwrap();
        assert_eq!(finished.outcome, Outcome::Success);
    }
    assert!(here.requests().is_empty());
}

#[test]
fn what_a_runner_does_is_given_to_no_agent_for_runners() {
    let setup = AgentSetup {
        trim_context: Some(Arc::new(Half)),
        ..AgentSetup::default()
    };
    let refused = Agent::for_runners(config("http://localhost/v1"), setup);
    let Err(StepwellError::Configuration { reason, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("`trim_context`"), "{reason}");
}

#[tokio::test]
async fn a_turn_is_begun_with_a_message_of_the_apps_own_and_said_otherwise() {
    let script = Script::new()
        .hop(says("One"))
        .hop(says("Two"))
        .hop(says("Three"));
    let server = serve(script).await;
    let store = SessionStore::in_memory();
    let setup = AgentSetup {
        store: Some(StoreSetup {
            store: Arc::clone(&store),
            waits: false,
        }),
        ..AgentSetup::default()
    };
    let agent = Agent::new(config(&server.base_url()), setup).unwrap();
    let parts = json!({
        "id": "message", "role": "user", "content": [{ "type": "text", "text": "First" }],
    });
    let mut first = start("first", "");
    (first.text, first.message) = (None, Some(JsonValue::of(&parts)));
    let garden = agent.conversation(key("garden"));
    let turn = garden.start(first, Vec::new()).unwrap();
    turn.begun().await;
    assert_eq!(turn.stored().unwrap().key.turn, "first");
    assert_eq!((turn.store_trouble(), turn.revived_from()), (None, None));
    turn.finish().await.unwrap();
    garden
        .start(start("second", "Second"), Vec::new())
        .unwrap()
        .finish()
        .await
        .unwrap();
    let branch = garden
        .branch(
            Some("first".into()),
            start("other", "Otherwise"),
            Vec::new(),
        )
        .unwrap();
    branch.finish().await.unwrap();
    let said = texts(&garden.messages());
    assert_eq!(said, ["One", "Otherwise", "Three"], "the first is in parts");
    let turns = store.turns(key("garden")).await.unwrap();
    let parents: Vec<_> = turns.iter().map(|turn| turn.parent.as_deref()).collect();
    assert_eq!(parents, [None, Some("first"), Some("first")]);
}

#[tokio::test]
async fn a_thread_begins_with_a_history_and_is_forgotten() {
    let server = serve(Script::new().hop(says("Hello"))).await;
    let registry = RunRegistry::new();
    let setup = AgentSetup {
        registry: Some(Arc::clone(&registry)),
        ..AgentSetup::default()
    };
    let agent = Agent::new(config(&server.base_url()), setup).unwrap();
    let history = json!([{ "id": "old", "role": "user", "content": "Before" }]);
    let history = JsonValue::of(&history);
    let other = agent
        .conversation_with_history(
            key("other"),
            history,
            Some(JsonValue::of(&json!({ "page": 1 }))),
        )
        .unwrap();
    assert_eq!(other.shared_state().as_str(), r#"{"page":1}"#);
    say_with(&other, "Hi", TurnOptions::default())
        .finish()
        .await
        .unwrap();
    assert_eq!(texts(&other.messages()), ["Before", "Hi", "Hello"]);
    let RegistryEvent::RunStarted { handle } = agent.next_registry_event().await.unwrap() else {
        panic!("a run began");
    };
    assert_eq!(handle.key, key("other"));
    assert_eq!(registry.unread_threads(), [key("other")]);
    other.forget();
    assert_eq!(agent.conversation(key("other")).messages().as_str(), "[]");
    let refused = agent.conversation_with_history(
        key("bad"),
        JsonValue::from_text("nonsense".to_owned()),
        None,
    );
    assert!(
        matches!(refused, Err(StepwellError::InvalidArgument { .. })),
        "{refused:?}"
    );
}

/// A tool whose result comes later.
struct Later;

#[async_trait::async_trait]
impl ToolHandler for Later {
    async fn call(&self, _: ToolInvocation, _: Arc<ToolContext>) -> Result<ToolOutput, ToolError> {
        Err(ToolError::Deferred)
    }
}

#[tokio::test]
async fn a_turn_is_looked_into_and_suspended_while_its_events_are_waited_for() {
    let script = Script::new()
        .hop(Hop::new().text("Well").tool_call("order", json!({})))
        .hop(says("Enjoy!"));
    let server = serve(script).await;
    let setup = AgentSetup {
        tools: vec![AgentTool {
            definition: definition("order"),
            handler: Arc::new(Later),
        }],
        ..AgentSetup::default()
    };
    let agent = Agent::new(config(&server.base_url()), setup).unwrap();
    let turn = say(&agent, "Tea");
    turn.rested().await.unwrap();
    assert_eq!(texts(&turn.messages().await.unwrap()), ["Tea", "Well"]);
    assert_eq!(turn.shared_state().await.unwrap().as_str(), "{}");
    assert!(turn.interrupts().await.unwrap().is_empty());
    assert!(turn.usage().await.unwrap().output_tokens.is_some());
    let watching = tokio::spawn({
        let turn = Arc::clone(&turn);
        async move {
            let mut events = Vec::new();
            loop {
                let batch = turn.next_batch().await;
                if batch.is_empty() {
                    return events;
                }
                events.extend(batch);
            }
        }
    });
    let snapshot = turn.suspend().await.unwrap();
    let events = watching.await.unwrap();
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Completed { .. }))
    );
    let over = turn.suspend().await;
    assert!(
        matches!(over, Err(StepwellError::Misuse { .. })),
        "{over:?}"
    );

    let revived = agent.revive(&snapshot, "", "").unwrap();
    revived.begun().await;
    assert_eq!(texts(&revived.revived_from().unwrap()), ["Tea", "Well"]);
    let messages: Value = serde_json::from_str(revived.messages().await.unwrap().as_str()).unwrap();
    let call = messages[1]["toolCalls"][0]["id"].as_str().unwrap();
    revived
        .resolve_call(call.to_owned(), "here".into())
        .await
        .unwrap();
    let finished = revived.finish().await.unwrap();
    assert_eq!(finished.outcome, Outcome::Success);
    assert!(finished.text.ends_with("Enjoy!"));
}

#[tokio::test]
async fn the_result_of_a_turn_that_is_over_stays_when_it_cannot_be_suspended() {
    let server = serve(Script::new().hop(Hop::hang_up())).await;
    let agent = Agent::new(config(&server.base_url()), AgentSetup::default()).unwrap();
    let turn = say(&agent, "Hi");
    while !turn.next_batch().await.is_empty() {}
    assert!(turn.suspend().await.is_err());
    let Outcome::Failed { failure, .. } = turn.finish().await.unwrap().outcome else {
        panic!("there was no answer");
    };
    assert!(matches!(failure, Failure::Connection { .. }), "{failure:?}");
}

fn credentials(request: &CredentialRequest) -> Authorization {
    let key = if request.rejected { "new" } else { "old" };
    Authorization {
        key: Some(key.to_owned()),
        headers: HashMap::from([("x-team".to_owned(), "blue".to_owned())]),
    }
}

/// Supplies the same credentials as `ByTasks`.
struct Tokens;

#[async_trait::async_trait]
impl CredentialSource for Tokens {
    async fn credentials(
        &self,
        request: CredentialRequest,
    ) -> Result<Authorization, CallbackError> {
        Ok(credentials(&request))
    }
}

#[async_trait::async_trait]
impl InstructionsSource for Tokens {
    async fn instructions(&self, request: InstructionsRequest) -> Result<String, CallbackError> {
        Ok(format!("Turn {}.", request.turn))
    }
}

/// Returns the key and the system message of each request.
fn sent(server: &stepwell_mock_llm::MockLlm) -> Vec<(String, Value)> {
    let requests = server.requests();
    let of = |request: &stepwell_mock_llm::RecordedRequest| {
        let key = request.header("authorization").unwrap_or_default();
        (
            key.to_owned(),
            request.body["messages"][0]["content"].clone(),
        )
    };
    requests.iter().map(of).collect()
}

#[tokio::test]
async fn the_app_gives_keys_and_instructions_here_and_by_tasks() {
    let setup = AgentSetup {
        credentials: Some(Arc::new(Tokens)),
        instructions_from: Some(Arc::new(Tokens)),
        ..AgentSetup::default()
    };
    for by_tasks in [false, true] {
        let script = Script::new()
            .hop(Hop::error(401, "Expired"))
            .hop(says("Yes."));
        let server = serve(script).await;
        let mut config = config(&server.base_url());
        let agent = if by_tasks {
            config.credentials = Some(stepwell_ffi::Credentials::Host);
            let runner = Arc::new(ByTasks(Backend::default()));
            let agent = Agent::for_runners(config, AgentSetup::default()).unwrap();
            agent.with_runner(
                runner,
                RunnerDuties {
                    makes_instructions: true,
                    ..RunnerDuties::default()
                },
                None,
            )
        } else {
            Agent::new(config, setup.clone()).unwrap()
        };
        let turn = one_off(&agent, "turn-1");
        assert_eq!(turn.finish().await.unwrap().outcome, Outcome::Success);
        let said = Value::from("Turn turn-1.");
        assert_eq!(
            sent(&server),
            [
                ("Bearer old".to_owned(), said.clone()),
                ("Bearer new".to_owned(), said)
            ]
        );
    }
}

#[tokio::test]
async fn a_turn_has_options_of_its_own() {
    let server = serve(Script::new().hop(says("Yes."))).await;
    let mut config = config(&server.base_url());
    config.settings.temperature = Some(0.5);
    config.settings.reasoning = Some(stepwell_ffi::ReasoningEffort::Low);
    let agent = Agent::new(config, AgentSetup::default()).unwrap();
    let options = TurnOptions {
        instructions: Some("Be brief.".to_owned()),
        settings: Some(stepwell_ffi::GenerationSettings {
            temperature: Some(0.0),
            ..stepwell_ffi::GenerationSettings::default()
        }),
        user: Some("user-7".to_owned()),
        ..TurnOptions::default()
    };
    let conversation = support::conversation(&agent);
    let turn = say_with(&conversation, "Hi", options);
    assert_eq!(turn.finish().await.unwrap().outcome, Outcome::Success);
    let body = server.requests()[0].body.clone();
    assert_eq!(body["messages"][0]["content"], "Be brief.");
    assert_eq!(
        (&body["temperature"], &body["user"]),
        (&json!(0.0), &json!("user-7"))
    );
    assert_eq!(
        body["reasoning_effort"], "low",
        "what is not given is the agent's"
    );
    let unknown = TurnOptions {
        tool_names: Some(vec!["wrok".to_owned()]),
        ..TurnOptions::default()
    };
    let refused = conversation.send("Hi".into(), unknown, Vec::new(), Vec::new());
    assert!(refused.is_err_and(|error| error.to_string().contains("wrok")));
}

/// Replaces the user's text by "***", and refuses the model's answer.
fn looked(subject: HookSubject) -> HookAnswer {
    match subject {
        HookSubject::HookedRequest { .. } => HookAnswer::ChangeRequest {
            instructions: None,
            messages: Some(JsonValue::of(
                &json!([{ "id": "user", "role": "user", "content": "***" }]),
            )),
        },
        HookSubject::HookedAnswer { text, .. } => HookAnswer::Refused {
            reason: format!("it says {text}"),
        },
        HookSubject::HookedCall { .. } | HookSubject::HookedResult { .. } => HookAnswer::GoOn,
    }
}

struct Guard;

#[async_trait::async_trait]
impl Hook for Guard {
    async fn look(&self, subject: HookSubject) -> Result<HookAnswer, CallbackError> {
        Ok(looked(subject))
    }
}

#[tokio::test]
async fn the_app_has_hooks_here_and_by_tasks() {
    let moments = vec![HookMoment::BeforeRequest, HookMoment::AfterAnswer];
    for by_tasks in [false, true] {
        let server = serve(Script::new().hop(says("Yes."))).await;
        let mut config = config(&server.base_url());
        let hook = AgentHook {
            name: "guard".to_owned(),
            moments: moments.clone(),
            hook: Arc::new(Guard),
        };
        let setup = AgentSetup {
            hooks: vec![hook],
            ..AgentSetup::default()
        };
        let agent = if by_tasks {
            config.hooks = vec![HookSpec {
                name: "guard".to_owned(),
                moments: moments.clone(),
            }];
            let without = Agent::new(config.clone(), AgentSetup::default());
            assert!(without.is_err_and(|error| error.to_string().contains("has no code")));
            let runner = Arc::new(ByTasks(Backend::default()));
            let agent = Agent::for_runners(config, AgentSetup::default()).unwrap();
            agent.with_runner(runner, RunnerDuties::default(), None)
        } else {
            Agent::new(config, setup).unwrap()
        };
        let turn = one_off(&agent, "turn-1");
        let finished = turn.finish().await.unwrap();
        let Outcome::Failed { failure, .. } = finished.outcome else {
            panic!("it was refused");
        };
        assert_eq!(
            failure,
            Failure::RefusedByHook {
                hook: "guard".to_owned(),
                moment: HookMoment::AfterAnswer,
                reason: "it says Yes.".to_owned(),
            }
        );
        assert_eq!(server.requests()[0].body["messages"][0]["content"], "***");
    }
}
