//! Shows a turn to its end.

use super::asking::{Asked, Asking, ask};
use crate::failure::Failure;
use crate::terminal::{Prompt, Shown};
use futures::StreamExt;
use stepwell_core::dialect::ApiErrorKind;
use stepwell_io::mcp::{McpEvent, McpEvents};
use stepwell_io::{Failure as RunFailure, Finished, Outcome, RunEvent, Turn};

/// Shows what comes until the turn is over. Ctrl-C cancels the turn, not the program.
pub(crate) async fn follow(turn: Turn, shown: &mut Shown) -> Result<Finished, Failure> {
    watch(turn, shown, None).await
}

/// What a chat heeds beside the turn.
pub(crate) struct Beside<'a> {
    /// What MCP servers tell.
    pub(crate) news: &'a mut McpEvents,
    /// The tools that ask to run, and where the person answers.
    pub(crate) asked: &'a mut Asked,
    pub(crate) prompt: &'a mut Prompt,
}

/// As [`follow`], with what comes beside the turn.
pub(crate) async fn follow_with(
    turn: Turn,
    shown: &mut Shown,
    beside: Beside<'_>,
) -> Result<Finished, Failure> {
    watch(turn, shown, Some(beside)).await
}

async fn watch(
    mut turn: Turn,
    shown: &mut Shown,
    mut beside: Option<Beside<'_>>,
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
            Some(news) = next(&mut beside) => {
                match news {
                    News::Mcp(event) => shown.news(&event)?,
                    News::Asks(asking, prompt) => {
                        if !ask(asking, prompt, shown).await? {
                            turn.cancel();
                        }
                    }
                }
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

/// What came beside the turn.
enum News<'a> {
    Mcp(McpEvent),
    Asks(Asking, &'a mut Prompt),
}

async fn next<'a>(beside: &'a mut Option<Beside<'_>>) -> Option<News<'a>> {
    let Beside {
        news,
        asked,
        prompt,
    } = beside.as_mut()?;
    tokio::select! {
        Some(event) = news.next() => Some(News::Mcp(event)),
        Some(asking) = asked.recv() => Some(News::Asks(asking, prompt)),
        else => None,
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
