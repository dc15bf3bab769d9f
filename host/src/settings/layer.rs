//! The places that settings come from, each as a source for `config`.

use super::Settings;
use config::{ConfigError, Map, Source, Value, ValueKind};
use serde::Serialize;
use serde_json::Value as Json;
use std::fmt;
use std::path::Path;
use stepwell_demo::Failure;

/// Where the value of a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "name", rename_all = "snake_case")]
pub(crate) enum Origin {
    /// A flag of the command.
    Flag(String),
    /// An environment variable.
    Environment(String),
    /// A file.
    File(String),
    /// Nobody has set it.
    Default,
}

impl Origin {
    /// As `config` keeps it.
    fn mark(&self) -> String {
        match self {
            Self::Flag(name) => format!("flag {name}"),
            Self::Environment(name) => format!("environment {name}"),
            Self::File(path) => format!("file {path}"),
            Self::Default => String::new(),
        }
    }

    pub(super) fn of(mark: Option<&str>) -> Self {
        let Some((kind, name)) = mark.and_then(|mark| mark.split_once(' ')) else {
            return Self::Default;
        };
        let name = name.to_owned();
        match kind {
            "flag" => Self::Flag(name),
            "environment" => Self::Environment(name),
            _ => Self::File(name),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::File(path) => write!(f, "file {path}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// What one place says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer(Map<String, Value>);

impl Layer {
    fn set(&mut self, key: &str, origin: &Origin, value: impl Into<ValueKind>) {
        let value = Value::new(Some(&origin.mark()), value);
        self.0.insert(key.to_owned(), value);
    }
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, ConfigError> {
        Ok(self.0.clone())
    }
}

/// What the flags of a command say: those that are given.
///
/// # Errors
/// A path is no text.
pub(crate) fn flags(flags: &impl Serialize) -> Result<Layer, Failure> {
    let mut layer = Layer::default();
    let Json::Object(given) = serde_json::to_value(flags).map_err(Failure::usage)? else {
        return Ok(layer);
    };
    for (key, value) in given {
        let origin = Origin::Flag(format!("--{}", key.replace('_', "-")));
        match value {
            Json::Null => {}
            Json::Bool(value) => layer.set(&key, &origin, value),
            Json::Number(value) => layer.set(&key, &origin, value.as_u64()),
            Json::String(value) => layer.set(&key, &origin, value),
            Json::Array(values) if values.is_empty() => {}
            Json::Array(values) => {
                let values = values.iter().filter_map(Json::as_str);
                layer.set(&key, &origin, values.collect::<Vec<_>>());
            }
            Json::Object(_) => {}
        }
    }
    Ok(layer)
}

/// The variables by which a setting is known, the first one before the others.
pub(crate) fn variables(key: &str) -> Vec<String> {
    match key {
        "token" => vec!["STEPWELL_SERVE_TOKEN".to_owned()],
        "max_tool_rounds" | "enable_tool_continuation" => {
            let plain = key.to_uppercase();
            vec![format!("STEPWELL_{plain}"), plain]
        }
        _ => vec![format!("STEPWELL_{}", key.to_uppercase())],
    }
}

/// The settings that guard the server: one that was to have them must not do without.
const GUARDS: [&str; 5] = ["token", "tokens", "jwt_issuer", "jwt_audience", "jwt_keys"];

/// What the environment says, a layer for each variable. An empty variable says nothing, but for those of the guards.
///
/// A list is in commas, or is a JSON array.
pub(super) fn environment(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(Origin, Layer)>, String> {
    let mut layers = Vec::new();
    let Ok(Json::Object(known)) = serde_json::to_value(Settings::default()) else {
        return Ok(layers);
    };
    for (key, default) in known {
        let given = variables(&key).into_iter().find_map(|name| {
            let text = variable(&name)?;
            (GUARDS.contains(&&*key) || !text.trim().is_empty()).then_some((name, text))
        });
        let Some((name, text)) = given else {
            continue;
        };
        let origin = Origin::Environment(name);
        let mut layer = Layer::default();
        if !default.is_array() {
            layer.set(&key, &origin, text);
        } else if text.trim_start().starts_with('[') {
            let values: Vec<String> = serde_json::from_str(&text)
                .map_err(|error| format!("{origin}: this is no list of texts: {error}"))?;
            layer.set(&key, &origin, values);
        } else {
            let values = text.split(',').map(str::trim);
            let values = values.filter(|value| !value.is_empty());
            layer.set(&key, &origin, values.collect::<Vec<_>>());
        }
        layers.push((origin, layer));
    }
    Ok(layers)
}

/// What a file in TOML says.
///
/// # Errors
/// It is no TOML, it has a key that is no setting, or a value of the wrong type: with line and column.
pub(super) fn file(path: &Path, text: &str) -> Result<Layer, String> {
    let shown = path.display();
    let wrong = |error: &toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        // The library's own display repeats the line, which may hold the token.
        format!("{shown}, line {line}, column {column}: {}", error.message())
    };
    // Strictly by the types: what `config` would convert is not what was meant.
    toml::from_str::<Settings>(text).map_err(|error| wrong(&error))?;
    let values: Map<String, Value> = toml::from_str(text).map_err(|error| wrong(&error))?;
    let origin = Origin::File(shown.to_string());
    let mut layer = Layer::default();
    for (key, value) in values {
        layer.set(&key, &origin, value.kind);
    }
    Ok(layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        file(Path::new("my.toml"), text).expect_err("it is wrong")
    }

    #[test]
    fn a_file_that_is_wrong_is_told_where() {
        let unknown = refused("provider = \"openai\"\nmodle = \"m\"\n");
        assert!(unknown.starts_with("my.toml, line 2, column 1: unknown field `modle`"));
        let mistyped = refused("\n  max_tool_rounds = \"ten\"");
        assert!(
            mistyped.starts_with("my.toml, line 2, column 21: "),
            "{mistyped}"
        );
        let broken = refused("listen = \n");
        assert!(broken.starts_with("my.toml, line 1, "), "{broken}");
        let none = refused("at_limit = \"stop\"");
        assert!(
            none.ends_with("`stop` is none of: fail, complete, sum-up"),
            "{none}"
        );
        assert!(refused("keep_alive = 0").contains("nonzero"));
    }

    #[test]
    fn no_message_repeats_a_token() {
        for text in [
            "token = 4711",
            "token = [\"4711\"]",
            "token = \"4711",
            "token = 47\"11",
        ] {
            let message = refused(text);
            assert!(
                !message.contains("4711") && !message.contains("47"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_list_in_a_variable_has_commas_or_is_json() {
        for (text, expected) in [
            ("a, b ,,c", vec!["a", "b", "c"]),
            ("[\"x, y\", \"z\"]", vec!["x, y", "z"]),
        ] {
            let layers = environment(|name| (name == "STEPWELL_MCP").then(|| text.to_owned()));
            let layers = layers.expect("a list");
            let (origin, layer) = &layers[0];
            assert_eq!(*origin, Origin::Environment("STEPWELL_MCP".to_owned()));
            let values = layer.0["mcp"].clone().into_array().expect("a list");
            let values: Vec<_> = values.iter().map(ToString::to_string).collect();
            assert_eq!(values, expected);
        }
        let broken = environment(|name| (name == "STEPWELL_MCP").then(|| "[a".to_owned()));
        assert!(broken.expect_err("no list").contains("STEPWELL_MCP"));
    }

    #[test]
    fn an_empty_variable_says_nothing_but_for_the_guards() {
        let layers = environment(|_| Some(String::new())).expect("nothing is wrong yet");
        let origins: Vec<_> = layers.into_iter().map(|(origin, _)| origin).collect();
        let guards = [
            "SERVE_TOKEN",
            "TOKENS",
            "JWT_ISSUER",
            "JWT_AUDIENCE",
            "JWT_KEYS",
        ];
        let variable = |guard| Origin::Environment(format!("STEPWELL_{guard}"));
        assert_eq!(origins, guards.map(variable));
    }
}
