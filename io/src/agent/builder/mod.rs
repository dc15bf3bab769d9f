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
use crate::app::setup::{HookHandlers, MakeMiddleware, Setup};
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
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::{Dialect, Endpoint};
use stepwell_core::provider::UnknownPrice;
use stepwell_core::registry::{SharedRegistry, ThreadKey};
use stepwell_core::run::{Durability, HookSpec, RunConfig};
use stepwell_core::tool::ToolRegistry;
use stepwell_core::tool::{OutputType, ToolError};
use uuid::Uuid;

/// Sets up an [`Agent`]. A clone sets up another one like it, which is cheaper than to begin anew: what was made of the
/// tools is shared. The registry is shared too, unless each is given [its own](Self::registry).
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
    middleware: Option<MakeMiddleware>,
    observer: Option<MakeObserver>,
    store: Option<Arc<dyn Store>>,
    owner: Option<String>,
    waits_for_store: bool,
    client: Option<HttpClient>,
    traces_content: bool,
    thread: Option<ThreadKey>,
    when_busy: WhenBusy,
    registry: SharedRegistry,
    history: Conversation,
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
    /// The endpoint's streams are none of AG-UI's.
    #[error(
        "a middleware is for AG-UI agents: this endpoint speaks {0}, whose streams are no events"
    )]
    Middleware(&'static str),
    /// Two hooks have one name.
    #[error("there are two hooks named `{0}`: give each a name of its own")]
    HookTwice(String),
    /// There is a limit on what a turn may cost, and its model has no price.
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
            middleware: None,
            observer: None,
            store: None,
            owner: None,
            waits_for_store: false,
            client: None,
            traces_content: false,
            thread: None,
            when_busy: WhenBusy::default(),
            registry: SharedRegistry::default(),
            history: Conversation::default(),
            error: None,
        }
    }

    /// Sets up agents with what a turn of this one is given that begins now, but for its thread, registry and store.
    #[doc(hidden)]
    #[must_use]
    pub fn like(agent: &Agent) -> Self {
        // Every field is named, so that a new one makes its author decide.
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
            middleware,
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
            middleware,
            observer,
            client: Some(client),
            traces_content,
            ..Self::with_config(config)
        }
    }

    /// Who answers.
    #[doc(hidden)]
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.config.endpoint
    }

    /// The tools that were added so far.
    #[doc(hidden)]
    #[must_use]
    pub fn registered_tools(&self) -> &ToolRegistry {
        &self.config.tools
    }

    /// Makes the turns' answers typed: each ends with JSON that fits the type's schema ([`Finished::output`]), or has failed
    /// with [`Failure::OutputInvalid`](stepwell_core::run::Failure::OutputInvalid).
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

    /// Keeps the turns in a store: each is there before its first request goes out, and each finished piece of it before
    /// anything that depends on it. [`Agent::recover`] goes on with what a process left unfinished.
    ///
    /// A write that fails is tried 6 times, over some fifteen seconds with the pauses of
    /// [`RetryPolicy`](stepwell_core::run::RetryPolicy), before the turn fails; set
    /// [`Durability::Blocks`](stepwell_core::run::Durability::Blocks) for another number.
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

    /// Sets the owner of the turns in the [store](Self::store), for a program that holds a [`Lease`](crate::store::Lease)
    /// of this owner itself while any of its agents has a turn. Each life of a process needs an owner of its own: the
    /// lease expires with the process, and other processes claim its turns.
    ///
    /// By default each agent has an owner of its own, and holds a lease while turns of it are under way.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// The turns wait for their [store](Self::store) however long it takes, where it is full, can only be read, or cannot
    /// be reached: no write fails for that, and nothing that was said is lost. How long is long enough is for the app to
    /// say, by [`TurnHandle::store_trouble`](crate::TurnHandle::store_trouble) and
    /// [`cancel`](crate::TurnHandle::cancel). A turn still does not begin with a store that cannot take it.
    #[must_use]
    pub fn wait_for_store(mut self) -> Self {
        self.waits_for_store = true;
        self
    }

    /// Sets the app's own instructions to the model.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.config.instructions = Some(instructions.into());
        self
    }

    /// Sets the most rounds of tools in a turn: 10 if not set.
    #[must_use]
    pub fn max_tool_rounds(mut self, rounds: u32) -> Self {
        self.config.limits.max_tool_rounds = rounds;
        self
    }

    /// Sets how many tools of a round run side by side: 8 if not set. Further calls wait in their order; a tool's time
    /// begins when it begins.
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

    /// Sets what happens to a turn that begins while another turn of its thread is under way:
    /// [`WhenBusy::Fail`] if not set. With a [store](Self::store) the turns of other agents and other processes count,
    /// where their owners are alive.
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
    /// thread, the later takes it over, and the earlier stops with the next thing that comes for it.
    #[must_use]
    pub fn registry(mut self, registry: impl Into<SharedRegistry>) -> Self {
        self.registry = registry.into();
        self
    }

    /// Begins with an earlier conversation.
    #[must_use]
    pub fn history(mut self, history: Conversation) -> Self {
        self.history = history;
        self
    }

    /// Whether the spans of its turns tell what was said: instructions, messages, arguments and results, as
    /// `gen_ai.input.messages` and its like. They do not unless the app asks for it here.
    #[must_use]
    pub fn trace_content(mut self, does: bool) -> Self {
        self.traces_content = does;
        self
    }

    /// Uses the app's own HTTP client, or one that many agents share; see [`HttpClient`].
    #[must_use]
    pub fn client(mut self, client: impl Into<HttpClient>) -> Self {
        self.client = Some(client.into());
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// A tool could not be registered, the HTTP client not be made, or a middleware not be put before streams that are not
    /// AG-UI's.
    pub fn build(self) -> Result<Agent, BuildError> {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        let dialect = self.config.endpoint.dialect;
        if self.middleware.is_some() && dialect != Dialect::AgUi {
            return Err(BuildError::Middleware(dialect.name()));
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
            middleware: self.middleware,
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
