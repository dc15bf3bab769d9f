use crate::clock::Clock;
use crate::driver::{Answers, Driver};
use crate::journal::{JournalSink, Journaled};
use crate::spans;
use crate::tools::{Approver, Handlers, ToolHandler};
use crate::turn::{Finished, Turn};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stepwell_core::ThreadId;
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Endpoint;
use stepwell_core::event::Message;
use stepwell_core::run::{Input, RunConfig, Start, ToolInvocation};
use stepwell_core::tool::{Tool, ToolError, ToolOutput};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use uuid::Uuid;

/// A conversation with a model and the app's tools. Cloning gives another handle on the same conversation.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

struct Inner {
    config: Arc<RunConfig>,
    handlers: Arc<Handlers>,
    approver: Option<Arc<dyn Approver>>,
    journal: Option<Arc<dyn JournalSink>>,
    client: reqwest::Client,
    thread_id: ThreadId,
    conversation: Mutex<Conversation>,
    /// The turn that owns the conversation.
    current: Mutex<CancellationToken>,
    /// One turn at a time: the next begins when the one before has put its conversation back.
    turns: Arc<tokio::sync::Mutex<()>>,
}

/// Events that may wait for the app.
const EVENTS: usize = 256;

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("thread_id", &self.inner.thread_id)
            .field("endpoint", &self.inner.config.endpoint)
            .finish_non_exhaustive()
    }
}

impl Agent {
    /// Sets up an agent for an endpoint; see [`provider`](crate::provider) for where to get one.
    #[must_use]
    pub fn builder(endpoint: Endpoint) -> AgentBuilder {
        AgentBuilder {
            config: RunConfig::new(endpoint),
            handlers: Handlers::new(),
            approver: None,
            journal: None,
            client: None,
            thread_id: None,
            history: Conversation::default(),
            error: None,
        }
    }

    /// Says something to the model. A turn that is still under way is cancelled first: the person has moved on.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn send(&self, text: impl Into<String>) -> Turn {
        let run_id = Uuid::new_v4().to_string();
        let message = Message::user(format!("{run_id}-user"), text);
        self.start(Start::new(run_id, message))
    }

    /// Starts a turn with ids and a message of the app's own.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self, start: Start) -> Turn {
        let cancel = CancellationToken::new();
        let earlier = std::mem::replace(&mut *lock(&self.inner.current), cancel.clone());
        earlier.cancel();
        let (events, receiver) = mpsc::channel(EVENTS);
        let (answers, answered) = mpsc::channel(1);
        let span = spans::turn(
            &self.inner.config.endpoint,
            &self.inner.thread_id,
            &start.run_id,
        );
        let agent = self.clone();
        let turn_cancel = cancel.clone();
        let work = async move { agent.run_turn(start, events, answered, turn_cancel).await };
        let task = tokio::spawn(work.instrument(span));
        Turn {
            events: receiver,
            cancel,
            answers,
            task: Some(task),
        }
    }

    async fn run_turn(
        self,
        start: Start,
        events: mpsc::Sender<stepwell_core::run::RunEvent>,
        answers: mpsc::Receiver<Answers>,
        cancel: CancellationToken,
    ) -> Finished {
        let inner = &self.inner;
        let turn = inner.turns.lock().await;
        let clock = Clock::new();
        let history = lock(&inner.conversation).clone();
        let mut run = Journaled::new(
            &inner.config,
            &inner.thread_id,
            history,
            inner.journal.as_ref(),
            &start.run_id,
        );
        if let Err(misuse) = run.handle(Input::Start(Box::new(start)), clock.now()) {
            tracing::error!(target: "stepwell", %misuse, "a new machine refused to start");
        }
        let driver = Driver {
            run,
            config: Arc::clone(&inner.config),
            handlers: Arc::clone(&inner.handlers),
            approver: inner.approver.clone(),
            client: inner.client.clone(),
            clock,
            cancel,
            events,
            answers,
            late: Vec::new(),
        };
        let (finished, rest) = driver.run().await;
        // The conversation stands before the app hears that the turn is over, and the next turn waits for no app.
        *lock(&inner.conversation) = finished.conversation.clone();
        drop(turn);
        rest.send().await;
        finished
    }

    /// The conversation, as it was after the last turn.
    #[must_use]
    pub fn conversation(&self) -> Conversation {
        lock(&self.inner.conversation).clone()
    }

    /// The conversation's id.
    #[must_use]
    pub fn thread_id(&self) -> &ThreadId {
        &self.inner.thread_id
    }

    /// Cancels the turn under way, if there is one.
    pub fn cancel(&self) {
        lock(&self.inner.current).cancel();
    }
}

/// Nothing is left half-done under these locks, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets up an [`Agent`].
pub struct AgentBuilder {
    config: RunConfig,
    handlers: Handlers,
    approver: Option<Arc<dyn Approver>>,
    journal: Option<Arc<dyn JournalSink>>,
    client: Option<reqwest::Client>,
    thread_id: Option<ThreadId>,
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
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

impl AgentBuilder {
    /// Adds a tool and its code: an async closure from a call to a result.
    #[must_use]
    pub fn tool<F, Fut, T, E>(self, tool: Tool, handler: F) -> Self
    where
        F: Fn(ToolInvocation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: Into<ToolOutput>,
        E: fmt::Display,
    {
        self.tool_handler(tool, handler)
    }

    /// Adds a tool whose code is a type of the app's own.
    #[must_use]
    pub fn tool_handler(mut self, tool: Tool, handler: impl ToolHandler) -> Self {
        let name = tool.name().to_owned();
        match self.config.tools.register(tool) {
            Ok(tools) => {
                self.config.tools = tools;
                self.handlers.insert(name, Arc::new(handler));
            }
            Err(error) => self.error = self.error.or(Some(error)),
        }
        self
    }

    /// Sets who asks the person about tools that need an approval: an async closure from a call to a decision, or a
    /// type of the app's own. Without one they are denied.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Writes a [journal](stepwell_core::run::journal) of each turn, from which it can be lived through again:
    /// a closure that takes the turn's run id and whole lines, or a type of the app's own. A journal holds all
    /// that is said, but no key.
    #[must_use]
    pub fn journal(mut self, sink: impl JournalSink) -> Self {
        self.journal = Some(Arc::new(sink));
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

    /// Sets how long a tool may take if it does not say so itself: 5 minutes if not set.
    #[must_use]
    pub fn tool_timeout(mut self, timeout: Duration) -> Self {
        self.config.timeouts.tool = Some(timeout);
        self
    }

    /// Changes any other setting.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut RunConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Sets the conversation's id: a random one if not set.
    #[must_use]
    pub fn thread_id(mut self, id: impl Into<ThreadId>) -> Self {
        self.thread_id = Some(id.into());
        self
    }

    /// Begins with an earlier conversation.
    #[must_use]
    pub fn history(mut self, history: Conversation) -> Self {
        self.history = history;
        self
    }

    /// Uses the app's own HTTP client.
    #[must_use]
    pub fn client(mut self, client: reqwest::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// A tool could not be registered, or the HTTP client not be made.
    pub fn build(self) -> Result<Agent, BuildError> {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        let client = match self.client {
            Some(client) => client,
            None => default_client()?,
        };
        Ok(Agent {
            inner: Arc::new(Inner {
                config: Arc::new(self.config),
                handlers: Arc::new(self.handlers),
                approver: self.approver,
                journal: self.journal,
                client,
                thread_id: self
                    .thread_id
                    .unwrap_or_else(|| Uuid::new_v4().to_string().into()),
                conversation: Mutex::new(self.history),
                current: Mutex::new(CancellationToken::new()),
                turns: Arc::default(),
            }),
        })
    }
}

/// A client with ring for TLS, unless the app chose otherwise for the whole process. It has no timeout of its own: the
/// machine's clocks know what is silence and what is a tool at work.
fn default_client() -> Result<reqwest::Client, reqwest::Error> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(30))
        .tcp_nodelay(true)
        .build()
}
