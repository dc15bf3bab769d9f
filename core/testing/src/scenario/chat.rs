//! The screen of a run: what a chat shows of it at the end.

use serde_json::{Value, json};
use stepwell_core::event::Message;
use stepwell_core::run::{Input, Output, RunMachine};
use stepwell_core::session::{ChatPart, ChatReducer, ChatRole, ChatState, ViewOptions};
use stepwell_core::{RunId, Timestamp};

/// The action of the app that an input is.
#[derive(Debug)]
pub(super) enum Action {
    Begin {
        turn: RunId,
        message: Option<Message>,
    },
    Steer(Message),
    Other,
}

impl Action {
    pub(super) fn of(input: &Input<'_>) -> Self {
        match input {
            Input::Start(start) => Self::Begin {
                turn: start.run_id.clone(),
                message: start.message.clone(),
            },
            Input::Steer(message) => Self::Steer((**message).clone()),
            _ => Self::Other,
        }
    }
}

/// The screen of a run.
#[derive(Clone, Debug)]
pub(super) struct Screen(ChatReducer);

impl Screen {
    pub(super) fn new(history: Vec<Message>) -> Self {
        Self(ChatReducer::from_messages(history, ViewOptions::default()))
    }

    /// Notes an action of the app that its run took.
    pub(super) fn act(&mut self, action: Action, now: Timestamp) {
        match action {
            Action::Begin { turn, message } => self.0.begin(turn, None, message, now),
            Action::Steer(message) => self.0.steer(message),
            Action::Other => {}
        }
    }

    /// Notes that a run was revived in the middle of its turn.
    pub(super) fn resume(&mut self) {
        self.0.resume();
    }

    pub(super) fn take(&mut self, output: &Output, now: Timestamp) {
        if let Output::Event(event) = output {
            self.0.apply(event, now);
        }
    }

    /// Returns what the screen shows: its status, what waits, its messages in lines, and the digest of all of it.
    pub(super) fn shown(&self, run: &RunMachine) -> Value {
        let mut chat = self.0.clone();
        chat.set_usage(run.usage());
        let state = chat.state();
        let mut shown = json!({ "status": state.status });
        let pending = state.pending.iter().map(|pending| &pending.id);
        let interrupts = state.interrupts.iter().map(|interrupt| &interrupt.id);
        let pending: Vec<_> = pending.chain(interrupts).collect();
        if !pending.is_empty() {
            shown["pending"] = json!(pending);
        }
        if let Some(problem) = &state.problem {
            shown["problem"] = json!(problem.kind);
        }
        shown["lines"] = json!(lines(state));
        shown["digest"] = json!(state.digest().to_string());
        shown
    }
}

/// The parts of the messages in a line each.
fn lines(state: &ChatState) -> Vec<String> {
    let mut lines = Vec::new();
    for message in &state.messages {
        let role = match message.role {
            ChatRole::User => "user",
            _ => "assistant",
        };
        for part in &message.parts {
            let shown = match part {
                ChatPart::Text { text } => text.clone(),
                ChatPart::Reasoning { text } => format!("(reasoning) {text}"),
                ChatPart::Tool { card } => {
                    let result = card.result.as_ref().map(|result| result.to_text());
                    let result = result.or_else(|| card.failure.clone());
                    let result = result.map_or_else(String::new, |result| format!(": {result}"));
                    let status = json!(card)["status"].clone();
                    let status = status.as_str().unwrap_or_default();
                    format!("[{} {status}{result}]", card.label)
                }
                ChatPart::Media { media } => {
                    let media = json!(media);
                    format!("[{}]", media["type"].as_str().unwrap_or_default())
                }
                ChatPart::Activity { activity_type, .. } => format!("[{activity_type}]"),
                other => format!("{other:?}"),
            };
            lines.push(format!("{role}: {shown}"));
        }
        if message.is_cut {
            lines.push(format!("{role}: (cut)"));
        }
    }
    lines
}
