use super::support::{finish, outline, parts, text, thought};
use crate::decoding::{self, Stream, body};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Event;

#[test]
fn thoughts_are_reasoning_and_text_is_a_message() {
    assert_eq!(
        outline(&[thought("Hm"), thought("m"), text("He"), text("llo")]),
        [
            "span r-reasoning-0",
            "reasoning start r-reasoning-0",
            "reasoning r-reasoning-0: Hm",
            "reasoning r-reasoning-0: m",
            "reasoning end r-reasoning-0",
            "span end r-reasoning-0",
            "text start r-message-0",
            "text r-message-0: He",
            "text r-message-0: llo",
            "text end r-message-0",
        ]
    );
}

#[test]
fn only_the_first_candidate_is_read() {
    let both = json!({"candidates": [
        {"index": 1, "content": {"parts": [{"text": "second"}]}},
        {"index": 0, "content": {"parts": [{"text": "first"}]}},
    ]});
    let second = json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "second"}]}, "finishReason": "SAFETY"}]});
    assert_eq!(
        outline(&[both, second])[1..2],
        ["text r-message-0: first".to_owned()]
    );
}

#[test]
fn other_parts_and_sources_are_events_of_their_own() {
    let chunk = parts(json!([
        {"executableCode": {"language": "PYTHON", "code": "1+1"}, "thoughtSignature": "x"},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"inlineData": {"mimeType": "image/png", "data": "aa=="}},
        {"fileData": {"fileUri": "u"}},
        {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB"}},
        {"inlineData": {"mimeType": "image/png", "data": "bb=="}, "thought": true},
        {"hologram": {"size": 3}},
        {},
    ]));
    let mut sources = text("x");
    sources["candidates"][0]["groundingMetadata"] = json!({"webSearchQueries": ["q"]});
    sources["candidates"][0]["citationMetadata"] = json!({"citationSources": [{"uri": "u"}]});
    let mut none = text("y");
    none["candidates"][0]["groundingMetadata"] = json!({});
    assert_eq!(
        outline(&[chunk, sources, none]),
        [
            r#"custom executableCode: {"language":"PYTHON","code":"1+1"}"#,
            "text start r-message-0",
            r#"sealed r-message-0: {"part":{"executableCode":{"language":"PYTHON","code":"1+1"},"thoughtSignature":"x"}}"#,
            "text end r-message-0",
            r#"custom codeExecutionResult: {"outcome":"OUTCOME_OK","output":"2"}"#,
            "text start r-message-1",
            r#"sealed r-message-1: {"part":{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}}}"#,
            "text end r-message-1",
            r#"activity r-media-0 media: {"parts":[{"type":"image","source":{"type":"data","value":"aa==","mimeType":"image/png"}}]}"#,
            "text start r-message-2",
            r#"sealed r-message-2: {"part":{"inlineData":{"mimeType":"image/png","data":"aa=="}}}"#,
            "text end r-message-2",
            r#"custom fileData: {"fileUri":"u"}"#,
            "text start r-message-3",
            r#"sealed r-message-3: {"part":{"fileData":{"fileUri":"u"}}}"#,
            "text end r-message-3",
            r#"custom toolCall: {"id":"t1","toolType":"GOOGLE_SEARCH_WEB"}"#,
            "text start r-message-4",
            r#"sealed r-message-4: {"part":{"toolCall":{"id":"t1","toolType":"GOOGLE_SEARCH_WEB"}}}"#,
            "text end r-message-4",
            r#"custom inlineData: {"mimeType":"image/png","data":"bb=="}"#,
            r#"custom part: {"hologram":{"size":3}}"#,
            "text start r-message-5",
            "text r-message-5: x",
            r#"custom citation: {"citationMetadata":{"citationSources":[{"uri":"u"}]}}"#,
            r#"custom citation: {"groundingMetadata":{"webSearchQueries":["q"]}}"#,
            "text r-message-5: y",
            "text end r-message-5",
        ]
    );
}

#[test]
fn the_last_usage_counts_also_after_the_finish_reason() {
    let mut last = json!({"usageMetadata": {
        "promptTokenCount": 10, "candidatesTokenCount": 5.0, "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 4, "totalTokenCount": 18, "promptTokensDetails": []
    }});
    last["modelVersion"] = json!("later");
    let bytes = body(
        Dialect::Gemini,
        &[
            text("a"),
            finish("MAX_TOKENS"),
            last,
            json!({"usageMetadata": {}}),
        ],
    );
    let (recorder, result) = Stream::new(Dialect::Gemini).run(bytes.as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    let Some(Event::RunFinished(finished)) = recorder.events.last() else {
        panic!("{:?}", recorder.events.last());
    };
    let usage = serde_json::to_value(&finished.usage).unwrap();
    assert_eq!(
        usage,
        json!([{
            "model": "gemini-x", "inputTokens": 10, "outputTokens": 5, "totalTokens": 18,
            "reasoningTokens": 3, "cachedInputTokens": 4
        }])
    );
    assert_eq!(
        decoding::short(recorder.events.last().unwrap()),
        "finish MAX_TOKENS"
    );
}

#[test]
fn a_blocked_prompt_ends_with_the_reason() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}});
    assert_eq!(
        decoding::outline(Dialect::Gemini, &[blocked]),
        ["start", "finish PROHIBITED_CONTENT"]
    );
    for reason in ["SAFETY", "MALFORMED_FUNCTION_CALL", "SOMETHING_NEW"] {
        let ended = json!({"candidates": [{"finishReason": reason, "index": 0}]});
        assert_eq!(
            decoding::outline(Dialect::Gemini, &[ended])[1],
            format!("finish {reason}")
        );
    }
}

#[test]
fn what_is_of_another_kind_counts_as_absent() {
    let odd: Vec<Value> = [
        json!({"candidates": 7, "usageMetadata": "x", "modelVersion": 1, "promptFeedback": []}),
        json!({"candidates": [7, {"content": 7}, {"content": {"parts": {}}}]}),
        parts(json!([7, {"text": 7, "thoughtSignature": 7}, {"functionCall": 7, "text": "a"}])),
        json!([]),
        json!("[DONE]"),
    ]
    .into_iter()
    .filter(|frame| !frame.is_array())
    .collect();
    assert_eq!(
        outline(&odd),
        [
            r#"custom part: {"text":7,"thoughtSignature":7}"#,
            "text start r-message-0",
            "text r-message-0: a",
            "text end r-message-0",
        ]
    );
}
