//! A server's tools.

use super::names::Names;
use super::options::{McpApproval, McpOptions};
use rmcp::model::{PaginatedRequestParams, Tool as McpTool, ToolAnnotations};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;
use stepwell_core::tool::{Tool, ToolRegistry};

/// The maximum number of pages of one list.
const MAX_PAGES: usize = 64;

/// A tool, and the server's name for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Listed {
    pub(super) tool: Tool,
    pub(super) own_name: String,
}

/// Lists the tools, page by page, up to the limit.
pub(super) async fn fetch(
    peer: &Peer<RoleClient>,
    most: usize,
) -> Result<Vec<McpTool>, ServiceError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(page)).await?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() > most {
            break;
        }
    }
    Ok(tools)
}

/// Converts the tools of a server to tools of an agent. A tool that cannot be converted is left out, with a warning in
/// the trace.
pub(super) fn listed(server: &str, tools: Vec<McpTool>, options: &McpOptions) -> Vec<Listed> {
    let mut names = Names::new(server);
    let mut listed = Vec::new();
    for tool in tools {
        let own_name = tool.name.to_string();
        let kept = if listed.len() >= options.limits.tools {
            Err("the server has too many".to_owned())
        } else {
            as_tool(&mut names, tool, options)
        };
        match kept {
            Ok(tool) => listed.push(Listed { tool, own_name }),
            Err(reason) => {
                let own_name = super::shortened(&own_name, 128);
                tracing::warn!(target: "stepwell", server, tool = own_name, reason, "a tool of an MCP server is left out");
            }
        }
    }
    listed
}

fn as_tool(names: &mut Names, tool: McpTool, options: &McpOptions) -> Result<Tool, String> {
    let description = tool.description.as_deref().unwrap_or_default();
    let schema = Value::Object((*tool.input_schema).clone());
    if description.len() + schema.to_string().len() > options.limits.tool_bytes {
        return Err("its description and schema are too large".to_owned());
    }
    let name = names
        .take(&tool.name)
        .ok_or("the server has another of that name")?;
    let mut made = Tool::new(name, description).parameters(schema);
    let hints = tool.annotations.unwrap_or_default();
    let only_reads = hints.read_only_hint == Some(true);
    made.idempotent = only_reads || hints.idempotent_hint == Some(true);
    made.requires_approval = needs_approval(&hints, options.approval);
    made.timeout = options.call_timeout;
    // The schema is checked here and not in every turn, so that an invalid schema is reported once.
    match ToolRegistry::new().register(made.clone()) {
        Ok(_) => Ok(made),
        Err(error) => Err(super::shortened(&error.to_string(), 500)),
    }
}

fn needs_approval(hints: &ToolAnnotations, approval: McpApproval) -> bool {
    match approval {
        McpApproval::Never => false,
        McpApproval::Always => true,
        // The hint defaults to true, and does not apply to a tool that only reads
        // (<https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations>).
        McpApproval::Destructive => {
            hints.read_only_hint != Some(true) && hints.destructive_hint != Some(false)
        }
    }
}
