//! The deltas, read without building anything.

use crate::dialect::cursor::{Changing, Cursor, Miss, RawText, Seen, Templates};
use crate::event::{EventRef, ReasoningMessageContent, TextMessageContent, ToolCallArgs};

/// Reads the frames that are one delta and nothing besides. Nothing that can be seen depends on what it holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Deltas {
    templates: Templates<Delta>,
    /// The id of the last delta that fitted no template: the next one that does not often has it too.
    id: String,
    text: String,
}

/// What a delta is of.
#[derive(Debug)]
struct Delta {
    kind: Kind,
    id: String,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Reasoning,
    Arguments,
}

impl PartialEq for Deltas {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Deltas {
    /// Reads a frame that is one delta and nothing besides.
    ///
    /// # Errors
    /// It is something else; the long way decides what.
    #[inline]
    pub(super) fn read<'a>(&'a mut self, frame: &'a [u8]) -> Result<EventRef<'a>, Miss> {
        if let Some((at, text)) = self.templates.find(frame) {
            let delta = self.templates.meaning(at).ok_or(Miss)?;
            return Ok(delta.kind.event(&delta.id, text.unescape(&mut self.text)?));
        }
        let (kind, id, text) = read(frame)?;
        if id.is(&self.id) != Some(true) {
            // The text's room is free until then.
            let id = id.unescape(&mut self.text)?;
            self.id.clear();
            self.id.push_str(id);
        }
        self.templates
            .learn(frame, text, Changing::default(), || Delta {
                kind,
                id: self.id.clone(),
            });
        Ok(kind.event(&self.id, text.unescape(&mut self.text)?))
    }
}

impl Kind {
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

/// What a delta is of, its id and its text.
fn read(frame: &[u8]) -> Result<(Kind, RawText<'_>, RawText<'_>), Miss> {
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
    let name = kind.ok_or(Miss)?;
    let is = |kind| name.is(kind) == Some(true);
    let kind = if is(TextMessageContent::KIND) {
        Kind::Text
    } else if is(ToolCallArgs::KIND) {
        Kind::Arguments
    } else if is(ReasoningMessageContent::KIND) {
        Kind::Reasoning
    } else {
        return Err(Miss);
    };
    let (id, other) = match kind {
        Kind::Arguments => (tool_call_id, message_id),
        Kind::Text | Kind::Reasoning => (message_id, tool_call_id),
    };
    match (id, other, delta) {
        (Some(id), None, Some(delta)) => Ok((kind, id, delta)),
        _ => Err(Miss),
    }
}
