//! Typed answers of every provider, each in the stream of its own format: the same comes of the same.

use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::provider;
use stepwell_core::run::{
    Effect, EffectId, Failure, Incomplete, Input, Outcome, Output, RunConfig, RunMachine, Start,
};
use stepwell_core::tool::{OutputMode, OutputType, Tool};
use stepwell_core::transcript::Transcript;
use stepwell_core::{ThreadId, Timestamp};
use stepwell_mock_llm::{Setting, Writer};

/// How an answer ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Whole,
    Cut,
}

fn data(frames: &[Value]) -> String {
    frames
        .iter()
        .map(|frame| format!("data: {frame}\n\n"))
        .collect()
}

/// The body as it goes over the wire: where the dialect has binary messages, each event of the text is one.
fn on_the_wire(dialect: Dialect, body: &str) -> Vec<u8> {
    if dialect != Dialect::BedrockConverse {
        return body.as_bytes().to_vec();
    }
    let mut writer = Writer::new(stepwell_mock_llm::Dialect::BedrockConverse, &Setting::new());
    for event in body.split("\n\n").filter(|event| !event.is_empty()) {
        writer.frame(event.trim_start_matches("data: "));
    }
    writer.take().concat()
}

/// A stream that says this.
fn says(dialect: Dialect, hop: u32, text: &str, end: End) -> String {
    let is_cut = end == End::Cut;
    match dialect {
        Dialect::OpenAiChat | Dialect::Mistral => data(&[
            json!({"choices": [{"index": 0, "delta": {"content": text}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": if is_cut { "length" } else { "stop" }}]}),
        ]),
        Dialect::OpenAiResponses => {
            let (kind, reason) = if is_cut {
                ("incomplete", json!({"reason": "max_output_tokens"}))
            } else {
                ("completed", Value::Null)
            };
            data(&[
                json!({"type": "response.created", "response": {"id": "r", "model": "m"}}),
                json!({"type": "response.output_item.added", "output_index": 0,
                    "item": {"type": "message", "id": "i", "role": "assistant", "content": []}}),
                json!({"type": "response.output_text.delta", "item_id": "i", "output_index": 0,
                    "content_index": 0, "delta": text}),
                json!({"type": "response.output_item.done", "output_index": 0,
                    "item": {"type": "message", "id": "i", "role": "assistant",
                        "content": [{"type": "output_text", "text": text}]}}),
                json!({"type": format!("response.{kind}"), "response": {"id": "r", "status": kind,
                    "incomplete_details": reason, "output": []}}),
            ])
        }
        Dialect::Anthropic => data(&[
            json!({"type": "message_start", "message": {"id": "m", "model": "m", "usage": {}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "usage": {},
                "delta": {"stop_reason": if is_cut { "max_tokens" } else { "end_turn" }}}),
            json!({"type": "message_stop"}),
        ]),
        Dialect::Gemini => data(&[json!({"candidates": [{
            "content": {"role": "model", "parts": [{"text": text}]},
            "finishReason": if is_cut { "MAX_TOKENS" } else { "STOP" }}]})]),
        Dialect::GeminiInteractions => data(&[
            json!({"event_type": "interaction.created", "interaction": {"id": "i", "status": "in_progress"}}),
            json!({"event_type": "step.start", "index": 0, "step": {"type": "model_output"}}),
            json!({"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": text}}),
            json!({"event_type": "step.stop", "index": 0}),
            json!({"event_type": "interaction.completed", "interaction": {"id": "i",
                "status": if is_cut { "requires_continuation" } else { "completed" }}}),
        ]),
        Dialect::Ollama => format!(
            "{}\n{}\n",
            json!({"message": {"role": "assistant", "content": text}, "done": false}),
            json!({"message": {"role": "assistant", "content": ""}, "done": true,
                "done_reason": if is_cut { "length" } else { "stop" }})
        ),
        Dialect::Cohere => data(&[
            json!({"type": "message-start", "id": "1", "delta": {"message": {"role": "assistant"}}}),
            json!({"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}}),
            json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}}),
            json!({"type": "content-end", "index": 0}),
            json!({"type": "message-end",
                "delta": {"finish_reason": if is_cut { "MAX_TOKENS" } else { "COMPLETE" }}}),
        ]),
        Dialect::BedrockConverse => data(&[
            json!({"messageStart": {"role": "assistant"}}),
            json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}}),
            json!({"contentBlockStop": {"contentBlockIndex": 0}}),
            json!({"messageStop": {"stopReason": if is_cut { "max_tokens" } else { "end_turn" }}}),
        ]),
        _ => data(&[
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": format!("m{hop}"), "role": "assistant"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": format!("m{hop}"), "delta": text}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": format!("m{hop}")}),
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r",
                "metadata": if is_cut { json!({"stopReason": "length"}) } else { json!({}) }}),
        ]),
    }
}

/// A stream that calls this tool.
fn calls(dialect: Dialect, id: &str, name: &str, arguments: &str) -> String {
    match dialect {
        Dialect::OpenAiChat | Dialect::Mistral => data(&[
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": id, "type": "function",
                "function": {"name": name, "arguments": arguments}}]}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        ]),
        Dialect::OpenAiResponses => {
            let item = |arguments: &str| {
                json!({"type": "function_call", "id": "f", "call_id": id,
                "name": name, "arguments": arguments})
            };
            data(&[
                json!({"type": "response.created", "response": {"id": "r", "model": "m"}}),
                json!({"type": "response.output_item.added", "output_index": 0, "item": item("")}),
                json!({"type": "response.function_call_arguments.delta", "item_id": "f",
                    "output_index": 0, "delta": arguments}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": item(arguments)}),
                json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}),
            ])
        }
        Dialect::Anthropic => data(&[
            json!({"type": "message_start", "message": {"id": "m", "model": "m", "usage": {}}}),
            json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}}),
            json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": arguments}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "usage": {}, "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ]),
        Dialect::Gemini => {
            let args: Value = serde_json::from_str(arguments).expect("JSON");
            data(&[
                json!({"candidates": [{"content": {"role": "model", "parts": [
                {"functionCall": {"name": name, "args": args}}]}, "finishReason": "STOP"}]}),
            ])
        }
        Dialect::GeminiInteractions => data(&[
            json!({"event_type": "interaction.created", "interaction": {"id": "i", "status": "in_progress"}}),
            json!({"event_type": "step.start", "index": 0,
                "step": {"type": "function_call", "id": id, "name": name, "arguments": {}}}),
            json!({"event_type": "step.delta", "index": 0,
                "delta": {"type": "arguments_delta", "arguments": arguments}}),
            json!({"event_type": "step.stop", "index": 0}),
            json!({"event_type": "interaction.completed",
                "interaction": {"id": "i", "status": "requires_action"}}),
        ]),
        Dialect::Ollama => {
            let arguments: Value = serde_json::from_str(arguments).expect("JSON");
            format!(
                "{}\n{}\n",
                json!({"message": {"role": "assistant", "content": "", "tool_calls": [
                    {"function": {"name": name, "arguments": arguments}}]}, "done": false}),
                json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"})
            )
        }
        Dialect::Cohere => data(&[
            json!({"type": "message-start", "id": "1", "delta": {"message": {"role": "assistant"}}}),
            json!({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls":
                {"id": id, "type": "function", "function": {"name": name, "arguments": ""}}}}}),
            json!({"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls":
                {"function": {"arguments": arguments}}}}}),
            json!({"type": "tool-call-end", "index": 0}),
            json!({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}),
        ]),
        Dialect::BedrockConverse => data(&[
            json!({"messageStart": {"role": "assistant"}}),
            json!({"contentBlockStart": {"contentBlockIndex": 0,
                "start": {"toolUse": {"toolUseId": id, "name": name}}}}),
            json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": arguments}}}}),
            json!({"contentBlockStop": {"contentBlockIndex": 0}}),
            json!({"messageStop": {"stopReason": "tool_use"}}),
        ]),
        _ => data(&[
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
            json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": arguments}),
            json!({"type": "TOOL_CALL_END", "toolCallId": id}),
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
        ]),
    }
}

fn trip() -> OutputType {
    let schema = json!({"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"],
        "additionalProperties": false});
    OutputType::new("Trip", schema).expect("a type")
}

/// One of the providers' APIs, and a run of it.
struct Peer {
    dialect: Dialect,
    name: String,
    machine: RunMachine,
    effect: Option<EffectId>,
    has_final_tool: bool,
    hop: u32,
}

impl Peer {
    /// The final tool is on offer, or the answer is to be text.
    fn answers(&mut self, json: &str) {
        let body = if self.has_final_tool {
            calls(
                self.dialect,
                &format!("f{}", self.hop),
                "final_result",
                json,
            )
        } else {
            says(self.dialect, self.hop, json, End::Whole)
        };
        self.receives(&body);
    }

    fn receives(&mut self, body: &str) {
        let now = Timestamp(0);
        let body = on_the_wire(self.dialect, body);
        let effect = self.effect.take().expect("a request goes out");
        for input in [
            Input::Opened {
                effect,
                content_type: None,
            },
            Input::Received {
                effect,
                bytes: Cow::Borrowed(&body),
            },
            Input::Ended { effect },
        ] {
            self.machine
                .handle(input, now)
                .unwrap_or_else(|misuse| panic!("{}: {misuse}", self.name));
            self.takes();
        }
    }

    fn takes(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            if let Output::Effect(id, Effect::OpenStream { request }) = output {
                self.effect = Some(id);
                self.hop += 1;
                let body = String::from_utf8_lossy(&request.body).into_owned();
                self.has_final_tool = body.contains("\"final_result\"");
            }
        }
    }
}

/// Every API of every provider, with and without a tool, in every mode.
fn everywhere(mut look: impl FnMut(Peer)) {
    let mut providers = BTreeSet::new();
    for provider in provider::all() {
        for api in provider.apis.iter() {
            for mode in [
                OutputMode::Auto,
                OutputMode::Native,
                OutputMode::Tool,
                OutputMode::Prompt,
            ] {
                for has_tool in [false, true] {
                    let endpoint = provider.endpoint(Some(&api.name), "m", Some("http://h"), None);
                    let mut config = RunConfig::new(endpoint.expect("complete"));
                    config.output = Some(trip().mode(mode));
                    if has_tool {
                        let look = Tool::new("look", "Looks.");
                        config.tools = config.tools.register(look).expect("a good tool");
                    }
                    let machine = RunMachine::new(
                        Arc::new(config),
                        ThreadId::from("t"),
                        Transcript::default(),
                    );
                    let mut peer = Peer {
                        dialect: api.dialect,
                        name: format!("{} {} {mode:?} {has_tool}", provider.name, api.name),
                        machine,
                        effect: None,
                        has_final_tool: false,
                        hop: 0,
                    };
                    let start = Start::new("r", Message::user("u", "A trip"));
                    peer.machine.start(start, Timestamp(0)).expect("it is idle");
                    peer.takes();
                    providers.insert(provider.name.to_string());
                    look(peer);
                }
            }
        }
    }
    assert!(providers.len() >= 11, "{providers:?}");
}

#[test]
fn every_provider_gives_a_typed_answer_and_is_asked_again_for_one_that_does_not_fit() {
    everywhere(|mut peer| {
        peer.answers(r#"{"city":"Bergen"}"#);
        peer.answers(r#"{"city":"Bergen","days":"three"}"#);
        peer.answers(r#"{"city":"Bergen","days":3}"#);
        let (name, machine) = (&peer.name, &peer.machine);
        assert_eq!(machine.outcome(), Some(&Outcome::Success), "{name}");
        assert_eq!(
            machine.output(),
            Some(&json!({"city": "Bergen", "days": 3})),
            "{name}"
        );
        assert_eq!(machine.hop(), 2, "{name}");
    });
}

#[test]
fn no_provider_is_asked_more_often_than_it_may_be() {
    everywhere(|mut peer| {
        for _ in 0..3 {
            peer.answers(r#"{"days":3}"#);
        }
        let name = &peer.name;
        let Some(Outcome::Failed {
            failure: Failure::OutputInvalid { reason, text },
        }) = peer.machine.outcome()
        else {
            panic!("{name}: {:?}", peer.machine.outcome());
        };
        assert!(reason.contains("city"), "{name}: {reason}");
        let text: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(text, json!({"days": 3}), "{name}: the text is kept");
    });
}

#[test]
fn of_every_provider_prose_is_read_and_a_cut_answer_is_not_asked_for_again() {
    everywhere(|mut peer| {
        let body = says(
            peer.dialect,
            peer.hop,
            "It is {\"city\":\"Bergen\",\"days\":3}.",
            End::Whole,
        );
        peer.receives(&body);
        assert_eq!(
            peer.machine.outcome(),
            Some(&Outcome::Success),
            "{}",
            peer.name
        );
        assert_eq!(
            peer.machine.output().map(|output| &output["days"]),
            Some(&json!(3))
        );
    });
    everywhere(|mut peer| {
        let body = says(peer.dialect, peer.hop, "{\"city\":\"Ber", End::Cut);
        peer.receives(&body);
        let reason = Incomplete::Length;
        assert_eq!(
            peer.machine.outcome(),
            Some(&Outcome::Incomplete { reason }),
            "{}",
            peer.name
        );
        assert_eq!(peer.hop, 1, "{}", peer.name);
    });
}
