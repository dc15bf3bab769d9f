//! The environment of a server that is a child process.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};

/// The variables of the app's environment that every server gets, as with the MCP SDKs: what programs need to run, and
/// the user's language. All others may be secret: a database's password, the token of a collector.
const PASSED_VARIABLES: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "TZ",
        "USERNAME",
        "USERPROFILE",
    ]
} else {
    &[
        "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
    ]
};

/// Returns the environment of a server: the variables that are passed on, and those of its entry. A value `${NAME}`
/// there is that of the app's variable.
///
/// # Errors
/// The app has no such variable.
pub(super) fn environment(
    own: &BTreeMap<String, String>,
    passed: &[String],
) -> Result<Vec<(OsString, OsString)>, String> {
    let is_passed = |name: &OsStr| {
        let Some(name) = name.to_str() else {
            return false;
        };
        // Windows does not distinguish `Path` from `PATH`.
        let is = |other: &str| name == other || (cfg!(windows) && name.eq_ignore_ascii_case(other));
        name.starts_with("LC_")
            || PASSED_VARIABLES.iter().any(|passed| is(passed))
            || passed.iter().any(|passed| is(passed))
    };
    let inherited = env::vars_os().filter(|(name, _)| is_passed(name));
    let mut all: Vec<_> = inherited.collect();
    for (name, value) in own {
        let variable = value
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'));
        let value = match variable {
            None => OsString::from(value),
            Some(variable) => env::var_os(variable).ok_or_else(|| {
                format!("its `env` names the variable `{variable}`, which is not set")
            })?,
        };
        all.push((name.into(), value));
    }
    Ok(all)
}
