use super::layout::Layout;
use super::{
    ChatCompaction, ChatConnection, ChatProblem, ChatState, ChatStatus, ChatUpdate,
    ToolCardProgress,
};
use crate::event::{Message, MessageContent, TokenUsage};
use crate::run::{
    Outcome, Pending, PendingKind, Problem, SessionError, StoredTurn as Turn, TurnStatus,
    usage_of_turn,
};
use crate::session::pending;
use crate::session::view::{TurnView, ViewOptions};
use crate::session::view_state::{TurnState, ViewState};
use crate::tool::PartialArguments;
use crate::transcript::Transcript;
use crate::{MessageId, RunId, Timestamp, ToolCallId};
use std::collections::{BTreeMap, BTreeSet};

/// Builds a [`ChatState`] from stored turns, the actions of the app, and the events of the turn under way. The host
/// passes on, in order, every event that it receives. Once a turn is over and stored, the state equals the one that is
/// built from the store.
///
/// The cost of an event does not grow with the conversation, and the screen reads as often as it likes: by
/// [`state`](Self::state), or by [`take_update`](Self::take_update), which has only what changed.
///
/// ```
/// use stepwell_core::Timestamp;
/// use stepwell_core::event::{Event, Message};
/// use stepwell_core::run::{Outcome, RunEvent};
/// use stepwell_core::session::{ChatPart, ChatReducer, ChatStatus, ViewOptions};
///
/// let mut chat = ChatReducer::new(ViewOptions::default());
/// let now = Timestamp(1_000);
/// chat.begin("run-1".into(), None, Some(Message::user("user-1", "Hello")), now);
/// assert_eq!(chat.state().status, ChatStatus::Submitted);
/// for json in [
///     r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
///     r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hi!"}"#,
///     r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
/// ] {
///     let event: Event = serde_json::from_str(json)?;
///     chat.apply(&RunEvent::AgUi(event), now);
/// }
/// assert!(chat.state().messages[1].is_streaming);
/// chat.apply(&RunEvent::Completed(Outcome::Success), now);
/// let state = chat.state();
/// assert_eq!(state.status, ChatStatus::Ready);
/// assert_eq!(state.messages[1].parts, [ChatPart::Text { text: "Hi!".to_owned() }]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChatReducer {
    pub(super) view: ViewState,
    pub(super) options: ViewOptions,
    /// The messages that the user sent during the turn, until they are taken or refused.
    pub(super) typed: Vec<Message>,
    /// The run of the hop.
    pub(super) run_id: RunId,
    pub(super) chat: ChatState,
    pub(super) layout: Layout,
    /// The arguments that stream, by their calls.
    pub(super) arguments: BTreeMap<ToolCallId, PartialArguments>,
    /// What the running tools reported.
    pub(super) overlays: BTreeMap<ToolCallId, Overlay>,
    /// The messages of the conversation that the screen does not show as they are.
    pub(super) stale: BTreeMap<MessageId, Staleness>,
    /// All messages of the screen must be built again.
    pub(super) is_rebuilt: bool,
    /// The messages of the screen that changed since the last update, by their numbers.
    pub(super) changed: BTreeSet<usize>,
    /// Those before a rebuild, by their ids.
    pub(super) unreported: BTreeSet<MessageId>,
    pub(super) is_reordered: bool,
    pub(super) is_touched: bool,
    /// The revision of the last update.
    reported: Option<u64>,
    /// The message of the screen that is marked as streaming.
    pub(super) streaming: Option<usize>,
    /// A turn is under way.
    pub(super) is_busy: bool,
    /// Something of the turn's answer arrived.
    pub(super) has_answer: bool,
}

/// What a running tool reported.
#[derive(Clone, Debug, Default)]
pub(super) struct Overlay {
    pub(super) progress: Option<ToolCardProgress>,
    pub(super) partial_result: Option<MessageContent>,
}

/// How a message of the conversation differs from what the screen shows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Staleness {
    /// Its text grew, and nothing else changed.
    Grown,
    /// Anything may have changed.
    Changed,
}

impl ChatReducer {
    /// Creates the reducer of an empty chat.
    #[must_use]
    pub fn new(options: ViewOptions) -> Self {
        Self::with_view(ViewState::default(), options)
    }

    /// Creates the reducer of a chat that continues stored turns, the oldest first.
    ///
    /// # Errors
    /// The turns do not form a path, or their blocks do not fit together.
    pub fn from_turns<'a>(
        path: impl IntoIterator<Item = &'a Turn>,
        options: ViewOptions,
    ) -> Result<Self, SessionError> {
        let mut view = ViewState::default();
        let mut last = None;
        for turn in path {
            view.add(turn)?;
            last = Some(turn);
        }
        let mut chat = Self::with_view(view, options);
        if let Some(turn) = last {
            chat.chat.usage = usage_of_turn(turn);
            chat.chat.compaction = ChatCompaction::of(chat.view.transcript.compaction());
            chat.chat.pending = pending(turn);
            for waiting in &chat.chat.pending {
                chat.view.note_pending(waiting);
            }
            let problem = turn.outcome.as_ref().and_then(Outcome::problem);
            chat.chat.problem = problem.and_then(|problem| ChatProblem::from(problem).shown());
        }
        Ok(chat)
    }

    /// Creates the reducer of a chat that continues a conversation without stored turns.
    #[must_use]
    pub fn from_messages(messages: Vec<Message>, options: ViewOptions) -> Self {
        Self::with_view(ViewState::of(Transcript::new(messages)), options)
    }

    fn with_view(view: ViewState, options: ViewOptions) -> Self {
        Self {
            view,
            options,
            typed: Vec::new(),
            run_id: RunId::default(),
            chat: ChatState::default(),
            layout: Layout::default(),
            arguments: BTreeMap::new(),
            overlays: BTreeMap::new(),
            stale: BTreeMap::new(),
            is_rebuilt: true,
            changed: BTreeSet::new(),
            unreported: BTreeSet::new(),
            is_reordered: false,
            is_touched: false,
            reported: None,
            streaming: None,
            is_busy: false,
            has_answer: false,
        }
    }

    /// Begins a turn with the user's message, at the stored time.
    pub fn begin(
        &mut self,
        turn: RunId,
        parent: Option<RunId>,
        message: Option<Message>,
        now: Timestamp,
    ) {
        self.run_id = turn.clone();
        self.view.turns.push(TurnState {
            view: TurnView {
                id: turn,
                parent,
                status: TurnStatus::Streaming,
                outcome: None,
                created_at: now,
                updated_at: now,
            },
            is_live: true,
        });
        self.typed.clear();
        if let Some(message) = message {
            // As the run does: a message that was not answered and is sent again is there once.
            self.view.transcript.make_way_for(&message);
            let _ = self.view.transcript.push(message);
        }
        self.view.transcript.begin_hop(0);
        self.chat.usage = TokenUsage::default();
        self.set_busy(ChatConnection::Connecting);
    }

    /// Continues the last turn, which is stored and did not end: its events follow.
    pub fn resume(&mut self) {
        let is_unfinished = |turn: &TurnState| turn.view.status == TurnStatus::Streaming;
        if self.view.turns.last().is_some_and(is_unfinished) {
            self.set_busy(ChatConnection::Resuming);
        }
    }

    fn set_busy(&mut self, connection: ChatConnection) {
        self.arguments.clear();
        self.overlays.clear();
        self.is_busy = true;
        self.has_answer = false;
        self.chat.problem = None;
        self.chat.pending.clear();
        self.chat.interrupts.clear();
        self.chat.connection = connection;
        self.is_touched = true;
    }

    /// Notes a message that the user sends during the turn ([`Input::Steer`](crate::run::Input::Steer)). It is shown once
    /// the turn takes it.
    pub fn steer(&mut self, message: Message) {
        self.typed.push(message);
    }

    /// Notes the usage of the turn so far. Events do not report the usage.
    pub fn set_usage(&mut self, usage: TokenUsage) {
        if self.chat.usage != usage {
            self.chat.usage = usage;
            self.is_touched = true;
        }
    }

    /// Ends the turn, for a host that has no [`Outcome`]: one that could not begin, or whose events come from another
    /// process. [`apply`](Self::apply) ends a turn by [`RunEvent::Completed`](crate::run::RunEvent::Completed).
    pub fn end(&mut self, status: TurnStatus, problem: Option<ChatProblem>) {
        if let Some(turn) = self.view.turns.last_mut() {
            turn.view.status = status;
        }
        self.is_busy = false;
        self.arguments.clear();
        self.overlays.clear();
        self.typed.clear();
        self.chat.pending.clear();
        self.chat.interrupts.clear();
        self.chat.connection = ChatConnection::Idle;
        self.chat.problem = problem.and_then(ChatProblem::shown);
        self.is_rebuilt = true;
        self.is_touched = true;
    }

    pub(super) fn end_with(&mut self, outcome: &Outcome) {
        self.end(
            outcome.turn_status(),
            outcome.problem().map(|problem: Problem| problem.into()),
        );
        if let Some(turn) = self.view.turns.last_mut() {
            turn.view.outcome = Some(outcome.clone());
        }
    }

    /// Returns the state as the user sees it now.
    pub fn state(&mut self) -> &ChatState {
        self.build();
        let status = self.status();
        if std::mem::take(&mut self.is_touched) || status != self.chat.status {
            self.chat.revision += 1;
        }
        self.chat.status = status;
        self.chat.omitted_messages = self.layout.dropped as u64;
        &self.chat
    }

    /// Builds all messages again with the next read, which must change nothing: for tests.
    #[doc(hidden)]
    pub fn rebuild_all(&mut self) {
        self.is_rebuilt = true;
    }

    /// Returns the changes since the last update; the first one has the complete state. `None` if nothing changed.
    pub fn take_update(&mut self) -> Option<ChatUpdate> {
        let before = self.reported;
        let revision = self.state().revision;
        if before == Some(revision) {
            return None;
        }
        self.reported = Some(revision);
        let dropped = self.layout.dropped;
        let changed = std::mem::take(&mut self.changed);
        let messages = changed.into_iter().filter_map(|at| {
            let at = at.checked_sub(dropped)?;
            self.chat.messages.get(at).cloned()
        });
        let messages = messages.collect();
        let is_reordered = std::mem::take(&mut self.is_reordered);
        let ids = || self.chat.messages.iter().map(|message| message.id.clone());
        Some(ChatUpdate {
            revision,
            status: self.chat.status,
            connection: self.chat.connection.clone(),
            problem: self.chat.problem.clone(),
            pending: self.chat.pending.clone(),
            interrupts: self.chat.interrupts.clone(),
            usage: self.chat.usage.clone(),
            omitted_messages: self.chat.omitted_messages,
            compaction: self.chat.compaction.clone(),
            messages,
            order: is_reordered.then(|| ids().collect()),
        })
    }

    fn status(&self) -> ChatStatus {
        let asks = |pending: &Pending| pending.kind != PendingKind::Result;
        let waits_for_user = self.chat.pending.iter().any(asks) || !self.chat.interrupts.is_empty();
        match (self.is_busy, &self.chat.problem) {
            (false, None) => ChatStatus::Ready,
            (false, Some(_)) => ChatStatus::Error,
            (true, _) if waits_for_user => ChatStatus::WaitingForUser,
            (true, _) if self.has_answer => ChatStatus::Streaming,
            (true, _) => ChatStatus::Submitted,
        }
    }

    /// The turn under way.
    pub(super) fn live_turn(&self) -> Option<&RunId> {
        let turn = self.view.turns.last().filter(|_| self.is_busy);
        turn.map(|turn| &turn.view.id)
    }
}
