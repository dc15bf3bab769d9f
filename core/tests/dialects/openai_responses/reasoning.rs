use crate::responses::{
    added, call, completed, created, done, events, message, reasoning, said, summary_delta,
    text_delta,
};
use serde_json::{Value, json};
use stepwell_core::event::Event;

/// The sealed values: whose, and what.
fn sealed(frames: &[Value]) -> Vec<(String, Value)> {
    events(frames)
        .into_iter()
        .filter_map(|event| match event {
            Event::ReasoningEncryptedValue(event) => {
                let value = serde_json::from_str(&event.encrypted_value).expect("JSON");
                Some((event.entity_id, value))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn the_summarys_parts_are_parted_by_a_blank_line() {
    let whole = reasoning(0, &["One.", "Two."]);
    let expected = [
        "span r-reasoning-0",
        "reasoning start r-reasoning-0",
        "reasoning r-reasoning-0: One.",
        "reasoning r-reasoning-0: \n\n",
        "reasoning r-reasoning-0: Two.",
        "sealed r-reasoning-0",
        "reasoning end r-reasoning-0",
        "span end r-reasoning-0",
    ];
    assert_eq!(
        said(&[
            added(0, reasoning(0, &[])),
            summary_delta(0, 0, "One."),
            summary_delta(0, 1, "Two."),
            json!({"type": "response.reasoning_summary_text.done", "output_index": 0, "summary_index": 1, "text": "Two."}),
            done(0, whole.clone()),
        ]),
        expected
    );
    assert_eq!(said(&[done(0, whole.clone())]), expected, "without deltas");
    let mut all = vec![created(), completed(json!([whole]))];
    let outline = crate::responses::outline(&all);
    assert_eq!(outline[1..outline.len() - 1], expected, "only at the end");
    all.insert(1, added(0, reasoning(0, &[])));
    let outline = crate::responses::outline(&all);
    assert_eq!(
        outline[1..outline.len() - 1],
        expected,
        "not done before the end"
    );
}

#[test]
fn the_item_is_sealed_whole_for_its_provider() {
    let frames = [
        created(),
        added(0, reasoning(0, &[])),
        done(0, reasoning(0, &[])),
        added(1, call(1, "")),
        done(1, call(1, "{}")),
        completed(json!([])),
    ];
    assert_eq!(
        sealed(&frames),
        [(
            "r-reasoning-0".to_owned(),
            json!({"provider": "openai", "dialect": "openai-responses", "value": reasoning(0, &[])})
        )]
    );
}

#[test]
fn an_item_that_is_done_late_is_sealed_in_its_own_message() {
    let frames = [
        created(),
        added(0, reasoning(0, &[])),
        summary_delta(0, 0, "First."),
        added(1, reasoning(1, &[])),
        summary_delta(1, 0, "Second."),
        added(2, message(2, "")),
        text_delta(2, "4"),
        done(2, message(2, "4")),
        done(0, reasoning(0, &["First."])),
        done(1, reasoning(1, &["Second."])),
        completed(json!([])),
    ];
    let ids: Vec<_> = sealed(&frames)
        .into_iter()
        .map(|(entity, value)| (entity, value["value"]["id"].clone()))
        .collect();
    assert_eq!(
        ids,
        [
            ("r-reasoning-0".to_owned(), json!("rs_0")),
            ("r-reasoning-1".to_owned(), json!("rs_1"))
        ]
    );
}

#[test]
fn raw_reasoning_is_reasoning_too() {
    let delta = |delta: &str| json!({"type": "response.reasoning_text.delta", "output_index": 0, "item_id": "rs_0", "content_index": 0, "delta": delta});
    let whole = json!({"type": "reasoning", "id": "rs_0", "summary": [], "content": [{"type": "reasoning_text", "text": "2 + 2"}]});
    let outline = said(&[
        added(0, json!({"type": "reasoning", "id": "rs_0", "summary": []})),
        delta("2 +"),
        delta(" 2"),
        json!({"type": "response.reasoning_text.done", "output_index": 0, "content_index": 0, "text": "2 + 2"}),
        done(0, whole.clone()),
    ]);
    let texts: Vec<_> = outline
        .iter()
        .filter_map(|line| line.strip_prefix("reasoning r-reasoning-0: "))
        .collect();
    assert_eq!(texts, ["2 +", " 2"]);
    let outline = said(&[done(0, whole)]);
    assert_eq!(outline[2], "reasoning r-reasoning-0: 2 + 2");
}
