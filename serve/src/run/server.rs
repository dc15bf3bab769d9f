use crate::request::refused::Refused;
use crate::request::trust::ClientTrust;
use crate::run::AgUiRun;
use crate::run::agent::agent;
use crate::run::places::{Permit, Places};
use crate::turn::asking::Asking;
use crate::turn::shared_state;
use crate::turn::shared_state::{CHANGE_STATE, SharedState};
use crate::ui_message::{ChatRequest, ChatStream, ChatStreams, UiMessageEncoder};
use crate::wire::event_log::{EventStream, event_log};
use crate::wire::format::Format;
use serde_json::json;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::ThreadId;
use stepwell_core::event::RunAgentInput;
use stepwell_core::run::TextOptions;
use stepwell_io::{Agent, AgentBuilder, ThreadKey, ToolRegistry};
use time::OffsetDateTime;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Runs agents for AG-UI clients and for chats of the AI SDK, whatever brings their requests: the runs that are under way,
/// one a thread, and the turns that wait for the user. Nothing is kept beyond the process, and a client brings its
/// history. Clones are the same server.
///
/// A run is given the agent's model, tools and settings; the client's conversation, tools, context and state; and asks the
/// client, by an interrupt, about tools that need an approval and what a running tool wants to know. It uses neither the
/// agent's thread nor its store.
///
/// ```no_run
/// # async fn example(agent: &stepwell_io::Agent, body: &[u8]) -> Result<(), stepwell_serve::Refused> {
/// use stepwell_serve::{AgUiServer, read_input};
///
/// let server = AgUiServer::default();
/// let mut events = server.run(agent, read_input(body)?)?;
/// while let Some(event) = events.next().await {
///     println!("{}", String::from_utf8_lossy(&event.json));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AgUiServer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: RunLimits,
    trust: ClientTrust,
    places: Arc<Places>,
    chats: ChatStreams,
    tasks: TaskTracker,
    leave: CancellationToken,
}

/// How far the runs of an [`AgUiServer`] may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// The most runs at once: 256 if not set.
    pub runs: usize,
    /// How long a run may take, without the time that it waits for its user: 10 minutes if not set.
    pub run_time: Duration,
    /// How long a question to the user stands: an hour if not set.
    pub interrupt_time: Duration,
    /// How long a chat's run goes on that nobody reads, so that a client may come back to it: 15 seconds if not set.
    pub resume_time: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            runs: 256,
            run_time: Duration::from_secs(600),
            interrupt_time: Duration::from_secs(3600),
            resume_time: Duration::from_secs(15),
        }
    }
}

impl Default for AgUiServer {
    fn default() -> Self {
        Self::new(RunLimits::default())
    }
}

/// A run that can begin, once it has a place.
#[derive(Debug)]
pub struct Prepared {
    input: RunAgentInput,
    agent: Agent,
    tools: ToolRegistry,
    asked: mpsc::UnboundedReceiver<Asking>,
    state: SharedState,
}

impl Prepared {
    /// Sets up the agent of a run from what the agents of all runs begin with; `tools` are those that run here. Where it
    /// shares the client's state, `base` has the tool that changes it. `trust` says whether the client may give the model
    /// instructions.
    ///
    /// # Errors
    /// A tool of the client's cannot be offered.
    pub fn new(
        base: AgentBuilder,
        tools: ToolRegistry,
        input: RunAgentInput,
        shares_state: bool,
        trust: ClientTrust,
    ) -> Result<Self, Refused> {
        let state = SharedState::new(input.state.clone().unwrap_or_else(|| json!({})));
        let (asking, asked) = mpsc::unbounded_channel();
        let shared = shares_state.then_some(&state);
        let agent = agent(base, &tools, &input, shared, asking, trust)?;
        Ok(Self {
            input,
            agent,
            tools,
            asked,
            state,
        })
    }

    /// As [`new`](Self::new), with what the agent has.
    fn of_agent(
        agent: &Agent,
        input: RunAgentInput,
        shares_state: bool,
        trust: ClientTrust,
    ) -> Result<Self, Refused> {
        let base = AgentBuilder::like(agent).configure(|config| {
            // Clients show each message by itself.
            config.text = TextOptions::AS_WRITTEN;
        });
        let tools = base.registered_tools().clone();
        let shares_state = shares_state && tools.get(CHANGE_STATE).is_none();
        let base = match shares_state {
            true => shared_state::offered_by(base),
            false => base,
        };
        Self::new(base, tools, input, shares_state, trust)
    }
}

impl AgUiServer {
    /// A server without runs, which takes no instructions from its clients.
    #[must_use]
    pub fn new(limits: RunLimits) -> Self {
        Self::with_trust(limits, ClientTrust::default())
    }

    /// Creates a server without runs, whose clients may give the model instructions if they are trusted.
    #[must_use]
    pub fn with_trust(limits: RunLimits, trust: ClientTrust) -> Self {
        Self(Arc::new(Inner {
            limits,
            trust,
            places: Arc::new(Places::new(limits.runs)),
            chats: ChatStreams::default(),
            tasks: TaskTracker::new(),
            leave: CancellationToken::new(),
        }))
    }

    /// Runs the agent for an AG-UI client, and gives the run's events, as JSON. Another run of the thread that is under way
    /// is cancelled: its client has moved on. Whatever happens in it, the run ends with `RUN_FINISHED` or `RUN_ERROR`;
    /// letting go of the events stops it.
    ///
    /// # Errors
    /// No run begins: there are too many, the input cannot be run, or the server stops.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn run(&self, agent: &Agent, input: RunAgentInput) -> Result<EventStream, Refused> {
        let key = ThreadKey {
            thread: input.thread_id.clone(),
            ..agent.thread_key().clone()
        };
        let permit = self.permit(None)?;
        let prepared = Prepared::of_agent(agent, input, true, self.0.trust)?;
        let (run, events) = self.admit(key, prepared, permit, Format::AgUi)?;
        self.drive(run);
        Ok(events)
    }

    /// Runs the agent for a chat of the AI SDK, and gives the run's UI message stream. As [`run`](Self::run), but that the
    /// run goes on for a while when nobody reads it: [`chat_stream`](Self::chat_stream) comes back to it.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn chat(&self, agent: &Agent, request: ChatRequest) -> Result<ChatStream, Refused> {
        let key = chat_key(agent, &request.input.thread_id);
        let permit = self.permit(None)?;
        let message_id = request.message_id.clone();
        let is_new = request.is_new;
        let prepared = Prepared::of_agent(agent, request.input, false, self.0.trust)?;
        let (run, stream) = self.admit_chat(key, prepared, permit, message_id, is_new)?;
        self.drive(run);
        Ok(stream)
    }

    /// Returns the stream of the chat's run that is under way, or that ended while no client read it, from its beginning;
    /// nothing if there is none.
    #[must_use]
    pub fn chat_stream(&self, agent: &Agent, chat: &ThreadId) -> Option<ChatStream> {
        self.chats().get(&chat_key(agent, chat))
    }

    /// Stops the chat's run. Returns whether one was under way.
    pub fn stop_chat(&self, agent: &Agent, chat: &ThreadId) -> bool {
        self.chats().stop(&chat_key(agent, chat))
    }

    /// Takes no more runs, and gives those under way `grace` to end. Returns when none is.
    pub async fn stop(&self, grace: Duration) {
        self.close();
        self.0.tasks.close();
        if tokio::time::timeout(grace, self.0.tasks.wait())
            .await
            .is_err()
        {
            self.0.leave.cancel();
            self.0.tasks.wait().await;
        }
    }

    /// Takes no more runs.
    pub fn close(&self) {
        self.0.places.close();
    }

    /// Whether it takes no more runs.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.places.is_closed()
    }

    /// The streams of its chats.
    #[must_use]
    pub fn chats(&self) -> &ChatStreams {
        &self.0.chats
    }

    /// Leave to take one more run, before its request is read; it holds `held` until it is over.
    ///
    /// # Errors
    /// There are too many, or the server stops.
    pub fn permit(&self, held: Option<Box<dyn Any + Send + Sync>>) -> Result<Permit, Refused> {
        self.0.places.permit(held)
    }

    /// Gives the run its place on its thread. It is for the caller to drive it.
    ///
    /// # Errors
    /// The run is under way already, or the server stops.
    pub fn admit(
        &self,
        key: ThreadKey,
        prepared: Prepared,
        permit: Permit,
        format: Format,
    ) -> Result<(AgUiRun, EventStream), Refused> {
        let Prepared {
            input,
            agent,
            tools,
            asked,
            state,
        } = prepared;
        let now = OffsetDateTime::now_utc();
        let places = &self.0.places;
        let (place, beginning) = places.admit(key, &input, permit, &tools, now)?;
        let (log, events) = event_log(format);
        let run = AgUiRun {
            input,
            agent,
            tools,
            asked,
            state,
            place,
            log,
            beginning,
            run_time: self.0.limits.run_time,
            interrupt_time: self.0.limits.interrupt_time,
        };
        Ok((run, events))
    }

    /// As [`admit`](Self::admit), for a chat, whose stream is kept while it is under way.
    ///
    /// # Errors
    /// As for [`admit`](Self::admit).
    pub fn admit_chat(
        &self,
        key: ThreadKey,
        prepared: Prepared,
        permit: Permit,
        message_id: String,
        is_new: bool,
    ) -> Result<(AgUiRun, ChatStream), Refused> {
        if is_new {
            self.0.places.forget_open(&key);
        }
        let format = Format::UiMessages(UiMessageEncoder::new(message_id));
        let (run, events) = self.admit(key.clone(), prepared, permit, format)?;
        let stream = self.chats().keep(key, events, self.0.limits.resume_time);
        Ok((run, stream))
    }

    fn drive(&self, run: AgUiRun) {
        let leave = self.0.leave.clone();
        self.0.tasks.spawn(run.run(leave, |_| {}));
    }
}

fn chat_key(agent: &Agent, chat: &ThreadId) -> ThreadKey {
    ThreadKey {
        thread: chat.clone(),
        ..agent.thread_key().clone()
    }
}
