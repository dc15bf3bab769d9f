//! Moments of runs, of every kind that a snapshot may be taken at.

use crate::context::{long_history, with_history};
use crate::interrupts::asks;
use crate::world::{Reply, ToolReply, World, offer};
use serde_json::json;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    CompactionPolicy, CompactionWay, Durability, EffectId, HookMoment, HookPlace, HookSpec, Input,
    LimitPolicy, Refusal, RunConfig, RunIds, StateKind,
};
use stepwell_core::tool::{OutputMode, OutputType, Tool};
use stepwell_testing::reply::{Call, Part, call, text};

/// What a scene changes of the configuration that all scenes share.
#[derive(Clone, Copy)]
struct Setting {
    stores: bool,
    creates_runs: bool,
    sums_up: bool,
    fails_at_limit: bool,
    types: bool,
    hooks: bool,
    summarizes: bool,
}

fn configure(config: &mut RunConfig, setting: Setting) {
    offer(config, Tool::new("work", "Works."));
    offer(config, Tool::new("look", "Looks.").idempotent());
    offer(config, Tool::new("ask", "Asks.").requires_approval());
    config.limits.max_tool_rounds = 2;
    config.retry.attempts = 3;
    config.timeouts.turn = Some(Duration::from_secs(600));
    if setting.stores {
        config.durability = Durability::Blocks { attempts: 2 };
    }
    if setting.creates_runs {
        config.run_ids = RunIds::Host;
    }
    if setting.sums_up {
        config.limits.at_limit = LimitPolicy::SumUp;
    }
    if setting.fails_at_limit {
        config.limits.at_limit = LimitPolicy::Fail;
    }
    if setting.types {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}},
            "required": ["n"]});
        let output = OutputType::new("Number", schema).expect("a type");
        let output = output.mode(OutputMode::Tool).retries(0);
        config.output = Some(output.decoded_by_host(true));
    }
    if setting.hooks {
        config.hooks = vec![HookSpec::new("guard", HookMoment::ALL)];
    }
    if setting.summarizes {
        config.context_guard.window = Some(1_700);
        let summary = CompactionWay::Summary(Default::default());
        config.compaction = CompactionPolicy::with(summary);
    }
}

pub struct Scene {
    pub name: &'static str,
    /// The world at the moment of the snapshot.
    pub world: World,
}

const PLAIN: Setting = Setting {
    stores: false,
    creates_runs: false,
    sums_up: false,
    fails_at_limit: false,
    types: false,
    hooks: false,
    summarizes: false,
};
const STORES: Setting = Setting {
    stores: true,
    ..PLAIN
};
const CREATES: Setting = Setting {
    creates_runs: true,
    ..PLAIN
};

fn world(dialect: Dialect, setting: Setting) -> World {
    crate::world::with(dialect, |config| configure(config, setting))
        .tool("work", |_| ToolReply::text("worked").after(50))
        .tool("look", |_| ToolReply::text("looked").after(90))
        .tool("ask", |_| ToolReply::text("asked").after(50))
}

fn two_calls() -> Part {
    Part::Calls(vec![
        Call::new("a", "work", r#"{"x":"größer 🙂"}"#),
        Call::new("b", "look", "null"),
    ])
}

fn rich() -> Vec<Part> {
    vec![
        Part::Reasoning("Hm, größer?".into()),
        text("Läßt sich machen: 🙂. "),
        two_calls(),
        Part::Usage {
            input: 11,
            output: 5,
        },
    ]
}

/// All scenes of a dialect.
pub fn scenes(dialect: Dialect) -> Vec<Scene> {
    let mut scenes = Vec::new();
    let mut scene = |name, setting: Setting, make: &dyn Fn(World) -> World| {
        let world = make(world(dialect, setting));
        scenes.push(Scene { name, world });
    };
    let at = |state| {
        move |mut world: World| {
            world.send("Go on");
            world.drive_to(state);
            world
        }
    };
    let over = |mut world: World| {
        world.send("Go on");
        world.drive();
        assert!(world.machine.outcome().is_some());
        world
    };

    scene("idle", PLAIN, &|world| world);
    scene("opening", PLAIN, &|world| {
        at(StateKind::Opening)(world.reply(Reply::Silent))
    });
    scene("opening-outputs-not-taken", PLAIN, &|mut world| {
        let start = stepwell_core::run::Start::new(
            "run-1",
            stepwell_core::event::Message::user("user-1", "Go on"),
        );
        let now = Timestamp(world.now);
        world.machine.start(start, now).expect("the run is idle");
        world
    });
    scene("streaming", PLAIN, &|world| {
        at(StateKind::Streaming)(world.streams(rich()))
    });
    scene("streaming-mid-frame", PLAIN, &|mut world| {
        // Cuts of 13 bytes fall within frames, escapes and characters.
        world.cut = crate::world::Cut::Every(13);
        let mut world = world.streams(rich());
        world.send("Go on");
        world.drive_until(|world| world.machine.transcript().text().contains("Läßt"));
        world
    });
    scene("streaming-mid-arguments", PLAIN, &|mut world| {
        world.cut = crate::world::Cut::Every(7);
        let mut world = world.streams(rich());
        world.send("Go on");
        world.drive_until(|world| {
            let mut calls = world.machine.transcript().tool_calls();
            calls.any(|call| call.function.arguments.contains("\"x\""))
        });
        world
    });
    scene("streaming-outputs-not-taken", PLAIN, &|mut world| {
        world.cut = crate::world::Cut::Whole;
        let mut world = world.streams(rich());
        world.send("Go on");
        world.drive_to(StateKind::Streaming);
        let (_, input) = world.scheduled.pop_first().expect("the body is to come");
        world.now += 1;
        let now = Timestamp(world.now);
        world.machine.handle(input, now).expect("it is open");
        world
    });
    scene("executing-tools", PLAIN, &|world| {
        at(StateKind::ExecutingTools)(world.streams(rich()))
    });
    scene("executing-tools-one-done", PLAIN, &|world| {
        let mut world = world.streams(rich());
        world.send("Go on");
        world.drive_until(|world| !world.given.is_empty() && world.seen.invocations().len() == 2);
        world.drive_until(|world| world.given.len() == 1);
        world
    });
    scene("executing-tools-approval-pending", PLAIN, &|world| {
        let both = Part::Calls(vec![
            Call::new("a", "ask", "{}"),
            Call::new("b", "work", "{}"),
        ]);
        at(StateKind::ExecutingTools)(world.streams([text("May I?"), both]))
    });
    scene("executing-tools-write-in-flight", STORES, &|world| {
        at(StateKind::ExecutingTools)(world.streams(rich()))
    });
    scene("executing-tools-write-failed-once", STORES, &|mut world| {
        world.store.failures = 1;
        let mut world = world.streams(rich());
        world.send("Go on");
        world.drive_until(|world| world.store.failures == 0);
        world
    });
    scene("executing-tools-stored", STORES, &|world| {
        let mut world = world.streams(rich());
        world.send("Go on");
        world.drive_until(|world| world.seen.invocations().len() == 2);
        world
    });
    scene("opening-second-hop-write-in-flight", STORES, &|world| {
        let mut world = world.streams(rich()).reply(Reply::Silent);
        world.send("Go on");
        world.drive_until(|world| {
            let is_write = |id: &EffectId| matches!(id, EffectId::Persist { .. });
            world.machine.hop() == 1 && world.given.iter().any(is_write)
        });
        world
    });
    scene("opening-run-to-be-created", CREATES, &|mut world| {
        world.runs.push_back("backend-1".into());
        let mut world = world.streams(rich());
        world.send("Go on");
        world.drive_until(|world| world.machine.hop() == 1);
        world
    });
    scene("waiting", PLAIN, &|world| {
        at(StateKind::Waiting)(world.reply(Reply::Unreachable))
    });
    scene("waiting-second-retry", STORES, &|world| {
        let refusal = Refusal {
            status: 429,
            retry_after: Some(Duration::from_secs(3)),
            body: br#"{"error":{"message":"slow down","code":"rate_limit"}}"#.to_vec(),
        };
        let world = world.reply(Reply::Unreachable);
        let mut world = world.reply(Reply::Refused(refusal));
        world.send("Go on");
        world.drive_to(StateKind::Waiting);
        world.drive_to(StateKind::Opening);
        world.drive_to(StateKind::Waiting);
        world
    });
    scene("after-restore", STORES, &|mut world| {
        world.restores = true;
        let mut world = world.streams(rich());
        world.send("Go on");
        world.drive_until(|world| world.seen.invocations().len() == 2);
        world
    });
    scene("after-revive", STORES, &|world| {
        let mut world = world.streams(rich());
        world.fallback_reply = Some(Reply::Silent);
        world.send("Go on");
        world.drive_until(|world| world.seen.invocations().len() == 2);
        world.crash();
        world
    });

    scene("completed-success", STORES, &|world| {
        over(world.streams([text("Yes.")]))
    });
    scene("completed-write-in-flight", STORES, &|mut world| {
        world.store.takes = 1_000;
        let mut world = world.streams([text("Yes.")]);
        world.send("Go on");
        world.drive_to(StateKind::Completed);
        world
    });
    scene("completed-max-tool-rounds", PLAIN, &|mut world| {
        world.fallback_reply = Some(Reply::Complete(vec![call("c", "work", "{}")]));
        over(world)
    });
    scene("completed-cancelled", PLAIN, &|world| {
        let mut world = at(StateKind::ExecutingTools)(world.streams(rich()));
        world.cancel();
        world
    });
    scene("completed-truncated", PLAIN, &|world| {
        over(world.streams([text("Half"), Part::Cut]))
    });
    scene("completed-failed-api", PLAIN, &|world| {
        let refusal = Refusal {
            status: 401,
            retry_after: None,
            body: br#"{"error":{"message":"no such key","code":"invalid_api_key"}}"#.to_vec(),
        };
        over(world.reply(Reply::Refused(refusal)))
    });
    scene("completed-failed-connection", PLAIN, &|world| {
        over(world.reply(Reply::Broken(vec![text("Half"), Part::Cut])))
    });
    scene("completed-failed-unexpected-body", PLAIN, &|world| {
        over(world.reply(Reply::Body(
            Some("text/html"),
            b"<html>Hello</html>".to_vec(),
        )))
    });
    scene("completed-failed-stream", PLAIN, &|world| {
        over(world.streams([text("x"), Part::Raw("data: {oops\n\n".into())]))
    });
    scene("completed-failed-reported", PLAIN, &|world| {
        over(world.streams([text("Oh"), Part::Error("overloaded".into())]))
    });
    scene("completed-failed-timed-out", PLAIN, &|world| {
        over(world.reply(Reply::Stalled(vec![text("Half"), Part::Cut])))
    });
    scene("completed-failed-run-not-created", CREATES, &|world| {
        over(world.streams(rich()))
    });
    scene("completed-failed-not-stored", STORES, &|mut world| {
        world.store.failures = 2;
        over(world.streams(rich()))
    });
    let fails = Setting {
        fails_at_limit: true,
        ..PLAIN
    };
    scene(
        "completed-failed-too-many-tool-rounds",
        fails,
        &|mut world| {
            world.fallback_reply = Some(Reply::Complete(vec![call("c", "work", "{}")]));
            over(world)
        },
    );
    let sums_up = Setting {
        sums_up: true,
        ..PLAIN
    };
    scene("opening-last-hop-without-tools", sums_up, &|world| {
        let mut world = world
            .streams([call("c", "work", "{}")])
            .streams([call("d", "work", "{}")])
            .streams([call("e", "work", "{}")])
            .reply(Reply::Silent);
        world.send("Go on");
        world.drive_until(|world| world.machine.hop() == 3);
        world
    });

    let types = Setting {
        types: true,
        ..STORES
    };
    scene("decoding", types, &|world| {
        let says = [text("There."), call("f", "final_result", "{\"n\":1}")];
        let mut world = world.streams(says);
        world.send("Go on");
        let effect = EffectId::Output { hop: 0 };
        world.drive_until(|world| world.given.contains(&effect));
        world
    });

    let hooks = Setting {
        hooks: true,
        ..STORES
    };
    scene("reviewing", hooks, &|world| {
        let mut world = world.streams(rich());
        world.send("Go on");
        let place = HookPlace::Answer { hop: 0 };
        let effect = EffectId::Hook { place, hook: 0 };
        world.drive_until(|world| world.given.contains(&effect));
        world
    });
    scene("executing-tools-hook-asked", hooks, &|world| {
        at(StateKind::ExecutingTools)(world.streams(rich()))
    });

    let summarizes = Setting {
        summarizes: true,
        ..PLAIN
    };
    if dialect != Dialect::AgUi {
        scene("summarizing", summarizes, &|world| {
            let world = with_history(world, long_history());
            let mut world = world.reply(Reply::Stalled(vec![text("They spo"), Part::Cut]));
            world.send("Go on");
            world.drive_until(|world| world.scheduled.is_empty());
            assert_eq!(world.machine.state(), StateKind::Summarizing);
            world
        });
        scene("waiting-for-summary", summarizes, &|world| {
            let world = with_history(world, long_history());
            at(StateKind::Waiting)(world.reply(Reply::Unreachable))
        });
    }
    if dialect == Dialect::AgUi {
        scene("interrupted", PLAIN, &|world| {
            at(StateKind::Interrupted)(world.streams([text("Which?"), asks(&["q", "r"])]))
        });
        scene("interrupted-with-calls", STORES, &|world| {
            let says = [text("Which?"), call("c", "work", "{}"), asks(&["q"])];
            let mut world = world.streams(says);
            world.send("Go on");
            world.drive();
            assert_eq!(world.machine.state(), StateKind::Interrupted);
            world
        });
        scene("opening-resumed", PLAIN, &|world| {
            let mut world = world
                .streams([text("Which?"), asks(&["q"])])
                .reply(Reply::Silent);
            world.send("Go on");
            world.drive();
            let answers = vec![crate::interrupts::answer("q")];
            world.input(Input::Resume(answers)).expect("it is asked");
            world
        });
        scene("streaming-shared-state", PLAIN, &|world| {
            let state =
                json!({"type": "STATE_SNAPSHOT", "snapshot": {"a": [1, 2.5, "x"], "b": null}});
            let patch = json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a/0", "value": true}]});
            let mut world = world.reply(Reply::Stalled(vec![
                Part::Event(state),
                Part::Event(patch),
                text("Half"),
                Part::Cut,
            ]));
            world.send("Go on");
            world.drive_until(|world| world.machine.transcript().text() == "Half");
            world
        });
        scene("streaming-backend-answers", PLAIN, &|world| {
            let mut world = world.reply(Reply::Stalled(vec![
                call("c", "work", "{}"),
                Part::ToolResult {
                    call: "c".into(),
                    content: "theirs".into(),
                },
                Part::OpenCall(Call::new("d", "look", "{}")),
                Part::Cut,
            ]));
            world.send("Go on");
            world.drive_until(|world| world.machine.transcript().calls().len() == 2);
            world
        });
    }
    scenes
}
