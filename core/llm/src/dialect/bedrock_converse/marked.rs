use super::super::anthropic::Mark;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::json;

/// An item of a list, and the cache point after it.
#[derive(Debug)]
pub(super) struct Marked<T> {
    pub(super) item: T,
    pub(super) mark: Option<Mark>,
}

impl<T> From<T> for Marked<T> {
    fn from(item: T) -> Self {
        Self { item, mark: None }
    }
}

/// Writes each item, and its cache point as an item of its own.
///
/// Source: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CachePointBlock.html>.
pub(super) fn serialize<T: Serialize, S: Serializer>(
    items: &[Marked<T>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(None)?;
    for Marked { item, mark } in items {
        list.serialize_element(item)?;
        let point = mark.map(|mark| match mark {
            Mark::FiveMinutes => json!({"type": "default"}),
            Mark::OneHour => json!({"type": "default", "ttl": "1h"}),
        });
        if let Some(point) = point {
            list.serialize_element(&json!({"cachePoint": point}))?;
        }
    }
    list.end()
}

/// A list with its cache points.
pub(super) struct List<'a, T>(pub(super) &'a [Marked<T>]);

impl<T: Serialize> Serialize for List<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.0, serializer)
    }
}
