//! What must hold of the bank's assistant, whatever the model, the network, the store and the user do.

use invariants::config;
use proptest::prelude::*;
use std::collections::BTreeSet;
use stepwell_core::run::{Effect, Output, RunEvent, ToolInvocation};
use stepwell_testing::chaos::{Action, Chaos, Violation, actions};
use stepwell_testing::{Tools, check_invariants};

/// The assistant's run after these actions, once it is quiet.
fn run(actions: Vec<Action>) -> Result<Chaos, Violation> {
    let mut chaos = Chaos::new(config()).tool("balance", |_| Ok("1,000".into()));
    actions.into_iter().for_each(|action| chaos.apply(action));
    chaos.finish().map(|()| chaos)
}

fn transfers(chaos: &Chaos) -> impl Iterator<Item = &ToolInvocation> {
    chaos.tool_calls().filter(|call| call.name == "transfer")
}

#[test]
fn keeps_all_that_stepwell_promises() {
    check_invariants(&config(), Tools::new());
}

proptest! {
    #[test]
    fn transfers_once_for_each_call(actions in actions()) {
        let chaos = run(actions)?;
        let calls: BTreeSet<_> = transfers(&chaos).map(|call| call.call).collect();
        prop_assert_eq!(calls.len(), transfers(&chaos).count());
    }
    #[test]
    fn asks_before_each_transfer(actions in actions()) {
        let chaos = run(actions)?;
        let asked: BTreeSet<_> = chaos.outputs().iter().filter_map(|output| match output {
            Output::Effect(_, Effect::AskApproval { invocation }) => Some(invocation.call),
            _ => None,
        }).collect();
        prop_assert!(transfers(&chaos).all(|call| asked.contains(&call.call)));
    }
    #[test]
    fn transfers_at_most_a_hundred(actions in actions()) {
        prop_assert!(transfers(&run(actions)?).all(|call| call.arguments.value["amount"].as_u64() <= Some(100)));
    }
    #[test]
    fn calls_at_most_six_tools(actions in actions()) {
        prop_assert!(run(actions)?.tool_calls().map(|call| call.call).collect::<BTreeSet<_>>().len() <= 6);
    }
    #[test]
    fn costs_less_than_a_cent(actions in actions()) {
        prop_assert!(run(actions)?.machine().usage().cost.is_none_or(|cost| cost.nanos() < 10_000_000));
    }
    #[test]
    fn says_how_the_turn_ended(actions in actions()) {
        let chaos = run(actions)?;
        let is_end = |output: &Output| matches!(output, Output::Event(RunEvent::Completed(_)));
        prop_assert_eq!(chaos.machine().outcome().is_some(), chaos.outputs().iter().any(is_end));
    }
}
