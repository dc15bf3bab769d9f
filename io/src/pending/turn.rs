//! The verbs of a turn under way for what it waits for.

use super::reply::Reply;
use crate::run::turn::Turn;
use crate::turn::handle::{TurnError, TurnHandle};
use serde_json::Value;
use stepwell_core::run::{Pending, RunMachine};

impl TurnHandle {
    /// Returns what the turn waits for: approvals and questions for the user, and results of deferred calls. An approver
    /// or an answerer of the agent may be asking the user for the same.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn pending(&self) -> Result<Vec<Pending>, TurnError> {
        self.read(RunMachine::pending).await
    }

    /// Allows the call that waits for the user's approval under this id.
    ///
    /// # Errors
    /// No approval waits under the id: it has its decision, or the id is of another turn. The turn is unchanged, as it is
    /// after each error of the following methods.
    pub async fn approve(&self, id: impl Into<String>) -> Result<(), TurnError> {
        self.reply(id, Reply::Approve { arguments: None }).await
    }

    /// Allows the call with these arguments instead of the model's. The model is informed of the change.
    ///
    /// # Errors
    /// The arguments do not fit the tool, or no approval waits under the id.
    pub async fn approve_with(
        &self,
        id: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> Result<(), TurnError> {
        let arguments = Some(arguments.into());
        self.reply(id, Reply::Approve { arguments }).await
    }

    /// Denies the call that waits for approval under this id, or declines the question. The model, or the tool that
    /// asked, gets the reason.
    ///
    /// # Errors
    /// Neither an approval nor a question waits under the id.
    pub async fn deny(
        &self,
        id: impl Into<String>,
        reason: Option<String>,
    ) -> Result<(), TurnError> {
        self.reply(id, Reply::Deny { reason }).await
    }

    /// Answers the question of a running tool that waits under this id.
    ///
    /// # Errors
    /// The value does not fit the question's schema, or no question waits under the id.
    pub async fn answer(
        &self,
        id: impl Into<String>,
        value: impl Into<Value>,
    ) -> Result<(), TurnError> {
        let value = value.into();
        self.reply(id, Reply::Answer { value }).await
    }

    pub(crate) async fn reply(&self, id: impl Into<String>, reply: Reply) -> Result<(), TurnError> {
        let id = id.into();
        self.feed(move |machine| reply.input(&id, machine)).await
    }
}

impl<T> Turn<T> {
    /// Returns what the turn waits for; see [`TurnHandle::pending`].
    ///
    /// ```no_run
    /// use stepwell_io::tool::PendingKind;
    /// use stepwell_io::Update;
    ///
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), stepwell_io::Error> {
    /// let mut turn = agent.stream("Delete the old backups.");
    /// while let Some(update) = turn.next().await {
    ///     let Update::Pending { pending } = update? else { continue };
    ///     for call in pending.iter().filter(|waits| waits.kind == PendingKind::Approval) {
    ///         println!("{} {}?", call.tool, call.arguments);
    ///         turn.approve(&call.id).await?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The turn is over.
    pub async fn pending(&self) -> Result<Vec<Pending>, TurnError> {
        self.handle_ref().pending().await
    }

    /// Allows a call; see [`TurnHandle::approve`].
    ///
    /// # Errors
    /// No approval waits under the id.
    pub async fn approve(&self, id: impl Into<String>) -> Result<(), TurnError> {
        self.handle_ref().approve(id).await
    }

    /// Allows a call with other arguments; see [`TurnHandle::approve_with`].
    ///
    /// # Errors
    /// The arguments do not fit the tool, or no approval waits under the id.
    pub async fn approve_with(
        &self,
        id: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> Result<(), TurnError> {
        self.handle_ref().approve_with(id, arguments).await
    }

    /// Denies a call, or declines a question; see [`TurnHandle::deny`].
    ///
    /// # Errors
    /// Neither an approval nor a question waits under the id.
    pub async fn deny(
        &self,
        id: impl Into<String>,
        reason: Option<String>,
    ) -> Result<(), TurnError> {
        self.handle_ref().deny(id, reason).await
    }

    /// Answers a question; see [`TurnHandle::answer`].
    ///
    /// # Errors
    /// The value does not fit the question's schema, or no question waits under the id.
    pub async fn answer(
        &self,
        id: impl Into<String>,
        value: impl Into<Value>,
    ) -> Result<(), TurnError> {
        self.handle_ref().answer(id, value).await
    }
}
