use crate::setup::Compaction;
use futures::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use stepwell_core::run::Limits;
use stepwell_core::tool::ToolError;
use stepwell_io::HttpClient;
use stepwell_io::config::Endpoint;
use stepwell_io::tool::{
    SourcedTool, Tool, ToolAnswer, ToolContext, ToolFailure, ToolHandler, ToolRegistry, ToolSource,
};

/// The model that answers the runs, and the tools that run here.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    /// The address of the model.
    pub(crate) endpoint: Endpoint,
    /// The models that a turn may ask for in its place.
    pub(crate) offered: Vec<Endpoint>,
    /// The models that are asked when the one of a turn has failed.
    pub(crate) fallback: Vec<Endpoint>,
    /// How long conversations are kept from filling the model's context.
    pub(crate) compaction: Compaction,
    /// The instructions of the model.
    pub(crate) instructions: Option<String>,
    /// The limits of a turn.
    pub(crate) limits: Limits,
    /// The tools that run here.
    pub(crate) tools: Vec<ServerTool>,
    /// The connections to the model, which all runs share.
    pub(crate) client: HttpClient,
}

/// A tool that runs here, for the runs of all clients.
#[derive(Clone)]
pub(crate) struct ServerTool {
    pub(crate) tool: Tool,
    handler: Arc<dyn ToolHandler>,
}

impl ServerTool {
    pub(crate) fn new(tool: Tool, handler: impl ToolHandler) -> Self {
        let handler = Arc::new(handler);
        Self { tool, handler }
    }

    /// The tools that a source has now.
    pub(crate) fn of(source: &impl ToolSource) -> impl Iterator<Item = Self> {
        let tools = source.tools().to_vec();
        tools
            .into_iter()
            .map(|SourcedTool { tool, handler }| Self { tool, handler })
    }
}

impl Backend {
    /// The definitions of the tools that run here.
    ///
    /// # Errors
    /// A tool cannot be registered.
    pub(crate) fn registry(&self) -> Result<ToolRegistry, ToolError> {
        let mut registry = ToolRegistry::new();
        for server_tool in &self.tools {
            registry.add(server_tool.tool.clone())?;
        }
        Ok(registry)
    }
}

impl fmt::Debug for ServerTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerTool")
            .field(&self.tool.name())
            .finish()
    }
}

impl ToolHandler for ServerTool {
    fn call(&self, call: ToolContext) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        self.handler.call(call)
    }
}
