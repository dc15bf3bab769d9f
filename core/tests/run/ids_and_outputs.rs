//! Ids, and the events that the host gets.

use crate::turn::{BOTH, secret_numbers};
use crate::world::{Cut, Reply, ToolReply, offer};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Event;
use stepwell_core::run::{EffectId, HookPlace, RunEvent};
use stepwell_core::tool::Tool;
use stepwell_core::{CallKey, RunId};
use stepwell_testing::reply::{Part, call, text};

#[test]
fn the_same_turn_gives_the_same_outputs_and_ids() {
    for dialect in BOTH {
        assert_eq!(
            secret_numbers(dialect).turn().seen,
            secret_numbers(dialect).turn().seen
        );
    }
}

#[test]
fn ids_come_from_the_run_the_hop_and_the_place() {
    let world = secret_numbers(Dialect::OpenAiChat).turn();
    let ids: Vec<_> = world
        .messages()
        .iter()
        .map(|message| message.id().to_string())
        .collect();
    assert_eq!(
        ids,
        [
            "user-1",
            "run-1-message-0",
            "run-1-result-0",
            "run-1-result-1",
            "run-1.1-message-0"
        ]
    );
}

#[test]
fn a_turn_has_the_run_id_of_its_first_hop() {
    let mut world = secret_numbers(Dialect::OpenAiChat);
    assert!(world.machine.turn().is_none_or(|turn| *turn == *""));
    world = world.turn();
    let id = |id: Option<&RunId>| id.map(ToString::to_string);
    assert_eq!(id(world.machine.turn()).as_deref(), Some("run-1"));
    assert_eq!(id(world.machine.run_id()).as_deref(), Some("run-1.1"));
}

#[test]
fn the_deltas_of_a_chunk_come_as_one_event_with_all_of_their_text() {
    for dialect in BOTH {
        let mut world = crate::world::of(dialect)
            .streams([text("One text that comes in two deltas: ünïcødé.")]);
        world.cut = Cut::Whole;
        let world = world.turn();
        let deltas: Vec<_> = world
            .seen
            .ag_ui()
            .filter(|event| matches!(event, Event::TextMessageContent(_)))
            .collect();
        assert_eq!(deltas.len(), 1);
        assert_eq!(
            world.seen.streamed_text(),
            world.machine.transcript().text()
        );
    }
}

#[test]
fn interleaved_arguments_come_out_whole_for_each_call() {
    for dialect in BOTH {
        let world = secret_numbers(dialect).turn();
        let arguments = |id: &str| -> String {
            let deltas = world.seen.ag_ui().filter_map(|event| match event {
                Event::ToolCallArgs(args) if args.tool_call_id == *id => Some(args.delta.as_str()),
                _ => None,
            });
            deltas.collect()
        };
        assert_eq!(arguments("call-a"), r#"{"name":"alice"}"#);
        assert_eq!(arguments("call-b"), r#"{"name":"bob"}"#);
    }
}

#[test]
fn text_is_said_to_have_ended_before_its_tools_run() {
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::text("ok"))
    .streams([text("First."), call("c", "work", "{}")])
    .streams([text("Then.")])
    .turn();
    let events: Vec<_> = world.seen.events().collect();
    let end = events
        .iter()
        .position(|event| matches!(event, RunEvent::AgUi(Event::TextMessageEnd(_))));
    let tool = events
        .iter()
        .position(|event| matches!(event, RunEvent::ToolCallUpdate(_)));
    assert!(end.expect("it ended") < tool.expect("it ran"));
}

#[test]
fn odd_things_in_a_stream_are_said_and_stop_nothing() {
    let odd =
        serde_json::json!({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/nothing"}]});
    let world = crate::world::ag_ui()
        .streams([Part::Event(odd), text("Yes.")])
        .turn();
    assert_eq!(world.machine.transcript().text(), "Yes.");
    assert_eq!(world.seen.warnings().len(), 1);
}

#[test]
fn an_effects_id_survives_being_written_and_read() {
    let call = CallKey { hop: 3, index: 4 };
    let hook = |place| EffectId::Hook { place, hook: 5 };
    let ids = [
        EffectId::CreateRun { hop: 1 },
        EffectId::Open { hop: 1, attempt: 2 },
        EffectId::Approve(call),
        EffectId::Tool(call),
        EffectId::Persist { sequence: u64::MAX },
        EffectId::Trim { hop: 5 },
        EffectId::Output { hop: 5 },
        EffectId::Authorize { hop: 6, attempt: 7 },
        hook(HookPlace::Request { hop: 1 }),
        hook(HookPlace::Answer { hop: 2 }),
        hook(HookPlace::Call(call)),
        hook(HookPlace::Result(call)),
    ];
    for id in ids {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    for text in [
        "",
        "open",
        "open:1",
        "open:1:2:3",
        "open:x:1",
        "tool:1:99999999999",
        "persist:-1",
        "trim:",
        "close:1:1",
    ] {
        assert!(text.parse::<EffectId>().is_err(), "{text}");
    }
}

#[test]
fn what_a_request_holds_in_secret_is_not_printed() {
    let world = crate::world::chat()
        .reply(Reply::Unreachable)
        .streams([text("Yes.")])
        .turn();
    let printed = format!("{:?} {:?}", world.seen.outputs, world.machine);
    assert!(!printed.contains("sk-secret"));
}
