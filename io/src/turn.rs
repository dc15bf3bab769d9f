use crate::driver::Answers;
use futures::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{ResumeEntry, TokenUsage};
use stepwell_core::run::{Misuse, Outcome, RunEvent, StateKind};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A turn under way: a stream of what is to be shown, ending with [`RunEvent::Completed`].
///
/// Dropping it cancels the turn; [`detach`](Self::detach) lets it go on unseen.
#[derive(Debug)]
#[must_use = "a turn that is dropped is cancelled"]
pub struct Turn {
    pub(crate) events: mpsc::Receiver<RunEvent>,
    pub(crate) cancel: CancellationToken,
    pub(crate) answers: mpsc::Sender<Answers>,
    pub(crate) task: Option<JoinHandle<Finished>>,
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// The conversation after it.
    pub conversation: Conversation,
    /// What it cost, over all its hops.
    pub usage: TokenUsage,
    /// How many streams it took.
    pub hops: u32,
}

/// Cancels a turn from elsewhere.
#[derive(Clone, Debug)]
pub struct CancelHandle(CancellationToken);

impl CancelHandle {
    /// Stops the turn: its tools are dropped, its connection is closed, and it completes as cancelled. Nothing happens
    /// if it is over.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

impl Turn {
    /// Stops the turn; the events up to its end still come.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Answers what an AG-UI agent asked with [`RunEvent::Interrupted`], all of it at once; the turn goes on.
    ///
    /// # Errors
    /// Nothing is asked, or the answers do not fit the questions. The turn is as it was.
    pub async fn resume(&self, answers: Vec<ResumeEntry>) -> Result<(), Misuse> {
        let over = || Misuse::WrongState {
            state: StateKind::Completed,
            input: "Resume",
        };
        let (taken, was_taken) = oneshot::channel();
        let answers = Answers {
            entries: answers,
            taken,
        };
        self.answers.send(answers).await.map_err(|_| over())?;
        was_taken.await.map_err(|_| over())?
    }

    /// A handle that cancels the turn from elsewhere.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(self.cancel.clone())
    }

    /// Waits for the turn to end, whatever is left of its events.
    ///
    /// # Panics
    /// Never by itself; a panic inside Stepwell is passed on.
    pub async fn finish(mut self) -> Finished {
        while self.events.recv().await.is_some() {}
        let task = self.task.take();
        match task {
            Some(task) => match task.await {
                Ok(finished) => finished,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The runtime shuts down: there is nobody left to wait for.
                    Err(_) => std::future::pending().await,
                },
            },
            None => std::future::pending().await,
        }
    }

    /// Lets the turn go on to its end without anyone watching.
    pub fn detach(mut self) {
        self.task = None;
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
            self.cancel.cancel();
        }
    }
}
