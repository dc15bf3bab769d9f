use tokio_util::sync::CancellationToken;

/// The turn that owns a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentTurn {
    pub(crate) cancel: CancellationToken,
    /// Cancelled once the turn has put its conversation back: the next turn may begin.
    pub(crate) ended: CancellationToken,
}

impl CurrentTurn {
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self {
            cancel,
            ended: CancellationToken::new(),
        }
    }

    /// Returns whether the turn continues. A turn that was asked to stop does not, even if it has not put its
    /// conversation back.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.ended.is_cancelled() && !self.cancel.is_cancelled()
    }
}
