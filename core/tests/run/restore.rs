//! Snapshots: the same host goes on, or a new one takes over.

use crate::durability::stored;
use crate::interrupts::{answer, asks};
use crate::turn::{BOTH, secret_numbers};
use crate::world::{Reply, ToolReply, World, offer};
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{AssistantMessage, Message, ToolCall};
use stepwell_core::provider;
use stepwell_core::run::{
    Block, BlockContent, CUT, Effect, EffectId, Failure, Input, Outcome, Output, RunMachine,
    SnapshotError, StateKind, TurnStatus, cut_messages,
};
use stepwell_core::session::{MessageBuilder, Turn, TurnBlock};
use stepwell_core::tool::{Tool, ToolRegistry};
use stepwell_core::transcript::Transcript;
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::reply::{Call, Part, call, text};

/// The host dies; a new one has what the store has, and nothing in its hands.
fn crash(world: &mut World) {
    world.crash();
}

fn revive(world: &mut World, snapshot: &str) {
    let machine = RunMachine::revive(snapshot, Arc::clone(&world.config), Timestamp(world.now));
    world.take_over(machine.expect("it was written by this version"));
}

#[test]
fn i04_a_run_that_is_restored_after_every_input_does_the_same() {
    for dialect in BOTH {
        let plain = secret_numbers(dialect).turn();
        let mut restored = secret_numbers(dialect);
        restored.restores = true;
        let restored = restored.turn();
        assert_eq!(restored.seen.outputs, plain.seen.outputs);
        assert_eq!(restored.machine.snapshot(), plain.machine.snapshot());
    }
}

#[test]
fn a_snapshot_holds_no_key() {
    let mut world = secret_numbers(Dialect::OpenAiChat);
    world.send("Hello");
    while world.step() {
        assert!(!world.machine.snapshot().contains("sk-secret"));
    }
}

#[test]
fn what_is_no_snapshot_is_refused() {
    let config = crate::world::chat().config;
    for text in ["", "{}", "null", "{\"v\":1}", "[1,2]"] {
        let refused = RunMachine::restore(text, Arc::clone(&config));
        assert!(
            matches!(refused, Err(SnapshotError::Malformed(_))),
            "{text}"
        );
    }
}

#[test]
fn a_snapshot_that_was_cut_off_or_damaged_is_refused_and_never_panics() {
    let mut world = secret_numbers(Dialect::OpenAiChat);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    let snapshot = world.machine.snapshot();
    for end in 0..snapshot.len() {
        if let Some(cut) = snapshot.get(..end) {
            assert!(RunMachine::restore(cut, Arc::clone(&world.config)).is_err());
        }
    }
}

#[test]
fn a_snapshot_of_another_version_is_refused_by_name() {
    let world = crate::world::chat();
    let snapshot = world.machine.snapshot();
    for found in [0, 2] {
        let other = snapshot.replacen("\"v\":1", &format!("\"v\":{found}"), 1);
        // Of another version the rest may be otherwise, too.
        for text in [other, format!("{{\"v\":{found}}}")] {
            let expected = SnapshotError::OtherVersion { found };
            let config = || Arc::clone(&world.config);
            let refused = RunMachine::restore(&text, config()).expect_err("another version");
            assert_eq!(refused, expected);
            let refused = RunMachine::revive(&text, config(), Timestamp(0));
            assert_eq!(refused.expect_err("another version"), expected);
        }
        let said = SnapshotError::OtherVersion { found }.to_string();
        assert!(said.contains(&format!("version {found} ")), "{said}");
    }
}

#[test]
fn a_snapshot_of_another_dialect_is_refused() {
    let refused = RunMachine::restore(
        &crate::world::chat().machine.snapshot(),
        crate::world::ag_ui().config,
    );
    assert!(matches!(refused, Err(SnapshotError::OtherDialect { .. })));
}

#[test]
fn a_change_of_the_tools_is_said_and_a_tool_that_vanished_still_gets_an_answer() {
    let mut world = stored(Dialect::OpenAiChat, |_| {})
        .streams([call("c", "work", "{}")])
        .streams([text("Done.")]);
    world.store.takes = 1_000;
    world.send("Hello");
    // The call is checked, but its tool has not been given out.
    world.drive_to(StateKind::ExecutingTools);
    let mut config = (*world.config).clone();
    config.tools = ToolRegistry::new();
    world.config = Arc::new(config);
    let restored = RunMachine::restore(&world.machine.snapshot(), Arc::clone(&world.config));
    world.put_back(restored.expect("readable"));
    world.tools.clear();
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(
        world
            .seen
            .warnings()
            .iter()
            .any(|warning| warning.contains("tools have changed"))
    );
    assert_eq!(world.result(), "the host has no such tool");
}

#[test]
fn revived_while_opening_it_asks_again() {
    let mut world = crate::world::chat()
        .reply(Reply::Silent)
        .streams([text("Yes.")]);
    world.send("Hello");
    let snapshot = world.machine.snapshot();
    revive(&mut world, &snapshot);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(
        world.seen.effect_names(),
        ["open open:0:0", "open open:0:0"]
    );
}

#[test]
fn revived_while_waiting_it_wakes_in_time() {
    let mut world = crate::world::chat()
        .reply(Reply::Unreachable)
        .streams([text("Yes.")]);
    world.send("Hello");
    world.drive_to(StateKind::Waiting);
    let snapshot = world.machine.snapshot();
    revive(&mut world, &snapshot);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn revived_in_mid_stream_what_was_shown_stays_and_the_answer_is_asked_for_anew() {
    for dialect in BOTH {
        let mut world = crate::world::of(dialect)
            .reply(Reply::Stalled(vec![text("Half"), Part::Cut]))
            .streams([text("Whole.")]);
        world.send("Hello");
        world.drive_until(|world| world.machine.transcript().text() == "Half");
        let snapshot = world.machine.snapshot();
        revive(&mut world, &snapshot);
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(said(&world), [("Half", true), ("Whole.", false)]);
    }
}

/// What the model has said, and whether it was cut.
fn said(world: &World) -> Vec<(&str, bool)> {
    let messages = world.machine.transcript().messages().iter();
    let said = messages.filter_map(|message| match message {
        Message::Assistant(said) => {
            let is_cut = said.metadata.as_ref().is_some_and(|all| all[CUT] == true);
            Some((said.content.as_deref().unwrap_or_default(), is_cut))
        }
        _ => None,
    });
    said.collect()
}

/// What the host that died had shown, and nothing of which was stored.
fn shown() -> Vec<Message> {
    let answer = AssistantMessage {
        id: "shown".into(),
        content: Some("Half".to_owned()),
        tool_calls: vec![ToolCall::new("c", "work", "{")],
        ..AssistantMessage::default()
    };
    vec![Message::Assistant(answer)]
}

#[test]
fn what_a_dead_host_has_shown_stays_and_its_calls_have_results() {
    for stands in [StateKind::Opening, StateKind::Waiting] {
        let mut world = stored(Dialect::OpenAiChat, |_| {});
        world = world.reply(match stands {
            StateKind::Waiting => Reply::Unreachable,
            _ => Reply::Silent,
        });
        // The new host asks too, before it hears what was shown.
        world = world.reply(Reply::Silent);
        world = world.streams([text("Whole.")]);
        world.store.takes = 1_000;
        world.send("Hello");
        world.drive_to(stands);
        let snapshot = world.machine.snapshot();
        revive(&mut world, &snapshot);
        let known = world.machine.transcript().messages().to_vec();
        world.input(Input::Shown(known)).expect("it is taken");
        assert_eq!(world.machine.hop(), 0, "it knows all of it");
        world.input(Input::Shown(shown())).expect("it is taken");
        assert_eq!(world.machine.hop(), 1);
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(said(&world), [("Half", true), ("Whole.", false)]);
        let messages = world.machine.transcript().messages();
        let Some(Message::Tool(result)) = messages.get(2) else {
            panic!("no result behind its call: {messages:#?}");
        };
        assert_eq!(result.tool_call_id, "c");
        assert!(
            result
                .error
                .as_deref()
                .is_some_and(|why| why.contains("not run"))
        );
        // The store gives the same conversation back.
        let stored = world.store.blocks.iter();
        let turn = Turn {
            id: world.machine.turn().cloned().expect("it has begun"),
            history: None,
            parent: None,
            message: messages.first().cloned(),
            status: TurnStatus::Complete,
            outcome: None,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            blocks: stored
                .map(|block| TurnBlock {
                    block: block.clone(),
                    at: Timestamp(0),
                })
                .collect(),
        };
        let again = MessageBuilder::new().transcript([&turn]).expect("a path");
        assert_eq!(again.messages(), messages);
    }
}

#[test]
fn what_a_turn_that_cannot_go_on_has_shown_is_marked_and_its_calls_have_results() {
    let cut = cut_messages(&Transcript::default(), shown());
    let [Message::Assistant(said), Message::Tool(result)] = &cut[..] else {
        panic!("not an answer and a result: {cut:#?}");
    };
    let is_cut = said.metadata.as_ref().map(|all| &all[CUT]);
    assert_eq!(is_cut, Some(&Value::Bool(true)));
    assert_eq!(result.tool_call_id, "c");
    assert_eq!(cut_messages(&Transcript::new(cut), shown()), []);
}

#[test]
fn one_death_begins_one_hop_also_when_more_was_shown_than_stored() {
    let mut world = crate::world::chat()
        .reply(Reply::Stalled(vec![text("Half")]))
        // The new host asks before it hears what was shown.
        .reply(Reply::Silent)
        .streams([text("Whole.")]);
    world.send("Hello");
    world.drive_until(|world| world.machine.transcript().text() == "Half");
    let snapshot = world.machine.snapshot();
    let mut shown = world.machine.transcript().messages().to_vec();
    let Some(Message::Assistant(answer)) = shown.last_mut() else {
        panic!("no answer: {shown:#?}");
    };
    answer.content = Some("Half of it".to_owned());
    revive(&mut world, &snapshot);
    assert_eq!(world.machine.hop(), 1);
    world.input(Input::Shown(shown)).expect("it is taken");
    assert_eq!(world.machine.hop(), 1);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(said(&world), [("Half of it", true), ("Whole.", false)]);
}

#[test]
fn another_provider_goes_on_with_a_revived_turn() {
    let provider = provider::find("anthropic").expect("a provider");
    let endpoint = provider.endpoint(None, "m", None, Some("key".into()));
    let endpoint = endpoint.expect("an endpoint");
    for drive_to in [StateKind::Opening, StateKind::Streaming] {
        let mut world = crate::world::chat().reply(Reply::Stalled(vec![text("Half"), Part::Cut]));
        world.send("Hello");
        world.drive_to(drive_to);
        if drive_to == StateKind::Streaming {
            world.drive_until(|world| world.machine.transcript().text() == "Half");
        }
        let mut other = (*world.config).clone();
        other.endpoint = endpoint.clone();
        let snapshot = world.machine.snapshot();
        let machine = RunMachine::revive(&snapshot, Arc::new(other), Timestamp(world.now));
        let mut machine = machine.expect("it is readable");
        let requests =
            std::iter::from_fn(|| machine.poll_output()).filter_map(|output| match output {
                Output::Effect(_, Effect::OpenStream { request }) => Some(request.url),
                _ => None,
            });
        let requests: Vec<_> = requests.collect();
        assert_eq!(requests.len(), 1, "{drive_to}");
        assert!(requests[0].ends_with("/messages"), "{requests:?}");
    }
}

#[test]
fn the_questions_of_an_agent_that_is_gone_fail_the_turn() {
    let mut world = crate::world::ag_ui().streams([asks(&["a"])]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    let other = crate::world::chat().config;
    let machine = RunMachine::revive(&world.machine.snapshot(), other, Timestamp(world.now));
    let failure = machine.expect("it is readable").outcome().cloned();
    assert!(matches!(
        failure,
        Some(Outcome::Failed {
            failure: Failure::Connection { .. }
        })
    ));
}

#[test]
fn revived_before_the_first_event_it_tries_again() {
    let mut world = crate::world::chat()
        .reply(Reply::Stalled(vec![Part::Heartbeat, Part::Cut]))
        .streams([text("Yes.")]);
    world.send("Hello");
    world.drive_to(StateKind::Streaming);
    let snapshot = world.machine.snapshot();
    revive(&mut world, &snapshot);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

fn two_kinds() -> World {
    let mut world = stored(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("look", "Looks.").idempotent());
    })
    .tool("look", |_| ToolReply::text("seen").after(500))
    .tool("work", |_| ToolReply::text("worked").after(500))
    .streams([Part::Calls(vec![
        Call::new("a", "work", "{}"),
        Call::new("b", "look", "{}"),
    ])])
    .streams([text("Done.")]);
    world.send("Hello");
    world.drive_until(|world| world.seen.invocations().len() == 2);
    world
}

#[test]
fn revived_while_tools_run_only_the_idempotent_one_runs_again() {
    let mut world = two_kinds();
    crash(&mut world);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let runs: Vec<_> = world
        .seen
        .invocations()
        .iter()
        .map(|invocation| invocation.name.clone())
        .collect();
    assert_eq!(runs, ["work", "look", "look"]);
    let results = world.results();
    assert!(results[0].1.contains("not known"), "{results:?}");
    assert_eq!(results[1].1, "seen");
    assert_eq!(world.store.status, Some(TurnStatus::Complete));
    world.assert_valid_history();
}

#[test]
fn the_last_write_counts_as_stored_after_a_crash_before_its_answer() {
    let mut world = stored(Dialect::OpenAiChat, |_| {})
        .streams([call("c", "work", "{}")])
        .streams([text("Done.")]);
    world.store.takes = 1_000;
    world.send("Hello");
    world.drive_until(|world| !world.store.blocks.is_empty());
    // The write is in the store, the run has not heard of it.
    crash(&mut world);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(
        world.seen.invocations().is_empty(),
        "it may have run: it counts as begun"
    );
    assert!(world.result().contains("not known"));
    assert_eq!(world.store.status, Some(TurnStatus::Complete));
}

#[test]
fn a_write_that_was_not_given_out_yet_is_given_after_a_crash() {
    let mut world = stored(Dialect::OpenAiChat, |_| {}).streams([text("Yes.")]);
    world.send("Hello");
    world.store.failures = 1;
    world.drive_until(|world| world.store.failures == 0);
    let effect = EffectId::Persist { sequence: 0 };
    // A snapshot between the failure and the next try.
    world
        .machine
        .handle(
            Input::PersistFailed {
                effect,
                message: "full".into(),
            },
            Timestamp(world.now),
        )
        .expect("given");
    let snapshot = world.machine.snapshot();
    revive(&mut world, &snapshot);
    world.drive();
    assert_eq!(world.store.blocks.len(), 1);
}

#[test]
fn revived_while_the_user_is_asked_it_asks_again() {
    let mut world = stored(Dialect::OpenAiChat, |_| {})
        .streams([call("c", "ask", "{}")])
        .streams([text("Done.")]);
    world.send("Hello");
    world.drive();
    crash(&mut world);
    world.drive();
    let asked = world
        .seen
        .effect_names()
        .iter()
        .filter(|name| name.starts_with("ask"))
        .count();
    assert_eq!(asked, 2);
    let effect = EffectId::Approve(CallKey { hop: 0, index: 0 });
    let decision = stepwell_core::run::Decision::Granted;
    world
        .input(Input::Decided { effect, decision })
        .expect("it is asked");
    world.drive();
    assert_eq!(world.result(), "did it");
}

/// An agent that asks the user and for a tool in one stream.
#[test]
fn i07_the_users_answer_to_an_agent_is_stored_before_the_tool_that_it_sets_free() {
    let mut world = stored(Dialect::AgUi, |_| {})
        .streams([call("c", "work", "{}"), asks(&["q"])])
        .streams([text("Done.")])
        .tool("work", |_| ToolReply::never());
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    world.drive();
    world
        .input(Input::Resume(vec![answer("q")]))
        .expect("it asks");
    world.drive_until(|world| !world.seen.invocations().is_empty());
    let answered = |block: &Block| matches!(&block.content, BlockContent::Resumed { answers } if answers.len() == 1);
    assert!(world.store.blocks.iter().any(answered));
    // The host dies while the tool runs.
    crash(&mut world);
    assert!(
        world.machine.interrupts().is_empty(),
        "the user has answered"
    );
    world.drive();
    assert_eq!(world.seen.invocations().len(), 1, "not run again");
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.results()[0].1.contains("not known"));
}

#[test]
fn revived_while_interrupted_it_still_asks() {
    let mut world = crate::world::ag_ui()
        .streams([text("Which?"), asks(&["a"])])
        .streams([text("Thanks.")]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    let snapshot = world.machine.snapshot();
    revive(&mut world, &snapshot);
    assert_eq!(world.machine.interrupts().len(), 1);
    world
        .input(Input::Resume(vec![answer("a")]))
        .expect("all are answered");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn i07_no_tool_runs_twice_over_a_crash_at_any_write() {
    for die_after in 1.. {
        let mut world = stored(Dialect::OpenAiChat, |_| {})
            .streams([Part::Calls(vec![
                Call::new("a", "work", "{}"),
                Call::new("b", "work", "{}"),
            ])])
            .streams([call("c", "work", "{}")])
            .streams([text("Done.")]);
        world.fallback_reply = Some(Reply::Complete(vec![text("Done.")]));
        world.send("Hello");
        let mut died = false;
        while world.step() {
            if !died && world.store.writes.len() == die_after {
                died = true;
                crash(&mut world);
            }
        }
        let mut runs: Vec<_> = world
            .seen
            .invocations()
            .iter()
            .map(|invocation| invocation.call)
            .collect();
        let all = runs.len();
        runs.sort_unstable();
        runs.dedup();
        assert_eq!(
            runs.len(),
            all,
            "a call ran twice after a crash at write {die_after}"
        );
        assert!(world.machine.outcome().is_some());
        world.assert_valid_history();
        if !died {
            return;
        }
    }
}

#[test]
fn a_deep_state_does_not_keep_a_snapshot_from_being_read() {
    // As deep as the decoder takes.
    let deep = (1..127).rev().find_map(|depth| {
        let state = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let event = format!("data: {{\"type\":\"STATE_SNAPSHOT\",\"snapshot\":{state}}}\n\n");
        let world = crate::world::ag_ui()
            .streams([Part::Raw(event), text("Yes.")])
            .turn();
        (*world.outcome() == Outcome::Success).then_some(world)
    });
    let world = deep.expect("some depth is taken");
    let restored = RunMachine::restore(&world.machine.snapshot(), Arc::clone(&world.config));
    assert!(restored.is_ok(), "{restored:?}");
}

proptest::proptest! {
    #[test]
    fn i04_a_number_in_the_shared_state_is_the_same_after_a_restore(numbers: [f64; 32]) {
        let state = serde_json::json!({ "numbers": numbers });
        let history = stepwell_core::transcript::Transcript::default().with_shared_state(state.clone());
        let config = crate::world::chat().config;
        let machine = RunMachine::new(Arc::clone(&config), "thread".into(), history);
        let restored = RunMachine::restore(&machine.snapshot(), config).expect("it is a snapshot");
        proptest::prop_assert_eq!(restored.transcript().shared_state(), &state);
    }
}
