//! Frames that repeat are read by comparing them with templates. A decoder that is cloned has none: on any stream, one
//! that is kept and one that is cloned before each frame must say the same.

use crate::cases::cases;
use crate::decoding::{Recorder, Stream};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use stepwell_core::dialect::{DecodeError, Decoder, Dialect};

/// What comes of a body: the events and warnings, how it ended, and what the decoder holds in the end.
fn decode(
    dialect: Dialect,
    body: &[u8],
    without_templates: bool,
) -> (Recorder, Result<(), DecodeError>, Decoder) {
    let mut stream = Stream::new(dialect);
    stream.without_templates = without_templates;
    let result = stream.receive(body).and_then(|()| stream.end());
    (stream.recorder, result, stream.decoder)
}

/// Frames of a dialect: those that a stream begins with, and some of all kinds, with `§` for a text.
#[derive(Debug)]
struct Samples {
    dialect: Dialect,
    opening: &'static [&'static str],
    frames: &'static [&'static str],
}

static SAMPLES: [Samples; 9] = [
    Samples {
        dialect: Dialect::OpenAiChat,
        opening: &[
            r#"{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}"#,
        ],
        frames: CHAT,
    },
    Samples {
        dialect: Dialect::Mistral,
        opening: &[r#"{"model":"m","choices":[{"index":0,"delta":{"content":"first"}}]}"#],
        frames: CHAT,
    },
    Samples {
        dialect: Dialect::OpenAiResponses,
        opening: &[
            r#"{"type":"response.created","response":{"model":"m"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs"}}"#,
            r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"first"}"#,
            r#"{"type":"response.output_item.added","output_index":3,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f"}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":3,"delta":"first"}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg"}}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"first"}"#,
        ],
        frames: &[
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"§","sequence_number":1,"obfuscation":"x"}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"§","sequence_number":23,"obfuscation":""}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":1,"delta":"§"}"#,
            r#"{"type":"response.output_text.delta","output_index":2,"delta":"§"}"#,
            r#"{"type":"response.output_text.delta","delta":"§"}"#,
            r#"{"type":"response.output_text.delta","item_id":"msg","delta":"§"}"#,
            r#"{"type":"response.output_text.delta","output_index":1.0,"delta":"§"}"#,
            r#"{"type":"response.output_text.done","output_index":1,"content_index":0,"text":"§"}"#,
            r#"{"type":"response.refusal.delta","output_index":1,"content_index":0,"delta":"§"}"#,
            r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"§"}"#,
            r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"§"}"#,
            r#"{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"§"}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":3,"delta":"§","item_id":"fc"}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":4,"delta":"§"}"#,
            r#"{"type":"response.output_item.added","output_index":5,"item":{"type":"custom_tool_call","id":"ctc","call_id":"d","name":"g"}}"#,
            r#"{"type":"response.custom_tool_call_input.delta","output_index":5,"delta":"§"}"#,
            r#"{"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"§"}}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg","content":[{"type":"output_text","text":"§"}]}}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_2"}}"#,
            r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
            r#"{"type":"keepalive"}"#,
        ],
    },
    Samples {
        dialect: Dialect::Anthropic,
        opening: &[
            r#"{"type":"message_start","message":{"model":"m"}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#,
        ],
        frames: &[
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"§"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"§"}   }"#,
            r#"{"type":"content_block_delta","index":0.0,"delta":{"type":"text_delta","text":"§"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"§"}  }"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"§"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"§"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"§"}    }"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"§"}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"§"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"§","thinking":"also"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"§"}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","text":"§"}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"§"}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"b","name":"g","input":{}}}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"s","name":"n","input":{}}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
            r#"{"type":"message_stop"}"#,
            r#"{"type":"ping"}"#,
        ],
    },
    Samples {
        dialect: Dialect::GeminiInteractions,
        opening: &[
            r#"{"interaction":{"id":"i","model":"m","status":"in_progress"},"event_type":"interaction.created"}"#,
            r#"{"index":0,"step":{"type":"thought"},"event_type":"step.start"}"#,
            r#"{"index":0,"delta":{"type":"thought_summary","content":{"type":"text","text":"first"}},"event_type":"step.delta"}"#,
            r#"{"index":2,"step":{"type":"function_call","id":"c","name":"f","arguments":{}},"event_type":"step.start"}"#,
            r#"{"index":2,"delta":{"type":"arguments_delta","arguments":"first"},"event_type":"step.delta"}"#,
            r#"{"index":1,"step":{"type":"model_output"},"event_type":"step.start"}"#,
            r#"{"index":1,"delta":{"type":"text","text":"first"},"event_type":"step.delta"}"#,
        ],
        frames: &[
            r#"{"index":1,"delta":{"type":"text","text":"§"},"event_type":"step.delta"}"#,
            r#"{"index":1,"delta":{"type":"text","text":"§"},"event_id":"a","event_type":"step.delta"}"#,
            r#"{"index":1,"delta":{"type":"text","text":"§"},"event_id":"bc","event_type":"step.delta"}"#,
            r#"{"index":1.0,"delta":{"type":"text","text":"§"},"event_type":"step.delta"}"#,
            r#"{"index":4,"delta":{"type":"text","text":"§"},"event_type":"step.delta"}"#,
            r#"{"delta":{"type":"text","text":"§"},"event_type":"step.delta"}"#,
            r#"{"index":1,"delta":{"type":"text","text":"§"},"metadata":{"total_usage":{"total_input_tokens":3}},"event_type":"step.delta"}"#,
            r#"{"index":0,"delta":{"type":"thought_summary","content":{"type":"text","text":"§"}},"event_type":"step.delta"}"#,
            r#"{"index":0,"delta":{"type":"thought_signature","signature":"§"},"event_type":"step.delta"}"#,
            r#"{"index":2,"delta":{"type":"arguments_delta","arguments":"§"},"event_type":"step.delta"}"#,
            r#"{"index":0,"delta":{"type":"arguments_delta","arguments":"§"},"event_type":"step.delta"}"#,
            r#"{"index":1,"delta":{"type":"text_annotation_delta","annotations":[{"type":"url_citation","url":"§"}]},"event_type":"step.delta"}"#,
            r#"{"index":1,"delta":{"type":"image","data":"aa==","mime_type":"image/png"},"event_type":"step.delta"}"#,
            r#"{"index":5,"step":{"type":"google_search_call","id":"s","arguments":{}},"event_type":"step.start"}"#,
            r#"{"index":5,"delta":{"type":"google_search_call","arguments":{"queries":["§"]}},"event_type":"step.delta"}"#,
            r#"{"index":5,"event_type":"step.stop"}"#,
            r#"{"index":1,"event_type":"step.stop"}"#,
            r#"{"index":1,"step":{"type":"model_output"},"event_type":"step.start"}"#,
            r#"{"interaction":{"id":"i","status":"completed"},"event_type":"interaction.completed"}"#,
            r#"{"interaction_id":"i","status":"in_progress","event_type":"interaction.status_update"}"#,
        ],
    },
    Samples {
        dialect: Dialect::Gemini,
        opening: &[
            r#"{"candidates":[{"index":0,"content":{"parts":[{"text":"first"}]}}],"modelVersion":"m"}"#,
        ],
        frames: &[
            r#"{"candidates":[{"index":0,"content":{"parts":[{"text":"§"}],"role":"model"}}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1,"totalTokenCount":8},"modelVersion":"m"}"#,
            r#"{"candidates":[{"index":0,"content":{"parts":[{"text":"§"}],"role":"model"}}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":25,"totalTokenCount":32},"modelVersion":"m"}"#,
            r#"{"candidates":[{"index":0,"content":{"parts":[{"text":"§"}],"role":"model"}}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":25.0,"totalTokenCount":9007199254740992},"modelVersion":"m"}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"§"}]}}],"usageMetadata":{"thoughtsTokenCount":7,"cachedContentTokenCount":0}}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"§","thought":true}]}}],"usageMetadata":{"thoughtsTokenCount":9,"promptTokenCount":null}}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"§"}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"§","thought":true}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"§","thoughtSignature":"s"}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"§"},{"text":"more"}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"§"}]},"groundingMetadata":{"a":1}}]}"#,
            r#"{"candidates":[{"index":1,"content":{"parts":[{"text":"§"}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":"§"}}}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]}}]}"#,
            r#"{"candidates":[],"usageMetadata":{"promptTokenCount":1}}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"§"}]},"finishReason":"STOP"}]}"#,
        ],
    },
    Samples {
        dialect: Dialect::Ollama,
        opening: &[r#"{"model":"m","message":{"content":"first"},"done":false}"#],
        frames: &[
            r#"{"model":"m","created_at":"1","message":{"role":"assistant","content":"§"},"done":false}"#,
            r#"{"model":"m","created_at":"22","message":{"role":"assistant","content":"§"},"done":false}"#,
            r#"{"model":"m","created_at":"1","message":{"role":"assistant","content":"","thinking":"§"},"done":false}"#,
            r#"{"message":{"content":"§","thinking":"too"}}"#,
            r#"{"message":{"content":"§","tool_calls":[{"function":{"name":"f","arguments":{"a":"§"}}}]},"done":false}"#,
            r#"{"message":{"content":null,"thinking":null,"tool_calls":null}}"#,
            r#"{"error":"§"}"#,
            r#"{"model":"m","message":{"content":"§"},"done":true,"done_reason":"stop","eval_count":3}"#,
        ],
    },
    Samples {
        dialect: Dialect::Cohere,
        opening: &[
            r#"{"type":"message-start","id":"1"}"#,
            r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","function":{"name":"f","arguments":""}}}}}"#,
        ],
        frames: &[
            r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"§"}}}}"#,
            r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"§"}}}}"#,
            r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"§","thinking":"too"}}}}"#,
            r#"{"index":0,"delta":{"message":{"content":{"text":"§"}}},"type":"content-delta"}"#,
            r#"{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":"§"}}}}"#,
            r#"{"type":"content-end","index":0}"#,
            r#"{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"§"}}}"#,
            r#"{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"b","function":{"name":"g","arguments":"§"}}}}}"#,
            r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"function":{"name":"waits"}}}}}"#,
            r#"{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"§"}}}}}"#,
            r#"{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"id":"late","function":{"arguments":"§"}}}}}"#,
            r#"{"type":"tool-call-delta","index":1,"delta":{"message":{"tool_calls":{"function":{"arguments":"§"}}}}}"#,
            r#"{"type":"tool-call-delta","delta":{"message":{"tool_calls":{"function":{"arguments":"§"}}}}}"#,
            r#"{"type":"tool-call-delta","index":1,"delta":{"message":{"tool_calls":{"function":{"arguments":{"x":"§"}}}}}}"#,
            r#"{"type":"tool-call-end","index":0}"#,
            r#"{"type":"citation-start","delta":{"message":{"citations":{"text":"§"}}}}"#,
            r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}"#,
        ],
    },
    Samples {
        dialect: Dialect::AgUi,
        opening: &[r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#],
        frames: &[
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"§"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"\"","delta":"§"}"#,
            r#"{"delta":"§","messageId":"m","type":"TEXT_MESSAGE_CONTENT"}"#,
            r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"§"}"#,
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"§"}"#,
            r#"{"type":"TOOL_CALL_ARGS","messageId":"m","toolCallId":"c","delta":"§"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"§","timestamp":1}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"n","role":"assistant","delta":"§"}"#,
            r#"{"type":"CUSTOM","name":"§","value":1}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        ],
    },
];

const CHAT: &[&str] = &[
    r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"§"},"finish_reason":null}],"usage":null,"obfuscation":"x"}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":23,"model":"m","choices":[{"index":0,"delta":{"content":"§"},"finish_reason":null}],"usage":null,"obfuscation":""}"#,
    r#"{"choices":[{"index":0,"text":"§","delta":{"token_id":5,"content":"§"}}],"p":"abc"}"#,
    r#"{"choices":[{"index":0,"text":"other","delta":{"token_id":67,"content":"§"}}],"p":"a"}"#,
    r#"{"choices":[{"delta":{"content":"§"}}]}"#,
    r#"{"choices":[{"index":1,"delta":{"content":"§"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning":"§","content":"","reasoning_details":[]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"§","content":null}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning":"§","reasoning_details":[{"type":"reasoning.text","text":"§","index":0}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning":"§","content":"both"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"§"}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"§"}]}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":"§"},{"type":"text","text":"two"}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"refusal":"§"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"§","annotations":[{"type":"url_citation"}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"§"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"§"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"§"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"§"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"arguments":"§"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"name":"g","arguments":"§"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"§"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"late","function":{"arguments":"§"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"§"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"§"}},{"index":1,"function":{"arguments":"2"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":{"x":"§"}}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"§"},"finish_reason":"stop"}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"§"}}],"usage":{"prompt_tokens":1}}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"§"}}],"error":"no"}"#,
    r#"{"choices":[]}"#,
    r#"{"object":"error","message":"§"}"#,
];

/// Bytes to put, and pieces that make new shapes.
const PIECES: &[&str] = &[
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\t",
    "\u{b}",
    "\u{c}",
    "0",
    "1",
    "-",
    ".5",
    "e",
    "null",
    "true",
    "\"\"",
    "\\u0061",
    "\\ud800",
    "\u{1f980}",
    "x",
    "\"text\":\"again\",",
    "\"content\":\"again\",",
    "\"delta\":\"again\",",
    "\"index\":0,",
    "\"output_index\":0,",
    "\"type\":\"text\",",
    "\"created\":5,",
    "\"model\":5,",
    "\"modelVersion\":5,",
    "\"usage\":{},",
    "\"id\":7,",
    "\"error\":1,",
    "\"done\":true,",
    "\"thought\":true,",
    "\"promptTokenCount\":2,",
    "\"name\":\"n\",",
];

/// A few kinds of frames, each of which comes several times, with another text each time and now and then a fault.
fn stream(samples: &'static Samples) -> impl Strategy<Value = Vec<u8>> {
    let kinds = prop::collection::vec(select(samples.frames), 1..5);
    let edit = (any::<Index>(), 0..3_usize, select(PIECES));
    let frame = (
        any::<Index>(),
        "[a-c\"\\\\ä\n]{0,3}",
        prop::option::weighted(0.2, edit),
    );
    (kinds, prop::collection::vec(frame, 1..16)).prop_map(|(kinds, frames)| {
        let opening = samples
            .opening
            .iter()
            .map(|frame| frame.as_bytes().to_vec());
        let frames = frames.into_iter().map(|(kind, text, edit)| {
            let text = serde_json::Value::from(text).to_string();
            let mut frame = kind.get(&kinds).replace("\"§\"", &text).into_bytes();
            if let Some((index, cut, piece)) = edit {
                let at = index.index(frame.len());
                let end = (at + cut).min(frame.len());
                frame.splice(at..end, piece.bytes());
            }
            frame
        });
        body(samples.dialect, opening.chain(frames))
    })
}

fn body(dialect: Dialect, frames: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let (before, after): (&[u8], &[u8]) = match dialect {
        Dialect::Ollama => (b"", b"\n"),
        _ => (b"data: ", b"\n\n"),
    };
    frames
        .flat_map(|frame| [before, &frame, after].concat())
        .collect()
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn a_stream_reads_the_same_with_and_without_templates(
        (dialect, body) in (0..SAMPLES.len())
            .prop_map(|at| &SAMPLES[at])
            .prop_flat_map(|samples| (Just(samples.dialect), stream(samples)))
    ) {
        prop_assert_eq!(decode(dialect, &body, false), decode(dialect, &body, true));
    }
}

/// What a template must not be taken for: the first frame twice, then the other.
const LIKE: &[(Dialect, &str, &str)] = &[
    // Another name of the same data.
    (
        Dialect::Cohere,
        "event: content-delta\ndata: {\"delta\":{\"message\":{\"content\":{\"text\":\"a\"}}}}\n\n",
        "event: content-end\ndata: {\"delta\":{\"message\":{\"content\":{\"text\":\"b\"}}}}\n\n",
    ),
    (
        Dialect::OpenAiResponses,
        "event: response.output_text.delta\ndata: {\"output_index\":1,\"delta\":\"a\"}\n\n",
        "event: response.refusal.delta\ndata: {\"output_index\":1,\"delta\":\"b\"}\n\n",
    ),
    (
        Dialect::OpenAiChat,
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "event: error\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n",
    ),
    // White space that is none to JSON.
    (
        Dialect::AgUi,
        "data: {\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"c\",\"delta\":\"a\"}\n\n",
        "data: {\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"c\",\"delta\":\"b\"\u{c}}\n\n",
    ),
    // Half of a character.
    (
        Dialect::OpenAiChat,
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d\"}}]}\n\n",
    ),
];

#[test]
fn what_is_like_a_template_and_does_not_fit_it_is_read_as_it_is() {
    for (dialect, first, other) in LIKE {
        let samples = SAMPLES.iter().find(|samples| samples.dialect == *dialect);
        let opening = samples.expect("all dialects are there").opening;
        let opening = opening.iter().map(|frame| frame.as_bytes().to_vec());
        let frames = [first, first, other, first].map(|frame| frame.as_bytes());
        let body = [body(*dialect, opening), frames.concat()].concat();
        assert_eq!(
            decode(*dialect, &body, false),
            decode(*dialect, &body, true),
            "{other}"
        );
    }
}
