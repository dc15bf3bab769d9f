//! Arguments that the model writes in another form than the tool expects.

use super::change::{Change, Feed};
use super::pointer::push_segment;
use crate::tool::schema::Spelling;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Translates changes from the model's names to the tool's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spelled {
    spelling: Spelling,
    /// Whether the model has used the wrapper, once its first key is known.
    is_wrapped: Option<bool>,
}

impl Spelled {
    pub(super) fn new(spelling: Spelling) -> Self {
        Self {
            spelling,
            is_wrapped: None,
        }
    }

    /// Returns the same translation for empty arguments.
    pub(super) fn again(&self) -> Self {
        Self::new(self.spelling.clone())
    }

    pub(super) fn say(&mut self, change: Change<'_>, feed: &mut Feed<'_>) {
        match &self.spelling {
            Spelling::Renamed(names) => feed.say(at(change, &renamed(path(change), names))),
            Spelling::Wrapped(name) => {
                if self.is_wrapped.is_none() {
                    self.is_wrapped = begins(change, name, feed);
                }
                match self.is_wrapped {
                    None => {}
                    Some(false) => feed.say(change),
                    Some(true) => {
                        // Beside the wrapper nothing counts.
                        let inner = path(change).strip_prefix('/');
                        let inner = inner.and_then(|path| path.strip_prefix(name.as_str()));
                        if let Some(path) =
                            inner.filter(|path| matches!(path.as_bytes(), [] | [b'/', ..]))
                        {
                            feed.say(at(change, path));
                        }
                    }
                }
            }
        }
    }

    /// The value of which the model has written so much.
    pub(super) fn value(&self, value: Value, is_whole: bool) -> Value {
        let is_known = is_whole || self.is_wrapped.is_some();
        match &self.spelling {
            Spelling::Wrapped(_) if value.is_object() && !is_known => Value::Null,
            _ => self.spelling.read(value),
        }
    }
}

/// Returns whether the model uses the wrapper of this name, as far as the change tells. If it does not, the object that
/// was held back begins.
fn begins(change: Change<'_>, name: &str, feed: &mut Feed<'_>) -> Option<bool> {
    let root = json!({});
    match change {
        Change::Add { path: "", value } if *value == root => return None,
        Change::Add { path, .. } if path.strip_prefix('/') == Some(name) => return Some(true),
        Change::Add { path: "", .. } => {}
        _ => feed.say(Change::Add {
            path: "",
            value: &root,
        }),
    }
    Some(false)
}

fn path<'c>(change: Change<'c>) -> &'c str {
    match change {
        Change::Add { path, .. }
        | Change::Append { path, .. }
        | Change::End { path }
        | Change::Replace { path, .. } => path,
    }
}

fn at<'c>(change: Change<'c>, path: &'c str) -> Change<'c> {
    match change {
        Change::Add { value, .. } => Change::Add { path, value },
        Change::Append { text, .. } => Change::Append { path, text },
        Change::End { .. } => Change::End { path },
        Change::Replace { value, .. } => Change::Replace { path, value },
    }
}

fn renamed<'p>(path: &'p str, names: &[(String, String)]) -> Cow<'p, str> {
    let Some(inner) = path.strip_prefix('/') else {
        return path.into();
    };
    let (first, rest) = inner.split_at(inner.find('/').unwrap_or(inner.len()));
    // The model's names have no character that a pointer escapes.
    match names.iter().find(|(_, written)| written == first) {
        Some((own, _)) => {
            let mut path = String::new();
            push_segment(&mut path, own);
            path.push_str(rest);
            path.into()
        }
        None => path.into(),
    }
}
