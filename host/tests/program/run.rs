//! Runs the program.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// What the program did.
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

/// The program without the settings of whoever runs the tests.
pub(crate) fn stepwell(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stepwell"));
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let is_key = name.ends_with("_API_KEY");
        let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
        let is_setting = name.starts_with("STEPWELL_")
            || name == "MAX_TOOL_ROUNDS"
            || name == "ENABLE_TOOL_CONTINUATION";
        if is_key || is_proxy || is_setting || name == "NO_COLOR" {
            command.env_remove(&*name);
        }
    }
    command.env("XDG_CONFIG_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn run(arguments: &[&str], input: &[u8]) -> Ran {
    finish(stepwell(arguments), input)
}

pub(crate) fn finish(mut command: Command, input: &[u8]) -> Ran {
    let mut child = command.spawn().expect("the program starts");
    // A program that says no before it reads has closed the pipe.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("the program ends").into()
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
            code: output.status.code(),
        }
    }
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(
            (self.code, self.err.as_str()),
            (Some(0), ""),
            "{}",
            self.out
        );
        self
    }

    /// The one line that says what is wrong.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        let line = self.err.strip_suffix('\n').expect("a whole line");
        assert!(!line.contains('\n'), "more than one line: {line}");
        line.strip_prefix("stepwell: ").expect("the program's name")
    }
}
