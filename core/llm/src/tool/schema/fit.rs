//! Tool schemas in a form that the provider takes.

use super::gemini;
use super::root::root_of;
use super::spelling::Spelling;
use super::words::{has_type, pointer, refs, subschemas};
use serde_json::{Map, Value, json};

/// The part of JSON Schema that a provider accepts in a tool's arguments, in addition to the common rules: a root of
/// type `object` without unions, `properties` in an object, `items` in an array.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rules {
    /// The root's properties have names of `^[a-zA-Z0-9_.-]{1,64}$`.
    pub(crate) plain_names: bool,
    /// Gemini's part of JSON Schema: definitions in `$defs`, nothing next to a `$ref`, `enum` for `const`, no recursion
    /// that is required.
    pub(crate) is_gemini: bool,
}

/// A schema that the provider takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fitted {
    /// The fitted schema.
    pub(crate) schema: Value,
    /// The descriptions of what is lost.
    pub(crate) lost: Vec<String>,
}

/// The provider takes no schema with the same meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    /// The schema is `false`, or not a schema.
    #[error("its schema allows nothing")]
    Nothing,
    /// A part of it is somewhere else, or nowhere.
    #[error("its schema refers to `{0}`, which is not in it")]
    Reference(String),
    /// An array's elements are described by what the others leave.
    #[error("its schema has `unevaluatedItems` without `items`")]
    UnevaluatedItems,
}

/// Returns the schema in the form that a provider with these rules accepts. For arguments as the model writes them
/// ([`Spelling`]), it accepts the same as the tool's own schema, unless something is lost. A schema that already fits
/// is unchanged.
pub(crate) fn fit(schema: &Value, rules: Rules) -> Result<Fitted, Unfit> {
    let mut root = root_of(schema).ok_or(Unfit::Nothing)?;
    match Spelling::of_root(&root) {
        Some(Spelling::Wrapped(name)) => root = wrap(root, &name),
        Some(spelling) if rules.plain_names => rename(&mut root, &spelling),
        _ => {}
    }
    root.insert("type".to_owned(), "object".into());
    let mut schema = Value::Object(root);
    complete(&mut schema)?;
    let mut lost = Vec::new();
    if rules.is_gemini {
        gemini::translate(&mut schema);
        lost.extend(gemini::end_recursion(&mut schema));
    }
    let mut missing = None;
    let document = schema.clone();
    refs(&mut schema, &mut |target| {
        let is_there = match pointer(target) {
            Some(pointer) => document.pointer(&pointer).is_some(),
            // An anchor.
            None => target.starts_with('#'),
        };
        if !is_there {
            missing = Some(target.clone());
        }
    });
    match missing {
        Some(target) => Err(Unfit::Reference(target)),
        None => Ok(Fitted { schema, lost }),
    }
}

/// The schema as that of one member. What the references name stays where it was.
fn wrap(root: Map<String, Value>, name: &str) -> Map<String, Value> {
    let is_held = |word: &str| matches!(word, "$schema" | "$id" | "$defs" | "definitions");
    let (held, inner): (Map<_, _>, Map<_, _>) =
        root.into_iter().partition(|(word, _)| is_held(word));
    let mut wrapped = json!({
        "type": "object",
        "properties": {name: inner},
        "required": [name],
        "additionalProperties": false,
    });
    if let Value::Object(words) = &mut wrapped {
        words.extend(held);
    }
    refs(&mut wrapped, &mut |target| {
        let is_moved = target == "#"
            || (target.starts_with("#/")
                && !["#/$defs/", "#/definitions/"]
                    .iter()
                    .any(|held| target.starts_with(held)));
        if is_moved {
            target.insert_str(1, &format!("/properties/{name}"));
        }
    });
    match wrapped {
        Value::Object(wrapped) => wrapped,
        _ => Map::new(),
    }
}

fn rename(root: &mut Map<String, Value>, spelling: &Spelling) {
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        let all = std::mem::take(properties).into_iter();
        *properties = all
            .map(|(name, schema)| (spelling.written(&name).to_owned(), schema))
            .collect();
    }
    if let Some(Value::Array(names)) = root.get_mut("required") {
        for name in names {
            if let Value::String(text) = name {
                *name = spelling.written(text).into();
            }
        }
    }
}

/// Adds keywords that the provider requires and that have no effect.
fn complete(schema: &mut Value) -> Result<(), Unfit> {
    if let Value::Bool(takes_all) = *schema {
        *schema = if takes_all {
            json!({})
        } else {
            json!({"not": {}})
        };
    }
    let Value::Object(words) = schema else {
        return Ok(());
    };
    if has_type(words, "object") {
        words.entry("properties").or_insert_with(|| json!({}));
    }
    if has_type(words, "array") && !words.contains_key("items") {
        if words.contains_key("unevaluatedItems") {
            return Err(Unfit::UnevaluatedItems);
        }
        words.insert("items".to_owned(), json!({}));
    }
    let mut result = Ok(());
    subschemas(words, &mut |word, schema| {
        let may_be_a_word = matches!(
            word,
            "additionalProperties"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "additionalItems"
        );
        if result.is_ok() && !(may_be_a_word && schema.is_boolean()) {
            result = complete(schema);
        }
    });
    result
}
