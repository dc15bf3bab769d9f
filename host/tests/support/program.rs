//! The program, as the tests start it.
#![allow(dead_code)] // each program of tests takes what it needs

use std::process::Command;

/// Returns the program without the settings of the user who runs the tests.
pub(crate) fn stepwell(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stepwell"));
    command.args(arguments);
    without_settings(&mut command);
    command
}

/// Removes the settings of the user who runs the tests from a program.
pub(crate) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let is_of_others = name.starts_with("OTEL_")
            || name.ends_with("_API_KEY")
            || name.to_ascii_lowercase().ends_with("_proxy")
            || name == "NO_COLOR";
        let is_setting = name.starts_with("STEPWELL_")
            || name == "MAX_TOOL_ROUNDS"
            || name == "ENABLE_TOOL_CONTINUATION";
        if is_of_others || is_setting {
            command.env_remove(&*name);
        }
    }
    command.env("XDG_CONFIG_HOME", env!("CARGO_TARGET_TMPDIR"));
}

/// The flags that put the model `m` of a provider at this address behind the program.
pub(crate) fn before<'a>(provider: &'a str, url: &'a str) -> [&'a str; 6] {
    ["--provider", provider, "--model", "m", "--base-url", url]
}
