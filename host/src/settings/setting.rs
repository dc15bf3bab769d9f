//! What a setting is: an argument of clap that `env` names a variable of.

use super::groups::{AllSettings, GlobalSettings};
use clap::{Arg, ArgAction, Args, Command};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

pub(super) const PREFIX: &str = "STEPWELL_";

/// The origin of a setting's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "name", rename_all = "snake_case")]
pub(crate) enum Origin {
    /// A flag of the command.
    Flag(String),
    /// An environment variable.
    Environment(String),
    /// A file.
    File(String),
    /// The program's own default.
    Default,
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

/// The values from the environment or a file, by the settings' ids: as a command line would have them.
pub(super) type Values = BTreeMap<String, (Origin, Vec<OsString>)>;

pub(super) fn is_setting(arg: &Arg) -> bool {
    arg.get_env().is_some()
}

/// Returns all settings, as arguments of clap.
pub(crate) fn known_settings() -> Vec<Arg> {
    let command = AllSettings::augment_args(GlobalSettings::augment_args(Command::new("all")));
    let settings = command.get_arguments().filter(|arg| is_setting(arg));
    settings.cloned().collect()
}

/// Returns the variables of a setting, the first one before the others.
pub(crate) fn variables(setting: &Arg) -> Vec<String> {
    let own = setting.get_env().unwrap_or_default().to_string_lossy();
    let mut variables = vec![own.clone().into_owned()];
    if ["max_tool_rounds", "enable_tool_continuation"].contains(&setting.get_id().as_str()) {
        variables.extend(own.strip_prefix(PREFIX).map(str::to_owned));
    }
    variables
}

/// Checks the values of a setting as clap does.
pub(super) fn check(setting: &Arg, values: &[OsString]) -> Result<(), String> {
    let flag = format!("--{}=", setting.get_long().unwrap_or_default());
    let arguments = values.iter().map(|value| {
        let mut argument = OsString::from(&flag);
        argument.push(value);
        argument
    });
    let command = Command::new("setting")
        .no_binary_name(true)
        // A switch has a value in other places than the command line.
        .arg(
            setting
                .clone()
                .env(None)
                .action(ArgAction::Append)
                .num_args(1),
        );
    match command.try_get_matches_from(arguments) {
        Ok(_) => Ok(()),
        Err(error) => Err(stepwell_demo::command_line_reason(&error)),
    }
}
