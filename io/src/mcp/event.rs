use stepwell_core::ToolCallId;
use tokio::sync::broadcast;

/// An event of a server, other than a result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum McpEvent {
    /// The server is ready, for the first time or again.
    Ready {
        /// The server.
        server: String,
        /// The number of its tools.
        tools: usize,
    },
    /// A call has made progress.
    Progress {
        /// The server.
        server: String,
        /// The agent's name for the tool.
        tool: String,
        /// The call.
        tool_call_id: ToolCallId,
        /// The progress, which is more than the last time.
        progress: f64,
        /// The progress at the end, if the server knows it.
        total: Option<f64>,
        /// The tool's current activity, if the server reports it.
        message: Option<String>,
    },
    /// The server's tools have changed: turns that begin now have the new tools.
    ToolsChanged {
        /// The server.
        server: String,
        /// The number of its tools now.
        tools: usize,
    },
    /// The server is lost, or could not be started again.
    Lost {
        /// The server.
        server: String,
        /// The reason for the loss.
        reason: String,
        /// Whether the server is started again without a call.
        restarts: bool,
    },
}

/// The events of all servers. A slow reader misses the oldest events.
#[derive(Debug)]
pub struct McpEvents(pub(super) broadcast::Receiver<McpEvent>);

/// The most events that wait for a reader.
pub(super) const MAX_WAITING_EVENTS: usize = 256;

impl McpEvents {
    /// Waits for the next event; `None` when the servers are gone.
    pub async fn next(&mut self) -> Option<McpEvent> {
        loop {
            match self.0.recv().await {
                Ok(event) => return Some(event),
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    tracing::debug!(target: "stepwell", missed, "events of MCP servers were missed");
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
