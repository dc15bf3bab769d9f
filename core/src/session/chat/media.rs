//! The parts of a message's content.

use super::ChatPart;
use crate::event::{ContentPart, MessageContent};

/// Returns the parts of the user's message; none for an empty text.
pub(super) fn parts_of(content: MessageContent) -> Vec<ChatPart> {
    match content {
        MessageContent::Text(text) => text_part(text).into_iter().collect(),
        MessageContent::Parts(parts) => parts.into_iter().filter_map(part_of).collect(),
    }
}

/// Returns the part of a content part, unless it is an empty text.
pub(super) fn part_of(part: ContentPart) -> Option<ChatPart> {
    match part {
        ContentPart::Text(part) => text_part(part.text),
        media => Some(ChatPart::Media { media }),
    }
}

fn text_part(text: String) -> Option<ChatPart> {
    (!text.is_empty()).then_some(ChatPart::Text { text })
}
