//! Access to the fields of JSON objects that are not yet typed.

use serde_json::{Map, Value};

/// Returns the text of a field.
pub(super) fn text<'a>(object: &'a Map<String, Value>, field: &str) -> Option<&'a str> {
    object.get(field).and_then(Value::as_str)
}

/// Returns the objects of a list; none if the field is not a list.
pub(super) fn objects<'a>(
    holder: &'a mut Map<String, Value>,
    list: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    holder
        .get_mut(list)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}
