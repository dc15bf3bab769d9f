//! The tools of a client: the model is offered them, and they do not run here, but wait for a result. Those of a session's
//! turn are stored with it, so that whoever goes on with the turn offers them too.

use super::kept::Kept;
use super::refusal::{Code, Refusal};
use super::shared_state::CHANGE_STATE;
use std::convert::Infallible;
use std::sync::Arc;
use stepwell_core::event::ToolDefinition;
use stepwell_core::tool::ToolError;
use stepwell_io::{Agent, AgentBuilder, BuildError, Tool, ToolAnswer, ToolRegistry};

/// The most tools of a client's. A few bytes of a body may become a hundred times as many in memory: each tool has a
/// compiled schema.
pub(super) const MOST_TOOLS: usize = 4_096;

/// The most bytes of those of a stored turn, as JSON: they are written with each part of it.
const MOST_STORED: usize = 256 << 10;

/// Why tools cannot be offered.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnusableTools {
    #[error("/tools has {count} entries, and may have {MOST_TOOLS}: send fewer")]
    TooMany { count: usize },
    #[error(
        "/tools has {bytes} bytes as JSON, and may have {MOST_STORED}: send fewer, or shorter ones"
    )]
    TooLong { bytes: usize },
    #[error("/tools/{index}/name: the tool `{name}` is the server's own: name yours otherwise")]
    Taken { index: usize, name: String },
    #[error("{path}: {source}")]
    Tool { path: String, source: ToolError },
    #[error("the server cannot begin a run: see its log")]
    Agent(#[source] BuildError),
}

/// Those of a stored turn.
#[derive(Clone, Debug)]
pub(super) struct TurnTools {
    /// What the turn's agent begins with: they are offered beside the server's own.
    pub(super) base: AgentBuilder,
    /// Their definitions, as they are stored.
    pub(super) stored: Arc<str>,
}

/// Offers a client's tools beside those of `own`, the server's.
pub(super) fn offer(
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
        agent = agent.tool(client_tool(definition), |_| async {
            Ok::<_, Infallible>(ToolAnswer::Deferred)
        });
    }
    Ok(agent)
}

/// The agent, if its tools can be offered; `tools` are the client's.
pub(super) fn build(agent: AgentBuilder, tools: &[ToolDefinition]) -> Result<Agent, UnusableTools> {
    agent.build().map_err(|error| match error {
        BuildError::Tool(source) => UnusableTools::Tool {
            path: path(&source, tools),
            source,
        },
        other => UnusableTools::Agent(other),
    })
}

/// Where in the request the fault is.
fn path(error: &ToolError, tools: &[ToolDefinition]) -> String {
    let (name, field) = match error {
        ToolError::Schema { name, .. } => (name, "parameters"),
        ToolError::Name { name } | ToolError::Duplicate { name } => (name, "name"),
        _ => return "/tools".to_owned(),
    };
    let index = tools.iter().rposition(|tool| tool.name == *name);
    index.map_or_else(
        || "/tools".to_owned(),
        |index| format!("/tools/{index}/{field}"),
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

impl TurnTools {
    /// Those of a turn that begins; nothing if there are none.
    pub(super) fn new(
        base: &AgentBuilder,
        own: &ToolRegistry,
        tools: &[ToolDefinition],
    ) -> Result<Option<Self>, UnusableTools> {
        if tools.is_empty() {
            return Ok(None);
        }
        let stored = serde_json::to_string(tools).unwrap_or_default();
        let bytes = stored.len();
        if bytes > MOST_STORED {
            return Err(UnusableTools::TooLong { bytes });
        }
        let base = offer(base.clone(), own, tools)?;
        build(base.clone(), tools)?;
        let stored = stored.into();
        Ok(Some(Self { base, stored }))
    }

    /// Those that a snapshot has.
    pub(super) fn of_snapshot(
        snapshot: &str,
        base: &AgentBuilder,
        own: &ToolRegistry,
    ) -> Result<Option<Self>, UnusableTools> {
        Self::new(base, own, &Kept::of(snapshot).client_tools)
    }
}

impl From<UnusableTools> for Refusal {
    fn from(error: UnusableTools) -> Self {
        let code = match &error {
            UnusableTools::TooMany { .. } | UnusableTools::TooLong { .. } => Code::InvalidInput,
            UnusableTools::Taken { .. } | UnusableTools::Tool { .. } => Code::UnusableTool,
            UnusableTools::Agent(cause) => {
                tracing::error!(target: "stepwell", error = %cause, "no agent can be set up");
                Code::InternalError
            }
        };
        Self::new(code, error.to_string())
    }
}
