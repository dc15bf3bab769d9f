//! Results as content parts.

use super::options::McpLimits;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Map, Value, json};
use stepwell_core::event::{ContentPart, MediaPart, MessageContent, Source, TextPart};
use stepwell_core::tool::{ToolFailure, ToolOutput, ToolResult};

/// Returns the result of a tool as the model sees it.
pub(super) fn result(result: CallToolResult, limits: &McpLimits) -> ToolResult {
    let mut parts = Parts::new(limits);
    let structured = result.structured_content;
    // Servers repeat structured content as text, for clients that do not know it.
    let is_repeated = structured.as_ref().is_none_or(|structured| {
        let texts = result.content.iter().filter_map(ContentBlock::as_text);
        let mut values = texts.map(|text| serde_json::from_str::<Value>(&text.text));
        values.any(|value| value.is_ok_and(|value| value == *structured))
    });
    for block in result.content {
        parts.add_block(block);
    }
    if let Some(structured) = structured.filter(|_| !is_repeated) {
        parts.add_text(structured.to_string(), None);
    }
    if result.is_error == Some(true) {
        return Err(ToolFailure::error(parts.into_error()));
    }
    Ok(ToolOutput {
        content: parts.into_content(),
    })
}

/// Returns a result that the SDK does not know: one with a newer kind of content, say.
pub(super) fn unknown_result(mut value: Value, limits: &McpLimits) -> ToolResult {
    let Some(Value::Array(blocks)) = value.get_mut("content").map(Value::take) else {
        return Err(ToolFailure::error(
            "the MCP server answered with something that is no result of a tool",
        ));
    };
    let mut parts = Parts::new(limits);
    for block in blocks {
        match serde_json::from_value(block.clone()) {
            Ok(block) => parts.add_block(block),
            Err(_) => parts.add_text(block.to_string(), None),
        }
    }
    if value["isError"] == true {
        return Err(ToolFailure::error(parts.into_error()));
    }
    Ok(ToolOutput {
        content: parts.into_content(),
    })
}

/// The parts of one result, within the limits.
struct Parts<'a> {
    limits: &'a McpLimits,
    parts: Vec<ContentPart>,
    bytes: usize,
    left_out: usize,
}

impl<'a> Parts<'a> {
    fn new(limits: &'a McpLimits) -> Self {
        Self {
            limits,
            parts: Vec::new(),
            bytes: 0,
            left_out: 0,
        }
    }

    fn add_block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.add_text(text.text, None),
            ContentBlock::Image(image) => {
                self.add_media(&image.mime_type, "image/", image.data, None);
            }
            ContentBlock::Audio(audio) => {
                self.add_media(&audio.mime_type, "audio/", audio.data, None);
            }
            ContentBlock::Resource(embedded) => self.add_resource(embedded.resource),
            // The address usually belongs to the server: no provider could fetch it.
            ContentBlock::ResourceLink(link) => {
                let text = serde_json::to_string(&link).unwrap_or_else(|_| link.uri.clone());
                self.add_text(text, Some(json!({ "uri": link.uri })));
            }
            other => match serde_json::to_string(&other) {
                Ok(text) => self.add_text(text, None),
                Err(_) => self.left_out += 1,
            },
        }
    }

    fn add_resource(&mut self, resource: ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents {
                uri,
                mime_type,
                text,
                ..
            } => self.add_text(text, Some(json!({ "uri": uri, "mimeType": mime_type }))),
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                self.add_media(&mime_type, "", blob, Some(json!({ "uri": uri })));
            }
            _ => self.left_out += 1,
        }
    }

    fn add_text(&mut self, mut text: String, metadata: Option<Value>) {
        let room = self.limits.result_bytes.saturating_sub(self.bytes);
        if text.len() > room {
            let end = (0..=room).rev().find(|end| text.is_char_boundary(*end));
            let rest = text.len() - end.unwrap_or_default();
            text.truncate(end.unwrap_or_default());
            text.push_str(&format!("… [{rest} more bytes were left out]"));
        }
        self.push(
            text.len(),
            ContentPart::Text(TextPart {
                text,
                metadata,
                ..TextPart::default()
            }),
        );
    }

    /// Adds media. `kind` is the kind that the server names, if it names one.
    fn add_media(&mut self, mime_type: &str, kind: &str, data: String, metadata: Option<Value>) {
        let fits = self.bytes.saturating_add(data.len()) <= self.limits.result_bytes;
        // The part stays in the history: media that no provider can read would break every later request.
        if !fits || !is_media_type(mime_type) || !is_base64(&data) {
            self.left_out += 1;
            return;
        }
        let what = if kind.is_empty() { mime_type } else { kind };
        let make = match what.split('/').next() {
            Some("image") => ContentPart::Image,
            Some("audio") => ContentPart::Audio,
            Some("video") => ContentPart::Video,
            _ => ContentPart::Document,
        };
        self.push(
            data.len(),
            make(MediaPart {
                source: Source::Data {
                    value: data,
                    mime_type: mime_type.to_owned(),
                },
                id: None,
                metadata,
                extra: Map::new(),
            }),
        );
    }

    fn push(&mut self, bytes: usize, part: ContentPart) {
        if self.parts.len() >= self.limits.result_parts {
            self.left_out += 1;
            return;
        }
        self.bytes += bytes;
        self.parts.push(part);
    }

    fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| format!("[{} parts were left out]", self.left_out))
    }

    fn into_content(mut self) -> MessageContent {
        if let Some(text) = self.note() {
            self.parts.push(ContentPart::Text(TextPart {
                text,
                ..TextPart::default()
            }));
        }
        match &mut self.parts[..] {
            [] => "".into(),
            [ContentPart::Text(only)] if only.metadata.is_none() => {
                std::mem::take(&mut only.text).into()
            }
            _ => MessageContent::Parts(self.parts),
        }
    }

    /// Returns the text of the parts, for an error.
    fn into_error(mut self) -> String {
        let is_text = |part: &ContentPart| matches!(part, ContentPart::Text(_));
        let before = self.parts.len();
        self.parts.retain(is_text);
        self.left_out += before - self.parts.len();
        let text = self.into_content().to_text();
        if text.is_empty() {
            return "the tool failed, and does not say why".to_owned();
        }
        text
    }
}

/// Returns whether a text is a media type: `type/subtype`, maybe with parameters.
fn is_media_type(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    let names = essence.split_once('/');
    names.is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype))
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    !data.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - digits.len() <= 2
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}
