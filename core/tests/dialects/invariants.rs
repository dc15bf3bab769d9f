//! What holds in every dialect, over one answer with all that the dialect can say: how the bytes are cut and when a
//! snapshot is taken changes nothing, no bytes make a decoder panic, and it does not grow with what is said.

use crate::anthropic::support as messages;
use crate::chat::{self, Recorder, Stream};
use crate::cohere::frames as cohere;
use crate::gemini::support as gemini;
use crate::ollama::support as ollama;
use crate::responses;
use crate::{decoding, mock};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;
use stepwell_core::dialect::Dialect;
use stepwell_core::pipeline::Pipeline;
use stepwell_core::transcript::Transcript;
use stepwell_mock_llm::{Answer, Call, Setting};

/// The answers; AG-UI's events have tests of their own.
fn samples() -> [(Dialect, String); 7] {
    [
        (Dialect::Anthropic, anthropic_messages()),
        (Dialect::Cohere, cohere_chat()),
        (Dialect::Gemini, gemini_parts()),
        (Dialect::GeminiInteractions, interactions()),
        (Dialect::Ollama, ollama_lines()),
        (Dialect::OpenAiChat, chat_completions()),
        (Dialect::OpenAiResponses, openai_responses()),
    ]
}

fn anthropic_messages() -> String {
    let stream = messages::body(
        &[
            vec![messages::start(), json!({"type": "ping"})],
            messages::thinking(0, &["Hm, \u{1f980}"], "c2ln"),
            messages::whole(1, json!({"type": "redacted_thinking", "data": "x"}), vec![]),
            messages::text(2, &["Grüße, \"you\"", "\n"]),
            vec![messages::delta(
                2,
                json!({"type": "citations_delta", "citation": {"cited_text": "é"}}),
            )],
            messages::whole(
                3,
                json!({"type": "server_tool_use", "id": "s", "name": "n", "input": {}}),
                messages::input(&["{\"q\"", ":\"ä\"}"]),
            ),
            messages::whole(
                4,
                json!({"type": "n_tool_result", "tool_use_id": "s", "content": []}),
                vec![],
            ),
            messages::text(5, &["So"]),
            messages::call(6, "a", "f", &["{\"y\"", ": \"ä\"}"]),
            vec![messages::block(
                7,
                json!({"type": "tool_use", "id": "b", "name": "g", "input": {"x": 1}}),
            )],
            vec![messages::stop("tool_use"), json!({"type": "message_stop"})],
        ]
        .concat(),
    );
    format!(": hello\n\n{}", stream.replace("\n\n", "\r\n\r\n"))
}

fn cohere_chat() -> String {
    let stream = chat::body(&[
        cohere::start(),
        cohere::thinking("Hm, \u{1f980}"),
        cohere::plan("Ich prüfe"),
        cohere::call_start(0, "a", "f"),
        cohere::arguments(0, json!("{\"x\": \"ä\"")),
        cohere::call_start(1, "b", "g"),
        cohere::arguments(0, json!("}")),
        cohere::call_end(1),
        cohere::text("Grüße, \"you\""),
        cohere::end("TOOL_CALL"),
        json!("[DONE]"),
    ]);
    stream.replace("\n\n", "\r\n\r\n")
}

fn gemini_parts() -> String {
    let stream = decoding::body(
        Dialect::Gemini,
        &[
            gemini::thought("Hm, \u{1f980}"),
            gemini::text("Grüße, \"you\""),
            gemini::parts(json!([{"text": "", "thoughtSignature": "s1"}])),
            gemini::parts(
                json!([{"functionCall": {"name": "f", "id": "a", "args": {"x": 1}}, "thoughtSignature": "s2"}]),
            ),
            gemini::parts(json!([{"functionCall": {"name": "g", "willContinue": true}}])),
            gemini::parts(
                json!([{"functionCall": {"partialArgs": [{"jsonPath": "$.y[0]", "stringValue": "ä"}], "willContinue": true}}]),
            ),
            gemini::parts(
                json!([{"functionCall": {"partialArgs": [{"jsonPath": "$.y[0]", "stringValue": "b"}], "willContinue": true}}]),
            ),
            gemini::parts(json!([{"functionCall": {}}])),
            gemini::parts(json!([{"executableCode": {"code": "1"}}])),
            gemini::finish("STOP"),
        ],
    );
    format!(": hello\r\n\r\n{stream}")
}

fn interactions() -> String {
    use crate::gemini_interactions::support::{completed, created, delta, start, stop};
    let stream = decoding::body(
        Dialect::GeminiInteractions,
        &[
            created(),
            start(0, json!({"type": "thought"})),
            delta(
                0,
                json!({"type": "thought_summary", "content": {"type": "text", "text": "Hm, \u{1f980}"}}),
            ),
            delta(0, json!({"type": "thought_signature", "signature": "s1"})),
            stop(0),
            start(1, json!({"type": "model_output"})),
            delta(
                1,
                json!({"type": "text", "text": "Gr\u{fc}\u{df}e, \"you\""}),
            ),
            delta(
                1,
                json!({"type": "text_annotation_delta", "annotations": [{"type": "url_citation"}]}),
            ),
            delta(
                1,
                json!({"type": "image", "data": "aa==", "mime_type": "image/png"}),
            ),
            stop(1),
            start(
                2,
                json!({"type": "google_search_call", "id": "s", "arguments": {}}),
            ),
            delta(
                2,
                json!({"type": "google_search_call", "arguments": {"queries": ["\u{e4}"]}}),
            ),
            stop(2),
            start(
                3,
                json!({"type": "function_call", "id": "a", "name": "f", "arguments": {}, "signature": "s2"}),
            ),
            delta(
                3,
                json!({"type": "arguments_delta", "arguments": "{\"y\": "}),
            ),
            delta(
                3,
                json!({"type": "arguments_delta", "arguments": "\"\u{e4}\"}"}),
            ),
            stop(3),
            start(
                4,
                json!({"type": "function_call", "id": "b", "name": "g", "arguments": {"x": 1}}),
            ),
            stop(4),
            completed("requires_action"),
        ],
    );
    format!(": hello\n\n{}", stream.replace("\n\n", "\r\n\r\n"))
}

fn ollama_lines() -> String {
    decoding::body(
        Dialect::Ollama,
        &[
            ollama::thinking("Hm, \u{1f980}"),
            ollama::text("Grüße, \"you\""),
            ollama::calls(json!([{"id": "a", "function": {"name": "f", "arguments": {"x": "ä"}}}])),
            ollama::calls(json!([{"function": {"name": "g", "arguments": {}}}])),
            ollama::done("stop"),
        ],
    )
    .replace('\n', "\r\n")
}

fn chat_completions() -> String {
    let stream = chat::body(&[
        chat::delta(json!({"role": "assistant", "content": "", "reasoning": "Hm, \u{1f980}"})),
        chat::text("Grüße, \"you\""),
        chat::delta(json!({"audio": {"id": "s", "transcript": "Ä"}})),
        chat::delta(json!({"audio": {"data": "AQI="}})),
        chat::delta(json!({"audio": {"data": "Aw=="}})),
        chat::calls(json!([{"index": 0, "id": "a", "function": {"name": "f"}}])),
        chat::calls(
            json!([{"index": 1, "id": "b", "function": {"name": "", "arguments": "{\"x\""}}]),
        ),
        chat::calls(json!([{"index": 0, "function": {"arguments": "{\"y\": \"ä\"}"}}])),
        chat::calls(json!([{"index": 1, "function": {"name": "g", "arguments": ":1}"}}])),
        chat::delta(json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "z"}]})),
        chat::finish("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
        json!("[DONE]"),
    ]);
    format!(": hello\n\n{}", stream.replace("\n\n", "\r\n\r\n"))
}

fn openai_responses() -> String {
    let custom = |input: &str| json!({"type": "custom_tool_call", "id": "ctc_4", "call_id": "call_4", "name": "sql", "input": input});
    let stream = responses::body(&[
        responses::created(),
        responses::added(0, responses::reasoning(0, &[])),
        responses::summary_delta(0, 0, "Hm, \u{1f980}"),
        responses::summary_delta(0, 1, "Aha"),
        responses::done(0, responses::reasoning(0, &["Hm, \u{1f980}", "Aha"])),
        responses::added(1, responses::message(1, "")),
        responses::text_delta(1, "Grüße, "),
        responses::text_delta(1, "\"you\""),
        responses::done(1, responses::message(1, "Grüße, \"you\"")),
        responses::added(2, responses::call(2, "")),
        responses::added(3, responses::call(3, "")),
        responses::arguments_delta(2, "{\"x\""),
        responses::arguments_delta(3, "{\"y\": \"ä\"}"),
        responses::arguments_delta(2, ":1}"),
        responses::done(2, responses::call(2, "{\"x\":1}")),
        responses::added(4, custom("")),
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 4, "delta": "SELECT \""}),
        responses::done(4, custom("SELECT \"")),
        responses::done(5, json!({"type": "web_search_call", "id": "ws_5"})),
        json!({"type": "response.refusal.delta", "output_index": 6, "content_index": 0, "delta": "No"}),
        responses::completed(json!([
            responses::call(3, "{\"y\": \"ä\"}"),
            responses::call(7, "{}")
        ])),
        json!("[DONE]"),
    ]);
    format!(": hello\n\n{}", stream.replace('\n', "\r\n"))
}

fn whole(dialect: Dialect, body: &str) -> Recorder {
    let (recorder, result) = Stream::new(dialect).run(body.as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()), "{dialect:?}");
    assert!(recorder.events.len() > 8, "{dialect:?}");
    recorder
}

#[test]
fn i03_every_size_of_chunk_gives_the_same_events() {
    for (dialect, body) in samples() {
        let whole = (whole(dialect, &body), Ok(()));
        for size in 1..80 {
            let cut = Stream::new(dialect).run(body.as_bytes(), size);
            assert_eq!(cut, whole, "{dialect:?} {size}");
        }
    }
}

#[test]
fn i04_a_snapshot_after_every_frame_changes_nothing() {
    for (dialect, body) in samples() {
        let whole = (whole(dialect, &body), Ok(()));
        for size in [1, 7, 1_024] {
            let mut stream = Stream::new(dialect);
            stream.snapshots = true;
            assert_eq!(
                stream.run(body.as_bytes(), size),
                whole,
                "{dialect:?} {size}"
            );
        }
    }
}

/// What a decoder holds, in bytes, after an answer in so many pieces that has not ended.
fn held(dialect: Dialect, pieces: usize) -> usize {
    let many = |piece: &str| vec![piece.to_owned(); pieces];
    let mut answer = Answer::new()
        .reasoning(many("thought"))
        .text(many("text"))
        .call(Call::new("a", "f", many("arguments")));
    if dialect == Dialect::OpenAiResponses {
        let item = json!({"type": "custom_tool_call", "id": "c", "call_id": "c", "name": "sql"});
        answer = answer.frame(responses::added(8, item).to_string());
        for _ in 0..pieces {
            let refusal = json!({"type": "response.refusal.delta", "output_index": 1, "content_index": 0, "delta": "no"});
            let input = json!({"type": "response.custom_tool_call_input.delta", "output_index": 8, "delta": "input"});
            answer = answer
                .frame(responses::arguments_delta(9, "of no call").to_string())
                .frame(input.to_string())
                .frame(refusal.to_string());
        }
    }
    let body = answer.cut().body(mock(dialect), &Setting::new());
    let mut stream = Stream::new(dialect);
    stream.receive(&body).expect("good frames");
    serde_json::to_string(&stream.decoder)
        .expect("plain data")
        .len()
}

#[test]
fn what_is_said_does_not_make_the_decoder_grow() {
    // A call that comes whole may be held whole: there the arguments are no pieces of the stream.
    let comes_whole = |dialect| matches!(dialect, Dialect::Gemini | Dialect::Ollama);
    for dialect in Dialect::ALL
        .into_iter()
        .filter(|dialect| !comes_whole(*dialect))
    {
        let (few, many) = (held(dialect, 2), held(dialect, 2_000));
        // Counts have more digits, and that is all.
        assert!(many < few + 64, "{dialect:?}: {few} {many}");
    }
    for dialect in [Dialect::Gemini, Dialect::Ollama] {
        let answer = Answer::new().text(vec!["text"; 2_000]).cut();
        let mut stream = Stream::new(dialect);
        stream
            .receive(&answer.body(mock(dialect), &Setting::new()))
            .expect("good frames");
        let held = serde_json::to_string(&stream.decoder)
            .expect("plain data")
            .len();
        assert!(held < 1_000, "{dialect:?}: {held}");
    }
}

proptest! {
    #[test]
    fn i03_any_cuts_give_the_same_events(mut cuts in prop::collection::vec(any::<Index>(), 0..20)) {
        for (dialect, body) in samples() {
            cuts.sort_by_key(|cut| cut.index(body.len()));
            let mut stream = Stream::new(dialect);
            let mut from = 0;
            for cut in &cuts {
                let to = cut.index(body.len());
                prop_assert_eq!(stream.receive(&body.as_bytes()[from..to]), Ok(()));
                from = to;
            }
            prop_assert_eq!(stream.receive(&body.as_bytes()[from..]), Ok(()));
            prop_assert_eq!(stream.end(), Ok(()));
            prop_assert_eq!(stream.recorder, whole(dialect, &body));
        }
    }

    #[test]
    fn i01_no_bytes_make_it_panic(body in any::<Vec<u8>>(), size in 1..64_usize) {
        for dialect in Dialect::ALL {
            let _ = Stream::new(dialect).run(&body, size);
            let framed = [b"data: ".as_slice(), &body, b"\n\n"].concat();
            let _ = Stream::new(dialect).run(&framed, size);
        }
    }

    #[test]
    fn i01_a_damaged_stream_gives_events_or_an_error(
        edits in prop::collection::vec((any::<Index>(), any::<u8>()), 1..6),
    ) {
        for (dialect, body) in samples() {
            let mut body = body.into_bytes();
            for (index, byte) in &edits {
                let at = index.index(body.len());
                body[at] = *byte;
            }
            let mut stream = Stream::new(dialect);
            stream.snapshots = true;
            let _ = stream.run(&body, 64);
        }
    }

    /// The order check behind the decoder takes all that it says, whatever order the frames come in.
    #[test]
    fn frames_in_any_order_break_no_rule(order in prop::collection::vec(any::<Index>(), 1..40)) {
        let dialect = Dialect::OpenAiResponses;
        let sample = openai_responses();
        let frames: Vec<_> = sample.split_inclusive("\r\n\r\n").collect();
        let body: String = order.iter().map(|index| *index.get(&frames)).collect();
        let mut pipeline = Pipeline::new(dialect, chat::ids(dialect), Default::default());
        let mut transcript = Transcript::default();
        prop_assert_eq!(pipeline.receive(body.as_bytes(), &mut transcript, &mut ()), Ok(()));
    }
}
