//! The official client as an oracle: 2,000 sequences of events, right, wrong and odd, and the binary encoding of events.
//!
//! `cargo xtask test ag-ui-oracle` sets the client up and runs this; see `tests/ag-ui-oracle`.

use super::table::Table;
use super::walks::any_event;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use stepwell_core::dialect::{Decode, Decoder, Dialect, HopIds, Sink};
use stepwell_core::event::{
    End, Event, EventRef, ExtraRules, Verdict, Verification, Verifier, Violation, protobuf,
};
use stepwell_core::transcript::Transcript;
use stepwell_core::wire::Frame;

/// How the two differ by intent: what is told apart, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "no end",
        "O24: a stream that ends within a run, or is empty, is truncated here and a success for the reference; the \
         protocol's text says that it must not be one",
    ),
    (
        "another parent",
        "a call that is started again under another parent message is another call here, since providers use ids \
         again in later hops; the reference goes on with the first",
    ),
];

/// Whether a call is started again under another parent message.
fn has_another_parent(events: &[Value]) -> bool {
    let mut parents = BTreeMap::new();
    let mut starts = events
        .iter()
        .filter(|event| event["type"] == "TOOL_CALL_START" || event["type"] == "TOOL_CALL_CHUNK");
    starts.any(|event| {
        let (id, parent) = (event["toolCallId"].to_string(), &event["parentMessageId"]);
        *parents.entry(id).or_insert(parent) != parent
    })
}

/// The official client, in a process of its own.
struct Oracle {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Oracle {
    fn start() -> Option<Self> {
        let Some(script) = std::env::var_os("STEPWELL_AG_UI_ORACLE") else {
            eprintln!(
                "SKIPPED the official client: STEPWELL_AG_UI_ORACLE names no script; run `cargo xtask test ag-ui-oracle`"
            );
            return None;
        };
        let mut process = Command::new("node")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is there");
        let questions = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Some(Self {
            process,
            questions,
            answers,
        })
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.questions, "{question}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{question}: {error}: {line}"))
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What is seen of a run on either side.
#[derive(Clone, Debug, PartialEq)]
struct Judged {
    /// Why the stream was refused.
    refused: Option<String>,
    delivered: Vec<String>,
    messages: Value,
    state: Value,
}

/// Our side: decoder, the table exactly, and the reducer.
struct Ours {
    verifier: Verifier,
    transcript: Transcript,
    delivered: Vec<String>,
}

impl Sink for Ours {
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        if self.verifier.check(event, &mut |_| {})? == Verdict::Take {
            // An unknown event is handed on to the app here; the reference drops it.
            if !matches!(event, EventRef::Whole(Event::Unknown(_))) {
                self.delivered.push(event.kind().to_owned());
            }
            let _ = self.transcript.apply(event);
        }
        Ok(())
    }

    fn warning(&mut self, _message: &str) {}
}

fn ours(events: &[Value]) -> (Judged, bool) {
    let mut decoder = Decoder::new(Dialect::AgUi, HopIds::default());
    let mut sink = Ours {
        verifier: Verifier::new(Verification::Protocol, ExtraRules::Off),
        transcript: Transcript::default(),
        delivered: Vec::new(),
    };
    let mut refused = None;
    for event in events {
        let data = event.to_string();
        let frame = Frame {
            event: &[],
            data: data.as_bytes(),
            id: &[],
            ..Frame::default()
        };
        if let Err(error) = decoder.frame(frame, &mut sink) {
            refused = Some(error.to_string());
            break;
        }
    }
    let end = sink.verifier.end(&mut |_| {}).unwrap();
    let judged = Judged {
        refused,
        delivered: sink.delivered,
        messages: serde_json::to_value(sink.transcript.messages()).unwrap(),
        state: sink.transcript.shared_state().clone(),
    };
    (judged, matches!(end, End::Truncated(_)))
}

fn theirs(oracle: &mut Oracle, events: &[Value]) -> Judged {
    let answer = oracle.ask(&json!({ "events": events }));
    let delivered = answer["delivered"].as_array().expect("a list").iter();
    Judged {
        refused: answer["error"].as_str().map(str::to_owned),
        delivered: delivered
            .map(|kind| kind.as_str().unwrap_or_default().to_owned())
            .collect(),
        messages: answer["messages"].clone(),
        state: answer["state"].clone(),
    }
}

/// Chunks, and events that the table does not have.
fn odd_event() -> impl Strategy<Value = Value> {
    let id = || prop::option::of(prop::sample::select(vec!["a", "b"]));
    let tag = || prop::sample::select(vec![None, None, Some("s")]);
    let field = |event: &mut Value, name: &str, value: Option<&str>| {
        if let Some(value) = value {
            event[name] = value.into();
        }
    };
    let delta = || prop::option::of(prop::sample::select(vec!["x", ""]));
    let text = (id(), delta(), tag(), prop::option::of(Just("user"))).prop_map(
        move |(id, delta, tag, role)| {
            let mut event = json!({"type": "TEXT_MESSAGE_CHUNK"});
            field(&mut event, "messageId", id);
            field(&mut event, "delta", delta);
            field(&mut event, "role", role);
            field(&mut event, "subagentRunId", tag);
            event
        },
    );
    let call = (
        id(),
        delta(),
        tag(),
        prop::option::of(prop::sample::select(vec!["n", "o"])),
    )
        .prop_map(move |(id, delta, tag, name)| {
            let mut event = json!({"type": "TOOL_CALL_CHUNK"});
            field(&mut event, "toolCallId", id);
            field(&mut event, "delta", delta);
            field(&mut event, "toolCallName", name);
            field(&mut event, "subagentRunId", tag);
            event
        });
    let thought = (id(), delta(), tag()).prop_map(move |(id, delta, tag)| {
        let mut event = json!({"type": "REASONING_MESSAGE_CHUNK"});
        field(&mut event, "messageId", id);
        field(&mut event, "delta", delta);
        field(&mut event, "subagentRunId", tag);
        event
    });
    let state = prop::sample::select(vec![
        json!({"type": "STATE_SNAPSHOT", "snapshot": {"a": 1, "list": [1]}}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/a", "value": 2}]}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/list/-", "value": 2}]}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/list"}, {"op": "test", "path": "/a", "value": 9}]}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "increment", "path": "/a"}, {"op": "add", "path": "/b", "value": null}]}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "postponed"}}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": null}),
        json!({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "t",
            "patch": [{"op": "add", "path": "/x", "value": 1}], "metadata": {"m": 1}}),
        json!({"type": "THINKING_START", "title": "x"}),
        json!({"type": "THINKING_END"}),
    ]);
    prop_oneof![4 => text, 3 => call, 2 => thought, 3 => state]
}

/// One thing done to a sequence.
#[derive(Clone, Debug)]
enum Change {
    Remove(prop::sample::Index),
    Repeat(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Insert(prop::sample::Index, Value),
    /// A field of an event is taken away, or gets another value.
    Field(prop::sample::Index, prop::sample::Index, Option<Value>),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    let value = prop::option::of(prop::sample::select(vec![
        json!(null),
        json!(1),
        json!(1.5),
        json!("a"),
        json!(""),
        json!([]),
        json!({}),
        json!(true),
    ]));
    prop_oneof![
        at().prop_map(Change::Remove),
        at().prop_map(Change::Repeat),
        (at(), at()).prop_map(|(one, other)| Change::Swap(one, other)),
        (at(), any_event()).prop_map(|(at, event)| Change::Insert(at, event)),
        (at(), odd_event()).prop_map(|(at, event)| Change::Insert(at, event)),
        (at(), at(), value).prop_map(|(at, field, value)| Change::Field(at, field, value)),
    ]
}

fn changed(mut events: Vec<Value>, changes: Vec<Change>) -> Vec<Value> {
    for change in changes {
        if events.is_empty() {
            break;
        }
        let many = events.len();
        match change {
            Change::Remove(at) => drop(events.remove(at.index(many))),
            Change::Repeat(at) => events.insert(at.index(many), events[at.index(many)].clone()),
            Change::Swap(one, other) => events.swap(one.index(many), other.index(many)),
            Change::Insert(at, event) => events.insert(at.index(many + 1), event),
            Change::Field(at, field, value) => {
                let event = events[at.index(many)].as_object_mut().unwrap();
                let names: Vec<_> = event.keys().cloned().collect();
                let name = &names[field.index(names.len())];
                match value {
                    None => drop(event.remove(name)),
                    Some(value) => drop(event.insert(name.clone(), value)),
                }
            }
        }
    }
    events
}

/// A walk that the table allows, which ends what it began if it is to.
fn walk() -> impl Strategy<Value = Vec<Value>> {
    (prop::collection::vec(any_event(), 0..40), 0..4).prop_map(|(events, end)| {
        let mut table = Table::default();
        let start = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
        let mut walk: Vec<_> = std::iter::once(start)
            .chain(events)
            .filter(|event| {
                let ends = event["type"] == "RUN_ERROR" || event["type"] == "RUN_FINISHED";
                !ends && table.check(event).is_ok()
            })
            .collect();
        if end > 0 {
            walk.extend(ends(&table));
        }
        walk
    })
}

/// What ends all that is open, and then the run.
fn ends(table: &Table) -> Vec<Value> {
    let open = table.open_items();
    let of = |kind: &str, field: &str, id: &str| json!({"type": kind, field: id});
    let mut ends = Vec::new();
    for id in &open.messages {
        ends.push(of("TEXT_MESSAGE_END", "messageId", id));
    }
    for id in &open.tool_calls {
        ends.push(of("TOOL_CALL_END", "toolCallId", id));
    }
    for id in &open.reasoning_messages {
        ends.push(of("REASONING_MESSAGE_END", "messageId", id));
    }
    for id in &open.reasoning_spans {
        ends.push(of("REASONING_END", "messageId", id));
    }
    for step in &open.steps {
        let end = of("STEP_FINISHED", "stepName", &step.name);
        ends.push(super::tagged(end, step.subagent_run_id.as_deref()));
    }
    for id in &open.subagents {
        ends.push(of("SUBAGENT_FINISHED", "subagentRunId", id));
    }
    ends.push(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}));
    ends
}

fn sequence() -> impl Strategy<Value = Vec<Value>> {
    prop_oneof![
        4 => (walk(), prop::collection::vec(change(), 0..3))
            .prop_map(|(walk, changes)| changed(walk, changes)),
        1 => prop::collection::vec(prop_oneof![any_event(), odd_event()], 0..12),
        1 => prop::collection::vec(odd_event(), 0..10).prop_map(|events| {
            let start = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
            let end = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"});
            [vec![start], events, vec![end]].concat()
        }),
    ]
}

/// The same with ids that name one thing each, as agents have them: then the conversations can be compared. What two
/// messages of one id become is nobody's promise.
fn with_plain_ids(events: &[Value]) -> Vec<Value> {
    fn rename(value: &mut Value, field: &str, kind: &str) {
        if let Some(Value::String(id)) = value.get_mut(field) {
            *id = format!("{kind}-{id}");
        }
    }
    let mut events = events.to_vec();
    for event in &mut events {
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        let named = match &kind[..] {
            "TOOL_CALL_RESULT" => "result",
            kind if kind.starts_with("REASONING") => "thought",
            kind if kind.starts_with("ACTIVITY") => "activity",
            _ => "text",
        };
        rename(event, "messageId", named);
        rename(event, "parentMessageId", "text");
        rename(event, "toolCallId", "call");
        let is_call = event["subtype"] == "tool-call";
        rename(event, "entityId", if is_call { "call" } else { "text" });
        let lists = ["/messages", "/input/messages"];
        for list in lists {
            let list = event.pointer_mut(list).and_then(Value::as_array_mut);
            for (place, message) in list.into_iter().flatten().enumerate() {
                let named = match message["role"].as_str() {
                    Some("reasoning") => "thought",
                    Some("activity") => "activity",
                    Some("tool") => "result",
                    Some("user") => "user",
                    _ => "text",
                };
                rename(message, "id", &format!("{named}-{place}"));
                rename(message, "toolCallId", "call");
                let calls = message.get_mut("toolCalls").and_then(Value::as_array_mut);
                for call in calls.into_iter().flatten() {
                    rename(call, "id", &format!("call-{place}"));
                }
            }
        }
    }
    events
}

/// Always the same numbers.
fn runner() -> TestRunner {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[0x5a; 32]);
    TestRunner::new_with_rng(Config::default(), rng)
}

#[test]
fn the_official_client_agrees_on_two_thousand_sequences() {
    let Some(mut oracle) = Oracle::start() else {
        return;
    };
    let mut runner = runner();
    let strategy = sequence();
    let (mut refused, mut differences) = (0, BTreeMap::<&str, usize>::new());
    let mut wrong = Vec::new();
    for number in 0..2_000 {
        let mut events = strategy.new_tree(&mut runner).unwrap().current();
        let is_plain = number % 2 == 1;
        if is_plain {
            events = with_plain_ids(&events);
        }
        let (ours, is_truncated) = ours(&events);
        let theirs = theirs(&mut oracle, &events);
        refused += usize::from(ours.refused.is_some());
        if is_truncated && ours.refused.is_none() {
            *differences.entry(DIFFERENCES[0].0).or_default() += 1;
        }
        if ours.refused.is_some() != theirs.refused.is_some() || ours.delivered != theirs.delivered
        {
            wrong.push(format!(
                "{number}: ours {:?}, theirs {:?}; delivered {} and {}\n{}",
                ours.refused,
                theirs.refused,
                ours.delivered.len(),
                theirs.delivered.len(),
                json!(events)
            ));
        } else if is_plain && ours.messages != theirs.messages && has_another_parent(&events) {
            *differences.entry(DIFFERENCES[1].0).or_default() += 1;
        } else if (is_plain && ours.messages != theirs.messages) || ours.state != theirs.state {
            wrong.push(format!(
                "{number}: the same verdict, and another conversation\n{}\n{}\n{} {}\n{}",
                ours.messages,
                theirs.messages,
                ours.state,
                theirs.state,
                json!(events)
            ));
        }
    }
    eprintln!("2,000 sequences, {refused} of them refused");
    for (name, reason) in DIFFERENCES {
        let count = differences.get(name).copied().unwrap_or_default();
        eprintln!("{name}: {count} times: {reason}");
        assert!(count > 0, "{name} is listed and does not come");
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n\n")
    );
    assert!(
        (400..1_600).contains(&refused),
        "{refused}: both kinds are to come"
    );
}

/// Lists that protobuf cannot tell from absent ones.
fn without_empty_lists(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in [
                "tools",
                "context",
                "resume",
                "usage",
                "pendingToolCallIds",
                "interruptIds",
            ] {
                if fields.get(name) == Some(&json!([])) {
                    fields.shift_remove(name);
                }
            }
            fields.values_mut().for_each(without_empty_lists);
        }
        Value::Array(items) => items.iter_mut().for_each(without_empty_lists),
        _ => {}
    }
}

#[test]
fn the_official_encoder_and_ours_write_and_read_the_same_events() {
    let Some(mut oracle) = Oracle::start() else {
        return;
    };
    let mut runner = runner();
    let strategy = crate::any_event::any_event();
    let plain = |event: &Value| {
        let mut event = event.clone();
        without_empty_lists(&mut event);
        event
    };
    let (mut kinds, mut same_bytes) = (BTreeMap::<String, usize>::new(), 0);
    for _ in 0..1_000 {
        let json = strategy.new_tree(&mut runner).unwrap().current();
        let event: Event = serde_json::from_value(json.clone()).unwrap();
        let mut ours = Vec::new();
        protobuf::encode_frame((&event).into(), &mut ours).unwrap();

        let answer = oracle.ask(&json!({ "encode": json }));
        let theirs = answer["bytes"]
            .as_str()
            .unwrap_or_else(|| panic!("{json}: {answer}"));
        let theirs = BASE64.decode(theirs);
        same_bytes += usize::from(theirs == ours);
        let read = protobuf::decode(&theirs[4..]).unwrap_or_else(|error| panic!("{json}: {error}"));
        assert_eq!(
            plain(&serde_json::to_value(&read).unwrap()),
            plain(&json),
            "theirs, read here"
        );

        let answer = oracle.ask(&json!({ "decode": BASE64.encode(&ours) }));
        let read = &answer["events"][0];
        assert_eq!(plain(read), plain(&json), "ours, read there: {answer}");
        *kinds.entry(event.kind().to_owned()).or_default() += 1;
    }
    assert_eq!(kinds.len(), 31, "{kinds:?}");
    eprintln!("1,000 events of 31 kinds, {same_bytes} of them the same bytes");
}

/// Base64 as RFC 4648 has it: too small a need for a crate.
struct Base64;

const BASE64: Base64 = Base64;

impl Base64 {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    fn encode(&self, bytes: &[u8]) -> String {
        let letters = bytes.chunks(3).flat_map(|chunk| {
            let mut group = [0; 3];
            group[..chunk.len()].copy_from_slice(chunk);
            let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
            let letter = move |place: u32| {
                let letter = usize::try_from((bits >> (18 - 6 * place)) & 63).unwrap();
                char::from(Self::LETTERS[letter])
            };
            let many = u32::try_from(chunk.len()).unwrap();
            (0..4).map(move |place| if place <= many { letter(place) } else { '=' })
        });
        letters.collect()
    }

    fn decode(&self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for group in text.trim_end_matches('=').as_bytes().chunks(4) {
            let value = |letter: &u8| {
                let value = Self::LETTERS.iter().position(|known| known == letter);
                u32::try_from(value.unwrap()).unwrap()
            };
            let bits = group
                .iter()
                .fold(0, |bits, letter| (bits << 6) | value(letter));
            let bits = bits << (6 * (4 - group.len()));
            bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
        }
        bytes
    }
}
