//! The scripted model of a server without a provider.

use super::backend::{Backend, ServerTool};
use crate::setup::Compaction;
use crate::tools::{count_down, order_tea};
use std::future::ready;
use std::time::Duration;
use stepwell_core::run::Limits;
use stepwell_demo::Failure;
use stepwell_demo::secret_numbers::{SecretNumbers, get_tool, set_tool};
use stepwell_io::tool::ToolContext;
use stepwell_io::{HttpClient, provider};
use stepwell_mock_llm::{MockLlm, Script, ScriptError};

/// The default script: a scene for each feature that an AG-UI client can meet.
const SCENES: &str = include_str!("scenes.json");

/// The scripted model, which answers as long as it is kept, and a backend that asks it.
pub(crate) async fn scripted(
    script: Option<&str>,
    client: HttpClient,
) -> Result<(MockLlm, Backend), Failure> {
    play(Script::from_json(script.unwrap_or(SCENES)), client).await
}

/// Starts a scripted model, as [`scripted`] does, with a pause between two deltas, for a user who watches.
pub(crate) async fn scripted_slowly(
    piece_delay: Duration,
    client: HttpClient,
) -> Result<(MockLlm, Backend), Failure> {
    let script = Script::from_json(SCENES);
    play(script.map(|script| script.piece_delay(piece_delay)), client).await
}

async fn play(
    script: Result<Script, ScriptError>,
    client: HttpClient,
) -> Result<(MockLlm, Backend), Failure> {
    let script = script.map_err(Failure::usage)?.discard_requests();
    let model = MockLlm::start(script).await.map_err(Failure::failed)?;
    let provider = provider::find("openai-compatible").map_err(Failure::failed)?;
    let endpoint = provider
        .endpoint(None, "scripted", Some(&model.base_url()), None)
        .map_err(Failure::failed)?;
    let numbers = SecretNumbers::default();
    let changed = numbers.clone();
    let tools = vec![
        ServerTool::new(get_tool(), move |call: ToolContext| {
            ready(numbers.get(&call))
        }),
        ServerTool::new(set_tool(), move |call: ToolContext| {
            ready(changed.set(&call))
        }),
        ServerTool::new(count_down::tool(), count_down::run),
        ServerTool::new(order_tea::tool(), order_tea::run),
    ];
    let backend = Backend {
        endpoint,
        offered: Vec::new(),
        fallback: Vec::new(),
        compaction: Compaction::default(),
        instructions: None,
        limits: Limits::default(),
        tools,
        client,
    };
    Ok((model, backend))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_script_can_be_played() {
        assert!(Script::from_json(SCENES).is_ok());
    }
}
