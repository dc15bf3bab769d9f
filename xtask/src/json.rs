//! Where two JSON values differ.

use serde_json::Value;

/// One line for each place where `actual` is not what was expected.
pub(crate) fn differences(expected: &Value, actual: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk("$", Some(expected), Some(actual), &mut found);
    found
}

fn walk(path: &str, expected: Option<&Value>, actual: Option<&Value>, found: &mut Vec<String>) {
    match (expected, actual) {
        (Some(Value::Object(expected)), Some(Value::Object(actual))) => {
            for (key, value) in expected {
                walk(
                    &format!("{path}.{key}"),
                    Some(value),
                    actual.get(key),
                    found,
                );
            }
            for (key, value) in actual
                .iter()
                .filter(|(key, _)| !expected.contains_key(*key))
            {
                walk(&format!("{path}.{key}"), None, Some(value), found);
            }
        }
        (Some(Value::Array(expected)), Some(Value::Array(actual))) => {
            for index in 0..expected.len().max(actual.len()) {
                walk(
                    &format!("{path}[{index}]"),
                    expected.get(index),
                    actual.get(index),
                    found,
                );
            }
        }
        (expected, actual) if expected != actual => {
            found.push(format!(
                "{path}: expected {}, got {}",
                shown(expected),
                shown(actual)
            ));
        }
        _ => {}
    }
}

fn shown(value: Option<&Value>) -> String {
    const MOST: usize = 200;
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::differences;
    use serde_json::json;

    #[test]
    fn names_every_place_that_differs() {
        let expected = json!({"a": 1, "b": [1, 2], "c": "same"});
        let actual = json!({"a": 2, "b": [1], "c": "same", "d": null});
        assert_eq!(
            differences(&expected, &actual),
            [
                "$.a: expected 1, got 2",
                "$.b[1]: expected 2, got nothing",
                "$.d: expected nothing, got null"
            ]
        );
        assert!(differences(&expected, &expected).is_empty());
    }
}
