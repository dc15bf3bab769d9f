//! The events of a run as they come, each held to the protocol.

use crate::valid::check_event;
use reqwest::Response;
use serde_json::Value;
use stepwell_core::event::{End, Event, Order};

/// A run's stream.
pub(crate) struct Run {
    response: Response,
    unread: String,
    order: Order,
    run_id: Option<String>,
    index: u64,
    /// Comments so far.
    pub(crate) comments: usize,
    /// The events that are no part of the run's log.
    notices: Vec<Value>,
}

impl Run {
    pub(crate) fn new(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            response,
            unread: String::new(),
            order: Order::default(),
            run_id: None,
            index: 0,
            comments: 0,
            notices: Vec::new(),
        }
    }

    /// The next event; nothing at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((frame, rest)) = self.unread.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.unread = rest;
                if frame.starts_with(": ") {
                    self.comments += 1;
                    return Some(Value::Null);
                }
                if let Some(data) = frame.strip_prefix("data: ") {
                    if !data.contains("\"CUSTOM\"") {
                        // A client that joins a run first receives its state.
                        return Some(self.event(data));
                    }
                    self.notices.push(self.notice(data));
                    return Some(Value::Null);
                }
                return Some(self.take(&frame));
            }
            let chunk = self.response.chunk().await.expect("the body goes on");
            let Some(chunk) = chunk else {
                assert_eq!(self.unread, "", "the last event is whole");
                return None;
            };
            // The tests speak ASCII.
            self.unread
                .push_str(std::str::from_utf8(&chunk).expect("text"));
        }
    }

    fn notice(&self, data: &str) -> Value {
        let json: Value = serde_json::from_str(data).expect("JSON");
        check_event(&json);
        assert_eq!(json["type"], "CUSTOM", "{data}");
        assert!(self.run_id.is_some(), "a run has begun");
        json
    }

    fn take(&mut self, frame: &str) -> Value {
        let (id, data) = frame.split_once("\ndata: ").expect("an id and data");
        let id = id.strip_prefix("id: ").expect("an id");
        let json = self.event(data);
        let run_id = self.run_id.as_deref().expect("a run has begun");
        // A run may leave out some events of its turn's log.
        let (of, index) = id.rsplit_once(':').expect("an id");
        let index: u64 = index.parse().expect("a number");
        assert_eq!(of, run_id);
        assert!(index >= self.index, "{id} comes after {}", self.index);
        self.index = index + 1;
        json
    }

    fn event(&mut self, data: &str) -> Value {
        let json: Value = serde_json::from_str(data).expect("JSON");
        let event: Event =
            serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
        if let Err(violation) = self.order.check((&event).into()) {
            panic!("{violation}: {data}");
        }
        check_event(&json);
        if let Event::RunStarted(started) = &event {
            // The log of a turn that is reported in runs has several starts, and its ids are those of the turn.
            let run_id = || started.run_id.to_string();
            self.run_id.get_or_insert_with(run_id);
        }
        json
    }

    /// Reads until an event of this kind.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next().await;
            let event = event.unwrap_or_else(|| panic!("the run ended without {kind}"));
            if event["type"] == kind {
                return event;
            }
        }
    }

    /// Reads until a notice of this name.
    pub(crate) async fn until_notice(&mut self, name: &str) -> Value {
        loop {
            let mut notices = self.notices.drain(..);
            if let Some(notice) = notices.find(|notice| notice["name"] == name) {
                return notice;
            }
            drop(notices);
            let event = self.next().await;
            assert!(event.is_some(), "the run ended without the notice {name}");
        }
    }

    /// All events that are left. The run has come to its end by the protocol.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.extend(Some(event).filter(|event| !event.is_null()));
        }
        assert!(
            !matches!(self.order.end(), End::Truncated(_)),
            "{:?}",
            self.order.end()
        );
        events
    }
}

/// All events of a run.
pub(crate) async fn events(response: Response) -> Vec<Value> {
    if response.status() != 200 {
        panic!("{}: {:?}", response.status(), response.text().await);
    }
    Run::new(response).rest().await
}

pub(crate) fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect()
}

/// Returns the text of the answer: the text in the last snapshot, and the deltas after it.
pub(crate) fn text(events: &[Value]) -> String {
    let mut text = String::new();
    for event in events {
        match event["type"].as_str() {
            Some("MESSAGES_SNAPSHOT") => text = answer_in(&event["messages"]),
            Some("TEXT_MESSAGE_CONTENT") => text += event["delta"].as_str().unwrap_or_default(),
            _ => {}
        }
    }
    text
}

/// Returns the assistant's text since the user's last message.
fn answer_in(messages: &Value) -> String {
    let messages = messages.as_array().map_or(&[][..], Vec::as_slice);
    let last = messages.rsplit(|message| message["role"] == "user").next();
    let said = last.into_iter().flatten();
    let said = said.filter(|message| message["role"] == "assistant");
    said.filter_map(|message| message["content"].as_str())
        .collect()
}

pub(crate) fn all<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["type"] == kind)
        .collect()
}
