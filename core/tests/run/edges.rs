//! The table of edges: each is walked, no other is, and the picture shows them.

use crate::durability::stored;
use crate::interrupts::{answer, asks};
use crate::limits::greedy;
use crate::world::{Ending, Reply, ToolReply, World, offer};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{AssistantMessage, Message};
use stepwell_core::run::{
    EDGES, ErrorKind, HookMoment, HookSpec, Input, LimitPolicy, NetworkChangePolicy, StateKind,
    statechart, statechart_mermaid,
};
use stepwell_core::tool::{OutputMode, OutputType, Tool};
use stepwell_testing::reply::{Part, call, text};

/// One short life for each edge.
fn lives() -> Vec<World> {
    let mut lives = Vec::new();
    let mut life = |mut world: World, state: StateKind, end: fn(&mut World)| {
        world.send("Hello");
        world.drive_to(state);
        end(&mut world);
        world.drive();
        lives.push(world);
    };
    let cancel: fn(&mut World) = World::cancel;
    let go_on: fn(&mut World) = |_| {};
    let resume: fn(&mut World) = |world| {
        world
            .input(Input::Resume(vec![answer("a")]))
            .expect("all are answered");
    };
    let working = || {
        crate::world::with(Dialect::AgUi, |config| {
            offer(config, Tool::new("work", "Works."));
            config.timeouts.turn = Some(Duration::from_secs(30));
            config.retry.first_delay = Duration::from_secs(50);
            config.retry.max_delay = Duration::from_secs(50);
        })
        .tool("work", |_| ToolReply::never())
    };
    let typed = || {
        crate::world::with(Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works."));
            let output = OutputType::new("Any", json!({})).expect("a type");
            config.output = Some(output.mode(OutputMode::Tool).decoded_by_host(true));
        })
        .tool("work", |_| ToolReply::text("ok"))
    };
    use StateKind::{
        Decoding, ExecutingTools, Interrupted, Opening, Reviewing, Streaming, Summarizing, Waiting,
    };
    life(
        crate::world::chat()
            .reply(Reply::Unreachable)
            .streams([text("x")]),
        Waiting,
        go_on,
    );
    life(crate::world::chat().reply(Reply::Silent), Opening, cancel);
    life(
        crate::world::chat().reply(Reply::Unreachable),
        Waiting,
        cancel,
    );
    life(
        crate::world::chat().reply(Reply::Stalled(vec![])),
        Streaming,
        cancel,
    );
    life(
        working().streams([call("c", "work", "{}")]),
        ExecutingTools,
        cancel,
    );
    life(working().streams([asks(&["a"])]), Interrupted, cancel);
    // The turn's clock strikes.
    life(working().reply(Reply::Silent), Opening, go_on);
    life(working().reply(Reply::Unreachable), Waiting, go_on);
    life(
        working().reply(Reply::Stalled(vec![text("x"), Part::Cut])),
        Streaming,
        go_on,
    );
    life(
        working().streams([call("c", "work", "{}")]),
        ExecutingTools,
        go_on,
    );
    // Calls that are answered at once, and calls that run.
    life(
        working()
            .streams([call("c", "invented", "{}")])
            .streams([text("x")]),
        Streaming,
        go_on,
    );
    life(greedy(LimitPolicy::Complete), ExecutingTools, go_on);
    let mut ending = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.continue_after_tools = false;
    });
    ending = ending.tool("work", |_| ToolReply::text("ok"));
    life(
        ending.streams([call("c", "work", "{}")]),
        ExecutingTools,
        go_on,
    );
    // The user's answers.
    life(
        working().streams([asks(&["a"])]).streams([text("x")]),
        Interrupted,
        resume,
    );
    life(
        working().streams([call("c", "work", "{}"), asks(&["a"])]),
        Interrupted,
        resume,
    );
    let limited = |mut world: World| {
        let mut config = (*world.config).clone();
        config.limits.max_tool_rounds = 0;
        world = crate::world::with(Dialect::AgUi, |c| *c = config);
        world
    };
    life(
        limited(working()).streams([call("c", "work", "{}"), asks(&["a"])]),
        Interrupted,
        resume,
    );
    // A store that fails while the user is asked.
    let mut failing = stored(Dialect::AgUi, |_| {}).streams([text("x"), asks(&["a"])]);
    failing.store.failures = 3;
    failing.store.takes = 1_000;
    life(failing, Interrupted, go_on);
    // A stream that showed nothing breaks.
    life(
        crate::world::chat()
            .reply(Reply::Broken(vec![Part::Heartbeat, Part::Cut]))
            .streams([text("x")]),
        Waiting,
        go_on,
    );
    // Another network.
    let changing = crate::world::with(Dialect::OpenAiChat, |config| {
        config.device.network_change = NetworkChangePolicy::Reopen;
    });
    life(
        changing
            .reply(Reply::Stalled(vec![Part::Heartbeat, Part::Cut]))
            .streams([text("x")]),
        Streaming,
        |world| {
            world
                .input(Input::NetworkAvailable)
                .expect("devices say this at any time");
        },
    );
    // A host that died had shown something.
    life(
        crate::world::chat()
            .reply(Reply::Silent)
            .streams([text("x")]),
        Opening,
        |world| {
            let shown = AssistantMessage {
                id: "shown".into(),
                content: Some("x".to_owned()),
                ..AssistantMessage::default()
            };
            let shown = vec![Message::Assistant(shown)];
            world.input(Input::Shown(shown)).expect("it is taken");
        },
    );
    // The host decodes the answer: it takes it, refuses it, lets tools run beside it, or says nothing.
    let answers = |says: &[Part]| {
        typed().streams(
            [call("f", "final_result", "{}")]
                .into_iter()
                .chain(says.iter().cloned()),
        )
    };
    let mut taken = answers(&[]);
    taken.decodes.push_back(|_| Ok(()));
    life(taken, Decoding, go_on);
    let mut refused = answers(&[]).streams([text("{}")]);
    refused.decodes.push_back(|_| Err("no".to_owned()));
    refused.decodes.push_back(|_| Ok(()));
    life(refused, Decoding, go_on);
    let mut beside = answers(&[call("c", "work", "{}")]);
    beside.decodes.push_back(|_| Ok(()));
    life(beside, Decoding, go_on);
    life(answers(&[]), Decoding, go_on);
    life(answers(&[]), Decoding, cancel);
    // Hooks look at the answer, and let it pass, or not.
    let hooked = |mut world: World| {
        let mut config = (*world.config).clone();
        config.hooks = vec![HookSpec::new("guard", [HookMoment::AfterAnswer])];
        let hooked = crate::world::with(config.endpoint.dialect, |c| *c = config);
        world.machine = hooked.machine;
        world.config = hooked.config;
        world
    };
    let (calls, unknown) = (call("c", "work", "{}"), call("c", "invented", "{}"));
    life(
        hooked(working()).streams([text("x"), calls]),
        Reviewing,
        go_on,
    );
    let then = hooked(working()).streams([text("x"), unknown]);
    life(then.streams([text("x")]), Reviewing, go_on);
    life(
        hooked(working()).streams([text("x"), asks(&["a"])]),
        Reviewing,
        go_on,
    );
    let mut typed = hooked(answers(&[]));
    typed.decodes.push_back(|_| Ok(()));
    life(typed, Reviewing, go_on);
    life(
        hooked(crate::world::chat()).streams([text("x")]),
        Reviewing,
        go_on,
    );
    life(
        hooked(crate::world::chat()).streams([text("x")]),
        Reviewing,
        cancel,
    );
    let mut silent = hooked(working()).streams([text("x")]);
    silent.hooks.push_back(Box::new(|_| None));
    life(silent, Reviewing, go_on);
    // Another model takes over.
    let two = || {
        let mut config = crate::fallback::three();
        config.fallback.after = vec![ErrorKind::Connection];
        config
    };
    life(
        World::new(two())
            .reply(Reply::Unreachable)
            .streams([text("x")]),
        Opening,
        go_on,
    );
    life(
        World::new(two())
            .reply(Reply::Broken(vec![Part::Cut]))
            .streams([text("x")]),
        Streaming,
        go_on,
    );
    let mut looked_at = two();
    looked_at.fallback.after = vec![ErrorKind::ContentFilter];
    looked_at.fallback.after_text = true;
    looked_at.hooks = vec![HookSpec::new("look", [HookMoment::AfterAnswer])];
    let filtered = r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"content_filter"}]}"#;
    let filtered = format!("data: {filtered}\n\ndata: [DONE]\n\n").into_bytes();
    life(
        World::new(looked_at)
            .reply(Reply::Bytes(filtered, Ending::Complete))
            .streams([text("x")]),
        Reviewing,
        go_on,
    );
    // A model writes a summary first.
    let summarizing = |reply| {
        crate::compaction::summarizing(|config| {
            config.device.network_change = NetworkChangePolicy::Reopen;
        })
        .reply(reply)
    };
    let cut = || Reply::Stalled(vec![text("They"), Part::Cut]);
    let broken = Reply::Broken(vec![text("They"), Part::Cut]);
    life(
        summarizing(broken)
            .streams([text("x")])
            .streams([text("x")]),
        Summarizing,
        go_on,
    );
    life(
        summarizing(cut()).streams([text("x")]).streams([text("x")]),
        Summarizing,
        |world| {
            world.input(Input::NetworkLost).expect("at any time");
            world.input(Input::NetworkAvailable).expect("at any time");
        },
    );
    life(summarizing(cut()), Summarizing, cancel);
    let mut late = summarizing(cut());
    let mut config = (*late.config).clone();
    config.timeouts.turn = Some(Duration::from_secs(1));
    late.config = std::sync::Arc::new(config);
    life(
        crate::context::with_history(late, crate::context::long_history()),
        Summarizing,
        go_on,
    );
    let mut idle = crate::world::chat();
    idle.cancel();
    lives.push(idle);
    lives
}

#[test]
fn every_edge_of_the_table_is_walked() {
    let walked: BTreeSet<_> = lives()
        .into_iter()
        .flat_map(|world| world.seen.moves)
        .collect();
    let table: BTreeSet<_> = EDGES.iter().copied().collect();
    let never: Vec<_> = table.difference(&walked).collect();
    assert!(never.is_empty(), "never walked: {never:?}");
    assert!(walked.is_subset(&table));
}

#[test]
fn no_edge_stands_twice_in_the_table() {
    let rows: BTreeSet<_> = EDGES.iter().map(|row| (row.from, row.on, row.to)).collect();
    assert_eq!(rows.len(), EDGES.len());
}

#[test]
fn nothing_leaves_the_end_and_every_other_state_can_be_cancelled() {
    assert!(EDGES.iter().all(|row| row.from != StateKind::Completed));
    let states: BTreeSet<_> = EDGES.iter().map(|row| row.from).collect();
    assert_eq!(states.len(), 9);
    for state in states {
        assert!(
            EDGES
                .iter()
                .any(|row| (row.from, row.on, row.to) == (state, "Cancel", StateKind::Completed))
        );
    }
}

#[test]
fn the_chart_as_data_has_every_state_and_edge_and_where_they_begin_and_end() {
    let chart = statechart();
    assert_eq!(chart.initial, StateKind::Idle);
    assert_eq!(chart.r#final, [StateKind::Completed]);
    assert_eq!(chart.states.len(), 10);
    assert_eq!(chart.edges, EDGES);
}

#[test]
fn the_picture_shows_every_edge_once() {
    let chart = statechart_mermaid();
    let mut lines = chart.lines();
    assert_eq!(lines.next(), Some("stateDiagram-v2"));
    assert_eq!(lines.next(), Some("    [*] --> Idle"));
    assert_eq!(lines.next_back(), Some("    Completed --> [*]"));
    let mut drawn = BTreeSet::new();
    for line in lines {
        let (arrow, labels) = line.trim().split_once(": ").expect("an arrow has a label");
        let (from, to) = arrow.split_once(" --> ").expect("an arrow has two ends");
        for label in labels.split(", ") {
            assert!(
                drawn.insert((from.to_owned(), label.to_owned(), to.to_owned())),
                "{line} twice"
            );
        }
    }
    let table: BTreeSet<_> = EDGES
        .iter()
        .map(|row| {
            (
                row.from.to_string(),
                row.on.to_lowercase(),
                row.to.to_string(),
            )
        })
        .collect();
    assert_eq!(drawn, table);
}
