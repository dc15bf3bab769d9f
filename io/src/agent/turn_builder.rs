//! A turn with options of its own, before it begins.

use crate::agent::Agent;
use crate::agent::when_busy::WhenBusy;
use crate::app::tools::handler::{Handlers, ToolHandler};
use crate::durable::BeginFrom;
use crate::turn::Turn;
use std::fmt;
use std::sync::Arc;
use stepwell_core::RunId;
use stepwell_core::dialect::GenerationSettings;
use stepwell_core::event::{Message, MessageContent};
use stepwell_core::provider::EndpointError;
use stepwell_core::run::{Limits, Start, TurnOptions};
use stepwell_core::tool::{OutputType, Tool, ToolError};
use uuid::Uuid;

/// Sets up one turn, from [`Agent::turn`]. Options that are not set are the agent's. Options that are set are stored
/// with the turn, except headers and the code of tools: see [`TurnOptions`].
#[must_use = "nothing is sent before `send`"]
pub struct TurnBuilder {
    agent: Agent,
    start: Start,
    from: BeginFrom,
    handlers: Handlers,
    when_busy: Option<WhenBusy>,
    error: Option<TurnBuildError>,
}

/// Why a turn cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnBuildError {
    /// A tool cannot be registered, or a tool that the turn names does not exist.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A header cannot be sent.
    #[error(transparent)]
    Header(#[from] EndpointError),
}

impl fmt::Debug for TurnBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnBuilder")
            .field("thread", self.agent.thread_key())
            .field("turn", &self.start.run_id)
            .finish_non_exhaustive()
    }
}

impl Agent {
    /// Sets up a turn with instructions, tools, settings, limits or headers of its own.
    ///
    /// ```no_run
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let turn = agent.turn("Sum up what we have.").instructions("Answer in one line.").tool_names::<&str>([]);
    /// let finished = turn.user("user-7").send()?.await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn turn(&self, content: impl Into<MessageContent>) -> TurnBuilder {
        let run_id = Uuid::new_v4().to_string();
        let message = Message::user(format!("{run_id}-user"), content);
        TurnBuilder::new(self.clone(), Start::new(run_id, message))
    }

    /// Returns a turn, as [`turn`](Self::turn) does, with ids and a message that the app provides.
    pub fn turn_of(&self, start: Start) -> TurnBuilder {
        TurnBuilder::new(self.clone(), start)
    }
}

impl TurnBuilder {
    pub(crate) fn new(agent: Agent, start: Start) -> Self {
        Self {
            agent,
            start,
            from: BeginFrom::Latest,
            handlers: Handlers::new(),
            when_busy: None,
            error: None,
        }
    }

    /// Sets the message instead of the text: one that is more than text, or that has an id of the app's.
    pub fn message(mut self, message: Message) -> Self {
        self.start.message = Some(message);
        self
    }

    /// Sets the instructions, instead of the agent's.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.start.options.instructions = Some(instructions.into());
        self
    }

    /// Changes how the model should answer. Settings that are not changed are the agent's.
    ///
    /// ```no_run
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let turn = agent.turn("Once more, please.").settings(|settings| settings.temperature = Some(1.0));
    /// let finished = turn.send()?.await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn settings(mut self, change: impl FnOnce(&mut GenerationSettings)) -> Self {
        let config = self.agent.config();
        let settings = &mut self.start.options.settings;
        change(settings.get_or_insert_with(|| config.settings.clone()));
        self
    }

    /// Changes how far the turn may go. Limits that are not changed are the agent's.
    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        let limits = self.agent.config().limits;
        change(self.start.options.limits.get_or_insert(limits));
        self
    }

    /// Offers only these of the agent's tools.
    pub fn tool_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.start.options.tool_names = Some(names);
        self
    }

    /// Adds a tool for this turn, and its code. It replaces the agent's tool of the same name.
    pub fn tool(mut self, tool: Tool, handler: impl ToolHandler) -> Self {
        let name = tool.name().to_owned();
        match self.start.options.tools.add(tool) {
            Ok(()) => drop(self.handlers.insert(name, Arc::new(handler))),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Names the end user to the provider; see [`GenerationSettings::user`].
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.start.options.user = Some(user.into());
        self
    }

    /// Sets the type of the answer, instead of [`AgentBuilder::output`](crate::AgentBuilder::output).
    pub fn output(mut self, output: OutputType) -> Self {
        self.start.options.output = Some(output);
        self
    }

    /// Adds a header to the turn's requests, which replaces the agent's header of the same name. It is not stored: a
    /// revived turn sends its requests without it. A header that a later process must have belongs in the agent's
    /// [credentials](crate::AgentBuilder::credentials).
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let header = [(name.into(), value.into())];
        let options = std::mem::take(&mut self.start.options);
        let kept = options.clone();
        self.start.options = options.with_headers(header).unwrap_or_else(|error| {
            self.fail(error);
            kept
        });
        self
    }

    /// Sets all options at once.
    pub fn options(mut self, options: TurnOptions) -> Self {
        self.start.options = options;
        self
    }

    /// Begins the turn after `parent`, or as a first turn: see [`Agent::branch`].
    pub fn branch(mut self, parent: Option<RunId>) -> Self {
        self.from = BeginFrom::Turn(parent);
        self
    }

    /// Sets what happens if another turn of the thread is under way, instead of
    /// [`AgentBuilder::when_busy`](crate::AgentBuilder::when_busy).
    ///
    /// ```no_run
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// use stepwell_io::WhenBusy;
    /// let finished = agent.turn("No, the other one.").when_busy(WhenBusy::Cancel).send()?.await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn when_busy(mut self, when_busy: WhenBusy) -> Self {
        self.when_busy = Some(when_busy);
        self
    }

    /// Begins the turn. If another turn of the thread is under way, it fails at once with
    /// [`Failure::Busy`](crate::Failure::Busy), unless [`when_busy`](Self::when_busy) says otherwise.
    ///
    /// # Errors
    /// A tool cannot be registered, a tool that the turn names does not exist, or a header cannot be sent.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn send(mut self) -> Result<Turn, TurnBuildError> {
        let unknown = self.unknown_tool();
        if let Some(name) = unknown {
            self.fail(ToolError::Unknown { name });
        }
        match self.error {
            Some(error) => Err(error),
            None => {
                let Self {
                    agent,
                    start,
                    from,
                    handlers,
                    when_busy,
                    ..
                } = self;
                Ok(agent.begin_with(start, from, handlers, when_busy))
            }
        }
    }

    fn unknown_tool(&self) -> Option<String> {
        self.start.options.tool_names.as_ref()?;
        // The tools of the agent's sources count too.
        let config = &self.agent.turn_setup().config;
        let unknown = self.start.options.unknown_tools(config);
        unknown.first().map(|name| (*name).to_owned())
    }

    /// Keeps the first error.
    fn fail(&mut self, error: impl Into<TurnBuildError>) {
        self.error.get_or_insert_with(|| error.into());
    }
}
