//! An agent: the definition of a model, its instructions and its tools, which begins turns and remembers nothing.

pub(crate) mod builder;
pub(crate) mod recover;
pub(crate) mod revive;

use crate::agent::builder::AgentBuilder;
use crate::answer::output::Output;
use crate::app::output::OutputDecoder;
use crate::app::tools::context::Deps;
use crate::conversation::Conversation;
use crate::definition::code::TurnCode;
use crate::definition::parts::{AgentParts, OwnOutput};
use crate::model::Model;
use crate::run::Run;
use crate::run::turn::Turn;
use crate::start::runner::Runner;
use crate::store::TurnStore;
use crate::threads::Thread;
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use stepwell_core::dialect::Endpoint;
use stepwell_core::event::MessageContent;
use stepwell_core::registry::{RegistryEvent, SharedRegistry, ThreadKey};
use stepwell_core::run::{RunConfig, Start};
use stepwell_core::tool::OutputType;
use uuid::Uuid;

/// The definition of an agent: a model, instructions, tools, the type of its answers, settings, limits and hooks. An
/// agent is immutable and remembers nothing: users, tasks and threads share it. Clones are cheap.
///
/// [`run`](Self::run) answers one prompt. [`conversation`](Self::conversation) returns what is remembered between
/// prompts: each user's conversation has its own id.
///
/// ```no_run
/// use stepwell_io::{Agent, Model};
///
/// # async fn example() -> Result<(), stepwell_io::Error> {
/// let agent = Agent::new(Model::openai("gpt-5-mini"));
/// println!("{}", agent.run("Why is the sky blue?").await?.output);
///
/// let conversation = agent.conversation("alice/1");
/// conversation.send("I am Alice.").await?;
/// println!("{}", conversation.send("Who am I?").await?.output);
/// # Ok(())
/// # }
/// ```
///
/// # Types
/// `T` is the type of the answers: text, or what [`AgentBuilder::output`] sets.
///
/// `D` is the type of a value that the agent's tools still need: a database, or what belongs to one request. An agent
/// that needs nothing is an `Agent<()>`, and only such an agent can run. [`with_deps`](Self::with_deps) gives an
/// `Agent<D>` the value.
pub struct Agent<D = (), T = String> {
    pub(crate) parts: AgentParts,
    types: PhantomData<fn(D) -> T>,
}

impl<D, T> Clone for Agent<D, T> {
    fn clone(&self) -> Self {
        Self::from_parts(self.parts.clone())
    }
}

impl<D, T> fmt::Debug for Agent<D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("endpoint", self.endpoint())
            .finish_non_exhaustive()
    }
}

impl Agent {
    /// Returns an agent without instructions and tools. A model that cannot be used, because its provider is unknown
    /// or its key is missing, is the error of each run; [`AgentBuilder::build`] reports it at once.
    #[must_use]
    pub fn new(model: impl Into<Model>) -> Self {
        AgentBuilder::new(&model.into()).build_unchecked()
    }
}

impl<D> Agent<D> {
    /// Sets up an agent with tools, instructions and the rest.
    ///
    /// ```
    /// use stepwell_io::{Agent, Model, tool, tools};
    ///
    /// /// The secret number of a person.
    /// #[tool]
    /// async fn get_secret_number(name: String) -> u32 {
    ///     if name == "alice" { 42 } else { 7 }
    /// }
    ///
    /// # fn main() -> Result<(), stepwell_io::Error> {
    /// let agent = Agent::builder(Model::openai("gpt-5-mini").api_key("the key"))
    ///     .instructions("Answer in one sentence.")
    ///     .tools(tools![get_secret_number])
    ///     .build()?;
    /// # let _: Agent = agent;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn builder(model: impl Into<Model>) -> AgentBuilder<D> {
        AgentBuilder::new(&model.into())
    }
}

impl<D, T> Agent<D, T> {
    pub(crate) fn from_parts(parts: AgentParts) -> Self {
        Self {
            parts,
            types: PhantomData,
        }
    }

    /// Returns the agent with the value that its tools need.
    ///
    /// ```
    /// use stepwell_io::tool::ToolContext;
    /// use stepwell_io::{Agent, Model, tool, tools};
    ///
    /// struct User { name: String }
    ///
    /// /// The user's name.
    /// #[tool]
    /// async fn who_am_i(call: &ToolContext<User>) -> String {
    ///     call.deps().name.clone()
    /// }
    ///
    /// # fn main() -> Result<(), stepwell_io::Error> {
    /// let agent = Agent::builder(Model::openai("gpt-5-mini").api_key("the key")).tools(tools![who_am_i]).build()?;
    /// // In the handler of a request:
    /// let run = agent.with_deps(User { name: "Alice".to_owned() }).run("Who am I?");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// An agent whose tools need a value cannot run without it:
    ///
    /// ```compile_fail,E0599
    /// # use stepwell_io::tool::ToolContext;
    /// # use stepwell_io::{Agent, Model, tool, tools};
    /// # struct User { name: String }
    /// # /// The user's name.
    /// # #[tool]
    /// # async fn who_am_i(call: &ToolContext<User>) -> String { call.deps().name.clone() }
    /// # fn main() -> Result<(), stepwell_io::Error> {
    /// let agent = Agent::builder(Model::openai("gpt-5-mini")).tools(tools![who_am_i]).build()?;
    /// let run = agent.run("Who am I?");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_deps(&self, deps: D) -> Agent<(), T>
    where
        D: Send + Sync + 'static,
    {
        let mut parts = self.parts.clone();
        parts.deps = Some(Deps::new(deps));
        Agent::from_parts(parts)
    }

    /// Returns the agent with its conversations in this store, instead of [`AgentBuilder::store`]: for a store that is
    /// opened after the agent is defined.
    #[must_use]
    pub fn with_store(&self, store: Arc<dyn TurnStore>) -> Self {
        let mut parts = self.parts.clone();
        parts.threads = parts.shared.threads_in(store);
        Self::from_parts(parts)
    }

    /// Returns the agent with answers of another type.
    ///
    /// ```no_run
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// # #[derive(Deserialize, JsonSchema)]
    /// # struct Trip { city: String }
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), stepwell_io::Error> {
    /// let trip = agent.with_output::<Trip>().run("Norway's rainiest city").await?.output;
    /// println!("{}", trip.city);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_output<O: Output>(&self) -> Agent<D, O> {
        let mut parts = self.parts.clone();
        parts.output = OwnOutput::of::<O>();
        Agent::from_parts(parts)
    }

    /// Returns the agent with answers of a type that is known only while the program runs: any JSON. `decoder` decodes
    /// them; without it the agent's own decoder does, if [`OutputType::decoded_by_host`] says so.
    ///
    /// ```no_run
    /// use serde_json::json;
    /// use stepwell_io::output::OutputType;
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let cities = OutputType::new("Cities", json!({ "type": "array", "items": { "type": "string" } }))?;
    /// let result = agent.with_output_type(cities, None).run("Three cities in Norway").await?;
    /// println!("{}", result.output[0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_output_type(
        &self,
        output: OutputType,
        decoder: Option<Arc<dyn OutputDecoder>>,
    ) -> Agent<D, Value> {
        let mut parts = self.parts.clone();
        parts.output = OwnOutput::Type(OwnOutput::decoded(output, decoder));
        Agent::from_parts(parts)
    }

    /// Returns the agent with other code of the app's: for an app whose code belongs to the place where a turn was
    /// begun, such as an event loop.
    #[must_use]
    pub fn with_code(&self, code: TurnCode) -> Self {
        let mut parts = self.parts.clone();
        parts.code = Some(Arc::new(code));
        Self::from_parts(parts)
    }

    /// Returns the configuration of the agent's turns, without the tools of its
    /// [sources](AgentBuilder::tool_source).
    #[must_use]
    pub fn config(&self) -> &Arc<RunConfig> {
        &self.parts.base().config
    }

    /// Returns the endpoint that answers.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.config().endpoint
    }

    /// Cancels the agent's turns that are under way, of all conversations and runs.
    pub fn cancel_all(&self) {
        self.parts.shared.cancel_all();
    }

    /// Returns the registry, which knows which conversations have a turn under way, which of them the user looks at
    /// ([`look_at`](SharedRegistry::look_at)), and which are unread. Its runs are the agent's turns: only the agent
    /// should register and remove them. A conversation that is released stays in the registry only if
    /// [`AgentBuilder::registry`] has set it.
    #[must_use]
    pub fn registry(&self) -> &SharedRegistry {
        &self.parts.shared.registration.registry
    }

    /// Waits for the next event of the turns of all conversations: a turn began, began another hop, or is over; a
    /// conversation is unread. Each event goes to one caller. The events are those of
    /// [`SharedRegistry::poll_event`]; the future wakes for the events that this agent's turns cause, and returns a
    /// read mark with the next of them.
    pub async fn next_registry_event(&self) -> RegistryEvent {
        let registration = &self.parts.shared.registration;
        loop {
            if let Some(event) = registration.registry.poll_event() {
                // There may be more events, for other callers.
                registration.changed.notify_one();
                return event;
            }
            registration.changed.notified().await;
        }
    }
}

impl<T: Output> Agent<(), T> {
    /// Answers one prompt: a text, or texts and [media](crate::media) in order, as in
    /// `("What is this?", image("shark.png")?)`. Nothing is remembered, and nothing is stored.
    ///
    /// The returned [`Run`] is a future, which begins when it is first polled. Until then its methods change what the
    /// run does, and [`Run::stream`] returns the turn with its updates instead.
    ///
    /// ```no_run
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), stepwell_io::Error> {
    /// let result = agent.run("Why is the sky blue?").instructions("Answer in one line.").await?;
    /// println!("{} ({:?} tokens)", result.output, result.usage().output_tokens);
    ///
    /// let other = tokio::spawn(agent.run("And at night?"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn run(&self, prompt: impl Into<MessageContent>) -> Run<T> {
        Run::new(self.for_one_turn(), prompt.into())
    }

    /// Answers a message with ids that the program makes, as [`run`](Self::run) does: for the bindings.
    #[doc(hidden)]
    pub fn start(&self, start: Start) -> Run<T> {
        Run::of_start(self.for_one_turn(), start)
    }

    fn for_one_turn(&self) -> Runner {
        let key = ThreadKey::from(Uuid::new_v4().to_string());
        Runner::new(self.parts.clone(), Thread::for_one_turn(key))
    }

    /// Answers one prompt, as [`run`](Self::run) does, and returns the turn under way, with its updates.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn stream(&self, prompt: impl Into<MessageContent>) -> Turn<T> {
        self.run(prompt).stream()
    }

    /// Returns the conversation with this id: what is remembered between prompts. In one process the conversations of
    /// one id are the same as long as one of them, or a turn of it, is in use; with a [store](AgentBuilder::store) they
    /// are the same at any time and in any process. Each user and each chat needs an id of its own.
    pub fn conversation(&self, id: impl Into<ThreadKey>) -> Conversation<T> {
        let registration = &self.parts.shared.registration;
        let thread = self.parts.threads.find(id.into(), registration);
        Conversation::new(Runner::new(self.parts.clone(), thread))
    }

    /// Returns a new conversation, with a random id.
    pub fn new_conversation(&self) -> Conversation<T> {
        self.conversation(Uuid::new_v4().to_string())
    }
}
