//! An agent that says something at length, and three kinds of backend that go on with it after a break.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use stepwell_core::dialect::Resumption;
use stepwell_core::event::Event;
use stepwell_core::transcript::Transcript;

/// What the agent says, event by event. The run's input has one message, `user-1`.
#[derive(Clone, Debug)]
pub struct Agent {
    pub events: Vec<Value>,
}

/// Texts that a careless cut of their bytes would break.
const WORDS: [&str; 6] = ["one ", "zwölf ", "三", "🦀", "\"quoted\" ", "\n"];

impl Agent {
    /// Each number is a step: something begins, goes on or ends.
    pub fn saying(steps: &[u8]) -> Self {
        let mut said = Script::default();
        said.say(json!({"type": "RUN_STARTED", "threadId": "thread", "runId": "run-1"}));
        said.say(json!({"type": "STATE_SNAPSHOT", "snapshot": {"count": 0}}));
        for (at, step) in steps.iter().enumerate() {
            said.step(at, *step);
        }
        said.end();
        said.say(json!({"type": "RUN_FINISHED", "threadId": "thread", "runId": "run-1"}));
        Self {
            events: said.events,
        }
    }

    /// The body that a backend sends which has been asked `heard` events ago, and has said `said` by now; the rest comes
    /// live. Gives the frames, and how many events each of them stands for.
    pub fn body(&self, way: Resumption, heard: usize, said: usize, merged: bool) -> Vec<Frame> {
        let numbered = |at: usize| Frame {
            text: format!("id: {}\ndata: {}\n\n", at + 1, self.events[at]),
            events: at + 1,
        };
        let live = (said..self.events.len()).map(numbered);
        match way {
            _ if heard == 0 => (0..self.events.len()).map(numbered).collect(),
            Resumption::Replay => {
                let log = if merged {
                    merge(&self.events[..said])
                } else {
                    self.events[..said].to_vec()
                };
                let log = log.into_iter().map(|event| Frame {
                    text: format!("data: {event}\n\n"),
                    // A cut within the replay loses nothing.
                    events: heard,
                });
                log.chain(live).collect()
            }
            Resumption::Snapshot => {
                let known = self.as_of(said);
                let snapshot = [
                    json!({"type": "RUN_STARTED", "threadId": "thread", "runId": "run-1"}),
                    json!({"type": "STATE_SNAPSHOT", "snapshot": known.shared_state()}),
                    json!({"type": "MESSAGES_SNAPSHOT", "messages": known.messages()}),
                ];
                let snapshot = snapshot.into_iter().enumerate().map(|(at, event)| Frame {
                    text: format!("data: {event}\n\n"),
                    events: if at == 2 { said } else { heard },
                });
                snapshot.chain(live).collect()
            }
            _ => (heard..self.events.len()).map(numbered).collect(),
        }
    }

    /// The conversation after so many events.
    pub fn as_of(&self, said: usize) -> Transcript {
        let user = json!({"id": "user-1", "role": "user", "content": "Go on"});
        let message = serde_json::from_value(user).expect("a message");
        let mut transcript = Transcript::new(vec![message]);
        for event in &self.events[..said] {
            let event: Event = serde_json::from_value(event.clone()).expect("an event");
            let _ = transcript.apply((&event).into());
        }
        transcript
    }
}

/// A frame, and up to which event a client has heard that has read it.
#[derive(Clone, Debug)]
pub struct Frame {
    pub text: String,
    pub events: usize,
}

#[derive(Default)]
struct Script {
    events: Vec<Value>,
    /// What is open: the item's id, its kind.
    open: Vec<(String, Kind)>,
    /// What a call's arguments still lack.
    rest: BTreeMap<String, Vec<&'static str>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Text,
    Reasoning,
    Call,
    Step,
}

impl Script {
    fn say(&mut self, event: Value) {
        self.events.push(event);
    }

    fn step(&mut self, at: usize, step: u8) {
        let pick = usize::from(step / 16);
        match step % 16 {
            0 => self.begin(at, Kind::Text),
            1 => self.begin(at, Kind::Reasoning),
            2 if self.rest.len() < 3 => self.begin(at, Kind::Call),
            3 => self.begin(at, Kind::Step),
            4 => self.say(json!({"type": "STATE_DELTA", "delta": [
                {"op": "replace", "path": "/count", "value": at}
            ]})),
            5 => self.say(json!({"type": "CUSTOM", "name": "tick", "value": at})),
            6 | 7 if !self.open.is_empty() => {
                let (id, kind) = self.open.remove(pick % self.open.len());
                self.close(&id, kind);
            }
            _ if !self.open.is_empty() => {
                let (id, kind) = self.open[pick % self.open.len()].clone();
                self.go_on(&id, kind, WORDS[at % WORDS.len()]);
            }
            _ => self.begin(at, Kind::Text),
        }
    }

    fn begin(&mut self, at: usize, kind: Kind) {
        let id = format!("{kind:?}-{at}").to_lowercase();
        let event = match kind {
            Kind::Text => {
                json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"})
            }
            Kind::Reasoning => {
                json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"})
            }
            Kind::Call => {
                self.rest
                    .insert(id.clone(), vec!["\"b\":\"zwölf\"}", "\"a\":1,", "{"]);
                json!({
                    "type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "work",
                    "parentMessageId": format!("of-{id}"),
                })
            }
            Kind::Step => json!({"type": "STEP_STARTED", "stepName": id}),
        };
        self.say(event);
        self.open.push((id, kind));
    }

    fn go_on(&mut self, id: &str, kind: Kind, word: &str) {
        let event = match kind {
            Kind::Text => json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": word}),
            Kind::Reasoning => {
                json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": word})
            }
            Kind::Call => match self.rest.get_mut(id).and_then(Vec::pop) {
                Some(piece) => json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": piece}),
                None => return,
            },
            Kind::Step => return,
        };
        self.say(event);
    }

    fn close(&mut self, id: &str, kind: Kind) {
        if kind == Kind::Call {
            for piece in self
                .rest
                .get_mut(id)
                .map(std::mem::take)
                .into_iter()
                .flatten()
                .rev()
            {
                self.say(json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": piece}));
            }
        }
        self.say(match kind {
            Kind::Text => json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
            Kind::Reasoning => json!({"type": "REASONING_MESSAGE_END", "messageId": id}),
            Kind::Call => json!({"type": "TOOL_CALL_END", "toolCallId": id}),
            Kind::Step => json!({"type": "STEP_FINISHED", "stepName": id}),
        });
    }

    fn end(&mut self) {
        for (id, kind) in std::mem::take(&mut self.open) {
            self.close(&id, kind);
        }
    }
}

/// A log in which neighbouring pieces of one item are one.
pub fn merge(events: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for event in events {
        let same = |last: &&mut Value| {
            event.get("delta").is_some_and(Value::is_string)
                && ["type", "messageId", "toolCallId"]
                    .iter()
                    .all(|field| last.get(field) == event.get(field))
        };
        match merged.last_mut().filter(same) {
            Some(last) => {
                let text = |event: &Value| event["delta"].as_str().unwrap_or_default().to_owned();
                last["delta"] = json!(text(last) + &text(event));
            }
            None => merged.push(event.clone()),
        }
    }
    merged
}
