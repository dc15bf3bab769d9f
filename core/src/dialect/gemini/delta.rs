//! The frames that come by the thousand, read with the cursor: one piece of text or of a thought, and the usage so far.
//! What is read here must be what [`chunk`](super::chunk) reads.

use super::super::cursor::{Cursor, Miss, RawText, Seen};
use super::super::lenient::COUNT_LIMIT;
use crate::event::TokenUsage;

/// What a plain frame says.
#[derive(Debug, Default)]
pub(super) struct Delta<'a> {
    pub(super) said: Said<'a>,
    pub(super) usage: Option<TokenUsage>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Said<'a> {
    #[default]
    Nothing,
    /// A piece of the text.
    Text(RawText<'a>),
    /// A piece of a thought.
    Thought(RawText<'a>),
}

impl<'a> Delta<'a> {
    /// Reads a frame of a stream that has begun.
    ///
    /// # Errors
    /// It is not one of the plain ones.
    pub(super) fn read(data: &'a [u8], model_known: bool) -> Result<Self, Miss> {
        let mut delta = Self::default();
        // What has no candidate may be an error that is not this dialect's.
        let mut is_chunk = false;
        let mut cursor = Cursor::new(data);
        let mut seen = Seen::default();
        cursor.object(|cursor, key| match key {
            b"candidates" => {
                seen.once(0)?;
                let mut candidates = Seen::default();
                cursor.array(|cursor| {
                    candidates.once(0)?;
                    is_chunk = true;
                    delta.said = candidate(cursor)?;
                    Ok(())
                })
            }
            b"usageMetadata" => {
                seen.once(1)?;
                delta.usage = usage(cursor)?;
                Ok(())
            }
            b"modelVersion" => {
                seen.once(2)?;
                if model_known {
                    return cursor.skip();
                }
                Err(Miss)
            }
            b"promptFeedback" => {
                seen.once(3)?;
                cursor.null()
            }
            b"error" => {
                seen.once(4)?;
                cursor.null()
            }
            _ => cursor.skip(),
        })?;
        cursor.end()?;
        must(is_chunk)?;
        Ok(delta)
    }
}

fn candidate<'a>(cursor: &mut Cursor<'a>) -> Result<Said<'a>, Miss> {
    let mut said = Said::Nothing;
    let mut seen = Seen::default();
    cursor.object(|cursor, key| match key {
        b"content" => {
            seen.once(0)?;
            let mut seen = Seen::default();
            cursor.object(|cursor, key| match key {
                b"parts" => {
                    seen.once(0)?;
                    let mut parts = Seen::default();
                    cursor.array(|cursor| {
                        parts.once(0)?;
                        said = part(cursor)?;
                        Ok(())
                    })
                }
                _ => cursor.skip(),
            })
        }
        b"index" => {
            seen.once(1)?;
            must(cursor.count()? == 0)
        }
        b"finishReason" => {
            seen.once(2)?;
            cursor.null()
        }
        b"citationMetadata" => {
            seen.once(3)?;
            cursor.null()
        }
        b"groundingMetadata" => {
            seen.once(4)?;
            cursor.null()
        }
        b"urlContextMetadata" => {
            seen.once(5)?;
            cursor.null()
        }
        _ => cursor.skip(),
    })?;
    Ok(said)
}

/// A part of text and nothing else.
fn part<'a>(cursor: &mut Cursor<'a>) -> Result<Said<'a>, Miss> {
    let mut text = None;
    let mut thought = false;
    let mut seen = Seen::default();
    cursor.object(|cursor, key| match key {
        b"text" => {
            seen.once(0)?;
            text = Some(cursor.text()?);
            Ok(())
        }
        b"thought" => {
            seen.once(1)?;
            thought = cursor.peek()? == b't';
            cursor.skip()
        }
        _ => Err(Miss),
    })?;
    let text = text.ok_or(Miss)?;
    Ok(if thought {
        Said::Thought(text)
    } else {
        Said::Text(text)
    })
}

/// The counts so far; `None` where none is there.
fn usage(cursor: &mut Cursor<'_>) -> Result<Option<TokenUsage>, Miss> {
    let mut usage = TokenUsage::default();
    let mut seen = Seen::default();
    cursor.object(|cursor, key| {
        let (bit, slot) = match key {
            b"promptTokenCount" => (0, &mut usage.input_tokens),
            b"candidatesTokenCount" => (1, &mut usage.output_tokens),
            b"totalTokenCount" => (2, &mut usage.total_tokens),
            b"thoughtsTokenCount" => (3, &mut usage.reasoning_tokens),
            b"cachedContentTokenCount" => (4, &mut usage.cached_input_tokens),
            _ => return cursor.skip(),
        };
        seen.once(bit)?;
        let count = cursor.count()?;
        must(count < COUNT_LIMIT)?;
        *slot = Some(count);
        Ok(())
    })?;
    Ok((usage != TokenUsage::default()).then_some(usage))
}

fn must(fits: bool) -> Result<(), Miss> {
    if fits { Ok(()) } else { Err(Miss) }
}
