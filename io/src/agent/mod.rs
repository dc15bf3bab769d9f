//! An agent: a conversation with a model, and what begins its turns.

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
use crate::turn::journaled::Journaled;
use std::fmt;
use std::sync::Arc;
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Endpoint;
use stepwell_core::event::{Message, MessageContent};
use stepwell_core::registry::{RegistryEvent, SharedRegistry, ThreadKey};
use stepwell_core::run::{RunConfig, SnapshotError, Start, StateKind};
use stepwell_core::session;
use stepwell_core::tool::OutputType;
use stepwell_core::{RunId, ThreadId};
use uuid::Uuid;

/// A conversation with a model and the app's tools. Cloning gives another handle on the same conversation, and
/// [`thread`](Self::thread) one on another conversation with the same model and tools.
///
/// # One thread for each user and conversation
/// All turns of a thread share its conversation. A server gives each conversation a thread of its own,
/// `agent.thread(id)`, in a handler for each request: an agent that two users share would show one what the other said.
///
/// # One turn a thread
/// A turn that begins while another turn of its thread is under way fails at once with
/// [`Failure::Busy`](crate::Failure::Busy), and changes nothing. With [`WhenBusy::Cancel`] it takes the thread over: the
/// other turn is cancelled and its tools
/// are told to stop, and whatever still comes of it changes nothing. It never waits for a tool. The new turn continues
/// from where the old one was stopped: the old message, what the model had said by then, and a result for each call,
/// which says that the call was cancelled, are in its history, in that order.
///
/// Turns of different threads do not touch each other. Which threads have a turn under way, which one the user looks
/// at, and which are unread, is in the [`registry`](Self::registry).
#[derive(Clone)]
pub struct Agent {
    pub(crate) shared: Arc<Shared>,
    pub(crate) thread: Arc<Thread>,
    /// In the place of what the turns would share.
    code: Option<Arc<TurnCode>>,
    /// What its turns answer, and who decodes that, where that is not the agent's own.
    output: Option<Arc<OwnOutput>>,
    /// The same for the value that its tools are given.
    deps: Option<Deps>,
}

/// Why a stored turn cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReviveError {
    /// Its snapshot cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// It had not begun.
    #[error("the stored turn had not begun: send its message instead")]
    NotStarted,
}

/// The type of a turn's answers, and what decodes them.
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

    /// Says something to the model: a text, or texts and [media](crate::media) in order, as in
    /// `("What is this?", image("shark.png")?)`. If another turn of this thread is under way, the turn fails at once with
    /// [`Failure::Busy`](crate::Failure::Busy), unless [`AgentBuilder::when_busy`](crate::AgentBuilder::when_busy) says otherwise.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn send(&self, content: impl Into<MessageContent>) -> Turn {
        let run_id = Uuid::new_v4().to_string();
        let message = Message::user(format!("{run_id}-user"), content);
        self.start(Start::new(run_id, message))
    }

    /// Starts a turn with ids and a message of the app's own.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self, start: Start) -> Turn {
        self.begin_new(start, BeginFrom::Latest)
    }

    /// Starts a turn that does not come after the thread's last one: after `parent`, or as a first one. What the user
    /// said is said otherwise, and the turns that came of it before stay in the store as another branch. It goes on
    /// from the conversation as of `parent`.
    ///
    /// Only for an agent with a [store](crate::AgentBuilder::store): else the turn fails at once.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn branch(&self, parent: Option<RunId>, start: Start) -> Turn {
        self.begin_new(start, BeginFrom::Turn(parent))
    }

    /// Starts a turn that goes on from the history that the agent was set up with, which is stored with the turn, and
    /// comes after none of the thread's.
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

    /// Begins a turn with tools of its own.
    pub(crate) fn begin_with(
        &self,
        mut start: Start,
        from: BeginFrom,
        handlers: Handlers,
        when_busy: Option<WhenBusy>,
    ) -> Turn {
        if let Some((output, _)) = self.output.as_deref() {
            // Stored with the turn, so that one which comes back has it.
            start.options.output.get_or_insert_with(|| output.clone());
        }
        let when_busy = when_busy.unwrap_or(self.shared.when_busy);
        self.begin_if_free(Begin::Start(Box::new(start), from, handlers), when_busy)
    }

    /// Goes on with a stored turn, on its own thread: with the snapshot that [`Turn::suspend`] or
    /// [`TurnHandle::rested`](crate::TurnHandle::rested) gave, in this process or a later one. What a deferred call comes
    /// to is then told to [`TurnHandle::finish_call`](crate::TurnHandle::finish_call); the user is asked again what they
    /// had not answered.
    ///
    /// A request that had shown nothing goes out again; a stream that was open is resumed where the backend can, else
    /// what was shown of the answer stays, marked as [`CUT`](stepwell_core::run::CUT), and it is asked for anew; a tool
    /// that had begun is run again only if it says that it is idempotent, and else the model is told that its outcome is
    /// unknown. The
    /// conversation is that of the snapshot. An agent with a [store](crate::AgentBuilder::store) goes on from what that has of
    /// the turn, which is at least as new; a turn that was ended or taken over there fails.
    ///
    /// # Errors
    /// The text is no snapshot, one of another version, or one of a turn that had not begun.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn revive(&self, snapshot: &str) -> Result<Turn, ReviveError> {
        let (agent, run, setup) = self.revived(|setup| {
            let (journal, now) = (setup.journal.as_ref(), Clock::new().now());
            Journaled::revive(snapshot, &setup.config, journal, now)
        })?;
        Ok(agent.begin(Begin::Revived {
            snapshot: snapshot.to_owned(),
            run: Box::new(run),
            setup,
        }))
    }

    /// Goes on with a turn that the program has [claimed](crate::store::Store::claim) in the agent's
    /// [store](crate::AgentBuilder::store) itself, from the checkpoint that it was given there, and the turn's
    /// [path](crate::store::Store::path) as the store has it after that. `shown` are the messages of the
    /// turn that the user was shown before its host died, for a program that keeps them: what is not stored of an answer stays, as [`Input::Shown`](stepwell_core::run::Input::Shown) says. The program
    /// holds a [`Lease`](crate::store::Lease) of the owner itself.
    ///
    /// # Errors
    /// The text is no checkpoint, one of another version, or it does not fit the path.
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
            Journaled::revive_stored(checkpoint, path, &setup.config, journal, now)
        })?;
        Ok(agent.begin(Begin::Claimed {
            turn,
            // Who claims turns says itself that it lives.
            lease: None,
            run: Box::new(run),
            setup,
            shown,
        }))
    }

    /// A stored run, and the agent on its thread.
    fn revived(
        &self,
        read: impl FnOnce(&Setup) -> Result<Journaled, SnapshotError>,
    ) -> Result<(Self, Journaled, Arc<Setup>), ReviveError> {
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

    /// Another conversation with the same model and tools: the one that goes by this key, or a new one.
    ///
    /// A thread lives while an [`Agent`] on it is held, or a turn of it is under way; then its memory is freed, and what was
    /// said in it is in the [store](crate::AgentBuilder::store), or gone. So any number of threads costs nothing once they are
    /// released.
    pub fn thread(&self, key: impl Into<ThreadKey>) -> Self {
        self.thread_with_history(key, Conversation::default())
    }

    /// As [`thread`](Self::thread); a new one begins with an earlier conversation.
    pub fn thread_with_history(&self, key: impl Into<ThreadKey>, history: Conversation) -> Self {
        let thread = self.shared.thread(key.into(), history);
        Self {
            thread,
            ..self.clone()
        }
    }

    /// Forgets a thread, as [`forget_thread`](Self::forget_thread) does, and deletes it from the agent's
    /// [store](crate::AgentBuilder::store) with all its turns. Whether the store had it; an agent without one has none.
    ///
    /// # Errors
    /// The store cannot be written: the thread is forgotten here, and still there.
    pub async fn delete_thread(&self, key: &ThreadKey) -> Result<bool, StoreError> {
        self.forget_thread(key);
        match self.stored() {
            Some(stored) => in_time(stored.store.delete_thread(key)).await,
            None => Ok(false),
        }
    }

    /// Cancels the thread's turn, if one is under way, and forgets its conversation and its place in the
    /// [`registry`](Self::registry), where it may be unread: what a [store](crate::AgentBuilder::store) has of it stays there. An
    /// [`Agent`] on the thread that is still held should not be used any more.
    pub fn forget_thread(&self, key: &ThreadKey) {
        self.shared.forget(key);
    }

    /// The same conversations, whose turns are given other code: for an app whose code belongs to where a turn was begun,
    /// as to an event loop of its own.
    #[must_use]
    pub fn with_code(&self, code: TurnCode) -> Self {
        Self {
            code: Some(Arc::new(code)),
            ..self.clone()
        }
    }

    /// The same conversations, whose turns have answers of this type. They are decoded by this code; without any by the
    /// agent's own, if [`OutputType::decoded_by_host`] says so.
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

    /// The same conversations, whose turns' tools are given this value, in the place of that of
    /// [`AgentBuilder::deps`](crate::AgentBuilder::deps): what is one user's or one request's own, say.
    #[must_use]
    pub fn with_deps<T: Send + Sync + 'static>(&self, deps: T) -> Self {
        Self {
            deps: Some(Deps::new(deps)),
            ..self.clone()
        }
    }

    /// What a turn that begins now is given.
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

    /// What a turn is given that begins with tools of its own, too.
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

    /// Where its turns are kept.
    pub(crate) fn stored(&self) -> Option<StoreSetup> {
        let stored = self.shared.setup.store.clone()?;
        Some(match &self.code {
            Some(code) => code.store_of(stored),
            None => stored,
        })
    }

    /// What its turns are configured to, but for the tools of its [sources](crate::AgentBuilder::tool_source).
    #[must_use]
    pub fn config(&self) -> &Arc<RunConfig> {
        &self.shared.setup.config
    }

    /// The conversation, as it was after the last turn of this process; [`load`](Self::load) gives that of the
    /// [store](crate::AgentBuilder::store).
    #[must_use]
    pub fn conversation(&self) -> Conversation {
        lock(&self.thread.conversation).conversation.clone()
    }

    /// The conversation's id.
    #[must_use]
    pub fn thread_id(&self) -> &ThreadId {
        &self.thread.key.thread
    }

    /// Who answers.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.setup.config.endpoint
    }

    /// The conversation's id, with its server and room.
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

    /// The app goes to the background. Like the following three, it concerns the turns of all threads, those under way
    /// and those that begin later. What a turn makes of it is
    /// [`DevicePolicy`](stepwell_core::run::DevicePolicy)'s to say: by default its clocks stand still, so that an app
    /// that was frozen finds nothing timed out.
    pub fn entered_background(&self) {
        self.shared.device.send_modify(Device::enter_background);
    }

    /// The app is in the foreground again.
    pub fn entered_foreground(&self) {
        self.shared.device.send_modify(Device::enter_foreground);
    }

    /// The network is gone. By default requests wait for the next one, and none that fails counts as a try.
    pub fn network_lost(&self) {
        self.shared.device.send_modify(Device::lose_network);
    }

    /// There is a network, or another one took the place of the one before.
    pub fn network_available(&self) {
        self.shared.device.send_modify(Device::find_network);
    }

    /// Which threads have a turn under way, what the user looks at, and what is unread. Tell it with
    /// [`look_at`](SharedRegistry::look_at) what the user looks at. Its runs are the agent's turns: leave it to the
    /// agent to register and to remove them.
    #[must_use]
    pub fn registry(&self) -> &SharedRegistry {
        &self.shared.registry
    }

    /// Waits for what next happens to the turns of all threads: a turn began, goes on with another hop, is over; a
    /// thread is unread. Each event goes to one caller. The same events as [`SharedRegistry::poll_event`] gives, and
    /// it wakes for those that this agent's turns made; a read mark comes with the next of them.
    pub async fn next_registry_event(&self) -> RegistryEvent {
        loop {
            if let Some(event) = self.shared.registry.poll_event() {
                // There may be more, for whoever else waits.
                self.shared.changed.notify_one();
                return event;
            }
            self.shared.changed.notified().await;
        }
    }
}
