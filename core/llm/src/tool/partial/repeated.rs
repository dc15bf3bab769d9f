use super::change::{Change, Feed};
use super::pointer::push_segment;
use serde_json::Value;

/// A member with a repeated key, from the comma before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Withheld {
    pub(super) from: usize,
    /// The number of containers that are open around the member.
    pub(super) depth: usize,
}

/// Reports the differences between the complete value and the value that was reported, which only repeated keys can
/// cause. Linear.
pub(super) fn settle(path: &mut String, said: &Value, whole: &Value, feed: &mut Feed<'_>) {
    let length = path.len();
    match (said, whole) {
        (Value::Object(said), Value::Object(whole))
            if said.len() == whole.len() && said.keys().all(|key| whole.contains_key(key)) =>
        {
            for (key, said) in said {
                if let Some(whole) = whole.get(key) {
                    push_segment(path, key);
                    settle(path, said, whole, feed);
                    path.truncate(length);
                }
            }
        }
        (Value::Array(said), Value::Array(whole)) if said.len() == whole.len() => {
            for (index, (said, whole)) in said.iter().zip(whole).enumerate() {
                push_segment(path, &index.to_string());
                settle(path, said, whole, feed);
                path.truncate(length);
            }
        }
        _ if said == whole => {}
        _ => feed.say(Change::Replace { path, value: whole }),
    }
}
