use super::upgrade::upgrade;
use super::words::{is_annotation, pointer, refs};
use serde_json::{Map, Value};

/// Returns the root of a schema in the keywords of 2020-12. A root that only refers to another schema of the document
/// is replaced by that one.
pub(super) fn root_of(schema: &Value) -> Option<Map<String, Value>> {
    let mut root = match schema {
        Value::Object(root) => root.clone(),
        Value::Null | Value::Bool(true) => Map::new(),
        _ => return None,
    };
    upgrade(&mut root);
    // Schemas that refer to each other in a circle say nothing.
    for _ in 0..8 {
        let Some(inlined) = inlined(&root) else {
            break;
        };
        root = inlined;
        let mut is_used = false;
        let mut whole = Value::Object(root);
        refs(&mut whole, &mut |_| is_used = true);
        root = match whole {
            Value::Object(root) => root,
            _ => Map::new(),
        };
        if !is_used {
            root.retain(|word, _| !matches!(word.as_str(), "$defs" | "definitions"));
        }
    }
    Some(root)
}

fn inlined(root: &Map<String, Value>) -> Option<Map<String, Value>> {
    let target = pointer(root.get("$ref")?.as_str()?)?;
    let is_held = |word: &str| matches!(word, "$ref" | "$defs" | "definitions");
    if !root.keys().all(|word| is_held(word) || is_annotation(word)) {
        return None;
    }
    let (first, rest) = target.strip_prefix('/')?.split_once('/')?;
    let held = root.get(first)?.pointer(&format!("/{rest}"))?;
    let mut inlined = held.as_object()?.clone();
    if ["$id", "$defs", "definitions"]
        .iter()
        .any(|word| inlined.contains_key(*word))
    {
        return None;
    }
    for (word, value) in root.iter().filter(|(word, _)| *word != "$ref") {
        inlined.insert(word.clone(), value.clone());
    }
    Some(inlined)
}
