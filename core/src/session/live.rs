use super::view::{SessionView, TurnView, ViewOptions};
use super::view_state::{TurnState, ViewState};
use crate::event::{Event, EventRef, Message, ToolMessage};
use crate::run::{Block, RunEvent, SessionError, StoredTurn as Turn, ToolCallUpdate, TurnStatus};
use crate::{MessageId, RunId, Timestamp};

/// A session while its turns run: a view built from the events of the runs. The host passes on, in order, whatever it shows
/// to the user. Once a turn is over and stored, the view equals the one from the store.
///
/// ```
/// use stepwell_core::Timestamp;
/// use stepwell_core::event::{Event, Message};
/// use stepwell_core::run::{Outcome, RunEvent};
/// use stepwell_core::session::{LiveSession, ViewOptions};
///
/// let mut live = LiveSession::new(ViewOptions::default());
/// let now = Timestamp(1_000);
/// live.begin("run-1".into(), None, Some(Message::user("user-1", "Hello")), now);
/// for json in [
///     r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
///     r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hi!"}"#,
///     r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
/// ] {
///     let event: Event = serde_json::from_str(json)?;
///     live.event(&RunEvent::AgUi(event), now);
/// }
/// live.event(&RunEvent::Completed(Outcome::Success), now);
/// let view = live.view();
/// assert_eq!(view.title, "Hello");
/// assert_eq!(view.messages[1].content.to_text(), "Hi!");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LiveSession {
    state: ViewState,
    options: ViewOptions,
    /// The messages that the user sent during the turn, until they are taken or refused.
    typed: Vec<Message>,
    /// The run of the hop.
    run_id: RunId,
}

impl LiveSession {
    /// Creates a session without turns.
    #[must_use]
    pub fn new(options: ViewOptions) -> Self {
        Self {
            state: ViewState::default(),
            options,
            typed: Vec::new(),
            run_id: RunId::default(),
        }
    }

    /// Creates a session that continues stored turns, the oldest first.
    ///
    /// # Errors
    /// The turns do not form a path, or their blocks do not fit together.
    pub fn of<'a>(
        path: impl IntoIterator<Item = &'a Turn>,
        options: ViewOptions,
    ) -> Result<Self, SessionError> {
        let mut live = Self::new(options);
        for turn in path {
            live.state.add(turn)?;
        }
        Ok(live)
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
        self.state.turns.push(TurnState {
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
            let _ = self.state.transcript.push(message);
        }
        self.state.transcript.begin_hop(0);
        self.state.note_messages();
    }

    /// Notes a message that the user sends during the turn ([`Input::Steer`](crate::run::Input::Steer)). It is shown once the
    /// turn takes it.
    pub fn typed(&mut self, message: Message) {
        self.typed.push(message);
    }

    /// Applies an event of the turn's run.
    pub fn event(&mut self, event: &RunEvent, now: Timestamp) {
        let Some(turn) = self.state.turns.last_mut() else {
            return;
        };
        match event {
            RunEvent::AgUi(event) => {
                let _ = self.state.transcript.apply(EventRef::from(event));
                match event {
                    Event::ToolCallResult(result) => {
                        self.state.note_answer(&result.tool_call_id, now);
                    }
                    Event::MessagesSnapshot(_) => self.state.is_rewritten = true,
                    _ => {}
                }
            }
            RunEvent::ToolCallUpdate(update) => {
                let turn = turn.view.id.clone();
                self.take_result(update);
                self.state.note_status(
                    &turn,
                    update.call,
                    &update.tool_call_id,
                    update.status,
                    update.result.as_ref(),
                    now,
                );
            }
            RunEvent::HopStarted { hop, run_id } => {
                self.run_id = run_id.clone();
                self.state.transcript.begin_hop(*hop);
            }
            RunEvent::SteeringTaken { message_id, .. } => {
                let place = self.typed.iter().position(|typed| typed.id() == message_id);
                if let Some(place) = place {
                    let message = self.typed.remove(place);
                    let _ = self.state.transcript.push(message);
                }
            }
            RunEvent::SteeringRefused { message, .. } => {
                self.typed.retain(|typed| typed.id() != message.id());
            }
            RunEvent::OutputRefused {
                correction: Some(message),
                ..
            } => {
                let _ = self.state.transcript.push((**message).clone());
            }
            RunEvent::Completed(outcome) => {
                turn.view.status = outcome.turn_status();
                turn.view.outcome = Some(outcome.clone());
            }
            _ => {}
        }
    }

    /// The run puts a result into the history, where an agent may speak of it later.
    fn take_result(&mut self, update: &ToolCallUpdate) {
        let Some(result) = &update.result else {
            return;
        };
        let index = usize::try_from(update.call.index).unwrap_or(usize::MAX);
        self.state
            .transcript
            .insert_result(Message::Tool(ToolMessage {
                id: MessageId::of_result(&self.run_id, index),
                tool_call_id: update.tool_call_id.clone(),
                content: match result {
                    Ok(output) => output.content.clone(),
                    Err(failure) => failure.message.as_str().into(),
                },
                error: result.as_ref().err().map(|failure| failure.message.clone()),
                ..ToolMessage::default()
            }));
    }

    /// Notes that the store has these blocks of the turn now, with this time.
    pub fn stored(&mut self, blocks: &[Block], at: Timestamp) {
        let Some(turn) = self.state.turns.last_mut() else {
            return;
        };
        turn.view.updated_at = at;
        let turn = turn.view.id.clone();
        for block in blocks {
            self.state.note_block(&turn, block, at);
        }
    }

    /// Returns the session as the user sees it now.
    #[must_use]
    pub fn view(&mut self) -> SessionView {
        self.state.note_messages();
        self.state.view(&self.options)
    }
}
