mod tools;
mod turns;
#[cfg(feature = "macros")]
mod typed_tools;

use crate::agent::Agent;
use crate::agent::sources::Sources;
use crate::agent::threads::Shared;
use crate::agent::when_busy::WhenBusy;
use crate::app::approver::{Answerer, Approver, WithAnswerer};
use crate::app::credentials::CredentialSource;
use crate::app::instructions::InstructionsSource;
use crate::app::journal::JournalSink;
use crate::app::observer::MakeObserver;
use crate::app::output::OutputDecoder;
use crate::app::run_source::RunSource;
use crate::app::setup::{HookHandlers, Setup};
use crate::app::tools::context::Deps;
use crate::app::tools::handler::Handlers;
use crate::app::tools::source::ToolSource;
use crate::app::trim::Trimmer;
use crate::durable::{OwnLease, StoreSetup};
use crate::http::{HttpClient, HttpClientError};
use crate::store::Store;
use std::fmt;
use std::sync::Arc;
use stepwell_core::ThreadId;
use stepwell_core::dialect::Endpoint;
use stepwell_core::provider::UnknownPrice;
use stepwell_core::registry::{SharedRegistry, ThreadKey};
use stepwell_core::run::{Durability, HookSpec, RunConfig};
use stepwell_core::tool::ToolRegistry;
use stepwell_core::tool::{OutputType, ToolError};
use stepwell_core::transcript::Transcript;
use uuid::Uuid;

/// Sets up an [`Agent`]. A clone sets up another agent like it, which is cheaper than a new builder: compiled tool
/// schemas are shared. The registry is shared too, unless each agent has [its own](Self::registry).
#[derive(Clone)]
pub struct AgentBuilder {
    config: RunConfig,
    handlers: Handlers,
    sources: Vec<Arc<dyn ToolSource>>,
    approver: Option<Arc<dyn Approver>>,
    answerer: Option<Answerer>,
    deps: Option<Deps>,
    run_source: Option<Arc<dyn RunSource>>,
    trimmer: Option<Arc<dyn Trimmer>>,
    decoder: Option<Arc<dyn OutputDecoder>>,
    credentials: Option<Arc<dyn CredentialSource>>,
    hooks: HookHandlers,
    instructions: Option<Arc<dyn InstructionsSource>>,
    journal: Option<Arc<dyn JournalSink>>,
    observer: Option<MakeObserver>,
    store: Option<Arc<dyn Store>>,
    owner: Option<String>,
    waits_for_store: bool,
    client: Option<HttpClient>,
    traces_content: bool,
    thread: Option<ThreadKey>,
    when_busy: WhenBusy,
    registry: SharedRegistry,
    history: Transcript,
    error: Option<ToolError>,
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Why an agent cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A tool cannot be registered.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Two hooks have one name.
    #[error("there are two hooks named `{0}`: give each a name of its own")]
    HookTwice(String),
    /// A turn's cost is limited, and the model's price is unknown.
    #[error(transparent)]
    Price(#[from] UnknownPrice),
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be made: {0}")]
    Client(#[from] HttpClientError),
}

impl Agent {
    /// Sets up an agent for an endpoint; see [`provider`](crate::provider) for where to get one.
    #[must_use]
    pub fn builder(endpoint: Endpoint) -> AgentBuilder {
        AgentBuilder::new(endpoint)
    }
}

impl AgentBuilder {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self::with_config(RunConfig::new(endpoint))
    }

    fn with_config(config: RunConfig) -> Self {
        Self {
            config,
            handlers: Handlers::new(),
            sources: Vec::new(),
            approver: None,
            answerer: None,
            deps: None,
            run_source: None,
            trimmer: None,
            decoder: None,
            credentials: None,
            hooks: HookHandlers::new(),
            instructions: None,
            journal: None,
            observer: None,
            store: None,
            owner: None,
            waits_for_store: false,
            client: None,
            traces_content: false,
            thread: None,
            when_busy: WhenBusy::default(),
            registry: SharedRegistry::default(),
            history: Transcript::default(),
            error: None,
        }
    }

    /// Sets up agents like this one, with the setup of a turn that begins now, without its thread, registry and store.
    #[doc(hidden)]
    #[must_use]
    pub fn like(agent: &Agent) -> Self {
        // Every field is named, so that the author of a new field decides.
        let Setup {
            config,
            handlers,
            approver,
            deps,
            run_source,
            trimmer,
            decoder,
            credentials,
            hooks,
            instructions,
            journal,
            observer,
            store: _,
            client,
            traces_content,
        } = Setup::clone(&agent.turn_setup());
        let mut config = RunConfig::clone(&config);
        config.durability = Durability::None;
        Self {
            handlers,
            approver,
            deps,
            run_source,
            trimmer,
            decoder,
            credentials,
            hooks,
            instructions,
            journal,
            observer,
            client: Some(client),
            traces_content,
            ..Self::with_config(config)
        }
    }

    /// Returns the endpoint that answers.
    #[doc(hidden)]
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.config.endpoint
    }

    /// Returns the tools that were added so far.
    #[doc(hidden)]
    #[must_use]
    pub fn registered_tools(&self) -> &ToolRegistry {
        &self.config.tools
    }

    /// Makes the turns' answers typed: each turn ends with JSON that fits the type's schema ([`Finished::output`]), or
    /// fails with [`Failure::OutputInvalid`](stepwell_core::run::Failure::OutputInvalid).
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use serde_json::json;
    /// use stepwell_io::OutputType;
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let cities = OutputType::new("Cities", json!({ "type": "array", "items": { "type": "string" } }))?;
    /// let agent = Agent::builder(endpoint).output(cities).build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Finished::output`]: crate::Finished::output
    #[must_use]
    pub fn output(mut self, output: OutputType) -> Self {
        self.config.output = Some(output);
        self
    }

    /// Keeps the turns in a store: each turn is stored before its first request is sent, and each finished block before
    /// anything that depends on it. [`Agent::recover`] continues the turns that a process left unfinished.
    ///
    /// A write that fails is tried 6 times, over some fifteen seconds with the pauses of
    /// [`RetryPolicy`](stepwell_core::run::RetryPolicy), before the turn fails;
    /// [`Durability::Blocks`](stepwell_core::run::Durability::Blocks) sets another number.
    /// [`RunEvent::Warning`](stepwell_core::run::RunEvent::Warning) tells the app that the turn waits.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use stepwell_io::{Agent, provider};
    /// use std::sync::Arc;
    /// use stepwell_io::store::MemoryStore;
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let agent = Agent::builder(endpoint).store(Arc::new(MemoryStore::new())).build()?;
    /// for recovered in agent.recover().await? {
    ///     recovered.turn?.detach();
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        if self.config.durability == Durability::None {
            self.config.durability = Durability::Blocks { attempts: 6 };
        }
        self
    }

    /// Sets the owner of the turns in the [store](Self::store), for a program that itself holds a
    /// [`Lease`](crate::store::Lease) of the owner while any of its agents has a turn. Each start of a process needs a
    /// new owner: the lease expires with the process, and other processes claim its turns.
    ///
    /// By default each agent has its own owner, and holds a lease while its turns are under way.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Makes the turns wait for their [store](Self::store) however long it is full, read-only or unreachable: no write
    /// fails for that, and nothing is lost. The app limits the wait, by
    /// [`TurnHandle::store_trouble`](crate::TurnHandle::store_trouble) and [`cancel`](crate::TurnHandle::cancel). A
    /// turn still does not begin while the store cannot take it.
    #[must_use]
    pub fn wait_for_store(mut self) -> Self {
        self.waits_for_store = true;
        self
    }

    /// Sets the app's instructions to the model.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.config.instructions = Some(instructions.into());
        self
    }

    /// Sets the maximum number of tool rounds in a turn: 10 if not set.
    #[must_use]
    pub fn max_tool_rounds(mut self, rounds: u32) -> Self {
        self.config.limits.max_tool_rounds = rounds;
        self
    }

    /// Sets how many tools of a round run at the same time: 8 if not set. Further calls wait in their order; a tool's
    /// timeout begins when the tool begins.
    #[must_use]
    pub fn max_parallel_tools(mut self, tools: u32) -> Self {
        self.config.limits.max_parallel_tools = tools;
        self
    }

    /// Changes any other setting.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stepwell_io::{Agent, provider};
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let agent = Agent::builder(endpoint)
    ///     .configure(|config| config.timeouts.tool = Some(Duration::from_secs(60)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut RunConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Sets the conversation's id: a random one if not set.
    #[must_use]
    pub fn thread_id(self, id: impl Into<ThreadId>) -> Self {
        self.thread_key(id.into())
    }

    /// Sets the conversation's id with its server and room, for an app that has several.
    #[must_use]
    pub fn thread_key(mut self, key: impl Into<ThreadKey>) -> Self {
        self.thread = Some(key.into());
        self
    }

    /// Sets what happens to a turn that begins while another turn of its thread is under way: [`WhenBusy::Fail`] if not
    /// set. With a [store](Self::store) the turns of other agents and other processes count too, while their owners are
    /// alive.
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use stepwell_io::WhenBusy;
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// // An app with one user: what they say next takes the place of what they asked before.
    /// let agent = Agent::builder(endpoint).when_busy(WhenBusy::Cancel).build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn when_busy(mut self, when_busy: WhenBusy) -> Self {
        self.when_busy = when_busy;
        self
    }

    /// Uses a registry that the app has stored, or that several agents share. Where two agents have turns on one
    /// thread, the later turn takes the thread over, and the earlier turn stops with its next input.
    #[must_use]
    pub fn registry(mut self, registry: impl Into<SharedRegistry>) -> Self {
        self.registry = registry.into();
        self
    }

    /// Begins with an earlier conversation.
    #[must_use]
    pub fn history(mut self, history: Transcript) -> Self {
        self.history = history;
        self
    }

    /// Sets whether the spans of the turns hold the content of the conversation: instructions, messages, arguments and
    /// results, as `gen_ai.input.messages` and the like. They do not unless the app asks for it here.
    #[must_use]
    pub fn trace_content(mut self, does: bool) -> Self {
        self.traces_content = does;
        self
    }

    /// Uses an HTTP client of the app's, or a client that many agents share; see [`HttpClient`].
    #[must_use]
    pub fn client(mut self, client: impl Into<HttpClient>) -> Self {
        self.client = Some(client.into());
        self
    }

    /// Builds the agent.
    ///
    /// # Errors
    /// A tool cannot be registered, two hooks have one name, a limit on the cost has no price, or the HTTP client cannot be
    /// made.
    pub fn build(self) -> Result<Agent, BuildError> {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        let hooks = &self.config.hooks;
        let is_twice = |(at, hook): &(usize, &HookSpec)| {
            hooks[..*at].iter().any(|other| other.name == hook.name)
        };
        if let Some((_, hook)) = hooks.iter().enumerate().find(is_twice) {
            return Err(BuildError::HookTwice(hook.name.clone()));
        }
        self.config.check_price()?;
        let client = match self.client {
            Some(client) => client,
            None => HttpClient::new()?,
        };
        let setup = Setup {
            config: Arc::new(self.config),
            handlers: self.handlers,
            approver: match self.answerer {
                Some(answerer) => Some(Arc::new(WithAnswerer {
                    approver: self.approver,
                    answerer,
                })),
                None => self.approver,
            },
            deps: self.deps,
            run_source: self.run_source,
            trimmer: self.trimmer,
            decoder: self.decoder,
            credentials: self.credentials,
            hooks: self.hooks,
            instructions: self.instructions,
            journal: self.journal,
            observer: self.observer,
            store: self.store.map(|store| StoreSetup {
                store,
                own_lease: self.owner.is_none().then(OwnLease::default),
                owner: self.owner.unwrap_or_else(|| Uuid::new_v4().to_string()),
                waits: self.waits_for_store,
            }),
            client,
            traces_content: self.traces_content,
        };
        let shared = Arc::new(Shared::new(
            setup,
            Sources::new(self.sources),
            self.registry,
            self.when_busy,
        ));
        let key = self.thread.unwrap_or_else(|| {
            let id = Uuid::new_v4().to_string();
            ThreadKey::from(ThreadId::from(id))
        });
        let thread = shared.thread(key, self.history);
        Ok(Agent::new(shared, thread))
    }
}
