//! Tools that come and go between turns.

use crate::app::tools::handler::ToolHandler;
use std::fmt;
use std::sync::Arc;
use stepwell_core::tool::Tool;

/// A tool of a [`ToolSource`], and its code.
#[derive(Clone)]
pub struct SourcedTool {
    /// How the model sees it, and how it may be run.
    pub tool: Tool,
    /// Its code.
    pub handler: Arc<dyn ToolHandler>,
}

impl fmt::Debug for SourcedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourcedTool")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// Where tools come from that may change while the agent lives: a server's, or a plug-in's.
///
/// A turn asks once, when it begins, and keeps what it got to its end.
pub trait ToolSource: Send + Sync + 'static {
    /// The tools of now. As long as nothing has changed, the same `Arc`: what is made of it is kept.
    fn tools(&self) -> Arc<[SourcedTool]>;
}
