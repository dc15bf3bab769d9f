//! What happens to a turn that begins while another turn of its thread is under way.

use crate::handle::TurnHandle;
use crate::turn::{Finished, Turn};
use std::sync::Arc;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::TokenUsage;
use stepwell_core::run::{Failure, Outcome, RunEvent, TextOptions};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// What happens to a turn that begins while another turn of its thread is under way:
/// [`AgentBuilder::when_busy`](crate::AgentBuilder::when_busy) sets it for an agent,
/// [`TurnBuilder::when_busy`](crate::TurnBuilder::when_busy) for one turn.
///
/// A turn that was cancelled, dropped or suspended is not under way, even if its last write still is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenBusy {
    /// The new turn fails at once with [`Failure::Busy`]: nothing of it is sent, stored, or part of the conversation, and
    /// the other turn continues.
    #[default]
    Fail,
    /// The other turn is cancelled, and the new one continues from where it stopped: for an app with one user, who has
    /// moved on.
    Cancel,
}

/// A turn that has failed because its thread is busy. It has nothing of the conversation, which may be another user's.
pub(crate) fn refused() -> Turn {
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
    Turn {
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
