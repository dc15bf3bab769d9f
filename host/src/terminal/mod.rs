//! What the person sees of a turn: live on a terminal, plain lines elsewhere.

mod clean;
mod live;
mod plain;
mod prompt;
mod shown;

pub(crate) use prompt::{Line, Prompt};
pub(crate) use shown::{Shown, Summary};

use std::io::{self, IsTerminal};

/// Somewhere to show a turn. Texts are clean already.
pub(crate) trait Screen {
    /// What the person asked, where they did not type it.
    fn question(&mut self, text: &str) -> io::Result<()>;
    /// A piece of the answer.
    fn text(&mut self, text: &str) -> io::Result<()>;
    /// A piece of what the model thinks.
    fn reasoning(&mut self, text: &str) -> io::Result<()>;
    /// A tool call, as it stands now.
    fn call(&mut self, call: &Call) -> io::Result<()>;
    /// Something to know that is no part of the answer, for a person who watches.
    fn note(&mut self, text: &str) -> io::Result<()>;
    /// The person is to type something: nothing moves until the next event.
    fn pause(&mut self) -> io::Result<()>;
    /// The turn is over.
    fn end(&mut self) -> io::Result<()>;
    /// A line of the program's own.
    fn remark(&mut self, text: &str) -> io::Result<()>;
}

/// A tool call that is shown.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    /// The tool and its arguments.
    pub(crate) title: String,
    pub(crate) progress: Progress,
}

/// How far a call is.
#[derive(Debug)]
pub(crate) enum Progress {
    Running,
    Done(String),
    Failed(String),
}

/// Whether there is a person to move things for, who does not mind: <https://no-color.org>.
pub(crate) fn is_live() -> bool {
    io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The screen on standard output.
pub(crate) fn screen() -> Box<dyn Screen + Send> {
    if is_live() {
        Box::new(live::Live::new())
    } else {
        Box::new(plain::Plain::new(io::stdout()))
    }
}
