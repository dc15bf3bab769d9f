//! A run: one turn that has not begun, with options of its own, which is a future of its result.

pub(crate) mod turn;

use crate::answer::output::Output;
use crate::app::output::OutputDecoder;
use crate::app::tools::handler::{Handlers, ToolHandler};
#[cfg(feature = "macros")]
use crate::app::tools::typed::AgentTool;
use crate::definition::parts::OwnOutput;
use crate::durable::BeginFrom;
use crate::error::Error;
use crate::run::turn::Turn;
use crate::start::begin::Begin;
use crate::start::runner::Runner;
use crate::start::when_busy::WhenBusy;

use crate::answer::result::TurnResult;
use futures::future::BoxFuture;
use serde_json::Value;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use stepwell_core::RunId;
use stepwell_core::dialect::GenerationSettings;
use stepwell_core::event::{Message, MessageContent};
use stepwell_core::run::{Limits, Start, TurnOptions};
use stepwell_core::tool::{OutputType, Tool, ToolError};
use stepwell_core::transcript::Transcript;
use uuid::Uuid;

/// One turn, from [`Agent::run`](crate::Agent::run) or [`Conversation::send`](crate::Conversation::send): a future of
/// its result. It begins when it is first polled, so that it can be spawned, joined and selected; dropping it then
/// cancels the turn. [`stream`](Self::stream) begins it at once, and returns the turn with its updates.
///
/// Until it has begun, its methods change what it does. Options that are not set are the agent's. Options that are set
/// are stored with the turn, except headers and the code of tools: see [`TurnOptions`].
#[must_use = "a run does nothing unless it is awaited"]
pub struct Run<T = String> {
    state: RunState<T>,
}

enum RunState<T> {
    New(Box<NewRun>),
    UnderWay(BoxFuture<'static, Result<TurnResult<T>, Error>>),
    Done,
}

/// A run that has not begun.
struct NewRun {
    runner: Runner,
    start: Start,
    from: BeginFrom,
    /// The transcript of a thread that has none yet.
    history: Option<Transcript>,
    handlers: Handlers,
    when_busy: WhenBusy,
    /// The first mistake in the options.
    error: Option<Error>,
}

impl<T> fmt::Debug for Run<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Run");
        match &self.state {
            RunState::New(new) => debug
                .field("thread", &new.runner.thread.key)
                .field("turn", &new.start.run_id),
            RunState::UnderWay(_) => debug.field("is_under_way", &true),
            RunState::Done => debug.field("is_done", &true),
        };
        debug.finish_non_exhaustive()
    }
}

impl<T> Run<T> {
    pub(crate) fn new(runner: Runner, prompt: MessageContent) -> Self {
        let run_id = Uuid::new_v4().to_string();
        let message = Message::user(format!("{run_id}-user"), prompt);
        Self::of_start(runner, Start::new(run_id, message))
    }

    pub(crate) fn of_start(runner: Runner, start: Start) -> Self {
        Self {
            state: RunState::New(Box::new(NewRun {
                runner,
                start,
                from: BeginFrom::Latest,
                history: None,
                handlers: Handlers::new(),
                when_busy: WhenBusy::default(),
                error: None,
            })),
        }
    }

    /// Changes a run that has not begun. A run that has begun is the caller's mistake, and stays as it is.
    fn change(mut self, change: impl FnOnce(&mut NewRun)) -> Self {
        match &mut self.state {
            RunState::New(new) => change(new),
            RunState::UnderWay(_) | RunState::Done => {
                tracing::error!(target: "stepwell", "an option is set on a run that has begun: it changes nothing");
            }
        }
        self
    }

    /// Sets the message, with an id and fields that the app provides.
    pub fn message(self, message: Message) -> Self {
        self.change(|new| new.start.message = Some(message))
    }

    /// Sets the instructions, instead of the agent's.
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.change(|new| new.start.options.instructions = Some(instructions.into()))
    }

    /// Changes how the model should answer. Settings that are not changed are the agent's.
    ///
    /// ```no_run
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), stepwell_io::Error> {
    /// let result = agent.run("Once more, please.").settings(|settings| settings.temperature = Some(1.0)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn settings(self, change: impl FnOnce(&mut GenerationSettings)) -> Self {
        self.change(|new| {
            let own = &new.runner.config().settings;
            change(
                new.start
                    .options
                    .settings
                    .get_or_insert_with(|| own.clone()),
            );
        })
    }

    /// Changes how far the turn may go. Limits that are not changed are the agent's.
    pub fn limits(self, change: impl FnOnce(&mut Limits)) -> Self {
        self.change(|new| {
            let own = new.runner.config().limits;
            change(new.start.options.limits.get_or_insert(own));
        })
    }

    /// Offers only these of the agent's tools.
    pub fn tool_names<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.change(|new| new.start.options.tool_names = Some(names))
    }

    /// Adds a tool for this turn, and its code. It replaces the agent's tool of the same name.
    pub fn tool(self, tool: Tool, handler: impl ToolHandler) -> Self {
        self.change(|new| new.add(tool, Arc::new(handler)))
    }

    /// Adds tools for this turn that are functions: see [`#[tool]`](macro@crate::tool).
    #[cfg(feature = "macros")]
    pub fn tools(self, tools: impl IntoIterator<Item = AgentTool>) -> Self {
        self.change(|new| {
            for tool in tools {
                new.add(tool.tool, tool.handler);
            }
        })
    }

    /// Sends the complete history again: a [compaction](crate::AgentBuilder::compaction) by an earlier turn is taken away, for
    /// this turn and for those that follow it. The turn itself may compact the conversation again.
    pub fn whole_history(self) -> Self {
        self.change(|new| new.start.options.whole_history = true)
    }

    /// Names the end user to the provider; see [`GenerationSettings::user`].
    pub fn user(self, user: impl Into<String>) -> Self {
        self.change(|new| new.start.options.user = Some(user.into()))
    }

    /// Sets the type of the answer, instead of the agent's. An answer that does not fit the type goes back to the model
    /// with the path and the reason, twice; then the turn fails with
    /// [`ErrorKind::OutputInvalid`](crate::ErrorKind::OutputInvalid).
    ///
    /// ```no_run
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Trip {
    ///     city: String,
    ///     /// At least one.
    ///     days: u8,
    /// }
    ///
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), stepwell_io::Error> {
    /// let trip: Trip = agent.run("Three days in Norway's rainiest city").output().await?.output;
    /// println!("{} days in {}", trip.days, trip.city);
    /// for trip in agent.run("Two others").output::<Vec<Trip>>().await?.output {
    ///     println!("{}", trip.city);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn output<O: Output>(self) -> Run<O> {
        self.with_output(OwnOutput::of::<O>())
    }

    /// Sets a type of the answer that is known only while the program runs: any JSON. `decoder` decodes it.
    pub fn output_type(
        self,
        output: OutputType,
        decoder: Option<Arc<dyn OutputDecoder>>,
    ) -> Run<Value> {
        self.with_output(OwnOutput::Type(OwnOutput::decoded(output, decoder)))
    }

    fn with_output<O>(self, output: OwnOutput) -> Run<O> {
        let Self { state } = self.change(|new| new.runner.agent.output = output);
        Run {
            state: match state {
                RunState::New(new) => RunState::New(new),
                RunState::UnderWay(_) | RunState::Done => RunState::Done,
            },
        }
    }

    /// Adds a header to the turn's requests, which replaces the agent's header of the same name. It is not stored: a
    /// revived turn sends its requests without it. A header that a later process must have belongs in the agent's
    /// [credentials](crate::AgentBuilder::credentials).
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let header = [(name.into(), value.into())];
        self.change(|new| {
            let options = std::mem::take(&mut new.start.options);
            let kept = options.clone();
            new.start.options = options.with_headers(header).unwrap_or_else(|error| {
                new.fail(error);
                kept
            });
        })
    }

    /// Sets all options at once.
    pub fn options(self, options: TurnOptions) -> Self {
        self.change(|new| new.start.options = options)
    }

    /// Continues this transcript. It is for a run without a conversation: a conversation has its own transcript.
    ///
    /// ```no_run
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), stepwell_io::Error> {
    /// let first = agent.run("I am Alice.").await?;
    /// let second = agent.run("Who am I?").history(first.transcript().clone()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn history(self, history: impl Into<Transcript>) -> Self {
        let history = history.into();
        self.change(|new| new.history = Some(history))
    }

    /// Begins after the turn `parent` instead of the conversation's last turn, or as a first turn: the user rephrases a
    /// message. The turn continues the conversation as of `parent`. The turns that came after `parent` before stay in
    /// the store as another branch.
    ///
    /// The turn fails at once if the conversation has no [store](crate::AgentBuilder::store).
    pub fn after(self, parent: Option<RunId>) -> Self {
        self.change(|new| new.from = BeginFrom::Turn(parent))
    }

    /// Continues the history that the conversation was set up with, without a parent in the store. The history is
    /// stored with the turn.
    #[doc(hidden)]
    pub fn from_history(self) -> Self {
        self.change(|new| new.from = BeginFrom::Given)
    }

    /// Denies and declines what no code of the app answers, instead of waiting: for a host that gives its app no turn.
    #[doc(hidden)]
    pub fn out_of_reach(self) -> Self {
        self.change(|new| new.runner = new.runner.clone().out_of_reach())
    }

    /// Sets what happens if another turn of the conversation is under way: [`WhenBusy::Fail`] if not set. With a store
    /// the turns of other agents and other processes count too, while their owners are alive.
    ///
    /// ```no_run
    /// # async fn example(conversation: stepwell_io::Conversation) -> Result<(), stepwell_io::Error> {
    /// use stepwell_io::WhenBusy;
    /// let result = conversation.send("No, the other one.").when_busy(WhenBusy::Cancel).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn when_busy(self, when_busy: WhenBusy) -> Self {
        self.change(|new| new.when_busy = when_busy)
    }
}

impl<T: Output> Run<T> {
    /// Returns the run if it can begin: for a host that reports a mistake in the options before the turn.
    ///
    /// # Errors
    /// A tool cannot be registered, a tool that the run names does not exist, a header cannot be sent, …
    #[doc(hidden)]
    pub fn checked(mut self) -> Result<Self, Error> {
        match &mut self.state {
            RunState::New(new) => match new.find_error() {
                Some(error) => Err(error),
                None => Ok(self),
            },
            RunState::UnderWay(_) | RunState::Done => Ok(self),
        }
    }

    /// Begins the turn, and returns it with its updates.
    ///
    /// ```no_run
    /// use stepwell_io::Update;
    ///
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), stepwell_io::Error> {
    /// let mut turn = agent.run("Why is the sky blue?").instructions("Answer in one line.").stream();
    /// while let Some(update) = turn.next().await {
    ///     if let Update::Text { delta, .. } = update? {
    ///         print!("{delta}");
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn stream(self) -> Turn<T> {
        match self.state {
            RunState::New(new) => new.begin(),
            RunState::UnderWay(_) | RunState::Done => Turn::failed(Error::misuse(
                "the run has begun: a future that was polled has no updates to give",
            )),
        }
    }
}

impl<T: Output> Future for Run<T> {
    type Output = Result<TurnResult<T>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match &mut self.state {
                RunState::UnderWay(result) => {
                    let result = std::task::ready!(result.as_mut().poll(context));
                    self.state = RunState::Done;
                    return Poll::Ready(result);
                }
                RunState::New(_) | RunState::Done => {
                    match std::mem::replace(&mut self.state, RunState::Done) {
                        RunState::New(new) => {
                            let new = new.without_turn();
                            self.state = RunState::UnderWay(Box::pin(new.begin().result()));
                        }
                        _ => {
                            let error = Error::misuse("the run was polled after its end");
                            return Poll::Ready(Err(error));
                        }
                    }
                }
            }
        }
    }
}

// Nothing of a run is pinned: its future is in a box.
impl<T> Unpin for Run<T> {}

impl NewRun {
    fn add(&mut self, tool: Tool, handler: Arc<dyn ToolHandler>) {
        let name = tool.name().to_owned();
        match self.start.options.tools.add(tool) {
            Ok(()) => drop(self.handlers.insert(name, handler)),
            Err(error) => self.fail(error),
        }
    }

    /// Returns the run of which the app has no turn. What it waits for can be answered only by its conversation.
    fn without_turn(mut self: Box<Self>) -> Box<Self> {
        if self.runner.thread.is_for_one_turn() {
            self.runner = self.runner.out_of_reach();
        }
        self
    }

    /// Keeps the first error.
    fn fail(&mut self, error: impl Into<Error>) {
        self.error.get_or_insert_with(|| error.into());
    }

    fn begin<T: Output>(mut self: Box<Self>) -> Turn<T> {
        if let Some(error) = self.find_error() {
            return Turn::failed(error);
        }
        if let OwnOutput::Type(decoded) = &self.runner.agent.output {
            // The type is stored with the turn, so that a revived turn has it.
            let options = &mut self.start.options;
            options.output.get_or_insert_with(|| decoded.0.clone());
        }
        let Self {
            runner,
            start,
            from,
            history,
            handlers,
            when_busy,
            ..
        } = *self;
        if let Some(history) = history {
            runner.set_history(history);
        }
        let begin = Begin::Start(Box::new(start), from, handlers);
        Turn::begin(&runner, begin, when_busy)
    }

    /// Returns why the turn cannot begin.
    fn find_error(&mut self) -> Option<Error> {
        if let Some(error) = self.error.take() {
            return Some(error);
        }
        let agent = &self.runner.agent;
        if let Some(error) = &agent.shared.unusable {
            return Some(error.clone());
        }
        if let OwnOutput::Unusable(error) = &agent.output {
            return Some(error.clone());
        }
        self.start.options.tool_names.as_ref()?;
        // The tools of the agent's sources count too.
        let config = &self.runner.turn_setup().config;
        let unknown = self.start.options.unknown_tools(config);
        let name = (*unknown.first()?).to_owned();
        Some(ToolError::Unknown { name }.into())
    }
}
