//! The agents that turns are run by.

use crate::request::client_tools::{UnusableTools, build, offer};
use crate::turn::shared_state::{CHANGE_STATE, offered_by};
use stepwell_core::event::ToolDefinition;
use stepwell_core::run::TextOptions;
use stepwell_io::config::Endpoint;
use stepwell_io::tool::ToolRegistry;
use stepwell_io::{Agent, AgentBuilder};

/// The most bytes of a client's tools, as JSON: they are written with each part of the turn.
const MOST_STORED: usize = 256 << 10;

/// A model, the tools that run here, and settings: all that runs turns.
#[derive(Clone, Debug)]
pub struct TurnAgent {
    /// Without the tool that changes the state.
    base: AgentBuilder,
    /// With that tool.
    shares_state: AgentBuilder,
    tools: ToolRegistry,
    endpoint: Endpoint,
    other_endpoints: Vec<Endpoint>,
}

/// Why a client's tools cannot be offered in a stored turn.
#[derive(Debug, thiserror::Error)]
pub enum UnusableTurnTools {
    /// Their definitions are too long.
    #[error(
        "/tools has {bytes} bytes as JSON, and may have {MOST_STORED}: send fewer, or shorter ones"
    )]
    TooLong {
        /// The size of the tools.
        bytes: usize,
    },
    /// A tool cannot be offered to the model.
    #[error(transparent)]
    Unusable(#[from] UnusableTools),
}

impl TurnAgent {
    /// Runs turns with what the builder has.
    #[must_use]
    pub fn new(base: AgentBuilder) -> Self {
        let tools = base.registered_tools().clone();
        let shares_state = match tools.get(CHANGE_STATE) {
            None => offered_by(base.clone()),
            Some(_) => base.clone(),
        };
        Self {
            shares_state,
            endpoint: base.endpoint().clone(),
            other_endpoints: base.other_endpoints().cloned().collect(),
            tools,
            base,
        }
    }

    /// Runs turns as this agent does, on threads of their own.
    #[must_use]
    pub fn of<T>(agent: &Agent<(), T>) -> Self {
        Self::new(AgentBuilder::like(agent).configure(|config| {
            // Clients show each message by itself.
            config.text = TextOptions::AS_WRITTEN;
        }))
    }

    /// Returns the agent that a turn's agent is built from.
    pub(crate) fn base(&self, shares_state: bool) -> &AgentBuilder {
        match shares_state {
            true => &self.shares_state,
            false => &self.base,
        }
    }

    /// Returns whether the tool that changes the state is the server's, and not one of the app's.
    pub(crate) fn can_share_state(&self) -> bool {
        self.tools.get(CHANGE_STATE).is_none()
    }

    /// The tools that run here.
    #[must_use]
    pub fn tools(&self) -> &ToolRegistry {
        &self.tools
    }

    /// The endpoint of the model that answers.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The endpoints of the models that are asked when that one has failed.
    pub(crate) fn other_endpoints(&self) -> &[Endpoint] {
        &self.other_endpoints
    }

    /// Returns whether long conversations are compacted.
    pub(crate) fn is_compacting(&self) -> bool {
        self.base.is_compacting()
    }

    /// Checks a client's tools, and returns what a turn's agent is built from that offers them too.
    ///
    /// # Errors
    /// The tools cannot be offered.
    pub fn with_tools(
        &self,
        shares_state: bool,
        tools: &[ToolDefinition],
    ) -> Result<AgentBuilder, UnusableTurnTools> {
        let base = self.base(shares_state).clone();
        if tools.is_empty() {
            return Ok(base);
        }
        let base = offer(base, &self.tools, tools)?;
        let mut bytes = Bytes(0);
        // A writer that counts cannot fail.
        let _ = serde_json::to_writer(&mut bytes, tools);
        let Bytes(bytes) = bytes;
        if bytes > MOST_STORED {
            return Err(UnusableTurnTools::TooLong { bytes });
        }
        build(base.clone(), tools)?;
        Ok(base)
    }
}

/// Counts what is written.
struct Bytes(usize);

impl std::io::Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
