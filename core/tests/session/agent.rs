//! The bodies of an AG-UI agent, which may say much more than an answer.

use crate::plan::{Agent, Call, End, Hop, Part, Snapshot};
use crate::wire::call_id;
use proptest::sample::Index;
use serde_json::{Value, json};
use stepwell_core::event::Message;

/// What an agent says in one hop.
struct Speech<'a> {
    name: &'a str,
    frames: Vec<Value>,
    /// The conversation as the agent knows it.
    messages: Vec<Value>,
    /// The calls of this hop that nobody has answered.
    open: Vec<String>,
    calls: usize,
    items: usize,
    has_state: bool,
    activities: Vec<String>,
}

/// The body of an agent's hop; `history` is what its request carried.
pub fn body(name: &str, hop: &Hop, history: &[Message], has_state: bool) -> Vec<u8> {
    let history = history.iter().map(|message| json!(message));
    let mut speech = Speech {
        name,
        frames: Vec::new(),
        messages: history.collect(),
        open: Vec::new(),
        calls: 0,
        items: 0,
        has_state,
        activities: Vec::new(),
    };
    let (thread, run) = ("thread", format!("agent-{name}"));
    speech.say(json!({"type": "RUN_STARTED", "threadId": thread, "runId": run}));
    for part in &hop.parts {
        speech.part(part);
    }
    let mut end = json!({"type": "RUN_FINISHED", "threadId": thread, "runId": run});
    if hop.usage {
        end["usage"] = json!([{"inputTokens": 10, "outputTokens": 5, "model": "m"}]);
    }
    match hop.end {
        End::Fails => end = json!({"type": "RUN_ERROR", "message": "overloaded"}),
        End::Asks { .. } => {
            let interrupt = json!({"id": "q", "reason": "input_required", "message": "Which?"});
            end["outcome"] = json!({"type": "interrupt", "interrupts": [interrupt]});
        }
        End::Leaves => {
            let ids: Vec<_> = speech.open.iter().skip(1).collect();
            end["outcome"] = json!({"type": "success", "pendingToolCallIds": ids});
        }
        _ => {}
    }
    if !matches!(hop.end, End::Cut | End::Breaks) {
        speech.say(end);
    }
    let frames = speech.frames.iter();
    frames
        .map(|frame| format!("data: {frame}\n\n"))
        .collect::<String>()
        .into_bytes()
}

impl Speech<'_> {
    fn say(&mut self, event: Value) {
        self.frames.push(event);
    }

    fn id(&mut self) -> String {
        self.items += 1;
        format!("{}-item-{}", self.name, self.items)
    }

    fn text(&mut self, id: &str, role: &str, text: &str, metadata: Option<Value>) {
        let mut start = json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": role});
        let mut end = json!({"type": "TEXT_MESSAGE_END", "messageId": id});
        if let Some(metadata) = metadata {
            start["metadata"] = metadata.clone();
            end["metadata"] = json!({"end": metadata});
            start["name"] = json!("Ann");
            start["subagentRunId"] = json!("sub-1");
            end["subagentRunId"] = json!("sub-1");
        }
        self.say(start);
        self.say(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text}));
        self.say(end);
    }

    fn said(&mut self, id: &str, role: &str, text: &str) {
        self.messages
            .push(json!({"id": id, "role": role, "content": text}));
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Text(text) => {
                let id = self.id();
                self.text(&id, "assistant", text, None);
                self.said(&id, "assistant", text);
            }
            Part::Cited(text) | Part::Refusal(text) => {
                let id = self.id();
                let metadata = match part {
                    Part::Cited(_) => json!({"citations": [{"url": "https://a.b"}]}),
                    _ => json!({"refusal": text}),
                };
                self.text(&id, "assistant", text, Some(metadata));
                self.said(&id, "assistant", text);
            }
            Part::Thought(text, sealed) => {
                let id = self.id();
                let of = |kind: &str| json!({"type": kind, "messageId": id});
                let mut start = of("REASONING_MESSAGE_START");
                start["role"] = json!("reasoning");
                self.say(start);
                let mut content = of("REASONING_MESSAGE_CONTENT");
                content["delta"] = json!(text);
                self.say(content);
                self.say(of("REASONING_MESSAGE_END"));
                if *sealed {
                    self.say(json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": id, "encryptedValue": "ZW5j"}));
                }
                self.said(&id, "reasoning", text);
            }
            Part::Redacted => {
                let id = self.id();
                self.say(json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}));
                self.say(json!({"type": "REASONING_MESSAGE_END", "messageId": id}));
                self.say(json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": id, "encryptedValue": "cmVk"}));
                self.said(&id, "reasoning", "");
            }
            Part::Calls(batch) => self.call(batch),
            Part::Agent(agent) => self.agent(agent),
        }
    }

    fn call(&mut self, batch: &[Call]) {
        let parent = self.id();
        let mut calls = Vec::new();
        for call in batch {
            let id = call_id(self.name, self.calls, call);
            self.calls += 1;
            self.say(json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": call.tool, "parentMessageId": parent}));
            self.say(json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": call.arguments}));
            self.say(
                json!({"type": "TOOL_CALL_END", "toolCallId": id, "metadata": {"n": self.calls}}),
            );
            if call.sealed {
                self.say(json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": id, "encryptedValue": "Y2FsbA=="}));
            }
            calls.push(json!({"id": id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}));
            self.open.push(id);
        }
        self.messages
            .push(json!({"id": parent, "role": "assistant", "toolCalls": calls}));
    }

    fn agent(&mut self, agent: &Agent) {
        match agent {
            Agent::Result(which) => {
                if self.open.is_empty() {
                    return;
                }
                let call = self.open.remove(which.index(self.open.len()));
                let id = self.id();
                self.say(json!({"type": "TOOL_CALL_RESULT", "messageId": id, "toolCallId": call, "content": "theirs", "metadata": {"took": 3}}));
                self.messages.push(
                    json!({"id": id, "role": "tool", "toolCallId": call, "content": "theirs"}),
                );
            }
            Agent::Orphan => {
                let id = self.id();
                self.say(json!({"type": "TOOL_CALL_RESULT", "messageId": id, "toolCallId": "nobodys", "content": "?"}));
            }
            Agent::State(n) => {
                self.has_state = true;
                self.say(json!({"type": "STATE_SNAPSHOT", "snapshot": {"n": n, "list": [1]}}));
            }
            Agent::StateDelta(n) => {
                if self.has_state {
                    self.say(json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/n", "value": n}]}));
                }
            }
            Agent::BadStateDelta => {
                self.say(
                    json!({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/nowhere"}]}),
                );
            }
            Agent::Activity(n) => {
                let id = format!("activity-{n}");
                self.activities.push(id.clone());
                self.say(json!({"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": "plan", "content": {"by": self.name, "steps": []}}));
            }
            Agent::ActivityDelta(n) => {
                let id = format!("activity-{n}");
                if self.activities.contains(&id) {
                    let step = [json!({"op": "add", "path": "/steps/-", "value": "one"})];
                    self.say(json!({"type": "ACTIVITY_DELTA", "messageId": id, "activityType": "plan", "patch": step}));
                }
            }
            Agent::Says(role) => {
                let id = self.id();
                self.text(&id, role, "in another's name", None);
                self.said(&id, role, "in another's name");
            }
            Agent::Nested => {
                let (outer, inner) = (self.id(), self.id());
                let of = |kind: &str, id: &str| json!({"type": kind, "messageId": id});
                let mut start = of("TEXT_MESSAGE_START", &outer);
                start["role"] = json!("assistant");
                self.say(start);
                let mut start = of("REASONING_MESSAGE_START", &inner);
                start["role"] = json!("reasoning");
                self.say(start);
                for id in [&inner, &outer] {
                    let kind = if *id == outer { "TEXT" } else { "REASONING" };
                    let mut content = of(&format!("{kind}_MESSAGE_CONTENT"), id);
                    content["delta"] = json!("nested");
                    self.say(content);
                    self.say(of(&format!("{kind}_MESSAGE_END"), id));
                }
                self.said(&outer, "assistant", "nested");
                self.said(&inner, "reasoning", "nested");
            }
            Agent::GoesOn(which) => {
                if let Some(id) = self.some(which, "assistant") {
                    self.text(&id, "assistant", " and on", None);
                }
            }
            Agent::Seals(which) => {
                if let Some(id) = self.some(which, "assistant") {
                    self.say(json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": id, "encryptedValue": "bGF0ZQ=="}));
                }
            }
            Agent::Snapshot(snapshot) => self.snapshot(*snapshot),
            Agent::Attached => {
                let id = self.id();
                let metadata = json!({"k": [1, null], "cacheControl": {"type": "ephemeral"}});
                self.text(&id, "assistant", "attached", Some(metadata));
                self.said(&id, "assistant", "attached");
            }
        }
    }

    /// A message of before, of this role.
    fn some(&self, which: &Index, role: &str) -> Option<String> {
        let of_role = |message: &&Value| message["role"] == role;
        let ids: Vec<_> = self.messages.iter().filter(of_role).collect();
        (!ids.is_empty()).then(|| which.get(&ids)["id"].as_str().expect("an id").to_owned())
    }

    fn snapshot(&mut self, snapshot: Snapshot) {
        let id = self.id();
        let messages = &mut self.messages;
        let count = messages.len().max(1);
        match snapshot {
            Snapshot::Same => {}
            Snapshot::Grown => {
                messages.push(json!({"id": id, "role": "assistant", "content": "grown"}));
            }
            Snapshot::Changed(at) => {
                if let Some(message) = messages.get_mut(at % count)
                    && message["content"].is_string()
                {
                    message["content"] = json!("changed");
                }
            }
            Snapshot::Dropped(at) if !messages.is_empty() => {
                messages.remove(at % count);
            }
            Snapshot::Dropped(_) => {}
            Snapshot::Emptied => messages.clear(),
            Snapshot::Reversed => messages.reverse(),
            Snapshot::Twice => {
                for text in ["first", "second"] {
                    messages.push(json!({"id": id, "role": "assistant", "content": text}));
                }
            }
        }
        let messages = self.messages.clone();
        self.say(json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}));
    }
}
