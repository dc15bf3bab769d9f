//! The app's handle on a turn that is under way.

use crate::durable::{StoreTrouble, StoredTurn};
use crate::pending::reply::Reply;
use crate::store::StoreError;
use std::fmt;
use std::sync::{Arc, OnceLock};
use stepwell_core::event::{Interrupt, Message, MessageContent, ResumeEntry, TokenUsage};
use stepwell_core::run::{Input, Misuse, RunMachine};
use stepwell_core::tool::ToolResult;
use stepwell_core::transcript::Transcript;
use stepwell_core::{MessageId, ToolCallId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A handle on a turn that is under way. Clones are handles on the same turn; dropping a handle changes nothing.
#[derive(Clone, Debug)]
pub struct TurnHandle {
    pub(crate) cancel: CancellationToken,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) stored: Arc<OnceLock<StoredTurn>>,
    pub(crate) trouble: StoreTrouble,
    pub(crate) revived_from: Arc<OnceLock<Transcript>>,
    pub(crate) begun: CancellationToken,
}

/// Why a turn refused a command. The turn is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The turn is over, or another turn has taken its thread over.
    #[error("the turn is over")]
    Over,
    /// The turn has no such call under way.
    #[error("the turn has no call `{0}` under way: it is done, or the id is of another turn")]
    NotUnderWay(ToolCallId),
    /// The turn awaits no result of the call.
    #[error(
        "no result of the call `{0}` is awaited: it has one, has not begun, or the id is of another turn"
    )]
    NotAwaited(ToolCallId),
    /// Nothing waits under the id for such a reply.
    #[error(
        "nothing waits for such a reply under `{id}`: it has its reply, another kind of reply is awaited, or the id is of \
         another turn"
    )]
    NotPending {
        /// The id.
        id: String,
    },
    /// The turn does not take the command in its present state.
    #[error(transparent)]
    Misuse(#[from] Misuse),
}

/// A command to the driver of a turn.
pub(crate) enum Command {
    /// Feeds an input to the machine, and returns whether the machine took it.
    Feed {
        input: MakeInput,
        fed: oneshot::Sender<Result<(), TurnError>>,
    },
    /// Reads the machine.
    Read(Box<dyn FnOnce(&RunMachine) + Send>),
    /// Returns the snapshot as soon as the turn rests.
    Rest(oneshot::Sender<String>),
    /// Suspends the turn, and returns its snapshot.
    Suspend(oneshot::Sender<String>),
}

pub(crate) type MakeInput =
    Box<dyn FnOnce(&RunMachine) -> Result<Input<'static>, TurnError> + Send>;

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Feed { .. } => "Feed",
            Self::Read(_) => "Read",
            Self::Rest(_) => "Rest",
            Self::Suspend(_) => "Suspend",
        })
    }
}

impl TurnHandle {
    /// Stops the turn: its tools are dropped, its connection is closed, and it completes as cancelled. A turn that is
    /// over is left alone.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Stops one tool call, by the provider's id for it. The other calls continue, and the model is notified. A call
    /// that is incomplete, or waits, is never begun.
    ///
    /// # Errors
    /// The call is done, or the turn has no such call.
    pub async fn cancel_call(&self, tool_call_id: impl Into<ToolCallId>) -> Result<(), TurnError> {
        let id = tool_call_id.into();
        self.feed(move |machine| {
            let call = machine.transcript().call_by_id(&id);
            match call.filter(|call| !call.status.is_final()) {
                Some(call) => Ok(Input::CancelCall { call: call.key }),
                None => Err(TurnError::NotUnderWay(id)),
            }
        })
        .await
    }

    /// Gives the turn the result of a tool call, by the provider's id for the call: of a deferred call, in this process
    /// or in a later one that [revived](crate::Agent::revive) the turn, or of a call that still runs, which is then
    /// dropped.
    ///
    /// # Errors
    /// The turn awaits no result of the call. A second result changes nothing.
    pub async fn resolve_call(
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

    /// Answers the questions that an AG-UI agent asked with [`RunEvent::Interrupted`](crate::turn::RunEvent::Interrupted),
    /// all at once. The turn then continues.
    ///
    /// # Errors
    /// The agent has asked nothing, or the answers do not fit the questions.
    pub async fn resume(&self, answers: Vec<ResumeEntry>) -> Result<(), TurnError> {
        self.feed(move |_| Ok(Input::Resume(answers))).await
    }

    /// Waits until the turn has begun, or could not begin. With a store the turn is then [`stored`](Self::stored);
    /// otherwise [`store_trouble`](Self::store_trouble) says why not.
    pub async fn begun(&self) {
        self.begun.cancelled().await;
    }

    /// Returns the turn as its store knows it, once it has [begun](Self::begun) there. `None` without a store.
    #[must_use]
    pub fn stored(&self) -> Option<&StoredTurn> {
        self.stored.get()
    }

    /// Returns the conversation that a stored turn continues, without the turn's new events. It is set once the turn
    /// has [begun](Self::begun); `None` for a new turn.
    #[must_use]
    pub fn revived_from(&self) -> Option<&Transcript> {
        self.revived_from.get()
    }

    /// Watches what keeps the turn's writes waiting: a store that is full, read-only or unreachable. `None` while no
    /// write waits. For a turn that could not begin it is the reason. A host whose turns
    /// [wait for their store](crate::AgentBuilder::wait_for_store) decides how long to wait, and then
    /// [cancels](Self::cancel) the turn, which ends once its end is stored.
    #[must_use]
    pub fn store_trouble(&self) -> watch::Receiver<Option<StoreError>> {
        self.trouble.subscribe()
    }

    /// Returns the turn as text, for [`Agent::revive`](crate::Agent::revive). The text holds no key. A turn that
    /// continues after its snapshot was taken may run tools that are not in the snapshot: prefer
    /// [`rested`](Self::rested).
    ///
    /// # Errors
    /// The turn is over.
    pub async fn snapshot(&self) -> Result<String, TurnError> {
        self.read(RunMachine::snapshot).await
    }

    /// Waits until only the user, or the result of a deferred call, can move the turn on, and returns its
    /// [snapshot](Self::snapshot). The turn continues in this process too, until it is dropped.
    ///
    /// # Errors
    /// The turn has ended.
    pub async fn rested(&self) -> Result<String, TurnError> {
        self.ask(Command::Rest).await
    }

    /// Returns the conversation in the middle of the turn.
    ///
    /// # Errors
    /// The turn is over: see [`Conversation::transcript`](crate::Conversation::transcript).
    pub async fn transcript(&self) -> Result<Transcript, TurnError> {
        self.read(|machine| machine.transcript().clone()).await
    }

    /// Returns the open questions of an AG-UI agent, to be answered with [`resume`](Self::resume); none if the agent
    /// asks nothing.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn interrupts(&self) -> Result<Vec<Interrupt>, TurnError> {
        self.read(|machine| machine.interrupts().to_vec()).await
    }

    /// Returns the usage of the turn so far, over all its hops.
    ///
    /// # Errors
    /// The turn is over: see [`Finished::usage`](crate::turn::Finished::usage).
    pub async fn usage(&self) -> Result<TokenUsage, TurnError> {
        self.read(RunMachine::usage).await
    }

    /// Sends a message during the turn, without stopping it: the message waits until the next hop begins, and the model
    /// answers it in this turn. Returns the message's id. [`SteeringTaken`](crate::turn::RunEvent::SteeringTaken) reports
    /// that the message is in the conversation; [`SteeringRefused`](crate::turn::RunEvent::SteeringRefused) returns a message
    /// that cannot be taken in.
    ///
    /// # Errors
    /// The turn is over: send the message instead.
    pub async fn steer(&self, content: impl Into<MessageContent>) -> Result<MessageId, TurnError> {
        let id = MessageId::from(format!("{}-user", Uuid::new_v4()));
        self.steer_message(Message::user(id.clone(), content))
            .await?;
        Ok(id)
    }

    /// Steers the turn, as [`steer`](Self::steer) does, with a message that the app provides.
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

    pub(crate) async fn feed(
        &self,
        input: impl FnOnce(&RunMachine) -> Result<Input<'static>, TurnError> + Send + 'static,
    ) -> Result<(), TurnError> {
        let input = Box::new(input);
        self.ask(|fed| Command::Feed { input, fed }).await?
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&RunMachine) -> T + Send + 'static,
    ) -> Result<T, TurnError> {
        ask_for(&self.commands, read).await
    }

    /// Sends the driver a command, and waits for the answer.
    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, TurnError> {
        ask(&self.commands, command).await
    }
}

/// Steers a turn, by its commands.
pub(crate) async fn steer_with(
    commands: &mpsc::Sender<Command>,
    message: Message,
) -> Result<(), TurnError> {
    let input: MakeInput = Box::new(|_| Ok(Input::Steer(Box::new(message))));
    ask(commands, |fed| Command::Feed { input, fed }).await?
}

/// Gives a turn a reply to what it waits for, by its commands.
pub(crate) async fn reply_to(
    commands: &mpsc::Sender<Command>,
    id: String,
    reply: Reply,
) -> Result<(), TurnError> {
    let input: MakeInput = Box::new(move |machine| reply.input(&id, machine));
    ask(commands, |fed| Command::Feed { input, fed }).await?
}

/// Reads the machine of a turn, by its commands.
pub(crate) async fn ask_for<T: Send + 'static>(
    commands: &mpsc::Sender<Command>,
    read: impl FnOnce(&RunMachine) -> T + Send + 'static,
) -> Result<T, TurnError> {
    ask(commands, |sender| {
        Command::Read(Box::new(move |machine| {
            // The caller may wait no more.
            let _ = sender.send(read(machine));
        }))
    })
    .await
}

async fn ask<T>(
    commands: &mpsc::Sender<Command>,
    command: impl FnOnce(oneshot::Sender<T>) -> Command,
) -> Result<T, TurnError> {
    let (sender, mut answer) = oneshot::channel();
    let sent = commands.send(command(sender)).await;
    sent.map_err(|_| TurnError::Over)?;
    tokio::select! {
        biased;
        answer = &mut answer => answer.map_err(|_| TurnError::Over),
        // A command that is sent while the driver ends may stay in the channel, unanswered, for as long as this
        // handle lives.
        () = commands.closed() => answer.try_recv().map_err(|_| TurnError::Over),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn fails_commands_that_arrive_at_the_end() {
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
