//! What becomes of each kind of block.

use super::support::{
    block, block_stop, call, delta, events, input, outline, short, start, stop, text, thinking,
    whole,
};
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect};
use stepwell_core::event::Event;

#[test]
fn text_blocks_are_one_message() {
    let wire = [text(0, &["Hel", "lo "]), text(1, &["", "you"])].concat();
    assert_eq!(
        outline(&wire),
        [
            "text start r-message-0",
            "text r-message-0: Hel",
            "text r-message-0: lo ",
            "text r-message-0: you",
            "text end r-message-0",
        ]
    );
}

#[test]
fn a_block_may_begin_with_what_deltas_bring_later() {
    let wire = [
        whole(
            0,
            json!({"type": "thinking", "thinking": "Hm", "signature": "c2ln"}),
            vec![],
        ),
        whole(1, json!({"type": "text", "text": "Hi"}), vec![]),
    ]
    .concat();
    assert_eq!(
        outline(&wire),
        [
            "span",
            "reasoning start r-reasoning-0",
            "reasoning r-reasoning-0: Hm",
            r#"sealed r-reasoning-0: {"signature":"c2ln"}"#,
            "reasoning end r-reasoning-0",
            "span end",
            "text start r-message-0",
            "text r-message-0: Hi",
            "text end r-message-0",
        ]
    );
}

#[test]
fn each_thinking_block_is_reasoning_of_its_own_with_its_signature() {
    let wire = [
        thinking(0, &["One"], "s1"),
        thinking(1, &[], "s2"),
        whole(2, json!({"type": "redacted_thinking", "data": "d"}), vec![]),
        thinking(3, &["Two"], "s3"),
    ]
    .concat();
    assert_eq!(
        outline(&wire),
        [
            "span",
            "reasoning start r-reasoning-0",
            "reasoning r-reasoning-0: One",
            r#"sealed r-reasoning-0: {"signature":"s1"}"#,
            "reasoning end r-reasoning-0",
            "span end",
            "span",
            "reasoning start r-reasoning-1",
            r#"sealed r-reasoning-1: {"signature":"s2"}"#,
            "reasoning end r-reasoning-1",
            "span end",
            "span",
            "reasoning start r-reasoning-2",
            r#"sealed r-reasoning-2: {"redacted":"d"}"#,
            "reasoning end r-reasoning-2",
            "span end",
            "span",
            "reasoning start r-reasoning-3",
            "reasoning r-reasoning-3: Two",
            r#"sealed r-reasoning-3: {"signature":"s3"}"#,
            "reasoning end r-reasoning-3",
            "span end",
        ]
    );
}

#[test]
fn calls_belong_to_the_text_before_them() {
    let wire = [
        text(0, &["Let me look."]),
        call(1, "a", "f", &["", "{\"x\"", ":1}"]),
        call(2, "b", "g", &[""]),
        text(3, &["Well"]),
    ]
    .concat();
    assert_eq!(
        outline(&wire),
        [
            "text start r-message-0",
            "text r-message-0: Let me look.",
            "text end r-message-0",
            "call a f of r-message-0",
            "args a: {\"x\"",
            "args a: :1}",
            "call end a",
            "call b g of r-message-0",
            "call end b",
            "text start r-message-1",
            "text r-message-1: Well",
            "text end r-message-1",
        ]
    );
}

#[test]
fn calls_may_come_mixed_under_any_index() {
    let open = |index, id: &str| {
        block(
            index,
            json!({"type": "tool_use", "id": id, "name": "f", "input": {}}),
        )
    };
    let piece = |index, text: &str| delta(index, input(&[text])[0].clone());
    let wire = [
        open(900, "a"),
        open(7, "b"),
        piece(7, "{\"b\":"),
        piece(900, "{\"a\":"),
        piece(7, "1}"),
        piece(900, "2}"),
        block_stop(900),
        block_stop(7),
        block_stop(7),
    ];
    assert_eq!(
        outline(&wire),
        [
            "call a f of r-message-0",
            "call b f of r-message-0",
            "args b: {\"b\":",
            "args a: {\"a\":",
            "args b: 1}",
            "args a: 2}",
            "call end a",
            "call end b",
        ]
    );
}

#[test]
fn input_for_no_open_block_is_a_warning() {
    let piece = |index| delta(index, input(&["late"])[0].clone());
    let wire = [
        vec![start()],
        call(0, "a", "f", &["{}"]),
        vec![piece(0), piece(1), stop("tool_use")],
    ];
    let body = super::support::body(&wire.concat());
    let (recorder, result) =
        super::support::Stream::new(Dialect::Anthropic).run(body.as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    assert_eq!(recorder.warnings.len(), 2, "{:?}", recorder.warnings);
    assert_eq!(recorder.events.len(), 5, "{:?}", recorder.events);
}

#[test]
fn input_that_comes_whole_counts_if_no_delta_comes() {
    let tool =
        |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {"x": [1.0, "é"]}});
    let wire = [
        whole(0, tool("a"), vec![]),
        whole(1, tool("b"), input(&[""])),
        whole(2, tool("c"), input(&["{}"])),
        vec![block(3, tool("d"))],
    ]
    .concat();
    assert_eq!(
        outline(&wire),
        [
            "call a f of r-message-0",
            "args a: {\"x\":[1.0,\"é\"]}",
            "call end a",
            "call b f of r-message-0",
            "args b: {\"x\":[1.0,\"é\"]}",
            "call end b",
            "call c f of r-message-0",
            "args c: {}",
            "call end c",
            "call d f of r-message-0",
            "args d: {\"x\":[1.0,\"é\"]}",
            "call end d",
        ]
    );
}

#[test]
fn who_called_is_kept_where_it_was_not_the_model() {
    let tool = |id: &str, caller: Value| json!({"type": "tool_use", "id": id, "name": "f", "input": {}, "caller": caller});
    let wire = [
        whole(0, tool("a", json!({"type": "direct"})), vec![]),
        whole(
            1,
            tool("b", json!({"type": "code_execution_1", "tool_id": "s"})),
            vec![],
        ),
    ]
    .concat();
    assert_eq!(
        outline(&wire),
        [
            "call a f of r-message-0",
            "call end a",
            "call b f of r-message-0",
            r#"sealed b: {"caller":{"type":"code_execution_1","tool_id":"s"}}"#,
            "call end b",
        ]
    );
}

fn search(index: u64) -> Vec<Value> {
    let id = format!("s{index}");
    [
        whole(
            index,
            json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}),
            input(&["", "{\"query\"", ": \"x\"}"]),
        ),
        whole(
            index + 1,
            json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []}),
            vec![],
        ),
    ]
    .concat()
}

#[test]
fn the_providers_own_tools_are_no_calls_and_are_kept_with_their_message() {
    let wire = [
        text(0, &["First"]),
        search(1),
        text(3, &["then"]),
        search(4),
    ]
    .concat();
    assert_eq!(
        outline(&wire),
        [
            "text start r-message-0",
            "text r-message-0: First",
            "text end r-message-0",
            r#"custom server_tool_use: {"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}}"#,
            r#"custom server_tool_result: {"type":"web_search_tool_result","tool_use_id":"s1","content":[]}"#,
            r#"sealed r-message-0: [{"text":{"length":5}},{"block":{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}}},{"block":{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}}]"#,
            "text start r-message-1",
            "text r-message-1: then",
            "text end r-message-1",
            r#"custom server_tool_use: {"type":"server_tool_use","id":"s4","name":"web_search","input":{"query":"x"}}"#,
            r#"custom server_tool_result: {"type":"web_search_tool_result","tool_use_id":"s4","content":[]}"#,
            r#"sealed r-message-1: [{"text":{"length":4}},{"block":{"type":"server_tool_use","id":"s4","name":"web_search","input":{"query":"x"}}},{"block":{"type":"web_search_tool_result","tool_use_id":"s4","content":[]}}]"#,
        ]
    );
}

#[test]
fn the_providers_own_tools_may_come_before_all_text_or_without_any() {
    let outlined = outline(&[thinking(0, &[], "s"), search(1), text(3, &["Found"])].concat());
    assert_eq!(
        outlined[7..],
        [
            "text start r-message-0".to_owned(),
            "text r-message-0: Found".to_owned(),
            r#"sealed r-message-0: [{"block":{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}}},{"block":{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}},{"text":{"length":5}}]"#.to_owned(),
            "text end r-message-0".to_owned(),
        ]
    );
    let outlined = outline(&search(0));
    assert_eq!(outlined[2], "text start r-message-0");
    assert!(outlined[3].starts_with("sealed r-message-0: [{\"block\""));
    assert_eq!(outlined.len(), 5);
}

#[test]
fn the_providers_own_tools_behind_a_call_are_in_a_message_of_their_own() {
    let wire = [text(0, &["A"]), call(1, "c", "f", &[]), search(2)].concat();
    let outlined = outline(&wire);
    assert_eq!(outlined[3], "call c f of r-message-0");
    assert!(outlined[7].starts_with("text start r-message-1"));
    assert!(outlined[8].starts_with("sealed r-message-1: [{\"block\""));
}

#[test]
fn input_of_the_providers_own_tools_that_was_cut_off_is_kept_as_it_is() {
    let tool = json!({"type": "mcp_tool_use", "id": "m", "name": "ask", "server_name": "wiki", "input": {}});
    let outlined = outline(&whole(0, tool, input(&["{\"question\": \"wh"])));
    assert_eq!(
        outlined[0],
        r#"custom server_tool_use: {"type":"mcp_tool_use","id":"m","name":"ask","server_name":"wiki","input":{"raw":"{\"question\": \"wh"}}"#
    );
}

#[test]
fn citations_are_told_and_kept_with_their_text() {
    let cite = |n: u64| json!({"type": "citations_delta", "citation": {"type": "char_location", "document_index": n}});
    let say = |piece: &str| json!({"type": "text_delta", "text": piece});
    let plain = json!({"type": "text", "text": ""});
    let wire = [
        text(0, &["As é "]),
        text(1, &["says "]),
        whole(2, plain.clone(), vec![cite(1), say("this"), cite(2)]),
        whole(
            3,
            json!({"type": "text", "text": ".", "citations": [{"type": "page_location"}]}),
            vec![],
        ),
    ]
    .concat();
    let outlined = outline(&wire);
    assert_eq!(
        outlined[3..],
        [
            r#"custom citation: {"type":"char_location","document_index":1}"#,
            "text r-message-0: this",
            r#"custom citation: {"type":"char_location","document_index":2}"#,
            "text r-message-0: .",
            r#"custom citation: {"type":"page_location"}"#,
            r#"sealed r-message-0: [{"text":{"length":11}},{"text":{"length":4,"citations":[{"type":"char_location","document_index":1},{"type":"char_location","document_index":2}]}},{"text":{"length":1,"citations":[{"type":"page_location"}]}}]"#,
            "text end r-message-0",
        ]
    );
}

#[test]
fn what_the_provider_did_to_the_conversation_is_kept() {
    let wire = [
        whole(
            0,
            json!({"type": "compaction", "content": null}),
            vec![
                json!({"type": "compaction_delta", "content": "c", "encrypted_content": "e"}),
                json!({"type": "signature_delta", "signature": "s"}),
            ],
        ),
        text(1, &["Hi"]),
        whole(2, json!({"type": "fallback", "from": {}, "to": {}}), vec![]),
    ]
    .concat();
    let compaction =
        r#"{"type":"compaction","content":"c","encrypted_content":"e","signature":"s"}"#;
    let fallback = r#"{"type":"fallback","from":{},"to":{}}"#;
    assert_eq!(
        outline(&wire),
        [
            format!("custom compaction: {compaction}"),
            "text start r-message-0".to_owned(),
            "text r-message-0: Hi".to_owned(),
            "text end r-message-0".to_owned(),
            format!("custom fallback: {fallback}"),
            format!(
                r#"sealed r-message-0: [{{"block":{compaction}}},{{"text":{{"length":2}}}},{{"block":{fallback}}}]"#
            ),
        ]
    );
}

#[test]
fn a_compaction_without_its_summary_is_not_kept() {
    let wire = whole(0, json!({"type": "compaction", "content": ""}), vec![]);
    assert_eq!(outline(&wire), [] as [&str; 0]);
}

#[test]
fn what_is_not_known_is_passed_over() {
    let wire = [
        vec![
            json!({"type": "ping"}),
            json!({"type": "new_event", "x": 1}),
            json!([]),
            json!({}),
        ],
        whole(0, json!({"type": "new_block", "x": 1}), vec![]),
        vec![
            block(2, json!("odd")),
            block(3, json!({"type": 3})),
            delta(3, json!({"type": "new_delta"})),
            delta(3, json!(7)),
        ],
        vec![json!({"type": "message_start", "message": 3})],
        vec![delta(4, json!({"type": "text_delta", "text": 5}))],
        text(5, &["Hi"]),
    ]
    .concat();
    assert_eq!(
        outline(&wire),
        [
            "text start r-message-0",
            "text r-message-0: Hi",
            "text end r-message-0",
        ]
    );
}

#[test]
fn usage_is_the_last_that_was_said_of_each_count() {
    let finish = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {
        "input_tokens": 8, "cache_read_input_tokens": null, "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 5}}});
    let wire = [
        vec![start()],
        text(0, &["Hi"]),
        vec![stop("tool_use"), finish, json!({"type": "message_stop"})],
    ]
    .concat();
    let events = events(&super::support::body(&wire));
    let Some(Event::RunFinished(finished)) = events.last() else {
        panic!("{events:?}");
    };
    let usage = &finished.usage.as_deref().expect("usage")[0];
    assert_eq!(usage.model.as_deref(), Some("claude-1"));
    assert_eq!(
        (
            usage.input_tokens,
            usage.output_tokens,
            usage.reasoning_tokens
        ),
        (Some(8), Some(20), Some(5))
    );
    assert_eq!(
        (usage.cached_input_tokens, usage.cache_write_input_tokens),
        (Some(2), Some(3))
    );
    assert_eq!(short(&events[events.len() - 1]), "finish end_turn");
}

#[test]
fn what_the_peer_can_make_grow_has_a_bound() {
    let too_many = |wire: &[Value]| {
        let body = super::support::body(&[vec![start()], wire.to_vec()].concat());
        // Not before: a debug build takes seconds to write so much as JSON.
        let body = body.replace('@', &"x".repeat(8 << 20));
        let (_, result) =
            super::support::Stream::new(Dialect::Anthropic).run(body.as_bytes(), 1 << 20);
        matches!(result, Err(DecodeError::Answer(_)))
    };
    let open = |kind: Value| {
        let blocks = (0..1_100).map(|index| block(index, kind.clone()));
        blocks.collect::<Vec<_>>()
    };
    assert!(too_many(&open(json!({"type": "text", "text": ""}))));
    assert!(too_many(&open(json!({"type": "tool_use", "name": "f"}))));
    let calls: Vec<_> = (0..1_100)
        .flat_map(|index| call(index, "", "f", &[]))
        .collect();
    assert!(too_many(&calls));
    let large = "@";
    let cited = json!({"type": "citations_delta", "citation": {"cited_text": large}});
    assert!(too_many(&vec![delta(0, cited); 5]));
    let result = json!({"type": "x_tool_result", "content": large});
    assert!(too_many(&vec![block(0, result); 5]));
    let tool = block(0, json!({"type": "server_tool_use", "id": "s"}));
    let grown = vec![delta(0, input(&[large])[0].clone()); 5];
    assert!(too_many(&[vec![tool.clone()], grown.clone()].concat()));
    // Also where messages come and go beside it.
    let between = [
        delta(1, json!({"type": "text_delta", "text": "x"})),
        delta(1, json!({"type": "thinking_delta", "thinking": "x"})),
    ];
    let grown: Vec<_> = grown
        .iter()
        .flat_map(|piece| [std::slice::from_ref(piece), &between].concat())
        .collect();
    assert!(too_many(&[vec![tool], grown].concat()));
}
