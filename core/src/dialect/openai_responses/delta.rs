//! The frames that come by the thousand, read with the cursor: one piece of text, of reasoning or of a call's
//! arguments. What is read here must be what [`event`](super::event) reads.

use super::super::cursor::{Changing, Cursor, Miss, Plain, Seen};
use super::event::{Kind, Thought};

/// What a plain frame brings a piece of, and the index of its item.
pub(super) type Delta = (Kind, u64);

/// Reads a frame.
///
/// # Errors
/// It is not one of the plain ones.
pub(super) fn read(data: &[u8]) -> Result<Plain<'_, Delta>, Miss> {
    let mut kind = None;
    let mut output_index = None;
    let mut content_index = 0;
    let mut summary_index = 0;
    let mut text = None;
    let mut changing = Changing::default();
    let mut cursor = Cursor::new(data);
    let mut seen = Seen::default();
    cursor.object(|cursor, key| match key {
        b"type" => {
            seen.once(0)?;
            kind = Some(cursor.text()?);
            Ok(())
        }
        b"output_index" => {
            seen.once(1)?;
            output_index = Some(cursor.count()?);
            Ok(())
        }
        b"content_index" => {
            seen.once(2)?;
            content_index = cursor.count()?;
            Ok(())
        }
        b"summary_index" => {
            seen.once(3)?;
            summary_index = cursor.count()?;
            Ok(())
        }
        b"delta" => {
            seen.once(4)?;
            text = Some(cursor.text()?);
            Ok(())
        }
        b"item_id" => {
            seen.once(5)?;
            cursor.skip()
        }
        b"sequence_number" | b"obfuscation" => cursor.skip_changing(&mut changing),
        _ => cursor.skip(),
    })?;
    cursor.end()?;
    let kind = kind.ok_or(Miss)?;
    let is = |name| kind.is(name) == Some(true);
    let kind = if is("response.output_text.delta") {
        Kind::Text(content_index)
    } else if is("response.function_call_arguments.delta") {
        Kind::Arguments
    } else if is("response.reasoning_summary_text.delta") {
        Kind::Thought(Thought::Summary(summary_index))
    } else if is("response.reasoning_text.delta") {
        Kind::Thought(Thought::Content(content_index))
    } else {
        return Err(Miss);
    };
    let delta = (kind, output_index.ok_or(Miss)?);
    Ok(Plain {
        piece: Some((delta, text.ok_or(Miss)?)),
        changing,
    })
}
