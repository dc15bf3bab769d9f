//! A turn under way, as its raw events.

use crate::turn::finished::Finished;
use crate::turn::handle::{TurnError, TurnHandle};
use futures::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use stepwell_core::event::{Interrupt, Metadata, ResumeEntry, ResumeStatus};
use stepwell_core::run::{Failure, Outcome, RunEvent};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A turn that is under way, as its raw events: a stream that ends with [`RunEvent::Completed`], however the turn ended.
/// It is for hosts that pass all events on, such as servers; [`Turn`](crate::Turn) is for apps.
///
/// Dropping the turn cancels it; [`detach`](Self::detach) lets it continue. While the app takes no events, the turn
/// stops reading the answer once some dozens of events wait; its tools, its clocks and its [`handle`](Self::handle) are
/// not held up. Deltas of one text that arrive together are one event.
#[derive(Debug)]
#[must_use = "a turn that is dropped is cancelled"]
pub struct TurnEvents {
    pub(crate) events: mpsc::Receiver<RunEvent>,
    pub(crate) handle: TurnHandle,
    pub(crate) end: TurnEnd,
}

/// Where the end of a turn comes from.
#[derive(Debug)]
pub(crate) enum TurnEnd {
    /// The task that drives the turn; it ends without a result if the turn is suspended.
    Task(JoinHandle<Option<Finished>>),
    /// A turn that never began.
    Over(Option<Box<Finished>>),
    /// Nobody waits for the end.
    Detached,
}

impl TurnEvents {
    /// Returns a turn that has failed because another turn of its conversation is under way. It has nothing of the
    /// conversation, which may be another user's.
    pub(crate) fn refused() -> Self {
        Self::ended(Outcome::Failed {
            failure: Failure::Busy,
        })
    }

    /// Returns a turn that is over, and has nothing of a conversation.
    pub(crate) fn ended(outcome: Outcome) -> Self {
        let (events, receiver) = mpsc::channel(1);
        // The channel has room for one event.
        let _ = events.try_send(RunEvent::Completed(outcome.clone()));
        let begun = CancellationToken::new();
        begun.cancel();
        let (commands, _) = mpsc::channel(1);
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
            end: TurnEnd::Over(Some(Box::new(Finished::without_turn(outcome)))),
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

    /// Waits until the turn ends, however it ends, and drops its remaining events.
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
        self.take_end().await
    }

    /// Waits for the end of a turn whose events are taken.
    pub(crate) async fn take_end(&mut self) -> Finished {
        std::future::poll_fn(|context| self.poll_end(context)).await
    }

    /// Polls for the end of a turn whose events are taken. A panic of its task is passed on.
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Finished> {
        let end = match &mut self.end {
            TurnEnd::Task(task) => match ready!(Pin::new(task).poll(context)) {
                Ok(end) => end.map(Box::new),
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => {
                        self.end = TurnEnd::Detached;
                        std::panic::resume_unwind(panic)
                    }
                    // The runtime shuts down: this task is about to be dropped too.
                    Err(_) => None,
                },
            },
            TurnEnd::Over(end) => end.take(),
            TurnEnd::Detached => return Poll::Pending,
        };
        self.end = TurnEnd::Detached;
        match end {
            Some(end) => Poll::Ready(*end),
            // Only `suspend` ends a turn without an outcome, and it consumes the turn.
            None => Poll::Pending,
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
        if let TurnEnd::Task(task) = std::mem::replace(&mut self.end, TurnEnd::Detached) {
            // The thread is free once the task has ended. The task returns nothing: the turn has no end.
            let _ = task.await;
        }
        Ok(snapshot)
    }

    /// Lets the turn continue to its end without a reader of its events.
    pub fn detach(mut self) {
        self.end = TurnEnd::Detached;
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

impl Stream for TurnEvents {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        self.events.poll_recv(context)
    }
}

impl Drop for TurnEvents {
    fn drop(&mut self) {
        if matches!(self.end, TurnEnd::Task(_)) {
            self.handle.cancel();
        }
    }
}
