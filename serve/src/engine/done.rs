//! Whether a command was handled, for a host that has lost the reply.

use crate::engine::{Command, EngineError};
use crate::turn::announce::{Statuses, open_questions, were_asked};
use crate::turn::event_writer;
use std::sync::Arc;
use stepwell_core::ToolCallId;
use stepwell_core::run::BlockContent;
use stepwell_core::session;
use stepwell_io::store::{Store, TurnKey};
use stepwell_io::tool::ToolResult;
use tokio_util::sync::CancellationToken;

/// Returns whether the effects of a command are in the store: it was handled before, and only the reply is lost.
///
/// # Errors
/// The store cannot be read.
pub(crate) async fn is_done(
    store: &Arc<dyn Store>,
    turn: &TurnKey,
    command: &Command,
) -> Result<bool, EngineError> {
    match command {
        Command::Answer(answers) => {
            let written = event_writer::read(store, turn, &CancellationToken::new()).await?;
            let ids = || answers.iter().map(|answer| &answer.interrupt_id);
            let open = open_questions(&written.events);
            let is_open = ids().any(|id| open.contains_key(id));
            Ok(!is_open && were_asked(&written.events, ids()))
        }
        Command::BringResult(call, result) => {
            let path = store.path(turn).await?;
            let mut blocks = path.iter().flat_map(|turn| &turn.blocks);
            Ok(blocks.any(|stored| is_result(&stored.block.content, call, result)))
        }
        Command::Continue(continued) => {
            let written = event_writer::read(store, turn, &CancellationToken::new()).await?;
            let run = continued.brought.run.as_ref();
            Ok(run.is_some_and(|run| written.has_run(&run.id)))
        }
        Command::Reply(id, _) => {
            let turn = store.turn(turn).await?;
            let waiting = turn.as_ref().map(session::pending).unwrap_or_default();
            Ok(!waiting.iter().any(|waits| waits.id == *id))
        }
        Command::CancelCall(call) => {
            let statuses = Statuses::of_last(&store.path(turn).await?)?;
            Ok(statuses.is_over(call))
        }
    }
}

/// Returns whether the block has this result of the call, and not one from another source or from the call itself.
fn is_result(block: &BlockContent, call: &ToolCallId, brought: &ToolResult) -> bool {
    let BlockContent::ToolResult {
        tool_call_id,
        content,
        failure,
        ..
    } = block
    else {
        return false;
    };
    let is_same = match brought {
        Ok(output) => failure.is_none() && *content == output.content,
        Err(error) => failure.as_ref() == Some(error),
    };
    tool_call_id == call && is_same
}
