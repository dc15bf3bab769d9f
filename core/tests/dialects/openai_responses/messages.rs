use crate::responses::{
    added, call, completed, created, done, events, message, outline, said, text_delta,
};
use serde_json::{Value, json};
use stepwell_core::event::Event;

fn with_phase(index: u64, text: &str, phase: &str) -> Value {
    let mut message = message(index, text);
    message["phase"] = phase.into();
    message
}

fn refusal_delta(delta: &str) -> Value {
    json!({"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "item_id": "msg_0", "delta": delta})
}

#[test]
fn text_is_a_message() {
    assert_eq!(
        said(&[
            added(0, message(0, "")),
            json!({"type": "response.content_part.added", "output_index": 0, "content_index": 0, "part": {"type": "output_text", "text": ""}}),
            text_delta(0, "Hel"),
            text_delta(0, "lo"),
            json!({"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hello"}),
            json!({"type": "response.content_part.done", "output_index": 0, "content_index": 0, "part": {"type": "output_text", "text": "Hello"}}),
            done(0, message(0, "Hello")),
        ]),
        [
            "text start r-message-0",
            "text r-message-0: Hel",
            "text r-message-0: lo",
            "text end r-message-0"
        ]
    );
}

#[test]
fn each_item_is_a_message_of_its_own_with_its_phase() {
    let frames = [
        created(),
        added(0, with_phase(0, "", "commentary")),
        text_delta(0, "I look."),
        done(0, with_phase(0, "I look.", "commentary")),
        // The phase is only in the last word of it.
        done(1, with_phase(1, "Found.", "final_answer")),
        completed(json!([])),
    ];
    let phases: Vec<_> = events(&frames)
        .iter()
        .filter_map(|event| match event {
            Event::TextMessageStart(event) => Some((
                event.message_id.to_string(),
                event.common.as_ref()?.metadata.as_ref()?["phase"].clone(),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        phases,
        [
            ("r-message-0".to_owned(), json!("commentary")),
            ("r-message-1".to_owned(), json!("final_answer"))
        ]
    );
    assert_eq!(
        outline(&frames)
            .iter()
            .filter(|line| line.starts_with("text r"))
            .collect::<Vec<_>>(),
        ["text r-message-0: I look.", "text r-message-1: Found."]
    );
}

#[test]
fn calls_belong_to_the_message_before_them() {
    let frames = [
        created(),
        added(0, message(0, "")),
        text_delta(0, "Look: "),
        done(0, message(0, "Look: ")),
        added(1, call(1, "")),
        done(1, call(1, "{}")),
        completed(json!([])),
    ];
    let parent = events(&frames).into_iter().find_map(|event| match event {
        Event::ToolCallStart(event) => event.parent_message_id,
        _ => None,
    });
    assert_eq!(parent.as_deref(), Some("r-message-0"));
}

#[test]
fn a_refusal_is_told_in_pieces_and_kept_whole() {
    let whole = json!({"type": "message", "id": "msg_0", "role": "assistant", "content": [{"type": "refusal", "refusal": "I can't."}]});
    let frames = [
        created(),
        added(0, message(0, "")),
        refusal_delta("I "),
        refusal_delta("can't."),
        json!({"type": "response.refusal.done", "output_index": 0, "content_index": 0, "refusal": "I can't."}),
        done(0, whole.clone()),
        completed(json!([whole.clone()])),
    ];
    assert_eq!(
        outline(&frames),
        [
            "start",
            "custom refusal: \"I \"",
            "custom refusal: \"can't.\"",
            "text start r-message-0",
            "text end r-message-0 {\"refusal\":\"I can't.\"}",
            "finish completed"
        ]
    );
    let kept = events(&frames).into_iter().find_map(|event| match event {
        Event::TextMessageEnd(event) => event.common?.metadata,
        _ => None,
    });
    assert_eq!(Value::from(kept), json!({"refusal": "I can't."}));
    // Where no piece came, it is told whole.
    assert_eq!(said(&[done(0, whole)])[0], "custom refusal: \"I can't.\"");
}

#[test]
fn a_text_that_came_in_no_delta_is_taken_from_what_ends_it() {
    let text_done = json!({"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hello"});
    let expected = [
        "text start r-message-0",
        "text r-message-0: Hello",
        "text end r-message-0",
    ];
    assert_eq!(
        said(&[added(0, message(0, "")), text_done.clone()]),
        expected
    );
    assert_eq!(
        said(&[
            added(0, message(0, "")),
            text_done,
            done(0, message(0, "Hello"))
        ]),
        expected,
        "and once"
    );
    assert_eq!(said(&[done(0, message(0, "Hello"))]), expected);
    assert_eq!(
        said(&[done(0, message(0, "Hello")), done(0, message(0, "Hello"))]),
        expected,
        "and once"
    );
    assert_eq!(
        said(&[text_delta(0, "Hello"), done(0, message(0, "Hello"))]),
        expected,
        "though nobody said that it begins"
    );
}

#[test]
fn parts_of_which_one_was_streamed() {
    let whole = json!({"type": "message", "id": "msg_0", "content": [
        {"type": "output_text", "text": "One. "}, {"type": "output_text", "text": "Two."},
    ]});
    assert_eq!(
        said(&[
            added(0, message(0, "")),
            text_delta(0, "One. "),
            done(0, whole)
        ]),
        [
            "text start r-message-0",
            "text r-message-0: One. ",
            "text r-message-0: Two.",
            "text end r-message-0"
        ]
    );
}

#[test]
fn annotations_are_citations_once() {
    let url =
        |url: &str| json!({"type": "url_citation", "url": url, "start_index": 0, "end_index": 5});
    let mut whole = message(0, "Hello");
    whole["content"][0]["annotations"] = json!([url("a"), url("b")]);
    let citations = |frames: &[Value]| -> Vec<String> {
        let mut all = said(frames);
        all.retain(|line| line.starts_with("custom citation"));
        all
    };
    let expected = [
        format!("custom citation: {}", url("a")),
        format!("custom citation: {}", url("b")),
    ];
    let annotation = |name: &str, url: Value| json!({"type": name, "output_index": 0, "content_index": 0, "annotation_index": 0, "annotation": url});
    assert_eq!(
        citations(&[
            added(0, message(0, "")),
            text_delta(0, "Hello"),
            annotation("response.output_text.annotation.added", url("a")),
            annotation("response.output_text_annotation.added", url("b")),
            done(0, whole.clone()),
        ]),
        expected
    );
    assert_eq!(citations(&[done(0, whole.clone())]), expected);
    assert_eq!(
        citations(&[
            text_delta(0, "Hello"),
            annotation("response.output_text.annotation.added", url("a")),
            done(0, whole),
        ]),
        expected,
        "the rest of them"
    );
}

#[test]
fn a_message_that_says_nothing_is_none() {
    assert_eq!(
        said(&[
            added(0, message(0, "")),
            text_delta(0, ""),
            done(0, message(0, ""))
        ]),
        [] as [&str; 0]
    );
}
