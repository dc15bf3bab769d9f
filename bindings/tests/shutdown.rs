//! The end of Stepwell's threads: in a separate program, since it is final.

mod support;

use serde_json::json;
use std::sync::Arc;
use stepwell_ffi::{
    Agent, AgentSetup, AgentTool, StepwellError, ToolContext, ToolError, ToolHandler,
    ToolInvocation, ToolOutput, TurnOptions, shutdown,
};
use stepwell_mock_llm::{Hop, MockLlm, Script};
use support::{config, definition, say};
use tokio::sync::mpsc;

/// A tool that waits for ever, and reports that it was called.
struct Waits(mpsc::UnboundedSender<()>);

#[async_trait::async_trait]
impl ToolHandler for Waits {
    async fn call(&self, _: ToolInvocation, _: Arc<ToolContext>) -> Result<ToolOutput, ToolError> {
        let _ = self.0.send(());
        std::future::pending().await
    }
}

#[tokio::test]
async fn after_a_shutdown_no_code_of_the_app_is_called_and_nothing_can_be_begun() {
    let hop = Hop::new().tool_call("wait", json!({}));
    let server = MockLlm::start(Script::new().hop(hop))
        .await
        .expect("a server");
    let (called, mut calls) = mpsc::unbounded_channel();
    let handler = Arc::new(Waits(called));
    let alive = Arc::downgrade(&handler);
    let setup = AgentSetup {
        tools: vec![AgentTool {
            definition: definition("wait"),
            handler,
        }],
        ..AgentSetup::default()
    };
    let agent = Agent::new(config(&server.base_url()), setup).expect("an agent");
    let turn = say(&agent, "Go");
    calls.recv().await.expect("a call");

    let stopped = tokio::task::spawn_blocking(shutdown);
    stopped.await.expect("no panic");
    while !turn.next_batch().await.is_empty() {}
    let conversation = support::conversation(&agent);
    let options = TurnOptions::default();
    let begun = conversation
        .send("Again".into(), options, Vec::new(), Vec::new())
        .map(|_| ());
    let Err(StepwellError::Unavailable { reason, advice }) = begun else {
        panic!("{begun:?}");
    };
    assert_eq!(reason, "Stepwell's threads were stopped");
    assert_eq!(advice, "begin nothing after `shutdown`");
    drop((agent, turn, conversation));
    assert!(alive.upgrade().is_none(), "no code of the app is kept");
    // A second call changes nothing; an app and its language's package may both make one.
    shutdown();
}
