//! Shows a turn to its end.

use crate::Failure;
use crate::terminal::Shown;
use futures::StreamExt;
use std::convert::Infallible;
use std::future::{Future, pending};
use stepwell_io::message::{Interrupt, ResumeEntry};
use stepwell_io::turn::{Finished, Outcome, RunEvent, TurnEvents};

/// Handles events from outside a turn while the turn is shown.
pub trait Beside {
    /// An event.
    type News;

    /// Waits for the next event, for ever if there is none. Dropping it loses no event.
    fn next(&mut self) -> impl Future<Output = Self::News>;

    /// Shows the event, or asks the user about it. `false` cancels the turn.
    fn handle(
        &mut self,
        news: Self::News,
        shown: &mut Shown,
    ) -> impl Future<Output = Result<bool, Failure>>;

    /// Asks the user the questions of an AG-UI agent. `None` cancels the turn.
    fn answer(
        &mut self,
        interrupts: Vec<Interrupt>,
        shown: &mut Shown,
    ) -> impl Future<Output = Result<Option<Vec<ResumeEntry>>, Failure>>;
}

/// Handles no events.
impl Beside for () {
    type News = Infallible;

    fn next(&mut self) -> impl Future<Output = Infallible> {
        pending()
    }

    async fn handle(&mut self, news: Infallible, _: &mut Shown) -> Result<bool, Failure> {
        match news {}
    }

    async fn answer(
        &mut self,
        _: Vec<Interrupt>,
        _: &mut Shown,
    ) -> Result<Option<Vec<ResumeEntry>>, Failure> {
        Ok(None)
    }
}

/// Shows a turn to its end. Ctrl-C cancels the turn, not the program; a second one leaves at once.
///
/// # Errors
/// The screen cannot be written to, or the user has left ([`Failure::Left`]).
pub async fn follow(turn: TurnEvents, shown: &mut Shown) -> Result<Finished, Failure> {
    follow_with(turn, shown, &mut ()).await
}

/// Shows a turn like [`follow`], and handles other events meanwhile.
///
/// # Errors
/// Those of [`follow`], or an event could not be handled.
pub async fn follow_with(
    mut turn: TurnEvents,
    shown: &mut Shown,
    beside: &mut impl Beside,
) -> Result<Finished, Failure> {
    let mut ctrl_c = Box::pin(tokio::signal::ctrl_c());
    let (mut is_listening, mut is_cancelled) = (true, false);
    loop {
        let event = tokio::select! {
            biased;
            pressed = &mut ctrl_c, if is_listening => {
                if pressed.is_err() {
                    is_listening = false;
                } else if is_cancelled {
                    shown.end()?;
                    return Err(Failure::Left);
                } else {
                    ctrl_c = Box::pin(tokio::signal::ctrl_c());
                    is_cancelled = true;
                    turn.cancel();
                }
                continue;
            }
            event = turn.next() => event,
            news = beside.next() => {
                if !beside.handle(news, shown).await? {
                    is_cancelled = true;
                    turn.cancel();
                }
                continue;
            }
        };
        match event {
            Some(RunEvent::Completed(_)) | None => break,
            Some(RunEvent::Interrupted { interrupts }) => {
                let resumed = match beside.answer(interrupts, shown).await? {
                    Some(answers) => turn.resume(answers).await.is_ok(),
                    None => false,
                };
                if !resumed {
                    is_cancelled = true;
                    turn.cancel();
                }
            }
            Some(event) => shown.event(&event)?,
        }
    }
    shown.end()?;
    Ok(turn.finish().await)
}

/// Returns why the answer is incomplete, if it is.
#[must_use]
pub fn problem(outcome: &Outcome) -> Option<String> {
    match outcome {
        // The user has cancelled it.
        Outcome::Cancelled => Some("cancelled".to_owned()),
        outcome => outcome.problem().map(|problem| problem.to_string()),
    }
}
