//! Backends that create runs first.

use crate::world::{ToolReply, World, offer};
use serde_json::Value;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    Effect, EffectId, Failure, Input, Outcome, Output, RunEvent, RunIds, Start,
};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{call, text};

fn world() -> World {
    crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.run_ids = RunIds::Host;
    })
    .tool("work", |_| ToolReply::text("ok"))
    .streams([call("c", "work", "{}")])
    .streams([text("Done.")])
}

#[test]
fn the_first_run_of_a_turn_is_created_before_its_request_goes_out() {
    let mut world = world();
    world.first_run = Some("backend-1".into());
    world.runs.push_back("backend-2".into());
    let start = Start {
        parent_run_id: Some("before".into()),
        ..Start::new("turn-1", Message::user("user-1", "Hello"))
    };
    world
        .input(Input::Start(Box::new(start)))
        .expect("it is idle");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let requests = world.seen.requests();
    let ids = |request: &Value| {
        let id = |field: &str| request[field].as_str().map(str::to_owned);
        (id("runId"), id("parentRunId"))
    };
    let some = |id: &str| Some(id.to_owned());
    assert_eq!(ids(&requests[0]), (some("backend-1"), some("before")));
    assert_eq!(ids(&requests[1]), (some("backend-2"), some("backend-1")));
    let outputs: Vec<_> = (world.seen.effects())
        .filter_map(|(id, effect)| match effect {
            Effect::CreateRun { parent_run_id, .. } => {
                Some(format!("{id} after {}", parent_run_id.as_deref()?))
            }
            Effect::OpenStream { .. } => Some(id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(
        outputs,
        [
            "create_run:0 after before",
            "open:0:0",
            "create_run:1 after backend-1",
            "open:1:0"
        ]
    );
    let started = world.seen.events().filter_map(|event| match event {
        RunEvent::Started { run_id, .. } => Some(format!("turn {run_id}")),
        RunEvent::HopStarted { hop, run_id } => Some(format!("hop {hop} {run_id}")),
        _ => None,
    });
    assert_eq!(
        started.collect::<Vec<_>>(),
        ["turn turn-1", "hop 0 backend-1", "hop 1 backend-2"]
    );
}

#[test]
fn a_turn_whose_first_run_cannot_be_created_fails_and_asks_the_model_nothing() {
    let mut world = world();
    let start = Start::new("turn-1", Message::user("user-1", "Hello"));
    world
        .machine
        .handle(Input::Start(Box::new(start)), Timestamp(1))
        .expect("it is idle");
    let mut created = None;
    while let Some(output) = world.machine.poll_output() {
        match output {
            Output::Effect(id @ EffectId::CreateRun { hop: 0 }, _) => created = Some(id),
            Output::Effect(id, _) => panic!("{id} before there is a run"),
            Output::Event(_) | Output::Moved(_) => {}
        }
    }
    let refused = Input::RunNotCreated {
        effect: created.expect("a run is asked for"),
        message: "the room is closed".into(),
    };
    world
        .machine
        .handle(refused, Timestamp(2))
        .expect("it is awaited");
    let failure = Failure::RunNotCreated {
        message: "the room is closed".into(),
    };
    assert_eq!(world.machine.outcome(), Some(&Outcome::Failed { failure }));
    let texts = world.machine.transcript().messages().len();
    assert_eq!(texts, 1, "what the user said is kept");
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
        } => Some((thread_id.to_string(), parent_run_id.as_deref()?.to_owned())),
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
    assert!(world.given.is_empty());
    world.assert_valid_history();
}
