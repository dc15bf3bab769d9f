//! The frames that come by the thousand, read with the cursor: one piece of text, of reasoning or of a call's
//! arguments. What is read here must be what [`chunk`](super::chunk) reads.

use super::super::cursor::{Changing, Cursor, Miss, Plain, RawText, Seen};
use super::calls::Calls;
use super::reasoning::Field;

/// What a plain frame brings a piece of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Content,
    Reasoning(Field),
    /// The arguments of the call in this slot.
    Arguments(usize),
}

/// The piece of a frame, once it was found.
#[derive(Default)]
pub(super) struct Delta<'a>(Option<(Kind, RawText<'a>)>);

impl<'a> Delta<'a> {
    /// Reads a frame of a stream that has begun.
    ///
    /// # Errors
    /// It is not one of the plain ones.
    pub(super) fn read(
        data: &'a [u8],
        calls: &Calls,
        model_known: bool,
    ) -> Result<Plain<'a, Kind>, Miss> {
        let mut delta = Self::default();
        let mut changing = Changing::default();
        // What has no choice may be an error that is not this dialect's.
        let mut is_chunk = false;
        let mut cursor = Cursor::new(data);
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"choices" => {
                seen.once(0)?;
                if cursor.peek()? == b'n' {
                    return cursor.null();
                }
                let mut choices = Seen::default();
                cursor.array(|cursor| {
                    choices.once(0)?;
                    is_chunk = true;
                    delta.choice(cursor, calls)
                })
            }
            b"model" => {
                seen.once(1)?;
                if model_known {
                    return cursor.skip();
                }
                empty(cursor.text_or_null()?)
            }
            b"object" => {
                seen.once(2)?;
                if cursor.peek()? != b'"' {
                    return cursor.skip();
                }
                must(cursor.text()?.is("error") == Some(false))
            }
            b"usage" => {
                seen.once(3)?;
                cursor.null()
            }
            b"error" => {
                seen.once(4)?;
                cursor.null()
            }
            b"x_groq" => {
                seen.once(5)?;
                cursor.null()
            }
            b"obfuscation" | b"created" => cursor.skip_changing(&mut changing),
            _ => cursor.skip(),
        })?;
        cursor.end()?;
        must(is_chunk)?;
        Ok(Plain {
            piece: delta.0,
            changing,
        })
    }

    fn choice(&mut self, cursor: &mut Cursor<'a>, calls: &Calls) -> Result<(), Miss> {
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"delta" => {
                seen.once(0)?;
                if cursor.peek()? == b'n' {
                    return cursor.null();
                }
                self.delta(cursor, calls)
            }
            b"finish_reason" => {
                seen.once(1)?;
                cursor.null()
            }
            b"index" => {
                seen.once(2)?;
                if cursor.peek()? == b'n' {
                    return cursor.null();
                }
                must(cursor.count()? == 0)
            }
            _ => cursor.skip(),
        })
    }

    fn delta(&mut self, cursor: &mut Cursor<'a>, calls: &Calls) -> Result<(), Miss> {
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"content" => {
                seen.once(0)?;
                if cursor.peek()? == b'[' {
                    let mut parts = Seen::default();
                    return cursor.array(|cursor| {
                        parts.once(0)?;
                        self.part(cursor)
                    });
                }
                let text = cursor.text_or_null()?;
                self.put(text, Kind::Content)
            }
            b"tool_calls" => {
                seen.once(1)?;
                if cursor.peek()? == b'n' {
                    return cursor.null();
                }
                let mut fragments = Seen::default();
                cursor.array(|cursor| {
                    fragments.once(0)?;
                    self.fragment(cursor, calls)
                })
            }
            b"reasoning_content" => {
                seen.once(2)?;
                let text = cursor.text_or_null()?;
                self.put(text, Kind::Reasoning(Field::ReasoningContent))
            }
            b"reasoning" => {
                seen.once(3)?;
                let text = cursor.text_or_null()?;
                self.put(text, Kind::Reasoning(Field::Reasoning))
            }
            b"refusal" => {
                seen.once(4)?;
                empty(cursor.text_or_null()?)
            }
            b"reasoning_details" => {
                seen.once(5)?;
                empty_list(cursor)
            }
            b"annotations" => {
                seen.once(6)?;
                empty_list(cursor)
            }
            _ => cursor.skip(),
        })
    }

    /// A part of a content array, as Mistral's reasoning models send them.
    fn part(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Miss> {
        let mut kind = None;
        let mut text = None;
        let mut thinking = None;
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"type" => {
                seen.once(0)?;
                kind = Some(cursor.text()?);
                Ok(())
            }
            b"text" => {
                seen.once(1)?;
                text = cursor.text_or_null()?;
                Ok(())
            }
            b"thinking" => {
                seen.once(2)?;
                let mut thoughts = Seen::default();
                cursor.array(|cursor| {
                    thoughts.once(0)?;
                    thinking = thought(cursor)?;
                    Ok(())
                })
            }
            _ => cursor.skip(),
        })?;
        let kind = kind.ok_or(Miss)?;
        if kind.is("text") == Some(true) {
            return self.put(text, Kind::Content);
        }
        must(kind.is("thinking") == Some(true))?;
        self.put(thinking, Kind::Reasoning(Field::Content))
    }

    fn fragment(&mut self, cursor: &mut Cursor<'a>, calls: &Calls) -> Result<(), Miss> {
        let mut index = None;
        let mut id = None;
        let mut arguments = None;
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"index" => {
                seen.once(0)?;
                index = Some(cursor.count()?);
                Ok(())
            }
            b"id" => {
                seen.once(1)?;
                id = cursor.text_or_null()?;
                Ok(())
            }
            b"function" => {
                seen.once(2)?;
                let mut seen = Seen::default();
                cursor.object(|cursor, key| match key {
                    b"arguments" => {
                        seen.once(0)?;
                        arguments = cursor.text_or_null()?;
                        Ok(())
                    }
                    b"name" => {
                        seen.once(1)?;
                        match cursor.text_or_null()? {
                            Some(name) if name.is_escaped() => Err(Miss),
                            _ => Ok(()),
                        }
                    }
                    _ => cursor.skip(),
                })
            }
            _ => cursor.skip(),
        })?;
        let (slot, known_id) = index.and_then(|index| calls.begun(index)).ok_or(Miss)?;
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            must(known_id.and_then(|known| id.is(known)) == Some(true))?;
        }
        self.put(arguments, Kind::Arguments(slot))
    }

    /// Takes a piece, the only one of its frame: two of them have an order, which is the other reader's to know.
    fn put(&mut self, text: Option<RawText<'a>>, kind: Kind) -> Result<(), Miss> {
        match text.filter(|text| !text.is_empty()) {
            None => Ok(()),
            Some(text) => {
                must(self.0.is_none())?;
                self.0 = Some((kind, text));
                Ok(())
            }
        }
    }
}

/// The text of a piece of thinking.
fn thought<'a>(cursor: &mut Cursor<'a>) -> Result<Option<RawText<'a>>, Miss> {
    let mut text = None;
    let mut seen = Seen::default();
    cursor.object(|cursor, key| match key {
        b"text" => {
            seen.once(0)?;
            text = cursor.text_or_null()?;
            Ok(())
        }
        b"type" => {
            seen.once(1)?;
            cursor.skip()
        }
        b"thinking" => Err(Miss),
        _ => cursor.skip(),
    })?;
    Ok(text)
}

fn must(fits: bool) -> Result<(), Miss> {
    if fits { Ok(()) } else { Err(Miss) }
}

fn empty_list(cursor: &mut Cursor<'_>) -> Result<(), Miss> {
    if cursor.peek()? == b'n' {
        return cursor.null();
    }
    cursor.array(|_| Err(Miss))
}

fn empty(text: Option<RawText<'_>>) -> Result<(), Miss> {
    must(text.is_none_or(RawText::is_empty))
}
