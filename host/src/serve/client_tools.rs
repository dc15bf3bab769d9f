//! The tools of a client: the model is offered them, and they do not run here, but wait for a result. Those of a session's
//! turn are stored with it, so that whoever goes on with the turn offers them too.

use super::refusal::{Code, Refusal};
use super::shared_state::CHANGE_STATE;
use serde::Deserialize;
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

/// A snapshot, as far as tools are in it.
#[derive(Deserialize)]
struct Kept {
    #[serde(default)]
    client_tools: Vec<ToolDefinition>,
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
        match serde_json::from_str::<Kept>(snapshot) {
            Ok(kept) => Self::new(base, own, &kept.client_tools),
            // What is wrong with it is said by who goes on from it.
            Err(_) => Ok(None),
        }
    }

    /// The snapshot of a run with them in it. Whoever does not know of them reads it as it was.
    pub(super) fn in_snapshot(stored: &str, snapshot: &str) -> String {
        match snapshot.strip_prefix('{') {
            Some(rest) => format!("{{\"client_tools\":{stored},{rest}"),
            // The turn is closed, and keeps none.
            None => snapshot.to_owned(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_snapshot_keeps_the_tools_and_stays_what_it_is() {
        let stored = json!([{"name": "where", "description": "Where."}]).to_string();
        let kept = TurnTools::in_snapshot(&stored, r#"{"v":1,"state":"Idle"}"#);
        let read: Kept = serde_json::from_str(&kept).expect("JSON");
        assert_eq!(json!(read.client_tools).to_string(), stored);
        let mut whole: Value = serde_json::from_str(&kept).expect("JSON");
        whole
            .as_object_mut()
            .expect("an object")
            .remove("client_tools");
        assert_eq!(whole, json!({"v": 1, "state": "Idle"}));
        assert_eq!(TurnTools::in_snapshot(&stored, ""), "");
    }
}
