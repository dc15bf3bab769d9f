//! Writes the events of one run, and holds them to what the protocol allows.

use super::event_log::LogWriter;
use super::stop::{Stop, StopSignal};
use serde_json::Value;
use stepwell_core::event::{
    Common, Event, OpenItems, Order, ReasoningEnd, ReasoningMessageEnd, StepFinished,
    SubagentFinished, TextMessageEnd, ToolCallEnd,
};

/// What a run says, on its way into the log.
#[derive(Debug)]
pub(super) struct RunWriter {
    log: LogWriter,
    order: Order,
    stop: StopSignal,
    /// Why the run is being stopped, once it is. It no longer waits for its reader then.
    stopped: Option<Stop>,
}

impl RunWriter {
    pub(super) fn new(log: LogWriter, stop: StopSignal) -> Self {
        Self {
            log,
            order: Order::default(),
            stop,
            stopped: None,
        }
    }

    /// Waits until the run is to be stopped. Never comes back a second time.
    pub(super) async fn stop(&mut self) -> Stop {
        if self.stopped.is_some() {
            return std::future::pending().await;
        }
        let stop = tokio::select! {
            biased;
            () = self.log.abandoned() => Stop::ClientLeft,
            stop = self.stop.wait() => stop,
        };
        self.stopped = Some(stop);
        stop
    }

    /// Why the run is being stopped, if it is.
    pub(super) fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    /// Writes an event once there is room for it. `true` if the run is to be stopped from now on: the event is written
    /// all the same, as are the few that still come.
    pub(super) async fn write(&mut self, event: Event) -> bool {
        let mut is_stopped_now = false;
        if self.stopped.is_none() {
            tokio::select! {
                biased;
                () = self.log.room() => {}
                stop = self.stop.wait() => {
                    self.stopped = Some(stop);
                    is_stopped_now = true;
                }
            }
        }
        self.append(event);
        is_stopped_now
    }

    /// Ends the run: what is still open is closed first, where the protocol asks for it.
    pub(super) fn end(&mut self, event: Event) {
        if matches!(event, Event::RunFinished(_)) {
            for end in ends(self.order.open_items()) {
                self.append(end);
            }
        }
        self.append(event);
    }

    fn append(&mut self, event: Event) {
        if matches!(event, Event::Unknown(_)) {
            // AG-UI 1.0 has no such event: its receivers are strict.
            tracing::debug!(target: "stepwell", kind = event.kind(), "an unknown event is not handed on");
            return;
        }
        let event = strip(event);
        if let Err(violation) = self.order.check((&event).into()) {
            tracing::error!(target: "stepwell", %violation, "an event was held back");
            return;
        }
        self.log.append(&event);
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
