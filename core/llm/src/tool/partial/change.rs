use serde::Serialize;
use serde_json::Value;

/// A change of the value of partial arguments.
///
/// `path` is a JSON Pointer (RFC 6901), `""` for the whole. [`Add`](Self::Add) and [`Replace`](Self::Replace) mean what
/// they mean in JSON Patch (RFC 6902), and are written like it: `{"op":"add","path":"/city","value":""}`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Change<'a> {
    /// A member, or the next element of an array, begins. A number, `true`, `false` or `null` is complete; a string,
    /// array or object is empty, and grows until its [`End`](Self::End).
    Add {
        /// The path of the new value.
        path: &'a str,
        /// The initial value.
        value: &'a Value,
    },
    /// A string grows.
    Append {
        /// The path of the value.
        path: &'a str,
        /// The text to append; never empty.
        text: &'a str,
    },
    /// A string, array or object is complete.
    End {
        /// The path of the value.
        path: &'a str,
    },
    /// The arguments are complete, and a repeated key has another value than was reported.
    Replace {
        /// The path of the member, or of the innermost value that contains the difference.
        path: &'a str,
        /// The final value.
        value: &'a Value,
    },
}

/// A change does not fit the value that it is applied to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is nothing at `{path}` to change: apply every change in order, to `null` at first")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct MisplacedChange {
    /// The path of the change.
    pub path: String,
}

impl Change<'_> {
    /// Applies the change to `value`, at the cost of the length of the path and of the new text. Begin with `null`.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use stepwell_llm::tool::PartialArguments;
    ///
    /// let (mut arguments, mut view) = (PartialArguments::new(), Value::Null);
    /// for fragment in [r#"{"ci"#, r#"ty":"Os"#, r#"lo"}"#] {
    ///     arguments.push_with(fragment, |change| change.apply(&mut view).expect("in order"));
    ///     assert_eq!(view, arguments.value());
    /// }
    /// assert_eq!(view, json!({"city": "Oslo"}));
    /// ```
    ///
    /// # Errors
    /// The path does not exist: a change was left out, or `value` belongs to other arguments.
    pub fn apply(&self, value: &mut Value) -> Result<(), MisplacedChange> {
        let (path, done) = match *self {
            Self::Add { path, value: new } => (path, add(value, path, new)),
            Self::Append { path, text } => (
                path,
                match value.pointer_mut(path) {
                    Some(Value::String(string)) => {
                        string.push_str(text);
                        Some(())
                    }
                    _ => None,
                },
            ),
            Self::End { path } => (path, value.pointer(path).map(|_| ())),
            Self::Replace { path, value: new } => {
                (path, value.pointer_mut(path).map(|old| old.clone_from(new)))
            }
        };
        done.ok_or_else(|| MisplacedChange {
            path: path.to_owned(),
        })
    }
}

fn add(value: &mut Value, path: &str, new: &Value) -> Option<()> {
    let Some((parent, key)) = path.rsplit_once('/') else {
        value.clone_from(new);
        return Some(());
    };
    match value.pointer_mut(parent)? {
        Value::Object(members) => {
            let key = if key.contains('~') {
                key.replace("~1", "/").replace("~0", "~")
            } else {
                key.to_owned()
            };
            members.insert(key, new.clone());
        }
        Value::Array(elements) if key.parse() == Ok(elements.len()) => elements.push(new.clone()),
        _ => return None,
    }
    Some(())
}

/// The receiver of changes, if there is one.
pub(super) struct Feed<'f>(Option<&'f mut dyn FnMut(Change<'_>)>);

impl<'f> Feed<'f> {
    pub(super) fn none() -> Self {
        Self(None)
    }

    pub(super) fn to(on_change: &'f mut dyn FnMut(Change<'_>)) -> Self {
        Self(Some(on_change))
    }

    pub(super) fn listens(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn say(&mut self, change: Change<'_>) {
        if let Some(on_change) = &mut self.0 {
            on_change(change);
        }
    }
}
