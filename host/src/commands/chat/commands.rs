//! The commands of a chat: lines for the program, not for the model.

use crate::settings::nearest;

/// A line that begins with a slash.
#[derive(Debug, PartialEq)]
pub(super) enum Command<'a> {
    Help,
    /// Changes the model, or names it.
    Model(Vec<&'a str>),
    /// Changes the session, or lists them.
    Sessions(Option<&'a str>),
    New,
    Undo,
    /// Undoes the compactions of the conversation.
    Whole,
    Save(Option<&'a str>),
    Leave,
}

/// The commands with their arguments and descriptions.
pub(super) const COMMANDS: [(&str, &str, &str); 8] = [
    ("help", "", "this list"),
    (
        "model",
        "[[PROVIDER] MODEL]",
        "names the model, or continues with another one",
    ),
    (
        "sessions",
        "[NUMBER]",
        "lists the sessions of the store, or continues one",
    ),
    ("new", "", "begins a new session"),
    ("undo", "", "takes back your last message and its answer"),
    (
        "whole",
        "",
        "sends the complete conversation again with your next message, and not its summary",
    ),
    (
        "save",
        "[FILE]",
        "writes the session to a file: JSON if it ends in .json, else Markdown",
    ),
    ("quit", "", "leaves, as Ctrl-D does"),
];

/// Returns the commands as they are typed.
pub(super) fn words() -> Vec<String> {
    COMMANDS.map(|(name, ..)| format!("/{name}")).to_vec()
}

impl<'a> Command<'a> {
    /// Parses a line; `None` if it is for the model.
    pub(super) fn read(line: &'a str) -> Option<Result<Self, String>> {
        let line = line.trim().strip_prefix('/')?;
        // A line for the model may begin with a slash by doubling it.
        if line.starts_with('/') {
            return None;
        }
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let rest = line[name.len()..].trim();
        let argument = (!rest.is_empty()).then_some(rest);
        Some(Ok(match name {
            "help" => Self::Help,
            "model" => Self::Model(words.collect()),
            "sessions" => Self::Sessions(argument),
            "new" => Self::New,
            "undo" => Self::Undo,
            "whole" => Self::Whole,
            "save" => Self::Save(argument),
            "quit" | "exit" => Self::Leave,
            _ => {
                let names = COMMANDS.iter().map(|(name, ..)| *name);
                let hint = match nearest(name, names) {
                    Some(meant) => format!("is /{meant} meant?"),
                    None => "/help lists them".to_owned(),
                };
                return Some(Err(format!(
                    "there is no command /{name}: {hint} With // at its beginning a line goes to the model"
                )));
            }
        }))
    }
}

/// Returns the message to the model from a line that is no command.
pub(super) fn message(line: &str) -> &str {
    match line.trim_start().strip_prefix("//") {
        Some(_) => &line.trim_start()[1..],
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_command_or_message() {
        for (line, command) in [
            ("/help", Command::Help),
            (" /model", Command::Model(vec![])),
            ("/model openai  gpt", Command::Model(vec!["openai", "gpt"])),
            ("/sessions 2", Command::Sessions(Some("2"))),
            ("/save my file.md", Command::Save(Some("my file.md"))),
            ("/undo\t", Command::Undo),
        ] {
            assert_eq!(Command::read(line), Some(Ok(command)), "{line}");
        }
        for line in ["help", "what is /help?", "//etc/hosts", ""] {
            assert_eq!(Command::read(line), None, "{line}");
        }
        assert_eq!(message(" //etc/hosts"), "/etc/hosts");
        assert_eq!(message(" a // b"), " a // b");
        let wrong = |line| {
            Command::read(line)
                .expect("a command")
                .expect_err("there is none")
        };
        assert!(wrong("/udno").contains("is /undo meant?"));
        assert!(wrong("/frobnicate").contains("/help lists them"));
        assert!(wrong("/").contains("/help lists them"));
    }

    #[test]
    fn help_lists_valid_commands() {
        for (name, ..) in COMMANDS {
            assert!(
                matches!(Command::read(&format!("/{name}")), Some(Ok(_))),
                "{name}"
            );
        }
    }
}
