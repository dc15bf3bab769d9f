//! What becomes of the steps of a stream.

use super::support::{
    arguments, call, completed, created, delta, outline, start, stop, summary, text,
};
use crate::stream::Stream;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;

const DIALECT: Dialect = Dialect::GeminiInteractions;

/// The events between the start and the end of the run.
fn inner(frames: &[Value], status: &str) -> Vec<String> {
    let mut all = vec![created()];
    all.extend(frames.iter().cloned());
    all.push(completed(status));
    let mut events = outline(&all);
    assert_eq!(events.remove(0), "start");
    assert_eq!(events.pop(), Some(format!("finish {status}")));
    events
}

#[test]
fn thoughts_text_and_calls_come_in_order() {
    let events = inner(
        &[
            start(0, json!({"type": "thought"})),
            summary(0, "Hm, "),
            summary(0, "so."),
            delta(0, json!({"type": "thought_signature", "signature": "dGg="})),
            stop(0),
            start(1, json!({"type": "model_output"})),
            text(1, "Let me "),
            text(1, "see."),
            stop(1),
            start(
                2,
                json!({"type": "function_call", "id": "a", "name": "f", "arguments": {}, "signature": "Y2E="}),
            ),
            arguments(2, "{\"x\":"),
            arguments(2, "1}"),
            stop(2),
        ],
        "requires_action",
    );
    assert_eq!(
        events,
        [
            "span r-reasoning-0",
            "reasoning start r-reasoning-0",
            "reasoning r-reasoning-0: Hm, ",
            "reasoning r-reasoning-0: so.",
            "sealed r-reasoning-0: {\"signature\":\"dGg=\"}",
            "reasoning end r-reasoning-0",
            "span end r-reasoning-0",
            "text start r-message-0",
            "text r-message-0: Let me ",
            "text r-message-0: see.",
            "text end r-message-0",
            "call a f of r-message-0",
            "sealed a: {\"signature\":\"Y2E=\"}",
            "args a: {\"x\":",
            "args a: 1}",
            "call end a",
        ]
    );
}

#[test]
fn arguments_are_emitted_once_wherever_they_come() {
    let whole = start(
        0,
        json!({"type": "function_call", "id": "a", "name": "f", "arguments": {"x": 1}}),
    );
    let args = |frames: &[Value]| -> String {
        let events = inner(frames, "requires_action");
        let pieces = events
            .iter()
            .filter_map(|event| event.strip_prefix("args a: "));
        pieces.collect()
    };
    assert_eq!(args(&[whole.clone(), stop(0)]), "{\"x\":1}");
    assert_eq!(args(std::slice::from_ref(&whole)), "{\"x\":1}");
    assert_eq!(
        args(&[whole, arguments(0, "{\"x\":2}"), stop(0)]),
        "{\"x\":2}"
    );
    assert_eq!(args(&[call(0, "a"), stop(0)]), "");
    // With the index of the thought before.
    let thought = start(0, json!({"type": "thought"}));
    let frames = [thought, stop(0), call(1, "a"), arguments(0, "{}"), stop(1)];
    assert_eq!(args(&frames), "{}");
}

#[test]
fn steps_of_gemini_itself_are_shown_and_kept() {
    let begun = json!({"type": "google_search_call", "id": "s", "arguments": {}});
    let whole = json!({"type": "google_search_call", "id": "s", "arguments": {"queries": ["q"]},
        "signature": "c2k="});
    let more =
        json!({"type": "google_search_call", "arguments": {"queries": ["q"]}, "signature": "c2k="});
    let events = inner(
        &[start(0, begun.clone()), delta(0, more), stop(0)],
        "completed",
    );
    let sealed = |id: &str| format!("sealed {id}: {whole}");
    assert_eq!(events[0], format!("custom provider_item: {begun}"));
    assert_eq!(events[1], format!("custom provider_item: {whole}"));
    assert_eq!(events[2], "text start r-message-0");
    assert_eq!(events[3], sealed("r-message-0"));
    let unknown = json!({"type": "of_next_year", "what": [1, {"a": "b"}]});
    let events = inner(&[start(0, unknown.clone()), stop(0)], "completed");
    assert_eq!(events[1], format!("custom provider_item: {unknown}"));
    assert_eq!(events[3], format!("sealed r-message-0: {unknown}"));
}

#[test]
fn made_media_is_shown_and_kept_and_citations_are_shown() {
    let picture = json!({"type": "image", "data": "aa==", "mime_type": "image/png"});
    let cited = json!({"type": "url_citation", "url": "https://a.b"});
    let events = inner(
        &[
            start(0, json!({"type": "model_output"})),
            text(0, "Here"),
            delta(
                0,
                json!({"type": "text_annotation_delta", "annotations": [cited]}),
            ),
            delta(0, picture.clone()),
            stop(0),
        ],
        "completed",
    );
    assert_eq!(events[2], format!("custom citation: {cited}"));
    assert!(events.iter().any(|event| event.starts_with("activity ")));
    let kept = json!({"type": "model_output", "content": [picture]});
    assert!(
        events.contains(&format!("sealed r-message-1: {kept}")),
        "{events:?}"
    );
}

fn run(body: &str) -> (Vec<String>, Vec<String>) {
    let (recorder, result) = Stream::new(DIALECT).run(body.as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()), "{body}");
    let events = recorder.events.iter().map(crate::decoding::short);
    (events.collect(), recorder.warnings)
}

fn body(frames: &[Value]) -> String {
    crate::decoding::body(DIALECT, frames)
}

#[test]
fn failures_of_an_interaction_end_the_run() {
    let mut failed = completed("failed");
    failed["interaction"]["errors"] = json!([{"code": "internal", "message": "no more"}]);
    let error =
        json!({"event_type": "error", "error": {"code": "too_many_requests", "message": "Slow"}});
    for (last, expected) in [
        (failed, "error internal: no more failed"),
        (
            completed("cancelled"),
            "error -: the interaction was cancelled cancelled",
        ),
        (error, "error too_many_requests: Slow"),
    ] {
        let frames = [
            created(),
            start(0, json!({"type": "model_output"})),
            text(0, "a"),
            last,
            text(0, "b"),
        ];
        let (events, warnings) = run(&body(&frames));
        assert_eq!(events.last().map(String::as_str), Some(expected));
        assert_eq!(warnings, [""; 0]);
    }
    let (events, _) = run(&body(&[created(), completed("requires_action")]));
    assert!(events[1].starts_with("error no_call"), "{events:?}");
}

#[test]
fn the_end_of_a_body_ends_an_answer_only_with_a_status() {
    let said = [
        created(),
        start(0, json!({"type": "model_output"})),
        text(0, "a"),
        stop(0),
    ];
    let status = |status: &str| json!({"event_type": "interaction.status_update", "interaction_id": "v1_1", "status": status});
    let ended = |status_update: Option<Value>| {
        let mut frames = said.to_vec();
        frames.extend(status_update);
        let (events, _) = run(&(body(&frames) + "event: done\ndata: [DONE]\n\n"));
        events.last().cloned().unwrap_or_default()
    };
    assert_eq!(ended(Some(status("completed"))), "finish completed");
    assert!(ended(Some(status("failed"))).starts_with("error"));
    for cut in [None, Some(status("in_progress")), Some(status("queued"))] {
        assert_eq!(ended(cut), "text r-message-0: a");
    }
}

#[test]
fn what_is_newer_than_the_decoder_is_passed_over() {
    let frames = [
        created(),
        json!({"event_type": "interaction.paused", "why": 1}),
        json!({"event_type": "step.hint", "index": 0}),
        start(0, json!({"type": "model_output"})),
        text(0, "a"),
        delta(0, json!({"type": "hologram", "data": "x"})),
        delta(0, json!({"type": 7})),
        json!({"event_type": "step.delta", "index": 0, "delta": "text"}),
        stop(0),
        completed("completed"),
    ];
    let events = outline(&frames);
    assert_eq!(
        events
            .iter()
            .filter(|event| event.starts_with("text r"))
            .count(),
        1
    );
}
