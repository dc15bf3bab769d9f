//! Files without an AG-UI event.

use super::encoding::Encoding;
use serde_json::Value;

/// Returns why a file without an event is no stream; `None` if it may be a stream with mistakes, which are findings.
pub(super) fn reason(body: &[u8], encoding: Encoding, is_named: bool) -> Option<String> {
    let is_binary = || std::str::from_utf8(body).is_err() || body.contains(&0);
    if body.trim_ascii().is_empty() {
        return Some("it is empty".to_owned());
    }
    if is_named {
        return None;
    }
    match encoding {
        Encoding::Protobuf => {
            Some("it is binary, and its first frame is no event in protobuf".to_owned())
        }
        _ if is_binary() => Some("it is binary, and not in frames of protobuf".to_owned()),
        Encoding::JsonLines => {
            let mut values = serde_json::Deserializer::from_slice(body).into_iter();
            let first: Value = values.next()?.ok()?;
            (!is_event(&first))
                .then(|| "it is JSON, but what it begins with has no `type` of an event".to_owned())
        }
        Encoding::Sse => server_sent(&String::from_utf8_lossy(body)),
    }
}

fn server_sent(text: &str) -> Option<String> {
    let is_field = |line: &&str| {
        let fields = ["data", "event", "id", "retry", ""];
        line.split_once(':')
            .is_some_and(|(name, _)| fields.contains(&name))
    };
    let mut lines = text.lines().filter(is_field).peekable();
    if lines.peek().is_none() {
        return Some("it has no server-sent events, no JSON and no protobuf".to_owned());
    }
    let first = lines.find_map(|line| line.strip_prefix("data:"))?;
    let first: Value = serde_json::from_str(first).ok()?;
    (!is_event(&first)).then(|| {
        "its server-sent events have no `type` of AG-UI; `stepwell decode --provider PROVIDER` reads those of a provider"
            .to_owned()
    })
}

/// Returns whether the value has the type of an event of any version, or begins with one that has.
fn is_event(value: &Value) -> bool {
    let value = value.get(0).unwrap_or(value);
    let kind = value["type"].as_str().unwrap_or_default();
    !kind.is_empty()
        && kind
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}
