use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// Why the program ends without success.
#[derive(Debug)]
pub enum Failure {
    /// What was asked for cannot be done as it was asked.
    Usage(String),
    /// It was tried, and went wrong.
    Failed(String),
    /// It was tried, and went wrong, and the user was told when it did.
    Told,
    /// The user left in the middle, by a second Ctrl-C.
    Left,
    /// Nobody reads the output any more.
    NoReader,
}

/// How a program ends that Ctrl-C has broken off: 128 and the signal's number.
const INTERRUPTED: u8 = 130;

impl Failure {
    /// A mistake of the user's.
    pub fn usage(reason: impl Display) -> Self {
        Self::Usage(reason.to_string())
    }

    /// Something that went wrong.
    pub fn failed(reason: impl Display) -> Self {
        Self::Failed(reason.to_string())
    }

    /// A mistake in the command line: clap's own words without the page of help.
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

    /// What the user is told, if there is anyone to tell.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        match self {
            Self::Usage(reason) | Self::Failed(reason) => Some(one_line(reason)),
            Self::Told | Self::Left | Self::NoReader => None,
        }
    }

    /// 2 for a mistake of the user's, 1 for what went wrong, 130 for a program that was left.
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

/// `text` on one line, whoever wrote it: blanks and control characters become single spaces.
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
    fn a_reason_is_one_line_without_control_characters() {
        let failure = Failure::failed("a page:\r\n<html>\u{1b}[31m\tred");
        assert_eq!(failure.line().as_deref(), Some("a page: <html> [31m red"));
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(failure.line(), None);
    }
}
