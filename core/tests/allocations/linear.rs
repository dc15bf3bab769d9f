//! What a request takes grows with its size: twice as much of anything is twice the work, counted in what is allocated.

use allocation_counter::measure;
use serde_json::{Value, json};
use stepwell_core::dialect::legal::{Rules, legalise};
use stepwell_core::event::{AssistantMessage, Message, ToolCall, ToolMessage};
use stepwell_core::provider;
use stepwell_core::tool::{Tool, ToolRegistry};

const SOME: usize = 500;

/// Holds the work on `2n` things to little more than twice the work on `n`.
fn assert_linear(name: &str, work: impl Fn(usize)) {
    let cost = |count| {
        let cost = measure(|| work(count));
        (cost.count_total, cost.bytes_total)
    };
    let (some, twice) = (cost(SOME), cost(2 * SOME));
    println!("{name}: {some:?}, then {twice:?} allocations and bytes");
    assert!(twice.0 < some.0 * 5 / 2, "{name}: {some:?}, then {twice:?}");
    assert!(twice.1 < some.1 * 5 / 2, "{name}: {some:?}, then {twice:?}");
}

fn tools(count: usize) -> impl Iterator<Item = Tool> {
    (0..count).map(|index| Tool::new(format!("tool_{index}"), "A tool."))
}

#[test]
fn many_tools_are_registered() {
    assert_linear("tools, one by one", |count| {
        let mut registry = ToolRegistry::new();
        for tool in tools(count) {
            registry.add(tool).expect("a good tool");
        }
        assert_eq!(registry.definitions().len(), count);
    });
}

#[test]
fn many_tools_are_read() {
    let stored = |count| Value::from_iter(tools(count).map(|tool| json!(tool)));
    let (some, twice) = (stored(SOME), stored(2 * SOME));
    assert_linear("tools, as they are stored", |count| {
        let stored = if count == SOME { &some } else { &twice };
        let registry: ToolRegistry = serde_json::from_value(stored.clone()).expect("good tools");
        assert_eq!(registry.definitions().len(), count);
    });
}

#[test]
fn many_calls_of_one_id_are_told_apart() {
    let history = |count| -> Vec<Message> {
        let asked = |_| ToolCall::new("call", "tool", "{}");
        let result = |index| {
            Message::Tool(ToolMessage {
                id: format!("result-{index}").into(),
                tool_call_id: "call".into(),
                ..ToolMessage::default()
            })
        };
        let answer = Message::Assistant(AssistantMessage {
            tool_calls: (0..count).map(asked).collect(),
            ..AssistantMessage::default()
        });
        [Message::user("question", "?"), answer]
            .into_iter()
            .chain((0..count).map(result))
            .collect()
    };
    let endpoint = provider::find("openai-compatible")
        .expect("a provider")
        .endpoint(None, "m", Some("http://localhost"), None)
        .expect("an endpoint");
    let rules = Rules::of(&endpoint);
    let (some, twice) = (history(SOME), history(2 * SOME));
    assert_linear("calls of one id", |count| {
        let history = if count == SOME { &some } else { &twice };
        assert_eq!(legalise(history, &rules).len(), count + 2);
    });
}
