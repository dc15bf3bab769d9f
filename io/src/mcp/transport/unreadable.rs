//! Messages that the MCP SDK cannot read: it skips them, and the calls that they answer would wait.

use rmcp::model::ServerJsonRpcMessage;
use serde_json::{Value, json};
use std::borrow::Cow;
use stepwell_core::tool::repair_surrogates;

/// The error code of JSON-RPC for a message that is no JSON.
const PARSE_ERROR: i64 = -32_700;

/// Returns the message unchanged if the SDK can read it, or repaired: Python writes a file name that is not UTF-8 with
/// lone surrogates, which are no text. A message that cannot be repaired becomes an error that answers the same
/// request: the request that the message names, or `asked`.
pub(super) fn readable<'m>(message: &'m [u8], asked: Option<&Value>) -> Cow<'m, [u8]> {
    let trimmed = message.trim_ascii();
    if !trimmed.starts_with(b"{") {
        return Cow::Borrowed(message);
    }
    let Err(fault) = serde_json::from_slice::<ServerJsonRpcMessage>(trimmed) else {
        return Cow::Borrowed(message);
    };
    let text = String::from_utf8_lossy(trimmed);
    let text = match repair_surrogates(&text) {
        Some(repaired) => Cow::Owned(repaired),
        None => text,
    };
    if serde_json::from_str::<ServerJsonRpcMessage>(&text).is_ok() {
        return Cow::Owned(text.into_owned().into_bytes());
    }
    let outline = MessageOutline::of(&text);
    let id = outline
        .id
        .as_ref()
        .or(asked)
        .filter(|_| !outline.has_method);
    let Some(id) = id else {
        return Cow::Borrowed(message);
    };
    tracing::warn!(target: "stepwell", %fault, "an answer of an MCP server cannot be read: its call fails");
    let error = json!({
        "jsonrpc": "2.0",
        "id": id,
        "error": {"code": PARSE_ERROR, "message": format!("the server's answer cannot be read: {fault}")},
    });
    Cow::Owned(error.to_string().into_bytes())
}

/// The outermost members of a message that is no JSON.
#[derive(Debug, Default, PartialEq)]
struct MessageOutline {
    id: Option<Value>,
    /// The message is a request or a notification.
    has_method: bool,
}

impl MessageOutline {
    /// Reads the members of the outermost object, whatever is wrong inside of them.
    fn of(text: &str) -> Self {
        let mut outline = Self::default();
        let (mut depth, mut at) = (0_usize, 0);
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                b'"' => {
                    let end = end_of_string(bytes, at);
                    let name = text.get(at + 1..end).unwrap_or_default();
                    at = end;
                    let value = text.get(end + 1..).unwrap_or_default().trim_start();
                    if let Some(value) = value.strip_prefix(':')
                        && depth == 1
                    {
                        outline.member(name, value.trim_start());
                    }
                }
                _ => {}
            }
            at += 1;
        }
        outline
    }

    fn member(&mut self, name: &str, value: &str) {
        match name {
            "method" => self.has_method = true,
            "id" => {
                let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
                let id = values.next().and_then(Result::ok);
                self.id = id.filter(|id| id.is_i64() || id.is_string());
            }
            _ => {}
        }
    }
}

/// Returns the position of the quotation mark that ends the string which begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str, asked: Option<&Value>) -> Option<Value> {
        match readable(message.as_bytes(), asked) {
            Cow::Borrowed(_) => None,
            Cow::Owned(made) => Some(serde_json::from_slice(&made).expect("JSON")),
        }
    }

    #[test]
    fn leaves_readable_messages_unchanged() {
        for message in [
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            "Welcome!",
            "[1, 2",
            r#"{"this": "is no message"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"#,
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"id":1,"a":}}"#,
        ] {
            assert_eq!(read(message, None), None, "{message}");
        }
    }

    #[test]
    fn repairs_lone_surrogates() {
        let message =
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\udcff"}]}}"#;
        let repaired = read(message, None).expect("one");
        assert_eq!(repaired["result"]["content"][0]["text"], "a\u{fffd}");
    }

    #[test]
    fn answers_the_request_of_an_unreadable_message() {
        for (message, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a":NaN}}"#, json!(7)),
            (
                r#"{"result":{"id":1,"a":"\x"},"id":"seven","jsonrpc":"2.0"}"#,
                json!("seven"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"te"#,
                json!(7),
            ),
            (r#"{"jsonrpc":"2.0","id":7}"#, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"error":"no"}"#, json!(7)),
        ] {
            let error = read(message, None).unwrap_or_else(|| panic!("{message}"));
            assert_eq!(error["id"], id, "{message}");
            assert_eq!(error["error"]["code"], PARSE_ERROR, "{message}");
            let error = serde_json::from_value(error);
            assert!(
                matches!(error, Ok(ServerJsonRpcMessage::Error(_))),
                "{message}"
            );
        }
        let error = read(r#"{"jsonrpc":"2.0","result":{"a":NaN}}"#, Some(&json!(3)));
        assert_eq!(error.expect("one")["id"], 3);
    }
}
