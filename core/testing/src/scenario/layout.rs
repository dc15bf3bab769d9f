//! The layout of scenario files: what fits into one line is in one line.

use serde_json::Value;

const WIDTH: usize = 118;

/// The text of a scenario file, as the project lays its files out.
#[must_use]
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    put(&mut text, value, 0, 0);
    text.push('\n');
    text
}

fn put(text: &mut String, value: &Value, depth: usize, used: usize) {
    let line = in_one_line(value);
    let room = WIDTH.saturating_sub(2 * depth + used);
    let is_step = value.get("gives").is_some();
    let is_scenario = value.get("steps").is_some();
    if line.chars().count() <= room && !is_step && !is_scenario {
        text.push_str(&line);
        return;
    }
    let indent = "  ".repeat(depth + 1);
    let end = "  ".repeat(depth);
    match value {
        Value::Array(items) if !items.is_empty() => {
            text.push_str("[\n");
            for (at, item) in items.iter().enumerate() {
                text.push_str(&indent);
                put(text, item, depth + 1, 1);
                text.push_str(if at + 1 < items.len() { ",\n" } else { "\n" });
            }
            text.push_str(&format!("{end}]"));
        }
        Value::Object(fields) if !fields.is_empty() => {
            text.push_str("{\n");
            for (at, (name, item)) in fields.iter().enumerate() {
                let name = Value::from(name.as_str()).to_string();
                text.push_str(&format!("{indent}{name}: "));
                put(text, item, depth + 1, name.len() + 3);
                text.push_str(if at + 1 < fields.len() { ",\n" } else { "\n" });
            }
            text.push_str(&format!("{end}}}"));
        }
        _ => text.push_str(&line),
    }
}

fn in_one_line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(in_one_line).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), in_one_line(value))
            };
            let fields: Vec<_> = fields.iter().map(field).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => other.to_string(),
    }
}
