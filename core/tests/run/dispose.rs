//! The host goes away: what it has begun is stopped, and the turn can go on elsewhere.

use crate::durability::stored;
use crate::interrupts::asks;
use crate::misuse;
use crate::world::{Reply, ToolReply, World, config, offer};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::ticket::Ticket;
use stepwell_core::run::{
    Effect, EffectId, Ended, Input, Misuse, Opened, Outcome, Output, Run, RunMachine, Start,
    Started, StateKind,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::{Call, Part, body, call, text};

fn worlds() -> Vec<(StateKind, World)> {
    let mut worlds = misuse::worlds();
    let mut asking = crate::world::ag_ui().streams([text("Which?"), asks(&["a"])]);
    asking.send("Hello");
    asking.drive_to(StateKind::Interrupted);
    worlds.push((StateKind::Interrupted, asking));
    worlds
}

/// Disposes of the run, and gives what came out of that.
fn dispose(world: &mut World) -> Vec<String> {
    let before = world.seen.effects().count();
    world
        .input(Input::Dispose)
        .expect("a host can go away at any time");
    world.seen.effect_names().split_off(before)
}

fn take_over(world: &mut World) {
    let snapshot = world.machine.snapshot();
    let machine = RunMachine::revive(&snapshot, Arc::clone(&world.config), Timestamp(world.now));
    world.take_over(machine.expect("it was written by this version"));
}

#[test]
fn in_every_state_what_is_live_is_stopped_and_nothing_else_comes_out() {
    for (state, mut world) in worlds() {
        let outputs = world.seen.outputs.len();
        let stops = dispose(&mut world);
        let expected: &[&str] = match state {
            StateKind::Opening | StateKind::Streaming => &["close open:0:0"],
            StateKind::ExecutingTools => &["cancel tool:0:0"],
            _ => &[],
        };
        assert_eq!(stops, expected, "{state}");
        assert_eq!(world.seen.outputs.len() - outputs, stops.len(), "{state}");
        assert!(world.given.is_empty(), "{state}");
        assert_eq!(
            (world.machine.poll_timeout(), world.machine.timeout_reason()),
            (None, None),
            "{state}"
        );
    }
}

#[test]
fn inputs_after_it_change_nothing_and_say_so() {
    for (state, mut world) in worlds() {
        let live = world.given.iter().next().copied();
        let outcome = world.machine.outcome().cloned();
        dispose(&mut world);
        let snapshot = world.machine.snapshot();
        let messages = world.messages().to_vec();
        let stream = live.unwrap_or(EffectId::Open { hop: 0, attempt: 0 });
        let start = Start::new("again", Message::user("again", "Again"));
        let inputs = [
            Input::Start(Box::new(start)),
            Input::Received {
                effect: stream,
                bytes: b"data: {}\n\n"[..].into(),
            },
            Input::Ended { effect: stream },
            Input::Resume(Vec::new()),
            Input::Cancel,
            Input::Timeout,
        ];
        for input in inputs {
            let name = input.name();
            let later = Timestamp(world.now + 1_000_000_000);
            let refused = world.machine.handle(input, later);
            assert_eq!(refused, Err(Misuse::Disposed { input: name }), "{state}");
            assert_eq!(world.machine.poll_output(), None, "{state}: {name}");
        }
        assert_eq!(dispose(&mut world), [""; 0], "a second time is no mistake");
        assert!(world.machine.is_disposed());
        assert_eq!(world.machine.snapshot(), snapshot);
        assert_eq!(world.messages(), messages);
        assert_eq!(world.machine.state(), state);
        assert_eq!(world.machine.outcome(), outcome.as_ref());
    }
}

#[test]
fn the_snapshot_is_the_run_as_it_was_before() {
    for (state, mut world) in worlds() {
        let before = world.machine.snapshot();
        dispose(&mut world);
        assert_eq!(world.machine.snapshot(), before, "{state}");
        let restored = RunMachine::restore(&before, Arc::clone(&world.config));
        let restored = restored.expect("it was written by this version");
        assert!(!restored.is_disposed());
        assert_eq!(restored.state(), state);
    }
}

#[test]
fn no_end_of_the_turn_is_said() {
    for (state, mut world) in worlds() {
        let ends = world.seen.ends();
        dispose(&mut world);
        assert_eq!(world.seen.ends(), ends, "{state}");
    }
}

#[test]
fn another_host_goes_on_with_the_turn() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("look", "Looks.").idempotent());
    })
    .tool("look", |_| ToolReply::text("seen").after(500))
    .streams([text("Let me see."), call("c", "look", "{}")])
    .streams([text("Done.")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    assert_eq!(dispose(&mut world), ["cancel tool:0:0"]);
    take_over(&mut world);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.invocations().len(), 2);
    assert_eq!(world.seen.ends(), 1);
    world.assert_valid_history();
}

#[test]
fn a_tool_that_was_stopped_so_is_not_run_again_elsewhere() {
    let mut world = stored(Dialect::OpenAiChat, |_| {})
        .tool("work", |_| ToolReply::text("ok").after(500))
        .streams([call("c", "work", "{}")])
        .streams([text("Done.")]);
    world.send("Hello");
    world.drive_until(|world| !world.seen.invocations().is_empty());
    dispose(&mut world);
    take_over(&mut world);
    world.drive();
    assert_eq!(world.seen.invocations().len(), 1);
    assert!(world.result().contains("not known"));
}

#[test]
fn an_approval_that_is_being_asked_for_is_asked_for_no_longer() {
    let mut world = stored(Dialect::OpenAiChat, |_| {}).streams([call("c", "ask", "{}")]);
    world.send("Hello");
    world.drive();
    assert_eq!(dispose(&mut world), ["cancel approve:0:0"]);
}

#[test]
fn outputs_that_were_not_taken_are_not_lost() {
    let config = Arc::new(config(Dialect::OpenAiChat));
    let mut machine = RunMachine::new(Arc::clone(&config), "thread".into(), Transcript::default());
    let start = Start::new("run-1", Message::user("user-1", "Hello"));
    machine.start(start, Timestamp(1)).expect("it is idle");
    // The host goes away before it has taken the request.
    machine
        .handle(Input::Dispose, Timestamp(2))
        .expect("at any time");
    assert_eq!(machine.poll_output(), None);
    let mut elsewhere = RunMachine::revive(&machine.snapshot(), config, Timestamp(3))
        .expect("it was written by this version");
    let is_request =
        |output: &Output| matches!(output, Output::Effect(_, Effect::OpenStream { .. }));
    let requests = std::iter::from_fn(|| elsewhere.poll_output()).filter(is_request);
    assert_eq!(requests.count(), 1);
}

#[test]
fn the_typed_face_takes_the_run_and_leaves_a_snapshot() {
    let now = Timestamp(1);
    let mut config = config(Dialect::OpenAiChat);
    offer(&mut config, Tool::new("work", "Works."));
    let run = Run::new(Arc::new(config), "thread".into(), Transcript::default());
    let started = run.start(Start::new("run-1", Message::user("user-1", "Hello")), now);
    let Started::Opening(mut run) = started else {
        panic!("it fits the context")
    };
    let mut sent = None;
    while let Some(output) = run.poll_output() {
        if let Output::Effect(Ticket::Open(ticket), _) = output {
            sent = Some(ticket);
        }
    }
    let ticket = sent.expect("the request goes out");
    let Opened::Streaming(mut run) = run.opened(ticket, Some("text/event-stream"), now) else {
        panic!("the request is out")
    };
    let says = [Part::Calls(vec![
        Call::new("a", "work", "{}"),
        Call::new("b", "work", "{}"),
    ])];
    let _ = run.receive(&body(Dialect::OpenAiChat, 0, &says), now);
    let Ended::ExecutingTools(mut run) = run.end(now) else {
        panic!("the model asked for tools")
    };
    while run.poll_output().is_some() {}
    let snapshot = run.snapshot();
    let disposed = run.dispose();
    assert_eq!(disposed.snapshot, snapshot);
    let stops = |output: &Output| {
        matches!(
            output,
            Output::Effect(EffectId::Tool(_), Effect::CancelTool)
        )
    };
    assert_eq!(disposed.outputs.len(), 2);
    assert!(disposed.outputs.iter().all(stops));
}

#[test]
fn a_stream_is_closed_and_its_text_stays_readable() {
    let mut world = crate::world::chat().reply(Reply::Stalled(vec![text("Half"), Part::Cut]));
    world.send("Hello");
    world.drive_until(|world| world.machine.transcript().text() == "Half");
    assert_eq!(dispose(&mut world), ["close open:0:0"]);
    assert_eq!(world.machine.transcript().text(), "Half");
}
