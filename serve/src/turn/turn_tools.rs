//! The tools of a client that are stored with a session's turn, so that whoever goes on with the turn offers them too.

use crate::request::client_tools::{UnusableTools, build, offer};
use crate::turn::kept::Kept;
use std::sync::Arc;
use stepwell_core::event::ToolDefinition;
use stepwell_io::{AgentBuilder, ToolRegistry};

/// The most bytes of those of a stored turn, as JSON: they are written with each part of it.
const MOST_STORED: usize = 256 << 10;

/// Why the tools of a stored turn cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum UnusableTurnTools {
    /// Their definitions are too long.
    #[error(
        "/tools has {bytes} bytes as JSON, and may have {MOST_STORED}: send fewer, or shorter ones"
    )]
    TooLong {
        /// How many bytes they have.
        bytes: usize,
    },
    /// One cannot be offered to the model.
    #[error(transparent)]
    Unusable(#[from] UnusableTools),
}

/// Those of a stored turn.
#[derive(Clone, Debug)]
pub struct TurnTools {
    /// What the turn's agent begins with: they are offered beside the server's own.
    pub base: AgentBuilder,
    /// Their definitions, as they are stored.
    pub stored: Arc<str>,
}

impl TurnTools {
    /// Those of a turn that begins; nothing if there are none.
    pub fn new(
        base: &AgentBuilder,
        own: &ToolRegistry,
        tools: &[ToolDefinition],
    ) -> Result<Option<Self>, UnusableTurnTools> {
        if tools.is_empty() {
            return Ok(None);
        }
        let stored = serde_json::to_string(tools).unwrap_or_default();
        let bytes = stored.len();
        if bytes > MOST_STORED {
            return Err(UnusableTurnTools::TooLong { bytes });
        }
        let base = offer(base.clone(), own, tools)?;
        build(base.clone(), tools)?;
        let stored = stored.into();
        Ok(Some(Self { base, stored }))
    }

    /// Those that a checkpoint has.
    pub fn of_checkpoint(
        checkpoint: &str,
        base: &AgentBuilder,
        own: &ToolRegistry,
    ) -> Result<Option<Self>, UnusableTurnTools> {
        Self::new(base, own, &Kept::of(checkpoint).client_tools)
    }
}
