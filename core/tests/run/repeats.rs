//! Models that go in a circle.

use crate::world::{Reply, ToolReply, World, offer};
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{LimitPolicy, Outcome, RepeatLimit, TurnLimit};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Part, call, text};

fn world() -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("read", "Reads."));
        offer(config, Tool::new("write", "Writes."));
        offer(
            config,
            Tool::new("poll", "Looks how far it is.").repeatable(),
        );
        config.limits.max_tool_rounds = 100;
    })
    .tool("read", |_| ToolReply::text("the same"))
    .tool("write", |_| ToolReply::text("written"))
    .tool("poll", |_| ToolReply::text("not yet"))
}

fn ran(world: &World, name: &str) -> usize {
    let invocations = world.seen.invocations();
    invocations.iter().filter(|call| call.name == name).count()
}

#[test]
fn the_model_repeats_the_same_call_it_is_told_after_three_and_stopped_after_five() {
    let mut world = world();
    world.fallback_reply = Some(Reply::Complete(vec![
        text("Again. "),
        call("c", "read", r#"{"a":1,"b":2}"#),
    ]));
    let world = world.turn();
    let limit = TurnLimit::NoProgress {
        tool: "read".into(),
        times: 6,
    };
    assert_eq!(*world.outcome(), Outcome::LimitReached { limit });
    assert_eq!(
        world.outcome().limit().map(TurnLimit::name),
        Some("no_progress")
    );
    assert_eq!(ran(&world, "read"), 3);
    let results: Vec<_> = world.results().into_iter().map(|result| result.1).collect();
    assert_eq!(results[..3], ["the same", "the same", "the same"]);
    assert!(results[3].contains("asked for 4 times") && results[4].contains("asked for 5 times"));
    assert!(results[5].contains("made no progress"));
    assert_eq!(results.len(), 6);
    world.assert_valid_history();
}

#[test]
fn a_model_that_takes_the_hint_goes_on() {
    let mut world = world();
    for _ in 0..4 {
        world = world.streams([call("c", "read", "{}")]);
    }
    let world = world.streams([text("Then so.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(ran(&world, "read"), 3);
}

#[test]
fn the_same_arguments_are_the_same_however_they_are_written() {
    let mut world = world();
    for arguments in [
        r#"{"a":1,"b":[2]}"#,
        r#"{ "b": [2], "a": 1 }"#,
        "{\"b\":[2],\n\"a\":1}",
    ] {
        world = world.streams([call("c", "read", arguments)]);
    }
    let world = world
        .streams([call("c", "read", r#"{"a":1,"b":[2]}"#)])
        .streams([call("c", "read", r#"{"a":1,"b":[3]}"#)])
        .streams([text("Done.")])
        .turn();
    assert_eq!(ran(&world, "read"), 4, "three of the same, and one other");
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn going_round_over_two_tools_is_a_circle_too() {
    let mut world = world();
    for round in 0..40 {
        world = world.streams([call("c", ["read", "write"][round % 2], "{}")]);
    }
    let world = world.turn();
    assert_eq!(
        world.outcome().limit().map(TurnLimit::name),
        Some("no_progress")
    );
    assert_eq!((ran(&world, "read"), ran(&world, "write")), (3, 3));
}

#[test]
fn reading_again_what_has_changed_is_no_circle() {
    let mut version = 0;
    let mut world = world().tool("read", move |_| {
        version += 1;
        ToolReply::text(&format!("version {version}"))
    });
    for round in 0..20 {
        let arguments = format!("{{\"line\":{round}}}");
        world = world
            .streams([call("r", "read", "{}")])
            .streams([call("w", "write", &arguments)]);
    }
    let world = world.streams([text("Done.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!((ran(&world, "read"), ran(&world, "write")), (20, 20));
}

#[test]
fn a_repeatable_tool_may_be_asked_as_often_as_the_other_limits_let_it() {
    let mut world = world();
    for _ in 0..20 {
        world = world.streams([call("c", "poll", "{}")]);
    }
    let world = world.streams([text("At last.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(ran(&world, "poll"), 20);
}

#[test]
fn calls_for_tools_that_do_not_exist_and_repeats_in_one_answer_count_too() {
    let mut world = world();
    let answer: Vec<Part> = vec![Part::Calls(
        (0..6)
            .map(|index| stepwell_testing::reply::Call::new(&format!("c{index}"), "invented", "{}"))
            .collect(),
    )];
    world = world.streams(answer);
    let world = world.turn();
    assert_eq!(
        world.outcome().limit().map(TurnLimit::name),
        Some("no_progress")
    );
    assert!(world.seen.invocations().is_empty());
    world.assert_valid_history();
}

#[test]
fn the_policy_and_the_numbers_are_the_apps() {
    for (policy, fails) in [(LimitPolicy::Fail, true), (LimitPolicy::SumUp, false)] {
        let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("read", "Reads."));
            config.limits.at_limit = policy;
            config.limits.repeats = Some(RepeatLimit {
                tell_after: 1,
                stop_after: 1,
            });
        })
        .tool("read", |_| ToolReply::text("x"));
        world.fallback_reply = Some(Reply::Complete(vec![call("c", "read", "{}")]));
        let world = world.turn();
        assert_eq!(matches!(world.outcome(), Outcome::Failed { .. }), fails);
        let limit = TurnLimit::NoProgress {
            tool: "read".into(),
            times: 2,
        };
        assert_eq!(world.outcome().limit(), Some(&limit));
        assert_eq!(ran(&world, "read"), 1);
    }
}
