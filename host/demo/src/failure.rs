use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// Why the program ends without success.
#[derive(Debug)]
pub enum Failure {
    /// The user asked for something impossible.
    Usage(String),
    /// Something went wrong.
    Failed(String),
    /// Something went wrong, and was reported when it did.
    Told,
    /// The user left with a second Ctrl-C.
    Left,
    /// The reader of the output has closed it.
    NoReader,
}

/// The exit code of a program that Ctrl-C has ended: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;

impl Failure {
    /// Creates the failure for a mistake of the user.
    pub fn usage(reason: impl Display) -> Self {
        Self::Usage(reason.to_string())
    }

    /// Creates the failure for an error.
    pub fn failed(reason: impl Display) -> Self {
        Self::Failed(reason.to_string())
    }

    /// Creates the failure for a mistake in the command line: clap's reason without the help.
    pub fn command_line(error: &clap::Error) -> Self {
        let text = error.to_string();
        let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
        let command = usage.unwrap_or("stepwell").split(' ');
        let command: Vec<_> = command
            .take_while(|word| !word.starts_with(['[', '<', '-']))
            .collect();
        let reason = command_line_reason(error);
        Self::Usage(format!("{reason}; try `{} --help`", command.join(" ")))
    }

    /// Returns the line for the user, if there is one to print.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        match self {
            Self::Usage(reason) | Self::Failed(reason) => Some(one_line(reason)),
            Self::Told | Self::Left | Self::NoReader => None,
        }
    }

    /// Returns the exit code: 2 for a mistake of the user, 1 for an error, 130 after a second Ctrl-C.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) | Self::Told => ExitCode::from(1),
            Self::Left => ExitCode::from(INTERRUPTED),
            Self::NoReader => ExitCode::SUCCESS,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NoReader,
            _ => Self::failed(error),
        }
    }
}

/// Returns clap's reason on one line, without its references to the help.
#[must_use]
pub fn command_line_reason(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraphs = text
        .split("\n\n")
        .take_while(|paragraph| !paragraph.starts_with("Usage:"))
        .filter(|paragraph| !paragraph.starts_with("For more information"))
        .map(one_line);
    let reason = paragraphs.collect::<Vec<_>>().join("; ");
    match reason.strip_prefix("error: ") {
        Some(reason) => reason.to_owned(),
        None => reason,
    }
}

/// Returns any text on one line: white space and control characters become single spaces.
pub fn one_line(text: impl AsRef<str>) -> String {
    text.as_ref()
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_one_line_without_control_characters() {
        let failure = Failure::failed("a page:\r\n<html>\u{1b}[31m\tred");
        assert_eq!(failure.line().as_deref(), Some("a page: <html> [31m red"));
    }

    #[test]
    fn closed_pipe_prints_nothing() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(failure.line(), None);
    }
}
