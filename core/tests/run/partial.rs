//! The arguments of calls, parsed while they stream.

use crate::arguments::{arguments, cut, extends, lengths, mad};
use crate::invariants::cases;
use crate::turn::BOTH;
use crate::wire::{Call, Say, a_call, call, text};
use crate::world::{Cut, Work, World, offer};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{Output, PartialArgumentsUpdate, RunEvent, RunMachine, StateKind};
use stepwell_core::tool::{OwnedChange, PartialState, Tool, parse_arguments};

/// What a UI makes of the updates.
#[derive(Debug, Default, PartialEq)]
struct View {
    value: Value,
    stopped: Option<String>,
}

fn world(dialect: Dialect, is_on: bool) -> World {
    World::with(dialect, |config| {
        offer(config, Tool::new("work", "Works."));
        config.partial_arguments = is_on;
    })
    .tool("work", |_| Work::gives("done"))
}

fn updates(outputs: &[Output]) -> impl Iterator<Item = &PartialArgumentsUpdate> {
    outputs.iter().filter_map(|output| match output {
        Output::Event(RunEvent::PartialArguments(update)) => Some(update),
        _ => None,
    })
}

/// Takes the turn to its end, and holds every step to the promises.
fn follow(world: &mut World) -> BTreeMap<String, View> {
    let mut views: BTreeMap<String, View> = BTreeMap::new();
    let mut seen = 0;
    world.send("Go on");
    while world.step() {
        for update in updates(&world.seen.outputs[seen..]) {
            let view = views.entry(update.tool_call_id.to_string()).or_default();
            assert_eq!(view.stopped, None, "{update:?} after it had stopped");
            let before = view.value.clone();
            for change in &update.changes {
                change.apply(&mut view.value).expect("in order");
            }
            let replaces = |change: &OwnedChange| matches!(change, OwnedChange::Replace { .. });
            assert!(
                before.is_null()
                    || update.changes.iter().any(replaces)
                    || extends(&before, &view.value),
                "{before} became {}",
                view.value
            );
            view.stopped.clone_from(&update.stopped);
        }
        seen = world.seen.outputs.len();
        let conversation = world.machine.conversation();
        for live in conversation.calls() {
            let call = conversation
                .tool_call(live)
                .expect("a call has its message");
            let partial = world
                .machine
                .partial_arguments(&live.id)
                .expect("it is read");
            assert!(call.function.arguments.starts_with(partial.text()));
            let view = views.get(live.id.as_str());
            assert_eq!(
                partial.value(),
                view.map_or(Value::Null, |view| view.value.clone())
            );
        }
    }
    assert_eq!(world.machine.state(), StateKind::Completed);
    views
}

fn piecemeal(id: usize, text: &str, lengths: &[usize]) -> Call {
    let mut pieces = cut(text, lengths);
    pieces.retain(|piece| !piece.is_empty());
    Call {
        id: format!("c{id}"),
        name: "work".to_owned(),
        pieces,
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// Through the real machine, with the bytes cut anywhere, several calls interleaved, and the run stored and
    /// restored after every chunk.
    #[test]
    fn i16_what_is_said_of_streaming_arguments_is_never_taken_back_and_ends_as_the_whole(
        texts in prop::collection::vec((prop_oneof![2 => arguments(), 1 => mad()], lengths()), 1..4),
        dialect in 0..2usize,
        seed: u64,
    ) {
        let calls = texts.iter().enumerate().map(|(id, (text, lengths))| piecemeal(id, text, lengths));
        let script = || world(BOTH[dialect], true).seed(seed).says([Say::Calls(calls.clone().collect())]).says([text("Done.")]);
        let mut plain = script();
        let mut restored = script();
        restored.restores = true;
        let views = follow(&mut plain);
        prop_assert_eq!(&views, &follow(&mut restored));
        prop_assert_eq!(plain.seen.outputs, restored.seen.outputs);
        for (id, (text, _)) in texts.iter().enumerate() {
            let view = &views[&format!("c{id}")];
            match parse_arguments(text) {
                Ok(value) => {
                    prop_assert_eq!(&view.stopped, &None);
                    prop_assert_eq!(&view.value, &value);
                }
                Err(error) => prop_assert!(view.stopped.is_some(), "{error}: {view:?}"),
            }
        }
    }

    /// Stored with some outputs taken and some not: the changes go on from where they were.
    #[test]
    fn i16_a_restore_between_two_outputs_changes_no_update(text in arguments(), lengths in lengths(), at in 0..12usize) {
        let whole = || {
            let mut world = world(Dialect::AgUi, true);
            world.cut = Cut::Whole;
            let calls = vec![piecemeal(0, &text, &lengths), piecemeal(1, &text, &[3])];
            world = world.says([Say::Calls(calls)]);
            world.send("Go on");
            world.drive_to(StateKind::Streaming);
            let (_, input) = world.agenda.pop_first().expect("the body is to come");
            world.machine.handle(input, stepwell_core::Timestamp(world.now)).expect("in its place");
            world
        };
        let (mut plain, mut restored) = (whole(), whole());
        let mut outputs = Vec::new();
        outputs.extend(std::iter::from_fn(|| restored.machine.poll_output()).take(at));
        let snapshot = restored.machine.snapshot();
        let mut machine = RunMachine::restore(&snapshot, Arc::clone(&restored.config)).expect("it was just written");
        outputs.extend(std::iter::from_fn(|| machine.poll_output()));
        let expected: Vec<_> = std::iter::from_fn(|| plain.machine.poll_output()).collect();
        prop_assert_eq!(&outputs, &expected);
        let mut view = Value::Null;
        for update in updates(&outputs).filter(|update| update.tool_call_id == "c0") {
            for change in &update.changes {
                change.apply(&mut view).expect("in order");
            }
        }
        prop_assert_eq!(view, parse_arguments(&text).expect("they are sound"));
    }
}

#[test]
fn they_are_off_unless_asked_for() {
    let mut off = world(Dialect::AgUi, false)
        .says([call("c", "work", r#"{"a":1}"#)])
        .says([text("Done.")]);
    off.send("Go on");
    while off.step() {
        assert!(off.machine.partial_arguments("c").is_none());
    }
    assert_eq!(updates(&off.seen.outputs).count(), 0);
    assert!(!off.machine.snapshot().contains("partial"));
}

#[test]
fn what_a_chunk_says_of_a_call_comes_as_one() {
    for dialect in BOTH {
        let text_of = |index: usize| format!(r#"{{"text":"{}"}}"#, "word ".repeat(index + 3));
        let calls = (0..4).map(|index| piecemeal(index, &text_of(index), &[4]));
        let mut world = world(dialect, true)
            .says([Say::Calls(calls.collect())])
            .says([text("Done.")]);
        world.cut = Cut::Whole;
        world.send("Go on");
        world.drive();
        let pieces: Vec<_> = updates(&world.seen.outputs).collect();
        for (index, id) in ["c0", "c1", "c2", "c3"].iter().enumerate() {
            let own: Vec<_> = pieces
                .iter()
                .filter(|update| update.tool_call_id == *id)
                .collect();
            assert_eq!(own.len(), 1, "{dialect:?}: {own:?}");
            assert_eq!(own[0].call.index as usize, index);
            let path = || "/text".to_owned();
            let all = [
                OwnedChange::Add {
                    path: String::new(),
                    value: json!({}),
                },
                OwnedChange::Add {
                    path: path(),
                    value: json!(""),
                },
                OwnedChange::Append {
                    path: path(),
                    text: "word ".repeat(index + 3),
                },
                OwnedChange::End { path: path() },
                OwnedChange::End {
                    path: String::new(),
                },
            ];
            assert_eq!(own[0].changes, all);
        }
    }
}

#[test]
fn every_way_of_saying_none_is_an_empty_object() {
    for (dialect, arguments) in [
        (Dialect::AgUi, None),
        (Dialect::AgUi, Some("null")),
        (Dialect::AgUi, Some("{}")),
        (Dialect::OpenAiChat, None),
        (Dialect::OpenAiChat, Some("null")),
    ] {
        let pieces = arguments.map(str::to_owned).into_iter().collect();
        let none = Call {
            id: "c".to_owned(),
            name: "work".to_owned(),
            pieces,
        };
        let mut world = world(dialect, true)
            .says([Say::Call(none)])
            .says([text("Done.")]);
        let views = follow(&mut world);
        assert_eq!(
            views["c"],
            View {
                value: json!({}),
                stopped: None
            },
            "{dialect:?}, {arguments:?}"
        );
    }
}

#[test]
fn a_whole_call_in_one_delta_is_whole_at_once() {
    let whole = r#"{"city":"Oslo","days":[1,2],"note":null}"#;
    let frame = json!({"choices": [{"index": 0, "delta": {"tool_calls": [
        {"index": 0, "id": "c", "type": "function", "function": {"name": "work", "arguments": whole}}
    ]}}]});
    let mut world = world(Dialect::OpenAiChat, true)
        .says([
            Say::Raw(format!("data: {frame}\n\n")),
            Say::Calls(Vec::new()),
        ])
        .says([text("Done.")]);
    world.cut = Cut::Whole;
    let views = follow(&mut world);
    assert_eq!(
        views["c"].value,
        serde_json::from_str::<Value>(whole).expect("JSON")
    );
    assert_eq!(updates(&world.seen.outputs).count(), 1);
}

#[test]
fn arguments_that_are_no_json_stop_with_a_reason_and_harm_nothing() {
    for dialect in BOTH {
        let run = |is_on| {
            let calls = vec![
                a_call("c", "work", r#"{"a":"x","b":tru }, and so on"#),
                a_call("d", "work", r#"{"a":"y"}"#),
            ];
            world(dialect, is_on)
                .says([Say::Calls(calls)])
                .says([text("Done.")])
        };
        let (mut on, off) = (run(true), run(false).turn());
        let views = follow(&mut on);
        assert_eq!(views["c"].value, json!({"a": "x"}));
        let stopped = views["c"].stopped.as_deref().expect("a reason");
        assert!(stopped.contains("byte 16"), "{stopped}");
        assert_eq!(
            views["d"],
            View {
                value: json!({"a": "y"}),
                stopped: None
            }
        );
        assert_eq!(on.messages(), off.messages());
        assert_eq!(on.seen.requests(), off.seen.requests());
    }
}

#[test]
fn a_call_that_never_ends_is_not_called_whole() {
    let open = a_call("c", "work", r#"{"a":"x"#);
    let mut world = world(Dialect::AgUi, true)
        .says([Say::OpenCall(open)])
        .says([text("Done.")]);
    assert_eq!(
        follow(&mut world)["c"],
        View {
            value: json!({"a": "x"}),
            stopped: None
        }
    );
}

#[test]
fn the_same_id_in_a_later_hop_is_another_call() {
    let mut world = world(Dialect::OpenAiChat, true)
        .says([call("c", "work", r#"{"a":1}"#)])
        .says([call("c", "work", r#"{"b":2}"#)])
        .says([text("Done.")]);
    world.send("Go on");
    world.drive();
    let mut values = BTreeMap::new();
    for update in updates(&world.seen.outputs) {
        let value = values.entry(update.call).or_insert(Value::Null);
        for change in &update.changes {
            change.apply(value).expect("in order");
        }
    }
    assert_eq!(
        values.into_values().collect::<Vec<_>>(),
        [json!({"a": 1}), json!({"b": 2})]
    );
}

#[test]
fn a_call_is_looked_up_until_its_result_is_in_the_history() {
    let mut world = world(Dialect::OpenAiChat, true)
        .says([call("c", "work", r#"{"a":1}"#)])
        .says([text("Done.")]);
    world.send("Go on");
    world.drive_to(StateKind::ExecutingTools);
    let partial = world.machine.partial_arguments("c").expect("it is live");
    assert_eq!(partial.state(), PartialState::Complete);
    let snapshot = world.machine.snapshot();
    let restored = RunMachine::restore(&snapshot, Arc::clone(&world.config)).expect("just written");
    assert_eq!(restored.partial_arguments("c"), Some(partial));
    world.drive();
    assert!(world.machine.partial_arguments("c").is_none());
}

#[test]
fn who_asks_only_after_a_restore_is_told_from_the_beginning() {
    let mut config = None;
    let mut late =
        world(Dialect::AgUi, false).says([call("c", "work", r#"{"a":"one two three"}"#)]);
    late.cut = Cut::Every(40);
    late.send("Go on");
    late.drive_until(|world| {
        let conversation = world.machine.conversation();
        conversation
            .tool_calls()
            .any(|call| call.function.arguments.len() > 5)
    });
    let on = config.get_or_insert((*late.config).clone());
    on.partial_arguments = true;
    let on = Arc::new(on.clone());
    let machine =
        RunMachine::restore(&late.machine.snapshot(), Arc::clone(&on)).expect("just written");
    late.config = on;
    late.put_back(machine);
    let seen = late.seen.outputs.len();
    late.drive_to(StateKind::ExecutingTools);
    let mut view = Value::Null;
    for update in updates(&late.seen.outputs[seen..]) {
        for change in &update.changes {
            change.apply(&mut view).expect("in order");
        }
    }
    assert_eq!(view, json!({"a": "one two three"}));
}

#[test]
fn a_snapshot_of_the_messages_goes_on_or_begins_again() {
    let start = json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "work", "parentMessageId": "m"});
    let piece = |delta: &str| {
        Say::Event(json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta}))
    };
    let end = Say::Event(json!({"type": "TOOL_CALL_END", "toolCallId": "c"}));
    let snapshot = |arguments: &str| {
        Say::Event(json!({"type": "MESSAGES_SNAPSHOT", "messages": [
            {"id": "user-1", "role": "user", "content": "Go on"},
            {"id": "m", "role": "assistant", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "work", "arguments": arguments}}
            ]}
        ]}))
    };
    for (says, beginnings, value) in [
        (
            vec![
                piece(r#"{"a":"x"#),
                snapshot(r#"{"a":"x"#),
                piece(r#"y"}"#),
                end.clone(),
            ],
            1,
            json!({"a": "xy"}),
        ),
        (
            vec![
                piece(r#"{"a":"x"#),
                snapshot(r#"{"a":"xyz"#),
                piece(r#"!"}"#),
                end.clone(),
            ],
            1,
            json!({"a": "xyz!"}),
        ),
        (
            vec![
                piece(r#"{"a":"x"#),
                snapshot(r#"{"b":"#),
                piece("2}"),
                end.clone(),
            ],
            2,
            json!({"b": 2}),
        ),
        (
            vec![
                piece("[oops"),
                snapshot(r#"{"b":"#),
                piece("2}"),
                end.clone(),
            ],
            2,
            json!({"b": 2}),
        ),
        (
            vec![piece(r#"{"a":1}"#), end.clone(), snapshot(r#"{"a":2}"#)],
            2,
            json!({"a": 2}),
        ),
        (
            vec![piece(r#"{"a":1}"#), end.clone(), snapshot(r#"{"a":1}"#)],
            1,
            json!({"a": 1}),
        ),
    ] {
        let says: Vec<_> = [Say::Event(start.clone())]
            .into_iter()
            .chain(says)
            .collect();
        for restores in [false, true] {
            let mut world = world(Dialect::AgUi, true)
                .says(says.clone())
                .says([text("Done.")]);
            world.restores = restores;
            world.send("Go on");
            world.drive();
            let (mut view, mut began, mut stopped) = (Value::Null, 0, None);
            for update in updates(&world.seen.outputs) {
                for change in &update.changes {
                    began += usize::from(
                        matches!(change, OwnedChange::Add { path, .. } if path.is_empty()),
                    );
                    change.apply(&mut view).expect("in order");
                }
                stopped.clone_from(&update.stopped);
            }
            assert_eq!(
                (view, began, stopped),
                (value.clone(), beginnings, None),
                "{says:?}"
            );
        }
    }
}

#[test]
fn a_call_that_begins_again_after_its_end_goes_on_where_it_was() {
    let start = Say::Event(
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "work", "parentMessageId": "m"}),
    );
    let piece = |delta: &str| {
        Say::Event(json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta}))
    };
    let end = Say::Event(json!({"type": "TOOL_CALL_END", "toolCallId": "c"}));
    let says = vec![
        start.clone(),
        piece(r#"{"a":1}"#),
        end.clone(),
        start,
        piece(" x"),
        end,
    ];
    let run = |restores| {
        let mut world = world(Dialect::AgUi, true)
            .says(says.clone())
            .says([text("Done.")]);
        world.restores = restores;
        follow(&mut world)
    };
    let views = run(false);
    assert_eq!(views["c"].value, json!({"a": 1}));
    assert!(views["c"].stopped.is_some());
    assert_eq!(views, run(true));
}

#[test]
fn pieces_that_carry_more_than_text_are_read_too() {
    let start = Say::Event(
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "work", "timestamp": 1}),
    );
    let piece = |delta: &str| {
        Say::Event(
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta, "timestamp": 2}),
        )
    };
    let end = Say::Event(json!({"type": "TOOL_CALL_END", "toolCallId": "c", "timestamp": 3}));
    let says = [
        start,
        piece(r#"{"a":"x"#),
        piece(r#"y","b"#),
        piece(r#"":1}"#),
        end,
    ];
    let mut world = world(Dialect::AgUi, true).says(says).says([text("Done.")]);
    assert_eq!(
        follow(&mut world)["c"],
        View {
            value: json!({"a": "xy", "b": 1}),
            stopped: None
        }
    );
}

#[test]
fn the_same_id_with_another_parent_is_read_from_its_own_beginning() {
    let start = |parent: &str| {
        Say::Event(
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "work", "parentMessageId": parent}),
        )
    };
    let piece = |delta: &str| {
        Say::Event(json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta}))
    };
    let end = || Say::Event(json!({"type": "TOOL_CALL_END", "toolCallId": "c"}));
    let says = [
        start("m"),
        piece(r#"{"a":1}"#),
        end(),
        start("n"),
        piece(r#"{"b":2}"#),
        end(),
    ];
    for restores in [false, true] {
        let mut world = world(Dialect::AgUi, true)
            .says(says.clone())
            .says([text("Done.")]);
        world.restores = restores;
        world.send("Go on");
        world.drive();
        let changes: Vec<_> = updates(&world.seen.outputs)
            .flat_map(|update| &update.changes)
            .collect();
        let begun = changes
            .iter()
            .filter(|change| matches!(change, OwnedChange::Add { path, .. } if path.is_empty()));
        assert_eq!(begun.count(), 2, "{changes:?}");
        let mut view = Value::Null;
        for change in changes {
            change.apply(&mut view).expect("in order");
        }
        assert_eq!(view, json!({"b": 2}));
    }
}
