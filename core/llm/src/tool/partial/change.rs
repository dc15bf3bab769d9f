use serde::Serialize;
use serde_json::Value;

/// What a piece of text changed in the value of partial arguments.
///
/// `path` is a JSON Pointer (RFC 6901), `""` for the whole. [`Add`](Self::Add) and [`Replace`](Self::Replace) mean what
/// they mean in JSON Patch (RFC 6902), and are written like it: `{"op":"add","path":"/city","value":""}`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Change<'a> {
    /// A member, or the next element of an array, begins. A number, `true`, `false` or `null` is whole; a string,
    /// array or object is empty, and grows until its [`End`](Self::End).
    Add {
        /// Where.
        path: &'a str,
        /// The value it begins with.
        value: &'a Value,
    },
    /// A string grows.
    Append {
        /// Which.
        path: &'a str,
        /// By this; never empty.
        text: &'a str,
    },
    /// A string, array or object is whole.
    End {
        /// Which.
        path: &'a str,
    },
    /// The arguments are complete, and a key that came twice has another value than was said.
    Replace {
        /// The member, or the innermost thing around what differs.
        path: &'a str,
        /// The value it has.
        value: &'a Value,
    },
}

/// A change does not fit the value that it is applied to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is nothing at `{path}` to change: apply every change in order, to `null` at first")]
pub struct MisplacedChange {
    /// Where the change belongs.
    pub path: String,
}

impl Change<'_> {
    /// Makes the change in `value`: costs the length of the path and of what is new. Begin with `null`.
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
    /// The place is not there: a change was left out, or `value` is another's.
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

/// Who hears of changes, if anyone does.
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
