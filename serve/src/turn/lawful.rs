//! Holds the events of a run to what the protocol allows.

use serde_json::Value;
use stepwell_core::event::{
    Common, Event, OpenItems, Order, ReasoningEnd, ReasoningMessageEnd, StepFinished,
    SubagentFinished, TextMessageEnd, ToolCallEnd,
};

/// The order of a run's events so far.
#[derive(Debug, Default)]
pub(crate) struct Lawful {
    order: Order,
}

impl Lawful {
    /// The event as it may go out, if it may.
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

    /// The event went out before.
    pub(crate) fn passed(&mut self, event: &Event) {
        if let Err(violation) = self.order.check(event.into()) {
            tracing::error!(target: "stepwell", %violation, "an event of the log is out of order");
        }
    }

    /// The events that end what is open.
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

/// The events that end what is open.
fn ends(open: OpenItems) -> Vec<Event> {
    let mut ends: Vec<Event> = Vec::new();
    for message_id in open.messages {
        ends.push(
            TextMessageEnd {
                message_id,
                common: None,
            }
            .into(),
        );
    }
    for message_id in open.reasoning_messages {
        ends.push(
            ReasoningMessageEnd {
                message_id,
                common: None,
            }
            .into(),
        );
    }
    for message_id in open.reasoning_spans {
        ends.push(
            ReasoningEnd {
                message_id,
                common: None,
            }
            .into(),
        );
    }
    for tool_call_id in open.tool_calls {
        ends.push(
            ToolCallEnd {
                tool_call_id,
                common: None,
            }
            .into(),
        );
    }
    for step in open.steps {
        let common = step.subagent_run_id.map(|owner| {
            Box::new(Common {
                subagent_run_id: Some(owner),
                ..Common::default()
            })
        });
        ends.push(
            StepFinished {
                step_name: step.name,
                common,
            }
            .into(),
        );
    }
    for subagent_run_id in open.subagents {
        ends.push(
            SubagentFinished {
                subagent_run_id,
                ..SubagentFinished::default()
            }
            .into(),
        );
    }
    ends
}
