//! A turn under way.

pub(crate) mod alarm;
pub(crate) mod caller;
pub(crate) mod current;
pub(crate) mod driver;
pub(crate) mod finished;
pub(crate) mod handle;
pub(crate) mod journaled;
pub(crate) mod owner;
mod stream;
pub(crate) mod work;

use self::finished::{Finished, TurnFailed};
use self::handle::{TurnError, TurnHandle};
use futures::Stream;
use futures::future::BoxFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{Interrupt, Metadata, ResumeEntry, ResumeStatus, TokenUsage};
use stepwell_core::run::{Failure, Outcome, RunEvent, TextOptions};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

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

/// `turn.await` waits for the end and gives the turn if its answer is whole; [`Turn::finish`] gives it in any case.
impl IntoFuture for Turn {
    type Output = Result<Finished, TurnFailed>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.finish().await.whole() })
    }
}

impl Turn {
    /// A turn that has failed because its thread is busy. It has nothing of the conversation, which may be another user's.
    pub(crate) fn refused() -> Self {
        let outcome = Outcome::Failed {
            failure: Failure::Busy,
        };
        let (events, receiver) = mpsc::channel(1);
        // There is room for one.
        let _ = events.try_send(RunEvent::Completed(outcome.clone()));
        let (commands, _) = mpsc::channel(1);
        let begun = CancellationToken::new();
        begun.cancel();
        let finished = Finished {
            outcome,
            conversation: Conversation::default(),
            usage: TokenUsage::default(),
            hops: 0,
            output: None,
            shown_as: TextOptions::default(),
        };
        Self {
            events: receiver,
            handle: TurnHandle {
                cancel: CancellationToken::new(),
                commands,
                stored: Arc::default(),
                trouble: watch::Sender::default(),
                revived_from: Arc::default(),
                begun,
            },
            task: Some(tokio::spawn(async { Some(finished) })),
        }
    }

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
