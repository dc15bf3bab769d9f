//! A turn under way.

use crate::answer::output::Output;
use crate::answer::result::TurnResult;
use crate::answer::update::Update;
use crate::error::Error;
use crate::start::begin::Begin;
use crate::start::runner::Runner;
use crate::start::when_busy::WhenBusy;
use crate::turn::events::TurnEvents;
use crate::turn::finished::Finished;
use crate::turn::handle::{TurnError, TurnHandle};
use futures::{Stream, StreamExt};
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use stepwell_core::MessageId;
use stepwell_core::ToolCallId;
use stepwell_core::event::{MessageContent, ResumeEntry};
use stepwell_core::run::{Failure, Outcome, RunEvent};
use stepwell_core::tool::ToolResult;

/// A turn that is under way: a stream of its [updates](Update). If the turn fails, the last item is the error.
///
/// Dropping the turn cancels it; [`detach`](Self::detach) lets it continue. While the app takes no updates, the turn
/// stops reading the answer once some dozens of updates wait; its tools, its clocks and its [`handle`](Self::handle) are
/// not held up. Deltas of one text that arrive together are one update.
///
/// ```no_run
/// use stepwell_io::Update;
///
/// # async fn example(agent: stepwell_io::Agent) -> Result<(), stepwell_io::Error> {
/// let mut turn = agent.stream("Why is the sky blue?");
/// while let Some(update) = turn.next().await {
///     match update? {
///         Update::Text { delta, .. } => print!("{delta}"),
///         Update::ToolCall(call) => println!("[{}: {:?}]", call.name, call.status),
///         _ => {}
///     }
/// }
/// let result = turn.result().await?;
/// println!("{:?}", result.usage());
/// # Ok(())
/// # }
/// ```
#[must_use = "a turn that is dropped is cancelled"]
pub struct Turn<T = String> {
    state: TurnState,
    handle: TurnHandle,
    /// The provider that answers.
    provider: String,
    output: PhantomData<fn() -> T>,
}

enum TurnState {
    UnderWay(TurnEvents),
    /// The events are taken; the end follows.
    Ending(TurnEvents),
    Ended {
        end: Box<Result<Finished, Error>>,
        /// Whether the stream has given out the error.
        is_reported: bool,
    },
    /// The result was given out.
    Taken,
}

impl<T> fmt::Debug for Turn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("is_over", &!matches!(self.state, TurnState::UnderWay(_)))
            .finish_non_exhaustive()
    }
}

impl<T> Turn<T> {
    /// Begins or continues a turn.
    pub(crate) fn begin(runner: &Runner, begin: Begin, when_busy: WhenBusy) -> Self {
        let events = runner.begin_if_free(begin, when_busy);
        Self {
            provider: runner.config().endpoint.provider.clone(),
            handle: events.handle(),
            state: TurnState::UnderWay(events),
            output: PhantomData,
        }
    }

    /// Returns a turn that could not begin.
    pub(crate) fn failed(error: Error) -> Self {
        let events = TurnEvents::ended(Outcome::Failed {
            failure: Failure::Misuse {
                message: error.message().to_owned(),
            },
        });
        Self {
            provider: String::new(),
            handle: events.handle(),
            state: TurnState::Ended {
                end: Box::new(Err(error)),
                is_reported: false,
            },
            output: PhantomData,
        }
    }

    /// Returns a handle on the turn, for all but its updates: to cancel it from another task, say.
    #[must_use]
    pub fn handle(&self) -> TurnHandle {
        self.handle.clone()
    }

    pub(crate) fn handle_ref(&self) -> &TurnHandle {
        &self.handle
    }

    /// Stops the turn. The updates up to its end still arrive.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Stops one tool call; see [`TurnHandle::cancel_call`].
    ///
    /// # Errors
    /// The call is done, or the turn has no such call.
    pub async fn cancel_call(&self, tool_call_id: impl Into<ToolCallId>) -> Result<(), TurnError> {
        self.handle.cancel_call(tool_call_id).await
    }

    /// Gives the turn the result of a deferred call; see [`TurnHandle::resolve_call`].
    ///
    /// # Errors
    /// The turn awaits no result of the call.
    pub async fn resolve_call(
        &self,
        tool_call_id: impl Into<ToolCallId>,
        result: ToolResult,
    ) -> Result<(), TurnError> {
        self.handle.resolve_call(tool_call_id, result).await
    }

    /// Sends a message during the turn; see [`TurnHandle::steer`].
    ///
    /// # Errors
    /// The turn is over: send the message instead.
    pub async fn steer(&self, content: impl Into<MessageContent>) -> Result<MessageId, TurnError> {
        self.handle.steer(content).await
    }

    /// Answers the questions of an AG-UI agent; see [`TurnHandle::resume`].
    ///
    /// # Errors
    /// The agent has asked nothing, or the answers do not fit the questions. The turn is unchanged.
    pub async fn resume(&self, answers: Vec<ResumeEntry>) -> Result<(), TurnError> {
        self.handle.resume(answers).await
    }

    /// Returns the next update, or the error with which the turn failed; `None` once the turn is over.
    pub async fn next(&mut self) -> Option<Result<Update, Error>> {
        StreamExt::next(self).await
    }

    /// Returns the deltas of the answer's text alone.
    pub fn text_stream(self) -> impl Stream<Item = Result<String, Error>> + Send + Unpin {
        self.filter_map(|update| {
            std::future::ready(match update {
                Ok(Update::Text { delta, .. }) => Some(Ok(delta)),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            })
        })
    }

    /// Returns the turn as its raw events, for a host that passes all of them on.
    pub fn into_events(mut self) -> TurnEvents {
        match std::mem::replace(&mut self.state, TurnState::Taken) {
            TurnState::UnderWay(events) => events,
            TurnState::Ended { end, .. } => match *end {
                Ok(finished) => TurnEvents::ended(finished.outcome),
                Err(error) => TurnEvents::ended(Outcome::Failed {
                    failure: Failure::Misuse {
                        message: error.message().to_owned(),
                    },
                }),
            },
            TurnState::Ending(_) | TurnState::Taken => TurnEvents::ended(Outcome::Cancelled),
        }
    }

    /// Suspends the turn, and returns it as text for [`Agent::revive`](crate::Agent::revive), in this process or a
    /// later one; see [`TurnEvents::suspend`].
    ///
    /// # Errors
    /// The turn is over.
    pub async fn suspend(self) -> Result<String, TurnError> {
        match self.state {
            TurnState::UnderWay(events) => events.suspend().await,
            _ => Err(TurnError::Over),
        }
    }

    /// Lets the turn continue to its end without a reader of its updates.
    pub fn detach(self) {
        if let TurnState::UnderWay(events) = self.state {
            events.detach();
        }
    }
}

impl<T: Output> Turn<T> {
    /// Waits until the turn ends, and returns its result. Updates that were not taken are dropped.
    ///
    /// No user sees the questions of an AG-UI agent meanwhile: the agent is notified that there is no answer, and if it
    /// asks once more, the turn is cancelled. To answer, take the updates and [`resume`](Self::resume).
    ///
    /// # Errors
    /// The answer is incomplete: the key is wrong, a limit was reached, the answer was cut, …
    /// [`Error::result`] has what there is.
    ///
    /// # Panics
    /// A panic inside Stepwell is passed on.
    pub async fn result(self) -> Result<TurnResult<T>, Error> {
        let end = match self.state {
            TurnState::UnderWay(events) => Ok(events.finish().await),
            TurnState::Ending(mut events) => Ok(events.take_end().await),
            TurnState::Ended { end, .. } => *end,
            TurnState::Taken => Err(Error::misuse("the turn has no result any more")),
        }?;
        match end.outcome.problem() {
            Some(_) => Err(Error::of_end(end, &self.provider)),
            None => TurnResult::of_end(end).map_err(|end| Error::unreadable(*end, &self.provider)),
        }
    }
}

impl<T> Stream for Turn<T> {
    type Item = Result<Update, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match &mut self.state {
                TurnState::UnderWay(events) => match ready!(events.poll_next_unpin(context)) {
                    Some(RunEvent::Completed(_)) => {}
                    Some(event) => match Update::from_event(event) {
                        Some(update) => return Poll::Ready(Some(Ok(update))),
                        None => continue,
                    },
                    None => {
                        let state = std::mem::replace(&mut self.state, TurnState::Taken);
                        if let TurnState::UnderWay(events) = state {
                            self.state = TurnState::Ending(events);
                        }
                    }
                },
                TurnState::Ending(events) => {
                    let end = ready!(events.poll_end(context));
                    let has_failed = end.outcome.problem().is_some();
                    self.state = TurnState::Ended {
                        end: Box::new(match has_failed {
                            true => Err(Error::of_end(end, &self.provider)),
                            false => Ok(end),
                        }),
                        is_reported: false,
                    };
                }
                TurnState::Ended { end, is_reported } => {
                    let is_first = !std::mem::replace(is_reported, true);
                    let error = end.as_ref().as_ref().err().filter(|_| is_first);
                    return Poll::Ready(error.cloned().map(Err));
                }
                TurnState::Taken => return Poll::Ready(None),
            }
        }
    }
}

impl<T> From<Turn<T>> for TurnEvents {
    fn from(turn: Turn<T>) -> Self {
        turn.into_events()
    }
}
