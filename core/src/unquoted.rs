/// Removes the quoted texts from serde's error about a JSON text: they may be anyone's, and errors go into logs.
///
/// `invalid type: string "Dear Bob, …", expected u64` becomes `invalid type: string, expected u64`.
pub(crate) fn unquoted(error: &str) -> String {
    let mut left = error;
    let mut words = String::new();
    while let Some(at) = left.find(" \"") {
        let (before, quote) = left.split_at(at);
        words.push_str(before);
        left = after_quote(&quote[2..]);
    }
    words.push_str(left);
    words
}

/// Returns the text after a `{:?}` string; `text` starts after its opening quote.
fn after_quote(text: &str) -> &str {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{RunMachine, SnapshotError};
    use serde::Deserialize;
    use std::sync::Arc;

    #[derive(Debug, Deserialize)]
    struct Count {
        #[allow(dead_code, reason = "it is read, and refused")]
        count: u64,
    }

    #[test]
    fn an_error_quotes_no_text() {
        for secret in ["my secret", "a \\\" secret", "secret: \\\\", ""] {
            let text = format!("{{\"count\": \"{secret}\"}}");
            let error = serde_json::from_str::<Count>(&text).unwrap_err();
            let words = unquoted(&error.to_string());
            let begins = "invalid type: string, expected u64 at line 1";
            assert!(words.starts_with(begins), "{words}");
        }
        assert_eq!(unquoted("missing field `count`"), "missing field `count`");
        assert_eq!(unquoted("cut \"in the midd"), "cut");
    }

    #[test]
    fn a_damaged_snapshot_is_refused_without_its_texts() {
        let endpoint = crate::provider::find("openai-compatible").unwrap();
        let endpoint = endpoint.endpoint(None, "m", Some("http://h/v1"), None);
        let config = Arc::new(crate::run::RunConfig::new(endpoint.unwrap()));
        let snapshot = r#"{"v":"my secret"}"#;
        let refused = RunMachine::restore(snapshot, config);
        let Err(error @ SnapshotError::Malformed(_)) = refused else {
            panic!("it is no snapshot");
        };
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    }
}
