//! Settings in environment variables.

use super::file::FILE_VARIABLE;
use super::nearest::nearest;
use super::setting::{Origin, PREFIX, Values, check, variables};
use clap::{Arg, ArgAction};
use std::ffi::{OsStr, OsString};
use stepwell_demo::Failure;

/// The settings that guard the server: an empty variable of theirs is an error, so that the server is not left open.
const GUARDS: [&str; 5] = ["token", "tokens", "jwt_issuer", "jwt_audience", "jwt_keys"];

/// Reads the variables of all settings. An empty variable sets nothing, except for the settings that guard the server.
///
/// # Errors
/// A value is wrong.
pub(super) fn read(
    settings: &[Arg],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Values, Failure> {
    let mut read = Values::new();
    for setting in settings {
        let key = setting.get_id().as_str();
        let is_set =
            |value: &OsStr| GUARDS.contains(&key) || !value.to_string_lossy().trim().is_empty();
        let given = variables(setting).into_iter().find_map(|name| {
            let value = variable(&name).filter(|value| is_set(value))?;
            Some((name, value))
        });
        let Some((name, value)) = given else {
            continue;
        };
        let origin = Origin::Environment(name);
        let wrong = |reason| Failure::usage(format!("{origin}: {reason}"));
        let values = match setting.get_action() {
            ArgAction::Append => list(&value.to_string_lossy()).map_err(wrong)?,
            _ => vec![value],
        };
        check(setting, &values).map_err(wrong)?;
        read.insert(key.to_owned(), (origin, values));
    }
    Ok(read)
}

/// Splits a list at its commas, or reads it as a JSON array.
fn list(text: &str) -> Result<Vec<OsString>, String> {
    if text.trim_start().starts_with('[') {
        let values: Vec<String> = serde_json::from_str(text)
            .map_err(|error| format!("this is not a JSON array of strings: {error}"))?;
        return Ok(values.into_iter().map(OsString::from).collect());
    }
    let values = text.split(',').map(str::trim);
    Ok(values
        .filter(|value| !value.is_empty())
        .map(OsString::from)
        .collect())
}

/// Refuses a variable whose name is almost that of a setting: a mistyped token would leave the server open.
pub(super) fn check_names(settings: &[Arg]) -> Result<(), Failure> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    match names.into_iter().find_map(|name| mistyped(&name, settings)) {
        Some(reason) => Err(Failure::Usage(reason)),
        None => Ok(()),
    }
}

/// Says what was probably meant by a variable that sets nothing. A name unlike any setting's belongs to another program.
fn mistyped(name: &str, settings: &[Arg]) -> Option<String> {
    let ending = name.strip_prefix(PREFIX)?;
    let mut known: Vec<_> = settings.iter().flat_map(variables).collect();
    known.push(FILE_VARIABLE.to_owned());
    if known.iter().any(|known| known == name) {
        return None;
    }
    // A variable may be spelled otherwise than its setting.
    let by_key = settings
        .iter()
        .find(|setting| setting.get_id().as_str().to_uppercase() == ending);
    let meant = by_key.and_then(|setting| variables(setting).into_iter().next());
    let meant = meant.or_else(|| {
        let endings = known.iter().filter_map(|name| name.strip_prefix(PREFIX));
        nearest(ending, endings).map(|ending| format!("{PREFIX}{ending}"))
    })?;
    Some(format!(
        "environment variable `{name}` is no setting: is `{meant}` meant?"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::setting::known_settings;

    #[test]
    fn mistyped_variable_is_named_with_its_nearest() {
        let settings = known_settings();
        for (name, meant) in [
            ("STEPWELL_MODLE", "STEPWELL_MODEL"),
            ("STEPWELL_SERVE_TOKN", "STEPWELL_SERVE_TOKEN"),
            ("STEPWELL_TOKEN", "STEPWELL_SERVE_TOKEN"),
            ("STEPWELL_CONFG", "STEPWELL_CONFIG"),
            ("STEPWELL_MAX_TOOL_ROUND", "STEPWELL_MAX_TOOL_ROUNDS"),
        ] {
            let expected =
                format!("environment variable `{name}` is no setting: is `{meant}` meant?");
            assert_eq!(mistyped(name, &settings), Some(expected));
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
            assert_eq!(mistyped(name, &settings), None, "{name}");
        }
    }

    #[test]
    fn list_has_commas_or_is_json() {
        assert_eq!(list("a, b ,,c").expect("a list"), ["a", "b", "c"]);
        assert_eq!(list("[\"x, y\", \"z\"]").expect("a list"), ["x, y", "z"]);
        list("[a").expect_err("broken JSON");
    }

    #[test]
    fn empty_variable_is_ignored_except_for_guards() {
        let settings = known_settings();
        for setting in &settings {
            let empty = read(std::slice::from_ref(setting), |_| Some(OsString::new()));
            let key = setting.get_id().as_str();
            match GUARDS.contains(&key) {
                true => assert!(empty.is_err(), "{key}"),
                false => assert!(empty.expect("nothing is set").is_empty(), "{key}"),
            }
        }
        let guards = settings
            .iter()
            .filter(|setting| GUARDS.contains(&setting.get_id().as_str()));
        assert_eq!(guards.count(), GUARDS.len());
    }
}
