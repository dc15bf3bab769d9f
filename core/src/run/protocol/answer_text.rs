use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;

/// The text that the model wrote, as part of an error. It reads as a `str`, but `{:?}` shows only its length, so that
/// no log has the text by accident.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnswerText(String);

impl AnswerText {
    /// The text.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl From<String> for AnswerText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Deref for AnswerText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AnswerText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use crate::run::Failure;

    #[test]
    fn a_failures_debug_output_has_no_answer() {
        let failure = Failure::OutputInvalid {
            reason: "`city` is missing".to_owned(),
            text: String::from("what the model wrote").into(),
        };
        let printed = format!("{failure:?} {failure}");
        assert!(printed.contains("20 bytes"), "{printed}");
        assert!(!printed.contains("model wrote"), "{printed}");
        let stored = serde_json::to_string(&failure).unwrap();
        assert!(stored.contains("what the model wrote"), "{stored}");
        assert_eq!(serde_json::from_str::<Failure>(&stored).unwrap(), failure);
    }
}
