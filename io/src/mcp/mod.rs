//! Tools of Model Context Protocol servers, by the official SDK, `rmcp`.
//!
//! A server runs as a child process and communicates over its standard input and output, or it is at an address and
//! communicates over streamable HTTP. [`McpServers::connect`] starts them all; given to
//! [`AgentBuilder::tool_source`](crate::AgentBuilder::tool_source), each of their tools is a tool of the agent, named
//! `SERVER__TOOL`.
//!
//! ```no_run
//! use stepwell_io::mcp::{McpConfig, McpOptions, McpServers};
//! use stepwell_io::{Agent, Model};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config: McpConfig = r#"{
//!     "mcpServers": {
//!         "time": { "command": "uvx", "args": ["mcp-server-time"] },
//!         "search": { "url": "https://search.example/mcp", "headers": { "Authorization": "Bearer the key" } }
//!     }
//! }"#
//! .parse()?;
//! let servers = McpServers::connect(config, McpOptions::default()).await?;
//!
//! let agent = Agent::builder(Model::openai("gpt-5-mini")).tool_source(servers.clone()).build()?;
//! println!("{}", agent.run("What time is it in Bergen?").await?.output);
//! servers.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What becomes of what
//! | MCP | Stepwell |
//! |---|---|
//! | `inputSchema`, `description` | kept as they are |
//! | `readOnlyHint`, `idempotentHint` | [`Tool::idempotent`](crate::tool::Tool) |
//! | `destructiveHint` | [`Tool::requires_approval`](crate::tool::Tool), if [`McpOptions::approval`] asks for it |
//! | text, images, audio, resources, `structuredContent` | content parts of the result |
//! | `isError`, errors of JSON-RPC | an error result that the model sees |
//! | `notifications/progress`, `notifications/tools/list_changed` | an [`McpEvent`] |
//! | a call or turn that is cancelled, or out of time | `notifications/cancelled` |
//!
//! # Servers that fail
//! When a server is lost, each call under way gets an error result. The server is started again, at once and then after
//! longer and longer pauses; the next call waits for it. After [`McpOptions::max_restarts`] restarts in vain, each
//! further call tries once more. What a server sends is never trusted: see [`McpLimits`].
//!
//! # In the trace
//! The trace has servers that are ready or lost, and tools that are left out; at `debug` also the standard error of
//! child processes, and progress. The SDK itself writes complete messages to the target `rmcp`, at `info` too: a
//! subscriber that must not have them keeps that target at `warn`.

mod call;
mod config;
mod connection;
mod content;
mod event;
mod handler;
mod list;
mod names;
mod options;
mod server;
mod servers;
mod transport;

pub use config::{McpConfig, McpConfigError, McpServerConfig};
pub use event::{McpEvent, McpEvents};
pub use options::{McpApproval, McpLimits, McpOptions};
pub use servers::{McpError, McpServers};

/// Returns at most `most` bytes of a text, for a message.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end));
    format!("{}…", &text[..end.unwrap_or_default()])
}
