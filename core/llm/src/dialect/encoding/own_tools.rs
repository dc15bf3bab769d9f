//! What the app puts in the request's `tools` in the provider's own words: tools that the provider runs itself.

use super::super::GenerationSettings;
use serde_json::Value;

/// The entries, in the app's order.
pub(in super::super) fn own_tools(settings: &GenerationSettings) -> &[Value] {
    let own = settings.extra.get("tools").and_then(Value::as_array);
    own.map_or(&[], Vec::as_slice)
}

/// Returns what an entry calls the tools in it.
pub(in super::super) fn names(own: &Value) -> impl Iterator<Item = &str> {
    let declared = own["functionDeclarations"].as_array();
    let each = declared.map_or(&[][..], Vec::as_slice).iter();
    each.chain([own, &own["function"]])
        .filter_map(|tool| tool["name"].as_str())
}
