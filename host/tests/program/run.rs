//! Runs the program.

use crate::program;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The result of the program.
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

/// Returns the program, with pipes and without the settings of the user who runs the tests.
pub(crate) fn stepwell(arguments: &[&str]) -> Command {
    let mut command = program::stepwell(arguments);
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
    // A program that refuses before it reads has closed the pipe.
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

    /// Returns the one line with the error.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        let line = self.err.strip_suffix('\n').expect("a whole line");
        assert!(!line.contains('\n'), "more than one line: {line}");
        line.strip_prefix("stepwell: ").expect("the program's name")
    }
}
