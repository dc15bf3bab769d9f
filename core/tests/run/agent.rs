//! A run with an AG-UI agent: the encoding of its stream, how strictly its order is held, and which calls are pending.

use crate::cases::cases;
use crate::interrupts::answer;
use crate::world::{Reply, ToolReply, World, offer};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stepwell_core::Timestamp;
use stepwell_core::dialect::{AgUiEncoding, Dialect};
use stepwell_core::event::{Event, ResumeStatus, Verification, protobuf};
use stepwell_core::run::{Effect, Failure, Input, Outcome, ResumeError, RunConfig, StateKind};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Part, call, text};

fn binary(events: &[Value]) -> Vec<u8> {
    let mut body = Vec::new();
    for event in events {
        let event: Event = serde_json::from_value(event.clone()).expect("an event");
        protobuf::encode_frame((&event).into(), &mut body).expect("a known event");
    }
    body
}

fn sse(events: &[Value]) -> Vec<u8> {
    let frames = events.iter().map(|event| format!("data: {event}\n\n"));
    frames.collect::<String>().into_bytes()
}

fn run(events: Vec<Value>) -> Vec<Value> {
    let started = json!({"type": "RUN_STARTED", "threadId": "thread", "runId": "run-1"});
    let finished = json!({"type": "RUN_FINISHED", "threadId": "thread", "runId": "run-1"});
    [vec![started], events, vec![finished]].concat()
}

fn said(id: &str, said: &str) -> Vec<Value> {
    vec![
        json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": said}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
    ]
}

fn asked(id: &str) -> Vec<Value> {
    vec![
        json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "work", "parentMessageId": "calls"}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": json!({"id": id}).to_string()}),
        json!({"type": "TOOL_CALL_END", "toolCallId": id}),
    ]
}

fn working(change: impl FnOnce(&mut RunConfig)) -> World {
    let world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        change(config);
    });
    world.tool("work", |_| ToolReply::text("ok"))
}

const BINARY: Option<&str> = Some(protobuf::MEDIA_TYPE);

#[test]
fn the_answers_media_type_decides_how_it_is_read() {
    let first = run([said("m", "Let me see. "), asked("c")].concat());
    let second = run(said("n", "Done."));
    let of = |bodies: [Reply; 2]| {
        let [one, two] = bodies;
        let mut world = working(|config| {
            config.endpoint.quirks.ag_ui.encoding = AgUiEncoding::ProtobufFirst;
        })
        .journaled()
        .reply(one)
        .reply(two);
        world.send("Go on");
        world.drive();
        world
    };
    let events = Some("text/event-stream; charset=utf-8");
    let json = of([
        Reply::Body(events, sse(&first)),
        Reply::Body(events, sse(&second)),
    ]);
    // What a server answers with may differ from request to request, and its type may have parameters.
    let parameters = Some("Application/VND.ag-ui.event+proto; v=1");
    for (one, two) in [
        (
            Reply::Body(BINARY, binary(&first)),
            Reply::Body(BINARY, binary(&second)),
        ),
        (
            Reply::Body(parameters, binary(&first)),
            Reply::Body(events, sse(&second)),
        ),
    ] {
        let mut world = of([one, two]);
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(world.machine.transcript(), json.machine.transcript());
        assert_eq!(world.results(), [("c".to_owned(), "ok".to_owned())]);
        let journal = crate::journal::parsed(&crate::journal::written(&mut world));
        journal.replay().expect("a journal of bytes replays");
        assert!(!journal.redact().contains("Let me"), "its texts are hidden");
    }
    let accept = json.seen.effects().find_map(|(_, effect)| match effect {
        Effect::OpenStream { request } => {
            let header = request.headers.iter().find(|(name, _)| name == "accept");
            header.map(|(_, value)| value.as_str())
        }
        _ => None,
    });
    assert_eq!(
        accept,
        Some("application/vnd.ag-ui.event+proto, text/event-stream;q=0.9")
    );
}

#[test]
fn a_binary_stream_that_breaks_off_is_truncated_and_one_that_is_broken_fails() {
    let body = binary(&run(said("m", "Hello")));
    let cut = body[..body.len() - 1].to_vec();
    let world = working(|_| {}).reply(Reply::Body(BINARY, cut)).turn();
    assert_eq!(*world.outcome(), Outcome::Truncated);
    assert_eq!(world.machine.transcript().text(), "Hello");
    let mut broken = body;
    broken[4] = 0xff;
    let world = working(|_| {}).reply(Reply::Body(BINARY, broken)).turn();
    let failure = Outcome::Failed {
        failure: Failure::Stream {
            message: String::new(),
        },
    };
    assert_eq!(
        std::mem::discriminant(world.outcome()),
        std::mem::discriminant(&failure),
        "{:?}",
        world.outcome()
    );
}

#[test]
fn a_lenient_run_goes_on_where_the_protocol_ends_it() {
    let odd = [
        said("m", "Hello"),
        vec![
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "nobody", "delta": "lost"}),
            json!({"type": "RUN_STARTED", "threadId": "thread", "runId": "nested"}),
            json!({"type": "STEP_FINISHED", "stepName": "never"}),
        ],
        asked("c"),
    ]
    .concat();
    let world = |verification| {
        working(|config| config.endpoint.quirks.ag_ui.verification = verification)
            .reply(Reply::Body(None, sse(&run(odd.clone()))))
            .reply(Reply::Body(None, sse(&run(said("n", " and done.")))))
            .turn()
    };
    {
        let world = world(Verification::Protocol);
        let Outcome::Failed {
            failure: Failure::Stream { message },
        } = world.outcome()
        else {
            panic!("{:?}", world.outcome())
        };
        assert!(
            message.contains("frame 5") && message.contains("O7"),
            "{message}"
        );
        assert_eq!(
            world.machine.transcript().text(),
            "Hello",
            "what came is kept"
        );
    }
    let world = world(Verification::Lenient);
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.machine.transcript().text(), "Hello and done.");
    assert_eq!(world.results(), [("c".to_owned(), "ok".to_owned())]);
    let warnings = world.seen.warnings();
    let rules = ["frame 5: O7: ", "frame 6: O2: ", "frame 7: O12: "];
    assert_eq!(warnings.len(), rules.len(), "{warnings:?}");
    for (warning, rule) in warnings.iter().zip(rules) {
        assert!(warning.starts_with(rule), "{warning}");
    }
    assert!(
        warnings[1].ends_with("the event was dropped"),
        "{warnings:?}"
    );
}

#[test]
fn a_question_that_has_lapsed_can_only_be_cancelled() {
    let mut world = crate::world::ag_ui()
        .streams([Part::Outcome(json!({"type": "interrupt", "interrupts": [
            {"id": "a", "reason": "question", "expiresAt": "1970-01-01T00:16:40.500Z"},
        ]}))])
        .streams([text("Never mind.")]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    let interrupts = world.machine.interrupts();
    let expires_at = Timestamp(1_000_500);
    assert!(interrupts[0].is_expired(expires_at));
    world.now = expires_at.0;
    let refused = world
        .input(Input::Resume(vec![answer("a")]))
        .expect_err("it has lapsed");
    assert!(
        refused
            .to_string()
            .contains(&ResumeError::Expired("a".into()).to_string())
    );
    let mut cancelled = answer("a");
    (cancelled.status, cancelled.payload) = (ResumeStatus::Cancelled, None);
    world
        .input(Input::Resume(vec![cancelled]))
        .expect("it may be cancelled");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn what_an_agent_is_to_know_goes_out_with_every_run() {
    let said = || [call("c", "work", "{}")];
    let world = working(|config| {
        config.settings.context = serde_json::from_value(json!([
            {"description": "the page", "value": "/cart", "unknown": 1},
        ]))
        .expect("a context");
        config.settings.extra = json!({"temperature": 1})
            .as_object()
            .expect("an object")
            .clone();
        config.endpoint.quirks.ag_ui.is_before_1_0 = true;
    })
    .streams(said())
    .streams([text("Done.")])
    .turn();
    let requests = world.seen.requests();
    assert_eq!(requests.len(), 2);
    for request in requests {
        assert_eq!(
            request["context"],
            json!([{"description": "the page", "value": "/cart"}])
        );
        assert_eq!(request["forwardedProps"], json!({"temperature": 1}));
        assert_eq!(
            request.get("protocolVersion"),
            None,
            "an old agent is not told"
        );
    }
    let world = working(|_| {}).streams([text("Done.")]).turn();
    assert_eq!(world.seen.requests()[0]["protocolVersion"], "1.0");
}

#[test]
fn a_call_that_only_a_snapshot_brought_is_run_if_the_agent_leaves_it_to_the_client() {
    let snapshot = json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"role": "user", "id": "user-1", "content": "Go on"},
        {"role": "assistant", "id": "calls", "toolCalls": [
            {"id": "old", "type": "function", "function": {"name": "work", "arguments": "{}"}},
            {"id": "new", "type": "function", "function": {"name": "work", "arguments": "{}"}},
        ]},
        {"role": "tool", "id": "result", "toolCallId": "old", "content": "long ago"},
    ]});
    let pending = json!({"type": "success", "pendingToolCallIds": ["old", "new", "nobody"]});
    let world = working(|_| {})
        .streams([Part::Event(snapshot), Part::Outcome(pending)])
        .streams([text("Done.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let results = [("old", "long ago"), ("new", "ok")];
    assert_eq!(
        world.results(),
        results.map(|(id, text)| (id.to_owned(), text.to_owned()))
    );
    let warnings = world.seen.warnings();
    assert!(
        warnings.len() == 1 && warnings[0].contains("`nobody`"),
        "{warnings:?}"
    );
    world.assert_valid_history();
}

#[test]
fn a_call_whose_id_was_used_before_is_not_answered_by_what_a_snapshot_has_of_the_other() {
    let asks = |message: &str| {
        json!({"role": "assistant", "id": message, "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "work", "arguments": "{}"}},
        ]})
    };
    let snapshot =
        |messages: Value| Part::Event(json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}));
    let user = json!({"role": "user", "id": "user-1", "content": "Go on"});
    let begin = json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "work", "parentMessageId": "calls-2"});
    let end = json!({"type": "TOOL_CALL_END", "toolCallId": "c"});
    let pending = json!({"type": "success", "pendingToolCallIds": ["c"]});
    // The stream asks, and the snapshot repeats it; or the snapshot alone asks.
    for (streamed, outcome) in [
        (vec![Part::Event(begin), Part::Event(end)], vec![]),
        (vec![], vec![Part::Outcome(pending)]),
    ] {
        let known =
            json!({"role": "tool", "id": "run-1-result-0", "toolCallId": "c", "content": "ok"});
        let all = snapshot(json!([user, asks("calls"), known, asks("calls-2")]));
        let world = working(|_| {})
            .streams(asked("c").into_iter().map(Part::Event))
            .streams([streamed, vec![all], outcome].concat())
            .streams([text("Done.")])
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        let results: Vec<_> = world.results().into_iter().map(|(_, text)| text).collect();
        assert_eq!(results, ["ok", "ok"]);
    }
}

/// How one call of a stream goes.
#[derive(Clone, Debug)]
struct Asked {
    in_chunks: bool,
    is_answered: bool,
    is_named: bool,
    is_asked_about: bool,
}

proptest! {
    #![proptest_config(cases(64))]

    /// The decoder, the reducer and the continuation agree on which calls are pending: those that a plain reading of the
    /// protocol leaves to the client, each run once, each with one result in the next request.
    #[test]
    fn all_layers_agree_on_which_calls_are_pending(
        calls in prop::collection::vec(
            (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
                |(in_chunks, is_answered, is_named, is_asked_about)| Asked {
                    in_chunks, is_answered, is_named, is_asked_about,
                },
            ),
            1..6,
        ),
        names in any::<bool>(),
        asks_the_user in any::<bool>(),
        is_binary in any::<bool>(),
    ) {
        let id = |index: usize| format!("call-{index}");
        let mut events = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            if call.in_chunks {
                events.push(json!({"type": "TOOL_CALL_CHUNK", "toolCallId": id(index), "toolCallName": "work",
                    "parentMessageId": "calls"}));
                let arguments = json!({"id": id(index)}).to_string();
                events.push(json!({"type": "TOOL_CALL_CHUNK", "delta": arguments}));
            } else {
                events.extend(asked(&id(index)));
            }
        }
        for (index, _) in calls.iter().enumerate().filter(|(_, call)| call.is_answered) {
            events.push(json!({"type": "TOOL_CALL_RESULT", "messageId": format!("result-{index}"),
                "toolCallId": id(index), "content": "theirs"}));
        }
        let those = |is: fn(&Asked) -> bool| -> Vec<String> {
            let those = calls.iter().enumerate().filter(|(_, call)| is(call));
            those.map(|(index, _)| id(index)).collect()
        };
        let named = those(|call| call.is_named && !call.is_answered);
        let about = those(|call| call.is_asked_about && !call.is_answered);
        let mut events = run(events);
        let last = events.last_mut().expect("RUN_FINISHED");
        let mut pending: Vec<_> = those(|call| !call.is_answered);
        if asks_the_user {
            let interrupts: Vec<_> = about
                .iter()
                .map(|call| json!({"id": call, "reason": "r", "toolCallId": call}))
                .chain([json!({"id": "other", "reason": "r"})])
                .collect();
            last["outcome"] = json!({"type": "interrupt", "interrupts": interrupts});
            // The agent's own questions decide on the calls that they are about.
            pending.retain(|call| !about.contains(call));
        } else if names {
            last["outcome"] = json!({"type": "success", "pendingToolCallIds": named});
            if !named.is_empty() {
                pending = named;
            }
        }
        let body = if is_binary {
            Reply::Body(BINARY, binary(&events))
        } else {
            Reply::Body(None, sse(&events))
        };
        let mut world = working(|_| {}).reply(body).streams([text("Done.")]);
        world.send("Go on");
        if asks_the_user {
            world.drive_to(StateKind::Interrupted);
            let answers = world.machine.interrupts().iter().map(|interrupt| answer(&interrupt.id));
            let answers = answers.collect();
            world.input(Input::Resume(answers)).expect("they fit");
        }
        world.drive();
        prop_assert_eq!(world.outcome(), &Outcome::Success);
        let invoked: Vec<_> = world
            .seen
            .invocations()
            .iter()
            .map(|invocation| invocation.tool_call_id.to_string())
            .collect();
        prop_assert_eq!(&invoked, &pending, "what is run");
        let requests = world.seen.requests();
        prop_assert_eq!(requests.len(), if pending.is_empty() && !asks_the_user { 1 } else { 2 });
        if let Some(next) = requests.get(1) {
            let results = next["messages"].as_array().expect("a list").iter();
            let ours: BTreeSet<_> = results
                .filter(|message| message["role"] == "tool" && message["content"] == "ok")
                .map(|message| message["toolCallId"].as_str().unwrap_or_default().to_owned())
                .collect();
            prop_assert_eq!(ours, pending.into_iter().collect(), "what goes back");
        }
    }
}

/// The call that the first run asked for, announced once more in the second.
#[test]
fn a_call_that_is_announced_again_runs_once() {
    let once = asked("c");
    let bare = [once[0].clone(), once[2].clone()].to_vec();
    let result = json!({"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "x", "content": "ok", "role": "tool"});
    let with_result = [&once[..], &[result]].concat();
    for again in [once.clone(), bare, with_result] {
        let mut world = working(|_| {})
            .reply(Reply::Body(None, sse(&run(once.clone()))))
            .reply(Reply::Body(
                None,
                sse(&run([again, said("n", "Done.")].concat())),
            ));
        world.send("Go on");
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(world.results(), [("c".to_owned(), "ok".to_owned())]);
        let transcript = world.machine.transcript();
        let calls: Vec<_> = transcript.tool_calls().collect();
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].function.arguments, json!({"id": "c"}).to_string());
        assert_eq!(transcript.text(), "Done.");
    }
}
