//! Media in a history: what the provider takes, and where the media of tool results are shown.

use super::signature::is_signed;
use super::{History, Rules};
use crate::dialect::SentMessage;
use crate::event::{
    AssistantMessage, ContentPart, MediaKind, Message, MessageContent, Source, TextPart,
    ToolMessage, UserMessage, made_media_of,
};
use crate::{MessageId, ToolCallId};

/// The model's message between results and the user's next message, where the provider requires one.
const SEEN: &str = "(The results have come.)";

/// Returns whether a user's message can contain the part.
pub(super) fn is_taken(part: &ContentPart, rules: &Rules<'_>) -> bool {
    may_have(part, rules) && rules.dialect.encoder().takes(part)
}

/// Returns whether a tool's result can contain the part.
fn is_taken_in_result(part: &ContentPart, result: &ToolMessage, rules: &Rules<'_>) -> bool {
    let encoder = rules.dialect.encoder();
    may_have(part, rules) && encoder.takes_in_result(part, result, rules.model)
}

/// Returns whether the model can see the part of a result, in the result or after it.
pub(super) fn is_shown(part: &ContentPart, result: &ToolMessage, rules: &Rules<'_>) -> bool {
    is_taken_in_result(part, result, rules) || is_taken(part, rules)
}

fn may_have(part: &ContentPart, rules: &Rules<'_>) -> bool {
    rules.media.has(part) && !is_foreign(part, rules.provider)
}

/// Returns whether the part is a file in the store of another provider.
fn is_foreign(part: &ContentPart, own: &str) -> bool {
    let source = part.media().map(|(_, part)| &part.source);
    matches!(source, Some(Source::File { provider: Some(provider), .. }) if provider != own)
}

/// Returns the name of a part's kind.
fn kind(part: &ContentPart) -> &'static str {
    part.media().map_or("text", |(kind, _)| kind.as_str())
}

/// Returns a description of the media that the provider takes: `image (data, url), document (data, file)`.
pub fn taken(rules: &Rules<'_>) -> String {
    let kinds = [
        (MediaKind::Image, "image/png"),
        (MediaKind::Audio, "audio/wav"),
        (MediaKind::Video, "video/mp4"),
        (MediaKind::Document, "application/pdf"),
    ];
    let kinds = kinds.iter().filter_map(|(kind, media_type)| {
        let forms = [
            (
                "data",
                ContentPart::of_bytes(*kind, b"-", Some(media_type), None),
            ),
            (
                "url",
                ContentPart::of_url(*kind, "https://example.com", Some(media_type)),
            ),
            (
                "file",
                ContentPart::of_file("id", Some(rules.provider), Some(media_type)),
            ),
        ];
        let is_taken = |part: &ContentPart| is_taken(part, rules);
        let forms = forms
            .iter()
            .filter(|(_, part)| part.as_ref().is_ok_and(is_taken));
        let forms: Vec<_> = forms.map(|(form, _)| *form).collect();
        (!forms.is_empty()).then(|| format!("{kind} ({})", forms.join(", ")))
    });
    let kinds: Vec<_> = kinds.collect();
    if kinds.is_empty() {
        return "text alone".to_owned();
    }
    kinds.join(", ")
}

/// Returns the kinds of the message's parts whose data is not base64, which no provider can read.
pub fn garbled(message: &Message) -> Vec<&'static str> {
    let Message::User(UserMessage {
        content: MessageContent::Parts(parts),
        ..
    }) = message
    else {
        return Vec::new();
    };
    let is_garbled = |part: &&ContentPart| match part.media() {
        Some((_, media)) => {
            matches!(&media.source, Source::Data { value, .. } if !is_base64(value))
        }
        None => false,
    };
    parts.iter().filter(is_garbled).map(kind).collect()
}

/// Returns whether all characters belong to one of base64's alphabets or are line breaks.
fn is_base64(value: &str) -> bool {
    let digits = value.trim_ascii().trim_end_matches('=');
    let is_digit = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || byte.is_ascii_whitespace()
            || matches!(byte, b'+' | b'/' | b'-' | b'_')
    };
    !digits.is_empty() && digits.bytes().all(is_digit)
}

/// Returns the kinds of the message's parts that the provider does not accept and that are described as text.
pub fn untaken(message: &Message, rules: &Rules<'_>) -> Vec<&'static str> {
    let (content, result) = match message {
        Message::User(said) => (&said.content, None),
        Message::Tool(result) => (&result.content, Some(result)),
        _ => return Vec::new(),
    };
    let MessageContent::Parts(parts) = content else {
        return Vec::new();
    };
    if rules.is_agent {
        return Vec::new();
    }
    let is_told = |part: &&ContentPart| match result {
        None => !is_taken(part, rules),
        Some(result) => !is_shown(part, result, rules),
    };
    parts.iter().filter(is_told).map(kind).collect()
}

/// Shows the model media that another one made, and media that its provider has no form of its own for: in a message
/// before the user's next one. Sealed items of the provider after them are sent back as such.
pub(super) fn show_made(history: &mut History<'_>, rules: &Rules<'_>) {
    if !history
        .iter()
        .any(|message| made_media_of(message).is_some())
    {
        return;
    }
    let mut waiting: Option<UserMessage> = None;
    let mut before = std::mem::take(history).into_iter().peekable();
    while let Some(message) = before.next() {
        if let Message::User(_) = &*message
            && let Some(shown) = waiting.take()
        {
            history.push(Message::User(shown).into());
        }
        let Some(parts) = made_media_of(&message) else {
            history.push(message);
            continue;
        };
        let is_own = |next: &SentMessage<'_>| match &**next {
            Message::Assistant(said) => {
                let is_silent = said.content.as_deref().unwrap_or_default().is_empty();
                is_silent && said.tool_calls.is_empty() && is_signed(said, rules)
            }
            _ => false,
        };
        if before.peek().is_some_and(is_own) {
            continue;
        }
        let words = |part: &ContentPart| match is_taken(part, rules) {
            true => format!("[{}, which follows]", kind(part)),
            false => format!("[{}, which cannot be shown here]", kind(part)),
        };
        let words: Vec<_> = parts.iter().map(words).collect();
        history.push(
            Message::Assistant(AssistantMessage {
                id: message.id().clone(),
                content: Some(words.join("\n")),
                ..AssistantMessage::default()
            })
            .into(),
        );
        let parts: Vec<_> = parts
            .into_iter()
            .filter(|part| is_taken(part, rules))
            .collect();
        if parts.is_empty() {
            continue;
        }
        let shown = waiting.get_or_insert_with(|| UserMessage {
            id: format!("{}-shown", message.id()).into(),
            content: MessageContent::Parts(vec![text("What you made:".to_owned())]),
            ..UserMessage::default()
        });
        if let MessageContent::Parts(all) = &mut shown.content {
            all.extend(parts);
        }
    }
}

/// Moves media that a tool returned, and that its result has no place for, after the results: into a user message that
/// names the calls.
pub(super) fn show_results(history: &mut History<'_>, rules: &Rules<'_>) {
    let moves = |message: &Message| match message {
        Message::Tool(result) => has_to_move(result, rules),
        _ => false,
    };
    if !history.iter().any(|message| moves(message)) {
        return;
    }
    let mut shown = Shown::default();
    for mut message in std::mem::take(history) {
        match &*message {
            Message::Tool(result) if has_to_move(result, rules) => {
                let call = &result.tool_call_id;
                shown.add(result, &name_of(history, call), rules);
                let content = without_moved(result, rules);
                if let Message::Tool(result) = message.to_mut() {
                    result.content = content;
                }
            }
            Message::Tool(_) => {}
            _ => shown.put(history, rules),
        }
        history.push(message);
    }
    shown.put(history, rules);
}

fn has_to_move(result: &ToolMessage, rules: &Rules<'_>) -> bool {
    match &result.content {
        MessageContent::Text(_) => false,
        MessageContent::Parts(parts) => parts
            .iter()
            .any(|part| !is_taken_in_result(part, result, rules)),
    }
}

/// Returns the result's content with a text instead of the media that follow it.
fn without_moved(result: &ToolMessage, rules: &Rules<'_>) -> MessageContent {
    let MessageContent::Parts(parts) = &result.content else {
        return result.content.clone();
    };
    let parts = parts.iter().map(|part| {
        if is_taken_in_result(part, result, rules) {
            return part.clone();
        }
        text(format!("[{}, which follows the results]", kind(part)))
    });
    MessageContent::Parts(parts.collect())
}

fn text(text: String) -> ContentPart {
    ContentPart::Text(TextPart {
        text,
        ..TextPart::default()
    })
}

/// Returns the name of the called tool, which is in one of the last messages.
fn name_of(history: &History<'_>, id: &ToolCallId) -> String {
    let calls = history.iter().rev().filter_map(|message| match &**message {
        Message::Assistant(said) => Some(&said.tool_calls),
        _ => None,
    });
    let mut calls = calls.flatten();
    let call = calls.find(|call| call.id == *id);
    call.map_or_else(String::new, |call| call.function.name.clone())
}

/// The media that are shown after the present results.
#[derive(Default)]
struct Shown {
    id: MessageId,
    parts: Vec<ContentPart>,
}

impl Shown {
    fn add(&mut self, result: &ToolMessage, name: &str, rules: &Rules<'_>) {
        let MessageContent::Parts(parts) = &result.content else {
            return;
        };
        self.id = format!("{}-media", result.id).into();
        let call = &result.tool_call_id;
        self.parts
            .push(text(format!("What `{name}` gave back (call {call}):")));
        let moved = parts
            .iter()
            .filter(|part| !is_taken_in_result(part, result, rules));
        self.parts.extend(moved.cloned());
    }

    fn put(&mut self, history: &mut History<'_>, rules: &Rules<'_>) {
        let Self { id, parts } = std::mem::take(self);
        if parts.is_empty() {
            return;
        }
        if rules.answers_results {
            history.push(
                Message::Assistant(AssistantMessage {
                    content: Some(SEEN.to_owned()),
                    ..AssistantMessage::default()
                })
                .into(),
            );
        }
        history.push(
            Message::User(UserMessage {
                id,
                content: MessageContent::Parts(parts),
                ..UserMessage::default()
            })
            .into(),
        );
    }
}
