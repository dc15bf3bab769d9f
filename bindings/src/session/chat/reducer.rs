use super::{ChatState, ChatUpdate, read_run_event};
use crate::effect::TurnStatus;
use crate::error::StepwellError;
use crate::event::{Event, event_to_json};
use crate::json_value::JsonValue;
use crate::outcome::{Outcome, TokenUsage};
use crate::session::TurnRecord;
use crate::session::view::{of_records, path_of};
use crate::time::Timestamp;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_core::event::Message;
use stepwell_core::session::{self, ViewOptions};

/// Builds the contents of a chat screen from stored turns, the actions of the app, and the events of the turn under way.
/// The app passes on, in order, every event that it receives. Once a turn is over and stored, the state equals the one
/// that is built from the store.
///
/// The cost of an event does not grow with the conversation. A screen reads as often as it likes: `state`, or
/// `take_update`, which has only what changed.
#[derive(Debug, uniffi::Object)]
pub struct ChatReducer(Mutex<session::ChatReducer>);

// Uniffi passes strings by value.
#[allow(clippy::needless_pass_by_value)]
#[uniffi::export]
impl ChatReducer {
    /// Creates the reducer of a chat that continues stored turns: all of a thread, or those of one path. `turn` is the end
    /// of the path; without it, the turn that ends last.
    #[uniffi::constructor(default(turns = [], turn = None))]
    pub fn new(turns: Vec<TurnRecord>, turn: Option<String>) -> Result<Arc<Self>, StepwellError> {
        let tree = session::TurnTree::new(of_records(turns)?)?;
        let path = path_of(&tree, turn)?;
        let chat = session::ChatReducer::from_turns(path, ViewOptions::default())?;
        Ok(Arc::new(Self(Mutex::new(chat))))
    }

    /// Creates the reducer of a chat that continues a conversation without stored turns: a JSON array of AG-UI messages,
    /// the oldest first.
    #[uniffi::constructor]
    pub fn from_messages(messages: JsonValue) -> Result<Arc<Self>, StepwellError> {
        let messages: Vec<Message> = read("the messages", &messages)?;
        let chat = session::ChatReducer::from_messages(messages, ViewOptions::default());
        Ok(Arc::new(Self(Mutex::new(chat))))
    }

    /// Begins a turn with the user's message, an AG-UI message in JSON. `turn` is the run id of its first hop.
    pub fn begin(
        &self,
        turn: String,
        message: Option<JsonValue>,
        now: Timestamp,
    ) -> Result<(), StepwellError> {
        let message = message.as_ref();
        let message = message.map(|json| read("the message", json)).transpose()?;
        self.chat().begin(turn.into(), None, message, now.into());
        Ok(())
    }

    /// Continues the last stored turn, which did not end: its events follow.
    pub fn resume(&self) {
        self.chat().resume();
    }

    /// Notes a message that the user sends during the turn: an AG-UI message in JSON. It is shown once the turn takes it.
    pub fn steer(&self, message: JsonValue) -> Result<(), StepwellError> {
        self.chat().steer(read("the message", &message)?);
        Ok(())
    }

    /// Applies events of the turn under way, in order.
    pub fn apply(&self, events: Vec<Event>, now: Timestamp) -> Result<(), StepwellError> {
        for event in events {
            let json = read("the event", &event_to_json(event))?;
            let event = read_run_event(json).map_err(|reason| invalid(&reason))?;
            if let Some(event) = event {
                self.chat().apply(&event, now.into());
            }
        }
        Ok(())
    }

    /// Notes the usage of the turn so far.
    pub fn set_usage(&self, usage: TokenUsage) {
        self.chat().set_usage(core_usage(&usage));
    }

    /// Ends the turn without its last event: a turn that could not begin, or whose events come from another process.
    pub fn end(&self, status: TurnStatus, outcome: Option<Outcome>) {
        let outcome = outcome.map(stepwell_core::run::Outcome::from);
        let problem = outcome.and_then(|outcome| outcome.problem());
        self.chat().end(status.into(), problem.map(Into::into));
    }

    /// Returns the state as the user sees it now.
    pub fn state(&self) -> ChatState {
        self.chat().state().clone().into()
    }

    /// Returns the changes since the last update; the first one has the complete state. Nothing if nothing changed.
    pub fn take_update(&self) -> Option<ChatUpdate> {
        self.chat().take_update().map(Into::into)
    }

    /// Returns the digest of the state without its revisions, which scenario files hold.
    pub fn digest(&self) -> String {
        self.chat().state().digest().to_string()
    }
}

impl ChatReducer {
    /// A panic in the core leaves a state that may be wrong, and never unsound.
    fn chat(&self) -> MutexGuard<'_, session::ChatReducer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn core_usage(usage: &TokenUsage) -> stepwell_core::event::TokenUsage {
    let TokenUsage {
        input_tokens,
        output_tokens,
        total_tokens,
        reasoning_tokens,
        cached_input_tokens,
        cache_write_input_tokens,
        cost,
    } = *usage;
    stepwell_core::event::TokenUsage {
        input_tokens,
        output_tokens,
        total_tokens,
        reasoning_tokens,
        cached_input_tokens,
        cache_write_input_tokens,
        cost: cost.and_then(|cost| stepwell_core::Usd::from_dollars(cost).ok()),
        ..stepwell_core::event::TokenUsage::default()
    }
}

fn read<T: serde::de::DeserializeOwned>(what: &str, json: &JsonValue) -> Result<T, StepwellError> {
    serde_json::from_str(json.as_str()).map_err(|_| invalid(&format!("{what} cannot be read")))
}

fn invalid(reason: &str) -> StepwellError {
    StepwellError::invalid(
        &reason,
        "give AG-UI messages, and events just as they came from a turn",
    )
}
