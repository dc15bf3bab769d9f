use tokio_util::sync::CancellationToken;

/// The turn that owns a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Current {
    pub(crate) cancel: CancellationToken,
    /// It has put its conversation back: the next may begin.
    pub(crate) ended: CancellationToken,
}

impl Current {
    /// Whether the turn goes on. One that was told to stop does not, even if it has not put its conversation back.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.ended.is_cancelled() && !self.cancel.is_cancelled()
    }
}
