//! The frames that come by the thousand, read with the cursor: a piece of text, of thinking or of a tool's input. What
//! is read here must be what [`event`](super::event) reads.

use super::super::cursor::{Changing, Cursor, Miss, Plain, RawText, Seen};

/// What a plain frame brings a piece of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Thinking,
    /// The input of the tool in the block with this index.
    Input(u64),
}

/// Reads a frame.
///
/// # Errors
/// It is not one of the plain ones.
pub(super) fn read(data: &[u8]) -> Result<Plain<'_, Kind>, Miss> {
    let mut is_delta = false;
    let mut index = None;
    let mut piece = None;
    let mut cursor = Cursor::new(data);
    let mut seen = Seen::default();
    cursor.object(|cursor, key| match key {
        b"type" => {
            seen.once(0)?;
            is_delta = cursor.text()?.is("content_block_delta") == Some(true);
            if is_delta { Ok(()) } else { Err(Miss) }
        }
        b"index" => {
            seen.once(1)?;
            index = Some(cursor.count()?);
            Ok(())
        }
        b"delta" => {
            seen.once(2)?;
            piece = Some(Piece::read(cursor)?);
            Ok(())
        }
        // What other events have; here it may come twice for all the cursor sees.
        b"message" | b"content_block" | b"usage" | b"error" => Err(Miss),
        _ => cursor.skip(),
    })?;
    cursor.end()?;
    let (true, Some(index), Some(piece)) = (is_delta, index, piece) else {
        return Err(Miss);
    };
    Ok(Plain {
        piece: Some(match piece {
            Piece::Text(text) => (Kind::Text, text),
            Piece::Thinking(text) => (Kind::Thinking, text),
            Piece::Input(text) => (Kind::Input(index), text),
        }),
        changing: Changing::default(),
    })
}

#[derive(Clone, Copy)]
enum Piece<'a> {
    Text(RawText<'a>),
    Thinking(RawText<'a>),
    Input(RawText<'a>),
}

impl<'a> Piece<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Miss> {
        let mut kind = None;
        let mut text = None;
        let mut thinking = None;
        let mut input = None;
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"type" => {
                seen.once(0)?;
                kind = Some(cursor.text()?);
                Ok(())
            }
            b"text" => {
                seen.once(1)?;
                text = Some(cursor.text()?);
                Ok(())
            }
            b"thinking" => {
                seen.once(2)?;
                thinking = Some(cursor.text()?);
                Ok(())
            }
            b"partial_json" => {
                seen.once(3)?;
                input = Some(cursor.text()?);
                Ok(())
            }
            b"signature" | b"citation" | b"stop_reason" | b"stop_details" => Err(Miss),
            _ => cursor.skip(),
        })?;
        let kind = kind.ok_or(Miss)?;
        if kind.is("text_delta") == Some(true) {
            text.map(Self::Text)
        } else if kind.is("input_json_delta") == Some(true) {
            input.map(Self::Input)
        } else if kind.is("thinking_delta") == Some(true) {
            thinking.map(Self::Thinking)
        } else {
            None
        }
        .ok_or(Miss)
    }
}
