//! A conversation of an agent.

use crate::agent::{Agent, Handle, core_start};
use crate::error::StepwellError;
use crate::json_value::JsonValue;
use crate::machine::{Start, any_json, parse_parts};
use crate::media::{ContentPart, content};
use crate::pending::Pending;
use crate::runtime::on_runtime;
use crate::session::TurnRecord;
use crate::thread_key::ThreadKey;
use crate::tool::AgentTool;
use crate::turn::Turn;
use crate::{config::TurnOptions, event::ToolFailureKind};
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::RunId;
use stepwell_core::tool::{ToolFailure, ToolOutput};

/// What an agent and a user have said. The conversation of a key is one and the same for as long as an object of it, or
/// a turn, exists. Releasing the last object forgets what was said, unless the agent has a store.
#[derive(Debug, uniffi::Object)]
pub struct Conversation {
    conversation: stepwell_io::Conversation<Value>,
    handle: Handle,
}

#[uniffi::export]
impl Conversation {
    /// Sends a message to the model, and returns the turn to take events from. If another turn of the conversation is
    /// under way, the turn fails at once as busy, unless `when_busy` says otherwise. `options` override the agent's
    /// options for this turn, and `tools` are offered in addition to the agent's tools. `parts` follow the text, in
    /// order: media, and texts between them. With parts, an empty text is left out.
    #[uniffi::method(default(tools = [], parts = [], options))]
    pub fn send(
        &self,
        text: String,
        options: TurnOptions,
        tools: Vec<AgentTool>,
        parts: Vec<ContentPart>,
    ) -> Result<Arc<Turn>, StepwellError> {
        let run = self.conversation.send(content(text, parts)?);
        self.handle.begin(run, options, tools)
    }

    /// Starts a turn with ids and a message that the app makes: one that is more than text, say, or one with the
    /// answers to what an AG-UI agent asked at the end of an earlier turn.
    #[uniffi::method(default(tools = []))]
    pub fn start(&self, start: Start, tools: Vec<AgentTool>) -> Result<Arc<Turn>, StepwellError> {
        let (start, options) = core_start(start, &self.handle)?;
        let run = self.conversation.start(start);
        self.handle.begin(run, options, tools)
    }

    /// Starts a turn that does not follow the conversation's last turn: one that follows `parent`, or a first one. The
    /// turn continues the conversation as of `parent`, and the turns that followed `parent` before stay in the store as
    /// another branch. Needs a store: otherwise the turn fails at once.
    #[uniffi::method(default(tools = []))]
    pub fn branch(
        &self,
        parent: Option<String>,
        start: Start,
        tools: Vec<AgentTool>,
    ) -> Result<Arc<Turn>, StepwellError> {
        let (start, options) = core_start(start, &self.handle)?;
        let run = self.conversation.start(start);
        let run = run.after(parent.map(RunId::from));
        self.handle.begin(run, options, tools)
    }

    /// Sends another message instead of the one that a stored turn began with: a new branch, from the conversation
    /// before that turn, which stays. Needs a store. The other arguments are as for `send`.
    #[uniffi::method(default(tools = [], parts = [], options))]
    pub async fn resend(
        &self,
        turn: String,
        text: String,
        options: TurnOptions,
        tools: Vec<AgentTool>,
        parts: Vec<ContentPart>,
    ) -> Result<Arc<Turn>, StepwellError> {
        let (conversation, handle) = (self.conversation.clone(), self.handle.clone());
        let content = content(text, parts)?;
        on_runtime(self.handle.scope(async move {
            let run = conversation.resend(&turn.into(), content).await?;
            handle.begin(run, options, tools)
        }))
        .await
    }

    /// Returns what the conversation's turn waits for, whichever process drives the turn: approvals and questions for
    /// the user, and results of deferred calls. Empty if no turn is under way.
    pub async fn pending(&self) -> Result<Vec<Pending>, StepwellError> {
        let conversation = self.conversation.clone();
        on_runtime(async move {
            let pending = conversation.pending().await?;
            Ok(pending.into_iter().map(Into::into).collect())
        })
        .await
    }

    /// Allows the call that waits for the user's approval under this id, with these arguments (any JSON) instead of the
    /// model's if there are any. The turn may be in another process that shares the store; if no process drives it any
    /// more, it continues in this one.
    #[uniffi::method(default(arguments = None))]
    pub async fn approve(
        &self,
        id: String,
        arguments: Option<JsonValue>,
    ) -> Result<(), StepwellError> {
        let conversation = self.conversation.clone();
        let arguments = arguments.map(|json| any_json("the arguments", json));
        let arguments = arguments.transpose()?;
        on_runtime(self.handle.scope(async move {
            match arguments {
                Some(arguments) => conversation.approve_with(id, arguments).await?,
                None => conversation.approve(id).await?,
            }
            Ok(())
        }))
        .await
    }

    /// Denies the call that waits for approval under this id, or declines the question. The model, or the tool that
    /// asked, gets the reason.
    #[uniffi::method(default(reason = None))]
    pub async fn deny(&self, id: String, reason: Option<String>) -> Result<(), StepwellError> {
        let conversation = self.conversation.clone();
        let work = async move { Ok(conversation.deny(id, reason).await?) };
        on_runtime(self.handle.scope(work)).await
    }

    /// Answers the question of a running tool that waits under this id. `value` is any JSON that fits the question.
    pub async fn answer(&self, id: String, value: JsonValue) -> Result<(), StepwellError> {
        let conversation = self.conversation.clone();
        let value = any_json("the answer", value)?;
        let work = async move { Ok(conversation.answer(id, value).await?) };
        on_runtime(self.handle.scope(work)).await
    }

    /// Gives the turn the result of a deferred call, which may be in another process, as for `approve`.
    pub async fn resolve_call(
        &self,
        tool_call_id: String,
        content: String,
    ) -> Result<(), StepwellError> {
        self.resolve(tool_call_id, Ok(content.into())).await
    }

    /// Gives the turn a result that is more than text: a JSON array of AG-UI content parts.
    pub async fn resolve_call_parts(
        &self,
        tool_call_id: String,
        parts: JsonValue,
    ) -> Result<(), StepwellError> {
        self.resolve(tool_call_id, Ok(parse_parts(parts)?)).await
    }

    /// Reports that a deferred call failed; the model is shown the message. `kind` is `Error` if absent.
    #[uniffi::method(default(kind = None))]
    pub async fn fail_call(
        &self,
        tool_call_id: String,
        message: String,
        kind: Option<ToolFailureKind>,
    ) -> Result<(), StepwellError> {
        let kind = kind.unwrap_or(ToolFailureKind::Error);
        self.resolve(tool_call_id, Err(ToolFailure::new(kind.into(), message)))
            .await
    }

    /// Cancels the turn under way in this process, if there is one.
    pub fn cancel(&self) {
        self.conversation.cancel();
    }

    /// Cancels the turn under way, and forgets what was said; what a store has stays there.
    pub fn forget(&self) {
        self.conversation.forget();
    }

    /// Cancels the turn under way, and deletes the conversation from the store with all its turns. Returns whether the
    /// store had it; without a store, `false`.
    pub async fn delete(&self) -> Result<bool, StepwellError> {
        let conversation = self.conversation.clone();
        on_runtime(async move { Ok(conversation.delete().await?) }).await
    }

    /// The key: the id, with its room and server.
    pub fn key(&self) -> ThreadKey {
        self.conversation.key().clone().into()
    }

    /// Reads the conversation from the store: a JSON array of AG-UI messages, oldest first. Use it for a conversation
    /// in which this process has had no turn yet; from then on `messages` returns it too, as it does without a store.
    pub async fn load(&self) -> Result<JsonValue, StepwellError> {
        let conversation = self.conversation.clone();
        on_runtime(async move { Ok(JsonValue::of(&conversation.load().await?.messages())) }).await
    }

    /// Reads the turns of the conversation from the store, the oldest first, for a `ChatReducer`. Empty without a store, or
    /// if the store does not have the conversation.
    pub async fn stored_turns(&self) -> Result<Vec<TurnRecord>, StepwellError> {
        let conversation = self.conversation.clone();
        on_runtime(async move {
            let turns = conversation.stored_turns().await?;
            Ok(turns.into_iter().map(Into::into).collect())
        })
        .await
    }

    /// The conversation as it was after the last turn of this process: a JSON array of AG-UI messages, oldest first.
    pub fn messages(&self) -> JsonValue {
        JsonValue::of(&self.conversation.transcript().messages())
    }

    /// The state shared with an AG-UI agent, as it was after the last turn of this process: any JSON.
    pub fn shared_state(&self) -> JsonValue {
        JsonValue::of(self.conversation.transcript().shared_state())
    }
}

impl Conversation {
    pub(crate) fn new(conversation: stepwell_io::Conversation<Value>, handle: Handle) -> Arc<Self> {
        Arc::new(Self {
            conversation,
            handle,
        })
    }

    async fn resolve(
        &self,
        tool_call_id: String,
        result: Result<ToolOutput, ToolFailure>,
    ) -> Result<(), StepwellError> {
        let conversation = self.conversation.clone();
        let work = async move { Ok(conversation.resolve_call(tool_call_id, result).await?) };
        on_runtime(self.handle.scope(work)).await
    }
}

#[uniffi::export]
impl Agent {
    /// Returns the conversation of this key, a new one if there is none.
    pub fn conversation(&self, key: ThreadKey) -> Arc<Conversation> {
        let key = stepwell_core::registry::ThreadKey::from(key);
        Conversation::new(self.inner().conversation(key), self.handle().clone())
    }

    /// Returns the conversation of this key; a new one begins with an earlier conversation: a JSON array of AG-UI
    /// messages, oldest first, and the state shared with an AG-UI agent, any JSON.
    #[uniffi::method(default(shared_state = None))]
    pub fn conversation_with_history(
        &self,
        key: ThreadKey,
        history: JsonValue,
        shared_state: Option<JsonValue>,
    ) -> Result<Arc<Conversation>, StepwellError> {
        let history = crate::machine::transcript(Some(history), shared_state)?;
        let key = stepwell_core::registry::ThreadKey::from(key);
        let conversation = self.inner().conversation(key).with_history(history);
        Ok(Conversation::new(conversation, self.handle().clone()))
    }
}
