use crate::responses::{
    added, arguments_delta, call, completed, created, done, events, outline, said,
};
use serde_json::{Value, json};
use stepwell_core::event::Event;

fn arguments_done(index: u64, arguments: &str) -> Value {
    json!({"type": "response.function_call_arguments.done", "output_index": index, "arguments": arguments})
}

fn custom(input: &str) -> Value {
    json!({"type": "custom_tool_call", "id": "ctc_0", "call_id": "call_0", "name": "sql", "input": input})
}

fn input_delta(delta: &str) -> Value {
    json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "item_id": "ctc_0", "delta": delta})
}

/// The arguments of each call, joined.
fn arguments(frames: &[Value]) -> Vec<(String, String)> {
    let mut calls: Vec<(String, String)> = Vec::new();
    for event in events(frames) {
        match event {
            Event::ToolCallStart(event) => {
                calls.push((event.tool_call_id.to_string(), String::new()));
            }
            Event::ToolCallArgs(event) => {
                let call = calls
                    .iter_mut()
                    .find(|call| event.tool_call_id == call.0.as_str());
                call.expect("a call that has begun")
                    .1
                    .push_str(&event.delta);
            }
            _ => {}
        }
    }
    calls
}

#[test]
fn calls_are_named_by_their_call_id_and_told_apart_by_index() {
    assert_eq!(
        said(&[
            added(0, call(0, "")),
            added(1, call(1, "")),
            arguments_delta(0, "{\"a\""),
            arguments_delta(1, "{}"),
            arguments_delta(0, ":1}"),
            arguments_done(1, "{}"),
            done(1, call(1, "{}")),
            arguments_done(0, "{\"a\":1}"),
            done(0, call(0, "{\"a\":1}")),
        ]),
        [
            "call call_0 add",
            "call call_1 add",
            "args call_0: {\"a\"",
            "args call_1: {}",
            "args call_0: :1}",
            "call end call_1",
            "call end call_0"
        ]
    );
}

#[test]
fn item_ids_may_change_between_events() {
    let renamed = |mut event: Value, id: &str| {
        if event.get("item").is_some() {
            event["item"]["id"] = id.into();
        } else {
            event["item_id"] = id.into();
        }
        event
    };
    assert_eq!(
        said(&[
            renamed(added(0, call(0, "")), "a"),
            renamed(arguments_delta(0, "{}"), "b"),
            renamed(arguments_done(0, "{}"), "c"),
            renamed(done(0, call(0, "{}")), "d"),
        ]),
        ["call call_0 add", "args call_0: {}", "call end call_0"]
    );
}

#[test]
fn arguments_without_deltas_are_taken_once_from_what_ends_them() {
    let once = ["call call_0 add", "args call_0: {}", "call end call_0"];
    assert_eq!(
        said(&[
            added(0, call(0, "")),
            arguments_done(0, "{}"),
            done(0, call(0, "{}"))
        ]),
        once
    );
    assert_eq!(said(&[added(0, call(0, "")), done(0, call(0, "{}"))]), once);
    assert_eq!(said(&[done(0, call(0, "{}"))]), once);
    assert_eq!(
        said(&[added(0, call(0, "")), arguments_done(0, "{}")]),
        once
    );
    // Arguments of a call that nobody announced wait for its name.
    assert_eq!(
        said(&[arguments_delta(0, "{}"), done(0, call(0, "{}"))]),
        once
    );
    let at_the_end = [created(), completed(json!([call(0, "{}")]))];
    assert_eq!(outline(&at_the_end)[1..4], once);
    let announced = [
        created(),
        added(0, call(0, "")),
        completed(json!([call(0, "{}")])),
    ];
    assert_eq!(outline(&announced)[1..4], once);
}

#[test]
fn the_last_event_repeats_nothing() {
    let frames = |output: Value| {
        [
            created(),
            added(1, call(1, "")),
            arguments_delta(1, "{}"),
            done(1, call(1, "{}")),
            // Cut short, but for what the last event has of it.
            added(2, call(2, "")),
            completed(output),
        ]
    };
    let mut renamed = call(1, "{}");
    renamed["id"] = "other".into();
    for output in [
        json!([call(1, "{}"), call(2, "{\"b\":2}"), call(3, "{\"c\":3}")]),
        json!([call(3, "{\"c\":3}"), renamed, call(2, "{\"b\":2}")]),
    ] {
        let mut calls = arguments(&frames(output));
        calls.sort();
        assert_eq!(
            calls,
            [
                ("call_1".to_owned(), "{}".to_owned()),
                ("call_2".to_owned(), "{\"b\":2}".to_owned()),
                ("call_3".to_owned(), "{\"c\":3}".to_owned()),
            ]
        );
    }
}

#[test]
fn gateways_that_give_no_index_or_one_for_all() {
    let without = |mut event: Value| {
        event
            .as_object_mut()
            .expect("an event")
            .remove("output_index");
        event
    };
    let zero = |mut event: Value| {
        event["output_index"] = 0.into();
        event
    };
    let frames = |change: &dyn Fn(Value) -> Value| -> Vec<Value> {
        let events = [
            added(1, call(1, "")),
            arguments_delta(1, "{\"a\":1}"),
            done(1, call(1, "{\"a\":1}")),
            added(2, call(2, "")),
            arguments_delta(2, "{\"b\":2}"),
            done(2, call(2, "{\"b\":2}")),
        ];
        [created()]
            .into_iter()
            .chain(events.into_iter().map(change))
            .chain([completed(json!([
                call(1, "{\"a\":1}"),
                call(2, "{\"b\":2}")
            ]))])
            .collect()
    };
    let expected = [
        ("call_1".to_owned(), "{\"a\":1}".to_owned()),
        ("call_2".to_owned(), "{\"b\":2}".to_owned()),
    ];
    assert_eq!(arguments(&frames(&without)), expected);
    assert_eq!(arguments(&frames(&zero)), expected);
}

#[test]
fn calls_with_one_call_id_are_still_two() {
    let mut twin = call(1, "{}");
    twin["call_id"] = "call_0".into();
    let frames = [
        created(),
        added(0, call(0, "")),
        added(1, twin.clone()),
        done(0, call(0, "{\"a\":1}")),
        done(1, twin),
        completed(json!([])),
    ];
    assert_eq!(
        arguments(&frames),
        [
            ("call_0".to_owned(), "{\"a\":1}".to_owned()),
            ("r-call-1".to_owned(), "{}".to_owned()),
        ]
    );
}

#[test]
fn a_call_without_an_id_gets_one_and_one_without_a_name_is_none() {
    let mut nameless = call(0, "{}");
    nameless["name"] = "".into();
    assert_eq!(
        said(&[added(0, nameless.clone()), done(0, nameless)]),
        [] as [&str; 0]
    );
    let mut without_id = call(0, "{}");
    without_id["call_id"] = Value::Null;
    assert_eq!(said(&[done(0, without_id)])[0], "call r-call-0 add");
    let mut as_json = call(0, "");
    as_json["arguments"] = json!({"a": 1});
    assert_eq!(said(&[done(0, as_json)])[1], "args call_0: {\"a\":1}");
}

#[test]
fn a_custom_tools_text_is_the_input_of_json_arguments() {
    let text = "SELECT \"a\"\n\\ ä\u{1f980}";
    let expected = [("call_0".to_owned(), json!({ "input": text }).to_string())];
    let streamed: Vec<_> = text
        .char_indices()
        .map(|(_, char)| input_delta(&char.to_string()))
        .collect();
    let mut frames = vec![created(), added(0, custom(""))];
    frames.extend(streamed);
    frames.push(
        json!({"type": "response.custom_tool_call_input.done", "output_index": 0, "input": text}),
    );
    frames.push(done(0, custom(text)));
    frames.push(completed(json!([custom(text)])));
    assert_eq!(arguments(&frames), expected);
    assert_eq!(
        arguments(&[created(), done(0, custom(text)), completed(json!([]))]),
        expected
    );
    // Its end is not told: the run's end closes it.
    assert_eq!(
        arguments(&[
            created(),
            added(0, custom("")),
            input_delta(text),
            completed(json!([]))
        ]),
        expected
    );
    let sealed = events(&frames).into_iter().find_map(|event| match event {
        Event::ReasoningEncryptedValue(event) => Some((event.entity_id, event.encrypted_value)),
        _ => None,
    });
    let sealed = sealed.expect("a sealed value");
    assert_eq!(sealed.0, "call_0");
    let value: Value = serde_json::from_str(&sealed.1).expect("JSON");
    assert_eq!(value["value"], json!({"type": "custom_tool_call"}));
}
