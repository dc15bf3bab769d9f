//! Backends that create runs first.

use crate::wire::{call, text};
use crate::world::{Work, World, offer};
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{Effect, Failure, Outcome, RunEvent, RunIds};
use stepwell_core::tool::Tool;

fn world() -> World {
    World::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.run_ids = RunIds::Host;
    })
    .tool("work", |_| Work::gives("ok"))
    .says([call("c", "work", "{}")])
    .says([text("Done.")])
}

#[test]
fn a_run_is_created_for_each_continuation() {
    let mut world = world();
    world.runs.push_back("backend-run".into());
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(
        world.machine.run_id().map(|id| id.as_str()),
        Some("backend-run")
    );
    let request = &world.seen.requests()[1];
    assert_eq!(request["runId"], "backend-run");
    assert_eq!(request["parentRunId"], "run-1");
    let created = world.seen.effects().find_map(|(_, effect)| match effect {
        Effect::CreateRun {
            thread_id,
            parent_run_id,
        } => Some((thread_id.to_string(), parent_run_id.to_string())),
        _ => None,
    });
    assert_eq!(created, Some(("thread".to_owned(), "run-1".to_owned())));
    let hop = |event: &RunEvent| matches!(event, RunEvent::HopStarted { hop: 1, run_id } if *run_id == "backend-run");
    assert!(world.seen.events().any(hop));
}

#[test]
fn a_run_that_cannot_be_created_fails_the_turn_and_keeps_the_results() {
    let world = world().turn();
    let failure = Failure::RunNotCreated {
        message: "no more runs".into(),
    };
    assert_eq!(*world.outcome(), Outcome::Failed { failure });
    assert_eq!(world.result(), "ok");
    assert!(world.hands.is_empty());
    world.assert_legal();
}
