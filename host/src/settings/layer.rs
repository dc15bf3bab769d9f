//! The places that settings come from, each as a source for `config`.

use super::Settings;
use super::mistyped::{Mistyped, nearest};
use config::{ConfigError, Map, Source, Value, ValueKind};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;
use std::collections::BTreeMap;
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

/// The keys of all settings.
fn keys_of_settings() -> Vec<String> {
    match serde_json::to_value(Settings::default()) {
        Ok(Json::Object(known)) => known.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    }
}

/// What is wrong with the first of these variables that sets nothing, and all but goes by the name of one that would.
/// Names that are like none are somebody else's.
pub(super) fn mistyped(names: impl IntoIterator<Item = String>) -> Option<String> {
    let keys = keys_of_settings();
    let mut known: Vec<String> = keys.iter().flat_map(|key| variables(key)).collect();
    known.extend(OTHERS.map(str::to_owned));
    let spelled = |key: &String| format!("STEPWELL_{}", key.to_uppercase());
    let mut names = names.into_iter();
    names.find_map(|name| {
        if !name.starts_with("STEPWELL_") || known.contains(&name) {
            return None;
        }
        // A key that is spelled otherwise in the environment is meant as well.
        let key = keys.iter().find(|key| spelled(key) == name);
        let variable = key.and_then(|key| variables(key).into_iter().next());
        let ending = |name: &'_ str| name.strip_prefix("STEPWELL_").unwrap_or(name).to_owned();
        let meant = variable.or_else(|| {
            let endings: Vec<_> = known.iter().map(|name| ending(name)).collect();
            let nearest = nearest(&ending(&name), endings.iter().map(String::as_str))?;
            Some(format!("STEPWELL_{nearest}"))
        })?;
        let mistyped = Mistyped {
            name: &name,
            meant: Some(&meant),
        };
        Some(format!("environment variable {mistyped}"))
    })
}

/// Variables that are read and are no settings.
const OTHERS: [&str; 1] = [FILE_VARIABLE];

/// The variable that names the file.
pub(super) const FILE_VARIABLE: &str = "STEPWELL_CONFIG";

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
    let at = |start: usize, message: &dyn fmt::Display| {
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("{shown}, line {line}, column {column}: {message}")
    };
    let wrong = |error: &toml::de::Error| {
        // The library's own display repeats the line, which may hold the token.
        at(error.span().map_or(0, |span| span.start), &error.message())
    };
    let keys: BTreeMap<toml::Spanned<String>, IgnoredAny> =
        toml::from_str(text).map_err(|error| wrong(&error))?;
    let known = keys_of_settings();
    let mut keys: Vec<_> = keys.into_keys().collect();
    keys.sort_by_key(|key| key.span().start);
    for key in keys {
        let name = key.get_ref();
        if !known.contains(name) {
            let meant = nearest(name, known.iter().map(String::as_str));
            let mistyped = Mistyped { name, meant };
            return Err(at(key.span().start, &mistyped));
        }
    }
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
        assert_eq!(
            unknown,
            "my.toml, line 2, column 1: `modle` is no setting: is `model` meant?"
        );
        let alien = refused("[colours]\nprompt = 1\n");
        assert_eq!(
            alien,
            "my.toml, line 1, column 2: `colours` is no setting: `stepwell config` lists them"
        );
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
    fn a_mistyped_variable_is_named_with_the_one_that_was_meant() {
        let said = |name: &str| mistyped([name.to_owned()]);
        for (name, meant) in [
            ("STEPWELL_MODLE", "STEPWELL_MODEL"),
            ("STEPWELL_SERVE_TOKN", "STEPWELL_SERVE_TOKEN"),
            ("STEPWELL_TOKEN", "STEPWELL_SERVE_TOKEN"),
            ("STEPWELL_CONFG", "STEPWELL_CONFIG"),
            ("STEPWELL_MAX_TOOL_ROUND", "STEPWELL_MAX_TOOL_ROUNDS"),
        ] {
            let expected =
                format!("environment variable `{name}` is no setting: is `{meant}` meant?");
            assert_eq!(said(name), Some(expected));
        }
        // Settings, and what other programs read.
        for name in [
            "STEPWELL_MODEL",
            "STEPWELL_LOG",
            "STEPWELL_MOCK_LLM",
            "STEPWELL_SHARED",
            "STEPWELL_MCP_REFERENCE",
            "STEPWELL_LINTER",
            "MODLE",
        ] {
            assert_eq!(said(name), None, "{name}");
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
