use stepwell_core::ToolCallId;
use tokio::sync::broadcast;

/// What a server tells beside its results, and what becomes of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum McpEvent {
    /// It is ready, for the first time or again.
    Ready {
        /// The server.
        server: String,
        /// How many tools it has.
        tools: usize,
    },
    /// A call has come further.
    Progress {
        /// The server.
        server: String,
        /// The tool, as the agent knows it.
        tool: String,
        /// The call.
        tool_call_id: ToolCallId,
        /// How far it is: more than the last time.
        progress: f64,
        /// How far it has to come, if the server knows.
        total: Option<f64>,
        /// What it is doing, if the server says.
        message: Option<String>,
    },
    /// Its tools have changed: turns that begin now have the new ones.
    ToolsChanged {
        /// The server.
        server: String,
        /// How many tools it has now.
        tools: usize,
    },
    /// It is lost, or could not be started again.
    Lost {
        /// The server.
        server: String,
        /// What happened.
        reason: String,
        /// Whether it is started again without being called.
        restarts: bool,
    },
}

/// The events of all servers. Whoever is slow misses the oldest.
#[derive(Debug)]
pub struct McpEvents(pub(super) broadcast::Receiver<McpEvent>);

/// As many events as may wait.
pub(super) const WAITING: usize = 256;

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
