//! The app's own field `tools`: tools that the provider runs itself.

use super::super::GenerationSettings;
use serde_json::Value;

/// Returns the entries, in the app's order.
pub(in super::super) fn own_tools(settings: &GenerationSettings) -> &[Value] {
    let own = settings.extra.get("tools").and_then(Value::as_array);
    own.map_or(&[], Vec::as_slice)
}

/// Returns the names of the tools in an entry.
pub(in super::super) fn names(own: &Value) -> impl Iterator<Item = &str> {
    let declared = own["functionDeclarations"].as_array();
    let each = declared.map_or(&[][..], Vec::as_slice).iter();
    each.chain([own, &own["function"], &own["toolSpec"]])
        .filter_map(|tool| tool["name"].as_str())
}
