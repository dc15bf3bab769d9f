//! How much one answer may bring: an endless one ends, with an outcome that names the limit.

use crate::cases::cases;
use crate::turn::BOTH;
use crate::world::{Cut, Ending, Reply, ToolReply, config, offer};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::{Dialect, Resumption};
use stepwell_core::event::Message;
use stepwell_core::pipeline::AnswerLimits;
use stepwell_core::run::{
    Effect, EffectId, Failure, Input, LimitPolicy, Outcome, Output, RunConfig, RunMachine, Start,
    TurnLimit,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::{Call, Part, body, call, text};

const SMALL: AnswerLimits = AnswerLimits {
    bytes: 64 << 10,
    calls: 20,
};

fn small(config: &mut RunConfig) {
    offer(config, Tool::new("work", "Works."));
    config.limits.answer = SMALL;
}

fn stopped_by(limit: TurnLimit) -> Outcome {
    Outcome::Failed {
        failure: Failure::LimitReached { limit },
    }
}

fn too_many_bytes() -> Outcome {
    stopped_by(TurnLimit::MaxAnswerBytes { max: SMALL.bytes })
}

fn too_many_calls() -> Outcome {
    stopped_by(TurnLimit::MaxAnswerCalls { max: SMALL.calls })
}

fn frame(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

fn chunk(delta: &Value) -> Vec<u8> {
    frame(&json!({"choices": [{"index": 0, "delta": delta}]}))
}

/// A host that reads a body which has no end, as far as it is let.
struct Endless {
    machine: RunMachine,
    effect: EffectId,
    is_closed: bool,
}

impl Endless {
    fn new(dialect: Dialect, change: impl FnOnce(&mut RunConfig)) -> Self {
        let mut config = config(dialect);
        change(&mut config);
        let history = Transcript::default();
        let mut machine = RunMachine::new(Arc::new(config), "thread".into(), history);
        let start = Start::new("run-1", Message::user("user-1", "Go on"));
        machine.start(start, Timestamp(0)).expect("it is idle");
        let effect = EffectId::Open { hop: 0, attempt: 0 };
        let mut host = Self {
            machine,
            effect,
            is_closed: false,
        };
        host.take_outputs();
        host.feed(Input::Opened {
            effect,
            content_type: None,
        });
        if dialect == Dialect::AgUi {
            host.reads(&frame(
                &json!({"type": "RUN_STARTED", "threadId": "thread", "runId": "run-1"}),
            ));
        }
        host
    }

    fn take_outputs(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            self.is_closed |= matches!(output, Output::Effect(_, Effect::CloseStream));
        }
    }

    fn feed(&mut self, input: Input<'_>) {
        let told = self.machine.handle(input, Timestamp(1));
        told.expect("the host makes no mistake");
        self.take_outputs();
    }

    fn reads(&mut self, bytes: &[u8]) {
        self.feed(Input::Received {
            effect: self.effect,
            bytes: bytes.into(),
        });
    }

    /// The bytes of the whole history as it would be stored.
    fn size(&self) -> usize {
        let messages = self.machine.transcript().messages();
        let state = self.machine.transcript().shared_state();
        json!([messages, state]).to_string().len()
    }

    /// Reads what `say` says for ever, from a first chunk on.
    fn ends(mut self, first: &[u8], say: impl Fn(usize) -> Vec<u8>, outcome: &Outcome) -> Self {
        self.reads(first);
        for number in 0..20_000_usize {
            if self.machine.outcome().is_some() {
                break;
            }
            let is_looked_at = number.is_multiple_of(1_000);
            assert!(!is_looked_at || self.size() < 1 << 20, "it grows for ever");
            self.reads(&say(number));
        }
        assert_eq!(self.machine.outcome(), Some(outcome));
        assert!(self.is_closed, "the connection is closed");
        assert!(self.size() < 1 << 20, "{}", self.size());
        let messages = self.machine.transcript().messages();
        stepwell_testing::history::check_history(messages).expect("each call has a result");
        self
    }
}

#[test]
fn an_endless_text_ends() {
    let say = |_| chunk(&json!({"content": "and so on, ".repeat(20)}));
    let host = Endless::new(Dialect::OpenAiChat, small).ends(b"", say, &too_many_bytes());
    let text = host.machine.transcript().text();
    assert!(text.len() as u64 <= SMALL.bytes);
    assert!(
        text.len() as u64 > SMALL.bytes * 9 / 10,
        "what fits is kept"
    );
    let limit = host.machine.outcome().and_then(Outcome::limit);
    assert_eq!(limit.map(TurnLimit::name), Some("max_answer_bytes"));
}

#[test]
fn an_endless_reasoning_ends() {
    let say = |_| chunk(&json!({"reasoning_content": "but wait, ".repeat(20)}));
    Endless::new(Dialect::OpenAiChat, small).ends(b"", say, &too_many_bytes());
}

#[test]
fn endless_sealed_reasoning_ends() {
    let say = |number: usize| {
        let data = "c2VjcmV0".repeat(100);
        let details = json!({"type": "reasoning.encrypted", "data": data, "index": number});
        chunk(&json!({"reasoning_details": [details]}))
    };
    let mut host = Endless::new(Dialect::OpenAiChat, |config| {
        small(config);
        config.limits.answer.bytes = u64::MAX;
    });
    // It is held until the reasoning is over, and so is bounded where it is held.
    let piece = say(0).repeat(100);
    for _ in 0..10_000 {
        if host.machine.outcome().is_some() {
            break;
        }
        host.reads(&piece);
    }
    let limit = TurnLimit::MaxAnswerBytes { max: 16 << 20 };
    assert_eq!(host.machine.outcome(), Some(&stopped_by(limit)));
}

#[test]
fn endless_arguments_end_and_their_call_has_a_result() {
    let call = |arguments: &str| json!({"index": 0, "function": {"arguments": arguments}});
    let first = json!({"index": 0, "id": "c", "function": {"name": "work", "arguments": "["}});
    let say = |_| chunk(&json!({"tool_calls": [call(&"1, ".repeat(50))]}));
    let host = Endless::new(Dialect::OpenAiChat, small).ends(
        &chunk(&json!({"tool_calls": [first]})),
        say,
        &too_many_bytes(),
    );
    let Some(Message::Tool(result)) = host.machine.transcript().messages().last() else {
        panic!("the call has no result")
    };
    assert!(result.content.to_text().contains("beyond its limit"));
}

#[test]
fn endless_calls_end_and_each_that_began_has_a_result() {
    let say = |number: usize| {
        let function = json!({"name": "work", "arguments": "{}"});
        let call = json!({"index": number, "id": format!("c{number}"), "function": function});
        chunk(&json!({"tool_calls": [call]}))
    };
    let host = Endless::new(Dialect::OpenAiChat, small).ends(b"", say, &too_many_calls());
    let results = host.machine.transcript().messages().iter();
    let results = results.filter(|message| matches!(message, Message::Tool(_)));
    assert_eq!(results.count(), SMALL.calls as usize);
}

/// What is said in each round of something that has no end.
type Script<'a> = &'a dyn Fn(usize) -> Vec<Value>;

/// What only an agent can say without an end.
#[test]
fn whatever_an_agent_says_without_an_end_ends() {
    let start =
        |id: &str| json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "theirs"});
    let kinds: [(&str, Script<'_>); 8] = [
        ("empty messages", &|number| {
            let id = format!("m{number}");
            vec![
                json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}),
                json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
            ]
        }),
        ("empty reasoning", &|number| {
            let id = format!("m{number}");
            vec![
                json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}),
                json!({"type": "REASONING_MESSAGE_END", "messageId": id}),
            ]
        }),
        ("calls that it answers itself", &|number| {
            let id = format!("c{number}");
            vec![
                start(&id),
                json!({"type": "TOOL_CALL_END", "toolCallId": id}),
                json!({"type": "TOOL_CALL_RESULT", "messageId": format!("r{number}"), "toolCallId": id,
                    "content": "x".repeat(100)}),
            ]
        }),
        ("steps", &|number| {
            vec![json!({"type": "STEP_STARTED", "stepName": format!("s{number}")})]
        }),
        ("activities", &|number| {
            vec![
                json!({"type": "ACTIVITY_SNAPSHOT", "messageId": format!("a{number}"),
                "activityType": "PLAN", "content": {"steps": []}}),
            ]
        }),
        ("one activity that grows", &|number| {
            let patch = json!([{"op": "add", "path": format!("/{number}"), "value": "more"}]);
            match number {
                0 => vec![
                    json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "PLAN",
                    "content": {}}),
                ],
                _ => vec![
                    json!({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "PLAN",
                    "patch": patch}),
                ],
            }
        }),
        ("a state that grows", &|number| {
            let patch = json!([{"op": "add", "path": format!("/{number}"), "value": "more"}]);
            match number {
                0 => vec![json!({"type": "STATE_SNAPSHOT", "snapshot": {}})],
                _ => vec![json!({"type": "STATE_DELTA", "delta": patch})],
            }
        }),
        ("text in chunks", &|_| {
            vec![
                json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "and so on, ".repeat(20)}),
            ]
        }),
    ];
    for (kind, say) in kinds {
        let say = |number| say(number).iter().flat_map(frame).collect();
        println!("{kind}");
        Endless::new(Dialect::AgUi, small).ends(b"", say, &too_many_bytes());
    }
    let say = |number: usize| frame(&start(&format!("c{number}")));
    Endless::new(Dialect::AgUi, small).ends(b"", say, &too_many_calls());
}

#[test]
fn what_takes_the_place_of_something_is_counted_once() {
    let mut host = Endless::new(Dialect::AgUi, small);
    for number in 0..10_000 {
        let content = json!({"done": number, "of": "x".repeat(1_000)});
        host.reads(&frame(
            &json!({"type": "STATE_SNAPSHOT", "snapshot": content}),
        ));
        host.reads(&frame(
            &json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a",
            "activityType": "PROGRESS", "content": content}),
        ));
    }
    host.reads(&frame(
        &json!({"type": "RUN_FINISHED", "threadId": "thread", "runId": "run-1"}),
    ));
    let effect = host.effect;
    host.feed(Input::Ended { effect });
    assert_eq!(host.machine.outcome(), Some(&Outcome::Success));
}

#[test]
fn a_turn_may_have_more_than_one_answer() {
    for dialect in BOTH {
        let mut world = crate::world::with(dialect, small).tool("work", |_| ToolReply::text("ok"));
        for round in 0..4 {
            let calls = (0..15).map(|number| {
                let arguments = format!("{{\"n\":{number}}}");
                Call::new(&format!("c{round}-{number}"), "work", &arguments)
            });
            world = world.streams([text(&"x".repeat(40_000)), Part::Calls(calls.collect())]);
        }
        let world = world.streams([text("Done.")]).turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        world.assert_valid_history();
    }
}

#[test]
fn an_answer_may_come_up_to_its_limit() {
    let bytes = SMALL.bytes as usize;
    // A message counts as 256 bytes beside its text.
    for (length, fits) in [(bytes - 256, true), (bytes - 255, false)] {
        let world = crate::world::with(Dialect::OpenAiChat, small)
            .streams([text(&"x".repeat(length))])
            .turn();
        assert_eq!(*world.outcome() == Outcome::Success, fits, "{length}");
    }
    for (calls, fits) in [(20, true), (21, false)] {
        let calls = (0..calls).map(|number| Call::new(&format!("c{number}"), "work", "{}"));
        let world = crate::world::with(Dialect::OpenAiChat, |config| {
            small(config);
            config.limits.repeats = None;
        })
        .tool("work", |_| ToolReply::text("ok"))
        .streams([Part::Calls(calls.collect())])
        .streams([text("Done.")])
        .turn();
        assert_eq!(*world.outcome() == Outcome::Success, fits);
        assert_eq!(world.seen.invocations().is_empty(), !fits);
    }
}

#[test]
fn a_long_ordinary_answer_is_left_alone() {
    let words = "A sentence as it stands in a long report. ".repeat(50_000);
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::text("ok"))
    .streams([
        Part::Reasoning(words.clone()),
        text(&words),
        call("c", "work", &json!({"report": words}).to_string()),
    ])
    .streams([text("Done.")]);
    let mut world = world;
    world.cut = Cut::Whole;
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
}

/// It is no round of tools that the policy could decide on: the answer was cut off.
#[test]
fn an_answer_beyond_its_limit_fails_whatever_the_policy() {
    for policy in [LimitPolicy::Complete, LimitPolicy::Fail, LimitPolicy::SumUp] {
        let world = crate::world::with(Dialect::OpenAiChat, |config| {
            small(config);
            config.limits.at_limit = policy;
        })
        .streams([call("c", "work", "{}"), text(&"x".repeat(100_000))])
        .turn();
        assert_eq!(*world.outcome(), too_many_bytes());
        assert_eq!(world.seen.requests().len(), 1);
        assert!(world.seen.invocations().is_empty());
        let results = world.results();
        assert_eq!(results.len(), 1);
        assert!(results[0].1.contains("was not run: the answer went beyond"));
        world.assert_valid_history();
    }
}

#[test]
fn an_answer_beyond_its_limit_is_not_asked_for_again() {
    for resumption in [
        Resumption::LastEventId,
        Resumption::Replay,
        Resumption::Snapshot,
    ] {
        let world = crate::world::with(Dialect::AgUi, |config| {
            small(config);
            config.endpoint.quirks.resumption = resumption;
        })
        .streams([text(&"x".repeat(100_000))])
        .turn();
        assert_eq!(*world.outcome(), too_many_bytes());
        assert_eq!(world.seen.requests().len(), 1);
    }
}

/// What a stream has brought counts on when it is opened again, and what is said twice is counted once.
#[test]
fn an_answer_over_several_connections_is_one_answer() {
    for (length, fits) in [(25_000, true), (40_000, false)] {
        let says = [text(&"x".repeat(length)), text(&"y".repeat(length))];
        let whole = body(Dialect::AgUi, 0, &says);
        let middle = whole.len() / 2;
        let cut = whole[..middle]
            .windows(2)
            .rposition(|pair| pair == b"\n\n")
            .expect("there is a frame")
            + 2;
        let mut world = crate::world::with(Dialect::AgUi, |config| {
            small(config);
            config.endpoint.quirks.resumption = Resumption::Replay;
        })
        .reply(Reply::Bytes(whole[..cut].to_vec(), Ending::Broken));
        for _ in 0..2 {
            world = world.reply(Reply::Bytes(whole[..cut].to_vec(), Ending::Broken));
        }
        let world = world.reply(Reply::Bytes(whole, Ending::Complete)).turn();
        assert_eq!(*world.outcome() == Outcome::Success, fits, "{length}");
    }
}

#[test]
fn what_an_answer_has_brought_is_kept_in_a_snapshot() {
    let mut world =
        crate::world::with(Dialect::OpenAiChat, small).streams([text(&"x".repeat(100_000))]);
    world.restores = true;
    world.cut = Cut::Every(5_000);
    assert_eq!(*world.turn().outcome(), too_many_bytes());
}

fn say() -> impl Strategy<Value = Part> {
    let calls = |most| {
        prop::collection::vec(
            (0..400usize).prop_map(|length| "1".repeat(length + 1)),
            0..most,
        )
    };
    prop_oneof![
        (0..3_000usize).prop_map(|length| Part::Text("é".repeat(length + 1))),
        (0..3_000usize).prop_map(|length| Part::Reasoning("r".repeat(length + 1))),
        calls(8).prop_map(|arguments| {
            let calls = arguments.iter().enumerate();
            let call = |(number, arguments): (usize, &String)| Call {
                id: format!("{number}-{arguments}"),
                name: "work".to_owned(),
                fragments: vec![arguments.clone()],
            };
            Part::Calls(calls.map(call).collect())
        }),
    ]
}

proptest! {
    #![proptest_config(cases(24))]

    /// I3, I4 and I8 at the limits: wherever the bytes are cut, and whether or not the run is stored in between, an
    /// answer ends in the same way, with the same legal history.
    #[test]
    fn where_an_answer_is_stopped_does_not_depend_on_the_cuts(
        says in prop::collection::vec(say(), 1..8),
        bytes in 300..8_000u64,
        calls in 0..12u32,
        ag_ui in any::<bool>(),
        cut in 1..200usize,
    ) {
        let dialect = if ag_ui { Dialect::AgUi } else { Dialect::OpenAiChat };
        let play = |cut, restores| {
            let mut world = crate::world::with(dialect, |config| {
                small(config);
                config.limits.answer = AnswerLimits { bytes, calls };
                config.limits.at_limit = LimitPolicy::Complete;
                config.limits.max_tool_rounds = 0;
            })
            .streams(says.clone());
            world.cut = cut;
            world.restores = restores;
            world.turn()
        };
        let whole = play(Cut::Whole, false);
        whole.assert_valid_history();
        let said: usize = whole.messages().iter().map(|message| match message {
            Message::Assistant(message) => {
                let calls = message.tool_calls.iter();
                let calls: usize = calls.map(|call| call.function.arguments.len()).sum();
                calls + message.content.as_ref().map_or(0, String::len)
            }
            Message::Reasoning(message) => message.content.len(),
            _ => 0,
        }).sum();
        prop_assert!(said as u64 <= bytes);
        for (cut, restores) in [(Cut::Every(cut), false), (Cut::Every(cut.max(20)), true), (Cut::Seeded, false)] {
            let other = play(cut, restores);
            prop_assert_eq!(other.outcome(), whole.outcome());
            prop_assert_eq!(other.messages(), whole.messages());
        }
    }
}
