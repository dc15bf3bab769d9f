//! An agent: a conversation with a model, which begins turns.

pub(crate) mod begin;
pub(crate) mod builder;
pub(crate) mod code;
pub(crate) mod prepare;
pub(crate) mod sources;
pub(crate) mod stored;
mod task;
pub(crate) mod threads;
pub(crate) mod turn_builder;
#[cfg(feature = "macros")]
pub(crate) mod typed_run;
pub(crate) mod when_busy;

use crate::agent::begin::Begin;
use crate::agent::code::TurnCode;
use crate::agent::threads::{Shared, Thread};
use crate::agent::when_busy::WhenBusy;
use crate::app::device::Device;
use crate::app::output::OutputDecoder;
use crate::app::setup::Setup;
use crate::app::tools::context::Deps;
use crate::app::tools::handler::Handlers;
use crate::base::Clock;
use crate::base::lock;
use crate::durable::{BeginFrom, StoreSetup, StoredTurn, in_time};
use crate::store::StoreError;
use crate::turn::Turn;
use crate::turn::journaled::JournaledRun;
use std::fmt;
use std::sync::Arc;
use stepwell_core::dialect::Endpoint;
use stepwell_core::event::{Message, MessageContent};
use stepwell_core::registry::{RegistryEvent, SharedRegistry, ThreadKey};
use stepwell_core::run::{RunConfig, SnapshotError, Start, StateKind};
use stepwell_core::session;
use stepwell_core::tool::OutputType;
use stepwell_core::transcript::Transcript;
use stepwell_core::{RunId, ThreadId};
use uuid::Uuid;

/// A conversation with a model and the app's tools. A clone is another handle on the same conversation;
/// [`thread`](Self::thread) returns a handle on another conversation with the same model and tools.
///
/// # One thread for each user and transcript
/// All turns of a thread share its conversation. A server gives each conversation a thread of its own, by
/// `agent.thread(id)` in a handler for each request: an agent that two users share would show each of them the other's
/// messages.
///
/// # One turn a thread
/// A turn that begins while another turn of its thread is under way fails at once with
/// [`Failure::Busy`](crate::Failure::Busy), and changes nothing. With [`WhenBusy::Cancel`] the new turn takes the
/// thread over: the other turn is cancelled, its tools are asked to stop, and its late results change nothing. The new
/// turn never waits for a tool. It continues from where the other turn was stopped: the history has the other turn's
/// message, the model's answer so far, and a result for each call, which says that the call was cancelled.
///
/// Turns of different threads do not affect each other. The [`registry`](Self::registry) knows which threads have a
/// turn under way, which thread the user looks at, and which are unread.
#[derive(Clone)]
pub struct Agent {
    pub(crate) shared: Arc<Shared>,
    pub(crate) thread: Arc<Thread>,
    /// Code of the turns that is used instead of the agent's.
    code: Option<Arc<TurnCode>>,
    /// The type of the turns' answers, where it is not the agent's own.
    output: Option<Arc<OwnOutput>>,
    /// The value that the tools are given, where it is not the agent's own.
    deps: Option<Deps>,
}

/// Why a stored turn cannot be revived.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReviveError {
    /// The turn's snapshot cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The turn had not begun.
    #[error("the stored turn had not begun: send its message instead")]
    NotStarted,
}

/// The type of a turn's answers, and its decoder.
type OwnOutput = (OutputType, Option<Arc<dyn OutputDecoder>>);

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("thread", &self.thread.key)
            .field("endpoint", &self.shared.setup.config.endpoint)
            .finish_non_exhaustive()
    }
}

impl Agent {
    pub(crate) fn new(shared: Arc<Shared>, thread: Arc<Thread>) -> Self {
        Self {
            shared,
            thread,
            code: None,
            output: None,
            deps: None,
        }
    }

    /// Sends a message to the model: a text, or texts and [media](crate::media) in order, as in
    /// `("What is this?", image("shark.png")?)`. If another turn of this thread is under way, the turn fails at once
    /// with [`Failure::Busy`](crate::Failure::Busy), unless [`AgentBuilder::when_busy`](crate::AgentBuilder::when_busy)
    /// says otherwise.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn send(&self, content: impl Into<MessageContent>) -> Turn {
        let run_id = Uuid::new_v4().to_string();
        let message = Message::user(format!("{run_id}-user"), content);
        self.start(Start::new(run_id, message))
    }

    /// Starts a turn with ids and a message that the app provides.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self, start: Start) -> Turn {
        self.begin_new(start, BeginFrom::Latest)
    }

    /// Starts a turn that comes after the turn `parent` instead of the thread's last turn, or that is a first turn: the
    /// user rephrases a message. It continues the conversation as of `parent`. The turns that came after `parent`
    /// before stay in the store as another branch.
    ///
    /// The turn fails at once if the agent has no [store](crate::AgentBuilder::store).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn branch(&self, parent: Option<RunId>, start: Start) -> Turn {
        self.begin_new(start, BeginFrom::Turn(parent))
    }

    /// Starts a turn that continues the history that the agent was set up with, and that has no parent in the thread.
    /// The history is stored with the turn.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[doc(hidden)]
    pub fn start_from_history(&self, start: Start) -> Turn {
        self.begin_new(start, BeginFrom::Given)
    }

    fn begin_new(&self, start: Start, from: BeginFrom) -> Turn {
        self.begin_with(start, from, Handlers::new(), None)
    }

    /// Begins a turn with its own tools.
    pub(crate) fn begin_with(
        &self,
        mut start: Start,
        from: BeginFrom,
        handlers: Handlers,
        when_busy: Option<WhenBusy>,
    ) -> Turn {
        if let Some((output, _)) = self.output.as_deref() {
            // The type is stored with the turn, so that a revived turn has it.
            start.options.output.get_or_insert_with(|| output.clone());
        }
        let when_busy = when_busy.unwrap_or(self.shared.when_busy);
        self.begin_if_free(Begin::Start(Box::new(start), from, handlers), when_busy)
    }

    /// Continues a stored turn on its own thread, from the snapshot that [`Turn::suspend`] or
    /// [`TurnHandle::rested`](crate::TurnHandle::rested) returned, in this process or a later one. The result of a
    /// deferred call is then given to [`TurnHandle::finish_call`](crate::TurnHandle::finish_call). The user is asked
    /// again what they had not answered.
    ///
    /// A request whose answer had not begun is sent again. An open stream is resumed where the backend can; otherwise
    /// the answer so far stays, marked as [`CUT`](stepwell_core::run::CUT), and the model is asked again. A tool that
    /// had begun is run again only if it is idempotent; otherwise the model learns that the tool's outcome is unknown.
    /// The conversation is the snapshot's. An agent with a [store](crate::AgentBuilder::store) continues from the
    /// stored turn, which is at least as new; a turn that has ended there, or that another owner has, fails.
    ///
    /// # Errors
    /// The text is no snapshot, a snapshot of another version, or the snapshot of a turn that had not begun.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn revive(&self, snapshot: &str) -> Result<Turn, ReviveError> {
        let (agent, run, setup) = self.revived(|setup| {
            let (journal, now) = (setup.journal.as_ref(), Clock::new().now());
            JournaledRun::revive(snapshot, &setup.config, journal, now)
        })?;
        Ok(agent.begin(Begin::Revived {
            snapshot: snapshot.to_owned(),
            run: Box::new(run),
            setup,
        }))
    }

    /// Continues a turn that the program itself has [claimed](crate::store::Store::claim) in the agent's
    /// [store](crate::AgentBuilder::store), from the checkpoint that the claim returned, and from the turn's
    /// [path](crate::store::Store::path) as it is in the store after the claim. `shown` are the messages of the turn
    /// that the user was shown before its host died, for a program that keeps them: text that is not stored stays, as
    /// [`Input::Shown`](stepwell_core::run::Input::Shown) says. The program holds a [`Lease`](crate::store::Lease) of
    /// the owner itself.
    ///
    /// # Errors
    /// The text is no checkpoint, a checkpoint of another version, or it does not fit the path.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn revive_claimed(
        &self,
        turn: StoredTurn,
        checkpoint: &str,
        path: &[session::Turn],
        shown: Vec<Message>,
    ) -> Result<Turn, ReviveError> {
        let (agent, run, setup) = self.revived(|setup| {
            let (journal, now) = (setup.journal.as_ref(), Clock::new().now());
            JournaledRun::revive_stored(checkpoint, path, &setup.config, journal, now)
        })?;
        Ok(agent.begin(Begin::Claimed {
            turn,
            // A program that claims turns itself holds the lease itself.
            lease: None,
            run: Box::new(run),
            setup,
            shown,
        }))
    }

    /// Reads a stored run, and returns it with the agent on its thread.
    fn revived(
        &self,
        read: impl FnOnce(&Setup) -> Result<JournaledRun, SnapshotError>,
    ) -> Result<(Self, JournaledRun, Arc<Setup>), ReviveError> {
        let setup = self.turn_setup();
        let run = read(&setup)?;
        let machine = &run.machine;
        if machine.state() == StateKind::Idle {
            return Err(ReviveError::NotStarted);
        }
        let key = ThreadKey {
            thread: machine.thread_id().cloned().unwrap_or_default(),
            ..self.thread.key.clone()
        };
        Ok((self.thread(key), run, setup))
    }

    /// Returns the conversation of this key, or a new one, with the same model and tools.
    ///
    /// A thread lives while the app holds an [`Agent`] on it, or a turn of it is under way. Then its memory is freed;
    /// its conversation stays in the [store](crate::AgentBuilder::store), or is gone. So threads cost nothing once they
    /// are released.
    pub fn thread(&self, key: impl Into<ThreadKey>) -> Self {
        self.thread_with_history(key, Transcript::default())
    }

    /// Returns the conversation of this key, as [`thread`](Self::thread) does; a new thread begins with an earlier
    /// conversation.
    pub fn thread_with_history(&self, key: impl Into<ThreadKey>, history: Transcript) -> Self {
        let thread = self.shared.thread(key.into(), history);
        Self {
            thread,
            ..self.clone()
        }
    }

    /// Forgets a thread, as [`forget_thread`](Self::forget_thread) does, and deletes it from the agent's
    /// [store](crate::AgentBuilder::store) with all its turns. Returns whether the store had the thread; `false` for an
    /// agent without a store.
    ///
    /// # Errors
    /// The store cannot be written: the thread is forgotten here, and still stored.
    pub async fn delete_thread(&self, key: &ThreadKey) -> Result<bool, StoreError> {
        self.forget_thread(key);
        match self.stored() {
            Some(stored) => in_time(stored.store.delete_thread(key)).await,
            None => Ok(false),
        }
    }

    /// Cancels the thread's turn, if one is under way, and forgets its conversation and its entry in the
    /// [`registry`](Self::registry), where it may be unread. What the [store](crate::AgentBuilder::store) has of the
    /// thread stays there. An [`Agent`] on the thread should not be used any more.
    pub fn forget_thread(&self, key: &ThreadKey) {
        self.shared.forget(key);
    }

    /// Returns a handle on the same conversation whose turns have other code: for an app whose code belongs to the
    /// place where a turn was begun, such as an event loop.
    #[must_use]
    pub fn with_code(&self, code: TurnCode) -> Self {
        Self {
            code: Some(Arc::new(code)),
            ..self.clone()
        }
    }

    /// Returns a handle on the same conversation whose turns have answers of this type. `decoder` decodes them; without
    /// it the agent's own decoder does, if [`OutputType::decoded_by_host`] says so.
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use serde_json::json;
    /// use stepwell_io::OutputType;
    /// # async fn example(agent: Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let cities = OutputType::new("Cities", json!({ "type": "array", "items": { "type": "string" } }))?;
    /// let finished = agent.with_output(cities, None).send("Three cities in Norway").await?;
    /// println!("{:?}", finished.output);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_output(&self, output: OutputType, decoder: Option<Arc<dyn OutputDecoder>>) -> Self {
        let is_decoded = decoder.is_some() || output.is_decoded_by_host();
        let output = output.decoded_by_host(is_decoded);
        Self {
            output: Some(Arc::new((output, decoder))),
            ..self.clone()
        }
    }

    /// Returns a handle on the same conversation whose turns' tools are given this value instead of that of
    /// [`AgentBuilder::deps`](crate::AgentBuilder::deps): a value of one user or one request, say.
    #[must_use]
    pub fn with_deps<T: Send + Sync + 'static>(&self, deps: T) -> Self {
        Self {
            deps: Some(Deps::new(deps)),
            ..self.clone()
        }
    }

    /// Returns the setup of a turn that begins now.
    pub(crate) fn turn_setup(&self) -> Arc<Setup> {
        let mut setup = self.shared.turn_setup();
        if let Some(code) = &self.code {
            setup = Arc::new(code.put_into(&setup, &self.shared.setup.config.tools));
        }
        if let Some(deps) = &self.deps {
            Arc::make_mut(&mut setup).deps = Some(deps.clone());
        }
        if let Some((_, Some(decoder))) = self.output.as_deref() {
            Arc::make_mut(&mut setup).decoder = Some(Arc::clone(decoder));
        }
        setup
    }

    /// Returns the setup of a turn that begins now, with the turn's own tools.
    pub(crate) fn turn_setup_for(&self, start: &Start, handlers: Handlers) -> Arc<Setup> {
        let setup = self.turn_setup();
        let own = start.options.tools.definitions();
        if own.is_empty() {
            return setup;
        }
        let mut setup = Setup::clone(&setup);
        if let Some(code) = &self.code {
            let names = own.iter().map(|tool| tool.name.clone());
            let tools = names.map(|name| (name, Arc::clone(&code.tools)));
            setup.handlers.extend(tools);
        }
        setup.handlers.extend(handlers);
        Arc::new(setup)
    }

    /// Returns the store of the agent's turns.
    pub(crate) fn stored(&self) -> Option<StoreSetup> {
        let stored = self.shared.setup.store.clone()?;
        Some(match &self.code {
            Some(code) => code.store_of(stored),
            None => stored,
        })
    }

    /// Returns the configuration of the agent's turns, without the tools of its
    /// [sources](crate::AgentBuilder::tool_source).
    #[must_use]
    pub fn config(&self) -> &Arc<RunConfig> {
        &self.shared.setup.config
    }

    /// Returns the conversation as of the last turn of this process; [`load`](Self::load) returns that of the
    /// [store](crate::AgentBuilder::store).
    #[must_use]
    pub fn transcript(&self) -> Transcript {
        lock(&self.thread.transcript).transcript.clone()
    }

    /// Returns the conversation's id.
    #[must_use]
    pub fn thread_id(&self) -> &ThreadId {
        &self.thread.key.thread
    }

    /// Returns the endpoint that answers.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.setup.config.endpoint
    }

    /// Returns the conversation's id, with its server and room.
    #[must_use]
    pub fn thread_key(&self) -> &ThreadKey {
        &self.thread.key
    }

    /// Cancels the turn of this thread that is under way, if there is one.
    pub fn cancel(&self) {
        lock(&self.thread.current).cancel.cancel();
    }

    /// Cancels the turns of all threads that are under way.
    pub fn cancel_all(&self) {
        self.shared.cancel_all();
    }

    /// Reports that the app goes to the background. Like the following three methods, it concerns the turns of all
    /// threads, those under way and those that begin later. A turn reacts as
    /// [`DevicePolicy`](stepwell_core::run::DevicePolicy) says: by default its clocks stop, so that nothing times out
    /// while the app is frozen.
    pub fn entered_background(&self) {
        self.shared.device.send_modify(Device::enter_background);
    }

    /// Reports that the app is in the foreground again.
    pub fn entered_foreground(&self) {
        self.shared.device.send_modify(Device::enter_foreground);
    }

    /// Reports that the network is gone. By default requests wait for the next network, and a request that fails
    /// meanwhile counts as no attempt.
    pub fn network_lost(&self) {
        self.shared.device.send_modify(Device::lose_network);
    }

    /// Reports that there is a network, or that another network has replaced it.
    pub fn network_available(&self) {
        self.shared.device.send_modify(Device::find_network);
    }

    /// Returns the registry, which knows which threads have a turn under way, which thread the user looks at
    /// ([`look_at`](SharedRegistry::look_at)), and which are unread. Its runs are the agent's turns: only the agent
    /// should register and remove them.
    #[must_use]
    pub fn registry(&self) -> &SharedRegistry {
        &self.shared.registry
    }

    /// Waits for the next event of the turns of all threads: a turn began, began another hop, or is over; a thread is
    /// unread. Each event goes to one caller. The events are those of [`SharedRegistry::poll_event`]; the future wakes
    /// for the events that this agent's turns cause, and returns a read mark with the next of them.
    pub async fn next_registry_event(&self) -> RegistryEvent {
        loop {
            if let Some(event) = self.shared.registry.poll_event() {
                // There may be more events, for other callers.
                self.shared.changed.notify_one();
                return event;
            }
            self.shared.changed.notified().await;
        }
    }
}
