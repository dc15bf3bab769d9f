//! What a user can say to the program in a chat, and not to the model.

use crate::settings::nearest;

/// A line that begins with a slash.
#[derive(Debug, PartialEq)]
pub(super) enum Command<'a> {
    Help,
    /// Another model, or which one it is.
    Model(Vec<&'a str>),
    /// Another session, or which there are.
    Sessions(Option<&'a str>),
    New,
    Undo,
    Save(Option<&'a str>),
    Leave,
}

/// Each with what it takes, and what it does.
pub(super) const COMMANDS: [(&str, &str, &str); 7] = [
    ("help", "", "this list"),
    (
        "model",
        "[[PROVIDER] MODEL]",
        "says who answers, or lets another model go on",
    ),
    (
        "sessions",
        "[NUMBER]",
        "lists the sessions of the store, or goes on with one",
    ),
    ("new", "", "begins a new session"),
    (
        "undo",
        "",
        "takes back what you said last, and what came of it",
    ),
    (
        "save",
        "[FILE]",
        "writes the session to a file: JSON if it ends in .json, else Markdown",
    ),
    ("quit", "", "leaves, as Ctrl-D does"),
];

/// What the commands are typed as.
pub(super) fn words() -> Vec<String> {
    COMMANDS.map(|(name, ..)| format!("/{name}")).to_vec()
}

impl<'a> Command<'a> {
    /// Reads a line; `None` if it is for the model.
    pub(super) fn read(line: &'a str) -> Option<Result<Self, String>> {
        let line = line.trim().strip_prefix('/')?;
        // So that a line for the model may begin with one.
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

/// What goes to the model of a line that is no command.
pub(super) fn said(line: &str) -> &str {
    match line.trim_start().strip_prefix("//") {
        Some(_) => &line.trim_start()[1..],
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_or_is_for_the_model() {
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
        assert_eq!(said(" //etc/hosts"), "/etc/hosts");
        assert_eq!(said(" a // b"), " a // b");
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
    fn help_lists_what_can_be_read() {
        for (name, ..) in COMMANDS {
            assert!(
                matches!(Command::read(&format!("/{name}")), Some(Ok(_))),
                "{name}"
            );
        }
    }
}
