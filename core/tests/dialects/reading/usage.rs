//! What is said in places where few look.

use super::answer::read;
use stepwell_core::dialect::Dialect;
use stepwell_core::pipeline::StreamEnd;

#[test]
fn what_a_stream_cost_counts_though_it_was_cut_or_failed() {
    let chat = r#"{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":7}}"#;
    let anthropic =
        r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":7}}}"#;
    let gemini = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":7}}"#;
    let interactions = r#"{"event_type":"step.stop","index":0,"usage":{"total_input_tokens":7}}"#;
    for (dialect, frame) in [
        (Dialect::GeminiInteractions, interactions),
        (Dialect::OpenAiChat, chat),
        (Dialect::Mistral, chat),
        (Dialect::Anthropic, anthropic),
        (Dialect::Gemini, gemini),
    ] {
        let cut = read(dialect, &[frame]);
        assert_eq!(
            (cut.input_tokens, cut.end),
            (Some(7), Ok(StreamEnd::Truncated)),
            "{dialect:?}"
        );
        let broken = read(dialect, &[frame, "{"]);
        assert_eq!(broken.input_tokens, Some(7), "{dialect:?}");
        assert!(broken.end.is_err(), "{dialect:?}");
        let failed = read(dialect, &[frame, r#"{"error":"Oh no"}"#]);
        assert_eq!(
            (failed.input_tokens, failed.end),
            (Some(7), Ok(StreamEnd::Errored)),
            "{dialect:?}"
        );
    }
}

#[test]
fn what_cohere_bills_counts_where_it_says_nothing_else() {
    let end = r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":7,"output_tokens":2}}}}"#;
    assert_eq!(read(Dialect::Cohere, &[end]).input_tokens, Some(7));
}

#[test]
fn a_message_of_anthropics_may_begin_with_what_it_says() {
    let start = r#"{"type":"message_start","message":{"model":"m","content":[{"type":"thinking","thinking":"Hm"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"c","name":"f","input":{"a":1}}]}}"#;
    let stop = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#;
    let said = read(Dialect::Anthropic, &[start, stop]);
    assert_eq!((said.thought.as_str(), said.text.as_str()), ("Hm", "Hi"));
    assert_eq!(said.calls, [["c", "f", r#"{"a":1}"#].map(str::to_owned)]);
    let start = r#"{"type":"message_start","message":{"model":"m","content":"Hi"}}"#;
    assert_eq!(read(Dialect::Anthropic, &[start, stop]).text, "Hi");
}

#[test]
fn a_tools_input_may_be_a_string_at_its_start() {
    let start = r#"{"type":"message_start","message":{"model":"m"}}"#;
    let block = |input: &str| {
        format!(
            r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"c","name":"f","input":"{input}"}}}}"#
        )
    };
    let more = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#;
    let stop = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#;
    let whole = [start, &block(r#"{\"a\":1}"#), stop].map(str::to_owned);
    assert_eq!(read(Dialect::Anthropic, &whole).calls[0][2], r#"{"a":1}"#);
    let begun = [start, &block(r#"{\"a\":"#), more, stop].map(str::to_owned);
    assert_eq!(read(Dialect::Anthropic, &begun).calls[0][2], r#"{"a":1}"#);
}
