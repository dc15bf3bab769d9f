//! Calls that an AG-UI agent announces again: after a question was answered, when a client connects again, over a second
//! transport. The call is the one that is known: it is not run again, and its arguments stay what they are.

use crate::event::{Custom, Event, EventRef, REPLACED, ToolCallStart};
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The calls of a run that are announced again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Announced(Vec<Again>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Again {
    id: String,
    known: Known,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Known {
    /// The call has its result.
    Answered,
    /// The call has arguments, of which the first `repeated` bytes were sent again.
    Open { repeated: usize },
}

/// The verdict on an event.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Heard {
    /// The event is new.
    New,
    /// The event repeats an earlier one.
    Before,
    /// The arguments differ from the known ones; the event holds those that now count.
    Other(Box<Event>),
}

impl Announced {
    /// Returns whether no call is announced again, so that any delta of arguments is new.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&mut self, id: &str) -> Option<usize> {
        self.0.iter().position(|again| again.id == id)
    }

    /// Judges an event that is in order.
    pub(super) fn hear(&mut self, event: EventRef<'_>, transcript: &Transcript) -> Heard {
        let event = match event {
            EventRef::ToolCallArgs {
                tool_call_id,
                delta,
            } => return self.arguments(tool_call_id, delta, transcript),
            EventRef::Whole(event) => event,
            _ => return Heard::New,
        };
        match event {
            Event::RunStarted(_) => self.0.clear(),
            Event::ToolCallStart(start) => return self.start(start, transcript),
            Event::ToolCallArgs(args) => {
                return self.arguments(&args.tool_call_id, &args.delta, transcript);
            }
            Event::ToolCallEnd(end) => {
                let at = self.find(&end.tool_call_id);
                match at.map(|at| self.0[at].known) {
                    Some(Known::Answered) => return Heard::Before,
                    Some(Known::Open { .. }) => {
                        self.0.retain(|again| end.tool_call_id != again.id.as_str());
                    }
                    None => {}
                }
            }
            Event::ToolCallResult(result) => {
                let id = result.tool_call_id.as_str();
                let is_again = self
                    .find(id)
                    .is_some_and(|at| self.0[at].known == Known::Answered);
                let is_of_hop = transcript.call_by_id(id).is_some();
                if is_again || (!is_of_hop && transcript.is_answered(id)) {
                    return Heard::Before;
                }
            }
            _ => {}
        }
        Heard::New
    }

    fn start(&mut self, start: &ToolCallStart, transcript: &Transcript) -> Heard {
        let id = start.tool_call_id.as_str();
        if let Some(at) = self.find(id) {
            self.0.remove(at);
        }
        let Some((owner, call)) = transcript.call_of_history(id) else {
            return Heard::New;
        };
        let parent = start.parent_message_id.as_ref();
        if call.function.name != start.tool_call_name
            || parent.is_some_and(|parent| parent != owner)
        {
            // The agent uses an id again for another call.
            return Heard::New;
        }
        let is_answered = transcript.is_answered(id);
        if !is_answered && !is_complete(&call.function.arguments) {
            return Heard::New;
        }
        let (known, heard) = if is_answered {
            (Known::Answered, Heard::Before)
        } else {
            (Known::Open { repeated: 0 }, Heard::New)
        };
        self.0.push(Again {
            id: id.to_owned(),
            known,
        });
        heard
    }

    fn arguments(&mut self, id: &str, delta: &str, transcript: &Transcript) -> Heard {
        let Some(at) = self.find(id) else {
            return Heard::New;
        };
        let Known::Open { repeated } = &mut self.0[at].known else {
            return Heard::Before;
        };
        let Some((_, call)) = transcript.call_of_history(id) else {
            return Heard::New;
        };
        let known = &call.function.arguments;
        let rest = known.get(*repeated..).unwrap_or_default();
        if rest.starts_with(delta) {
            *repeated += delta.len();
            return Heard::Before;
        }
        let behind = delta.strip_prefix(rest);
        if behind.is_some_and(|behind| behind.trim_ascii().is_empty()) {
            *repeated = known.len();
            return Heard::Before;
        }
        let arguments = format!("{}{delta}", &known[..known.len() - rest.len()]);
        self.0.remove(at);
        Heard::Other(Box::new(
            Custom {
                name: REPLACED.to_owned(),
                value: json!({"toolCallId": id, "arguments": arguments}),
                common: None,
            }
            .into(),
        ))
    }
}

/// Returns whether only white space can follow these arguments.
fn is_complete(arguments: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}
