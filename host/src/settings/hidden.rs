//! Credentials within settings, which are never shown.

use serde_json::Value;

const HIDDEN: &str = "***";

/// Replaces the parts of a value's strings that may be a secret.
pub(crate) fn hide(value: &mut Value) {
    match value {
        Value::String(text) => *text = hidden(text),
        Value::Array(values) => values.iter_mut().for_each(hide),
        _ => {}
    }
}

/// Replaces passwords in URLs, the values of variables and parameters that have a secret's name, and the word after a
/// flag that has one.
fn hidden(text: &str) -> String {
    let mut is_secret = false;
    let words = text.split(' ').map(|word| {
        if is_secret && !word.is_empty() {
            is_secret = false;
            return HIDDEN.to_owned();
        }
        is_secret = word.starts_with('-') && !word.contains('=') && is_secret_name(word);
        hidden_word(word)
    });
    words.collect::<Vec<_>>().join(" ")
}

fn hidden_word(word: &str) -> String {
    let mut shown = word.to_owned();
    if let Some((scheme, rest)) = word.split_once("://") {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        shown = match authority.rsplit_once('@') {
            Some((user, host)) => {
                let user = user.split(':').next().unwrap_or_default();
                format!("{scheme}://{user}:{HIDDEN}@{host}{path}")
            }
            None => word.to_owned(),
        };
    }
    let parts = shown.split_inclusive(['?', '&']).map(|part| {
        let end = part.len() - usize::from(part.ends_with(['?', '&']));
        match part[..end].split_once('=') {
            Some((name, _)) if is_secret_name(name) => {
                format!("{name}={HIDDEN}{}", &part[end..])
            }
            _ => part.to_owned(),
        }
    });
    parts.collect()
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = [
        "auth",
        "credential",
        "key",
        "pass",
        "pwd",
        "secret",
        "token",
    ];
    words.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::hidden;

    #[test]
    fn secrets_are_replaced() {
        for (text, shown) in [
            ("postgres://me:pw@db/x", "postgres://me:***@db/x"),
            (
                "postgres://me@db/x?password=pw&a=b",
                "postgres://me:***@db/x?password=***&a=b",
            ),
            ("https://h/v1?api-version=1", "https://h/v1?api-version=1"),
            (
                "API_KEY=k LEVEL=2 run --token t -v",
                "API_KEY=*** LEVEL=2 run --token *** -v",
            ),
            ("run --auth=a", "run --auth=***"),
            ("sqlite:/var/lib/x.db", "sqlite:/var/lib/x.db"),
            ("Be brief.", "Be brief."),
        ] {
            assert_eq!(hidden(text), shown);
        }
    }
}
