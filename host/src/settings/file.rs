//! Settings in a file.

use super::nearest::nearest;
use super::setting::{Origin, Values, check};
use clap::{Arg, ArgAction};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use stepwell_demo::Failure;
use toml::{Spanned, Value};

/// The variable that names the settings file.
pub(super) const FILE_VARIABLE: &str = "STEPWELL_CONFIG";

/// The settings file.
pub(super) struct SettingsFile {
    pub(super) path: Option<PathBuf>,
    /// Whether the file exists.
    pub(super) is_read: bool,
    pub(super) values: Values,
}

/// Reads the file that the flag or the variable names, or the user's own file if there is one.
///
/// # Errors
/// The named file cannot be read, or a name or value in the file is wrong.
pub(super) fn find(named: Option<&PathBuf>, settings: &[Arg]) -> Result<SettingsFile, Failure> {
    let named = named.cloned().or_else(|| variable(FILE_VARIABLE));
    let is_named = named.is_some();
    let mut file = SettingsFile {
        path: named.or_else(user_file),
        is_read: false,
        values: Values::new(),
    };
    let Some(path) = &file.path else {
        return Ok(file);
    };
    match fs::read_to_string(path) {
        Ok(text) => {
            file.values = read(path, &text, settings).map_err(Failure::Usage)?;
            file.is_read = true;
        }
        Err(error)
            if !is_named
                && matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
        Err(error) => return Err(Failure::usage(format!("{}: {error}", path.display()))),
    }
    Ok(file)
}

/// Returns the path of the user's own file. The working directory is never searched: a file that another user put there
/// could name commands to run and an address to send the key to.
fn user_file() -> Option<PathBuf> {
    let base = if cfg!(windows) {
        variable("APPDATA")?
    } else {
        // The XDG Base Directory Specification: a relative path is ignored.
        let set = variable("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
        set.or_else(|| Some(variable("HOME")?.join(".config")))?
    };
    Some(base.join("stepwell").join("config.toml"))
}

fn variable(name: &str) -> Option<PathBuf> {
    let value = env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// Reads a file in TOML.
///
/// # Errors
/// The text is no TOML, or a name or value is wrong: with line and column, and without repeating a secret.
fn read(path: &Path, text: &str, settings: &[Arg]) -> Result<Values, String> {
    let shown = path.display();
    let at = |start: usize, message: &dyn fmt::Display| {
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("{shown}, line {line}, column {column}: {message}")
    };
    let entries: BTreeMap<Spanned<String>, Spanned<Value>> =
        toml::from_str(text).map_err(|error| {
            // The error's own display repeats the line, which may hold the token.
            at(error.span().map_or(0, |span| span.start), &error.message())
        })?;
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut read = Values::new();
    for (key, value) in entries {
        let (name, start) = (key.get_ref(), value.span().start);
        let setting = settings.iter().find(|setting| setting.get_id() == name);
        let setting = setting.ok_or_else(|| at(key.span().start, &unknown(name, settings)))?;
        let values = values(setting, value.get_ref()).map_err(|error| at(start, &error))?;
        check(setting, &values).map_err(|error| at(start, &error))?;
        read.insert(name.clone(), (Origin::File(shown.to_string()), values));
    }
    Ok(read)
}

fn unknown(name: &str, settings: &[Arg]) -> String {
    let known = settings.iter().map(|setting| setting.get_id().as_str());
    match nearest(name, known) {
        Some(meant) => format!("`{name}` is no setting: is `{meant}` meant?"),
        None => format!("`{name}` is no setting: `stepwell config` lists them"),
    }
}

/// Converts a value to arguments.
fn values(setting: &Arg, value: &Value) -> Result<Vec<OsString>, String> {
    let is_list = matches!(setting.get_action(), ArgAction::Append);
    match value {
        Value::Array(values) if is_list => values
            .iter()
            .map(|value| value.as_str().map(OsString::from))
            .collect::<Option<_>>()
            .ok_or_else(|| "this setting is a list of strings".to_owned()),
        _ if is_list => Err("this setting is a list of strings".to_owned()),
        Value::String(text) => Ok(vec![text.into()]),
        Value::Integer(number) => Ok(vec![number.to_string().into()]),
        Value::Float(number) => Ok(vec![number.to_string().into()]),
        Value::Boolean(value) => Ok(vec![value.to_string().into()]),
        _ => Err("this setting is a single value".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::setting::known_settings;

    fn refused(text: &str) -> String {
        read(Path::new("my.toml"), text, &known_settings()).expect_err("it is wrong")
    }

    #[test]
    fn wrong_file_is_refused_with_the_place() {
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
            none.ends_with("[possible values: fail, complete, sum-up]"),
            "{none}"
        );
        assert!(refused("keep_alive = 0").contains("non-zero"));
        assert!(refused("mcp = \"one\"").contains("a list of strings"));
    }

    #[test]
    fn no_message_repeats_a_token() {
        for text in [
            "token = 4711-",
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
}
