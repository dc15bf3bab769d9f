//! Resumes from a backend that sends the current state in a `MESSAGES_SNAPSHOT` and continues from there.
//!
//! The backend does not repeat what began or ended while the stream was broken. The missing start and end events are
//! inserted, so that a client sees each item begin once and end once.

use super::passed::Passed;
use crate::event::{
    Common, Event, EventRef, Message, OpenStep, Order, Phase, ReasoningEnd, ReasoningMessageEnd,
    ReasoningMessageStart, ReasoningRole, StepFinished, StepStarted, SubagentFinished,
    SubagentStarted, TextMessageEnd, TextMessageRole, TextMessageStart, ToolCallEnd, ToolCallStart,
};
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Resync {
    /// The stream never broke off.
    #[default]
    Unbroken,
    /// A body has begun, and has not sent its snapshot.
    Behind,
    /// The body has sent its snapshot.
    Rejoined,
}

impl Resync {
    pub(super) fn reopen(&mut self) {
        *self = Self::Behind;
    }

    pub(super) fn is_behind(self) -> bool {
        self == Self::Behind
    }

    pub(super) fn pass(
        &mut self,
        event: EventRef<'_>,
        order: &Order,
        transcript: &Transcript,
    ) -> Result<Passed, String> {
        let is_running = order.phase() == Phase::Active;
        match (*self, event) {
            (Self::Unbroken, _) => Ok(Passed::Taken),
            // The client has already seen the run begin.
            (_, EventRef::Whole(Event::RunStarted(_))) if is_running => Ok(Passed::Dropped),
            (Self::Behind, EventRef::Whole(event)) => match event {
                Event::MessagesSnapshot(_) => {
                    *self = Self::Rejoined;
                    Ok(Passed::Synced)
                }
                Event::StateSnapshot(_)
                | Event::ActivitySnapshot(_)
                | Event::RunError(_)
                | Event::Raw(_)
                | Event::Custom(_)
                | Event::Unknown(_) => Ok(Passed::Taken),
                event => Err(too_early(event.kind())),
            },
            (Self::Behind, piece) => Err(too_early(piece.kind())),
            (Self::Rejoined, event) => Ok(joined(event, order, transcript)),
        }
    }
}

fn too_early(kind: &str) -> String {
    format!(
        "it goes on with {kind} before a MESSAGES_SNAPSHOT has said what came while the connection was gone"
    )
}

/// Returns the start events missing around an event of a body that has sent its snapshot.
fn joined(event: EventRef<'_>, order: &Order, transcript: &Transcript) -> Passed {
    let passed = within_subagent(event, order, transcript);
    let subagent = match event {
        EventRef::Whole(event) => event
            .common()
            .and_then(|common| common.subagent_run_id.as_ref()),
        _ => None,
    };
    let Some(unknown) = subagent.filter(|id| order.subagent(id).is_none()) else {
        return passed;
    };
    let start = subagent_start(unknown);
    match passed {
        Passed::Dropped => Passed::Dropped,
        Passed::After(events) => Passed::After(std::iter::once(start).chain(events).collect()),
        _ => Passed::After(vec![start]),
    }
}

fn within_subagent(event: EventRef<'_>, order: &Order, transcript: &Transcript) -> Passed {
    match event {
        EventRef::TextMessageContent { message_id, .. } => {
            opened(text_start(message_id, order, transcript))
        }
        EventRef::ReasoningMessageContent { message_id, .. } => {
            opened(reasoning_start(message_id, order, transcript))
        }
        EventRef::ToolCallArgs { tool_call_id, .. } => {
            opened(call_start(tool_call_id, order, transcript))
        }
        EventRef::Whole(event) => match event {
            Event::TextMessageContent(event) => {
                opened(text_start(&event.message_id, order, transcript))
            }
            Event::ReasoningMessageContent(event) => {
                opened(reasoning_start(&event.message_id, order, transcript))
            }
            Event::ToolCallArgs(event) => {
                opened(call_start(&event.tool_call_id, order, transcript))
            }
            Event::TextMessageStart(event) => once(!order.has_open_message(&event.message_id)),
            Event::ReasoningMessageStart(event) => {
                once(!order.has_open_reasoning_message(&event.message_id))
            }
            Event::ReasoningStart(event) => once(!order.has_open_reasoning_span(&event.message_id)),
            Event::ToolCallStart(event) => once(!order.has_open_call(&event.tool_call_id)),
            Event::TextMessageEnd(event) => {
                once(text_start(&event.message_id, order, transcript).is_none())
            }
            Event::ReasoningMessageEnd(event) => {
                once(reasoning_start(&event.message_id, order, transcript).is_none())
            }
            // A span leaves no trace in a snapshot: its beginning may have been missed.
            Event::ReasoningEnd(event) => once(order.has_open_reasoning_span(&event.message_id)),
            Event::ToolCallEnd(event) => {
                once(call_start(&event.tool_call_id, order, transcript).is_none())
            }
            Event::StepStarted(start) => {
                once(!order.has_open_step(&step(&start.step_name, event.common())))
            }
            Event::StepFinished(finish) => {
                let step = step(&finish.step_name, event.common());
                opened((!order.has_open_step(&step)).then(|| {
                    let start = StepStarted {
                        common: of_subagent(step.subagent_run_id),
                        step_name: step.name,
                    };
                    start.into()
                }))
            }
            Event::SubagentStarted(event) => once(order.subagent(&event.subagent_run_id).is_none()),
            Event::SubagentFinished(event) => subagent_end(&event.subagent_run_id, order),
            Event::SubagentError(event) => subagent_end(&event.subagent_run_id, order),
            Event::RunFinished(_) => Passed::After(ends(order)),
            _ => Passed::Taken,
        },
    }
}

fn once(is_new: bool) -> Passed {
    match is_new {
        true => Passed::Taken,
        false => Passed::Dropped,
    }
}

fn subagent_end(id: &str, order: &Order) -> Passed {
    match order.subagent(id) {
        Some(is_active) => once(is_active),
        None => Passed::After(vec![subagent_start(id)]),
    }
}

/// The beginning of a subagent that was not seen to begin; its name is not known.
fn subagent_start(id: &str) -> Event {
    let start = SubagentStarted {
        subagent_run_id: id.to_owned(),
        name: id.to_owned(),
        ..SubagentStarted::default()
    };
    start.into()
}

fn step(name: &str, common: Option<&Common>) -> OpenStep {
    OpenStep {
        subagent_run_id: common.and_then(|common| common.subagent_run_id.clone()),
        name: name.to_owned(),
    }
}

fn of_subagent(id: Option<String>) -> Option<Box<Common>> {
    let common = |id| Common {
        subagent_run_id: Some(id),
        ..Common::default()
    };
    id.map(|id| Box::new(common(id)))
}

fn opened(start: Option<Event>) -> Passed {
    match start {
        Some(start) => Passed::After(vec![start]),
        None => Passed::Taken,
    }
}

/// The beginning of a message that the snapshot has, and that was not seen to begin.
fn text_start(id: &str, order: &Order, transcript: &Transcript) -> Option<Event> {
    if order.has_open_message(id) {
        return None;
    }
    let role = match transcript.message(id)? {
        Message::Assistant(_) => TextMessageRole::Assistant,
        Message::User(_) => TextMessageRole::User,
        Message::System(_) => TextMessageRole::System,
        Message::Developer(_) => TextMessageRole::Developer,
        _ => return None,
    };
    let start = TextMessageStart {
        message_id: id.into(),
        role: Some(role),
        ..TextMessageStart::default()
    };
    Some(start.into())
}

fn reasoning_start(id: &str, order: &Order, transcript: &Transcript) -> Option<Event> {
    if order.has_open_reasoning_message(id) {
        return None;
    }
    let Message::Reasoning(_) = transcript.message(id)? else {
        return None;
    };
    let start = ReasoningMessageStart {
        message_id: id.into(),
        role: ReasoningRole::Reasoning,
        ..ReasoningMessageStart::default()
    };
    Some(start.into())
}

fn call_start(id: &str, order: &Order, transcript: &Transcript) -> Option<Event> {
    if order.has_open_call(id) {
        return None;
    }
    let (parent, call) = transcript.call_of_history(id)?;
    let start = ToolCallStart {
        tool_call_id: id.into(),
        tool_call_name: call.function.name.clone(),
        parent_message_id: Some(parent.clone()),
        ..ToolCallStart::default()
    };
    Some(start.into())
}

/// Returns the end events of the items that began before the break and ended during it.
fn ends(order: &Order) -> Vec<Event> {
    let open = order.open_items();
    let messages = open.messages.into_iter().map(|message_id| {
        Event::from(TextMessageEnd {
            message_id,
            ..TextMessageEnd::default()
        })
    });
    let calls = open.tool_calls.into_iter().map(|tool_call_id| {
        Event::from(ToolCallEnd {
            tool_call_id,
            ..ToolCallEnd::default()
        })
    });
    let reasoning = open.reasoning_messages.into_iter().map(|message_id| {
        Event::from(ReasoningMessageEnd {
            message_id,
            ..ReasoningMessageEnd::default()
        })
    });
    let spans = open.reasoning_spans.into_iter().map(|message_id| {
        Event::from(ReasoningEnd {
            message_id,
            ..ReasoningEnd::default()
        })
    });
    let steps = open.steps.into_iter().map(|step| {
        Event::from(StepFinished {
            step_name: step.name,
            common: of_subagent(step.subagent_run_id),
        })
    });
    let subagents = open.subagents.into_iter().map(|subagent_run_id| {
        Event::from(SubagentFinished {
            subagent_run_id,
            ..SubagentFinished::default()
        })
    });
    messages
        .chain(calls)
        .chain(reasoning)
        .chain(spans)
        .chain(steps)
        .chain(subagents)
        .collect()
}
