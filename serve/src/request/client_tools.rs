//! The tools of a client: the model is offered them, and they do not run here, but wait for a result.

use crate::request::refused::{Refused, RefusedReason};
use crate::turn::shared_state::CHANGE_STATE;
use std::error::Error as _;
use stepwell_core::event::ToolDefinition;
use stepwell_core::tool::ToolError;
use stepwell_io::tool::{Tool, ToolAnswer, ToolRegistry};
use stepwell_io::{Agent, AgentBuilder, BuildError};

/// The most tools of a client's. A few bytes of a body may become a hundred times as many in memory: each tool has a
/// compiled schema.
const MOST_TOOLS: usize = 4_096;

/// Why tools cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum UnusableTools {
    /// There are too many.
    #[error("/tools has {count} entries, and may have {MOST_TOOLS}: send fewer")]
    TooMany {
        /// The number of the client's tools.
        count: usize,
    },
    /// A tool has the name of one that runs here.
    #[error("/tools/{index}/name: the tool `{name}` is the server's own: name yours otherwise")]
    Taken {
        /// Its place in the list.
        index: usize,
        /// Its name.
        name: String,
    },
    /// No provider would take one.
    #[error("{path}: {source}")]
    Tool {
        /// The place in the request, as a JSON Pointer.
        path: String,
        /// What is wrong with it.
        source: ToolError,
    },
    /// The agent cannot be set up.
    #[error("the server cannot begin a run: see its log")]
    Agent(#[source] stepwell_io::Error),
}

/// Offers a client's tools alongside those of `own`, the server's.
pub(crate) fn offer(
    mut agent: AgentBuilder,
    own: &ToolRegistry,
    tools: &[ToolDefinition],
) -> Result<AgentBuilder, UnusableTools> {
    let count = tools.len();
    if count > MOST_TOOLS {
        return Err(UnusableTools::TooMany { count });
    }
    for (index, definition) in tools.iter().enumerate() {
        let name = &definition.name;
        if own.get(name).is_some() || name == CHANGE_STATE {
            let name = name.clone();
            return Err(UnusableTools::Taken { index, name });
        }
        agent = agent.tool(client_tool(definition), |_| async { ToolAnswer::Deferred });
    }
    Ok(agent)
}

/// The agent, if its tools can be offered; `tools` are the client's.
pub(crate) fn build(agent: AgentBuilder, tools: &[ToolDefinition]) -> Result<Agent, UnusableTools> {
    agent.build().map_err(|error| {
        let cause = error.source().and_then(|cause| cause.downcast_ref());
        match cause {
            Some(BuildError::Tool(source)) => UnusableTools::Tool {
                path: path(source, tools),
                source: source.clone(),
            },
            _ => UnusableTools::Agent(error),
        }
    })
}

/// Returns the place of the error in the request.
fn path(error: &ToolError, tools: &[ToolDefinition]) -> String {
    let (name, field, within) = match error {
        ToolError::Schema { name, .. } => (name, "parameters", ""),
        ToolError::Costly { name, path, .. } => (name, "parameters", path.as_str()),
        ToolError::Name { name } | ToolError::Duplicate { name } => (name, "name", ""),
        _ => return "/tools".to_owned(),
    };
    let index = tools.iter().rposition(|tool| tool.name == *name);
    index.map_or_else(
        || "/tools".to_owned(),
        |index| format!("/tools/{index}/{field}{within}"),
    )
}

fn client_tool(definition: &ToolDefinition) -> Tool {
    // To give a call to the client again, after a restart, does no more than to have given it once.
    let tool = Tool::new(&definition.name, &definition.description).idempotent();
    match &definition.parameters {
        Some(parameters) => tool.parameters(parameters.clone()),
        None => tool,
    }
}

impl From<UnusableTools> for Refused {
    fn from(error: UnusableTools) -> Self {
        let reason = match &error {
            UnusableTools::TooMany { .. } => RefusedReason::InvalidInput,
            UnusableTools::Taken { .. } | UnusableTools::Tool { .. } => RefusedReason::UnusableTool,
            UnusableTools::Agent(cause) => {
                tracing::error!(target: "stepwell", error = %cause, "no agent can be set up");
                RefusedReason::InternalError
            }
        };
        Self::new(reason, error.to_string())
    }
}
