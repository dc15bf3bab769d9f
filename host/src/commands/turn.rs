//! Shows a turn to its end.

use crate::failure::Failure;
use crate::terminal::Shown;
use futures::StreamExt;
use stepwell_core::dialect::ApiErrorKind;
use stepwell_io::mcp::{McpEvent, McpEvents};
use stepwell_io::{Failure as RunFailure, Finished, Outcome, RunEvent, Turn};

/// Shows what comes until the turn is over. Ctrl-C cancels the turn, not the program.
pub(crate) async fn follow(turn: Turn, shown: &mut Shown) -> Result<Finished, Failure> {
    watch(turn, shown, None).await
}

/// As [`follow`], with what MCP servers tell in the meantime.
pub(crate) async fn follow_with(
    turn: Turn,
    shown: &mut Shown,
    news: &mut McpEvents,
) -> Result<Finished, Failure> {
    watch(turn, shown, Some(news)).await
}

async fn watch(
    mut turn: Turn,
    shown: &mut Shown,
    mut news: Option<&mut McpEvents>,
) -> Result<Finished, Failure> {
    let ctrl_c = tokio::signal::ctrl_c();
    tokio::pin!(ctrl_c);
    let mut is_listening = true;
    loop {
        let event = tokio::select! {
            biased;
            pressed = &mut ctrl_c, if is_listening => {
                is_listening = false;
                if pressed.is_ok() {
                    turn.cancel();
                }
                continue;
            }
            event = turn.next() => event,
            Some(event) = next(&mut news) => {
                shown.news(&event)?;
                continue;
            }
        };
        match event {
            Some(RunEvent::Completed(_)) | None => break,
            Some(event) => shown.event(&event)?,
        }
    }
    shown.end()?;
    Ok(turn.finish().await)
}

async fn next(news: &mut Option<&mut McpEvents>) -> Option<McpEvent> {
    match news {
        Some(news) => news.next().await,
        None => None,
    }
}

/// Why the answer is not whole, if it is not.
pub(crate) fn problem(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Success => None,
        Outcome::LimitReached { limit } => Some(limit.to_string()),
        Outcome::Cancelled => Some("cancelled".to_owned()),
        Outcome::Truncated => Some("the stream ended before the answer did".to_owned()),
        Outcome::Failed {
            failure: failure @ RunFailure::Api { error },
        } if error.kind == ApiErrorKind::Authentication => {
            Some(format!("{failure}; check the key"))
        }
        Outcome::Failed { failure } => Some(failure.to_string()),
        _ => Some("the turn failed".to_owned()),
    }
}
