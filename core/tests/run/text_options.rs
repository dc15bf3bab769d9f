//! How the model's text is shown: line breaks after tools, and messages of nothing but blanks.

use crate::thorough::is_thorough;
use crate::world::{Cut, ToolReply, World, config, offer};
use serde_json::json;
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::{Dialect, ThinkTags};
use stepwell_core::event::{Event, Message, Verification};
use stepwell_core::run::{
    Effect, EffectId, Input, Output, RunEvent, RunMachine, Start, TextOptions,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::{Call, Part, body, call, text};

const BOTH_ON: TextOptions = TextOptions {
    break_after_tools: true,
    drop_blank: true,
};

const BREAKS: TextOptions = TextOptions {
    break_after_tools: true,
    drop_blank: false,
};

fn showing(dialect: Dialect, text: TextOptions) -> World {
    crate::world::with(dialect, |config| {
        offer(config, Tool::new("work", "Works."));
        config.text = text;
        // For the agents that leave a message open.
        config.endpoint.quirks.ag_ui.verification = Verification::Lenient;
    })
    .tool("work", |_| ToolReply::text("done"))
}

/// The texts of the history, and nothing that was made for showing.
fn written(world: &World) -> Vec<&str> {
    let said = world.messages().iter().filter_map(|message| match message {
        Message::Assistant(message) => message.content.as_deref(),
        _ => None,
    });
    said.collect()
}

fn starts_and_ends(world: &World) -> (usize, usize) {
    let count = |is: fn(&Event) -> bool| world.seen.ag_ui().filter(|event| is(event)).count();
    (
        count(|event| matches!(event, Event::TextMessageStart(_))),
        count(|event| matches!(event, Event::TextMessageEnd(_))),
    )
}

/// What an agent says of one text message.
fn start(id: &str) -> Part {
    Part::Event(json!({"type": "TEXT_MESSAGE_START", "messageId": id}))
}

fn piece(id: &str, delta: &str) -> Part {
    Part::Event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta}))
}

fn end(id: &str) -> Part {
    Part::Event(json!({"type": "TEXT_MESSAGE_END", "messageId": id}))
}

fn two_hops(options: TextOptions, first: &str, second: &str) -> World {
    showing(Dialect::OpenAiChat, options)
        .streams([text(first), call("c", "work", "{}")])
        .streams([text(second)])
        .turn()
}

#[test]
fn a_line_break_parts_the_texts_of_two_hops_where_it_is_shown_alone() {
    let world = two_hops(BOTH_ON, "Let me see.", "It is done.");
    assert_eq!(world.seen.streamed_text(), "Let me see.\nIt is done.");
    assert_eq!(world.machine.shown_text(), "Let me see.\nIt is done.");
    // The history and the next request have what the model wrote.
    assert_eq!(written(&world), ["Let me see.", "It is done."]);
    assert_eq!(world.machine.transcript().text(), "Let me see.It is done.");
    let said = &world.seen.requests()[1]["messages"][1];
    assert_eq!(said["content"], "Let me see.");

    let off = two_hops(TextOptions::AS_WRITTEN, "Let me see.", "It is done.");
    assert_eq!(off.seen.streamed_text(), "Let me see.It is done.");
    assert_eq!(off.machine.shown_text(), "Let me see.It is done.");
}

#[test]
fn the_line_break_needs_no_other_option() {
    let world = two_hops(BREAKS, "Let me see.", "It is done.");
    assert_eq!(world.seen.streamed_text(), "Let me see.\nIt is done.");
    assert_eq!(world.machine.shown_text(), "Let me see.\nIt is done.");
}

#[test]
fn a_message_that_goes_on_beside_one_that_is_held_back_gets_no_second_break() {
    let world = showing(Dialect::AgUi, BOTH_ON)
        .streams([text("Let me see."), call("c", "work", "{}")])
        .streams([
            start("a"),
            piece("a", "It is "),
            start("b"),
            piece("a", "done."),
            end("b"),
            end("a"),
        ])
        .turn();
    assert_eq!(world.seen.streamed_text(), "Let me see.\nIt is done.");
    assert_eq!(world.machine.shown_text(), "Let me see.\nIt is done.");
}

#[test]
fn there_is_no_break_where_one_stands_or_nothing_was_shown() {
    for (first, second, shown) in [
        ("Let me see.\n", "Done.", "Let me see.\nDone."),
        ("Let me see.", "\nDone.", "Let me see.\nDone."),
        (" \n", "Done.", "Done."),
    ] {
        let world = two_hops(BOTH_ON, first, second);
        assert_eq!(world.seen.streamed_text(), shown);
        assert_eq!(world.machine.shown_text(), shown);
    }
    let silent = showing(Dialect::OpenAiChat, BOTH_ON)
        .streams([call("c", "work", "{}")])
        .streams([text("Done.")])
        .turn();
    assert_eq!(silent.seen.streamed_text(), "Done.");
}

#[test]
fn a_message_of_blanks_is_not_shown_and_leading_blanks_are_not_lost() {
    let options = TextOptions {
        drop_blank: true,
        ..TextOptions::default()
    };
    let world = two_hops(options, "\n\n", "  \t Yes. ");
    assert_eq!(world.seen.streamed_text(), "  \t Yes. ");
    assert_eq!(world.machine.shown_text(), "  \t Yes. ");
    assert_eq!(starts_and_ends(&world), (1, 1));
    assert_eq!(written(&world), ["\n\n", "  \t Yes. "]);

    let off = two_hops(TextOptions::default(), "\n\n", "Yes.");
    assert_eq!(starts_and_ends(&off), (2, 2));
    assert_eq!(off.seen.streamed_text(), "\n\nYes.");
}

/// AG-UI streams messages of others too, gives pieces attachments, and has several messages open.
#[test]
fn only_what_the_model_says_is_held_back() {
    let event = |event| Part::Event(event);
    let world = showing(Dialect::AgUi, BOTH_ON)
        .streams([
            event(json!({"type": "TEXT_MESSAGE_START", "messageId": "d", "role": "developer"})),
            event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "d", "delta": " "})),
            event(json!({"type": "TEXT_MESSAGE_END", "messageId": "d"})),
            event(json!({"type": "TEXT_MESSAGE_START", "messageId": "a"})),
            event(json!({"type": "TEXT_MESSAGE_START", "messageId": "b"})),
            event(
                json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": " ",
                "metadata": {"k": 1}}),
            ),
            event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "b", "delta": " "})),
            event(
                json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "A",
                "metadata": {"k": 2}}),
            ),
            event(json!({"type": "TEXT_MESSAGE_END", "messageId": "b"})),
            event(json!({"type": "TEXT_MESSAGE_END", "messageId": "a"})),
        ])
        .turn();
    let of = |id: &str| -> String {
        world
            .seen
            .ag_ui()
            .filter_map(|event| match event {
                Event::TextMessageStart(event) if event.message_id == *id => Some("[".to_owned()),
                Event::TextMessageContent(event) if event.message_id == *id => {
                    Some(event.delta.clone())
                }
                Event::TextMessageEnd(event) if event.message_id == *id => Some("]".to_owned()),
                _ => None,
            })
            .collect()
    };
    assert_eq!(
        (of("d"), of("a"), of("b")),
        ("[ ]".into(), "[ A]".into(), String::new())
    );
}

#[test]
fn a_message_that_goes_on_after_its_end_is_shown_but_once() {
    let world = showing(Dialect::AgUi, BOTH_ON)
        .streams([
            start("a"),
            piece("a", "One."),
            end("a"),
            start("a"),
            piece("a", " Two."),
            end("a"),
        ])
        .turn();
    assert_eq!(world.seen.streamed_text(), "One. Two.");
    assert_eq!(starts_and_ends(&world), (2, 2));
}

#[test]
fn a_first_piece_with_attachments_comes_alone() {
    let piece = json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "Yes.",
        "metadata": {"k": 1}});
    let world = showing(Dialect::AgUi, BOTH_ON)
        .streams([start("a"), Part::Event(piece), end("a")])
        .turn();
    let pieces: Vec<_> = world
        .seen
        .ag_ui()
        .filter_map(|event| match event {
            Event::TextMessageContent(event) => Some(event.delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(pieces, ["Yes."]);
}

#[test]
fn every_cut_and_every_snapshot_shows_the_same() {
    let hops = [
        vec![
            text("  "),
            text("Let me "),
            text("see."),
            Part::Calls(vec![
                Call::new("a", "work", "{}"),
                Call::new("b", "work", "{}"),
            ]),
        ],
        vec![text("\n \n"), call("c", "work", "{}")],
        vec![text(" "), text("Do"), text("ne.")],
    ];
    let world = |cut| {
        let mut world = showing(Dialect::OpenAiChat, BOTH_ON);
        world.cut = cut;
        hops.iter()
            .fold(world, |world, says| world.streams(says.clone()))
    };
    let whole = world(Cut::Whole).turn();
    assert_eq!(whole.seen.streamed_text(), "  Let me see.\n Done.");
    assert_eq!(whole.machine.shown_text(), whole.seen.streamed_text());
    for size in [1, 2, 3, 7, 64] {
        for restores in [false, true] {
            // A restore before every second or third byte costs more than all the other tests of text together.
            if restores && size < 7 && !is_thorough() {
                continue;
            }
            let mut world = world(Cut::Every(size));
            world.restores = restores;
            let world = world.turn();
            assert_eq!(
                world.seen.streamed_text(),
                whole.seen.streamed_text(),
                "{size}"
            );
            assert_eq!(starts_and_ends(&world), (2, 2), "{size}");
            assert_eq!(world.messages(), whole.messages(), "{size}");
        }
    }
}

fn outputs(machine: &mut RunMachine) -> Vec<Output> {
    std::iter::from_fn(|| machine.poll_output()).collect()
}

/// A snapshot that was made while a message was held back can be read by a host that shows all of it.
#[test]
fn what_was_held_back_is_shown_when_the_options_are_off_again() {
    let mut config = config(Dialect::OpenAiChat);
    // The white space at an answer's start waits elsewhere, too.
    config.endpoint.quirks.think_tags = ThinkTags::Never;
    config.text = BOTH_ON;
    let now = Timestamp(1);
    let mut machine = RunMachine::new(Arc::new(config.clone()), "t".into(), Transcript::default());
    let start = Start::new("run-1", Message::user("user-1", "Hello"));
    machine.start(start, now).expect("idle");
    let is_open = |output: &Output| matches!(output, Output::Effect(_, Effect::OpenStream { .. }));
    assert!(outputs(&mut machine).iter().any(is_open));
    let effect = EffectId::Open { hop: 0, attempt: 0 };
    let content_type = None;
    machine
        .handle(
            Input::Opened {
                effect,
                content_type,
            },
            now,
        )
        .expect("opening");
    let bytes = body(Dialect::OpenAiChat, 0, &[text(" "), Part::Cut]);
    machine
        .handle(
            Input::Received {
                effect,
                bytes: bytes.into(),
            },
            now,
        )
        .expect("streaming");
    assert!(outputs(&mut machine).is_empty());
    config.text = TextOptions::default();
    let snapshot = machine.snapshot();
    let mut machine = RunMachine::restore(&snapshot, Arc::new(config)).expect("readable");
    let shown = outputs(&mut machine);
    assert!(
        matches!(
            &shown[..],
            [Output::Event(RunEvent::AgUi(Event::TextMessageStart(_)))]
        ),
        "{shown:?}"
    );
}

#[test]
fn what_one_hop_held_back_is_not_shown_in_the_next() {
    // The agent leaves the message open.
    let mut world = showing(Dialect::AgUi, BOTH_ON)
        .streams([start("a"), piece("a", " "), call("c", "work", "{}")])
        .streams([text("Done.")]);
    world.send("Go on");
    world.drive_until(|world| world.machine.hop() == 1);
    let snapshot = world.machine.snapshot();
    let mut config = (*world.config).clone();
    config.text = TextOptions::default();
    let mut machine = RunMachine::restore(&snapshot, Arc::new(config)).expect("readable");
    assert_eq!(outputs(&mut machine), []);
}
