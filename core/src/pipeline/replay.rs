//! Resumes from a backend that sends a run's events again from the first one: the events that were seen are dropped.
//!
//! The backend may split a message into other deltas than before, as backends that merge deltas in their logs do. So
//! deltas are compared by their joined text, and all other events one by one.

use super::passed::Passed;
use crate::event::{Event, EventRef};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The digests of a stream's events, to recognise them again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Replay {
    /// The digests of the events other than deltas, in order.
    whole: Vec<u64>,
    items: Vec<Item>,
    /// The progress of the replay; `None` while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    again: Option<Again>,
}

/// The joined deltas of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Item {
    kind: Kind,
    id: String,
    said: Sum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    Text,
    Reasoning,
    Arguments,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Again {
    whole: usize,
    /// One entry for each of the items.
    items: Vec<Sum>,
}

/// Text, by its length in bytes and its digest: FNV-1a, the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sum {
    length: usize,
    digest: u64,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            length: 0,
            digest: 0xcbf2_9ce4_8422_2325,
        }
    }
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        self.digest = bytes.iter().fold(self.digest, |digest, byte| {
            (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    }
}

impl Replay {
    pub(super) fn reopen(&mut self) {
        self.again = Some(Again {
            whole: 0,
            items: vec![Sum::default(); self.items.len()],
        });
    }

    pub(super) fn is_behind(&self) -> bool {
        self.again.is_some()
    }

    pub(super) fn pass(&mut self, event: EventRef<'_>) -> Result<Passed, String> {
        let (kind, id, delta) = match event {
            EventRef::TextMessageContent { message_id, delta } => (Kind::Text, message_id, delta),
            EventRef::ReasoningMessageContent { message_id, delta } => {
                (Kind::Reasoning, message_id, delta)
            }
            EventRef::ToolCallArgs {
                tool_call_id,
                delta,
            } => (Kind::Arguments, tool_call_id, delta),
            EventRef::Whole(Event::TextMessageContent(event)) => {
                (Kind::Text, event.message_id.as_str(), event.delta.as_str())
            }
            EventRef::Whole(Event::ReasoningMessageContent(event)) => (
                Kind::Reasoning,
                event.message_id.as_str(),
                event.delta.as_str(),
            ),
            EventRef::Whole(Event::ToolCallArgs(event)) => (
                Kind::Arguments,
                event.tool_call_id.as_str(),
                event.delta.as_str(),
            ),
            EventRef::Whole(event) => {
                let passed = match self.check_repeated(event)? {
                    true => Passed::Dropped,
                    false => Passed::Taken,
                };
                self.leave();
                return Ok(passed);
            }
        };
        let was_behind = self.again.is_some();
        let known = self.piece(kind, id, delta)?;
        self.leave();
        Ok(match known {
            0 if !delta.is_empty() || !was_behind => Passed::Taken,
            known if known == delta.len() => Passed::Dropped,
            known => Passed::Rest(Box::new(rest(event, known))),
        })
    }

    /// Ends the replay once all events were repeated.
    fn leave(&mut self) {
        if self.again.is_some() && self.is_caught_up() {
            self.again = None;
        }
    }

    fn item(&mut self, kind: Kind, id: &str) -> usize {
        let is_it = |item: &Item| item.kind == kind && item.id == id;
        // Most deltas belong to the item that began last.
        if let Some(at) = self.items.iter().rposition(is_it) {
            return at;
        }
        self.items.push(Item {
            kind,
            id: id.to_owned(),
            said: Sum::default(),
        });
        if let Some(again) = &mut self.again {
            again.items.push(Sum::default());
        }
        self.items.len() - 1
    }

    /// Returns how many bytes of a delta were received before.
    fn piece(&mut self, kind: Kind, id: &str, delta: &str) -> Result<usize, String> {
        let at = self.item(kind, id);
        let said = &mut self.items[at].said;
        let Some(again) = self
            .again
            .as_mut()
            .and_then(|again| again.items.get_mut(at))
        else {
            said.add(delta.as_bytes());
            return Ok(0);
        };
        let known = delta.len().min(said.length - again.length);
        let differs = || {
            format!("what it says of `{id}` differs from what it said before the stream broke off")
        };
        let (before, new) = delta.split_at_checked(known).ok_or_else(differs)?;
        again.add(before.as_bytes());
        if again.length == said.length {
            if again != said {
                return Err(differs());
            }
            said.add(new.as_bytes());
            *again = *said;
        }
        Ok(known)
    }

    /// Returns whether an event other than a delta repeats the next one of the stream that broke off, and counts it.
    fn check_repeated(&mut self, event: &Event) -> Result<bool, String> {
        let digest = digest(event);
        let Some(again) = &mut self.again else {
            self.whole.push(digest);
            return Ok(false);
        };
        let Some(expected) = self.whole.get(again.whole) else {
            if matches!(event, Event::RunFinished(_) | Event::RunError(_)) && !self.is_caught_up() {
                return Err("the run ends in it before all is said that was said before the stream broke off".to_owned());
            }
            self.whole.push(digest);
            if let Some(again) = &mut self.again {
                again.whole += 1;
            }
            return Ok(false);
        };
        if *expected != digest {
            return Err(format!(
                "its {} is not what came in this place before the stream broke off",
                event.kind()
            ));
        }
        again.whole += 1;
        Ok(true)
    }

    fn is_caught_up(&self) -> bool {
        self.again.as_ref().is_none_or(|again| {
            again.whole == self.whole.len()
                && (self.items.iter().zip(&again.items)).all(|(item, again)| item.said == *again)
        })
    }
}

/// Returns a delta without its first `known` bytes.
fn rest(event: EventRef<'_>, known: usize) -> Event {
    let mut event = event.to_event();
    let delta = match &mut event {
        Event::TextMessageContent(event) => &mut event.delta,
        Event::ReasoningMessageContent(event) => &mut event.delta,
        Event::ToolCallArgs(event) => &mut event.delta,
        _ => return event,
    };
    *delta = delta.split_off(known);
    event
}

/// Returns the digest of an event without its timestamp and its raw event.
fn digest(event: &Event) -> u64 {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.shift_remove("timestamp");
        fields.shift_remove("rawEvent");
    }
    let mut sum = Sum::default();
    sum.add(value.to_string().as_bytes());
    sum.digest
}
