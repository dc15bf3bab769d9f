use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The arguments of a call, as the model's text and parsed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arguments {
    /// The model's own text.
    pub raw: String,
    /// The parsed value: an object, or any other value that the tool's schema allows.
    pub value: Value,
}

/// Parses a tool call's arguments. Empty text, blanks and `null` all mean `{}`. Half of a surrogate pair (`"\ud83d"`),
/// which no Rust string can hold, becomes U+FFFD.
///
/// # Errors
/// The text is not JSON.
pub fn parse_arguments(raw: &str) -> Result<Value, serde_json::Error> {
    let trimmed = raw.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return Ok(Value::Object(Map::new()));
    }
    from_json(trimmed)
}

/// Returns what the JSON says, with U+FFFD for half of a surrogate pair.
pub(super) fn from_json<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(json).or_else(|error| match repair_surrogates(json) {
        Some(whole) => serde_json::from_str(&whole),
        None => Err(error),
    })
}

/// Replaces each lone surrogate (`"\ud83d"`), which no Rust string can hold, with U+FFFD. Returns `None` for JSON that
/// has none.
///
/// ```
/// use stepwell_llm::tool::repair_surrogates;
///
/// assert_eq!(repair_surrogates(r#"["\ud83d"]"#).as_deref(), Some("[\"\u{fffd}\"]"));
/// assert_eq!(repair_surrogates(r#"["\ud83d\ude00"]"#), None);
/// ```
#[cold]
#[must_use]
pub fn repair_surrogates(json: &str) -> Option<String> {
    let unit = |at: usize| {
        let digits = json.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(json.len());
    let (mut at, mut copied) = (0, 0);
    while let Some(escape) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += escape;
        let (length, is_half) = match unit(at) {
            None => (2, false),
            Some(0xd800..0xdc00) => match unit(at + 6) {
                Some(0xdc00..0xe000) => (12, false),
                _ => (6, true),
            },
            Some(unit) => (6, (0xdc00..0xe000).contains(&unit)),
        };
        if is_half {
            out.push_str(&json[copied..at]);
            out.push(char::REPLACEMENT_CHARACTER);
            copied = at + length;
        }
        at += length;
    }
    out.push_str(json.get(copied..)?);
    (copied > 0).then_some(out)
}

/// The reason why a call is not run. The message is for the model, so that it can correct the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Rejection {
    /// No tool has this name.
    #[error("there is no tool named `{name}`; the tools are: {available}")]
    UnknownTool {
        /// The requested name.
        name: String,
        /// The names of all tools.
        available: String,
    },
    /// The arguments are not JSON.
    #[error("the arguments of `{name}` are not valid JSON: {reason}")]
    NotJson {
        /// The tool.
        name: String,
        /// The parser's message, with the position.
        reason: String,
    },
    /// The arguments break the tool's JSON Schema.
    #[error("the arguments of `{name}` do not fit its schema: {reason}")]
    Schema {
        /// The tool.
        name: String,
        /// The mismatch, with its path.
        reason: String,
    },
}
