//! Clients of `/agent` with a tool of their own: they keep the conversation themselves, answer by the next run, and
//! resume a run at any host when its host is killed.

use crate::client::{Clients, Gone, STUCK};
use crate::clients::fold::Fold;
use crate::clients::frames::{Frame, Frames};
use crate::clients::{TOOL, tools};
use crate::decision::Decision;
use crate::host::Host;
use crate::model::{CLIENT_CALLS, ROUNDS, calls_of};
use crate::said;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// One run: the messages that it began with, its events, and the messages that the client built from them.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) before: Value,
    pub(crate) events: Vec<String>,
    pub(crate) after: Fold,
}

/// A question that was answered to its end.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) question: String,
    pub(crate) runs: Vec<Run>,
}

impl Clients {
    /// Asks one question after the other.
    pub(crate) async fn ask_agent(&self) {
        while !self.0.ends.load(Ordering::SeqCst) {
            let question = format!("run-{}", self.0.threads.fetch_add(1, Ordering::SeqCst) + 1);
            let Ok(runs) = tokio::time::timeout(STUCK, self.question(&question)).await else {
                said::print_of(&format!("{question}-r0"), &self.0.hosts_log);
                panic!("the question is stuck: {question}");
            };
            if let Ok(runs) = runs {
                let answered = Answered { question, runs };
                self.0.answered.lock().unwrap().push(answered);
            }
        }
    }

    async fn question(&self, question: &str) -> Result<Vec<Run>, Gone> {
        let mut fold = Fold::default();
        fold.say(format!("{question}-user"), question);
        let mut resume: Vec<Value> = Vec::new();
        let mut runs: Vec<Run> = Vec::new();
        loop {
            let before = json!(fold.to_messages());
            let input = json!({
                "protocolVersion": "1.0",
                "threadId": question,
                "runId": format!("{question}-r{}", runs.len()),
                "messages": before,
                "tools": tools(),
                "resume": resume,
            });
            if !resume.is_empty() {
                self.0.moments.question();
            }
            let events = self.run(&input, &mut fold).await?;
            let end: Value = serde_json::from_str(events.last().unwrap()).unwrap();
            assert_eq!(end["type"], "RUN_FINISHED", "{question}: {events:#?}");
            if end["outcome"]["type"] == "cancelled" {
                // The host stops.
                return Err(Gone);
            }
            runs.push(Run {
                before,
                events,
                after: fold.clone(),
            });
            let list = |name: &str| end["outcome"][name].as_array().cloned().unwrap_or_default();
            let (asked, pending) = (list("interrupts"), list("pendingToolCallIds"));
            if asked.is_empty() && pending.is_empty() {
                return Ok(runs);
            }
            let entries = asked.iter().map(|asked| {
                let (id, call) = (&asked["id"], &asked["toolCallId"]);
                let call = call.as_str().unwrap();
                Decision::of(call).entry(id.as_str().unwrap(), call)
            });
            resume = entries.collect();
            if resume.is_empty() || self.0.chance.one_in(2) {
                fold.bring(TOOL);
            }
        }
    }

    /// Makes one run, to the event that ends it, on as many hosts as it takes.
    async fn run(&self, input: &Value, fold: &mut Fold) -> Result<Vec<String>, Gone> {
        let before = fold.clone();
        let mut heard = Heard::default();
        for _ in 0..MOST_RETURNS {
            let host = self.0.hosts.any(self.0.chance.below(1 << 32)).await;
            match self.hear(&host, input, fold, &mut heard).await {
                Ok(()) => return Ok(heard.events),
                Err(Gone) if self.0.ends.load(Ordering::SeqCst) => return Err(Gone),
                Err(Gone) => tokio::time::sleep(RETURNS_AFTER).await,
            }
            if self.0.chance.one_in(2) {
                // The client has lost all of the run.
                heard = Heard::default();
                *fold = before.clone();
            }
        }
        Err(Gone)
    }

    /// Reads a run's events, after those that were received, to its end.
    async fn hear(
        &self,
        host: &Host,
        input: &Value,
        fold: &mut Fold,
        heard: &mut Heard,
    ) -> Result<(), Gone> {
        let request = self.0.client.post(format!("{}/agent", host.url));
        let mut request = request.header("content-type", "application/json");
        if let Some(last) = &heard.last {
            request = request.header("last-event-id", last);
        }
        let mut response = request.body(input.to_string()).send().await?;
        let status = response.status();
        self.is_there(status).await?;
        if status == 409 {
            // An earlier request for the thread came in between: the client's own, which a dead host accepted.
            return Err(Gone);
        }
        if status != 200 {
            panic!("{status}: {:?}: {input}", response.text().await);
        }
        let mut is_warned = false;
        let mut frames = Frames::default();
        while let Some(chunk) = response.chunk().await? {
            self.0.moments.bytes(chunk.len());
            frames.push(&chunk);
            for frame in frames.by_ref() {
                self.0.moments.step();
                let data = match frame {
                    Frame::Event(id, data) => {
                        heard.last = Some(id);
                        data
                    }
                    Frame::Prelude(data) => data,
                    Frame::Notice => {
                        is_warned = true;
                        continue;
                    }
                    Frame::Comment => continue,
                };
                let broken = fold.apply(&serde_json::from_str(&data).unwrap());
                heard.events.push(data);
                let events = &heard.events;
                assert!(broken.is_empty(), "{broken:?}: {input}: {events:#?}");
            }
        }
        let end = heard.events.last().map_or("", String::as_str);
        if end.contains("RUN_FINISHED") || end.contains("RUN_ERROR") {
            return Ok(());
        }
        assert!(
            is_warned,
            "a run ends without an event that says so: {:#?}",
            heard.events
        );
        Err(Gone)
    }
}

/// The part of a run that a client has received.
#[derive(Debug, Default)]
struct Heard {
    events: Vec<String>,
    /// The id of the last event that has one.
    last: Option<String>,
}

/// The texts about a call whose host died before it had stored the result, or before the call was done.
const UNKNOWN: [&str; 2] = [
    "whether it did its work is not known",
    "the answer that asked for it broke off",
];

/// The number of times that a client resumes a run.
const MOST_RETURNS: u32 = 20;

/// How long a client waits until it resumes a run.
const RETURNS_AFTER: Duration = Duration::from_millis(500);

impl Answered {
    /// Checks that the answer is complete, and that each call has the expected result.
    pub(crate) fn judge(&self) {
        let question = &self.question;
        let shown = &self.runs.last().unwrap().after;
        let mut rounds = 0;
        let mut asked = Vec::new();
        for message in &shown.messages {
            if message.role != "assistant" {
                continue;
            }
            let is_asked: Vec<_> = message.calls.iter().map(|call| call.id.clone()).collect();
            let expected = calls_of(question, rounds, &CLIENT_CALLS);
            if message.is_cut {
                // The partial answer of a host that died stays, marked. The model is asked for it again, unless it has
                // calls: they have results, and the model continues from them.
                assert!(
                    expected.starts_with(&is_asked),
                    "{question}: {:#?}",
                    self.runs
                );
                rounds += usize::from(!is_asked.is_empty());
            } else {
                let text = format!("Round {rounds} of the answer.");
                assert_eq!(message.text, text, "{question}: {:#?}", self.runs);
                assert_eq!(is_asked, expected, "{question}: {:#?}", self.runs);
                rounds += 1;
            }
            asked.extend(is_asked);
        }
        assert_eq!(rounds, ROUNDS + 1, "{question}: {:#?}", self.runs);
        for call in asked {
            let result = shown.result(&call);
            let text = &result
                .unwrap_or_else(|| panic!("{call} has no result: {:#?}", self.runs))
                .text;
            let is_right = match (call.rsplit('_').next().unwrap(), Decision::of(&call)) {
                ("where", _) => text == "here",
                ("ask", Decision::Denied) => text.contains("not now"),
                ("ask", Decision::Edited) => text.ends_with(&format!("{call} edited is done")),
                _ => *text == format!("{call} is done"),
            };
            let is_right = is_right || UNKNOWN.iter().any(|why| text.contains(why));
            assert!(is_right, "{call}: {text}");
        }
    }
}
