//! Tools that come and go between turns.

use crate::app::tools::handler::ToolHandler;
use std::fmt;
use std::sync::Arc;
use stepwell_core::tool::Tool;

/// A tool of a [`ToolSource`], and its code.
#[derive(Clone)]
pub struct SourcedTool {
    /// The tool's definition, and how it may be run.
    pub tool: Tool,
    /// The tool's code.
    pub handler: Arc<dyn ToolHandler>,
}

impl fmt::Debug for SourcedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourcedTool")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// A source of tools that may change while the agent lives: a server, or a plug-in.
///
/// A turn reads the tools once, when it begins, and keeps them to its end.
pub trait ToolSource: Send + Sync + 'static {
    /// Returns the current tools. As long as they have not changed, it should return the same `Arc`: compiled schemas
    /// are cached for it.
    fn tools(&self) -> Arc<[SourcedTool]>;
}
