//! Shows a turn: live on a terminal, as plain lines elsewhere.

mod clean;
mod screen;
mod shown;
mod spinners;

pub use clean::{clean, revealed};
pub use screen::Screen;
pub use shown::{Shown, Summary};

use std::io;

/// Writes the model's words on a live terminal.
pub trait Prose: Send {
    /// Writes a delta of the text, so that the user sees it now.
    fn text(&mut self, delta: &str, terminal: &mut dyn Terminal) -> io::Result<()>;
    /// Ends the text, so that what follows begins a line.
    fn end(&mut self, terminal: &mut dyn Terminal) -> io::Result<()>;
}

/// The terminal that prose is written to.
pub trait Terminal: io::Write {
    /// Returns the rows and columns.
    fn size(&self) -> (u16, u16);
}

impl Terminal for console::Term {
    fn size(&self) -> (u16, u16) {
        Self::size(self)
    }
}

/// A tool call that is shown.
#[derive(Debug)]
struct Call {
    /// The call's id; empty for one of an earlier turn.
    id: String,
    /// The tool and its arguments.
    title: String,
    progress: Progress,
}

/// The state of a call.
#[derive(Debug)]
enum Progress {
    Running,
    /// With the result.
    Done(String),
    /// With the reason.
    Failed(String),
}
