//! I14, counted: what a delta through the machine allocates depends neither on what came before, nor on how much.

use crate::cases::cases;
use allocation_counter::measure;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use stepwell_core::event::Message;
use stepwell_core::pipeline::AnswerLimits;
use stepwell_core::run::{
    Effect, EffectId, Input, Outcome, Output, RunConfig, RunMachine, Start, TurnLimit,
};
use stepwell_core::transcript::Transcript;
use stepwell_core::{Timestamp, provider};

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growing {
    Text,
    Reasoning,
    Arguments,
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    ag_ui: bool,
    growing: Growing,
    partial_arguments: bool,
}

struct Streaming {
    machine: RunMachine,
    effect: EffectId,
    setting: Setting,
}

fn frame(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

fn choice(delta: &Value) -> Vec<u8> {
    frame(&json!({ "id": "x", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }))
}

impl Setting {
    fn delta(self, text: &str) -> Vec<u8> {
        match (self.ag_ui, self.growing) {
            (true, Growing::Text) => {
                frame(&json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text }))
            }
            (true, Growing::Reasoning) => frame(
                &json!({ "type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": text }),
            ),
            (true, Growing::Arguments) => {
                frame(&json!({ "type": "TOOL_CALL_ARGS", "toolCallId": "m", "delta": text }))
            }
            (false, Growing::Text) => choice(&json!({ "content": text })),
            (false, Growing::Reasoning) => choice(&json!({ "reasoning_content": text })),
            (false, Growing::Arguments) => choice(
                &json!({ "tool_calls": [{ "index": 0, "function": { "arguments": text } }] }),
            ),
        }
    }

    fn opening(self) -> Vec<u8> {
        if !self.ag_ui {
            return match self.growing {
                Growing::Text | Growing::Reasoning => self.delta("-"),
                Growing::Arguments => choice(&json!({ "tool_calls": [
                    { "index": 0, "id": "m", "function": { "name": "tool", "arguments": "{\"text\":\"" } },
                ] })),
            };
        }
        let start = match self.growing {
            Growing::Text => {
                json!({ "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant" })
            }
            Growing::Reasoning => {
                json!({ "type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning" })
            }
            Growing::Arguments => {
                json!({ "type": "TOOL_CALL_START", "toolCallId": "m", "toolCallName": "tool" })
            }
        };
        let run = json!({ "type": "RUN_STARTED", "threadId": "t", "runId": "r" });
        let first = match self.growing {
            Growing::Text | Growing::Reasoning => "-",
            Growing::Arguments => "{\"text\":\"",
        };
        [frame(&run), frame(&start), self.delta(first)].concat()
    }

    /// In the middle of a stream, with so many messages behind it and so many bytes of what grows.
    fn begun(self, history: usize, so_far: usize) -> Streaming {
        self.begun_within(history, so_far, AnswerLimits::default().bytes)
    }

    /// The same, for an answer of at most so many bytes.
    fn begun_within(self, history: usize, so_far: usize, bytes: u64) -> Streaming {
        let provider = if self.ag_ui {
            "ag-ui"
        } else {
            "openai-compatible"
        };
        let endpoint = provider::find(provider)
            .expect("the stream is sound")
            .endpoint(None, "model", Some("http://localhost"), None)
            .expect("the stream is sound");
        let mut config = RunConfig::new(endpoint);
        config.partial_arguments = self.partial_arguments;
        config.limits.answer.bytes = bytes;
        let history = (0..history).map(|index| Message::user(format!("h{index}"), "Hello"));
        let history = Transcript::new(history.collect());
        let mut machine = RunMachine::new(Arc::new(config), "thread".into(), history);
        let start = Start::new("run", Message::user("question", "?"));
        machine
            .start(start, Timestamp(0))
            .expect("the stream is sound");
        let effect = std::iter::from_fn(|| machine.poll_output())
            .find_map(|output| match output {
                Output::Effect(id, Effect::OpenStream { .. }) => Some(id),
                _ => None,
            })
            .expect("the stream is sound");
        let content_type = None;
        machine
            .handle(
                Input::Opened {
                    effect,
                    content_type,
                },
                Timestamp(0),
            )
            .expect("the stream is sound");
        while machine.poll_output().is_some() {}
        let mut streaming = Streaming {
            machine,
            effect,
            setting: self,
        };
        streaming.receive(&self.opening());
        for _ in 0..so_far >> 10 {
            streaming.receive(&self.delta(&"x".repeat(1 << 10)));
        }
        streaming.receive(&self.delta(&"x".repeat(so_far % (1 << 10) + 1)));
        streaming
    }
}

impl Streaming {
    /// Takes a chunk, and all that comes of it; gives how many outputs that is.
    fn receive(&mut self, bytes: &[u8]) -> usize {
        let bytes = Cow::Borrowed(bytes);
        let effect = self.effect;
        self.machine
            .handle(Input::Received { effect, bytes }, Timestamp(0))
            .expect("the stream is sound");
        std::iter::from_fn(|| self.machine.poll_output()).count()
    }

    /// The allocations and bytes of one delta, as most deltas have them: now and then a text needs more room.
    fn cost(&mut self) -> (u64, u64) {
        let delta = self.setting.delta(" and so on");
        let mut costs: Vec<_> = (0..31)
            .map(|_| {
                let info = measure(|| {
                    self.receive(&delta);
                });
                (info.count_total, info.bytes_total)
            })
            .collect();
        costs.sort_unstable();
        costs[costs.len() / 2]
    }
}

fn settings() -> impl Strategy<Value = Setting> {
    let growing = prop::sample::select(vec![
        Growing::Text,
        Growing::Reasoning,
        Growing::Arguments,
        Growing::Arguments,
    ]);
    (any::<bool>(), growing, any::<bool>()).prop_map(|(ag_ui, growing, partial_arguments)| {
        Setting {
            ag_ui,
            growing,
            partial_arguments,
        }
    })
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn i14_a_delta_allocates_the_same_whatever_came_before(
        setting in settings(),
        history in 0..500usize,
        so_far in 0..200_000usize,
    ) {
        let little = setting.begun(0, 0).cost();
        prop_assert_eq!(setting.begun(history, so_far).cost(), little);
        prop_assert!(little.0 > 0, "the outputs at least are made");
    }
}

#[test]
fn i14_a_delta_allocates_the_same_after_10_000_messages_and_in_a_megabyte() {
    for ag_ui in [false, true] {
        for growing in [Growing::Text, Growing::Reasoning, Growing::Arguments] {
            let setting = Setting {
                ag_ui,
                growing,
                partial_arguments: true,
            };
            let little = setting.begun(10, 1 << 10).cost();
            assert_eq!(setting.begun(10_000, 1 << 10).cost(), little, "{setting:?}");
            assert_eq!(setting.begun(10, 1 << 20).cost(), little, "{setting:?}");
        }
    }
}

/// A chunk with many deltas makes one output, and allocates hardly more than a chunk with one.
#[test]
fn many_deltas_of_a_chunk_allocate_next_to_nothing() {
    const DELTAS: usize = 1_000;
    for ag_ui in [false, true] {
        for (growing, partial_arguments, outputs) in [
            (Growing::Text, false, 1),
            (Growing::Arguments, false, 1),
            (Growing::Arguments, true, 2),
        ] {
            let setting = Setting {
                ag_ui,
                growing,
                partial_arguments,
            };
            let chunk = setting.delta(" and so on").repeat(DELTAS);
            let mut streaming = setting.begun(0, 0);
            let mut given = 0;
            let info = measure(|| given = streaming.receive(&chunk));
            assert_eq!(given, outputs, "{setting:?}");
            println!("{setting:?}: {} allocations", info.count_total);
            assert!(info.count_total < 60, "{setting:?}: {info:?}");
        }
    }
}

/// However long a model goes on, what it says takes room within its limit: the text, and its room to grow.
#[test]
fn an_endless_text_takes_no_more_memory_than_its_limit() {
    const LIMIT: u64 = 1 << 20;
    for ag_ui in [false, true] {
        let setting = Setting {
            ag_ui,
            growing: Growing::Text,
            partial_arguments: false,
        };
        let delta = setting.delta(&"and so on, ".repeat(100));
        let info = measure(|| {
            let mut streaming = setting.begun_within(0, 0, LIMIT);
            for _ in 0..10_000 {
                if streaming.machine.outcome().is_some() {
                    break;
                }
                streaming.receive(&delta);
            }
            let limit = streaming.machine.outcome().and_then(Outcome::limit);
            assert_eq!(limit, Some(&TurnLimit::MaxAnswerBytes { max: LIMIT }));
        });
        println!("at most {} bytes at a time", info.bytes_max);
        assert!(info.bytes_max < 4 * LIMIT, "{info:?}");
    }
}

/// Who does not ask for parsed arguments pays for no part of them.
#[test]
fn arguments_that_are_not_parsed_cost_what_a_text_does() {
    let cost = |ag_ui, growing, partial_arguments| {
        let setting = Setting {
            ag_ui,
            growing,
            partial_arguments,
        };
        setting.begun(0, 0).cost()
    };
    // An AG-UI message and call of one id: all else is equal.
    assert_eq!(
        cost(true, Growing::Arguments, false),
        cost(true, Growing::Text, false)
    );
    for ag_ui in [false, true] {
        assert!(cost(ag_ui, Growing::Arguments, false).0 < cost(ag_ui, Growing::Arguments, true).0);
    }
}
