//! Estimates the tokens of a conversation, where the provider has not counted them.

use crate::event::{
    ContentPart, MediaPart, Message, MessageContent, Source, ToolDefinition, made_media_of,
};

/// Bytes of text to a token: between English prose (more) and code or other scripts (less).
const BYTES: u64 = 4;
/// The tokens of a message in addition to its text: its role and its delimiters.
const MESSAGE: u64 = 4;
/// A picture. Providers scale larger ones down, to between 250 and 1,600 tokens.
const IMAGE: u64 = 1_600;
/// Media of a kind or a size that is not known.
const MEDIA: u64 = 3_000;
/// Bytes of sound to a token: some 32 tokens a second (Gemini), of some 16 KB a second.
const AUDIO_BYTES: u64 = 500;
/// Bytes of film to a token: some 300 tokens a second (Gemini), of some 200 KB a second.
const VIDEO_BYTES: u64 = 700;
/// Bytes of a PDF or the like to a token: some 2,000 tokens a page, of some 60 KB.
const DOCUMENT_BYTES: u64 = 30;

pub(crate) fn of_text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES)
}

/// A message in a request. Activities are in none, but for media that a model made.
pub(crate) fn of_message(message: &Message) -> u64 {
    let said = match message {
        Message::Activity(_) => match made_media_of(message) {
            Some(parts) => parts.iter().map(of_part).sum(),
            None => return 0,
        },
        Message::Developer(message) | Message::System(message) => of_text(&message.content),
        Message::Reasoning(message) => of_text(&message.content),
        Message::User(message) => of_content(&message.content),
        Message::Tool(message) => of_content(&message.content),
        Message::Assistant(message) => {
            let calls = message.tool_calls.iter().map(|call| {
                MESSAGE + of_text(&call.function.name) + of_text(&call.function.arguments)
            });
            calls.sum::<u64>() + message.content.as_deref().map_or(0, of_text)
        }
    };
    said.saturating_add(MESSAGE)
}

/// What a provider wants back of a message, which only that provider can read.
pub(crate) fn of_sealed(message: &Message) -> u64 {
    match message {
        Message::Assistant(message) => message.encrypted_value.as_deref().map_or(0, of_text),
        _ => 0,
    }
}

pub(crate) fn of_tool(tool: &ToolDefinition) -> u64 {
    let schema = tool.parameters.as_ref().map(ToString::to_string);
    MESSAGE
        + of_text(&tool.name)
        + of_text(&tool.description)
        + schema.as_deref().map_or(0, of_text)
}

fn of_content(content: &MessageContent) -> u64 {
    match content {
        MessageContent::Text(text) => of_text(text),
        MessageContent::Parts(parts) => parts.iter().map(of_part).sum(),
    }
}

fn of_part(part: &ContentPart) -> u64 {
    match part {
        ContentPart::Text(part) => of_text(&part.text),
        ContentPart::Image(_) => IMAGE,
        ContentPart::Audio(part) => of_media(part, AUDIO_BYTES),
        ContentPart::Video(part) => of_media(part, VIDEO_BYTES),
        ContentPart::Document(part) => of_media(part, DOCUMENT_BYTES),
    }
}

fn of_media(part: &MediaPart, bytes_to_a_token: u64) -> u64 {
    match &part.source {
        Source::Data { value, mime_type } => {
            // Base64: four characters for three bytes.
            let bytes = value.len() as u64 / 4 * 3;
            if mime_type.starts_with("text/") {
                bytes.div_ceil(BYTES)
            } else {
                bytes.div_ceil(bytes_to_a_token)
            }
        }
        Source::Url { .. } | Source::File { .. } => MEDIA,
    }
}
