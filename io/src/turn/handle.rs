//! What the app may tell a turn that is under way.

use crate::durable::{StoredTurn, Trouble};
use crate::store::StoreError;
use std::fmt;
use std::sync::{Arc, OnceLock};
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{Interrupt, Message, MessageContent, ResumeEntry, TokenUsage};
use stepwell_core::run::{Input, Misuse, RunMachine};
use stepwell_core::tool::ToolResult;
use stepwell_core::{MessageId, ToolCallId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Reaches a turn that is under way, from anywhere. Clones reach the same turn; letting go of them changes nothing.
#[derive(Clone, Debug)]
pub struct TurnHandle {
    pub(crate) cancel: CancellationToken,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) stored: Arc<OnceLock<StoredTurn>>,
    pub(crate) trouble: Trouble,
    pub(crate) revived_from: Arc<OnceLock<Conversation>>,
    pub(crate) begun: CancellationToken,
}

/// Why a turn did not take what it was told. It is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The turn is over, or another turn has taken its thread over.
    #[error("the turn is over")]
    Over,
    /// No such call is under way.
    #[error("the turn has no call `{0}` under way: it is done, or the id is of another turn")]
    NotUnderWay(ToolCallId),
    /// Nobody waits for a result of the call.
    #[error(
        "no result of the call `{0}` is awaited: it has one, has not begun, or the id is of another turn"
    )]
    NotAwaited(ToolCallId),
    /// The turn does not take it as it stands.
    #[error(transparent)]
    Misuse(#[from] Misuse),
}

/// For the driver.
pub(crate) enum Command {
    /// Feed an input, and say what the machine made of it.
    Feed {
        input: MakeInput,
        fed: oneshot::Sender<Result<(), TurnError>>,
    },
    /// Show the machine.
    Look(Box<dyn FnOnce(&RunMachine) + Send>),
    /// Give the snapshot as soon as the turn rests.
    Rest(oneshot::Sender<String>),
    /// End without an end, and give the snapshot.
    Suspend(oneshot::Sender<String>),
}

pub(crate) type MakeInput =
    Box<dyn FnOnce(&RunMachine) -> Result<Input<'static>, TurnError> + Send>;

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Feed { .. } => "Feed",
            Self::Look(_) => "Look",
            Self::Rest(_) => "Rest",
            Self::Suspend(_) => "Suspend",
        })
    }
}

impl TurnHandle {
    /// Stops the turn: its tools are dropped, its connection is closed, and it completes as cancelled. Nothing happens
    /// if it is over.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Stops one tool call, by the provider's id for it. The others go on, and the model is told. A call that is not
    /// whole yet, or waits, is not begun.
    ///
    /// # Errors
    /// The call is done, or there is none.
    pub async fn cancel_call(&self, tool_call_id: impl Into<ToolCallId>) -> Result<(), TurnError> {
        let id = tool_call_id.into();
        self.feed(move |machine| {
            let call = machine.conversation().call_by_id(&id);
            match call.filter(|call| !call.status.is_final()) {
                Some(call) => Ok(Input::CancelCall { call: call.key }),
                None => Err(TurnError::NotUnderWay(id)),
            }
        })
        .await
    }

    /// Brings the result of a tool call, by the provider's id for it: of a deferred one, in this process or in a later
    /// one that [revived](crate::Agent::revive) the turn, or of one that still runs, which is then dropped.
    ///
    /// # Errors
    /// No result is awaited: a second one changes nothing.
    pub async fn finish_call(
        &self,
        tool_call_id: impl Into<ToolCallId>,
        result: ToolResult,
    ) -> Result<(), TurnError> {
        let id = tool_call_id.into();
        self.feed(move |machine| match machine.awaited_result(&id) {
            Some(effect) => Ok(Input::ToolFinished { effect, result }),
            None => Err(TurnError::NotAwaited(id)),
        })
        .await
    }

    /// Answers what an AG-UI agent asked with [`RunEvent::Interrupted`](crate::RunEvent::Interrupted), all of it at
    /// once; the turn goes on.
    ///
    /// # Errors
    /// Nothing is asked, or the answers do not fit the questions.
    pub async fn resume(&self, answers: Vec<ResumeEntry>) -> Result<(), TurnError> {
        self.feed(move |_| Ok(Input::Resume(answers))).await
    }

    /// Waits until the turn has begun, or could not. With a store it stands there then, and is
    /// [`stored`](Self::stored); if not, [`store_trouble`](Self::store_trouble) says why.
    pub async fn begun(&self) {
        self.begun.cancelled().await;
    }

    /// The turn as its store knows it, once it has [begun](Self::begun) there. None without a store.
    #[must_use]
    pub fn stored(&self) -> Option<&StoredTurn> {
        self.stored.get()
    }

    /// The conversation from which a stored turn went on, before anything new came of it: its events come on top of
    /// that. Set once it has [begun](Self::begun); `None` of a turn that began anew.
    #[must_use]
    pub fn revived_from(&self) -> Option<&Conversation> {
        self.revived_from.get()
    }

    /// What keeps the turn's writes waiting: a store that is full, can only be read, or cannot be reached. `None` while
    /// nothing does. Of a turn that could not begin it is the reason. For turns that [wait for their store](crate::AgentBuilder::wait_for_store), whose host decides how
    /// long is long enough; it [cancels](Self::cancel) the turn then, and the turn ends when its end is stored.
    #[must_use]
    pub fn store_trouble(&self) -> watch::Receiver<Option<StoreError>> {
        self.trouble.subscribe()
    }

    /// The turn as text, as it stands, for [`Agent::revive`](crate::Agent::revive). It holds no key. A turn that goes
    /// on after its snapshot was taken may run tools that the snapshot knows nothing of: prefer
    /// [`rested`](Self::rested).
    ///
    /// # Errors
    /// The turn is over.
    pub async fn snapshot(&self) -> Result<String, TurnError> {
        self.look(RunMachine::snapshot).await
    }

    /// Waits until nothing but the user, or the result of a deferred call, can move the turn on, and gives its
    /// [snapshot](Self::snapshot). The turn goes on in this process too, until it is dropped.
    ///
    /// # Errors
    /// The turn came to its end.
    pub async fn rested(&self) -> Result<String, TurnError> {
        self.ask(Command::Rest).await
    }

    /// The conversation as it stands in the middle of the turn.
    ///
    /// # Errors
    /// The turn is over: look at [`Agent::conversation`](crate::Agent::conversation).
    pub async fn conversation(&self) -> Result<Conversation, TurnError> {
        self.look(|machine| machine.conversation().clone()).await
    }

    /// What an AG-UI agent asks the user now, to be answered with [`resume`](Self::resume); nothing if it does not.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn interrupts(&self) -> Result<Vec<Interrupt>, TurnError> {
        self.look(|machine| machine.interrupts().to_vec()).await
    }

    /// What the turn has cost so far, over all its hops.
    ///
    /// # Errors
    /// The turn is over: look at [`Finished::usage`](crate::Finished::usage).
    pub async fn usage(&self) -> Result<TokenUsage, TurnError> {
        self.look(RunMachine::usage).await
    }

    /// Says something during the turn, without stopping it: the message waits until the next hop begins, and the model
    /// answers it in this turn. Gives the message's id.
    /// [`SteeringTaken`](crate::RunEvent::SteeringTaken) tells when it is in the conversation; if it cannot be taken in,
    /// [`SteeringRefused`](crate::RunEvent::SteeringRefused) gives it back.
    ///
    /// # Errors
    /// The turn is over: send the message instead.
    pub async fn steer(&self, content: impl Into<MessageContent>) -> Result<MessageId, TurnError> {
        let id = MessageId::from(format!("{}-user", Uuid::new_v4()));
        self.steer_message(Message::user(id.clone(), content))
            .await?;
        Ok(id)
    }

    /// As [`steer`](Self::steer), with a message of the app's own.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn steer_message(&self, message: Message) -> Result<(), TurnError> {
        self.feed(move |_| Ok(Input::Steer(Box::new(message))))
            .await
    }

    pub(crate) async fn suspend(&self) -> Result<String, TurnError> {
        self.ask(Command::Suspend).await
    }

    async fn feed(
        &self,
        input: impl FnOnce(&RunMachine) -> Result<Input<'static>, TurnError> + Send + 'static,
    ) -> Result<(), TurnError> {
        let input = Box::new(input);
        self.ask(|fed| Command::Feed { input, fed }).await?
    }

    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&RunMachine) -> T + Send + 'static,
    ) -> Result<T, TurnError> {
        self.ask(|sender| {
            Command::Look(Box::new(move |machine| {
                // Who asked may have gone in the meantime.
                let _ = sender.send(look(machine));
            }))
        })
        .await
    }

    /// Gives the driver a command, and waits for what comes of it.
    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, TurnError> {
        let (sender, mut answer) = oneshot::channel();
        let sent = self.commands.send(command(sender)).await;
        sent.map_err(|_| TurnError::Over)?;
        tokio::select! {
            biased;
            answer = &mut answer => answer.map_err(|_| TurnError::Over),
            // What is sent while the driver goes may stay in the channel, unanswered, for as long as this handle lives.
            () = self.commands.closed() => answer.try_recv().map_err(|_| TurnError::Over),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn what_a_turn_was_told_as_it_ended_is_not_waited_for() {
        let (commands, mut driver) = mpsc::channel(1);
        let handle = TurnHandle {
            cancel: CancellationToken::new(),
            commands,
            stored: Arc::default(),
            trouble: watch::Sender::default(),
            revived_from: Arc::default(),
            begun: CancellationToken::new(),
        };
        let mut asking = Box::pin(handle.interrupts());
        assert!(asking.as_mut().now_or_never().is_none());
        let in_the_channel = driver.recv().await;
        drop(driver);
        assert_eq!(asking.now_or_never(), Some(Err(TurnError::Over)));
        drop(in_the_channel);
    }
}
