//! What histories are made of, in each provider's shape.

use super::random::Random;
use serde_json::{Value, json};
use stepwell_core::event::{ContentPart, MediaPart, MessageContent, Source, TextPart};

/// The id of a call as the provider shapes them, and worse.
pub(crate) fn call_id(random: &mut Random, provider: &str, count: usize) -> String {
    if random.chance(8) {
        let odd = [
            String::new(),
            " ".to_owned(),
            "call 1/é".to_owned(),
            "x".repeat(80),
            "call_0".to_owned(),
            "abcDEF123".to_owned(),
        ];
        return random.pick(&odd).clone();
    }
    let number = random.next();
    match provider {
        "anthropic" => format!("toolu_01{number:022X}"),
        "gemini" if random.chance(50) => format!("{number:08x}"),
        // Made here: the same in each turn.
        "gemini" | "ollama" => format!("call_{count}"),
        "mistral" => format!("{number:016x}")[..9].to_owned(),
        "cohere" => format!("weather_{number:016x}")[..20].to_owned(),
        "groq" => format!("functions.weather:{count}"),
        "fireworks" => format!("fc_{number:016x}-{number:016x}"),
        "nvidia" => format!("chat-{number:032x}"),
        "openrouter" => format!("tool_weather_{number:016x}{number:016x}{number:016x}"),
        _ => format!("call_{number:024x}"),
    }
}

/// What the provider wants back unchanged, with its own name in it.
pub(crate) fn sealed(random: &mut Random, provider: &str, of_call: bool) -> Option<String> {
    let mark = mark(provider);
    let (dialect, value) = match provider {
        "anthropic" if of_call => return None,
        "anthropic" if random.chance(20) => ("anthropic", json!({"redacted": mark})),
        "anthropic" => ("anthropic", json!({"signature": mark})),
        "gemini" if random.chance(20) => (
            "gemini",
            json!({"part": {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": mark}}),
        ),
        "gemini" => (
            "gemini",
            json!({"thoughtSignature": mark, "id": "g1234567"}),
        ),
        "openai" if of_call && random.chance(20) => (
            "openai-responses",
            json!({"id": format!("ws_{}", random.next()), "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": mark}}),
        ),
        "openai" if of_call => (
            "openai-responses",
            json!({"id": format!("fc_{}", random.next()), "type": "function_call"}),
        ),
        "openai" => (
            "openai-responses",
            json!({"type": "reasoning", "id": format!("rs_{}", random.next()), "summary": [], "encrypted_content": mark}),
        ),
        "openrouter" if !of_call => (
            "openai-chat",
            json!([{"type": "reasoning.encrypted", "data": mark, "index": 0}]),
        ),
        _ => ("openai-chat", json!(mark)),
    };
    let value = if random.chance(10) {
        json!(mark)
    } else {
        value
    };
    Some(json!({"provider": provider, "dialect": dialect, "value": value}).to_string())
}

/// A provider's name as its signatures have it: base64, and found nowhere else.
pub(crate) fn mark(provider: &str) -> String {
    format!("SiGnAtUrE{provider}X")
}

/// Arguments, good and bad.
pub(crate) fn arguments(random: &mut Random) -> &'static str {
    const ALL: [&str; 8] = [
        "{}",
        "",
        "null",
        r#"{"city":"Oslo"}"#,
        r#"{"city":"Os"#,
        "[1,2]",
        "Oslo",
        r#" {"city": "Zürich \" \n"} "#,
    ];
    ALL[random.below(ALL.len())]
}

/// The names of tools, good and bad.
pub(crate) fn tool(random: &mut Random) -> String {
    let long = "x".repeat(100);
    let odd = ["", "functions.weather", "wetter für", "1st", &long, "a/b:c"];
    if random.chance(15) {
        (*random.pick(&odd)).to_owned()
    } else {
        (*random.pick(&["weather", "clock"])).to_owned()
    }
}

/// What a user or a tool says: text with `word` in it, or nothing, or parts.
pub(crate) fn content(random: &mut Random, word: &str, provider: &str) -> MessageContent {
    match random.below(10) {
        0 => MessageContent::Text(String::new()),
        1 => MessageContent::Text(" \n".to_owned()),
        2 => MessageContent::Parts(Vec::new()),
        3 | 4 => {
            let count = 1 + random.below(3);
            let mut parts: Vec<_> = (0..count).map(|_| part(random, provider)).collect();
            parts.insert(random.below(parts.len() + 1), said(word));
            MessageContent::Parts(parts)
        }
        5 => MessageContent::Parts(vec![part(random, provider)]),
        _ => MessageContent::Text(format!("Words {word}.")),
    }
}

fn said(text: &str) -> ContentPart {
    ContentPart::Text(TextPart {
        text: text.to_owned(),
        ..TextPart::default()
    })
}

fn part(random: &mut Random, provider: &str) -> ContentPart {
    let media = |source, metadata: Option<Value>| MediaPart {
        source,
        id: None,
        metadata,
        extra: serde_json::Map::new(),
    };
    let data = |mime_type: &str| Source::Data {
        value: "aGVsbG8=".to_owned(),
        mime_type: mime_type.to_owned(),
    };
    let url = Source::Url {
        value: "https://h/x".to_owned(),
        mime_type: None,
    };
    let file = Source::File {
        value: format!("file-{}", mark(provider)),
        provider: Some(provider.to_owned()),
        mime_type: Some("application/pdf".to_owned()),
    };
    match random.below(9) {
        0 => said(""),
        1 => said("  "),
        2 => ContentPart::Image(media(data("image/png"), None)),
        3 => ContentPart::Image(media(
            url,
            Some(json!({"cacheControl": {"type": "ephemeral"}})),
        )),
        4 => ContentPart::Document(media(file, None)),
        5 => ContentPart::Document(media(data("application/pdf"), None)),
        6 => ContentPart::Audio(media(data("audio/wav"), None)),
        7 => ContentPart::Video(media(data("video/mp4"), None)),
        _ => ContentPart::Image(media(file, None)),
    }
}
