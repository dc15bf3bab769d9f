use crate::responses::{added, completed, created, done, events, said};
use serde_json::{Value, json};
use stepwell_core::event::Event;

fn search(status: &str) -> Value {
    json!({"type": "web_search_call", "id": "ws_1", "status": status, "action": {"type": "search", "query": "q"}})
}

/// The ids of the sealed items.
fn sealed(item: Value) -> Vec<Value> {
    events(&[created(), done(0, item), completed(json!([]))])
        .into_iter()
        .filter_map(|event| match event {
            Event::ReasoningEncryptedValue(event) => {
                let value: Value = serde_json::from_str(&event.encrypted_value).expect("JSON");
                Some(value["value"]["id"].clone())
            }
            _ => None,
        })
        .collect()
}

#[test]
fn what_the_provider_runs_is_no_call_of_the_apps() {
    assert_eq!(
        said(&[
            added(0, search("in_progress")),
            json!({"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"}),
            done(0, search("completed")),
        ]),
        [
            format!("custom provider_item: {}", search("in_progress")),
            format!("custom provider_item: {}", search("completed")),
            "text start r-message-0".to_owned(),
            "sealed r-message-0".to_owned(),
            "text end r-message-0".to_owned(),
        ]
    );
}

#[test]
fn only_what_waits_for_no_answer_goes_back() {
    for kind in [
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "compaction",
    ] {
        assert_eq!(
            sealed(json!({"type": kind, "id": "x_1", "result": "aa=="})),
            ["x_1"],
            "{kind}"
        );
    }
    let computer = json!({"type": "computer_call", "id": "cu_1", "call_id": "call_1"});
    assert_eq!(sealed(computer), [] as [Value; 0]);
    let approval = json!({"type": "mcp_approval_request", "id": "mcpr_1"});
    assert_eq!(sealed(approval), [] as [Value; 0]);
}

#[test]
fn what_was_cut_off_does_not_go_back() {
    assert_eq!(sealed(search("searching")), [] as [Value; 0]);
    let picture = |result| json!({"type": "image_generation_call", "id": "ig_1", "status": "generating", "result": result});
    assert_eq!(sealed(picture(Value::Null)), [] as [Value; 0]);
    assert_eq!(sealed(picture(json!("aa=="))), ["ig_1"], "it is there");
}

#[test]
fn what_says_nothing_is_skipped() {
    assert_eq!(
        said(&[
            json!({"type": "keepalive", "sequence_number": 3}),
            json!({"type": "response.in_progress", "response": {"model": "m-2"}}),
            json!({"type": "response.something.new", "output_index": 0, "delta": "x"}),
            json!({"type": "response.something.delta", "output_index": 0, "delta": "x"}),
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": {"text": "x"}}),
            json!({"type": "response.output_text.delta", "output_index": 0}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"id": "no type"}}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": 7}),
            json!({"type": "response.output_text.annotation.added", "output_index": 0, "annotation": {}}),
            json!({"type": 7}),
            json!({}),
            json!([1]),
            json!("7"),
        ]),
        [] as [&str; 0]
    );
}
