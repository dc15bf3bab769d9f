use super::change::{Change, MisplacedChange};
use compact_str::CompactString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An owned [`Change`], with the same serde form.
///
/// ```
/// use serde_json::{Value, json};
/// use stepwell_llm::tool::OwnedChange;
///
/// let changes: Vec<OwnedChange> = serde_json::from_str(
///     r#"[{"op":"add","path":"","value":{}},{"op":"add","path":"/city","value":""},{"op":"append","path":"/city","text":"Os"}]"#,
/// )?;
/// let mut view = Value::Null;
/// for change in &changes {
///     change.apply(&mut view)?;
/// }
/// assert_eq!(view, json!({"city": "Os"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum OwnedChange {
    /// See [`Change::Add`].
    Add {
        /// The path of the new value. Most paths are short enough to be stored inline, without an allocation.
        path: CompactString,
        /// The initial value.
        value: Value,
    },
    /// See [`Change::Append`].
    Append {
        /// The path of the value.
        path: CompactString,
        /// The text to append; never empty.
        text: CompactString,
    },
    /// See [`Change::End`].
    End {
        /// The path of the value.
        path: CompactString,
    },
    /// See [`Change::Replace`].
    Replace {
        /// The path of the member, or of the innermost value that contains the difference.
        path: CompactString,
        /// The final value.
        value: Value,
    },
}

impl OwnedChange {
    /// Returns the change, borrowed.
    #[must_use]
    pub fn as_change(&self) -> Change<'_> {
        match self {
            Self::Add { path, value } => Change::Add { path, value },
            Self::Append { path, text } => Change::Append { path, text },
            Self::End { path } => Change::End { path },
            Self::Replace { path, value } => Change::Replace { path, value },
        }
    }

    /// Applies the change to `value`, like [`Change::apply`].
    ///
    /// # Errors
    /// The path does not exist: a change was left out, or `value` belongs to other arguments.
    pub fn apply(&self, value: &mut Value) -> Result<(), MisplacedChange> {
        self.as_change().apply(value)
    }
}

impl From<Change<'_>> for OwnedChange {
    fn from(change: Change<'_>) -> Self {
        match change {
            Change::Add { path, value } => Self::Add {
                path: path.into(),
                value: value.clone(),
            },
            Change::Append { path, text } => Self::Append {
                path: path.into(),
                text: text.into(),
            },
            Change::End { path } => Self::End { path: path.into() },
            Change::Replace { path, value } => Self::Replace {
                path: path.into(),
                value: value.clone(),
            },
        }
    }
}
