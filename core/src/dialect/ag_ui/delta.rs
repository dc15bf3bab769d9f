//! The deltas, read without building anything.

use crate::dialect::cursor::{Cursor, Miss, Seen};
use crate::event::{EventRef, ReasoningMessageContent, TextMessageContent, ToolCallArgs};

/// Room for the texts of one frame. Nothing that can be seen depends on what it holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// The id of the last delta: most deltas have it too, and are spared the check of its bytes.
    id: String,
    delta: String,
}

impl PartialEq for Scratch {
    fn eq(&self, _other: &Self) -> bool {
        true
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
    if id.is(&scratch.id) != Some(true) {
        // The delta's room is free until then.
        let text = id.unescape(&mut scratch.delta)?;
        scratch.id.clear();
        scratch.id.push_str(text);
    }
    let id = scratch.id.as_str();
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
