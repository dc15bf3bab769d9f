//! The frames that come by the thousand, read with the cursor: one piece of text, of thinking, of the tool plan or of
//! a call's arguments. What is read here must be what [`frame`](super::frame) reads.

use super::super::cursor::{Changing, Cursor, Miss, Plain, RawText, Seen};

/// What a plain frame brings a piece of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Thinking,
    ToolPlan,
    /// The arguments of the call with this index.
    Arguments(u64),
}

/// The fields that a delta may hold, whatever its type is: the type may come last.
#[derive(Debug, Default)]
struct Fields<'a> {
    kind: Option<RawText<'a>>,
    index: Option<u64>,
    text: Option<RawText<'a>>,
    thinking: Option<RawText<'a>>,
    tool_plan: Option<RawText<'a>>,
    arguments: Option<RawText<'a>>,
}

/// Reads a frame.
///
/// # Errors
/// It is not one of the plain ones.
pub(super) fn read(data: &[u8]) -> Result<Plain<'_, Kind>, Miss> {
    let fields = Fields::read(data)?;
    Ok(Plain {
        piece: fields.piece()?,
        changing: Changing::default(),
    })
}

impl<'a> Fields<'a> {
    fn piece(&self) -> Result<Option<(Kind, RawText<'a>)>, Miss> {
        let is = |kind: &str| self.kind.and_then(|text| text.is(kind)) == Some(true);
        let pieces = [self.text, self.thinking, self.tool_plan, self.arguments];
        // Two pieces of a frame have an order, which is the other reader's to know.
        if pieces.iter().flatten().count() > 1 {
            return Err(Miss);
        }
        if is("content-delta") {
            let text = self.text.map(|text| (Kind::Text, text));
            return Ok(text.or(self.thinking.map(|text| (Kind::Thinking, text))));
        }
        if is("tool-plan-delta") {
            return Ok(self.tool_plan.map(|text| (Kind::ToolPlan, text)));
        }
        if is("tool-call-delta") {
            let index = self.index.ok_or(Miss)?;
            let arguments = self.arguments.ok_or(Miss)?;
            return Ok(Some((Kind::Arguments(index), arguments)));
        }
        Err(Miss)
    }

    fn read(data: &'a [u8]) -> Result<Self, Miss> {
        let mut fields = Self::default();
        let mut cursor = Cursor::new(data);
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"type" => {
                seen.once(0)?;
                fields.kind = Some(cursor.text()?);
                Ok(())
            }
            b"index" => {
                seen.once(1)?;
                fields.index = Some(cursor.count()?);
                Ok(())
            }
            b"delta" => {
                seen.once(2)?;
                fields.delta(cursor)
            }
            b"message" => {
                seen.once(3)?;
                cursor.skip()
            }
            _ => cursor.skip(),
        })?;
        cursor.end()?;
        Ok(fields)
    }

    fn delta(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Miss> {
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"message" => {
                seen.once(0)?;
                self.message(cursor)
            }
            b"finish_reason" | b"usage" | b"error" | b"error_type" => Err(Miss),
            _ => cursor.skip(),
        })
    }

    fn message(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Miss> {
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"content" => {
                seen.once(0)?;
                let mut seen = Seen::default();
                cursor.object(|cursor, key| match key {
                    b"text" => {
                        seen.once(0)?;
                        self.text = piece(cursor)?;
                        Ok(())
                    }
                    b"thinking" => {
                        seen.once(1)?;
                        self.thinking = piece(cursor)?;
                        Ok(())
                    }
                    _ => cursor.skip(),
                })
            }
            b"tool_plan" => {
                seen.once(1)?;
                self.tool_plan = piece(cursor)?;
                Ok(())
            }
            b"tool_calls" => {
                seen.once(2)?;
                self.call(cursor)
            }
            b"citations" => Err(Miss),
            _ => cursor.skip(),
        })
    }

    fn call(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Miss> {
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"function" => {
                seen.once(0)?;
                let mut seen = Seen::default();
                cursor.object(|cursor, key| match key {
                    b"arguments" => {
                        seen.once(0)?;
                        self.arguments = piece(cursor)?;
                        Ok(())
                    }
                    b"name" => Err(Miss),
                    _ => cursor.skip(),
                })
            }
            b"id" => {
                seen.once(1)?;
                cursor.skip()
            }
            _ => cursor.skip(),
        })
    }
}

/// A string that is not empty. `null` is absent too.
fn piece<'a>(cursor: &mut Cursor<'a>) -> Result<Option<RawText<'a>>, Miss> {
    Ok(cursor.text_or_null()?.filter(|text| !text.is_empty()))
}
