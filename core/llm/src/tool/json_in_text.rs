//! Finds JSON in a model's text, which may have other text around it.

use super::arguments::from_json;
use serde_json::{Deserializer, Value};

/// The maximum number of positions at which JSON is tried, since each attempt costs the text after it.
const MOST_TRIED: usize = 32;

/// Returns the candidates for the answer's JSON, the likeliest first: all of the text; otherwise the content of its
/// code fences; otherwise the JSON between its words, none inside another.
///
/// # Errors
/// The text has no JSON; the message is for the model.
pub(super) fn json_in_text(text: &str) -> Result<Vec<Value>, String> {
    let text = text.trim();
    let whole = match from_json(text) {
        Ok(value) => return Ok(vec![value]),
        Err(error) => error,
    };
    let mut found: Vec<Value> = fenced(text)
        .filter_map(|code| from_json(code).ok())
        .collect();
    if found.is_empty() {
        found = between(text);
    }
    if !found.is_empty() {
        return Ok(found);
    }
    Err(if text.starts_with(['{', '[']) {
        format!("the answer is no JSON: {whole}")
    } else {
        "there is no JSON in the answer".to_owned()
    })
}

/// Returns the content of the code fences, without the name of the language.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split("```").skip(1).step_by(2);
    inside.take(MOST_TRIED).map(|code| {
        let language = code.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(0);
        let is_value = code.starts_with(|c: char| c.is_ascii_digit());
        code[if is_value { 0 } else { language }..].trim()
    })
}

/// Returns the objects and arrays between other words.
fn between(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut rest = text;
    for _ in 0..MOST_TRIED {
        let Some(at) = rest.find(['{', '[']) else {
            break;
        };
        rest = &rest[at..];
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        let read = match values.next() {
            Some(Ok(value)) => {
                found.push(value);
                values.byte_offset()
            }
            _ => 1,
        };
        rest = &rest[read..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn the_likeliest_is_taken() {
        let value = json!({"a": [1, {"b": 2}]});
        for text in [
            "  {\"a\": [1, {\"b\": 2}]}\n",
            "Here it is:\n```json\n{\"a\": [1, {\"b\": 2}]}\n```\nAnything else?",
            "```\n{\"a\": [1, {\"b\": 2}]}\n```",
            "The {answer} is {\"a\": [1, {\"b\": 2}]}. Good?",
        ] {
            assert_eq!(json_in_text(text), Ok(vec![value.clone()]), "{text}");
        }
        assert_eq!(json_in_text("```json\n7\n```"), Ok(vec![json!(7)]));
        assert_eq!(
            json_in_text("[1] and {\"a\":2}"),
            Ok(vec![json!([1]), json!({"a": 2})])
        );
    }

    #[test]
    fn where_there_is_none_it_is_said_why() {
        let error = |text| json_in_text(text).unwrap_err();
        assert_eq!(
            error("I would rather not."),
            "there is no JSON in the answer"
        );
        assert!(error("{\"a\": 1,").starts_with("the answer is no JSON: EOF"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in ".{0,200}|[\\[{`]{0,500}") {
            let _ = json_in_text(&text);
        }
    }
}
