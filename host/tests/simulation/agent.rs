//! A client of `/agent`: it keeps the conversation itself, has a tool of its own, and answers what is asked by its next run.

use super::clients::chance::Chance;
use super::clients::findings::Rule;
use super::clients::fold::Fold;
use super::clients::frames::Frame;
use super::clients::{TOOL, tools};
use super::http::{Events, Told};
use super::world::{Up, World};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The thread of the runs.
pub(super) const THREAD: &str = "g";

pub(super) struct Agent {
    world: Arc<World>,
    chance: Chance,
    /// The conversation, as the client has it.
    fold: Fold,
    runs: u32,
}

/// The input with which a run continues.
#[derive(Debug, Default)]
struct Next {
    resume: Vec<Value>,
    /// The calls that the user allows.
    allowed: Vec<String>,
}

/// The outcome of reading a run.
enum Heard {
    End(Value),
    /// The stream broke off.
    Cut,
    Refused,
}

impl Agent {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self {
            world: Arc::clone(world),
            chance: Chance::of(world.seed, THREAD),
            fold: Fold::default(),
            runs: 0,
        }
    }

    /// Asks this number of questions.
    pub(super) async fn live(&mut self, questions: u64) {
        for question in 0..questions {
            tokio::time::sleep(self.chance.millis(0..10_000)).await;
            let names = ["work", "look", "ask", "where", "ask", "long"];
            let plan: Vec<String> = (0..self.chance.below(3))
                .map(|_| {
                    let calls = (0..=self.chance.below(3)).map(|_| *self.chance.of_slice(&names));
                    calls.collect::<Vec<_>>().join("+")
                })
                .collect();
            let before = self.fold.clone();
            let turn = format!("{THREAD}{question}");
            let text = format!("{turn} {}", plan.join(" "));
            self.fold.say(format!("{turn}-user"), &text);
            let is_done = self.question(&turn).await;
            if !is_done {
                // A partial answer is no conversation to continue from.
                self.fold = before;
            }
        }
    }

    /// Runs until the question is answered.
    async fn question(&mut self, turn: &str) -> bool {
        let mut next = Next::default();
        for _ in 0..8 {
            let Some(end) = self.run(turn, &next).await else {
                return false;
            };
            let outcome = &end["outcome"];
            let allowed = std::mem::take(&mut next.allowed);
            next.resume.clear();
            if end["type"] == "RUN_FINISHED" && outcome["type"] != "cancelled" {
                self.judge(turn, &allowed, outcome);
            }
            if end["type"] != "RUN_FINISHED" || outcome["type"] == "cancelled" {
                return false;
            }
            let pending: Vec<_> = outcome["pendingToolCallIds"]
                .as_array()
                .into_iter()
                .flatten()
                .collect();
            let asked: Vec<_> = outcome["interrupts"]
                .as_array()
                .into_iter()
                .flatten()
                .collect();
            if pending.is_empty() && asked.is_empty() {
                return true;
            }
            tokio::time::sleep(self.chance.millis(0..5_000)).await;
            for interrupt in asked {
                self.decide(interrupt, &mut next);
            }
            let brings_results = next.resume.is_empty() || self.chance.one_in(2);
            if brings_results {
                self.fold.bring(TOOL);
            }
        }
        false
    }

    fn decide(&self, interrupt: &Value, next: &mut Next) {
        let id = &interrupt["id"];
        let call = interrupt["toolCallId"].as_str().unwrap_or_default();
        let allows = |next: &mut Next| next.allowed.push(call.to_owned());
        let entry = match self.chance.below(6) {
            0 => json!({"interruptId": id, "status": "cancelled"}),
            1 => json!({"interruptId": id, "status": "resolved", "payload": {"approved": false}}),
            2 => {
                allows(next);
                json!({"interruptId": id, "status": "resolved", "payload": {"approved": true,
                    "editedArgs": {"id": call, "note": "edited"}}})
            }
            _ => {
                allows(next);
                json!({"interruptId": id, "status": "resolved", "payload": {"approved": true}})
            }
        };
        next.resume.push(entry);
    }

    /// Makes one run, to the event that ends it; `None` where there is no answer. Where the stream breaks off the
    /// client resumes at any host: with the id of the last event that it has, or with nothing.
    async fn run(&mut self, turn: &str, next: &Next) -> Option<Value> {
        self.runs += 1;
        let run = format!("{turn}-r{}", self.runs);
        let mut input = json!({
            "threadId": THREAD,
            "runId": run,
            "protocolVersion": "1.0",
            "messages": self.fold.to_messages(),
            "tools": tools(),
            "state": {},
        });
        if !next.resume.is_empty() {
            input["resume"] = json!(next.resume);
        }
        let (answers, allowed) = (next.resume.len(), &next.allowed);
        self.world
            .trace
            .note(format!("{run} has {answers} answers, allowed: {allowed:?}"));
        let before = self.fold.clone();
        let mut last = None;
        for _ in 0..4 {
            let ups = self.world.ups();
            if ups.is_empty() {
                return None;
            }
            let up = self.chance.of_slice(&ups).clone();
            match self.hear(turn, &run, &up, &input, &mut last).await {
                Heard::End(event) => return Some(event),
                Heard::Refused => return None,
                Heard::Cut => {}
            }
            if self.chance.one_in(4) {
                return None;
            }
            tokio::time::sleep(self.chance.millis(0..20_000)).await;
            if self.chance.one_in(2) {
                self.fold = before.clone();
                last = None;
            }
        }
        None
    }

    /// Posts the run, and reads its events.
    async fn hear(
        &mut self,
        turn: &str,
        run: &str,
        up: &Up,
        input: &Value,
        last: &mut Option<String>,
    ) -> Heard {
        let world = Arc::clone(&self.world);
        let trace = &world.trace;
        let to = &up.life.name;
        trace.note(format!("{run} is posted to {to} after {last:?}"));
        up.life.is_asked_for(THREAD);
        let headers: Vec<_> = last
            .iter()
            .map(|id| ("last-event-id", id.clone()))
            .collect();
        let sent = world.send(up, turn, "POST", "/agent", Some(input), &headers);
        let Some(answer) = sent.await else {
            return Heard::Cut;
        };
        let status = answer.status().as_u16();
        if status != 200 {
            if ![409, 503].contains(&status) {
                let what = format!("a run is posted: {status}");
                world.finds(Rule::AnswerFits, turn, what);
            }
            return Heard::Refused;
        }
        let mut events = Events::of(answer, Arc::clone(&up.life));
        let reads_slowly = self.chance.one_in(2);
        let mut is_warned = false;
        loop {
            if reads_slowly {
                tokio::time::sleep(self.chance.millis(0..2_000)).await;
            }
            match events.next(Duration::from_secs(160)).await {
                Told::Frame(frame @ (Frame::Event(..) | Frame::Prelude(_))) => {
                    let data = match frame {
                        Frame::Event(id, data) => {
                            *last = Some(id);
                            data
                        }
                        Frame::Prelude(data) => data,
                        _ => continue,
                    };
                    let event: Value = serde_json::from_str(&data).unwrap_or_default();
                    let (kind, outcome) = (&event["type"], &event["outcome"]["type"]);
                    let call = &event["toolCallId"];
                    trace.note(format!("{run} tells {kind} {outcome} {call}"));
                    for (rule, what) in self.fold.apply(&event) {
                        world.finds(rule, turn, what);
                    }
                    let kind = event["type"].as_str().unwrap_or_default();
                    if ["RUN_FINISHED", "RUN_ERROR"].contains(&kind) {
                        return Heard::End(event);
                    }
                    up.life.passes("an agent's client hears of it");
                    if self.chance.one_in(100) {
                        // The client goes away.
                        return Heard::Cut;
                    }
                }
                Told::Frame(Frame::Notice) => is_warned = true,
                Told::Frame(Frame::Comment) => {}
                Told::Gone => return Heard::Cut,
                // The host stops, or cannot read its store.
                Told::Closed if is_warned => return Heard::Cut,
                Told::Closed => {
                    let what = "a run ends without an event that says so";
                    world.finds(Rule::EndIsTold, turn, what);
                    return Heard::Refused;
                }
                Told::Nothing => {
                    world.finds(Rule::StreamSpeaks, turn, "a run says nothing");
                    return Heard::Refused;
                }
            }
        }
    }

    /// Each call has its result, or waits for the client or for the user.
    fn judge(&self, turn: &str, allowed: &[String], outcome: &Value) {
        for call in allowed {
            if self.fold.result(call).is_none() {
                let how = &outcome["type"];
                let what = format!("`{call}` was allowed, and its result is not told: {how}");
                self.world.finds(Rule::ApprovedIsTold, turn, what);
            }
        }
        let text = outcome.to_string();
        for call in self.fold.calls() {
            let waits = text.contains(call) || self.fold.result(call).is_some();
            // Client calls of an answer that also asks the user are reported when the user has answered.
            if !waits && outcome["type"] != "interrupt" && !allowed.iter().any(|id| id == call) {
                let what = format!("`{call}` has no result, and nobody is told to bring one");
                self.world.finds(Rule::ApprovedIsTold, turn, what);
            }
        }
    }
}
