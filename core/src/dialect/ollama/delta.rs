//! The lines that come by the thousand, read with the cursor: one piece of text or of thinking. What is read here must
//! be what [`line`](super::line) reads.

use super::super::cursor::{Changing, Cursor, Miss, Plain, RawText, Seen};

/// What a plain line brings a piece of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Content,
    Thinking,
}

/// The piece of a line, once it was found.
#[derive(Default)]
pub(super) struct Delta<'a>(Option<(Kind, RawText<'a>)>);

impl<'a> Delta<'a> {
    /// Reads a line of a stream that has begun.
    ///
    /// # Errors
    /// It is not one of the plain ones.
    pub(super) fn read(data: &'a [u8], model_known: bool) -> Result<Plain<'a, Kind>, Miss> {
        let mut delta = Self::default();
        let mut changing = Changing::default();
        // What has no message may be an error that is not this dialect's.
        let mut is_part = false;
        let mut cursor = Cursor::new(data);
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"message" => {
                seen.once(0)?;
                is_part = true;
                delta.message(cursor)
            }
            b"done" => {
                seen.once(1)?;
                must(cursor.peek()? == b'f')?;
                cursor.skip()
            }
            b"model" => {
                seen.once(2)?;
                must(model_known)?;
                cursor.skip()
            }
            b"error" => {
                seen.once(3)?;
                cursor.null()
            }
            // Their values are read at the end alone, but a key that comes twice is one too many.
            b"done_reason" => {
                seen.once(4)?;
                cursor.skip()
            }
            b"prompt_eval_count" => {
                seen.once(5)?;
                cursor.skip()
            }
            b"eval_count" => {
                seen.once(6)?;
                cursor.skip()
            }
            b"created_at" => cursor.skip_changing(&mut changing),
            _ => cursor.skip(),
        })?;
        cursor.end()?;
        must(is_part)?;
        Ok(Plain {
            piece: delta.0,
            changing,
        })
    }

    fn message(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Miss> {
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"content" => {
                seen.once(0)?;
                let text = cursor.text_or_null()?;
                self.put(text, Kind::Content)
            }
            b"thinking" => {
                seen.once(1)?;
                let text = cursor.text_or_null()?;
                self.put(text, Kind::Thinking)
            }
            b"tool_calls" => {
                seen.once(2)?;
                cursor.null()
            }
            _ => cursor.skip(),
        })
    }

    /// Takes a piece, the only one of its line: two of them have an order, which is the other reader's to know.
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

fn must(fits: bool) -> Result<(), Miss> {
    if fits { Ok(()) } else { Err(Miss) }
}
