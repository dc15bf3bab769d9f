//! The schema of an answer in a form that the provider can enforce.

use super::fit::{Fitted, Rules, fit};
use super::recursion::recursive;
use super::words::{has_type, is_annotation, subschemas};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The subset of JSON Schema that a provider can enforce.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grammar {
    /// The supported keywords.
    pub(crate) words: &'static [&'static str],
    /// The supported values of `format`.
    pub(crate) formats: &'static [&'static str],
    /// Whether the values of an `enum` may be arrays and objects.
    pub(crate) has_nested_values: bool,
    /// The largest `minItems`.
    pub(crate) most_min_items: u64,
    /// Objects have the members that they name and no others, and each schema says a type.
    pub(crate) is_closed: bool,
    /// Whether all members must be required.
    pub(crate) requires_all: bool,
    /// Whether a schema may be recursive.
    pub(crate) is_recursive: bool,
    /// The rest is Gemini's.
    pub(crate) rules: Rules,
}

/// A schema that the provider enforces.
#[derive(Debug)]
pub(crate) struct Held {
    /// The schema: an answer that fits it fits the app's schema, but for what is lost.
    pub(crate) schema: Value,
    /// The descriptions of what is not enforced.
    pub(crate) lost: BTreeSet<String>,
}

/// Returns the schema in the form that a provider with this grammar accepts. Whatever the grammar cannot express goes
/// into the description instead, as in Anthropic's own SDKs.
///
/// # Errors
/// The part of the schema that cannot be left out.
pub(crate) fn hold(schema: &Value, grammar: &Grammar) -> Result<Held, String> {
    if let Some(super::Spelling::Wrapped(_)) = super::Spelling::of(schema) {
        return Err("it is not that of one object".to_owned());
    }
    let rules = Rules {
        plain_names: false,
        ..grammar.rules
    };
    let Fitted { mut schema, lost } = fit(schema, rules).map_err(|unfit| unfit.to_string())?;
    let mut holding = Holding {
        grammar,
        lost: lost.into_iter().collect(),
    };
    holding.hold(&mut schema)?;
    if !grammar.is_recursive && !recursive(&mut schema).is_empty() {
        return Err("it is recursive".to_owned());
    }
    Ok(Held {
        schema,
        lost: holding.lost,
    })
}

struct Holding<'g> {
    grammar: &'g Grammar,
    lost: BTreeSet<String>,
}

impl Holding<'_> {
    fn hold(&mut self, schema: &mut Value) -> Result<(), String> {
        let Value::Object(words) = schema else {
            return Ok(());
        };
        self.unite(words);
        if words.contains_key("allOf") && !self.has("allOf") {
            return Err("`allOf` in it cannot be said".to_owned());
        }
        self.translate(words);
        if words.contains_key("$ref") {
            self.alone(words);
        } else if self.grammar.is_closed {
            typed(words)?;
            self.close(words)?;
        }
        let mut result = Ok(());
        subschemas(words, &mut |_, schema| {
            if result.is_ok() {
                result = self.hold(schema);
            }
        });
        result
    }

    /// `oneOf` is `anyOf` where no value fits two of its schemas, and an `allOf` of one schema is that schema.
    fn unite(&mut self, words: &mut Map<String, Value>) {
        if !self.has("oneOf")
            && !words.contains_key("anyOf")
            && let Some(Value::Array(choices)) = words.shift_remove("oneOf")
        {
            if !are_apart(&choices) {
                self.lost.insert("`oneOf`, which is `anyOf` now".to_owned());
            }
            words.insert("anyOf".to_owned(), choices.into());
        }
        if !self.has("allOf")
            && let Some([Value::Object(only)]) = words
                .get("allOf")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
            && only.keys().all(|word| !words.contains_key(word))
        {
            let only = only.clone();
            words.shift_remove("allOf");
            words.extend(only);
        }
    }

    fn has(&self, word: &str) -> bool {
        self.grammar.words.contains(&word)
    }

    /// Moves whatever the grammar cannot express into the description.
    fn translate(&mut self, words: &mut Map<String, Value>) {
        let grammar = self.grammar;
        let is_known = |word: &str, value: &Value| match word {
            "format" => value
                .as_str()
                .is_some_and(|format| grammar.formats.contains(&format)),
            "minItems" => value
                .as_u64()
                .is_some_and(|least| least <= grammar.most_min_items),
            "enum" if !grammar.has_nested_values => value
                .as_array()
                .is_some_and(|values| !values.iter().any(is_nested)),
            "description" | "additionalProperties" => true,
            // Definitions are not keywords of their own: they are converted where they are referred to.
            "$defs" | "definitions" => true,
            _ => grammar.words.contains(&word),
        };
        let mut said = String::new();
        words.retain(|word, value| {
            if is_known(word, value) {
                return true;
            }
            let is_said =
                !is_annotation(word) || matches!(word.as_str(), "format" | "default" | "examples");
            if is_said {
                said = format!(
                    "{said}{}{word}: {value}",
                    if said.is_empty() { "" } else { "; " }
                );
            }
            if !is_annotation(word) {
                self.lost.insert(format!("`{word}`"));
            }
            false
        });
        if !said.is_empty() {
            let text = words.get("description").and_then(Value::as_str);
            let text = text.map_or_else(|| said.clone(), |text| format!("{text} ({said})"));
            words.insert("description".to_owned(), text.into());
        }
    }

    /// Removes the keywords next to a reference. Its description moves to a schema around the reference.
    fn alone(&mut self, words: &mut Map<String, Value>) {
        let description = words.shift_remove("description");
        words.retain(|word, _| {
            let is_kept = matches!(word.as_str(), "$ref" | "$defs" | "definitions");
            if !is_kept && !is_annotation(word) {
                self.lost.insert(format!("`{word}` beside a reference"));
            }
            is_kept
        });
        if let Some(description) = description
            && let Some(target) = words.shift_remove("$ref")
        {
            words.insert("description".to_owned(), description);
            words.insert("anyOf".to_owned(), json!([{"$ref": target}]));
        }
    }

    fn close(&mut self, words: &mut Map<String, Value>) -> Result<(), String> {
        if !has_type(words, "object") {
            words.shift_remove("additionalProperties");
            return Ok(());
        }
        let names = words.get("properties").and_then(Value::as_object);
        let names: Vec<String> = names
            .map(|all| all.keys().cloned().collect())
            .unwrap_or_default();
        match words.get("additionalProperties") {
            Some(Value::Bool(false)) => {}
            None if !names.is_empty() => {}
            _ => return Err("an object in it has members of any name".to_owned()),
        }
        words.insert("additionalProperties".to_owned(), false.into());
        if !self.grammar.requires_all {
            return Ok(());
        }
        let required = words.insert("required".to_owned(), json!(names));
        let required = required
            .and_then(|names| names.as_array().cloned())
            .unwrap_or_default();
        if let Some(Value::Object(properties)) = words.get_mut("properties") {
            for (name, schema) in properties {
                if !required.iter().any(|other| other == name) && !takes_null(schema) {
                    self.lost
                        .insert(format!("`{name}` may be null where it may be absent"));
                    or_null(schema);
                }
            }
        }
        Ok(())
    }
}

fn is_nested(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

fn typed(words: &mut Map<String, Value>) -> Result<(), String> {
    if words.contains_key("type") || words.contains_key("anyOf") {
        return Ok(());
    }
    let values = match (words.get("const"), words.get("enum")) {
        (Some(value), _) => vec![value.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        _ => return Err("a value in it may be of any kind".to_owned()),
    };
    let types: BTreeSet<&str> = values
        .iter()
        .map(|value| match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        })
        .collect();
    let types: Vec<_> = types.into_iter().collect();
    let types = if let [only] = types[..] {
        json!(only)
    } else {
        json!(types)
    };
    words.insert("type".to_owned(), types);
    Ok(())
}

fn takes_null(schema: &Value) -> bool {
    let Some(words) = schema.as_object() else {
        return false;
    };
    if let Some(values) = words.get("enum").and_then(Value::as_array) {
        return values.contains(&Value::Null);
    }
    if let Some(choices) = words.get("anyOf").and_then(Value::as_array) {
        return choices.iter().any(takes_null);
    }
    has_type(words, "null")
}

fn or_null(schema: &mut Value) {
    let is_simple = |words: &Map<String, Value>| {
        let others = ["enum", "const", "anyOf", "allOf"];
        words.get("type").is_some_and(Value::is_string)
            && !others.iter().any(|word| words.contains_key(*word))
    };
    match schema {
        Value::Object(words) if is_simple(words) => {
            let kind = words.get("type").cloned().unwrap_or_default();
            words.insert("type".to_owned(), json!([kind, "null"]));
        }
        _ => *schema = json!({"anyOf": [schema.take(), {"type": "null"}]}),
    }
}

/// Returns whether no value fits two of the schemas, as far as their types and one constant of each tell.
fn are_apart(choices: &[Value]) -> bool {
    let pairs = || {
        let all = choices.iter().enumerate();
        all.flat_map(|(at, one)| choices[at + 1..].iter().map(move |other| (one, other)))
    };
    pairs().all(|(one, other)| {
        let kinds = (one.get("type"), other.get("type"));
        let is_number =
            |kind: Option<&Value>| kind.is_some_and(|kind| kind == "number" || kind == "integer");
        if let (Some(Value::String(kind)), Some(Value::String(another))) = kinds
            && kind != another
            && !(is_number(kinds.0) && is_number(kinds.1))
        {
            return true;
        }
        let Some(properties) = one.get("properties").and_then(Value::as_object) else {
            return false;
        };
        let requires = |schema: &Value, name: &str| {
            let names = schema.get("required").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|other| other == name))
        };
        let constant = |schema: &Value| match schema.get("enum").and_then(Value::as_array) {
            Some(values) if values.len() == 1 => values.first().cloned(),
            Some(_) => None,
            None => schema.get("const").cloned(),
        };
        properties.iter().any(|(name, schema)| {
            let another = other
                .get("properties")
                .and_then(|all| all.get(name))
                .and_then(constant);
            let is_another = another.is_some_and(|another| {
                constant(schema).is_some_and(|constant| constant != another)
            });
            is_another
                && [one, other]
                    .iter()
                    .all(|choice| requires(choice, name) && choice["type"] == "object")
        })
    })
}
