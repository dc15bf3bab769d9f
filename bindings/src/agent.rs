//! An agent: the definition of a model, its instructions and its tools.

use crate::config::{OutputType, RunConfig, TurnOptions};
use crate::error::StepwellError;
use crate::json_value::JsonValue;
use crate::language::http_client;
use crate::machine::{Start, transcript};
use crate::output::{Decoding, OutputDecoder};
use crate::registry::{RegistryEvent, RunRegistry};
use crate::runtime::{on_runtime, runtime};
use crate::setup::AgentSetup;
use crate::store::{SessionStore, TurnKey};
use crate::task::{Runner, TaskRunner};
use crate::tool::{AgentTool, Handler};
use crate::trace;
use crate::transport;
use crate::turn::Turn;
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::run;
use stepwell_io::host::{Caller, TurnCode};
use stepwell_io::{Device, HttpClient, Run, WhenBusy};

/// The definition of a model, its instructions and its tools, which does its own network IO. It remembers nothing: users
/// and threads share it. All work is done on Stepwell's own threads.
#[derive(Debug, uniffi::Object)]
pub struct Agent {
    handle: Handle,
    device: Device,
    /// Whether the app made this agent, instead of getting it from another agent.
    is_first: bool,
}

/// An agent, and for whom it begins turns.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    agent: stepwell_io::Agent<(), Value>,
    when_busy: WhenBusy,
    /// Whether the code of its turns' tools belongs to runners.
    is_for_runners: bool,
    /// The caller that the agent begins turns for.
    caller: Option<Caller>,
}

/// Which of the app's code a runner calls. What is not named here is the agent's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct RunnerDuties {
    /// The runner sends the requests.
    #[uniffi(default = false)]
    pub sends_requests: bool,
    /// The runner makes each turn's instructions.
    #[uniffi(default = false)]
    pub makes_instructions: bool,
    /// The runner asks the user for approvals. Otherwise they wait, and are listed by `Turn.pending`.
    #[uniffi(default = false)]
    pub asks_approvals: bool,
    /// The runner asks the user the questions of tools. Otherwise they wait, and are listed by `Turn.pending`.
    #[uniffi(default = false)]
    pub asks_questions: bool,
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

    /// Returns an agent with the same conversations, whose turns this runner carries out. `store` reaches the agent's
    /// store from there, where the store is code of the app.
    #[uniffi::method(default(store = None, duties))]
    pub fn with_runner(
        &self,
        runner: Arc<dyn TaskRunner>,
        duties: RunnerDuties,
        store: Option<Arc<SessionStore>>,
    ) -> Arc<Self> {
        let of = |is_its_duty: bool| is_its_duty.then(|| Runner(Arc::clone(&runner)));
        let agent = self.handle.agent.with_code(TurnCode {
            client: (duties.sends_requests).then(|| transport::client_of(Arc::clone(&runner))),
            tools: Arc::new(Runner(Arc::clone(&runner))),
            approver: of(duties.asks_approvals).map(|runner| Arc::new(runner) as _),
            answerer: of(duties.asks_questions).map(|runner| Arc::new(runner) as _),
            run_source: Some(Arc::new(Runner(Arc::clone(&runner)))),
            credentials: Some(Arc::new(Runner(Arc::clone(&runner)))),
            hooks: Some(Arc::new(Runner(Arc::clone(&runner)))),
            instructions: of(duties.makes_instructions).map(|runner| Arc::new(runner) as _),
            trimmer: Some(Arc::new(Runner(Arc::clone(&runner)))),
            chooser: Some(Arc::new(Runner(Arc::clone(&runner)))),
            decoder: Some(Arc::new(Runner(runner))),
            store: store.map(|store| store.inner() as _),
        });
        let mut handle = self.handle.with_agent(agent);
        handle.is_for_runners = true;
        self.with_handle(handle)
    }

    /// Returns an agent with the same conversations, whose turns have answers of this type. `decoder` decodes the
    /// answers; without it the agent's own decoder does, if `OutputType.decoded_by_host` says so.
    #[uniffi::method(default(decoder = None))]
    pub fn with_output(
        &self,
        output: OutputType,
        decoder: Option<Arc<dyn OutputDecoder>>,
    ) -> Result<Arc<Self>, StepwellError> {
        let code = |app| Arc::new(Decoding(app)) as Arc<dyn stepwell_io::output::OutputDecoder>;
        let agent = &self.handle.agent;
        let agent = agent.with_output_type(output.into_core()?, decoder.map(code));
        Ok(self.with_handle(self.handle.with_agent(agent)))
    }

    /// Returns an agent of the same definition whose conversations are kept in this store.
    // Uniffi passes objects by value.
    #[allow(clippy::needless_pass_by_value)]
    pub fn with_store(&self, store: Arc<SessionStore>) -> Arc<Self> {
        let agent = self.handle.agent.with_store(store.inner());
        self.with_handle(self.handle.with_agent(agent))
    }

    /// Starts one turn that remembers nothing and is kept in no store. It continues `history`, a JSON array of AG-UI
    /// messages, and the state shared with an AG-UI agent, any JSON, if they are there. If the app shows nobody the
    /// turn, `is_answerable` is false: what would wait for the user is denied then.
    #[uniffi::method(default(tools = [], history = None, shared_state = None, is_answerable = true))]
    pub fn start(
        &self,
        start: Start,
        tools: Vec<AgentTool>,
        history: Option<JsonValue>,
        shared_state: Option<JsonValue>,
        is_answerable: bool,
    ) -> Result<Arc<Turn>, StepwellError> {
        let history = transcript(history, shared_state)?;
        let (start, options) = core_start(start, &self.handle)?;
        let mut run = self.handle.agent.start(start).history(history);
        if !is_answerable {
            run = run.out_of_reach();
        }
        self.handle.begin(run, options, tools)
    }

    /// Continues a stored turn, from what `Turn.rested` or `Turn.suspend` returned, in this process or a later one. The
    /// result of a deferred call is then passed to `Turn.resolve_call`; the user is asked again for each answer that is
    /// missing. The turn's conversation is that of the snapshot, in `room` of `server`.
    #[uniffi::method(default(server = "", room = ""))]
    pub fn revive(
        &self,
        snapshot: &str,
        server: &str,
        room: &str,
    ) -> Result<Arc<Turn>, StepwellError> {
        let runtime = runtime()?;
        let _entered = runtime.enter();
        let revive = || self.handle.agent.revive_in(server, room, snapshot);
        let revived = match &self.handle.caller {
            Some(caller) => caller.begin(revive),
            None => revive(),
        };
        Ok(Turn::new(revived?.into_events()))
    }

    /// Revives every unfinished turn of the store that no process drives any more, each on its own conversation: turns
    /// that a dead process left, and turns that were suspended. Call it when the app starts, and as often as needed
    /// after that; turns that are under way are left alone.
    pub async fn recover(&self) -> Result<Vec<Recovered>, StepwellError> {
        let agent = self.handle.agent.clone();
        let work = async move {
            let recovered = agent.recover().await?;
            Ok(recovered.into_iter().map(Into::into).collect())
        };
        on_runtime(self.handle.scope(work)).await
    }

    /// Reports that the app goes to the background; see `DevicePolicy`. Like the following three calls, this one
    /// applies to the turns under way and to later turns.
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

    /// The registry of the agent's conversations: which have a turn under way, what the user looks at, and what is
    /// unread. Report with `look_at` what the user looks at. The registry's runs are the agent's turns: only the agent
    /// should register, complete and remove them.
    pub fn registry(&self) -> Arc<RunRegistry> {
        RunRegistry::of(self.handle.agent.registry().clone())
    }

    /// Waits for the next event of the turns of all conversations: a turn began, continued with another hop, or ended; a
    /// conversation is unread. Each event goes to one caller only, of this method or of the registry's `take_events`.
    pub async fn next_registry_event(&self) -> Result<RegistryEvent, StepwellError> {
        let agent = self.handle.agent.clone();
        on_runtime(async move { Ok(agent.next_registry_event().await.into()) }).await
    }
}

impl Agent {
    pub(crate) fn inner(&self) -> &stepwell_io::Agent<(), Value> {
        &self.handle.agent
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    fn with_handle(&self, handle: Handle) -> Arc<Self> {
        Arc::new(Self {
            handle,
            device: self.device.clone(),
            is_first: false,
        })
    }

    pub(crate) fn of_caller(&self, caller: Caller) -> Arc<Self> {
        let mut handle = self.handle.clone();
        handle.caller = Some(caller);
        self.with_handle(handle)
    }

    pub(crate) fn caller(&self) -> Option<Caller> {
        self.handle.caller.clone()
    }

    pub(crate) const fn is_first(&self) -> bool {
        self.is_first
    }
}

impl Handle {
    fn with_agent(&self, agent: stepwell_io::Agent<(), Value>) -> Self {
        Self {
            agent,
            ..self.clone()
        }
    }

    /// Does work that begins turns, on behalf of the caller.
    pub(crate) fn scope<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        let caller = self.caller.clone();
        async move {
            match caller {
                Some(caller) => caller.scope(work).await,
                None => work.await,
            }
        }
    }

    /// Begins a turn for the caller, and as a part of the app's own span.
    pub(crate) fn begin(
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
        let begin = || trace::within_the_apps_span(|| run.stream().into_events());
        Ok(Turn::new(match &self.caller {
            Some(caller) => caller.begin(begin),
            None => begin(),
        }))
    }
}

/// Returns the start of a turn, and its options.
pub(crate) fn core_start(
    mut start: Start,
    handle: &Handle,
) -> Result<(run::Start, TurnOptions), StepwellError> {
    let options = std::mem::take(&mut start.options);
    Ok((start.into_core(handle.agent.config())?, options))
}

fn build(
    setup: AgentSetup,
    config: RunConfig,
    client: HttpClient,
) -> Result<Arc<Agent>, StepwellError> {
    let when_busy = config.when_busy.map(Into::into).unwrap_or_default();
    let device = Device::new();
    let agent = setup.builder(config, client)?.device(&device);
    let agent = agent.output::<Value>().build()?;
    Ok(Arc::new(Agent {
        handle: Handle {
            agent,
            when_busy,
            is_for_runners: false,
            caller: None,
        },
        device,
        is_first: true,
    }))
}

/// An unfinished turn of the store that this agent revives.
#[derive(Clone, Debug, uniffi::Record)]
pub struct Recovered {
    /// The key of the turn. `Agent.conversation` with its thread returns the conversation.
    pub key: TurnKey,
    /// The turn under way: take its events, or `detach` it. Releasing the turn cancels it. Absent if the turn cannot
    /// continue.
    pub turn: Option<Arc<Turn>>,
    /// Why the turn cannot continue: its snapshot cannot be read. The turn stays unfinished in the store, for a program
    /// that can read it, or until a message is sent in its conversation.
    pub error: Option<String>,
}

impl From<stepwell_io::turn::Recovered<Value>> for Recovered {
    fn from(recovered: stepwell_io::turn::Recovered<Value>) -> Self {
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
