//! The deltas, read without building anything.

use crate::dialect::cursor::{Cursor, Miss, Seen};
use crate::event::{EventRef, ReasoningMessageContent, TextMessageContent, ToolCallArgs};

/// Room for the texts that hold escapes; empty between frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scratch {
    id: String,
    delta: String,
}

impl Scratch {
    pub(super) fn clear(&mut self) {
        self.id.clear();
        self.delta.clear();
    }
}

/// Reads a frame that is one delta and nothing besides.
///
/// # Errors
/// It is something else; the long way decides what.
#[inline]
pub(super) fn read<'a>(frame: &'a [u8], scratch: &'a mut Scratch) -> Result<EventRef<'a>, Miss> {
    let (mut kind, mut message_id, mut tool_call_id, mut delta) = (None, None, None, None);
    let mut seen = Seen::default();
    let mut cursor = Cursor::new(frame);
    cursor.object(|value, key| {
        let (field, bit) = match key {
            b"type" => (&mut kind, 0),
            b"messageId" => (&mut message_id, 1),
            b"toolCallId" => (&mut tool_call_id, 2),
            b"delta" => (&mut delta, 3),
            _ => return Err(Miss),
        };
        seen.once(bit)?;
        *field = Some(value.text()?);
        Ok(())
    })?;
    cursor.end()?;
    let kind = kind.ok_or(Miss)?;
    let is = |name| kind.is(name) == Some(true);
    let (id, other) = if is(ToolCallArgs::KIND) {
        (tool_call_id, message_id)
    } else {
        (message_id, tool_call_id)
    };
    let (Some(id), None, Some(delta)) = (id, other, delta) else {
        return Err(Miss);
    };
    let id = id.unescape(&mut scratch.id)?;
    let delta = delta.unescape(&mut scratch.delta)?;
    if is(TextMessageContent::KIND) {
        Ok(EventRef::TextMessageContent {
            message_id: id,
            delta,
        })
    } else if is(ToolCallArgs::KIND) {
        Ok(EventRef::ToolCallArgs {
            tool_call_id: id,
            delta,
        })
    } else if is(ReasoningMessageContent::KIND) {
        Ok(EventRef::ReasoningMessageContent {
            message_id: id,
            delta,
        })
    } else {
        Err(Miss)
    }
}
