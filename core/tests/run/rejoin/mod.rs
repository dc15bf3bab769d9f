//! A stream that breaks off, again and again, and three kinds of backend that go on with it: after the last event, from
//! the first event on, from a snapshot.

mod backend;
mod refused;

use crate::cases::cases;
use crate::joined::appended;
use crate::world::{Cut, Ending, Reply, ToolReply, World, offer};
use backend::{Agent, merge};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use stepwell_core::dialect::{Dialect, Resumption};
use stepwell_core::event::{Event, Message};
use stepwell_core::run::{Outcome, RunEvent, TextOptions};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::text;

const WAYS: [Resumption; 3] = [
    Resumption::LastEventId,
    Resumption::Replay,
    Resumption::Snapshot,
];

/// A world whose backend goes on with a stream in this way; with the calls that its tool got.
fn world(way: Resumption) -> (World, Rc<RefCell<Vec<String>>>) {
    let calls = Rc::<RefCell<Vec<String>>>::default();
    let seen = Rc::clone(&calls);
    let world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.endpoint.quirks.resumption = way;
        // What was shown is compared with what was said.
        config.text = TextOptions::AS_WRITTEN;
        // Fewer than there are cuts: each place at which a stream breaks off has tries of its own.
        config.retry.attempts = 3;
    })
    .tool("work", move |call| {
        seen.borrow_mut()
            .push(format!("{} {}", call.tool_call_id, call.arguments.raw));
        ToolReply::text("ok")
    });
    (world, calls)
}

/// A body of events without ids.
fn body(events: &[Value]) -> Vec<u8> {
    let frames = events.iter().map(|event| format!("data: {event}\n\n"));
    frames.collect::<String>().into_bytes()
}

/// One break: where in the body, in 65536ths, how much more the agent says while nobody listens, how many bytes of the
/// frame at which it breaks come through, and whether the log is merged.
type Break = (u16, u8, u8, bool);

fn storm() -> impl Strategy<Value = (Vec<u8>, Vec<Break>)> {
    let cut = (any::<u16>(), 0..6_u8, any::<u8>(), any::<bool>());
    (
        prop::collection::vec(any::<u8>(), 0..60),
        prop::collection::vec(cut, 0..=10),
    )
}

/// The world after a turn whose first stream breaks off at these places.
fn broken(way: Resumption, agent: &Agent, cuts: &[Break], restores: bool) -> (World, Vec<String>) {
    let (mut world, calls) = world(way);
    world.restores = restores;
    world.cut = Cut::Every(61);
    let (mut heard, mut said, mut merged) = (0, 0, false);
    for (place, unheard, bytes, merges) in cuts {
        let frames = agent.body(way, heard, said, merged);
        // Each body brings something new, if only one event; at the last one all that counts was said.
        let known = if way == Resumption::Snapshot {
            said
        } else {
            heard
        };
        let new = frames.iter().position(|frame| frame.events > known);
        let first = new.map_or(frames.len(), |at| at + 1);
        let room = frames.len().saturating_sub(first);
        if room == 0 {
            break;
        }
        if bytes % 2 == 1 {
            world = world.reply(Reply::Unreachable);
        }
        let at = first + usize::from(*place) * room / (usize::from(u16::MAX) + 1);
        let mut body: String = frames[..at]
            .iter()
            .map(|frame| frame.text.as_str())
            .collect();
        let part = usize::from(*bytes) * frames[at].text.len() / 256;
        body.extend(frames[at].text.get(..part));
        let through = frames[..at].iter().map(|frame| frame.events).max();
        heard = through.unwrap_or(heard);
        // The end is always said to somebody.
        said = (heard + usize::from(*unheard))
            .min(agent.events.len() - 1)
            .max(heard);
        merged = *merges;
        world = world.reply(Reply::Bytes(body.into_bytes(), Ending::Broken));
    }
    let frames = agent.body(way, heard, said, merged);
    let body: String = frames.iter().map(|frame| frame.text.as_str()).collect();
    world = world.reply(Reply::Bytes(body.into_bytes(), Ending::Complete));
    let world = world.streams([text("Done.")]).turn();
    let calls = calls.borrow().clone();
    (world, calls)
}

/// The events of the first hop, neighbouring pieces of one item as one.
fn log(world: &World) -> Vec<Value> {
    let second = |event: &&RunEvent| !matches!(event, RunEvent::HopStarted { hop: 1, .. });
    let events = world
        .seen
        .events()
        .take_while(second)
        .filter_map(|event| match event {
            RunEvent::AgUi(event) => Some(serde_json::to_value(event).expect("plain data")),
            _ => None,
        });
    merge(&events.collect::<Vec<_>>())
}

/// Nothing is said twice: what begins does so once, and ends once.
fn assert_once(log: &[Value]) {
    let mut seen = std::collections::BTreeSet::new();
    for event in log {
        let kind = event["type"].as_str().unwrap_or_default();
        if kind.ends_with("_START") || kind.ends_with("_END") || kind.starts_with("RUN_") {
            assert!(seen.insert(event.to_string()), "twice: {event}");
        }
    }
}

/// What somebody has who applies the events that the app was shown.
pub fn followed(world: &World) -> Transcript {
    let mut transcript = Transcript::new(vec![Message::user("user-1", "Go on")]);
    for event in world.seen.ag_ui() {
        let _ = transcript.apply(event.into());
    }
    transcript
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_reconnect_storm_loses_nothing_and_says_nothing_twice((steps, cuts) in storm()) {
        let agent = Agent::saying(&steps);
        let (whole, calls) = broken(Resumption::Never, &agent, &[], false);
        let whole_items = appended(&whole);
        for way in WAYS {
            let (world, again) = broken(way, &agent, &cuts, false);
            prop_assert_eq!(world.outcome(), &Outcome::Success, "{:?}", way);
            prop_assert_eq!(world.messages(), whole.messages(), "{:?}", way);
            prop_assert_eq!(world.machine.transcript().shared_state(), whole.machine.transcript().shared_state());
            prop_assert_eq!(&again, &calls, "the tools, {:?}", way);
            let (log, expected) = (log(&world), log(&whole));
            assert_once(&log);
            if way == Resumption::Snapshot {
                // The results of the app's own tools are no events of the agent's.
                let mut messages = world.messages().to_vec();
                messages.retain(|message| !matches!(message, Message::Tool(_)));
                let followed = followed(&world);
                prop_assert_eq!(followed.messages(), messages);
                // An app that only appends deltas has all of each item that it saw begin.
                for (id, content) in appended(&world) {
                    prop_assert_eq!(Some(&content), whole_items.get(&id), "{}", id);
                }
            } else {
                prop_assert_eq!(log, expected, "{:?}", way);
            }
        }
    }

}

proptest! {
    // A snapshot after each input costs much.
    #![proptest_config(cases(8))]

    #[test]
    fn i4_a_storm_with_a_restore_after_every_input_is_the_same_storm((steps, cuts) in storm()) {
        let agent = Agent::saying(&steps[..steps.len().min(12)]);
        let cuts = &cuts[..cuts.len().min(3)];
        for way in WAYS {
            let (world, calls) = broken(way, &agent, cuts, false);
            let (restored, again) = broken(way, &agent, cuts, true);
            prop_assert_eq!(restored.outcome(), world.outcome());
            prop_assert_eq!(restored.messages(), world.messages());
            prop_assert_eq!(again, calls);
        }
    }
}

#[test]
fn each_way_asks_in_its_own_words() {
    let agent = Agent::saying(&[0, 8, 8]);
    for (way, expected) in [
        (Resumption::LastEventId, Some("4")),
        (Resumption::Replay, None),
        (Resumption::Snapshot, None),
    ] {
        let frames = agent.body(way, 0, 0, false);
        let begun: String = frames[..4]
            .iter()
            .map(|frame| frame.text.as_str())
            .collect();
        let rest: String = agent
            .body(way, 4, 4, false)
            .into_iter()
            .map(|frame| frame.text)
            .collect();
        let (world, _) = world(way);
        let world = world
            .reply(Reply::Bytes(begun.into_bytes(), Ending::Broken))
            .reply(Reply::Bytes(rest.into_bytes(), Ending::Complete))
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        let requests = world.seen.requests();
        // Though the state has changed meanwhile.
        assert_eq!(requests[1], requests[0], "{way:?}: the same is asked again");
        let header = world.seen.effects().filter_map(|(_, effect)| match effect {
            stepwell_core::run::Effect::OpenStream { request } => Some(
                (request.headers.iter())
                    .find(|(name, _)| name == "last-event-id")
                    .map(|(_, id)| id.clone()),
            ),
            _ => None,
        });
        assert_eq!(header.last().flatten().as_deref(), expected, "{way:?}");
        let resumed =
            |event: &RunEvent| matches!(event, RunEvent::StreamResumed { hop: 0, attempt: 1 });
        assert!(world.seen.events().any(resumed));
    }
}

#[test]
fn a_call_that_began_and_ended_while_nobody_listened_is_run() {
    // A text, and then a call whose beginning, arguments and end the snapshot stands for.
    let agent = Agent::saying(&[0, 8, 2, 6 + 16, 8]);
    let call = |event: &Value| event["type"] == "TOOL_CALL_END";
    let said = agent.events.iter().position(call).expect("a call") + 1;
    let way = Resumption::Snapshot;
    let begun: String = agent.body(way, 0, 0, false)[..4]
        .iter()
        .map(|frame| frame.text.as_str())
        .collect();
    let rest: String = agent
        .body(way, 4, said, false)
        .into_iter()
        .map(|frame| frame.text)
        .collect();
    let (world, calls) = world(way);
    let world = world
        .reply(Reply::Bytes(begun.into_bytes(), Ending::Broken))
        .reply(Reply::Bytes(rest.into_bytes(), Ending::Complete))
        .streams([text("Done.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(*calls.borrow(), ["call-2 {\"a\":1,\"b\":\"zwölf\"}"]);
    assert!(
        world
            .seen
            .ag_ui()
            .any(|event| matches!(event, Event::MessagesSnapshot(_)))
    );
}

#[test]
fn a_call_that_came_unseen_is_run_though_its_id_was_used_before() {
    let asked = json!({"id": "m-1", "role": "assistant", "toolCalls": [
        {"id": "call", "type": "function", "function": {"name": "work", "arguments": "{\"a\":1}"}},
    ]});
    let mut again = asked.clone();
    again["id"] = json!("m-2");
    again["toolCalls"][0]["function"]["arguments"] = json!("{\"a\":2}");
    let begin = json!({"type": "RUN_STARTED", "threadId": "thread", "runId": "run-1"});
    let end = json!({"type": "RUN_FINISHED", "threadId": "thread", "runId": "run-1"});
    let first = [
        begin.clone(),
        json!({"type": "TOOL_CALL_START", "toolCallId": "call", "toolCallName": "work", "parentMessageId": "m-1"}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": "call", "delta": "{\"a\":1}"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "call"}),
        end.clone(),
    ];
    let then = [
        begin.clone(),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": [
            {"id": "user-1", "role": "user", "content": "Go on"},
            asked,
            {"id": "r-1", "role": "tool", "toolCallId": "call", "content": "ok"},
            again,
        ]}),
        end,
    ];
    let (world, calls) = world(Resumption::Snapshot);
    let world = world
        .reply(Reply::Bytes(body(&first), Ending::Complete))
        .reply(Reply::Bytes(body(&[begin]), Ending::Broken))
        .reply(Reply::Bytes(body(&then), Ending::Complete))
        .streams([text("Done.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(*calls.borrow(), ["call {\"a\":1}", "call {\"a\":2}"]);
    world.assert_valid_history();
}
