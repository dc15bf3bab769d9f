//! Halves of surrogate pairs within a decoder.
//!
//! A server that cuts text by UTF-16 units, as JavaScript does, may cut an emoji in two: one delta ends with `\ud83d`,
//! and the next begins with `\ude00`. No Rust string can hold a half. So within a decoder a half is written as a marker
//! and a character that represents the half, and is handled like other text. When events leave the decoder, two halves
//! that meet become their character, also across two deltas of one message or call. Any other half becomes U+FFFD.

use super::Sink;
use crate::event::{
    Event, EventRef, ReasoningMessageContent, TextMessageContent, ToolCallArgs, Violation,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The marker: a noncharacter, which Unicode reserves for internal use.
const MARK: char = '\u{ffff}';

/// The first of the characters after the marker, one for each half.
const FIRST: u32 = 0xe000;

const HIGH: std::ops::Range<u16> = 0xd800..0xdc00;
const LOW: std::ops::Range<u16> = 0xdc00..0xe000;

/// Returns whether a code unit is the first half of a pair.
pub(super) fn is_high(unit: u16) -> bool {
    HIGH.contains(&unit)
}

/// Returns whether a code unit is the second half of a pair.
pub(super) fn is_low(unit: u16) -> bool {
    LOW.contains(&unit)
}

/// Returns a half as it is written within a decoder, or `None` if the unit is not a half.
pub(super) fn written(unit: u16) -> Option<String> {
    let place = unit.checked_sub(HIGH.start).filter(|_| unit < LOW.end)?;
    let which = char::from_u32(FIRST + u32::from(place))?;
    Some([MARK, which].into_iter().collect())
}

/// The first byte of the marker in UTF-8, which is rare in text.
const MARK_START: u8 = 0xef;

/// Returns whether a text may hold a half.
#[inline]
pub(super) fn are_in(text: &str) -> bool {
    // Each delta comes here, and is short: one byte is found faster than a sequence of three.
    text.as_bytes().contains(&MARK_START) && text.contains(MARK)
}

/// Returns the half for the character after a marker.
fn unit(which: char) -> Option<u16> {
    let place = u32::from(which).checked_sub(FIRST)?;
    let unit = u16::try_from(place).ok()?.checked_add(HIGH.start)?;
    (unit < LOW.end).then_some(unit)
}

/// Joins halves in a text that follows a pending first half. Also returns the first half that the text ends with.
fn joined(before: Option<u16>, text: &str) -> (String, Option<u16>) {
    let mut out = String::with_capacity(text.len());
    let mut high = before;
    let mut rest = text.chars();
    while let Some(first) = rest.next() {
        let half = match first {
            MARK => rest.clone().next().and_then(unit),
            _ => None,
        };
        if half.is_some() {
            rest.next();
        }
        match (high.take(), half) {
            (Some(high), Some(low)) if is_low(low) => {
                out.extend(char::decode_utf16([high, low]).flatten());
            }
            (before, half) => {
                out.extend(before.map(|_| char::REPLACEMENT_CHARACTER));
                match half {
                    Some(unit) if is_high(unit) => high = Some(unit),
                    Some(_) => out.push(char::REPLACEMENT_CHARACTER),
                    None => out.push(first),
                }
            }
        }
    }
    (out, high)
}

/// Joins the halves in a text that is complete.
pub(super) fn settled(text: &str) -> Cow<'_, str> {
    if !are_in(text) {
        return text.into();
    }
    let (mut settled, high) = joined(None, text);
    settled.extend(high.map(|_| char::REPLACEMENT_CHARACTER));
    settled.into()
}

/// Joins the halves in an event.
fn settled_event(event: &Event) -> Option<Event> {
    let text = serde_json::to_string(event).ok()?;
    let settled = settled(&text);
    match settled {
        Cow::Borrowed(_) => None,
        Cow::Owned(settled) => serde_json::from_str(&settled).ok(),
    }
}

/// The pending first halves at the ends of a stream's deltas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Halves(Vec<Half>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Half {
    kind: DeltaKind,
    id: String,
    unit: u16,
}

/// The kind of a delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DeltaKind {
    Text,
    Reasoning,
    Arguments,
}

impl DeltaKind {
    fn event<'a>(self, id: &'a str, delta: &'a str) -> EventRef<'a> {
        match self {
            Self::Text => EventRef::TextMessageContent {
                message_id: id,
                delta,
            },
            Self::Reasoning => EventRef::ReasoningMessageContent {
                message_id: id,
                delta,
            },
            Self::Arguments => EventRef::ToolCallArgs {
                tool_call_id: id,
                delta,
            },
        }
    }
}

/// A sink that joins halves before it passes events on.
pub(super) struct Joining<'a> {
    pub(super) halves: &'a mut Halves,
    pub(super) sink: &'a mut dyn Sink,
}

impl Joining<'_> {
    /// Ends the stream, and emits U+FFFD for each half that is still pending.
    pub(super) fn end(&mut self) -> Result<(), Violation> {
        self.flush(|_| true)
    }

    fn flush(&mut self, is_over: impl Fn(&Half) -> bool) -> Result<(), Violation> {
        let over: Vec<_> = self.halves.0.extract_if(.., |half| is_over(half)).collect();
        for half in over {
            let replaced = char::REPLACEMENT_CHARACTER.to_string();
            self.sink.event(half.kind.event(&half.id, &replaced))?;
        }
        Ok(())
    }

    /// Returns the text of a delta with the half that was pending before it; `None` if the delta is only a pending
    /// half.
    fn delta<'t>(&mut self, kind: DeltaKind, id: &str, delta: &'t str) -> Option<Cow<'t, str>> {
        let waiting = |half: &Half| half.kind == kind && half.id == id;
        let at = self.halves.0.iter().position(waiting);
        let before = at.map(|at| self.halves.0.remove(at).unit);
        if before.is_none() && !are_in(delta) {
            return Some(delta.into());
        }
        let (text, high) = joined(before, delta);
        if let Some(unit) = high {
            let id = id.to_owned();
            self.halves.0.push(Half { kind, id, unit });
        }
        (!text.is_empty()).then_some(text.into())
    }

    fn short(&mut self, kind: DeltaKind, id: &str, delta: &str) -> Result<(), Violation> {
        let id = settled(id);
        match self.delta(kind, &id, delta) {
            Some(text) => self.sink.event(kind.event(&id, &text)),
            None => Ok(()),
        }
    }
}

impl Sink for Joining<'_> {
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        let event = match event {
            EventRef::TextMessageContent { message_id, delta } => {
                return self.short(DeltaKind::Text, message_id, delta);
            }
            EventRef::ReasoningMessageContent { message_id, delta } => {
                return self.short(DeltaKind::Reasoning, message_id, delta);
            }
            EventRef::ToolCallArgs {
                tool_call_id,
                delta,
            } => return self.short(DeltaKind::Arguments, tool_call_id, delta),
            EventRef::Whole(event) => event,
        };
        let mut whole = Cow::Borrowed(event);
        // A delta with more than its text.
        let delta = match event {
            Event::TextMessageContent(event) => {
                Some((DeltaKind::Text, &*event.message_id, &event.delta))
            }
            Event::ReasoningMessageContent(event) => {
                Some((DeltaKind::Reasoning, &*event.message_id, &event.delta))
            }
            Event::ToolCallArgs(event) => {
                Some((DeltaKind::Arguments, &*event.tool_call_id, &event.delta))
            }
            _ => None,
        };
        if let Some((kind, id, delta)) = delta {
            let Some(text) = self.delta(kind, &settled(id), delta) else {
                return Ok(());
            };
            match whole.to_mut() {
                Event::TextMessageContent(TextMessageContent { delta, .. })
                | Event::ReasoningMessageContent(ReasoningMessageContent { delta, .. })
                | Event::ToolCallArgs(ToolCallArgs { delta, .. }) => *delta = text.into_owned(),
                _ => {}
            }
        }
        let over = match event {
            Event::TextMessageEnd(end) => Some((DeltaKind::Text, &*end.message_id)),
            Event::ReasoningMessageEnd(end) => Some((DeltaKind::Reasoning, &*end.message_id)),
            Event::ToolCallEnd(end) => Some((DeltaKind::Arguments, &*end.tool_call_id)),
            _ => None,
        };
        if let Some((kind, id)) = over {
            let id = settled(id);
            self.flush(|half| half.kind == kind && half.id == id)?;
        }
        if let Event::RunFinished(_) | Event::RunError(_) = event {
            self.flush(|_| true)?;
        }
        let settled = settled_event(&whole);
        self.sink
            .event(EventRef::Whole(settled.as_ref().unwrap_or(&whole)))
    }

    fn warning(&mut self, message: &str) {
        self.sink.warning(&settled(message));
    }

    fn is_whole(&self, tool_call_id: &str) -> bool {
        self.sink.is_whole(tool_call_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The code units as a text within a decoder has them.
    fn text(units: &[u16]) -> String {
        let chars = char::decode_utf16(units.iter().copied()).map(|read| match read {
            Ok(char) => char.to_string(),
            Err(lone) => written(lone.unpaired_surrogate()).expect("a half"),
        });
        chars.collect()
    }

    fn units() -> impl Strategy<Value = Vec<u16>> {
        let unit = prop_oneof![
            Just(0x61),
            Just(0xd83d),
            Just(0xde00),
            0xd7fe..0xe000_u16,
            Just(0xffff)
        ];
        prop::collection::vec(unit, 0..8)
    }

    proptest! {
        /// However the units are cut, the text is the same.
        #[test]
        fn pieces_join_to_the_whole(units in units(), at in any::<prop::sample::Index>()) {
            let (first, second) = units.split_at(at.index(units.len() + 1));
            let (mut all, high) = joined(None, &text(first));
            let (rest, last) = joined(high, &text(second));
            all.push_str(&rest);
            all.extend(last.map(|_| char::REPLACEMENT_CHARACTER));
            prop_assert_eq!(&all, &String::from_utf16_lossy(&units));
            let whole = text(&units);
            prop_assert_eq!(settled(&whole), all);
        }
    }
}
