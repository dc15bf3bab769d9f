use crate::tool::schema::Check;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The most questions that one call may ask.
const MOST_QUESTIONS: u32 = 64;

/// A running tool's question to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Question {
    /// The text for the user.
    pub message: String,
    /// The JSON Schema that the answer fits.
    pub schema: Value,
}

impl Question {
    /// A question whose answer fits a JSON Schema.
    #[must_use]
    pub fn new(message: impl Into<String>, schema: Value) -> Self {
        Self {
            message: message.into(),
            schema,
        }
    }

    /// A question whose answer is a text.
    #[must_use]
    pub fn text(message: impl Into<String>) -> Self {
        Self::new(message, json!({ "type": "string" }))
    }

    /// A question whose answer is true or false.
    #[must_use]
    pub fn yes_or_no(message: impl Into<String>) -> Self {
        Self::new(message, json!({ "type": "boolean" }))
    }

    /// A question whose answer is one of these texts.
    #[must_use]
    pub fn choice<C: Into<String>>(
        message: impl Into<String>,
        choices: impl IntoIterator<Item = C>,
    ) -> Self {
        let choices: Vec<String> = choices.into_iter().map(Into::into).collect();
        Self::new(message, json!({ "type": "string", "enum": choices }))
    }

    /// Checks that this may be the call's question with this number, counted from 0.
    ///
    /// # Errors
    /// The schema is invalid or costs too much to check, or the call asks too many questions.
    pub fn may_be_asked(&self, number: u32) -> Result<(), QuestionError> {
        if number >= MOST_QUESTIONS {
            return Err(QuestionError::TooMany);
        }
        Check::new(&self.schema)
            .map(drop)
            .map_err(|fault| QuestionError::Schema(fault.to_string()))
    }

    /// Checks that the value answers the question.
    ///
    /// # Errors
    /// The value does not fit the schema, or the schema is invalid; the error says why.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let check = Check::new(&self.schema).map_err(|fault| fault.to_string())?;
        check.check(value)
    }
}

/// A text asks for a text.
impl From<&str> for Question {
    fn from(message: &str) -> Self {
        Self::text(message)
    }
}

impl From<String> for Question {
    fn from(message: String) -> Self {
        Self::text(message)
    }
}

/// The user's answer to a tool's question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum UserAnswer {
    /// The user answered.
    Given {
        /// The answer: it fits the question's schema.
        value: Value,
    },
    /// The user did not answer: the user refused, was too late, or cannot be asked.
    Declined {
        /// The reason.
        reason: Option<String>,
    },
}

impl UserAnswer {
    /// The user answered this.
    #[must_use]
    pub fn given(value: impl Into<Value>) -> Self {
        Self::Given {
            value: value.into(),
        }
    }

    /// The user did not answer, for this reason.
    #[must_use]
    pub fn declined(reason: impl Into<String>) -> Self {
        Self::Declined {
            reason: Some(reason.into()),
        }
    }

    /// The answer, if there is one.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Given { value } => Some(value),
            Self::Declined { .. } => None,
        }
    }
}

/// The reasons why a tool cannot ask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum QuestionError {
    /// The schema is not a JSON Schema, or costs too much to check.
    #[error("the schema of the question cannot be used: {0}")]
    Schema(String),
    /// The call asks too much.
    #[error(
        "a call may ask {MOST_QUESTIONS} questions: put them into one, with an object for its schema"
    )]
    TooMany,
    /// A question of this number waits for its answer.
    #[error("the call's question {0} has no answer yet: count its questions from 0")]
    Twice(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_costs_too_much_is_not_asked_and_checks_nothing() {
        let mut definitions = serde_json::Map::from_iter([("d20".to_owned(), json!({}))]);
        for link in 0..20 {
            let next = json!({ "$ref": format!("#/$defs/d{}", link + 1) });
            definitions.insert(format!("d{link}"), json!({ "allOf": [next, next] }));
        }
        let schema = json!({ "$defs": definitions, "allOf": [{ "$ref": "#/$defs/d0" }] });
        let question = Question::new("?", schema);
        if cfg!(feature = "json-schema") {
            let error = question.may_be_asked(0).unwrap_err().to_string();
            assert!(error.contains("(at /$defs/d"), "{error}");
            assert!(question.check(&json!({})).is_err());
        }
    }
}
