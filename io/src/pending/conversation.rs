//! The verbs of a conversation for what its turn waits for, in whichever process that turn is.

use super::owner;
use super::reply::Reply;
use crate::conversation::Conversation;
use crate::error::Error;
use crate::turn::handle::{TurnError, ask_for, reply_to};
use serde_json::Value;
use stepwell_core::ToolCallId;
use stepwell_core::run::{Pending, RunMachine};
use stepwell_core::tool::ToolResult;

/// What waits is answered in this order: the turn of this process; the process that drives the turn, through the store; and
/// if no process drives it any more, this process, in which the turn then continues to its end.
impl<T> Conversation<T> {
    /// Returns what the conversation's turn waits for, whichever process drives the turn. Empty if no turn is under way.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn pending(&self) -> Result<Vec<Pending>, Error> {
        if let Some(commands) = self.runner.thread.commands() {
            match ask_for(&commands, RunMachine::pending).await {
                Ok(pending) => return Ok(pending),
                Err(TurnError::Over) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match self.runner.stored() {
            Some(stored) => Ok(super::pending(&*stored.store, self.key().clone()).await?),
            None => Ok(Vec::new()),
        }
    }

    /// Allows the call that waits for the user's approval under this id. Returns once the decision is taken, not once the
    /// turn is over.
    ///
    /// # Errors
    /// No approval waits under the id ([`ErrorKind::Misuse`](crate::ErrorKind::Misuse)), or the store or the process that
    /// drives the turn cannot be reached. The same holds for the following methods.
    pub async fn approve(&self, id: impl Into<String>) -> Result<(), Error> {
        self.reply(id.into(), Reply::Approve { arguments: None })
            .await
    }

    /// Allows the call with these arguments instead of the model's. The model is informed of the change.
    ///
    /// # Errors
    /// The arguments do not fit the tool, or as for [`approve`](Self::approve).
    pub async fn approve_with(
        &self,
        id: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> Result<(), Error> {
        let arguments = Some(arguments.into());
        self.reply(id.into(), Reply::Approve { arguments }).await
    }

    /// Denies the call, or declines the question, that waits under this id. The model, or the tool that asked, gets the
    /// reason.
    ///
    /// # Errors
    /// As for [`approve`](Self::approve).
    pub async fn deny(&self, id: impl Into<String>, reason: Option<String>) -> Result<(), Error> {
        self.reply(id.into(), Reply::Deny { reason }).await
    }

    /// Answers the question of a running tool that waits under this id.
    ///
    /// # Errors
    /// The value does not fit the question's schema, or as for [`approve`](Self::approve).
    pub async fn answer(
        &self,
        id: impl Into<String>,
        value: impl Into<Value>,
    ) -> Result<(), Error> {
        let value = value.into();
        self.reply(id.into(), Reply::Answer { value }).await
    }

    /// Gives the turn the result of a deferred call.
    ///
    /// # Errors
    /// The turn awaits no result of the call, or as for [`approve`](Self::approve).
    pub async fn resolve_call(
        &self,
        tool_call_id: impl Into<ToolCallId>,
        result: ToolResult,
    ) -> Result<(), Error> {
        let id = tool_call_id.into().into_string();
        self.reply(id, Reply::Result { result }).await
    }

    async fn reply(&self, id: String, reply: Reply) -> Result<(), Error> {
        if let Some(commands) = self.runner.thread.commands() {
            let here = reply_to(&commands, id.clone(), reply.clone()).await;
            match here {
                Err(TurnError::Over) => {}
                replied => return Ok(replied?),
            }
        }
        owner::reply(&self.runner, &id, reply).await
    }
}
