//! Attachments of users and tool results, in the form of Messages.

use super::super::encoding::{as_text, given_name};
use super::block::{Block, MediaSource};
use super::cache::Mark;
use crate::event::{ContentPart, Source};
use serde_json::Value;
use std::borrow::Cow;

const PDF: &str = "application/pdf";

/// Returns the part as a block, or a description if the format has no block for it. Returns `None` for an empty part.
pub(super) fn block<'a>(part: &'a ContentPart, provider: &str) -> Option<Block<'a>> {
    match part {
        ContentPart::Text(part) => {
            return Block::text(part.text.as_str(), Mark::of_part(part.metadata.as_ref()));
        }
        ContentPart::Image(media) => {
            if let Some(source) = source(&media.source, provider) {
                return Some(Block::Image {
                    source,
                    cache_control: Mark::of_part(media.metadata.as_ref()),
                });
            }
        }
        ContentPart::Document(media) => {
            if let Some(source) = document(&media.source, provider) {
                return Some(Block::Document {
                    source,
                    title: given_name(media),
                    cache_control: Mark::of_part(media.metadata.as_ref()),
                });
            }
        }
        _ => {}
    }
    Block::text(as_text(part)?, None)
}

/// Returns whether the format has a block for this content.
pub(super) fn takes(part: &ContentPart) -> bool {
    match part {
        ContentPart::Text(_) | ContentPart::Image(_) => true,
        ContentPart::Document(media) => match &media.source {
            Source::Data { value, mime_type } if mime_type != PDF => {
                decode_base64(value).is_some_and(|bytes| std::str::from_utf8(&bytes).is_ok())
            }
            _ => true,
        },
        ContentPart::Audio(_) | ContentPart::Video(_) => false,
    }
}

fn source<'a>(source: &'a Source, provider: &str) -> Option<MediaSource<'a>> {
    Some(match source {
        Source::Data { value, mime_type } => MediaSource::Base64 {
            media_type: mime_type,
            data: value,
        },
        Source::Url { value, .. } => MediaSource::Url { url: value },
        Source::File {
            value,
            provider: owner,
            ..
        } if owner.as_deref().is_none_or(|owner| owner == provider) => {
            MediaSource::File { file_id: value }
        }
        Source::File { .. } => return None,
    })
}

/// Only PDF goes as bytes; other documents go as text, if they are text.
fn document<'a>(at: &'a Source, provider: &str) -> Option<MediaSource<'a>> {
    match at {
        Source::Data { value, mime_type } if mime_type != PDF => {
            let data = String::from_utf8(decode_base64(value)?).ok()?;
            Some(MediaSource::Text {
                media_type: "text/plain",
                data,
            })
        }
        at => source(at, provider),
    }
}

/// RFC 4648, both alphabets, with or without padding; `None` for what is not base64.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut bits = 0_u32;
    let mut count = 0_u32;
    for byte in text.trim_end().trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\r' | b'\n' => continue,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    (count < 6).then_some(bytes)
}

/// Returns a citation's text block, unchanged.
pub(super) fn cited<'a>(text: Cow<'a, str>, citations: Vec<Value>) -> Option<Block<'a>> {
    let mut block = Block::text(text, None)?;
    if let Block::Text {
        citations: cited, ..
    } = &mut block
    {
        *cited = citations;
    }
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm8", "fo"),
            ("Zm9v", "foo"),
            ("Zm9v\nYmFy\n", "foobar"),
        ] {
            assert_eq!(
                decode_base64(text).as_deref(),
                Some(bytes.as_bytes()),
                "{text}"
            );
        }
        assert_eq!(decode_base64("-_8=").as_deref(), Some(&[0xfb, 0xff][..]));
        for bad in ["Z", "Zm9vY", "Z!==", "Zm=9"] {
            assert_eq!(decode_base64(bad), None, "{bad}");
        }
    }
}
