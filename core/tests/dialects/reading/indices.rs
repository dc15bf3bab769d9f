//! Indices and ids that do not say what belongs where.

use super::answer::{Answer, read};
use stepwell_core::dialect::{DecodeError, Dialect};
use stepwell_core::pipeline::{StreamEnd, StreamError};

fn without(frames: &[String], names: &[&str]) -> Vec<String> {
    let drop = |frame: &String| {
        let mut frame = frame.clone();
        for name in names {
            for number in 0..8 {
                frame = frame.replace(&format!("\"{name}\":{number},"), "");
                frame = frame.replace(&format!(",\"{name}\":{number}}}"), "}");
            }
        }
        frame
    };
    frames.iter().map(drop).collect()
}

#[test]
fn one_thing_after_another_needs_no_index() {
    for dialect in Dialect::ALL {
        let frames = Answer::small().frames(dialect);
        let bare = without(
            &frames,
            &[
                "index",
                "output_index",
                "content_index",
                "summary_index",
                "contentBlockIndex",
            ],
        );
        if dialect != Dialect::AgUi && dialect != Dialect::Ollama {
            assert_ne!(bare, frames, "{dialect:?}");
        }
        assert_eq!(read(dialect, &bare), read(dialect, &frames), "{dialect:?}");
    }
}

fn reason(end: Result<StreamEnd, StreamError>) -> DecodeError {
    end.expect_err("an error").source
}

#[test]
fn what_may_belong_to_several_is_an_error() {
    let both = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"a","function":{"name":"f"}},{"id":"b","function":{"name":"g"}}]}}]}"#;
    let one =
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"{}"}}]}}]}"#;
    let start = r#"{"type":"message_start","message":{"model":"m"}}"#;
    let tool = |index: usize| {
        format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"c{index}","name":"f","input":{{}}}}}}"#
        )
    };
    let input =
        r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
    let stop = r#"{"type":"content_block_stop"}"#;
    let item = |id: &str| {
        format!(
            r#"{{"type":"response.output_item.added","item":{{"type":"function_call","id":"{id}","call_id":"call_{id}","name":"f","arguments":""}}}}"#
        )
    };
    let more =
        r#"{"type":"response.function_call_arguments.delta","item_id":"other","delta":"{}"}"#;
    for (dialect, frames) in [
        (Dialect::OpenAiChat, vec![both.to_owned(), one.to_owned()]),
        (
            Dialect::Anthropic,
            vec![start.to_owned(), tool(0), tool(1), input.to_owned()],
        ),
        (
            Dialect::Anthropic,
            vec![start.to_owned(), tool(0), tool(1), stop.to_owned()],
        ),
        (
            Dialect::OpenAiResponses,
            vec![item("a"), item("b"), more.to_owned()],
        ),
    ] {
        let last = frames.len() - 1;
        assert!(read(dialect, &frames[..last]).end.is_ok(), "{frames:?}");
        let error = reason(read(dialect, &frames).end);
        assert!(matches!(error, DecodeError::Unplaced { .. }), "{error}");
    }
}

#[test]
fn what_is_no_index_is_an_error() {
    for index in ["-1", "0.5", "\"one\"", "true", "[0]", "1e300"] {
        for frame in [
            r#"{"type":"content_block_start","index":I,"content_block":{"type":"text","text":"x"}}"#,
            r#"{"type":"content_block_delta","index":I,"delta":{"type":"text_delta","text":"x"}}"#,
        ] {
            let frame = frame.replace('I', index);
            let error = reason(read(Dialect::Anthropic, &[frame]).end);
            assert!(
                error.to_string().contains("an index is a whole number"),
                "{error}"
            );
        }
        for (dialect, frame) in [
            (
                Dialect::OpenAiChat,
                r#"{"choices":[{"index":I,"delta":{"content":"x"}}]}"#,
            ),
            (
                Dialect::OpenAiChat,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":I,"function":{"arguments":"x"}}]}}]}"#,
            ),
            (
                Dialect::OpenAiResponses,
                r#"{"type":"response.output_text.delta","output_index":I,"delta":"x"}"#,
            ),
            (
                Dialect::Gemini,
                r#"{"candidates":[{"index":I,"content":{"parts":[{"text":"x"}]}}]}"#,
            ),
            (
                Dialect::GeminiInteractions,
                r#"{"event_type":"step.delta","index":I,"delta":{"type":"text","text":"x"}}"#,
            ),
            (Dialect::Cohere, r#"{"type":"tool-call-end","index":I}"#),
        ] {
            let frame = frame.replace('I', index);
            let error = reason(read(dialect, &[frame.as_str()]).end);
            assert!(
                error.to_string().contains("an index is a whole number"),
                "{frame}: {error}"
            );
        }
    }
}

#[test]
fn two_choices_are_told_apart_however_their_indices_are_written() {
    for forms in [
        ["0", "1"],
        ["0.0", "1.0"],
        ["\"0\"", "\"1\""],
        ["0e0", "1E0"],
    ] {
        let frames = forms.map(|index| {
            format!(
                r#"{{"choices":[{{"index":{index},"delta":{{"content":"{}"}}}}]}}"#,
                index.replace('"', "")
            )
        });
        let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned();
        let read = read(Dialect::OpenAiChat, &[&frames[..], &[end]].concat());
        assert_eq!(read.text, forms[0].replace('"', ""));
    }
}

#[test]
fn item_ids_that_change_double_nothing() {
    for dialect in [Dialect::OpenAiResponses] {
        let frames = Answer::small().frames(dialect);
        for names in [&[][..], &["output_index", "content_index", "summary_index"]] {
            let mut number = 0;
            let changed = without(&frames, names).into_iter().map(|frame| {
                let mut frame = frame;
                for id in ["rs", "msg", "fc_one", "fc_two"] {
                    number += 1;
                    frame = frame.replace(&format!("\"{id}\""), &format!("\"id_{number}\""));
                }
                frame
            });
            let changed: Vec<_> = changed.collect();
            assert_eq!(
                read(dialect, &changed),
                read(dialect, &frames),
                "{changed:#?}"
            );
        }
    }
}

#[test]
fn an_id_may_come_after_the_name() {
    let chat = |fragment: &str| {
        format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{fragment}]}}}}]}}"#)
    };
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned();
    let cohere = |kind: &str, call: &str| {
        format!(
            r#"{{"type":"tool-call-{kind}","index":0,"delta":{{"message":{{"tool_calls":{call}}}}}}}"#
        )
    };
    let item = |kind: &str, more: &str| {
        format!(
            r#"{{"type":"response.output_item.{kind}","output_index":0,"item":{{"type":"function_call","name":"f"{more}}}}}"#
        )
    };
    for (dialect, frames) in [
        (
            Dialect::OpenAiChat,
            vec![
                chat(r#"{"index":0,"function":{"name":"f","arguments":""}}"#),
                chat(r#"{"index":0,"id":"late","function":{"arguments":"{}"}}"#),
                end.clone(),
            ],
        ),
        (
            Dialect::OpenAiChat,
            vec![
                chat(r#"{"function":{"name":"f"}}"#),
                chat(r#"{"id":"late"}"#),
                chat(r#"{"function":{"arguments":"{}"}}"#),
                end.clone(),
            ],
        ),
        (
            Dialect::Cohere,
            vec![
                cohere("start", r#"{"function":{"name":"f"}}"#),
                cohere("delta", r#"{"id":"late","function":{"arguments":"{}"}}"#),
                cohere("end", "null"),
                r#"{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}"#.to_owned(),
            ],
        ),
        (
            Dialect::OpenAiResponses,
            vec![
                item("added", ""),
                item("done", r#","call_id":"late","arguments":"{}""#),
                r#"{"type":"response.completed","response":{}}"#.to_owned(),
            ],
        ),
    ] {
        let read = read(dialect, &frames);
        assert_eq!(
            read.calls,
            [["late", "f", "{}"].map(str::to_owned)],
            "{frames:?}"
        );
        assert_eq!(read.end, Ok(StreamEnd::Finished));
    }
    // One that never comes is made.
    let frames = [chat(r#"{"index":0,"function":{"name":"f"}}"#), end];
    assert_eq!(read(Dialect::OpenAiChat, &frames).calls[0][0], "r-call-0");
    let frames = [
        cohere("start", r#"{"function":{"name":"f"}}"#),
        cohere("end", "null"),
        r#"{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}"#.to_owned(),
    ];
    assert_eq!(read(Dialect::Cohere, &frames).calls[0][0], "r-call-0");
    let frames = [
        item("added", ""),
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}"#
            .to_owned(),
        r#"{"type":"response.completed","response":{}}"#.to_owned(),
    ];
    assert_eq!(
        read(Dialect::OpenAiResponses, &frames).calls,
        [["r-call-0", "f", "{}"].map(str::to_owned)]
    );
}
