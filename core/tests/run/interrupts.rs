//! The agent asks the user, and goes on with the answers.

use crate::world::{Reply, ToolReply, World, offer};
use serde_json::json;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{ResumeEntry, ResumeStatus};
use stepwell_core::run::{Input, Misuse, Outcome, ResumeError, RunEvent, StateKind};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Part, call, text};

pub fn answer(id: &str) -> ResumeEntry {
    ResumeEntry {
        interrupt_id: id.to_owned(),
        status: ResumeStatus::Resolved,
        payload: Some(json!({"answer": id})),
        metadata: None,
        extra: Default::default(),
    }
}

pub fn asks(ids: &[&str]) -> Part {
    let interrupts: Vec<_> = ids
        .iter()
        .map(|id| json!({"id": id, "reason": "question"}))
        .collect();
    Part::Outcome(json!({"type": "interrupt", "interrupts": interrupts}))
}

fn asking(ids: &[&str]) -> World {
    let mut world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.timeouts.turn = Some(Duration::from_secs(60));
    })
    .tool("work", |_| ToolReply::text("ok"))
    .streams([text("Which one?"), asks(ids)]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    world
}

#[test]
fn the_turn_rests_until_the_user_answers() {
    let mut world = asking(&["a", "b"]);
    world.drive();
    assert_eq!(world.machine.state(), StateKind::Interrupted);
    assert_eq!(
        world.machine.poll_timeout(),
        None,
        "the user has all the time there is"
    );
    assert_eq!(world.machine.interrupts().len(), 2);
    assert!(world.seen.events().any(
        |event| matches!(event, RunEvent::Interrupted { interrupts } if interrupts.len() == 2)
    ));
}

#[test]
fn all_answers_go_with_the_next_request() {
    let mut world = asking(&["a", "b"]).streams([text("Thanks.")]);
    world
        .input(Input::Resume(vec![answer("b"), answer("a")]))
        .expect("all are answered");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let requests = world.seen.requests();
    assert_eq!(requests[0].get("resume"), None);
    assert_eq!(requests[1]["resume"][0]["interruptId"], "b");
    assert_eq!(requests[1]["resume"][1]["payload"], json!({"answer": "a"}));
}

#[test]
fn the_answers_go_again_with_a_retry_and_not_with_the_hop_after() {
    let mut world = asking(&["a"])
        .reply(Reply::Unreachable)
        .reply(Reply::Unreachable)
        .streams([call("c", "work", "{}")])
        .streams([text("Thanks.")]);
    world
        .input(Input::Resume(vec![answer("a")]))
        .expect("all are answered");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let requests = world.seen.requests();
    let resumes: Vec<_> = requests
        .iter()
        .map(|request| request.get("resume").is_some())
        .collect();
    assert_eq!(resumes, [false, true, true, true, false]);
}

#[test]
fn the_answers_survive_a_stream_that_was_opened_and_showed_nothing() {
    use stepwell_core::run::EffectId;
    let mut world = asking(&["a"])
        .reply(Reply::Silent)
        .streams([text("Thanks.")]);
    world
        .input(Input::Resume(vec![answer("a")]))
        .expect("all are answered");
    let effect = EffectId::Open { hop: 1, attempt: 0 };
    world
        .input(Input::Opened {
            effect,
            content_type: None,
        })
        .expect("it is pending");
    world
        .input(Input::Lost {
            effect,
            message: "reset".into(),
        })
        .expect("it is live");
    world.drive();
    let requests = world.seen.requests();
    assert_eq!(requests[1], requests[2]);
    assert_eq!(requests[2]["resume"][0]["interruptId"], "a");
}

#[track_caller]
fn refused(answers: Vec<ResumeEntry>, error: &ResumeError) {
    let mut world = asking(&["a", "b"]);
    let before = world.machine.snapshot();
    let misuse = world
        .input(Input::Resume(answers))
        .expect_err("they do not fit");
    assert_eq!(misuse, Misuse::Resume(error.clone()));
    assert_eq!(world.machine.snapshot(), before, "the run is as it was");
    assert_eq!(world.machine.state(), StateKind::Interrupted);
}

#[test]
fn a_missing_answer_is_a_mistake() {
    refused(vec![answer("a")], &ResumeError::Unanswered("b".into()));
}

#[test]
fn an_answer_to_no_question_is_a_mistake() {
    refused(
        vec![answer("a"), answer("b"), answer("z")],
        &ResumeError::Unknown("z".into()),
    );
}

#[test]
fn two_answers_to_one_question_are_a_mistake() {
    refused(
        vec![answer("a"), answer("a"), answer("b")],
        &ResumeError::Twice("a".into()),
    );
}

#[test]
fn calls_of_an_interrupted_hop_run_once_the_user_has_answered() {
    let mut world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::text("ok"))
    .streams([call("c", "work", "{}"), asks(&["a"])])
    .streams([text("Done.")]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    assert!(world.seen.invocations().is_empty());
    world
        .input(Input::Resume(vec![answer("a")]))
        .expect("all are answered");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.result(), "ok");
    assert_eq!(world.seen.requests()[1]["resume"][0]["interruptId"], "a");
    world.assert_valid_history();
}

#[test]
fn the_call_that_a_question_is_about_is_left_to_the_agent() {
    let outcome = json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "approval", "toolCallId": "c"}]});
    let mut world = crate::world::ag_ui()
        .streams([call("c", "their_tool", "{}"), Part::Outcome(outcome)])
        .streams([text("Done.")]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    world
        .input(Input::Resume(vec![answer("i")]))
        .expect("all are answered");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.results().is_empty(), "no error in the agent's place");
}

#[test]
fn the_turns_clock_stands_still_for_the_user() {
    let mut world = asking(&["a"]).reply(Reply::Silent);
    world.wait(3_600_000);
    world.input(Input::Timeout).expect("time passes");
    assert_eq!(world.machine.state(), StateKind::Interrupted);
    world
        .input(Input::Resume(vec![answer("a")]))
        .expect("all are answered");
    let left = world
        .machine
        .poll_timeout()
        .expect("the turn's clock runs on")
        .0
        - world.now;
    assert!((59_000..60_000).contains(&left), "{left}");
}
