mod models;
mod tools;
mod turns;
#[cfg(feature = "macros")]
mod typed_tools;

use crate::agent::Agent;
use crate::answer::output::Output;
use crate::app::asking::Asking;
#[cfg(feature = "aws")]
use crate::app::aws::AwsCredentialSource;
use crate::app::credentials::CredentialSource;
use crate::app::instructions::InstructionsSource;
use crate::app::journal::JournalSink;
use crate::app::model_choice::ModelChooser;
use crate::app::observer::MakeObserver;
use crate::app::output::OutputDecoder;
use crate::app::run_source::RunSource;
use crate::app::setup::{HookHandlers, Setup};
use crate::app::tools::context::Deps;
use crate::app::tools::fault::OnToolError;
use crate::app::tools::handler::Handlers;
use crate::app::tools::source::ToolSource;
use crate::app::trim::Trimmer;
use crate::definition::parts::{AgentParts, OwnOutput};
use crate::definition::shared::{Shared, StoreOptions};
use crate::definition::sources::Sources;
use crate::device::Device;
use crate::error::{Error, ErrorKind};
use crate::http::HttpClient;
use crate::model::{Model, ModelError};
use crate::model_health::ModelHealth;
use crate::store::TurnStore;
use crate::threads::Registration;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use stepwell_core::dialect::Endpoint;
use stepwell_core::provider::UnknownPrice;
use stepwell_core::provider::{self, EndpointError};
use stepwell_core::registry::SharedRegistry;
use stepwell_core::run::{CompactionError, Credentials, FallbackError, HookSpec, RunConfig};
use stepwell_core::tool::ToolError;
use stepwell_core::tool::ToolRegistry;

/// Sets up an [`Agent`]. A clone sets up another agent like it, which is cheaper than a new builder: compiled tool
/// schemas are shared. The registry is shared too, if one was [set](Self::registry).
///
/// `D` is the type of the value that the tools need, and `T` that of the answers, as for [`Agent`].
pub struct AgentBuilder<D = (), T = String> {
    parts: Box<BuilderParts>,
    types: PhantomData<fn(D) -> T>,
}

/// The fields of a builder, whatever its types.
#[derive(Clone)]
struct BuilderParts {
    config: RunConfig,
    handlers: Handlers,
    sources: Vec<Arc<dyn ToolSource>>,
    asking: Asking,
    deps: Option<Deps>,
    run_source: Option<Arc<dyn RunSource>>,
    trimmer: Option<Arc<dyn Trimmer>>,
    chooser: Option<Arc<dyn ModelChooser>>,
    health: ModelHealth,
    decoder: Option<Arc<dyn OutputDecoder>>,
    output: OwnOutput,
    credentials: Option<Arc<dyn CredentialSource>>,
    #[cfg(feature = "aws")]
    aws: Option<Arc<dyn AwsCredentialSource>>,
    hooks: HookHandlers,
    instructions: Option<Arc<dyn InstructionsSource>>,
    journal: Option<Arc<dyn JournalSink>>,
    observer: Option<MakeObserver>,
    store: Option<Arc<dyn TurnStore>>,
    store_options: StoreOptions,
    client: HttpClient,
    on_tool_error: OnToolError,
    traces_content: bool,
    registry: Option<SharedRegistry>,
    device: Option<Device>,
    model_error: Option<ModelError>,
    fallback_error: Option<ModelError>,
    tool_error: Option<ToolError>,
}

impl<D, T> Clone for AgentBuilder<D, T> {
    fn clone(&self) -> Self {
        Self::from_parts(self.parts.clone())
    }
}

impl<D, T> fmt::Debug for AgentBuilder<D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("config", &self.parts.config)
            .finish_non_exhaustive()
    }
}

/// Why an agent cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A tool cannot be registered.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Two hooks have one name.
    #[error("there are two hooks named `{0}`: give each a name of its own")]
    HookTwice(String),
    /// A turn's cost is limited, and the price of a model is unknown.
    #[error(transparent)]
    Price(#[from] UnknownPrice),
    /// The models cannot take each other's place.
    #[error(transparent)]
    Fallback(#[from] FallbackError),
    /// The conversation cannot be compacted so.
    #[error(transparent)]
    Compaction(#[from] CompactionError),
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Model(error) => error.into(),
            error => Self::of_source(ErrorKind::Misuse, error),
        }
    }
}

impl<D, T> AgentBuilder<D, T> {
    fn from_parts(parts: Box<BuilderParts>) -> Self {
        Self {
            parts,
            types: PhantomData,
        }
    }

    fn change(mut self, change: impl FnOnce(&mut BuilderParts)) -> Self {
        change(&mut self.parts);
        self
    }
}

/// Returns an endpoint for an agent whose model cannot be used.
fn no_endpoint() -> Endpoint {
    let provider = provider::find("openai-compatible").expect("the table has it");
    let endpoint = provider.endpoint(None, "none", Some("http://localhost"), None);
    endpoint.expect("nothing is missing")
}

impl<D> AgentBuilder<D> {
    pub(crate) fn new(model: &Model) -> Self {
        let (endpoint, model_error) = match model.endpoint() {
            Ok(endpoint) => (endpoint, None),
            Err(error) => {
                let endpoint = model.endpoint_without_key();
                (endpoint.unwrap_or_else(|_| no_endpoint()), Some(error))
            }
        };
        Self::with_config(RunConfig::new(endpoint), model_error)
    }

    fn with_config(config: RunConfig, model_error: Option<ModelError>) -> Self {
        Self::from_parts(Box::new(BuilderParts {
            config,
            handlers: Handlers::new(),
            sources: Vec::new(),
            asking: Asking::default(),
            deps: None,
            run_source: None,
            trimmer: None,
            chooser: None,
            health: ModelHealth::shared(),
            decoder: None,
            output: OwnOutput::default(),
            credentials: None,
            #[cfg(feature = "aws")]
            aws: None,
            hooks: HookHandlers::new(),
            instructions: None,
            journal: None,
            observer: None,
            store: None,
            store_options: StoreOptions::default(),
            client: HttpClient::shared(),
            on_tool_error: OnToolError::default(),
            traces_content: false,
            registry: None,
            device: None,
            model_error,
            fallback_error: None,
            tool_error: None,
        }))
    }

    /// Sets up agents like this one, with the setup of a turn that begins now, without its registry and store.
    #[doc(hidden)]
    #[must_use]
    pub fn like<T>(agent: &Agent<(), T>) -> Self {
        // Every field is named, so that the author of a new field decides.
        let Setup {
            config,
            handlers,
            asking,
            deps,
            run_source,
            trimmer,
            chooser,
            health,
            decoder,
            credentials,
            #[cfg(feature = "aws")]
            aws,
            hooks,
            instructions,
            journal,
            observer,
            client,
            on_tool_error,
            traces_content,
        } = Setup::clone(&agent.parts.turn_setup(false));
        let mut builder = Self::with_config(RunConfig::clone(&config), None);
        let parts = &mut *builder.parts;
        parts.handlers = handlers;
        parts.asking = asking;
        parts.deps = deps;
        parts.run_source = run_source;
        parts.trimmer = trimmer;
        parts.chooser = chooser;
        parts.health = health;
        parts.decoder = decoder;
        parts.credentials = credentials;
        #[cfg(feature = "aws")]
        {
            parts.aws = aws;
        }
        parts.hooks = hooks;
        parts.instructions = instructions;
        parts.journal = journal;
        parts.observer = observer;
        parts.client = client;
        parts.on_tool_error = on_tool_error;
        parts.traces_content = traces_content;
        builder
    }

    /// Sets the type of the answers, which the model makes: see [`Run::output`](crate::Run::output).
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use stepwell_io::{Agent, Model};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Trip {
    ///     city: String,
    /// }
    ///
    /// # fn main() -> Result<(), stepwell_io::Error> {
    /// let planner: Agent<(), Trip> = Agent::builder(Model::openai("gpt-5-mini").api_key("the key")).output().build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn output<O: Output>(mut self) -> AgentBuilder<D, O> {
        self.parts.output = OwnOutput::of::<O>();
        AgentBuilder::from_parts(self.parts)
    }
}

impl<D, T> AgentBuilder<D, T> {
    /// Returns the endpoint that answers.
    #[doc(hidden)]
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.parts.config.endpoint
    }

    /// Returns the endpoints of the models that are asked besides: when that one has failed, or for a summary.
    #[doc(hidden)]
    pub fn other_endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        let summaries = self.parts.config.summary_model();
        let summaries = summaries.map(|model| &model.endpoint);
        self.parts.config.endpoints().skip(1).chain(summaries)
    }

    /// Returns whether long conversations are compacted.
    #[doc(hidden)]
    #[must_use]
    pub fn is_compacting(&self) -> bool {
        !self.parts.config.compaction.is_off()
    }

    /// Returns the tools that were added so far.
    #[doc(hidden)]
    #[must_use]
    pub fn registered_tools(&self) -> &ToolRegistry {
        &self.parts.config.tools
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
    pub fn store(self, store: Arc<dyn TurnStore>) -> Self {
        self.change(|parts| parts.store = Some(store))
    }

    /// Sets the owner of the turns in the [store](Self::store), for a program that itself holds a
    /// [`Lease`](crate::store::Lease) of the owner while any of its agents has a turn. Each start of a process needs a
    /// new owner: the lease expires with the process, and other processes claim its turns.
    ///
    /// By default each agent has its own owner, and holds a lease while its turns are under way.
    #[must_use]
    pub fn owner(self, owner: impl Into<String>) -> Self {
        self.change(|parts| parts.store_options.owner = Some(owner.into()))
    }

    /// Makes the turns wait for their [store](Self::store) however long it is full, read-only or unreachable: no write
    /// fails for that, and nothing is lost. The app limits the wait, by
    /// [`TurnHandle::store_trouble`](crate::turn::TurnHandle::store_trouble) and [`cancel`](crate::turn::TurnHandle::cancel). A
    /// turn still does not begin while the store cannot take it.
    #[must_use]
    pub fn wait_for_store(self) -> Self {
        self.change(|parts| parts.store_options.waits = true)
    }

    /// Sets the app's instructions to the model.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.change(|parts| parts.config.instructions = Some(instructions.into()))
    }

    /// Sets the maximum number of tool rounds in a turn: 10 if not set.
    #[must_use]
    pub fn max_tool_rounds(self, rounds: u32) -> Self {
        self.change(|parts| parts.config.limits.max_tool_rounds = rounds)
    }

    /// Sets how many tools of a round run at the same time: 8 if not set. Further calls wait in their order; a tool's
    /// timeout begins when the tool begins.
    #[must_use]
    pub fn max_parallel_tools(self, tools: u32) -> Self {
        self.change(|parts| parts.config.limits.max_parallel_tools = tools)
    }

    /// Changes any other setting.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stepwell_io::{Agent, provider};
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let agent = Agent::builder(endpoint)
    ///     .configure(|config| config.timeouts.tool = Some(Duration::from_secs(60)));
    /// # let _: stepwell_io::AgentBuilder = agent;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn configure(self, change: impl FnOnce(&mut RunConfig)) -> Self {
        self.change(|parts| change(&mut parts.config))
    }

    /// Uses a registry that the app has stored, or that several agents share, and that keeps the unread marks of
    /// conversations that are released. Where two agents have turns on one thread, the later turn takes the thread
    /// over, and the earlier turn stops with its next input.
    #[must_use]
    pub fn registry(self, registry: impl Into<SharedRegistry>) -> Self {
        self.change(|parts| parts.registry = Some(registry.into()))
    }

    /// Sets the device that the agent runs on: [`Device::shared`] if not set.
    #[must_use]
    pub fn device(self, device: &Device) -> Self {
        self.change(|parts| parts.device = Some(device.clone()))
    }

    /// Sets whether the spans of the turns hold the content of the conversation: instructions, messages, arguments and
    /// results, as `gen_ai.input.messages` and the like. They do not unless the app asks for it here.
    #[must_use]
    pub fn trace_content(self, does: bool) -> Self {
        self.change(|parts| parts.traces_content = does)
    }

    /// Uses an HTTP client of the app's, instead of the [one that all agents share](HttpClient::shared).
    #[must_use]
    pub fn client(self, client: impl Into<HttpClient>) -> Self {
        self.change(|parts| parts.client = client.into())
    }

    /// Builds the agent.
    ///
    /// # Errors
    /// The model cannot be used, a tool cannot be registered, two hooks have one name, or a limit on the cost has no
    /// price.
    pub fn build(self) -> Result<Agent<D, T>, Error> {
        match self.parts.find_error() {
            Some(error) => Err(error.into()),
            None => Ok(self.build_unchecked()),
        }
    }

    /// Builds the agent. A mistake is the error of each run.
    pub(crate) fn build_unchecked(self) -> Agent<D, T> {
        let unusable = self.parts.find_error().map(Error::from);
        let output = self.parts.output.clone();
        let shared = Arc::new(self.parts.shared(unusable));
        let mut parts = AgentParts::new(shared);
        parts.output = output;
        Agent::from_parts(parts)
    }
}

impl BuilderParts {
    /// Returns why the agent cannot be built.
    fn find_error(&self) -> Option<BuildError> {
        let has_credentials = self.config.credentials == Credentials::Host;
        #[cfg(feature = "aws")]
        let is_signed = |provider: &str| provider == crate::model::SIGNED && self.aws.is_some();
        #[cfg(not(feature = "aws"))]
        let is_signed = |_: &str| false;
        let needs_no_key = |error: &&ModelError| match error {
            ModelError::Endpoint(EndpointError::NoKey { provider, .. }) => {
                !has_credentials && !is_signed(provider)
            }
            _ => true,
        };
        if let Some(error) = self.model_error.as_ref().filter(needs_no_key) {
            return Some(error.clone().into());
        }
        if let Some(error) = &self.fallback_error {
            return Some(error.clone().into());
        }
        if let Some(error) = &self.tool_error {
            return Some(error.clone().into());
        }
        let hooks = &self.config.hooks;
        let is_twice = |(at, hook): &(usize, &HookSpec)| {
            hooks[..*at].iter().any(|other| other.name == hook.name)
        };
        if let Some((_, hook)) = hooks.iter().enumerate().find(is_twice) {
            return Some(BuildError::HookTwice(hook.name.clone()));
        }
        if let Err(error) = self.config.check_fallback() {
            return Some(error.into());
        }
        if let Err(error) = self.config.check_compaction() {
            return Some(error.into());
        }
        self.config.check_price().err().map(BuildError::from)
    }

    fn shared(self, unusable: Option<Error>) -> Shared {
        let setup = Setup {
            config: Arc::new(self.config),
            handlers: self.handlers,
            asking: self.asking,
            deps: self.deps,
            run_source: self.run_source,
            trimmer: self.trimmer,
            chooser: self.chooser,
            health: self.health,
            decoder: self.decoder,
            credentials: self.credentials,
            #[cfg(feature = "aws")]
            aws: self.aws,
            hooks: self.hooks,
            instructions: self.instructions,
            journal: self.journal,
            observer: self.observer,
            client: self.client,
            on_tool_error: self.on_tool_error,
            traces_content: self.traces_content,
        };
        let registration = Registration {
            keeps_unread: self.registry.is_some(),
            registry: self.registry.unwrap_or_default(),
            changed: Arc::default(),
        };
        Shared::new(
            setup,
            Sources::new(self.sources),
            unusable,
            registration,
            self.device.unwrap_or_else(Device::shared),
            self.store,
            self.store_options,
        )
    }
}
