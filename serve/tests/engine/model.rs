//! The scripted model of `stepwell serve`, and an agent that asks it, with tools of the tests' own.

use std::future::ready;
use stepwell_core::run::TextOptions;
use stepwell_demo::secret_numbers::{SecretNumbers, get_tool, set_tool};
use stepwell_io::tool::ToolContext;
use stepwell_io::{Agent, AgentBuilder, provider};
use stepwell_mock_llm::{MockLlm, Script};

const SCENES: &str = include_str!("../../../host/src/serve/scenes.json");

/// Starts the model, and sets up an agent that asks it and has no tools.
pub(super) async fn start() -> (MockLlm, AgentBuilder) {
    let model = MockLlm::start(Script::from_json(SCENES).unwrap())
        .await
        .unwrap();
    let provider = provider::find("openai-compatible").unwrap();
    let url = model.base_url();
    let endpoint = provider
        .endpoint(None, "scripted", Some(&url), None)
        .unwrap();
    let agent = Agent::builder(endpoint).configure(|config| config.text = TextOptions::AS_WRITTEN);
    (model, agent)
}

/// The same with the tools of the secret numbers.
pub(super) async fn with_numbers() -> (MockLlm, AgentBuilder) {
    let (model, agent) = start().await;
    let numbers = SecretNumbers::default();
    let changed = numbers.clone();
    let agent = agent
        .tool(get_tool(), move |call: ToolContext| {
            ready(numbers.get(&call))
        })
        .tool(set_tool(), move |call: ToolContext| {
            ready(changed.set(&call))
        });
    (model, agent)
}
