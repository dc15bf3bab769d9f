//! What the calls of a turn are called, as they go.

use std::collections::HashMap;
use stepwell_core::ToolCallId;
use stepwell_core::event::{Event, Message};
use stepwell_io::tool::ToolRegistry;
use stepwell_io::turn::ToolCallUpdate;

/// The arguments of the turn's calls, as the model wrote them.
#[derive(Debug, Default)]
pub(crate) struct CallLabels(HashMap<ToolCallId, String>);

impl CallLabels {
    /// The event goes out, or went out before.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::ToolCallStart(start) => {
                self.0.insert(start.tool_call_id.clone(), String::new());
            }
            Event::ToolCallArgs(args) => {
                if let Some(arguments) = self.0.get_mut(&args.tool_call_id) {
                    arguments.push_str(&args.delta);
                }
            }
            Event::MessagesSnapshot(snapshot) => {
                for message in &snapshot.messages {
                    let Message::Assistant(said) = message else {
                        continue;
                    };
                    for call in &said.tool_calls {
                        let arguments = call.function.arguments.clone();
                        self.0.insert(call.id.clone(), arguments);
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the text that shows the call to the user.
    pub(crate) fn label(&self, update: &ToolCallUpdate, tools: &ToolRegistry) -> String {
        self.of(&update.tool_call_id, &update.name, tools)
    }

    /// The same for a call of which no more is known than what it asks for.
    pub(crate) fn of(&self, call: &ToolCallId, name: &str, tools: &ToolRegistry) -> String {
        let arguments = self.0.get(call);
        tools.label(name, arguments.map_or("", String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use stepwell_core::CallKey;
    use stepwell_io::tool::{Tool, ToolCallStatus};

    fn label(events: Value) -> String {
        let weather = Tool::new("weather", "The weather in a city.")
            .label(|arguments| Some(format!("Weather in {}", arguments["city"].as_str()?)));
        let tools = ToolRegistry::new().register(weather).expect("a tool");
        let mut labels = CallLabels::default();
        let events: Vec<Event> = serde_json::from_value(events).expect("events");
        events.iter().for_each(|event| labels.note(event));
        let update = ToolCallUpdate {
            call: CallKey { hop: 0, index: 0 },
            tool_call_id: "c".into(),
            name: "weather".to_owned(),
            status: ToolCallStatus::Executing,
            result: None,
        };
        labels.label(&update, &tools)
    }

    #[test]
    fn a_call_has_the_label_of_its_arguments_once_they_are_whole() {
        let start =
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "weather"});
        let piece = |delta| json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta});
        assert_eq!(label(json!([])), "weather");
        assert_eq!(label(json!([start, piece("{\"city\":")])), "weather");
        let whole = json!([start, piece("{\"city\":"), piece("\"Bergen\"}")]);
        assert_eq!(label(whole), "Weather in Bergen");
    }

    #[test]
    fn a_snapshot_brings_the_arguments_too() {
        let function = json!({"name": "weather", "arguments": "{\"city\":\"Oslo\"}"});
        let call = json!({"id": "c", "type": "function", "function": function});
        let said = json!({"id": "m", "role": "assistant", "toolCalls": [call]});
        let events = json!([{"type": "MESSAGES_SNAPSHOT", "messages": [said]}]);
        assert_eq!(label(events), "Weather in Oslo");
    }
}
