use crate::ToolCallId;
use serde::{Deserialize, Serialize};

/// A call that the answer has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) id: ToolCallId,
    pub(super) open: bool,
}
