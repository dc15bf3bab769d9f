//! Blocks, writes, and what waits for them.

use crate::turn::{BOTH, secret_number};
use crate::world::{ToolReply, World, offer};
use serde_json::json;
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{AssistantMessage, Message};
use stepwell_core::run::{
    BlockContent, Decision, Durability, Failure, Input, Outcome, RunConfig, RunMachine, Start,
    StateKind, TurnOptions, TurnStatus,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::{Call, Part, call, text};

pub fn stored(dialect: Dialect, change: impl FnOnce(&mut RunConfig)) -> World {
    crate::world::with(dialect, |config| {
        config.durability = Durability::Blocks { attempts: 3 };
        offer(config, Tool::new("work", "Works."));
        offer(config, Tool::new("ask", "Asks.").requires_approval());
        offer(config, secret_number());
        change(config);
    })
    .tool("work", |_| ToolReply::text("ok"))
    .tool("ask", |_| ToolReply::text("did it"))
}

fn turn_with_a_tool(dialect: Dialect) -> World {
    stored(dialect, |_| {})
        .streams([text("Let me see."), call("c", "work", "{}")])
        .streams([text("Done.")])
}

pub fn kinds(world: &World) -> Vec<&'static str> {
    let kind = |content: &BlockContent| match content {
        BlockContent::Text { .. } => "text",
        BlockContent::Reasoning { .. } => "reasoning",
        BlockContent::ToolUse { .. } => "tool_use",
        BlockContent::HooksPassed { .. } => "hooks_passed",
        BlockContent::Approval { .. } => "approval",
        BlockContent::Answer { .. } => "answer",
        BlockContent::ToolResult { .. } => "tool_result",
        BlockContent::Steering { .. } => "steering",
        BlockContent::Message { .. } => "message",
        BlockContent::Messages { .. } => "messages",
        BlockContent::State { .. } => "state",
        BlockContent::Usage { .. } => "usage",
        BlockContent::ApprovalAsked { .. } => "approval_asked",
        _ => "?",
    };
    world
        .store
        .blocks
        .iter()
        .map(|block| kind(&block.content))
        .collect()
}

fn texts(world: &World) -> String {
    let texts = world
        .store
        .blocks
        .iter()
        .filter_map(|block| match &block.content {
            BlockContent::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
    texts.collect()
}

#[test]
fn every_block_is_stored_once_and_in_sequence() {
    for dialect in BOTH {
        let world = turn_with_a_tool(dialect).turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(kinds(&world), ["text", "tool_use", "tool_result", "text"]);
        let hops: Vec<_> = world
            .store
            .blocks
            .iter()
            .map(|block| (block.sequence, block.hop))
            .collect();
        assert_eq!(hops, [(0, 0), (1, 0), (2, 0), (3, 1)]);
        assert_eq!(texts(&world), world.machine.transcript().text());
    }
}

#[test]
fn reasoning_is_stored_as_a_block_of_its_own() {
    for dialect in BOTH {
        let world = stored(dialect, |_| {})
            .streams([Part::Reasoning("Hm, well.".to_owned()), text("Yes.")])
            .turn();
        assert_eq!(kinds(&world), ["reasoning", "text"]);
        let content = &world.store.blocks[0].content;
        assert!(
            matches!(content, BlockContent::Reasoning { text, .. } if text == "Hm, well."),
            "{content:?}"
        );
    }
}

#[test]
fn a_call_with_the_id_of_an_earlier_one_is_stored_with_its_own_result_alone() {
    let world = stored(Dialect::OpenAiChat, |_| {})
        .streams([call("c", "work", "{\"n\":1}")])
        .streams([call("c", "work", "{\"n\":2}")])
        .streams([text("Done.")])
        .turn();
    let round = ["tool_use", "tool_result"];
    assert_eq!(kinds(&world), [&round[..], &round, &["text"]].concat());
}

#[test]
fn of_a_thread_with_a_history_only_the_turn_is_stored() {
    for dialect in BOTH {
        let mut world = turn_with_a_tool(dialect);
        let before = AssistantMessage {
            id: "before".into(),
            content: Some("Some time ago.".to_owned()),
            ..AssistantMessage::default()
        };
        let history = vec![
            Message::user("user-0", "Before"),
            Message::Assistant(before),
        ];
        world.machine = RunMachine::new(
            Arc::clone(&world.config),
            "thread".into(),
            Transcript::new(history),
        );
        assert_eq!(texts(&world.turn()), "Let me see.Done.", "{dialect:?}");
    }
}

#[test]
fn of_a_thread_whose_messages_the_backend_names_anew_only_the_turn_is_stored() {
    let said =
        |id: &str, role: &str, content: &str| json!({"id": id, "role": role, "content": content});
    let history = serde_json::from_value(json!([
        said("user-0", "user", "Before"),
        said("before", "assistant", "Some time ago."),
    ]));
    let messages = [
        said("user-0", "user", "Before"),
        said("before", "assistant", "Some time ago."),
        said("theirs", "user", "Go on"),
        said("m", "assistant", "An answer."),
    ];
    let snapshot = json!({"type": "MESSAGES_SNAPSHOT", "messages": messages});
    let mut world = stored(Dialect::AgUi, |_| {}).streams([Part::Event(snapshot)]);
    world.machine = RunMachine::new(
        Arc::clone(&world.config),
        "thread".into(),
        Transcript::new(history.expect("messages of AG-UI")),
    );
    let world = world.turn();
    let [block] = &world.store.blocks[..] else {
        panic!("{:?}", world.store.blocks);
    };
    let BlockContent::Messages { after, messages } = &block.content else {
        panic!("{block:?}");
    };
    assert_eq!(after.as_deref(), Some("before"));
    let ids: Vec<_> = messages
        .iter()
        .map(|message| message.id().as_str())
        .collect();
    assert_eq!(ids, ["theirs", "m"]);
}

/// The user's words in the middle of a turn, as the backend tells them, end nothing.
#[test]
fn what_comes_before_the_last_words_of_the_user_is_stored_too() {
    let function = json!({"name": "theirs", "arguments": "{}"});
    let messages = json!([
        {"id": "user-1", "role": "user", "content": "Go on"},
        {"id": "m", "role": "assistant", "content": "An answer.", "toolCalls": [
            {"id": "c", "type": "function", "function": function},
        ]},
        {"id": "t", "role": "tool", "toolCallId": "c", "content": "A result."},
        {"id": "user-2", "role": "user", "content": "And now?"},
    ]);
    let said = [
        json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "An answer."}),
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "theirs", "parentMessageId": "m"}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
        json!({"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "A result."}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}),
    ];
    // The agent may begin on its own.
    let first = Some(Message::user("user-1", "Go on"));
    for (message, theirs) in [(first, 1), (None, 2)] {
        let mut world = stored(Dialect::AgUi, |_| {}).streams(said.clone().map(Part::Event));
        let start = Start {
            run_id: "run-1".into(),
            parent_run_id: None,
            message,
            resume: Vec::new(),
            options: TurnOptions::default(),
        };
        world
            .input(Input::Start(Box::new(start)))
            .expect("it is idle");
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(texts(&world), "An answer.");
        let mut expected = vec!["text", "tool_use", "tool_result"];
        expected.extend(vec!["message"; theirs]);
        assert_eq!(kinds(&world), expected, "and what they say in between");
    }
}

#[test]
fn the_turn_is_streaming_in_the_store_until_it_is_closed_once() {
    for dialect in BOTH {
        let world = turn_with_a_tool(dialect).turn();
        let statuses: Vec<_> = world
            .store
            .writes
            .iter()
            .map(|(status, _)| *status)
            .collect();
        let (last, before) = statuses.split_last().expect("there were writes");
        assert_eq!(*last, TurnStatus::Complete);
        assert!(before.iter().all(|status| *status == TurnStatus::Streaming));
    }
}

#[test]
fn a_tool_runs_only_once_its_call_is_stored() {
    let mut world = turn_with_a_tool(Dialect::OpenAiChat);
    world.store.takes = 1_000;
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    assert!(world.seen.invocations().is_empty());
    world.drive_until(|world| !world.seen.invocations().is_empty());
    assert_eq!(kinds(&world), ["text", "tool_use"]);
}

#[test]
fn the_next_hop_opens_only_once_the_results_are_stored() {
    let mut world = turn_with_a_tool(Dialect::OpenAiChat);
    world.store.takes = 1_000;
    world.send("Hello");
    world.drive_until(|world| world.machine.hop() == 1);
    assert_eq!(world.seen.requests().len(), 1);
    world.drive_until(|world| world.seen.requests().len() == 2);
    assert_eq!(kinds(&world), ["text", "tool_use", "tool_result"]);
}

#[test]
fn a_granted_approval_is_stored_before_its_tool_runs() {
    let mut world = stored(Dialect::OpenAiChat, |_| {})
        .streams([call("c", "ask", "{}")])
        .streams([text("Done.")]);
    world.store.takes = 1_000;
    world.decisions.push_back(Decision::Granted);
    world.send("Hello");
    world.drive_until(|world| !world.seen.invocations().is_empty());
    assert_eq!(kinds(&world), ["tool_use", "approval_asked", "approval"]);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn store_latency_is_not_tool_time() {
    let mut world = turn_with_a_tool(Dialect::OpenAiChat);
    world.store.takes = 3_600_000;
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.result(), "ok");
}

#[test]
fn results_are_stored_as_they_finish_and_sent_in_order() {
    let world = stored(Dialect::OpenAiChat, |_| {})
        .tool("work", |invocation| {
            ToolReply::text("ok").after(100 - 50 * u64::from(invocation.call.index))
        })
        .streams([Part::Calls(vec![
            Call::new("a", "work", "{}"),
            Call::new("b", "work", "{}"),
        ])])
        .streams([text("Done.")])
        .turn();
    let stored: Vec<_> = world
        .store
        .blocks
        .iter()
        .filter_map(|block| match &block.content {
            BlockContent::ToolResult { tool_call_id, .. } => Some(tool_call_id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(stored, ["b", "a"]);
    world.assert_valid_history();
}

#[test]
fn a_write_that_fails_goes_out_again_with_the_same_content() {
    let mut world = turn_with_a_tool(Dialect::OpenAiChat);
    world.store.failures = 2;
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let first: Vec<_> = world
        .store
        .writes
        .iter()
        .take(3)
        .map(|(_, blocks)| blocks)
        .collect();
    assert!(first[0] == first[1] && first[1] == first[2]);
}

#[test]
fn a_write_that_always_fails_ends_the_turn_and_nothing_hangs() {
    let mut world = turn_with_a_tool(Dialect::OpenAiChat);
    world.store.failures = u32::MAX;
    let world = world.turn();
    let failure = Failure::NotStored {
        message: "the disk is full".into(),
    };
    assert_eq!(*world.outcome(), Outcome::Failed { failure });
    assert!(
        world.seen.invocations().is_empty(),
        "nothing is built on what is not stored"
    );
    assert!(
        world
            .seen
            .warnings()
            .last()
            .expect("a word")
            .contains("could not be stored")
    );
    assert_eq!(
        world.store.writes.len(),
        6,
        "three tries, and three for the turn's end"
    );
    assert!(world.given.is_empty());
}

#[test]
fn a_store_that_comes_back_gets_all_that_it_missed_with_the_turns_end() {
    let mut world = turn_with_a_tool(Dialect::OpenAiChat);
    world.store.failures = 3;
    let world = world.turn();
    assert!(matches!(
        world.outcome(),
        Outcome::Failed {
            failure: Failure::NotStored { .. }
        }
    ));
    assert_eq!(world.store.status, Some(TurnStatus::Failed));
    assert_eq!(kinds(&world), ["text", "tool_use", "tool_result"]);
}

#[test]
fn a_cancel_while_a_write_is_under_way_closes_the_turn_once() {
    let mut world = turn_with_a_tool(Dialect::OpenAiChat);
    world.store.takes = 1_000;
    world.store.failures = 1;
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    world.cancel();
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    assert_eq!(world.store.status, Some(TurnStatus::Cancelled));
    assert_eq!(kinds(&world), ["text", "tool_use", "tool_result"]);
    assert!(world.seen.invocations().is_empty());
}

#[test]
fn a_hop_that_waited_for_a_write_never_opens_after_a_cancel() {
    let mut world = turn_with_a_tool(Dialect::OpenAiChat);
    world.store.takes = 1_000;
    world.send("Hello");
    world.drive_until(|world| world.machine.hop() == 1);
    assert_eq!(world.seen.requests().len(), 1);
    world.cancel();
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    assert_eq!(world.seen.requests().len(), 1);
    assert_eq!(world.store.status, Some(TurnStatus::Cancelled));
}

#[test]
fn text_of_a_broken_answer_is_stored() {
    for says in [
        vec![text("Half an"), Part::Cut],
        vec![text("Half an"), Part::Error("gone".into())],
    ] {
        let world = stored(Dialect::OpenAiChat, |_| {}).streams(says).turn();
        assert_eq!(texts(&world), "Half an");
        assert_eq!(world.store.status, Some(TurnStatus::Failed));
    }
}

#[test]
fn a_cancel_before_the_turn_began_stores_nothing() {
    let mut world = stored(Dialect::OpenAiChat, |_| {});
    world.cancel();
    world.drive();
    assert!(world.store.writes.is_empty());
}

#[test]
fn a_turn_without_a_word_is_closed_all_the_same() {
    let world = stored(Dialect::OpenAiChat, |config| config.retry.attempts = 1)
        .streams([])
        .turn();
    assert_eq!(world.store.status, Some(TurnStatus::Complete));
    assert!(world.store.blocks.is_empty());
}

#[test]
fn what_was_said_before_an_interrupt_is_not_stored_again_after_it() {
    let mut world = stored(Dialect::AgUi, |_| {})
        .streams([text("Which one?"), crate::interrupts::asks(&["a"])])
        .streams([text("Thanks.")]);
    world.send("Hello");
    world.drive();
    world
        .input(Input::Resume(vec![crate::interrupts::answer("a")]))
        .expect("all are answered");
    world.drive();
    assert_eq!(texts(&world), "Which one?Thanks.");
}

#[test]
fn what_the_backend_answered_itself_is_stored_too() {
    let world = stored(Dialect::AgUi, |_| {})
        .streams([
            call("c", "work", "{}"),
            Part::ToolResult {
                call: "c".into(),
                content: "theirs".into(),
            },
            text("Done."),
        ])
        .turn();
    // The message that asks comes before the text, which is stored while the stream goes on.
    let expected = ["message", "text", "tool_use", "tool_result"];
    assert_eq!(kinds(&world), expected);
}

#[test]
fn each_call_that_the_backend_answered_is_stored_with_its_own_answer() {
    let answer = |call: &str, content: &str| Part::ToolResult {
        call: call.to_owned(),
        content: content.to_owned(),
    };
    let world = stored(Dialect::AgUi, |_| {})
        .streams([
            call("a", "work", "{}"),
            call("b", "work", "{}"),
            answer("a", "first"),
            answer("b", "second"),
            text("Done."),
        ])
        .turn();
    let answers: Vec<_> = world
        .store
        .blocks
        .iter()
        .filter_map(|block| match &block.content {
            BlockContent::ToolResult {
                tool_call_id,
                content,
                ..
            } => Some((tool_call_id.as_str(), content.to_text())),
            _ => None,
        })
        .collect();
    let expected = [("a", "first"), ("b", "second")].map(|(id, text)| (id, text.into()));
    assert_eq!(answers, expected);
}

#[test]
fn what_a_messages_snapshot_brought_is_stored() {
    let snapshot = json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"id": "user-1", "role": "user", "content": "Go on"},
        {"id": "m", "role": "assistant", "content": "All at once."},
    ]});
    let world = stored(Dialect::AgUi, |_| {})
        .streams([Part::Event(snapshot)])
        .turn();
    assert_eq!(texts(&world), "All at once.");
}

#[test]
fn without_a_store_nothing_is_written_and_nothing_waits() {
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::text("ok"))
    .streams([call("c", "work", "{}")])
    .streams([text("Done.")])
    .turn();
    assert!(world.store.writes.is_empty());
}

#[test]
fn the_last_write_comes_after_the_turn_is_over_and_is_tried_again() {
    let mut world = stored(Dialect::OpenAiChat, |_| {}).streams([text("Yes.")]);
    world.send("Hello");
    world.drive_to(StateKind::Completed);
    world.store.failures = 1;
    world.drive();
    assert_eq!(world.store.status, Some(TurnStatus::Complete));
    assert_eq!(texts(&world), "Yes.");
}
