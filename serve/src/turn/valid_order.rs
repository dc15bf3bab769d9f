//! Keeps the events of a run in the order that the protocol allows.

use serde_json::Value;
use stepwell_core::event::{
    Common, Event, OpenItems, Order, ReasoningEnd, ReasoningMessageEnd, StepFinished,
    SubagentFinished, TextMessageEnd, ToolCallEnd,
};

/// The order of a run's events so far.
#[derive(Debug, Default)]
pub(crate) struct ValidOrder {
    order: Order,
}

impl ValidOrder {
    /// Returns the event as it may be sent, if it may.
    pub(crate) fn admit(&mut self, event: Event) -> Option<Event> {
        if matches!(event, Event::Unknown(_)) {
            // AG-UI 1.0 has no such event: its receivers are strict.
            tracing::debug!(target: "stepwell", kind = event.kind(), "an unknown event is not handed on");
            return None;
        }
        let event = strip(event);
        if let Err(violation) = self.order.check((&event).into()) {
            tracing::error!(target: "stepwell", %violation, "an event was held back");
            return None;
        }
        Some(event)
    }

    /// Notes an event that was sent before.
    pub(crate) fn note_sent(&mut self, event: &Event) {
        if let Err(violation) = self.order.check(event.into()) {
            tracing::error!(target: "stepwell", %violation, "an event of the log is out of order");
        }
    }

    /// Returns the events that end the open items.
    pub(crate) fn ends(&self) -> Vec<Event> {
        ends(self.order.open_items())
    }
}

/// The event without the fields that AG-UI 1.0 does not know.
fn strip(event: Event) -> Event {
    let unknown = event.common().map(|common| &common.extra);
    let Some(unknown) = unknown.filter(|unknown| !unknown.is_empty()) else {
        return event;
    };
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&event) else {
        return event;
    };
    fields.retain(|name, _| !unknown.contains_key(name));
    Event::from_object(fields).unwrap_or(event)
}

/// Returns the events that end the open items.
fn ends(open: OpenItems) -> Vec<Event> {
    let messages = open.messages.into_iter().map(|message_id| {
        let common = None;
        TextMessageEnd { message_id, common }.into()
    });
    let reasoning = open.reasoning_messages.into_iter().map(|message_id| {
        let common = None;
        ReasoningMessageEnd { message_id, common }.into()
    });
    let spans = open.reasoning_spans.into_iter().map(|message_id| {
        let common = None;
        ReasoningEnd { message_id, common }.into()
    });
    let calls = open.tool_calls.into_iter().map(|tool_call_id| {
        let common = None;
        ToolCallEnd {
            tool_call_id,
            common,
        }
        .into()
    });
    let steps = open.steps.into_iter().map(|step| {
        let common = step.subagent_run_id.map(|owner| {
            Box::new(Common {
                subagent_run_id: Some(owner),
                ..Common::default()
            })
        });
        StepFinished {
            step_name: step.name,
            common,
        }
        .into()
    });
    let subagents = open.subagents.into_iter().map(|subagent_run_id| {
        SubagentFinished {
            subagent_run_id,
            ..SubagentFinished::default()
        }
        .into()
    });
    let texts = messages.chain(reasoning).chain(spans);
    texts.chain(calls).chain(steps).chain(subagents).collect()
}
