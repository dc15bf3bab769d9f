//! Plain deltas of every dialect, AG-UI's own test apart.

use crate::stream::Stream;
use crate::{CHUNK, Tally, mock};
use allocation_counter::measure;
use serde_json::{Value, json};
use stepwell_core::dialect::{Decode, Dialect};
use stepwell_mock_llm::{Answer, Call, Setting};

const DELTAS: usize = 4_096;

/// A body that brings so many deltas, of `bytes` bytes each, hardly ever allocates.
fn assert_few(dialect: Dialect, name: &str, body: &[u8], bytes: usize) {
    let Stream {
        mut framer,
        mut decoder,
        ..
    } = Stream::new(dialect);
    let mut tally = Tally::default();
    let allocations = measure(|| {
        for chunk in body.chunks(CHUNK) {
            let result = framer.receive(chunk, |frame| decoder.frame(frame, &mut tally));
            assert_eq!(result, Ok(()));
        }
    });
    assert_eq!(
        (tally.deltas, tally.bytes),
        (DELTAS, bytes * DELTAS),
        "{dialect:?}, {name}"
    );
    let each = allocations.count_total as f64 / DELTAS as f64;
    println!("{dialect:?}, {name}: {each} allocations a delta");
    assert!(
        each < 0.05,
        "{dialect:?}, {name}: {each} allocations a delta"
    );
}

#[test]
fn plain_deltas_allocate_nothing() {
    let many = |piece: &str| vec![piece.to_owned(); DELTAS];
    let call = |n: usize| {
        Call::new(
            format!("call_{n}"),
            "f",
            vec!["{\"key\": \"val"; DELTAS / 4],
        )
    };
    let rows = [
        ("text", Answer::new().text(many(" hello")), 6),
        ("escaped text", Answer::new().text(many("\"\n\t")), 3),
        ("reasoning", Answer::new().reasoning(many("hm")), 2),
        (
            "escaped reasoning",
            Answer::new().reasoning(many("hm\n")),
            3,
        ),
        (
            "arguments side by side",
            Answer::new().calls((0..4).map(call)),
            12,
        ),
    ];
    let dialects = Dialect::ALL
        .into_iter()
        .filter(|dialect| *dialect != Dialect::AgUi);
    for dialect in dialects {
        for (name, answer, bytes) in rows.clone() {
            let comes_whole = matches!(dialect, Dialect::Gemini | Dialect::Ollama);
            if !comes_whole || !name.starts_with("arguments") {
                let body = answer.cut().body(mock(dialect), &Setting::new());
                assert_few(dialect, name, &body, bytes);
            }
        }
    }
}

/// What only one dialect sends, beside the text or around it.
#[test]
fn odd_deltas_allocate_nothing() {
    let rows = [
        (
            Dialect::Gemini,
            "counts in every chunk",
            gemini as fn(usize) -> Value,
            6,
        ),
        (Dialect::OpenAiChat, "reasoning and details", chat, 2),
        (Dialect::Cohere, "tool plan", cohere, 2),
    ];
    for (dialect, name, frame, bytes) in rows {
        let frames = (0..DELTAS).map(|at| format!("data: {}\n\n", frame(at)));
        let body: String = match dialect {
            Dialect::Cohere => {
                let start =
                    json!({"type": "message-start", "delta": {"message": {"role": "assistant"}}});
                [format!("data: {start}\n\n")]
                    .into_iter()
                    .chain(frames)
                    .collect()
            }
            _ => frames.collect(),
        };
        assert_few(dialect, name, body.as_bytes(), bytes);
    }
}

fn gemini(at: usize) -> Value {
    json!({
        "candidates": [{"content": {"parts": [{"text": " hello"}], "role": "model"}, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 9, "candidatesTokenCount": at, "totalTokenCount": 194 + at,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}], "thoughtsTokenCount": 185
        },
        "modelVersion": "gemini-x", "responseId": "bH6LaZW8Fp"
    })
}

fn chat(_at: usize) -> Value {
    let delta = json!({"content": "", "reasoning": "hm", "reasoning_details": []});
    json!({"id": "c1", "model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn cohere(_at: usize) -> Value {
    json!({"type": "tool-plan-delta", "index": 0, "delta": {"message": {"tool_plan": "hm"}}})
}
