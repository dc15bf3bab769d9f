//! Configurations, definitions and conversations.
#![allow(dead_code, reason = "each program of tests takes what it needs")]

use serde_json::json;
use std::sync::Arc;
use stepwell_ffi::{Agent, Conversation, RunConfig, ThreadKey, ToolDefinition, Turn, TurnOptions};

/// Returns a configuration without retries and timeouts.
pub(crate) fn config(base_url: &str) -> RunConfig {
    let config = json!({
        "provider": "openai-compatible",
        "model": "mock",
        "baseUrl": base_url,
        "retry": { "attempts": 1 },
        "timeouts": {
            "silenceMs": null, "toolMs": null, "turnMs": null, "approvalMs": null, "deferredMs": null, "closingMs": null,
        },
    });
    serde_json::from_value(config).expect("a configuration")
}

/// Returns the key of a thread on no server and in no room.
pub(crate) fn key(thread: &str) -> ThreadKey {
    ThreadKey {
        thread: thread.to_owned(),
        ..ThreadKey::default()
    }
}

/// Returns the conversation that `say` speaks in.
pub(crate) fn conversation(agent: &Agent) -> Arc<Conversation> {
    agent.conversation(key("thread"))
}

/// Sends a message in the conversation of the thread `thread`.
pub(crate) fn say(agent: &Agent, text: &str) -> Arc<Turn> {
    say_with(&conversation(agent), text, TurnOptions::default())
}

/// Sends a message with options.
pub(crate) fn say_with(conversation: &Conversation, text: &str, options: TurnOptions) -> Arc<Turn> {
    let turn = conversation.send(text.to_owned(), options, Vec::new(), Vec::new());
    turn.expect("a turn")
}

pub(crate) fn definition(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        description: String::new(),
        parameters: None,
        requires_approval: false,
        idempotent: false,
        repeatable: false,
        timeout: None,
    }
}
