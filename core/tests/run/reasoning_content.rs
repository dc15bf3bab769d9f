//! DeepSeek V4 and Kimi refuse a history in which an assistant message has no `reasoning_content`, whoever wrote it.

use crate::world::{ToolReply, offer};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::provider::Catalog;
use stepwell_core::run::{Outcome, RunMachine};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::{Part, call, text};

/// The messages of others: of another provider with its own reasoning, and of one without any.
fn history() -> Vec<Message> {
    let sealed = json!({"provider": "openrouter", "dialect": "openai-chat", "value": []});
    let messages = json!([
        {"id": "u1", "role": "user", "content": "what is it?"},
        {"id": "r1", "role": "reasoning", "content": "Of another.", "encryptedValue": sealed.to_string()},
        {"id": "m1", "role": "assistant", "content": "Let me look.", "toolCalls": [
            {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}},
        ]},
        {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "one"},
        {"id": "m2", "role": "assistant", "content": "It is one."},
    ]);
    serde_json::from_value(messages).expect("messages")
}

/// The `reasoning_content` of each assistant message of a request.
fn reasoning(request: &Value) -> Vec<&Value> {
    let messages = request["messages"].as_array().expect("messages").iter();
    let said = messages.filter(|message| message["role"] == "assistant");
    said.map(|message| &message["reasoning_content"]).collect()
}

#[test]
fn sends_reasoning_content_with_every_assistant_message() {
    for (name, model) in [("deepseek", "deepseek-v4"), ("kimi", "kimi-k2-thinking")] {
        let provider = json!({"providers": [{
            "name": name, "dialect": "openai-chat", "base_url": "http://localhost/v1",
            "quirks": {"reasoning": "content"},
        }]});
        let catalog = Catalog::from_json(&provider.to_string()).expect("a catalog");
        let provider = catalog.find(name).expect("it is in the catalog");
        let endpoint = provider.endpoint(None, model, None, None);
        let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
            config.endpoint = endpoint.expect("nothing is missing");
            offer(config, Tool::new("lookup", "Looks it up."));
        })
        .tool("lookup", |_| ToolReply::text("two"))
        .streams([
            Part::Reasoning("Again.".to_owned()),
            call("c2", "lookup", "{}"),
        ])
        .streams([call("c3", "lookup", "{}")])
        .streams([text("It is two.")]);
        let config = world.config.clone();
        world.machine = RunMachine::new(config, "thread".into(), Transcript::new(history()));
        let world = world.turn();
        assert_eq!(*world.outcome(), Outcome::Success, "{name}");
        let requests = world.seen.requests();
        let sent: Vec<_> = requests.iter().map(reasoning).collect();
        // Its own comes back as it came; an answer without any, and those of others, have none.
        assert_eq!(sent[0], ["", ""], "{name}");
        assert_eq!(sent[1], ["", "", "Again."], "{name}");
        assert_eq!(sent[2], ["", "", "Again.", ""], "{name}");
    }
}
