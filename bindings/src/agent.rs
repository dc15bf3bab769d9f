use crate::config::{OutputType, RunConfig, TurnOptions};
use crate::error::StepwellError;
use crate::json_value::JsonValue;
use crate::language::http_client;
use crate::listener::Listener;
use crate::machine::{Start, transcript};
use crate::media::{ContentPart, content};
use crate::output::{Decoding, OutputDecoder};
use crate::registry::{RegistryEvent, RunRegistry};
use crate::runtime::{on_runtime, runtime};
use crate::setup::AgentSetup;
use crate::store::{SessionStore, TurnKey};
use crate::task::{Runner, TaskRunner};
use crate::thread_key::ThreadKey;
use crate::tool::{AgentTool, Handler};
use crate::trace;
use crate::transport;
use crate::turn::{Finished, Turn, batch, finish};
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::RunId;
use stepwell_core::registry;
use stepwell_io::{Caller, Conversation, Device, HttpClient, Run, TurnCode, WhenBusy};

/// A conversation with a model and the app's tools, which does its own network IO. All work is done on Stepwell's own
/// threads. Each user and each conversation has a thread, which `thread` returns.
#[derive(Debug, uniffi::Object)]
pub struct Agent {
    agent: stepwell_io::Agent<(), Value>,
    conversation: Conversation<Value>,
    device: Device,
    when_busy: WhenBusy,
    /// Whether the code of its turns' tools belongs to runners.
    is_for_runners: bool,
    /// Whether the app made this agent, instead of getting it from another agent.
    is_first: bool,
    /// The caller that the agent begins turns for.
    caller: Option<Caller>,
}

#[uniffi::export]
impl Agent {
    /// Creates an agent with its tools and the rest of the setup.
    #[uniffi::constructor(default(setup))]
    pub fn new(config: RunConfig, setup: AgentSetup) -> Result<Arc<Self>, StepwellError> {
        setup.has_code_for(&config)?;
        let client = match &setup.client {
            Some(app) => transport::client(Arc::clone(app)),
            None => http_client()?,
        };
        build(setup, config, client)
    }

    /// Creates an agent for runners. The app's own event loops handle the configuration's tools, approvals, runs and
    /// full contexts: each turn is begun with `with_runner`, and its work goes to that runner's loop.
    #[uniffi::constructor(default(setup))]
    pub fn for_runners(config: RunConfig, setup: AgentSetup) -> Result<Arc<Self>, StepwellError> {
        if let Some(field) = setup.of_runners() {
            return Err(StepwellError::configuration(
                &format!("the setup has `{field}`, which is for an agent's runners to do"),
                "leave it out, or make the agent with `new`",
            ));
        }
        build(setup, config, http_client()?)
    }

    /// Returns an agent for the same conversations, whose turns this runner carries out. `store` reaches the agent's
    /// store from there, where the store is code of the app. With `sends_requests` the runner also sends the requests,
    /// and with `makes_instructions` it makes each turn's instructions.
    #[uniffi::method(default(store = None, sends_requests = false, makes_instructions = false))]
    pub fn with_runner(
        &self,
        runner: Arc<dyn TaskRunner>,
        store: Option<Arc<SessionStore>>,
        sends_requests: bool,
        makes_instructions: bool,
    ) -> Arc<Self> {
        let makes_instructions = makes_instructions.then(|| Runner(Arc::clone(&runner)));
        let agent = self.agent.with_code(TurnCode {
            client: sends_requests.then(|| transport::client_of(Arc::clone(&runner))),
            tools: Arc::new(Runner(Arc::clone(&runner))),
            approver: Arc::new(Runner(Arc::clone(&runner))),
            run_source: Some(Arc::new(Runner(Arc::clone(&runner)))),
            credentials: Some(Arc::new(Runner(Arc::clone(&runner)))),
            hooks: Some(Arc::new(Runner(Arc::clone(&runner)))),
            instructions: makes_instructions.map(|runner| Arc::new(runner) as _),
            trimmer: Some(Arc::new(Runner(Arc::clone(&runner)))),
            decoder: Some(Arc::new(Runner(runner))),
            store: store.map(|store| store.inner()),
        });
        Arc::new(Self {
            is_for_runners: true,
            ..self.with_agent(agent)
        })
    }

    /// Returns an agent for the same conversations, whose turns have answers of this type. `decoder` decodes the
    /// answers; without it the agent's own decoder does, if `OutputType.decoded_by_host` says so.
    #[uniffi::method(default(decoder = None))]
    pub fn with_output(
        &self,
        output: OutputType,
        decoder: Option<Arc<dyn OutputDecoder>>,
    ) -> Result<Arc<Self>, StepwellError> {
        let code = |app| Arc::new(Decoding(app)) as Arc<dyn stepwell_io::OutputDecoder>;
        let agent = self
            .agent
            .with_output_type(output.into_core()?, decoder.map(code));
        Ok(Arc::new(self.with_agent(agent)))
    }

    /// Sends a message to the model, and returns the turn to take events from. If another turn of the thread is under
    /// way, the call fails at once as busy, unless `when_busy` says otherwise. `options` override the agent's options
    /// for this turn, and `tools` are offered in addition to the agent's tools. `parts` follow the text, in order:
    /// media, and texts between them. With parts, an empty text is left out.
    #[uniffi::method(default(tools = [], parts = [], options))]
    pub fn start_turn(
        &self,
        text: String,
        options: TurnOptions,
        tools: Vec<AgentTool>,
        parts: Vec<ContentPart>,
    ) -> Result<Arc<Turn>, StepwellError> {
        let run = self.conversation.send(content(text, parts)?);
        self.send(run, options, tools)
    }

    /// Starts a turn with ids and a message that the app makes: one that is more than text, say, or one with the
    /// answers to what an AG-UI agent asked at the end of an earlier turn. If another turn of the thread is under way,
    /// the call fails at once as busy.
    #[uniffi::method(default(tools = []))]
    pub fn start(&self, start: Start, tools: Vec<AgentTool>) -> Result<Arc<Turn>, StepwellError> {
        let (run, options) = self.begun(start)?;
        self.send(run, options, tools)
    }

    /// Starts a turn that does not follow the thread's last turn: one that follows `parent`, or a first one. The turn
    /// continues the conversation as of `parent`, and the turns that followed `parent` before stay in the store as
    /// another branch. Needs an agent with a store: otherwise the turn fails at once.
    #[uniffi::method(default(tools = []))]
    pub fn branch(
        &self,
        parent: Option<String>,
        start: Start,
        tools: Vec<AgentTool>,
    ) -> Result<Arc<Turn>, StepwellError> {
        let (run, options) = self.begun(start)?;
        self.send(run.after(parent.map(RunId::from)), options, tools)
    }

    /// Continues a stored turn, from what `Turn.rested` or `Turn.suspend` returned, in this process or a later one. The
    /// result of a deferred call is then passed to `Turn.finish_call`; the user is asked again for each answer that is
    /// missing. The turn's thread is that of the snapshot.
    pub fn revive(&self, snapshot: &str) -> Result<Arc<Turn>, StepwellError> {
        let runtime = runtime()?;
        let _entered = runtime.enter();
        let key = self.conversation.key();
        let revive = || self.agent.revive_in(&key.server, &key.room, snapshot);
        let revived = match &self.caller {
            Some(caller) => caller.begin(revive),
            None => revive(),
        };
        Ok(Turn::new(revived?.into_events()))
    }

    /// Sends another message instead of the one that a stored turn began with: a new branch of the thread, from the
    /// conversation before that turn, which stays. Needs an agent with a store. `parts` are as for `start_turn`.
    #[uniffi::method(default(parts = []))]
    pub async fn resend(
        &self,
        turn: String,
        text: String,
        parts: Vec<ContentPart>,
    ) -> Result<Arc<Turn>, StepwellError> {
        let (conversation, when_busy) = (self.conversation.clone(), self.when_busy);
        let content = content(text, parts)?;
        let work = async move {
            let run = conversation.resend(&turn.into(), content).await?;
            Ok(Turn::new(run.when_busy(when_busy).stream().into_events()))
        };
        on_runtime(self.for_caller(work)).await
    }

    /// Revives every unfinished turn of the store that no process drives any more, each on its own thread: turns that a
    /// dead process left, and turns that were suspended. Call it when the app starts, and as often as needed after
    /// that; turns that are under way are left alone.
    pub async fn recover(&self) -> Result<Vec<Recovered>, StepwellError> {
        let agent = self.agent.clone();
        let work = async move {
            let recovered = agent.recover().await?;
            Ok(recovered.into_iter().map(Into::into).collect())
        };
        on_runtime(self.for_caller(work)).await
    }

    /// Returns the conversation with this key, or a new one, with the same model, tools and store.
    pub fn thread(&self, key: ThreadKey) -> Arc<Self> {
        let conversation = self.agent.conversation(registry::ThreadKey::from(key));
        Arc::new(self.on(conversation))
    }

    /// Returns the conversation as `thread` does; a new one begins with an earlier conversation: a JSON array of AG-UI
    /// messages, oldest first, and the state shared with an AG-UI agent, any JSON.
    #[uniffi::method(default(shared_state = None))]
    pub fn thread_with_history(
        &self,
        key: ThreadKey,
        history: JsonValue,
        shared_state: Option<JsonValue>,
    ) -> Result<Arc<Self>, StepwellError> {
        let history = transcript(Some(history), shared_state)?;
        let conversation = self.agent.conversation(registry::ThreadKey::from(key));
        Ok(Arc::new(self.on(conversation.with_history(history))))
    }

    /// Cancels the thread's turn, if one is under way, and forgets its conversation; what a store has of the thread
    /// stays there. Stop using an `Agent` of the thread that is still held.
    pub fn forget_thread(&self, key: ThreadKey) {
        let key = registry::ThreadKey::from(key);
        self.agent.conversation(key).forget();
    }

    /// Cancels the thread's turn, if one is under way, forgets its conversation, and deletes the thread from the store
    /// with all its turns. Returns whether the store had the thread; without a store, `false`.
    pub async fn delete_thread(&self, key: ThreadKey) -> Result<bool, StepwellError> {
        let key = registry::ThreadKey::from(key);
        let conversation = self.agent.conversation(key);
        on_runtime(async move { Ok(conversation.delete().await?) }).await
    }

    /// Sends a message to the model, reports to the listener what happens, and waits for the end. Abandoning the call
    /// cancels the turn.
    pub async fn send_to_listener(
        &self,
        text: String,
        listener: Arc<dyn Listener>,
    ) -> Result<Finished, StepwellError> {
        let mut turn = {
            let _entered = runtime()?.enter();
            let run = self.conversation.send(text).when_busy(self.when_busy);
            self.within_the_caller(|| run.stream().into_events())
        };
        let work = async move {
            loop {
                let events = batch(&mut turn).await;
                if events.is_empty() {
                    return finish(turn).await;
                }
                let listener = Arc::clone(&listener);
                // The listener's code may block, and does in languages with a global lock.
                let told = tokio::task::spawn_blocking(move || listener.on_events(events)).await;
                match told {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        tracing::warn!(target: "stepwell", %error, "the listener failed");
                    }
                    Err(error) => {
                        tracing::warn!(target: "stepwell", %error, "the listener broke off");
                    }
                }
            }
        };
        on_runtime(work).await
    }

    /// Cancels the turn under way, if there is one.
    pub fn cancel(&self) {
        self.conversation.cancel();
    }

    /// Reports that the app goes to the background; see `DevicePolicy`. Like the following three calls, this one
    /// applies to the turn under way and to later turns.
    pub fn entered_background(&self) {
        self.device.entered_background();
    }

    /// Reports that the app is in the foreground again.
    pub fn entered_foreground(&self) {
        self.device.entered_foreground();
    }

    /// Reports that the network is gone.
    pub fn network_lost(&self) {
        self.device.network_lost();
    }

    /// Reports that there is a network, or that another one replaced it.
    pub fn network_available(&self) {
        self.device.network_available();
    }

    /// The conversation's id.
    pub fn thread_id(&self) -> String {
        self.conversation.id().to_string()
    }

    /// The registry of this agent and of those that `thread` returned: which threads have a turn under way, what the
    /// user looks at, and what is unread. Report with `look_at` what the user looks at. The registry's runs are the
    /// agent's turns: only the agent should register, complete and remove them.
    pub fn registry(&self) -> Arc<RunRegistry> {
        RunRegistry::of(self.agent.registry().clone())
    }

    /// Waits for the next event of the turns of all threads: a turn began, continued with another hop, or ended; a
    /// thread is unread. Each event goes to one caller only, of this method or of the registry's `take_events`.
    pub async fn next_registry_event(&self) -> Result<RegistryEvent, StepwellError> {
        let agent = self.agent.clone();
        on_runtime(async move { Ok(agent.next_registry_event().await.into()) }).await
    }

    /// The conversation's id, with its room and server.
    pub fn thread_key(&self) -> ThreadKey {
        self.conversation.key().clone().into()
    }

    /// Returns the thread's conversation as the store has it: a JSON array of AG-UI messages, oldest first. Use it for
    /// a thread that this process has not sent on yet; from then on `messages` returns the conversation too, as it does
    /// without a store.
    pub async fn load(&self) -> Result<JsonValue, StepwellError> {
        let conversation = self.conversation.clone();
        on_runtime(async move { Ok(JsonValue::of(&conversation.load().await?.messages())) }).await
    }

    /// The conversation as it was after the last turn of this process: a JSON array of AG-UI messages, oldest first.
    pub fn messages(&self) -> JsonValue {
        JsonValue::of(&self.conversation.transcript().messages())
    }

    /// The state shared with an AG-UI agent, as it was after the last turn of this process: any JSON.
    pub fn shared_state(&self) -> JsonValue {
        JsonValue::of(self.conversation.transcript().shared_state())
    }

    /// Returns all that the model said since the user's last message, as it was shown.
    pub fn text(&self) -> String {
        let shown_as = self.agent.config().text;
        shown_as.shown(&self.conversation.transcript())
    }
}

impl Agent {
    pub(crate) fn inner(&self) -> &stepwell_io::Agent<(), Value> {
        &self.agent
    }

    pub(crate) fn key(&self) -> &registry::ThreadKey {
        self.conversation.key()
    }

    /// Returns the agent for another conversation.
    fn on(&self, conversation: Conversation<Value>) -> Self {
        Self {
            agent: self.agent.clone(),
            conversation,
            device: self.device.clone(),
            when_busy: self.when_busy,
            is_for_runners: self.is_for_runners,
            is_first: false,
            caller: self.caller.clone(),
        }
    }

    /// Returns another agent for the same conversation.
    fn with_agent(&self, agent: stepwell_io::Agent<(), Value>) -> Self {
        Self {
            conversation: agent.conversation(self.conversation.key().clone()),
            agent,
            ..self.on(self.conversation.clone())
        }
    }

    pub(crate) fn of_caller(&self, caller: Caller) -> Self {
        Self {
            caller: Some(caller),
            ..self.on(self.conversation.clone())
        }
    }

    pub(crate) fn caller(&self) -> Option<Caller> {
        self.caller.clone()
    }

    pub(crate) const fn is_first(&self) -> bool {
        self.is_first
    }

    /// Does work that begins turns, on behalf of the caller.
    fn for_caller<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        let caller = self.caller.clone();
        async move {
            match caller {
                Some(caller) => caller.scope(work).await,
                None => work.await,
            }
        }
    }

    /// Begins a turn for the caller, and as a part of the app's own span.
    fn within_the_caller<T>(&self, begin: impl FnOnce() -> T) -> T {
        let begin = || trace::within_the_apps_span(begin);
        match &self.caller {
            Some(caller) => caller.begin(begin),
            None => begin(),
        }
    }

    /// Returns a run that has not begun, and its options.
    fn begun(&self, mut start: Start) -> Result<(Run<Value>, TurnOptions), StepwellError> {
        let options = std::mem::take(&mut start.options);
        let start = start.into_core(self.agent.config())?;
        Ok((self.conversation.start(start), options))
    }

    fn send(
        &self,
        run: Run<Value>,
        options: TurnOptions,
        tools: Vec<AgentTool>,
    ) -> Result<Arc<Turn>, StepwellError> {
        if let Some(tool) = options.tools.first()
            && !self.is_for_runners
        {
            return Err(StepwellError::configuration(
                &format!("the turn's tool `{}` has no code", tool.name),
                "give it in `tools`, with its handler",
            ));
        }
        let when_busy = options.when_busy.map_or(self.when_busy, Into::into);
        let options = options.into_core(self.agent.config())?;
        let mut run = run.options(options).when_busy(when_busy);
        for AgentTool {
            definition,
            handler,
        } in tools
        {
            run = run.tool(definition.try_into()?, Handler(handler));
        }
        let runtime = runtime()?;
        let _entered = runtime.enter();
        let run = run.checked()?;
        Ok(Turn::new(
            self.within_the_caller(|| run.stream().into_events()),
        ))
    }
}

fn build(
    setup: AgentSetup,
    config: RunConfig,
    client: HttpClient,
) -> Result<Arc<Agent>, StepwellError> {
    let when_busy = config.when_busy.map(Into::into).unwrap_or_default();
    let history = transcript(setup.history.clone(), setup.shared_state.clone())?;
    let thread_id = setup.thread_id.clone();
    let device = Device::new();
    let agent = setup.builder(config, client)?.device(&device);
    let agent = agent.output::<Value>().build()?;
    let conversation = match thread_id {
        Some(id) => agent.conversation(id),
        None => agent.new_conversation(),
    };
    Ok(Arc::new(Agent {
        conversation: conversation.with_history(history),
        agent,
        device,
        when_busy,
        is_for_runners: false,
        is_first: true,
        caller: None,
    }))
}

/// An unfinished turn of the store that this agent revives.
#[derive(Clone, Debug, uniffi::Record)]
pub struct Recovered {
    /// The key of the turn. `Agent.thread` with its thread returns the conversation.
    pub key: TurnKey,
    /// The turn under way: take its events, or `detach` it. Releasing the turn cancels it. Absent if the turn cannot
    /// continue.
    pub turn: Option<Arc<Turn>>,
    /// Why the turn cannot continue: its snapshot cannot be read. The turn stays unfinished in the store, for a program
    /// that can read it, or until a message is sent on its thread.
    pub error: Option<String>,
}

impl From<stepwell_io::Recovered<Value>> for Recovered {
    fn from(recovered: stepwell_io::Recovered<Value>) -> Self {
        let (turn, error) = match recovered.turn {
            Ok(turn) => (Some(Turn::new(turn.into_events())), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self {
            key: recovered.key.into(),
            turn,
            error,
        }
    }
}
