//! Values that fit a JSON Schema, for the arguments of calls and for typed answers.

use serde_json::{Map, Value, json};

/// The seeds that are tried before a value is taken although it does not fit.
const ATTEMPTS: u64 = 16;

/// The depth at which values stop to grow.
const MAX_DEPTH: usize = 6;

/// A value that fits a schema, if one can be found: seed 0 gives the smallest, others vary what the schema leaves open.
///
/// ```
/// use serde_json::json;
/// use stepwell_testing::chaos::value_of;
///
/// let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]});
/// assert_eq!(value_of(&schema, 0), json!({"n": 3}));
/// ```
#[must_use]
pub fn value_of(schema: &Value, seed: u64) -> Value {
    let validator = jsonschema::validator_for(schema).ok();
    let fits = |value: &Value| {
        validator
            .as_ref()
            .is_none_or(|validator| validator.is_valid(value))
    };
    let mut last = Value::Null;
    for attempt in 0..ATTEMPTS {
        let mut generator = Generator {
            root: schema,
            seed: seed.wrapping_add(attempt),
        };
        last = generator.value(schema, 0);
        if fits(&last) {
            break;
        }
    }
    last
}

struct Generator<'a> {
    root: &'a Value,
    seed: u64,
}

impl Generator<'_> {
    /// A number below `bound`; always 0 with seed 0.
    fn pick(&mut self, bound: usize) -> usize {
        let picked = self.seed % bound.max(1) as u64;
        self.seed = (self.seed / bound.max(1) as u64).wrapping_mul(6_364_136_223_846_793_005);
        usize::try_from(picked).unwrap_or(0)
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array)
            && !values.is_empty()
        {
            return values[self.pick(values.len())].clone();
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = target.trim_start_matches('#');
            let Some(target) = self.root.pointer(target) else {
                return Value::Null;
            };
            return self.value(target, depth + 1);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(key).and_then(Value::as_array)
                && !choices.is_empty()
            {
                let choice = self.pick(choices.len());
                return self.value(&choices[choice], depth + 1);
            }
        }
        let types = match schema.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ if schema.get("items").is_some() => vec!["array"],
            _ => vec!["object"],
        };
        let chosen = self.pick(types.len());
        match types.get(chosen).copied().unwrap_or("object") {
            "string" => self.string(schema),
            "integer" => self.number(schema, true),
            "number" => self.number(schema, false),
            "boolean" => json!(self.pick(2) == 1),
            "null" => Value::Null,
            "array" => self.array(schema, depth),
            _ => self.object(schema, depth),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        let none = Vec::new();
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .unwrap_or(&none);
        for (name, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let is_required = required.iter().any(|required| required == name);
            if is_required || self.pick(3) == 1 {
                object.insert(name.clone(), self.value(property, depth + 1));
            }
        }
        for part in schema
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if let Value::Object(members) = self.value(part, depth + 1) {
                object.extend(members);
            }
        }
        Value::Object(object)
    }

    fn array(&mut self, schema: &Value, depth: usize) -> Value {
        let bound = |name: &str| {
            schema
                .get(name)
                .and_then(Value::as_u64)
                .map(|bound| bound as usize)
        };
        let least = bound("minItems").unwrap_or(0);
        let most = bound("maxItems").unwrap_or(least + 2).min(least + 2);
        let count = least + self.pick(most.saturating_sub(least) + 1);
        let empty = json!({"type": "string"});
        let items = schema.get("items").unwrap_or(&empty);
        (0..count).map(|_| self.value(items, depth + 1)).collect()
    }

    fn string(&mut self, schema: &Value) -> Value {
        const TEXTS: [&str; 5] = [
            "a",
            "Bergen",
            "größer 🙂",
            "\u{202e}<b>\"quoted\"\\</b>\n",
            "0",
        ];
        let formatted = match schema.get("format").and_then(Value::as_str) {
            Some("date") => Some("2026-01-31"),
            Some("date-time") => Some("2026-01-31T12:00:00Z"),
            Some("time") => Some("12:00:00Z"),
            Some("email") => Some("ada@example.org"),
            Some("uri") => Some("https://example.org/"),
            Some("uuid") => Some("123e4567-e89b-12d3-a456-426614174000"),
            _ => None,
        };
        let mut text = formatted
            .unwrap_or(TEXTS[self.pick(TEXTS.len())])
            .to_owned();
        let bound = |name: &str| {
            schema
                .get(name)
                .and_then(Value::as_u64)
                .map(|bound| bound as usize)
        };
        while text.chars().count() < bound("minLength").unwrap_or(0).min(10_000) {
            text.push('a');
        }
        if let Some(most) = bound("maxLength") {
            text = text.chars().take(most).collect();
        }
        text.into()
    }

    fn number(&mut self, schema: &Value, is_integer: bool) -> Value {
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        let least = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|bound| bound + 1.0));
        let most = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|bound| bound - 1.0));
        let step = bound("multipleOf").unwrap_or(1.0);
        let from = least.or(most.map(|most| most.min(0.0))).unwrap_or(0.0);
        let from = (from / step).ceil() * step;
        #[allow(clippy::cast_precision_loss, reason = "small")]
        let mut number = from + step * [0, 1, 2, 7, 40][self.pick(5)] as f64;
        if most.is_some_and(|most| number > most) {
            number = from;
        }
        #[allow(
            clippy::cast_possible_truncation,
            reason = "bounds of schemas are small"
        )]
        if is_integer {
            json!(number as i64)
        } else {
            json!(number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::value_of;
    use serde_json::json;

    #[test]
    fn values_fit_their_schema() {
        let schemas = [
            json!({"type": "object", "properties": {"city": {"type": "string", "minLength": 3}, "days": {"type": "integer",
                "minimum": 1, "maximum": 3}}, "required": ["city"], "additionalProperties": false}),
            json!({"$defs": {"leg": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}},
                "type": "object", "properties": {"legs": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/leg"}}},
                "required": ["legs"]}),
            json!({"anyOf": [{"type": "null"}, {"enum": ["a", 7]}, {"const": [1]}]}),
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]},
                {"type": "object", "properties": {"b": {"type": "number", "exclusiveMinimum": 4}}, "required": ["b"]}]}),
            json!({"type": ["string", "null"], "format": "date"}),
            json!({"type": "integer", "multipleOf": 5, "maximum": -10}),
        ];
        for schema in schemas {
            let validator = jsonschema::validator_for(&schema).unwrap();
            for seed in 0..200 {
                let value = value_of(&schema, seed);
                assert!(validator.is_valid(&value), "{schema} {seed}: {value}");
            }
        }
    }
}
