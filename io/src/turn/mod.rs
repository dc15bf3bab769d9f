//! A turn under way.

pub(crate) mod alarm;
pub(crate) mod caller;
mod chunks;
pub(crate) mod current;
pub(crate) mod driver;
mod effects;
pub(crate) mod finished;
pub(crate) mod handle;
pub(crate) mod journaled;
pub(crate) mod owner;
mod stream;

use self::finished::{Finished, TurnFailed};
use self::handle::{TurnError, TurnHandle};
use futures::Stream;
use futures::future::BoxFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use stepwell_core::event::{Interrupt, Metadata, ResumeEntry, ResumeStatus, TokenUsage};
use stepwell_core::run::{Failure, Outcome, RunEvent, TextOptions};
use stepwell_core::transcript::Transcript;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A turn that is under way: a stream of events, which ends with [`RunEvent::Completed`].
///
/// Dropping the turn cancels it; [`detach`](Self::detach) lets it continue. While the app takes no events, the turn
/// stops reading the answer once some dozens of events wait; its tools, its clocks and its [`handle`](Self::handle) are
/// not held up. Deltas of one text that arrive together are one event.
#[derive(Debug)]
#[must_use = "a turn that is dropped is cancelled"]
pub struct Turn {
    pub(crate) events: mpsc::Receiver<RunEvent>,
    pub(crate) handle: TurnHandle,
    pub(crate) task: Option<JoinHandle<Option<Finished>>>,
}

/// `turn.await` waits for the end, and is an error if the answer is incomplete; [`Turn::finish`] returns the turn in
/// any case.
impl IntoFuture for Turn {
    type Output = Result<Finished, TurnFailed>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.finish().await.whole() })
    }
}

impl Turn {
    /// Returns a turn that has failed because its thread is busy. It has nothing of the conversation, which may be
    /// another user's.
    pub(crate) fn refused() -> Self {
        let outcome = Outcome::Failed {
            failure: Failure::Busy,
        };
        let (events, receiver) = mpsc::channel(1);
        // The channel has room for one event.
        let _ = events.try_send(RunEvent::Completed(outcome.clone()));
        let (commands, _) = mpsc::channel(1);
        let begun = CancellationToken::new();
        begun.cancel();
        let finished = Finished {
            outcome,
            transcript: Transcript::default(),
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

    /// Returns a handle on the turn, for all but its events.
    #[must_use]
    pub fn handle(&self) -> TurnHandle {
        self.handle.clone()
    }

    /// Stops the turn. The events up to its end still arrive.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Answers the questions of an AG-UI agent; see [`TurnHandle::resume`].
    ///
    /// # Errors
    /// The agent has asked nothing, or the answers do not fit the questions. The turn is unchanged.
    pub async fn resume(&self, answers: Vec<ResumeEntry>) -> Result<(), TurnError> {
        self.handle.resume(answers).await
    }

    /// Waits until the turn ends, however it ends, and drops its remaining events. Awaiting the turn itself gives an
    /// error if its answer is incomplete.
    ///
    /// No user sees the questions of an AG-UI agent meanwhile: the agent is notified that there is no answer, and if it
    /// asks once more, the turn is cancelled. To answer, take the events and [`resume`](Self::resume).
    ///
    /// # Panics
    /// A panic inside Stepwell is passed on.
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
                // Only `suspend` ends a turn without an outcome, and it consumes the turn.
                Ok(None) => std::future::pending().await,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The runtime shuts down: this task is about to be dropped too.
                    Err(_) => std::future::pending().await,
                },
            },
            None => std::future::pending().await,
        }
    }

    /// Suspends the turn, and returns it as text for [`Agent::revive`](crate::Agent::revive), in this process or a
    /// later one. Its stream is closed and its tools are stopped, so it is best done while the turn
    /// [rests](TurnHandle::rested). The thread stays the turn's until the turn is revived or another turn begins on the
    /// thread; until then the conversation has nothing of the turn. Messages that the user typed and the turn had not
    /// taken in are dropped.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn suspend(mut self) -> Result<String, TurnError> {
        let snapshot = self.handle.suspend().await?;
        if let Some(task) = self.task.take() {
            // The thread is free once the task has ended. The task returns nothing: the turn has no end.
            let _ = task.await;
        }
        Ok(snapshot)
    }

    /// Lets the turn continue to its end without a reader of its events.
    pub fn detach(mut self) {
        self.task = None;
    }
}

/// Returns what an agent is sent instead of an answer.
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
