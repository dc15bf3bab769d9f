//! The ways of compaction in their order, their limits, and conversations that are not compacted.

use super::{contents, next_turn, summarizing, summary, summary_policy};
use crate::context::{guarded, long_history, with_history};
use crate::world::{World, config};
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    CompactionPolicy, CompactionWay, ContextPolicy, Input, Outcome, RunConfig, RunMachine, Start,
    SummaryPolicy, TurnOptions,
};
use stepwell_testing::reply::{Part, call, text};

#[test]
fn old_results_are_dropped_before_the_request() {
    let world = guarded(3_500, ContextPolicy::Fail, |config| {
        config.compaction = CompactionPolicy::with(CompactionWay::DropResults { keep: 1 });
    })
    .streams([call("a", "work", "{\"n\":1}")])
    .streams([call("b", "work", "{\"n\":2}")])
    .streams([call("c", "work", "{\"n\":3}")])
    .streams([text("Yes.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let requests = world.seen.requests();
    let sent = contents(&requests[3]);
    let long = "x".repeat(4_000);
    let complete = sent.iter().filter(|text| **text == long).count();
    let marked = sent
        .iter()
        .filter(|text| text.starts_with("[This result was left out"));
    assert_eq!((complete, marked.count()), (1, 2), "{sent:?}");
    let kept = serde_json::to_string(world.messages()).expect("JSON");
    assert!(!kept.contains("left out"), "the history has all of them");
    // What was dropped stays so: the prompt's start is that of the request before.
    let next = next_turn(&world, "2", TurnOptions::default());
    let requests = next.seen.requests();
    let marked = contents(&requests[0]);
    let marked = marked
        .iter()
        .filter(|text| text.starts_with("[This result"));
    assert_eq!(marked.count(), 2);
}

#[test]
fn ways_are_used_in_their_order_until_it_fits() {
    let mut world = guarded(1_500, ContextPolicy::Fail, |config| {
        config.compaction = CompactionPolicy {
            ways: vec![
                CompactionWay::DropResults { keep: 1 },
                CompactionWay::Host,
                summary_policy().ways.remove(0),
            ],
            ..CompactionPolicy::default()
        };
    });
    world = with_history(world, long_history())
        .streams(summary())
        .streams([text("Yes.")]);
    // The host keeps all that there is.
    world.trims.push_back(|overflow| {
        let ids = overflow.messages.iter().map(|message| message.id.clone());
        (ids.collect(), None)
    });
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let names = world.seen.effect_names();
    assert_eq!(names, ["trim trim:0", "open open:0:0", "open open:0:1"]);
}

#[test]
fn a_host_that_cannot_trim_leaves_the_request_as_it_is() {
    let world = guarded(1_700, ContextPolicy::Fail, |config| {
        config.compaction = CompactionPolicy::with(CompactionWay::Host);
    });
    let world = with_history(world, long_history())
        .streams([text("Yes.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.effect_names(), ["trim trim:0", "open open:0:0"]);
    assert!(world.seen.warnings()[0].contains("could not be trimmed"));
}

#[test]
fn the_hosts_choice_lasts_beyond_the_turn() {
    let mut world = guarded(1_500, ContextPolicy::Fail, |config| {
        config.compaction = CompactionPolicy::with(CompactionWay::Host);
    });
    world = with_history(world, long_history()).streams([text("Yes.")]);
    world
        .trims
        .push_back(|overflow| (overflow.newest(0.3), Some("In short.".to_owned())));
    let first = world.turn();
    let second = next_turn(&first, "2", TurnOptions::default());
    let requests = second.seen.requests();
    let sent = contents(&requests[0]);
    assert!(sent[0].ends_with("In short."), "{sent:?}");
    assert!(!sent.concat().contains(&"x".repeat(2_000)));
}

#[test]
fn an_agent_or_an_unknown_window_is_never_compacted() {
    let compacted = |dialect, window| {
        let world = crate::world::with(dialect, |config| {
            config.compaction = CompactionPolicy::with(CompactionWay::Host);
            config.context_guard.window = window;
            config.context_guard.at_limit = ContextPolicy::Send;
        });
        let world = with_history(world, long_history())
            .streams([text("Yes.")])
            .turn();
        let names = world.seen.effect_names();
        names.iter().any(|name| name.starts_with("trim"))
    };
    assert!(compacted(Dialect::OpenAiChat, Some(1_000)));
    assert!(!compacted(Dialect::AgUi, Some(1_000)));
    assert!(!compacted(Dialect::OpenAiChat, None));
}

#[test]
fn the_limit_is_a_part_of_the_context() {
    let with = |at| {
        let mut config = config(Dialect::OpenAiChat);
        config.compaction = summary_policy();
        config.compaction.at = at;
        config.check_compaction().is_ok()
    };
    assert!(with(0.01) && with(1.0));
    assert!(!with(0.0) && !with(-0.5) && !with(1.01) && !with(f64::NAN));
}

#[test]
fn a_request_of_just_the_limits_size_is_sent_as_it_is() {
    for (counted, summaries) in [(493, 0), (494, 1)] {
        let usage = Part::Usage {
            input: counted,
            output: 0,
        };
        let first = summarizing(|config| {
            config.context_guard.window = Some(1_000);
            config.compaction.at = 0.5;
        });
        let first = with_history(first, Vec::new())
            .streams([text("Yes."), usage])
            .turn();
        // The new message is estimated at seven tokens.
        let mut second = World::new((*first.config).clone());
        let history = first.machine.transcript().clone();
        second.machine = RunMachine::new(Arc::clone(&second.config), "thread".into(), history);
        second = second.streams(summary()).streams([text("Yes.")]);
        let start = Start::new("2", Message::user("user-2", "And so on"));
        second.input(Input::Start(Box::new(start))).expect("idle");
        second.drive();
        let asked = second.seen.requests().len();
        assert_eq!(asked - 1, summaries, "{counted}");
    }
}

#[test]
fn an_agent_writes_no_summaries() {
    let world = summarizing(|config| {
        let agent = config_of_agent();
        config.compaction = CompactionPolicy::with(CompactionWay::Summary(SummaryPolicy {
            model: Some(Box::new(agent.endpoint.into())),
            ..SummaryPolicy::default()
        }));
        assert!(config.check_compaction().is_err());
        config.context_guard.at_limit = ContextPolicy::Send;
    })
    .streams([text("Yes.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.seen.warnings()[0].contains("writes no summaries"));
}

fn config_of_agent() -> RunConfig {
    config(Dialect::AgUi)
}
