//! A character cut in two, as what slices strings in JavaScript does.

use super::answer::{Answer, Call, body, read, read_in};
use crate::cases::cases;
use crate::legal::targets;
use crate::validate;
use proptest::prelude::*;
use serde_json::json;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::pipeline::StreamEnd;
use stepwell_core::tool::parse_arguments;

/// Code units as the inside of a JSON string.
fn escaped(units: &[u16]) -> String {
    let unit = |unit: &u16| match u8::try_from(*unit) {
        Ok(byte @ (b' '..=b'!' | b'#'..=b'[' | b']'..=b'~')) => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    units.iter().map(unit).collect()
}

fn pieces(units: &[u16], cuts: &[prop::sample::Index]) -> Vec<String> {
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(units.len() + 1)).collect();
    places.sort_unstable();
    places.push(units.len());
    let mut pieces = Vec::new();
    let mut start = 0;
    for end in places {
        // What says nothing is sent by nobody, and refused by AG-UI.
        if end > start {
            pieces.push(escaped(&units[start..end]));
        }
        start = end;
    }
    pieces
}

fn units() -> impl Strategy<Value = Vec<u16>> {
    let unit = prop_oneof![
        0x61..0x7b_u16,
        Just(0xd83d),
        Just(0xde00),
        0xd800..0xe000_u16,
        Just(0xe9)
    ];
    prop::collection::vec(unit, 1..12)
}

fn answer(units: &[u16], cuts: &[prop::sample::Index]) -> Answer {
    let inner = pieces(units, cuts);
    let arguments = |inner: &[String]| {
        let ends = ["{\\\"t\\\":\\\"".to_owned(), "\\\"}".to_owned()];
        [&ends[..1], inner, &ends[1..]].concat()
    };
    Answer {
        thought: inner.clone(),
        text: inner.clone(),
        calls: vec![Call {
            id: "one",
            name: "f",
            arguments: arguments(&inner),
        }],
    }
}

/// Where arguments are JSON within a text. Elsewhere they are a part of the frame's own.
const WRITTEN: [Dialect; 7] = [
    Dialect::OpenAiChat,
    Dialect::OpenAiResponses,
    Dialect::Anthropic,
    Dialect::GeminiInteractions,
    Dialect::Mistral,
    Dialect::Cohere,
    Dialect::AgUi,
];

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn wherever_a_text_is_cut_it_is_the_same(
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        units in units(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        size in 1..400_usize,
    ) {
        let frames = answer(&units, &cuts).frames(dialect);
        let (read, _) = read_in(dialect, &body(dialect, &frames), size);
        let text = String::from_utf16_lossy(&units);
        prop_assert_eq!(&read.text, &text);
        prop_assert_eq!(&read.thought, &text);
        let arguments: serde_json::Value = serde_json::from_str(&read.calls[0][2]).expect("JSON");
        prop_assert_eq!(arguments["t"].as_str(), Some(text.as_str()));
        prop_assert_eq!(read.end, Ok(StreamEnd::Finished));
    }

    #[test]
    fn what_the_model_itself_writes_by_half_is_read_and_sent_back(
        dialect in prop::sample::select(WRITTEN.to_vec()),
        units in units(),
        size in 1..400_usize,
    ) {
        let unit = |unit: &u16| format!("\\\\u{unit:04x}");
        let written: Vec<_> = units.iter().map(unit).collect();
        let mut answer = answer(&units, &[]);
        answer.calls[0].arguments = [&["{\\\"t\\\":\\\"".to_owned()], &written[..], &["\\\"}".to_owned()]].concat();
        let (read, _) = read_in(dialect, &body(dialect, &answer.frames(dialect)), size);
        prop_assert_eq!(read.end, Ok(StreamEnd::Finished));
        let text = String::from_utf16_lossy(&units);
        let arguments = &read.calls[0][2];
        let value = parse_arguments(arguments).expect("it is JSON");
        prop_assert_eq!(value["t"].as_str(), Some(text.as_str()));
        for provider in targets::PROVIDERS {
            for endpoint in targets::endpoints(provider) {
                let call = json!({"id": "call_1234", "type": "function", "function": {"name": "weather", "arguments": arguments}});
                let history = json!([
                    {"id": "1", "role": "user", "content": "Hi"},
                    {"id": "2", "role": "assistant", "toolCalls": [call]},
                    {"id": "3", "role": "tool", "toolCallId": "call_1234", "content": "1"},
                ]);
                let messages: Vec<Message> = serde_json::from_value(history).expect("messages");
                let settings = targets::settings(0);
                let request = targets::encode(&endpoint, &messages, &targets::tools(), &settings);
                let checked = validate::request(endpoint.dialect, provider, &request);
                prop_assert_eq!(checked, Ok(()), "{}", provider);
                let body = String::from_utf8(request.body).expect("text");
                prop_assert!(!body.contains("\"raw\""), "{}", body);
            }
        }
    }
}

#[test]
fn an_emoji_cut_in_two_is_joined() {
    let mut answer = Answer::small();
    let halves = ["ok \\ud83d", "\\ude00 done"].map(str::to_owned);
    answer.text = halves.to_vec();
    answer.thought = halves.to_vec();
    let arguments = ["{\\\"t\\\":\\\"\\ud83d", "\\ude00\\\"}"].map(str::to_owned);
    answer.calls[0].arguments = arguments.to_vec();
    for dialect in Dialect::ALL {
        let frames = answer.frames(dialect);
        let (read, warnings) = read_in(dialect, &body(dialect, &frames), usize::MAX);
        assert_eq!(read.text, "ok \u{1f600} done", "{dialect:?}");
        assert_eq!(read.thought, "ok \u{1f600} done", "{dialect:?}");
        let arguments: serde_json::Value = serde_json::from_str(&read.calls[0][2]).expect("JSON");
        assert_eq!(arguments["t"], "\u{1f600}", "{dialect:?}");
        assert_eq!(read.end, Ok(StreamEnd::Finished));
        assert_eq!(warnings.len(), 1, "it is said once: {warnings:?}");
    }
}

#[test]
fn half_a_character_that_is_alone_is_replaced() {
    let mut answer = Answer::small();
    let alone = ["a\\ud83d", "b\\ude00c", "\\udc00", "d\\ud83d"].map(str::to_owned);
    answer.text = alone.to_vec();
    answer.thought = alone.to_vec();
    for dialect in Dialect::ALL {
        let mut frames = answer.frames(dialect);
        let said = "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}";
        let whole = read(dialect, &frames);
        assert_eq!(
            (whole.text.as_str(), whole.thought.as_str()),
            (said, said),
            "{dialect:?}"
        );
        // A stream that is cut says it too.
        let last = frames.iter().rposition(|frame| frame.contains("d\\ud83d"));
        frames.truncate(last.expect("the last piece of the text") + 1);
        let cut = read(dialect, &frames);
        assert_eq!(
            (cut.text.as_str(), cut.end),
            (said, Ok(StreamEnd::Truncated)),
            "{dialect:?}"
        );
    }
}

#[test]
fn calls_side_by_side_keep_their_halves_apart() {
    let fragment = |index: usize, arguments: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{index},"function":{{"arguments":"{arguments}"}}}}]}}}}]}}"#
        )
    };
    let begin = |index: usize| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{index},"id":"c{index}","function":{{"name":"f"}}}}]}}}}]}}"#
        )
    };
    let frames = [
        begin(0),
        begin(1),
        fragment(0, "\\\"\\ud83d"),
        fragment(1, "\\\"\\ud83e"),
        fragment(0, "\\ude00\\\""),
        fragment(1, "\\udd80\\\""),
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned(),
    ];
    let read = read(Dialect::OpenAiChat, &frames);
    let arguments: Vec<_> = read.calls.iter().map(|call| call[2].as_str()).collect();
    assert_eq!(arguments, ["\"\u{1f600}\"", "\"\u{1f980}\""]);
}

#[test]
fn half_a_character_in_a_name_a_citation_or_an_error_does_no_harm() {
    let frames = [
        r#"{"choices":[{"index":0,"delta":{"content":"a","annotations":[{"x":"\ud83d"}]}}],"id":"\udc00"}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c\ud83d","function":{"name":"f\ud83d","arguments":"{}"}}]}}]}"#,
        r#"{"error":{"message":"Oh \ud83d"}}"#,
    ];
    let read = read(Dialect::OpenAiChat, &frames);
    assert_eq!(
        read.calls,
        [["c\u{fffd}", "f\u{fffd}", "{}"].map(str::to_owned)]
    );
    assert_eq!(read.failure.as_deref(), Some("Oh \u{fffd}"));
    assert_eq!(read.end, Ok(StreamEnd::Errored));
}
