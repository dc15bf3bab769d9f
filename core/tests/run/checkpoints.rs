//! What a write carries: enough to come back from, and nothing that the stored blocks hold.

use crate::cases::cases;
use crate::durability::stored;
use crate::turn::BOTH;
use crate::world::{Cut, ToolReply, World, offer, with};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    ContextPolicy, Durability, Effect, EffectId, HookAnswer, HookMoment, HookSpec, HookSubject,
    Input, Outcome, Output, RunConfig, RunMachine, SnapshotError, StateKind,
};
use stepwell_core::session::{MessageBuilder, TurnHistory};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::chaos::{Action, Chaos, actions};
use stepwell_testing::reply::{Call, Part, call, text};
use stepwell_testing::settings;

proptest! {
    #![proptest_config(cases(60))]

    /// The chaotic host compares the two at each write: what comes back from the checkpoint, the history and the stored
    /// blocks is what comes back from the whole run, after cuts, failed writes, steering, deferred calls and questions.
    #[test]
    fn i04_a_checkpoint_and_the_stored_turn_are_the_whole_run(
        setting in settings(),
        actions in actions(),
        written: bool,
    ) {
        for dialect in BOTH {
            let mut chaos = Chaos::new(setting.storing().speaking(dialect).config());
            for action in actions.clone() {
                chaos.apply(action);
            }
            chaos.apply(Action::Crash { written });
            chaos.finish()?;
        }
    }
}

const DIALECTS: [Dialect; 10] = [
    Dialect::OpenAiChat,
    Dialect::OpenAiResponses,
    Dialect::Anthropic,
    Dialect::Gemini,
    Dialect::GeminiInteractions,
    Dialect::Ollama,
    Dialect::Cohere,
    Dialect::BedrockConverse,
    Dialect::Mistral,
    Dialect::AgUi,
];

/// In every dialect the host dies after each of its writes.
#[test]
fn every_dialect_comes_back_from_each_write() {
    for dialect in DIALECTS {
        for die_after in 1.. {
            let mut world = stored(dialect, |_| {})
                .streams([
                    text("Let me see."),
                    Part::Calls(vec![
                        Call::new("a", "work", "{}"),
                        Call::new("b", "work", "{}"),
                    ]),
                ])
                .streams([text("And "), call("c", "work", "{}")])
                .streams([text("Done.")]);
            world.fallback_reply = Some(crate::world::Reply::Complete(vec![text("Done.")]));
            world.cut = Cut::Every(3);
            world.send("Hello");
            let mut died = false;
            while world.step() {
                if !died && world.store.writes.len() == die_after {
                    died = true;
                    world.crash();
                }
            }
            assert_eq!(*world.outcome(), Outcome::Success, "{dialect:?}");
            if !died {
                break;
            }
        }
    }
}

/// A tool whose results have this many bytes, called in each of so many hops.
fn calling(hops: usize, bytes: usize, history: Transcript) -> World {
    calling_in(Dialect::OpenAiChat, hops, bytes, history)
}

fn calling_in(dialect: Dialect, hops: usize, bytes: usize, history: Transcript) -> World {
    let configure = |config: &mut RunConfig| {
        config.durability = Durability::Blocks { attempts: 2 };
        config.limits.max_tool_rounds = u32::MAX;
        offer(config, Tool::new("work", "Works.").repeatable());
    };
    let mut world = with(dialect, configure);
    world.machine = RunMachine::new(Arc::clone(&world.config), "thread".into(), history);
    world.observer = None;
    world.compares_writes = false;
    world.cut = Cut::Every(1 << 20);
    for hop in 0..hops {
        world = world.streams([call(&format!("call-{hop:05}"), "work", "{}")]);
    }
    let result = "x".repeat(bytes);
    world
        .tool("work", move |_| ToolReply::text(&result))
        .streams([text("Done.")])
}

/// The bytes of the checkpoint of each write, and of all that was written.
fn written(world: World) -> (Vec<usize>, usize) {
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let (mut checkpoints, mut all) = (Vec::new(), 0);
    for output in &world.seen.outputs {
        if let Output::Effect(
            _,
            Effect::Persist {
                blocks, checkpoint, ..
            },
        ) = output
        {
            let blocks = blocks.iter().map(|block| json!(block).to_string().len());
            checkpoints.push(checkpoint.len());
            all += checkpoint.len() + blocks.sum::<usize>();
        }
    }
    (checkpoints, all)
}

/// Numbers have more digits later on.
const DIGITS: usize = 64;

#[test]
fn a_checkpoint_does_not_grow_with_the_results_of_its_turn() {
    let (few, _) = written(calling(5, 10_000, Transcript::default()));
    let (many, _) = written(calling(100, 10_000, Transcript::default()));
    let largest = |sizes: &[usize]| sizes.iter().copied().max().expect("there are writes");
    assert!(
        largest(&many) <= largest(&few) + DIGITS,
        "{} after {}",
        largest(&many),
        largest(&few)
    );
}

/// Of a call that is under way, or done in this hop, a checkpoint has its name and where it stands.
#[test]
fn a_checkpoint_does_not_grow_with_results_that_run_side_by_side() {
    let side_by_side = |calls: usize| {
        let ids: Vec<_> = (0..calls).map(|index| format!("call-{index:05}")).collect();
        let calls = ids.iter().map(|id| Call::new(id, "work", "{}")).collect();
        let mut world = calling(0, 10_000, Transcript::default());
        world.replies.clear();
        written(world.streams([Part::Calls(calls)]).streams([text("Done.")]))
    };
    let largest = |calls| side_by_side(calls).0.into_iter().max().unwrap_or_default();
    let (few, many) = (largest(5), largest(105));
    assert!(many < few + 100 * 400, "{few} grew to {many}");
}

fn turns_before(turns: usize) -> Transcript {
    let mut messages = Vec::new();
    for turn in 0..turns {
        messages.push(Message::user(format!("user-{turn:05}"), "x".repeat(3_000)));
        messages.push(Message::user(format!("more-{turn:05}"), "y".repeat(3_000)));
    }
    Transcript::new(messages)
}

#[test]
fn a_checkpoint_does_not_grow_with_the_turns_before() {
    for dialect in DIALECTS {
        let sizes = |turns| written(calling_in(dialect, 3, 100, turns_before(turns))).0;
        let (tenth, four_hundredth) = (sizes(10), sizes(400));
        assert_eq!(tenth.len(), four_hundredth.len());
        for (early, late) in tenth.iter().zip(four_hundredth) {
            assert!(
                late <= early + DIGITS,
                "{dialect:?}: {early} grew to {late}"
            );
        }
    }
}

/// Nor with what does not fit the model's context, nor where a hook puts messages in the place of all.
#[test]
fn a_checkpoint_does_not_grow_with_what_requests_leave_out() {
    let sizes = |turns| {
        let mut world = calling(3, 100, turns_before(turns));
        let mut config = (*world.config).clone();
        config.context_guard.window = Some(100);
        config.context_guard.at_limit = ContextPolicy::Trim;
        config.hooks = vec![HookSpec::new("guard", [HookMoment::BeforeRequest])];
        world.config = Arc::new(config);
        let history = world.machine.transcript().clone();
        world.machine = RunMachine::new(Arc::clone(&world.config), "thread".into(), history);
        world.compares_writes = true;
        for _ in 0..4 {
            world.trims.push_back(|_| (Vec::new(), None));
            world.hooks.push_back(Box::new(|subject| match subject {
                HookSubject::Request(request) => Some(HookAnswer::ChangeRequest {
                    instructions: None,
                    messages: Some(request.messages.clone()),
                }),
                _ => None,
            }));
        }
        written(world).0
    };
    let (few, many) = (sizes(10), sizes(100));
    assert_eq!(few.len(), many.len());
    for (early, late) in few.iter().zip(many) {
        assert!(late <= early + DIGITS, "{early} grew to {late}");
    }
}

/// All that one turn of 80 results writes is its results once or twice, not one for each.
#[test]
fn a_turn_writes_little_more_than_its_results() {
    const RESULTS: usize = 80;
    const BYTES: usize = 200_000;
    let (_, all) = written(calling(RESULTS, BYTES, Transcript::default()));
    assert!(all <= 2 * RESULTS * BYTES, "{all} bytes");
}

fn asked(history: Transcript) -> World {
    let mut world = stored(Dialect::OpenAiChat, |_| {});
    world.machine = RunMachine::new(Arc::clone(&world.config), "thread".into(), history);
    let mut world = world
        .streams([text("Let me see."), call("a", "work", "{}")])
        .streams([text("Done.")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    world.drive_until(|world| world.store.writes.len() == 2);
    world
}

#[test]
fn what_does_not_fit_is_refused() {
    let world = asked(Transcript::new(vec![Message::user("before", "Hi")]));
    let stored = world.store.turn.clone();
    let checkpoint = stored.checkpoint.clone().expect("written");
    let revive = |stored: &stepwell_testing::StoredTurn| {
        let revived = stored.revive(&world.config, Timestamp(world.now));
        revived.map(|machine| machine.state())
    };
    assert!(revive(&stored).is_ok());

    let mut fewer = stored.clone();
    fewer.turn.blocks.pop();
    let mut more = stored.clone();
    let mut block = more.turn.blocks[0].clone();
    block.block.sequence = more.turn.blocks.len() as u64;
    more.turn.blocks.push(block);
    for other in [fewer, more] {
        let refused = revive(&other).expect_err("the numbers differ");
        assert!(
            matches!(refused, SnapshotError::OtherBlocks { .. }),
            "{refused}"
        );
    }

    let mut gap = stored.clone();
    gap.turn.blocks[0].block.sequence = 7;
    let refused = revive(&gap).expect_err("there is a gap");
    assert!(matches!(refused, SnapshotError::Blocks(_)), "{refused}");

    let mut other = stored.clone();
    other.turn.id = "run-2".into();
    let refused = revive(&other).expect_err("it is another turn");
    assert!(
        matches!(refused, SnapshotError::OtherTurn { .. }),
        "{refused}"
    );

    for messages in [vec![], vec![Message::user("other", "Hi")]] {
        let mut other = stored.clone();
        other.history = Transcript::new(messages);
        let refused = revive(&other).expect_err("it is another history");
        assert!(
            matches!(refused, SnapshotError::OtherConversation(_)),
            "{refused}"
        );
    }

    let config = || Arc::clone(&world.config);
    let refused = RunMachine::restore(&checkpoint, config()).expect_err("no snapshot");
    assert_eq!(refused, SnapshotError::IsCheckpoint);
    let now = Timestamp(world.now);
    let refused = RunMachine::revive(&checkpoint, config(), now).expect_err("no snapshot");
    assert_eq!(refused, SnapshotError::IsCheckpoint);
    let mut whole = stored;
    whole.checkpoint = Some(world.machine.snapshot());
    assert_eq!(
        revive(&whole).expect_err("no checkpoint"),
        SnapshotError::IsSnapshot
    );
    for text in ["", "{}", "null", "{\"v\":1}", "{\"v\":1,\"basis\":{}}"] {
        whole.checkpoint = Some(text.to_owned());
        assert!(revive(&whole).is_err(), "{text}");
    }
}

/// An agent was given a conversation that the store has no turns of.
#[test]
fn a_turn_with_a_history_of_its_own_needs_no_other() {
    let history = Transcript::new(vec![Message::user("before", "Hi")]);
    let mut world = asked(history.clone());
    let turn = &mut world.store.turn;
    turn.turn.history = TurnHistory::of(&history).map(Box::new);
    turn.history = Transcript::default();
    let path = [turn.turn.clone()];
    let stored = MessageBuilder::new().keep_open_calls().transcript(&path);
    let stored = stored.expect("a path");
    assert_eq!(stored.messages(), world.machine.transcript().messages());
    let own = world.stored_run();
    assert_eq!(own.transcript().messages()[..3], *stored.messages());
    assert_eq!(own.transcript().messages()[0].id(), "before");
    assert_eq!(TurnHistory::of(&Transcript::default()), None);
}

#[test]
fn there_is_a_checkpoint_before_the_first_write() {
    let mut world = stored(Dialect::OpenAiChat, |_| {}).streams([text("Done.")]);
    assert_eq!(world.machine.checkpoint(), None, "the turn has not begun");
    world.send("Hello");
    world.store.turn.checkpoint = world.machine.checkpoint();
    let revived = world.stored_run();
    assert_eq!(revived.state(), StateKind::Opening);
    assert_eq!(revived.transcript(), world.machine.transcript());
    let mut unrecorded = crate::world::chat().streams([text("Done.")]);
    unrecorded.send("Hello");
    assert_eq!(unrecorded.machine.checkpoint(), None);
    let _ = world.machine.handle(Input::Dispose, Timestamp(world.now));
    assert_eq!(world.machine.checkpoint(), None);
}

/// The first write fails, and more is recorded before the next try: that try carries what waits.
#[test]
fn what_waits_behind_a_failed_write_comes_with_the_next_try() {
    let mut world = stored(Dialect::OpenAiChat, |config| {
        config.durability = Durability::Blocks { attempts: 9 };
    });
    world.store.failures = 2;
    world.store.takes = 500;
    let mut world = world
        .streams([
            text("Let me see."),
            Part::Calls(vec![
                Call::new("a", "work", "{}"),
                Call::new("b", "work", "{}"),
            ]),
        ])
        .streams([text("Done.")]);
    world.send("Hello");
    world.drive_until(|world| world.store.writes.len() == 3);
    assert_eq!(world.store.writes[0].1, world.store.writes[2].1);
    world.crash();
    world.drive();
    let persists = |id: &EffectId| matches!(id, EffectId::Persist { .. });
    assert!(!world.given.iter().any(persists));
}

/// The bytes of all writes: as they are, and with a snapshot of the whole run in place of each checkpoint.
fn bytes_of_writes(mut world: World) -> [usize; 2] {
    let (mut all, mut with_snapshots, mut seen) = (0, 0, 0);
    world.send("Go on");
    loop {
        for output in &world.seen.outputs[seen..] {
            if let Output::Effect(
                _,
                Effect::Persist {
                    blocks, checkpoint, ..
                },
            ) = output
            {
                let blocks = blocks.iter().map(|block| json!(block).to_string().len());
                let blocks: usize = blocks.sum();
                all += blocks + checkpoint.len();
                with_snapshots += blocks + world.machine.snapshot().len();
            }
        }
        seen = world.seen.outputs.len();
        if !world.step() {
            return [all, with_snapshots];
        }
    }
}

#[test]
#[ignore = "prints figures"]
fn figures() {
    let in_hops = calling(80, 200_000, Transcript::default());
    println!(
        "80 results of 200 kB, one a hop: {:?}",
        bytes_of_writes(in_hops)
    );
    let ids: Vec<_> = (0..80).map(|index| format!("call-{index:05}")).collect();
    let calls = ids.iter().map(|id| Call::new(id, "work", "{}")).collect();
    let mut world = calling(0, 200_000, Transcript::default());
    world.replies.clear();
    let world = world.streams([Part::Calls(calls)]).streams([text("Done.")]);
    println!(
        "80 results of 200 kB, side by side: {:?}",
        bytes_of_writes(world)
    );
    for turn in [2, 10, 400] {
        let mut world = calling(0, 0, turns_before(turn - 1));
        world.replies.clear();
        let world = world.streams([text(&"z".repeat(3_000))]);
        println!("turn {turn} of 6 kB: {:?}", bytes_of_writes(world));
    }
}
