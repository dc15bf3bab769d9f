use super::Breach;
use serde_json::Value;

static NULL: Value = Value::Null;

/// A value in the body, and where it is.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
    pub(super) value: &'a Value,
    pointer: String,
}

impl<'a> At<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self {
            value,
            pointer: String::new(),
        }
    }

    /// The field of this name; null where there is none.
    pub(super) fn get(&self, name: &str) -> Self {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        Self {
            value: self.value.get(name).unwrap_or(&NULL),
            pointer: format!("{}/{escaped}", self.pointer),
        }
    }

    /// The elements of an array; none of anything else.
    pub(super) fn items(&self) -> Vec<Self> {
        let items = self.value.as_array().into_iter().flatten();
        items
            .enumerate()
            .map(|(index, value)| Self {
                value,
                pointer: format!("{}/{index}", self.pointer),
            })
            .collect()
    }

    /// The text; empty for anything else.
    pub(super) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    pub(super) fn is_absent(&self) -> bool {
        self.value.is_null()
    }

    pub(super) fn is_text(&self) -> bool {
        self.value.is_string()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some_and(|value| !value.is_null())
    }

    /// Text with something in it besides spaces.
    pub(super) fn says_something(&self) -> bool {
        !self.text().trim().is_empty()
    }
}

/// The rules that are broken.
#[derive(Debug)]
pub(super) struct Breaches {
    found: Vec<Breach>,
    tidy: bool,
}

impl Breaches {
    pub(super) const fn new(tidy: bool) -> Self {
        Self {
            found: Vec::new(),
            tidy,
        }
    }

    pub(super) fn add(&mut self, at: &At<'_>, rule: impl Into<String>) {
        self.found.push(Breach {
            pointer: at.pointer.clone(),
            rule: rule.into(),
        });
    }

    pub(super) fn unless(&mut self, holds: bool, at: &At<'_>, rule: impl Into<String>) {
        if !holds {
            self.add(at, rule);
        }
    }

    /// A rule of [`Rules::tidy`](super::Rules::tidy).
    pub(super) fn tidy(&mut self, holds: bool, at: &At<'_>, rule: impl Into<String>) {
        self.unless(holds || !self.tidy, at, rule);
    }

    /// The value is one of these texts.
    pub(super) fn one_of(&mut self, at: &At<'_>, allowed: &[&str]) -> bool {
        let is_known = allowed.contains(&at.text());
        self.unless(is_known, at, format!("is one of {}", allowed.join(", ")));
        is_known
    }

    /// The value is an array with something in it.
    pub(super) fn filled(&mut self, at: &At<'_>) -> bool {
        let is_filled = at.value.as_array().is_some_and(|items| !items.is_empty());
        self.unless(is_filled, at, "is an array that is not empty");
        is_filled
    }

    pub(super) fn into_result(self) -> Result<(), Vec<Breach>> {
        if self.found.is_empty() {
            Ok(())
        } else {
            Err(self.found)
        }
    }
}

/// Letters and digits of ASCII, `_` and `-`.
pub(super) fn is_word(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The text of a JSON object.
pub(super) fn is_object_text(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
}
