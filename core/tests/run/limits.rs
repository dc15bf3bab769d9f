//! How many rounds of tools a turn may take.

use crate::interrupts::{answer, asks};
use crate::wire::{call, text};
use crate::world::{Answer, Work, World, offer};
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{Failure, Input, Outcome, StateKind, ToolLimitPolicy};
use stepwell_core::tool::Tool;

/// A model that never stops asking, under a limit of two rounds.
pub fn greedy(policy: ToolLimitPolicy) -> World {
    let mut world = World::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.max_tool_rounds = 2;
        config.limits.at_tool_limit = policy;
    })
    .tool("work", |_| Work::gives("ok"));
    world.otherwise = Some(Answer::Says(vec![text("more "), call("c", "work", "{}")]));
    world
}

#[test]
fn the_default_is_to_complete_and_say_that_the_limit_was_reached() {
    let world = greedy(ToolLimitPolicy::Complete).turn();
    assert_eq!(*world.outcome(), Outcome::MaxToolRounds);
    assert_eq!(world.machine.hop(), 2);
    assert_eq!(world.seen.invocations().len(), 2);
    assert_eq!(world.machine.conversation().text(), "more more more ");
    assert!(world.results()[2].1.contains("2 rounds"));
    world.assert_legal();
}

#[test]
fn it_may_fail_instead() {
    let world = greedy(ToolLimitPolicy::Fail).turn();
    let failure = Failure::TooManyToolRounds { limit: 2 };
    assert_eq!(*world.outcome(), Outcome::Failed { failure });
    assert_eq!(world.seen.invocations().len(), 2);
    world.assert_legal();
}

#[test]
fn it_may_let_the_model_sum_up_without_tools() {
    let mut world = greedy(ToolLimitPolicy::SumUp);
    for _ in 0..3 {
        world = world.says([call("c", "work", "{}")]);
    }
    let world = world.says([text("In short: enough.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.machine.conversation().text(), "In short: enough.");
    let requests = world.seen.requests();
    assert!(requests[2].get("tools").is_some());
    assert!(
        requests[3].get("tools").is_none(),
        "the last hop offers none"
    );
    assert_eq!(world.seen.invocations().len(), 2);
    world.assert_legal();
}

#[test]
fn a_model_that_asks_for_tools_when_it_is_to_sum_up_is_stopped() {
    let world = greedy(ToolLimitPolicy::SumUp).turn();
    assert_eq!(*world.outcome(), Outcome::MaxToolRounds);
    assert_eq!(world.machine.hop(), 3);
    world.assert_legal();
}

#[test]
fn rounds_in_which_no_tool_ran_count_too() {
    let mut world = greedy(ToolLimitPolicy::Complete);
    world.otherwise = Some(Answer::Says(vec![call("c", "invented", "{}")]));
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::MaxToolRounds);
    assert_eq!(world.machine.hop(), 2);
}

#[test]
fn a_limit_of_none_runs_no_tool() {
    let mut world = World::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.max_tool_rounds = 0;
    });
    world.otherwise = Some(Answer::Says(vec![call("c", "work", "{}")]));
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::MaxToolRounds);
    assert!(world.seen.invocations().is_empty());
}

#[test]
fn the_limit_holds_after_an_interrupt() {
    let mut world = World::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.max_tool_rounds = 0;
    })
    .says([call("c", "work", "{}"), asks(&["a"])]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    world
        .input(Input::Resume(vec![answer("a")]))
        .expect("all are answered");
    assert_eq!(*world.outcome(), Outcome::MaxToolRounds);
    world.assert_legal();
}
