//! An agent announces a call again that the history has: on a resume, on a replay, over a second transport.

use serde_json::{Value, json};
use stepwell_core::dialect::{Dialect, HopIds};
use stepwell_core::event::{EventRef, Message};
use stepwell_core::pipeline::{Listener, Pipeline, StreamEnd};
use stepwell_core::transcript::{Applied, ToolCallStatus, Transcript};

/// What is shown of a stream.
#[derive(Default)]
struct Shown {
    kinds: Vec<String>,
    warnings: usize,
}

impl Listener for Shown {
    fn applied(&mut self, event: EventRef<'_>, _applied: &Applied, _conversation: &Transcript) {
        self.kinds.push(event.kind().to_owned());
    }
    fn moving(&mut self, _conversation: &Transcript) {}
    fn warning(&mut self, _message: &str) {
        self.warnings += 1;
    }
    fn unknown_call(&mut self, _id: &str, _message: &str) {
        self.warnings += 1;
    }
}

const ARGUMENTS: &str = r#"{"expression":"6*7"}"#;

fn start() -> Value {
    json!({"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "calculator"})
}

fn args(delta: &str) -> Value {
    json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": delta})
}

fn end() -> Value {
    json!({"type": "TOOL_CALL_END", "toolCallId": "c1"})
}

fn result(content: &str) -> Value {
    json!({"type": "TOOL_CALL_RESULT", "toolCallId": "c1", "messageId": "again", "content": content, "role": "tool"})
}

/// A history with the call, and its result if it has one.
fn history(result: Option<&str>) -> Transcript {
    let mut messages = vec![
        json!({"id": "u", "role": "user", "content": "6*7?"}),
        json!({"id": "m1", "role": "assistant", "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "calculator", "arguments": ARGUMENTS}}]}),
    ];
    messages.extend(
        result.map(|text| json!({"id": "t", "role": "tool", "toolCallId": "c1", "content": text})),
    );
    let messages: Vec<Message> = serde_json::from_value(json!(messages)).unwrap();
    Transcript::new(messages)
}

/// What comes of a run with these events and a text behind them, cut into pieces with a snapshot between them.
fn run(mut transcript: Transcript, events: &[Value]) -> (Transcript, Shown) {
    let mut all = vec![json!({"type": "RUN_STARTED", "threadId": "T", "runId": "R"})];
    all.extend_from_slice(events);
    all.extend([
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m2", "role": "assistant"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m2", "delta": "It is 42."}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": "m2"}),
        json!({"type": "RUN_FINISHED", "threadId": "T", "runId": "R"}),
    ]);
    let body: String = all
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let mut pipeline = Pipeline::new(Dialect::AgUi, HopIds::default(), Default::default());
    let mut shown = Shown::default();
    for piece in body.as_bytes().chunks(50) {
        pipeline
            .receive(piece, &mut transcript, &mut shown)
            .unwrap();
        pipeline = serde_json::from_str(&serde_json::to_string(&pipeline).unwrap()).unwrap();
    }
    let end = pipeline.end(&mut transcript, &mut shown);
    assert_eq!(end, Ok(StreamEnd::Finished));
    (transcript, shown)
}

fn arguments(transcript: &Transcript) -> Vec<&str> {
    let calls = transcript.tool_calls();
    calls.map(|call| call.function.arguments.as_str()).collect()
}

#[test]
fn a_call_with_a_result_is_not_called_again() {
    let chunk = json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "c1", "toolCallName": "calculator", "delta": ARGUMENTS});
    let with_parent = |parent: &str| {
        let mut start = start();
        start["parentMessageId"] = parent.into();
        start
    };
    for again in [
        vec![start(), args(ARGUMENTS), end()],
        vec![start(), args("{\"expression\":"), args("\"6*7\"}"), end()],
        vec![start(), end()],
        vec![start(), args("{\"expression\":\"other\"}"), end()],
        vec![start(), args(ARGUMENTS), end(), result("42")],
        vec![result("42")],
        vec![start(), end(), start(), args(ARGUMENTS), end()],
        vec![with_parent("m1"), args(ARGUMENTS), end()],
        vec![chunk],
    ] {
        let before = history(Some("42"));
        let (transcript, shown) = run(before.clone(), &again);
        assert!(transcript.calls().is_empty(), "{again:?}");
        let (last, rest) = transcript.messages().split_last().unwrap();
        assert_eq!(rest, before.messages(), "{again:?}");
        assert_eq!(last.id(), "m2");
        assert_eq!(
            shown
                .kinds
                .iter()
                .filter(|kind| kind.starts_with("TOOL"))
                .count(),
            0,
            "{:?}",
            shown.kinds
        );
    }
}

#[test]
fn a_call_that_waits_keeps_its_arguments() {
    for again in [
        vec![start(), args(ARGUMENTS), end()],
        vec![
            start(),
            args("{\"expr"),
            args("ession\":\"6*7\"}"),
            args(" "),
            end(),
        ],
        vec![start(), end()],
        vec![
            start(),
            args(ARGUMENTS),
            end(),
            start(),
            args(ARGUMENTS),
            end(),
        ],
    ] {
        let (transcript, shown) = run(history(None), &again);
        assert_eq!(arguments(&transcript), [ARGUMENTS], "{again:?}");
        let [call] = transcript.calls() else {
            panic!("{:?}", transcript.calls());
        };
        assert_eq!(
            (call.id.as_str(), call.status),
            ("c1", ToolCallStatus::Pending)
        );
        assert_eq!(shown.warnings, 0);
    }
}

#[test]
fn a_call_in_one_run_is_announced_twice_and_called_once() {
    let once = [start(), args(ARGUMENTS), end()];
    for (events, answered) in [
        ([&once[..], &once].concat(), false),
        (
            [&once[..], &[result("42")], &once, &[result("42")]].concat(),
            true,
        ),
    ] {
        let (transcript, _) = run(Transcript::default(), &events);
        assert_eq!(arguments(&transcript), [ARGUMENTS]);
        assert_eq!(transcript.calls().len(), 1);
        let results = transcript.messages().iter();
        let results = results.filter(|message| matches!(message, Message::Tool(_)));
        assert_eq!(results.count(), usize::from(answered));
    }
}

#[test]
fn other_arguments_of_a_call_that_waits_count() {
    let other = r#"{"expression":"6*8"}"#;
    for pieces in [&[other][..], &["{\"expression\":\"6", "*8\"", "}"]] {
        let mut again = vec![start()];
        again.extend(pieces.iter().map(|piece| args(piece)));
        again.push(end());
        let (transcript, shown) = run(history(None), &again);
        assert_eq!(arguments(&transcript), [other]);
        assert_eq!(shown.warnings, 1, "the app is told");
    }
}

#[test]
fn a_call_that_was_cut_goes_on() {
    let events = [
        start(),
        args("{\"expression\":"),
        end(),
        start(),
        args("\"6*7\"}"),
        end(),
    ];
    let (transcript, _) = run(Transcript::default(), &events);
    assert_eq!(arguments(&transcript), [ARGUMENTS]);
}

#[test]
fn another_tool_under_the_same_id_is_another_call() {
    let mut other = start();
    other["toolCallName"] = "clock".into();
    let (transcript, _) = run(history(Some("42")), &[other, args("{}"), end()]);
    assert_eq!(transcript.calls().len(), 1);
}
