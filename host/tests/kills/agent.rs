//! Clients of `/agent` with a tool of their own: they keep the conversation themselves, answer by the next run, and ask
//! anew when their host is killed, since a run is kept nowhere.

use crate::client::{Clients, Gone, tools};
use crate::decision::Decision;
use crate::host::Host;
use crate::messages::{Seen, seen};
use crate::model::{CLIENT_CALLS, WHOLE, calls};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{Event, EventRef, Message, ToolMessage};

/// One run: the messages that it began with, what it said, and the messages that the client made of it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) before: Value,
    pub(crate) events: Vec<String>,
    pub(crate) after: Value,
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
            // What waits for the user is in the memory of one host.
            let host = self.0.hosts.any(self.0.random.below(1 << 32)).await;
            if let Ok(runs) = self.question(&host, &question).await {
                let answered = Answered { question, runs };
                self.0.answered.lock().unwrap().push(answered);
            }
        }
    }

    async fn question(&self, host: &Host, question: &str) -> Result<Vec<Run>, Gone> {
        let message = Message::user(format!("{question}-user"), question);
        let mut conversation = Conversation::new(vec![message]);
        let mut resume: Vec<Value> = Vec::new();
        let mut runs: Vec<Run> = Vec::new();
        loop {
            let before = json!(conversation.messages());
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
            let events = self.run(host, &input, &mut conversation).await?;
            let end: Value = serde_json::from_str(events.last().unwrap()).unwrap();
            assert_eq!(end["type"], "RUN_FINISHED", "{question}: {events:#?}");
            if end["outcome"]["type"] == "cancelled" {
                // The host stops.
                return Err(Gone);
            }
            let after = json!(conversation.messages());
            runs.push(Run {
                before,
                events,
                after,
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
            if resume.is_empty() || self.0.random.below(2) == 0 {
                bring(&mut conversation);
            }
        }
    }

    /// One run, to the event that ends it.
    async fn run(
        &self,
        host: &Host,
        input: &Value,
        conversation: &mut Conversation,
    ) -> Result<Vec<String>, Gone> {
        let request = self.0.client.post(format!("{}/agent", host.url));
        let request = request.header("content-type", "application/json");
        let mut response = request.body(input.to_string()).send().await?;
        let status = response.status();
        self.is_there(status).await?;
        if status != 200 {
            panic!("{status}: {:?}: {input}", response.text().await);
        }
        let mut events = Vec::new();
        let mut unread = String::new();
        while let Some(chunk) = response.chunk().await? {
            self.0.moments.bytes(chunk.len());
            unread.push_str(std::str::from_utf8(&chunk).unwrap());
            while let Some((frame, rest)) = unread.split_once("\n\n") {
                let frame = frame.to_owned();
                unread = rest.to_owned();
                self.0.moments.step();
                let Some((_, data)) = frame.split_once("\ndata: ") else {
                    continue;
                };
                let event: Event = serde_json::from_str(data).unwrap();
                let _ = conversation.apply(EventRef::from(&event));
                events.push(data.to_owned());
            }
        }
        let end = events.last().map_or("", String::as_str);
        assert!(
            end.contains("RUN_FINISHED") || end.contains("RUN_ERROR"),
            "a run ends without an event that says so: {events:#?}"
        );
        Ok(events)
    }
}

/// Brings what the client's own tool gave, for each call that waits for it.
fn bring(conversation: &mut Conversation) {
    let shown = seen(&json!(conversation.messages()));
    let has_result = |call: &str| {
        shown
            .iter()
            .any(|message| message.result_of.as_deref() == Some(call))
    };
    let calls = shown.iter().flat_map(|message| &message.calls);
    let open = calls.filter(|call| call.name == "where" && !has_result(&call.id));
    let results = open.map(|call| {
        Message::Tool(ToolMessage {
            id: format!("{}-brought", call.id).into(),
            tool_call_id: call.id.as_str().into(),
            content: "here".into(),
            ..ToolMessage::default()
        })
    });
    let messages = conversation.messages().iter().cloned().chain(results);
    *conversation = Conversation::new(messages.collect());
}

impl Answered {
    /// The answer is whole, and each call has the result that it is to have.
    pub(crate) fn judge(&self) {
        let question = &self.question;
        let shown = seen(&self.runs.last().unwrap().after);
        let answers = shown.iter().filter(|message| message.role == "assistant");
        let words: String = answers
            .clone()
            .map(|message| message.text.as_str())
            .collect();
        assert_eq!(words, WHOLE, "{question}");
        let asked = answers.flat_map(|message| &message.calls);
        let asked: Vec<_> = asked.map(|call| call.id.clone()).collect();
        assert_eq!(asked, calls(question, &CLIENT_CALLS), "{question}");
        for call in asked {
            let is_of_call = |message: &&Seen| message.result_of.as_ref() == Some(&call);
            let results: Vec<_> = shown.iter().filter(is_of_call).collect();
            assert_eq!(results.len(), 1, "{call}: {results:?}");
            let text = &results[0].text;
            let is_right = match (call.rsplit('_').next().unwrap(), Decision::of(&call)) {
                ("where", _) => text == "here",
                ("ask", Decision::Denied) => text.contains("not now"),
                ("ask", Decision::Edited) => text.ends_with(&format!("{call} edited is done")),
                _ => *text == format!("{call} is done"),
            };
            assert!(is_right, "{call}: {text}");
        }
    }
}
