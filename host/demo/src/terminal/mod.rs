//! What the user sees of a turn: live on a terminal, plain lines elsewhere.

mod clean;
mod live;
mod plain;
mod shown;

pub use clean::{clean, revealed};
pub use shown::{Shown, Summary};

use std::io::{self, IsTerminal};

/// Somewhere to show a turn. Texts are clean already.
pub trait Screen {
    /// What the user asked, where they did not type it.
    fn question(&mut self, text: &str) -> io::Result<()>;
    /// A piece of the answer.
    fn text(&mut self, text: &str) -> io::Result<()>;
    /// A piece of what the model thinks.
    fn reasoning(&mut self, text: &str) -> io::Result<()>;
    /// A tool call, as it stands now.
    fn call(&mut self, call: &Call) -> io::Result<()>;
    /// Something to know that is no part of the answer, for a user who watches.
    fn note(&mut self, text: &str) -> io::Result<()>;
    /// A request failed, and goes out again: said wherever it can be said apart from the answer.
    fn retry(&mut self, text: &str) -> io::Result<()>;
    /// The user is to type something: nothing moves until the next event.
    fn pause(&mut self) -> io::Result<()>;
    /// The turn is over.
    fn end(&mut self) -> io::Result<()>;
    /// A line of the program's own.
    fn remark(&mut self, text: &str) -> io::Result<()>;
}

/// How the model's words are written on a live terminal, if not as they are.
pub trait Prose: Send {
    /// Writes a piece of the text, so that the user sees it now.
    fn text(&mut self, piece: &str, terminal: &mut dyn Terminal) -> io::Result<()>;
    /// The text ends, or something else comes next. What follows begins a line.
    fn end(&mut self, terminal: &mut dyn Terminal) -> io::Result<()>;
}

/// Where prose is written.
pub trait Terminal: io::Write {
    /// Rows and columns.
    fn size(&self) -> (u16, u16);
}

impl Terminal for console::Term {
    fn size(&self) -> (u16, u16) {
        Self::size(self)
    }
}

/// A tool call that is shown.
#[derive(Debug)]
pub struct Call {
    /// The call's id; empty for one of an earlier turn.
    pub id: String,
    /// The tool and its arguments.
    pub title: String,
    /// How far it is.
    pub progress: Progress,
}

/// How far a call is.
#[derive(Debug)]
pub enum Progress {
    /// It runs.
    Running,
    /// It is done, with this result.
    Done(String),
    /// It failed, for this reason.
    Failed(String),
}

/// Whether there is a user to move things for, who does not mind: <https://no-color.org>.
#[must_use]
pub fn is_live() -> bool {
    io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The screen on standard output.
#[must_use]
pub fn screen() -> Box<dyn Screen + Send> {
    screen_with(None)
}

/// The screen on standard output; if it is live, with the model's words written so.
#[must_use]
pub fn screen_with(prose: Option<Box<dyn Prose>>) -> Box<dyn Screen + Send> {
    if is_live() {
        Box::new(live::Live::new(prose))
    } else {
        let is_watched = io::stdout().is_terminal();
        Box::new(plain::Plain::new(io::stdout(), is_watched))
    }
}
