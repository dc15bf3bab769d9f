use crate::turn::finished::Finished;
use crate::turn::handle::Command;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// The turn that owns a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentTurn {
    pub(crate) cancel: CancellationToken,
    /// Cancelled once the turn has put its conversation back: the next turn may begin.
    pub(crate) ended: CancellationToken,
    /// The turn's commands. They end with the last handle on the turn.
    pub(crate) commands: Option<mpsc::WeakSender<Command>>,
    /// The end of the turn, for those who wait for it; set before `ended`.
    pub(crate) end: watch::Sender<Option<Arc<Finished>>>,
}

impl CurrentTurn {
    pub(crate) fn new(cancel: CancellationToken, commands: mpsc::WeakSender<Command>) -> Self {
        Self {
            cancel,
            commands: Some(commands),
            ..Self::default()
        }
    }

    /// Returns whether the turn continues. A turn that was asked to stop does not, even if it has not put its
    /// conversation back.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.ended.is_cancelled() && !self.cancel.is_cancelled()
    }

    /// Gives the end of the turn to those who wait for it.
    pub(crate) fn set_end(&self, end: &Finished) {
        if self.end.receiver_count() > 0 {
            self.end.send_replace(Some(Arc::new(end.clone())));
        }
    }
}
