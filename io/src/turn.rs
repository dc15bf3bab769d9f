use crate::handle::{TurnError, TurnHandle};
use futures::Stream;
use futures::future::BoxFuture;
use serde_json::Value;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{Interrupt, Metadata, ResumeEntry, ResumeStatus, TokenUsage};
use stepwell_core::run::{Outcome, Problem, RunEvent, TextOptions};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A turn under way: a stream of what is to be shown, ending with [`RunEvent::Completed`].
///
/// Dropping it cancels the turn; [`detach`](Self::detach) lets it go on unseen. While nobody takes its events, the
/// turn reads no more of the answer once some dozens of them wait; its tools, its clocks and its
/// [`handle`](Self::handle) are not held up. Pieces of one text that arrived together are one event.
#[derive(Debug)]
#[must_use = "a turn that is dropped is cancelled"]
pub struct Turn {
    pub(crate) events: mpsc::Receiver<RunEvent>,
    pub(crate) handle: TurnHandle,
    pub(crate) task: Option<JoinHandle<Option<Finished>>>,
}

/// A turn that is over. `{:?}` says how it ended, and nothing of what was said.
#[derive(Clone, PartialEq)]
pub struct Finished {
    /// How it ended. A turn whose thread another one took over is cancelled.
    pub outcome: Outcome,
    /// The conversation after it.
    pub conversation: Conversation,
    /// What it cost, over all its hops.
    pub usage: TokenUsage,
    /// How many streams it took.
    pub hops: u32,
    /// The typed answer, if there was to be one and the turn has ended well.
    pub output: Option<Value>,
    /// How its text was shown.
    pub(crate) shown_as: TextOptions,
}

/// What kept a turn from a whole answer: what awaiting a [`Turn`] gives in its place. Neither `{}` nor `{:?}` has anything
/// of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnFailed {
    /// What is wrong, and what to do.
    pub problem: Problem,
    /// The turn: what was said so far stands.
    pub finished: Box<Finished>,
}

impl fmt::Display for TurnFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl Error for TurnFailed {
    /// What the outcome says, where that is an error: the provider's, say.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.finished.outcome {
            Outcome::Failed { failure } => Some(failure),
            Outcome::Incomplete { reason } => Some(reason),
            Outcome::LimitReached { limit } => Some(limit),
            _ => None,
        }
    }
}

impl fmt::Debug for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finished")
            .field("outcome", &self.outcome)
            .field("messages", &self.conversation.messages().len())
            .field("usage", &self.usage)
            .field("hops", &self.hops)
            .field("has_output", &self.output.is_some())
            .finish_non_exhaustive()
    }
}

impl Finished {
    /// All that the model said in the turn, as it was shown: with a line break between the texts before and after tool
    /// calls, as [`TextOptions`] has it. Empty if the turn did not begin.
    #[must_use]
    pub fn text(&self) -> String {
        match self.hops {
            // The last text of the conversation is an earlier turn's.
            0 => String::new(),
            _ => self.shown_as.shown(&self.conversation),
        }
    }

    /// The turn, if its answer is whole.
    ///
    /// # Errors
    /// It is not, for one reason or another: the key is wrong, a limit was reached, the answer was cut, …
    pub fn whole(self) -> Result<Self, TurnFailed> {
        match self.outcome.problem() {
            Some(problem) => Err(TurnFailed {
                problem,
                finished: Box::new(self),
            }),
            None => Ok(self),
        }
    }
}

/// `turn.await` waits for the end and gives the turn if its answer is whole; [`Turn::finish`] gives it in any case.
impl IntoFuture for Turn {
    type Output = Result<Finished, TurnFailed>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.finish().await.whole() })
    }
}

impl Turn {
    /// Reaches the turn from elsewhere, and for all but its events.
    #[must_use]
    pub fn handle(&self) -> TurnHandle {
        self.handle.clone()
    }

    /// Stops the turn; the events up to its end still come.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Answers what an AG-UI agent asked; see [`TurnHandle::resume`].
    ///
    /// # Errors
    /// Nothing is asked, or the answers do not fit the questions. The turn is as it was.
    pub async fn resume(&self, answers: Vec<ResumeEntry>) -> Result<(), TurnError> {
        self.handle.resume(answers).await
    }

    /// Waits for the turn to end, however it ends and whatever is left of its events. To await the turn itself gives an
    /// error where its answer is not whole.
    ///
    /// Nobody sees what an AG-UI agent asks meanwhile. So it is told that there is no answer, and where it asks once more,
    /// the turn is cancelled. To answer, take the events and [`resume`](Self::resume).
    ///
    /// # Panics
    /// Never by itself; a panic inside Stepwell is passed on.
    pub async fn finish(mut self) -> Finished {
        let mut dismissed = false;
        while let Some(event) = self.events.recv().await {
            if let RunEvent::Interrupted { interrupts } = event {
                tracing::warn!(
                    target: "stepwell",
                    "the agent asks, and nobody takes the events of the turn: it is told that there is no answer"
                );
                let answers = interrupts.into_iter().map(unanswered).collect();
                if dismissed || self.resume(answers).await.is_err() {
                    self.cancel();
                }
                dismissed = true;
            }
        }
        let task = self.task.take();
        match task {
            Some(task) => match task.await {
                Ok(Some(finished)) => finished,
                // Only `suspend` ends a turn without its end, and it takes the turn.
                Ok(None) => std::future::pending().await,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The runtime shuts down: there is nobody left to wait for.
                    Err(_) => std::future::pending().await,
                },
            },
            None => std::future::pending().await,
        }
    }

    /// Lets go of the turn without ending it, and gives it as text for [`Agent::revive`](crate::Agent::revive), in this
    /// process or a later one. Its stream is closed, its tools are stopped: best done while it
    /// [rests](TurnHandle::rested). The thread stays the turn's until it is revived or somebody sends on it; its
    /// conversation has nothing of the turn until then. What the user typed and the turn had not taken in is
    /// dropped.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn suspend(mut self) -> Result<String, TurnError> {
        let snapshot = self.handle.suspend().await?;
        if let Some(task) = self.task.take() {
            // Then the thread is free. It gives nothing: the turn has no end.
            let _ = task.await;
        }
        Ok(snapshot)
    }

    /// Lets the turn go on to its end without anyone watching.
    pub fn detach(mut self) {
        self.task = None;
    }
}

/// What an agent is sent in the place of an answer.
fn unanswered(interrupt: Interrupt) -> ResumeEntry {
    ResumeEntry {
        interrupt_id: interrupt.id,
        status: ResumeStatus::Cancelled,
        payload: None,
        metadata: None,
        extra: Metadata::new(),
    }
}

impl Stream for Turn {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        self.events.poll_recv(context)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.task.is_some() {
            self.handle.cancel();
        }
    }
}
