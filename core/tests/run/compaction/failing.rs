//! Summaries that fail, break off, or are cut short by a cancellation or a kill.

use super::{compactions, opens, summarizing, summary, summary_policy};
use crate::context::{long_history, with_history};
use crate::durability::stored;
use crate::world::{Reply, ToolReply};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    BlockContent, Credentials, Failure, HookMoment, HookSpec, Input, NetworkChangePolicy, Outcome,
    Refusal, RunIds, RunMachine, StateKind,
};
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::{Part, call, text};

#[test]
fn a_summary_is_retried_and_then_given_up() {
    let refused = || {
        Reply::Refused(Refusal {
            status: 500,
            ..Refusal::default()
        })
    };
    let faults = [
        refused(),
        Reply::Unreachable,
        Reply::Silent,
        Reply::Stalled(vec![text("They"), Part::Cut]),
        Reply::Broken(vec![text("They"), Part::Cut]),
        Reply::Complete(vec![text("They"), Part::Cut]),
        Reply::Complete(vec![Part::Error("overloaded_error".to_owned())]),
    ];
    for fault in faults {
        let world = summarizing(|_| {})
            .reply(fault.clone())
            .streams(summary())
            .streams([text("Yes.")])
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success, "{fault:?}");
        assert_eq!(compactions(&world).len(), 1, "{fault:?}");
        assert_eq!(opens(&world).len(), 3, "{fault:?}");
    }
    // The request does not fit without a summary.
    let page = Reply::Body(Some("text/html"), b"<html>".to_vec());
    let world = summarizing(|_| {}).reply(page).turn();
    assert!(matches!(
        world.outcome(),
        Outcome::Failed {
            failure: Failure::ContextTooLong { .. }
        }
    ));
}

#[test]
fn a_turn_that_still_fits_continues_without_a_summary() {
    for empty in [false, true] {
        let mut world = summarizing(|config| config.context_guard.window = Some(1_700));
        world = if empty {
            world.streams([Part::Usage {
                input: 5,
                output: 1,
            }])
        } else {
            world.reply(Reply::Unreachable).reply(Reply::Unreachable)
        };
        let world = world
            .streams([call("c", "work", "{}")])
            .streams([text("Yes.")])
            .turn();
        let warnings = world.seen.warnings();
        assert!(
            warnings.iter().any(|it| it.contains("without a summary")),
            "{warnings:?}"
        );
        assert!(compactions(&world).is_empty());
        let requests = world.seen.requests();
        let of_summary = requests.iter().filter(|it| it["model"] == "cheap");
        assert_eq!(
            of_summary.count(),
            if empty { 1 } else { 2 },
            "none is asked for again"
        );
    }
}

#[test]
fn cancel_cuts_a_summary_short() {
    for (state, reply) in [
        (StateKind::Opening, Reply::Silent),
        (
            StateKind::Summarizing,
            Reply::Stalled(vec![text("They"), Part::Cut]),
        ),
        (StateKind::Waiting, Reply::Unreachable),
    ] {
        let mut world = summarizing(|_| {}).reply(reply);
        world.send("Go on");
        world.drive_to(state);
        let given: Vec<_> = world.given.iter().copied().collect();
        world.cancel();
        assert_eq!(*world.outcome(), Outcome::Cancelled);
        assert!(world.given.is_empty(), "the host closes {given:?}");
        assert_eq!(world.messages().len(), 7);
        assert!(compactions(&world).is_empty());
    }
    // What it had cost until then is the turn's.
    let world = stored(Dialect::OpenAiChat, |config| {
        config.context_guard.window = Some(1_500);
        config.compaction = summary_policy();
    });
    let mut world =
        with_history(world, long_history()).reply(Reply::Stalled(vec![text("They"), Part::Cut]));
    world.send("Go on");
    world.drive_until(|world| world.scheduled.is_empty());
    world.cancel();
    let counts = |block: &BlockContent| match block {
        BlockContent::Compacted { usage, .. } => !usage.is_empty(),
        _ => false,
    };
    let mut blocks = world.store.turn.turn.blocks.iter();
    assert!(blocks.any(|stored| counts(&stored.block.content)));
}

#[test]
fn a_kill_in_the_middle_of_a_summary_resumes_it() {
    for state in [
        StateKind::Opening,
        StateKind::Summarizing,
        StateKind::Waiting,
    ] {
        let world = stored(Dialect::OpenAiChat, |config| {
            config.context_guard.window = Some(1_500);
            config.compaction = summary_policy();
        });
        let mut world = with_history(world, long_history());
        world.store.turn.history = Transcript::new(long_history());
        world = world.reply(match state {
            StateKind::Waiting => Reply::Unreachable,
            _ => Reply::Stalled(vec![text("They"), Part::Cut]),
        });
        world.send("Go on");
        world.drive_to(state);
        let snapshot = world.machine.snapshot();
        let revived =
            RunMachine::revive(&snapshot, Arc::clone(&world.config), Timestamp(world.now))
                .expect("it was just written");
        world.replies = [
            Reply::Complete(summary()),
            Reply::Complete(vec![text("Yes.")]),
        ]
        .into();
        world.take_over(revived);
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success, "{state:?}");
        assert_eq!(compactions(&world).len(), 1, "{state:?}");
        let compaction = world.machine.transcript().compaction();
        assert_eq!(
            compaction.summary.as_deref(),
            Some("They spoke of x and y.")
        );
    }
}

#[test]
fn a_restored_run_continues_to_read_its_summary() {
    let mut world = summarizing(|_| {})
        .streams(summary())
        .streams([call("c", "work", "{}")])
        .streams([text("Yes.")]);
    world.tools.clear();
    world = world.tool("work", |_| ToolReply::text("ok"));
    world.restores = true;
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(compactions(&world).len(), 1);
}

#[test]
fn another_network_asks_for_the_summary_again() {
    let mut world = summarizing(|config| {
        config.device.network_change = NetworkChangePolicy::Reopen;
    })
    .reply(Reply::Stalled(vec![text("They"), Part::Cut]))
    .streams(summary())
    .streams([text("Yes.")]);
    world.send("Go on");
    world.drive_to(StateKind::Summarizing);
    world.input(Input::NetworkLost).expect("at any time");
    world.input(Input::NetworkAvailable).expect("at any time");
    assert_eq!(world.machine.state(), StateKind::Opening);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(compactions(&world).len(), 1);
}

#[test]
fn hooks_runs_and_credentials_are_those_of_the_hop() {
    let mut world = summarizing(|config| {
        config.run_ids = RunIds::Host;
        config.hooks = vec![HookSpec::new("look", HookMoment::ALL)];
        config.credentials = Credentials::Host;
    })
    .streams(summary())
    .streams([text("Yes.")]);
    world.credentials.push_back(Ok("key"));
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let names = world.seen.effect_names();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "open open:0:0",
            "hook hook:before_request:0:0",
            "create create_run:0",
            "authorize authorize:0:1",
            "open open:0:1",
            "hook hook:after_answer:0:0",
        ]
    );
}

#[test]
fn messages_that_a_dead_host_showed_end_the_request_for_a_summary() {
    let mut world = summarizing(|_| {})
        .reply(Reply::Stalled(vec![text("They"), Part::Cut]))
        .reply(Reply::Silent)
        .streams(summary())
        .streams([text("Yes.")]);
    world.send("Go on");
    world.drive_to(StateKind::Summarizing);
    let revived = RunMachine::revive(
        &world.machine.snapshot(),
        Arc::clone(&world.config),
        Timestamp(world.now),
    );
    world.take_over(revived.expect("it was just written"));
    let shown = Message::Assistant(stepwell_core::event::AssistantMessage {
        id: "shown".into(),
        content: Some("I th".to_owned()),
        ..Default::default()
    });
    world
        .input(Input::Shown(vec![shown]))
        .expect("a new host says so");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(
        world.machine.transcript().compaction().summary.as_deref(),
        Some("They spoke of x and y.")
    );
}
