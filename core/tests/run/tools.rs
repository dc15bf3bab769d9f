//! Tools: which calls are run, and what the model is told.

use crate::turn::{BOTH, secret_number};
use crate::world::{Cut, Reply, ToolReply, World, offer};
use serde_json::json;
use stepwell_core::CallKey;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Verification;
use stepwell_core::run::{EffectId, Input, Outcome, RunEvent};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::ToolCallStatus;
use stepwell_testing::reply::{Call, Part, call, text};

/// A world with a tool `work`, whose model makes one call to `name`, and then says "Done."
fn one_call(dialect: Dialect, name: &str, arguments: &str) -> World {
    crate::world::with(dialect, |config| {
        offer(config, Tool::new("work", "Works."));
        offer(config, secret_number());
    })
    .streams([call("c", name, arguments)])
    .streams([text("Done.")])
}

#[test]
fn a_tool_that_fails_tells_the_model_and_the_turn_goes_on() {
    for dialect in BOTH {
        let world = one_call(dialect, "work", "{}")
            .tool("work", |_| ToolReply::failure("the printer is on fire"))
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(world.result(), "the printer is on fire");
        assert_eq!(
            world.seen.statuses("c"),
            [ToolCallStatus::Executing, ToolCallStatus::Failed]
        );
    }
}

#[test]
fn all_tools_fail_and_the_turn_still_goes_on() {
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::failure("no"))
    .streams([Part::Calls(vec![
        Call::new("a", "work", "{}"),
        Call::new("b", "work", "{}"),
        Call::new("c", "work", "{}"),
    ])])
    .streams([text("Sorry.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.results().len(), 3);
    assert!(world.results().iter().all(|(_, text)| text == "no"));
    world.assert_valid_history();
}

#[test]
fn an_unknown_tool_is_answered_and_not_run() {
    for dialect in BOTH {
        let world = one_call(dialect, "invented", "{}").turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(
            world.result(),
            "there is no tool named `invented`; the tools are: work, get_secret_number"
        );
        assert!(world.seen.invocations().is_empty());
    }
}

#[test]
fn arguments_that_are_not_json_are_answered_and_not_run() {
    for dialect in BOTH {
        let world = one_call(dialect, "work", r#"{"city": Berg"#).turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert!(
            world
                .result()
                .starts_with("the arguments of `work` are not valid JSON")
        );
        assert!(world.seen.invocations().is_empty());
    }
}

#[test]
fn arguments_that_break_the_schema_are_answered_and_not_run() {
    let world = one_call(Dialect::OpenAiChat, "get_secret_number", r#"{"name":7}"#).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(
        world
            .result()
            .starts_with("the arguments of `get_secret_number` do not fit its schema")
    );
    assert!(world.result().contains("/name"));
    assert!(world.seen.invocations().is_empty());
}

#[test]
fn one_bad_call_does_not_keep_a_good_one_from_running() {
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::text("worked"))
    .streams([Part::Calls(vec![
        Call::new("a", "invented", "{}"),
        Call::new("b", "work", "{}"),
    ])])
    .streams([text("Done.")])
    .turn();
    assert_eq!(world.seen.invocations().len(), 1);
    let results = world.results();
    assert_eq!(results[0].0, "a");
    assert_eq!(results[1], ("b".to_owned(), "worked".to_owned()));
}

#[test]
fn no_arguments_in_any_form_are_an_empty_object_with_the_raw_text_kept() {
    for dialect in BOTH {
        for raw in ["", " ", "null", "{}"] {
            let world = one_call(dialect, "work", raw)
                .tool("work", |_| ToolReply::text("ok"))
                .turn();
            assert_eq!(*world.outcome(), Outcome::Success, "{raw:?}");
            let invocations = world.seen.invocations();
            assert_eq!(invocations[0].arguments.value, json!({}), "{raw:?}");
            assert_eq!(invocations[0].arguments.raw, raw);
        }
    }
}

#[test]
fn a_call_without_any_argument_fragment_is_run_with_an_empty_object() {
    for dialect in BOTH {
        let bare = Call {
            id: "c".into(),
            name: "work".into(),
            fragments: Vec::new(),
        };
        let world =
            crate::world::with(dialect, |config| offer(config, Tool::new("work", "Works.")))
                .tool("work", |_| ToolReply::text("ok"))
                .streams([Part::Call(bare)])
                .streams([text("Done.")])
                .turn();
        assert_eq!(world.seen.invocations()[0].arguments.value, json!({}));
        assert_eq!(world.result(), "ok");
    }
}

#[test]
fn a_call_that_starts_and_never_ends_fails_with_a_clear_error_to_the_model() {
    // By AG-UI's rules the whole run is broken; held to them leniently, only the call is.
    let world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.endpoint.quirks.ag_ui.verification = Verification::Lenient;
    })
    .streams([Part::OpenCall(Call::new("c", "work", "{\"a\":"))])
    .streams([text("Once more, then.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.seen.invocations().is_empty());
    assert!(world.result().contains("never came to their end"));
    assert!(world.seen.warnings()[0].contains("O4"));
    world.assert_valid_history();
}

#[test]
fn a_call_that_the_backend_answers_itself_is_not_run() {
    let world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .streams([
        call("c", "work", "{}"),
        Part::ToolResult {
            call: "c".into(),
            content: "done over here".into(),
        },
        text("It is done."),
    ])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.seen.invocations().is_empty());
    assert_eq!(world.result(), "done over here");
    assert_eq!(world.machine.hop(), 0);
}

#[test]
fn i08_results_are_in_the_order_of_the_calls_also_where_the_backend_answers_a_later_one() {
    let world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::text("done here"))
    .streams([
        call("a", "work", "{}"),
        call("b", "work", "{}"),
        Part::ToolResult {
            call: "b".into(),
            content: "done over there".into(),
        },
    ])
    .streams([text("Both are done.")])
    .turn();
    let results = world.results();
    let ids: Vec<_> = results.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    world.assert_valid_history();
}

#[test]
fn a_call_that_a_messages_snapshot_answers_is_not_run() {
    let snapshot = json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"id": "user-1", "role": "user", "content": "Go on"},
        {"id": "m", "role": "assistant", "toolCalls":
            [{"id": "c", "type": "function", "function": {"name": "work", "arguments": "{}"}}]},
        {"id": "r", "role": "tool", "toolCallId": "c", "content": "done over here"},
    ]});
    let world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .streams([call("c", "work", "{}"), Part::Event(snapshot)])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.seen.invocations().is_empty());
    assert_eq!(world.result(), "done over here");
}

#[test]
fn only_the_calls_that_the_agent_leaves_to_the_client_are_run() {
    let world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::text("ok"))
    .streams([
        call("theirs", "their_tool", "{}"),
        call("ours", "work", "{}"),
        Part::Outcome(json!({"type": "success", "pendingToolCallIds": ["ours"]})),
    ])
    .streams([text("Done.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.results(), [("ours".to_owned(), "ok".to_owned())]);
}

#[test]
fn arguments_for_an_unknown_call_are_dropped_and_said_so_and_the_stream_goes_on() {
    let stray = json!({"type": "TOOL_CALL_ARGS", "toolCallId": "nobody", "delta": "{}"});
    let world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.endpoint.quirks.ag_ui.verification = Verification::Lenient;
    })
    .tool("work", |_| ToolReply::text("ok"))
    .streams([call("c", "work", r#"{"a":1}"#), Part::Event(stray)])
    .streams([text("Done.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let unknown = RunEvent::UnknownToolCall {
        tool_call_id: "nobody".into(),
    };
    let said = world.seen.events().filter(|event| **event == unknown);
    assert_eq!(said.count(), 1);
    let arguments = world
        .machine
        .transcript()
        .tool_calls()
        .next()
        .map(|call| call.function.arguments.clone());
    assert_eq!(arguments.as_deref(), Some(r#"{"a":1}"#));
}

#[test]
fn a_second_result_for_a_call_is_dropped_and_said_so() {
    let mut world =
        one_call(Dialect::OpenAiChat, "work", "{}").tool("work", |_| ToolReply::text("first"));
    world.replies[1] = Reply::Silent;
    world.send("Hello");
    world.drive_until(|world| world.machine.hop() == 1);
    let effect = EffectId::Tool(CallKey { hop: 0, index: 0 });
    let before = world.machine.snapshot();
    world
        .input(Input::ToolFinished {
            effect,
            result: Ok("second".into()),
        })
        .expect("late is no mistake");
    assert_eq!(world.seen.dropped(), [effect]);
    assert_eq!(world.machine.snapshot(), before);
    assert_eq!(world.result(), "first");
}

#[test]
fn results_are_in_the_order_of_the_calls_for_every_order_of_finishing() {
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let runs: Vec<_> = orders
        .iter()
        .map(|order| {
            let order = *order;
            crate::world::with(Dialect::OpenAiChat, |config| {
                offer(config, Tool::new("work", "Works."));
            })
            .tool("work", move |invocation| {
                let index = invocation.call.index as usize;
                ToolReply::text(&format!("result {index}")).after(order[index] * 20)
            })
            .streams([Part::Calls(vec![
                Call::new("a", "work", "{}"),
                Call::new("b", "work", "{}"),
                Call::new("c", "work", "{}"),
            ])])
            .streams([text("Done.")])
            .turn()
        })
        .collect();
    for world in &runs {
        assert_eq!(world.messages(), runs[0].messages());
        assert_eq!(world.seen.requests(), runs[0].seen.requests());
        world.assert_valid_history();
    }
}

#[test]
fn tools_start_only_when_the_body_has_ended() {
    let mut world = one_call(Dialect::AgUi, "work", "{}").tool("work", |_| ToolReply::text("ok"));
    world.cut = Cut::Whole;
    world.replies[0] = Reply::Stalled(vec![call("c", "work", "{}")]);
    world.send("Hello");
    let stream = EffectId::Open { hop: 0, attempt: 0 };
    world.drive_until(|world| {
        world.machine.transcript().summary().outcome.is_some()
            || world
                .machine
                .transcript()
                .calls()
                .first()
                .is_some_and(|call| call.status == ToolCallStatus::Pending)
    });
    assert!(
        world.seen.invocations().is_empty(),
        "RUN_FINISHED alone is not the end"
    );
    world
        .input(Input::Ended { effect: stream })
        .expect("it is live");
    assert_eq!(world.seen.invocations().len(), 1);
}

#[test]
fn the_same_call_id_in_two_hops_is_two_calls() {
    for dialect in BOTH {
        let world =
            crate::world::with(dialect, |config| offer(config, Tool::new("work", "Works.")))
                .tool("work", |invocation| {
                    ToolReply::text(&format!("{} {}", invocation.call, invocation.arguments.raw))
                })
                .streams([call("call_0", "work", r#"{"n":1}"#)])
                .streams([call("call_0", "work", r#"{"n":2}"#)])
                .streams([text("Done.")])
                .turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        let texts: Vec<_> = world.results().into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, [r#"0.0 {"n":1}"#, r#"1.0 {"n":2}"#]);
        world.assert_valid_history();
    }
}
