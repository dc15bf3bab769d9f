use crate::failure::Failure;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io::{self, IsTerminal};
use std::sync::mpsc as blocking;
use tokio::sync::mpsc;

/// Where the person's lines come from: an editor on a terminal, else standard input as it is.
///
/// Reading blocks, so it has a thread of its own, which ends with the program.
pub(crate) struct Prompt {
    ask: blocking::Sender<()>,
    lines: mpsc::Receiver<Line>,
    is_interactive: bool,
}

/// What the person said.
#[derive(Debug)]
pub(crate) enum Line {
    /// A line.
    Text(String),
    /// Ctrl-C on a line that is not finished.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    End,
    /// The input cannot be read.
    Failed(String),
}

impl Prompt {
    pub(crate) fn start() -> Result<Self, Failure> {
        let is_interactive = io::stdin().is_terminal() && io::stdout().is_terminal();
        let mut read: Box<dyn FnMut() -> Line + Send> = if is_interactive {
            let mut editor = DefaultEditor::new().map_err(Failure::failed)?;
            Box::new(move || edited(&mut editor))
        } else {
            Box::new(plain)
        };
        let (ask, asked) = blocking::channel();
        let (answer, lines) = mpsc::channel(1);
        std::thread::Builder::new()
            .name("prompt".to_owned())
            .spawn(move || {
                while asked.recv().is_ok() {
                    if answer.blocking_send(read()).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            ask,
            lines,
            is_interactive,
        })
    }

    /// Whether a person types the lines.
    pub(crate) fn is_interactive(&self) -> bool {
        self.is_interactive
    }

    /// Waits for the next line.
    pub(crate) async fn next(&mut self) -> Line {
        if self.ask.send(()).is_err() {
            return Line::End;
        }
        tokio::select! {
            line = self.lines.recv() => line.unwrap_or(Line::End),
            // An editor sees Ctrl-C itself; without one it ends the program, as it does everywhere.
            Ok(()) = tokio::signal::ctrl_c(), if !self.is_interactive => Line::End,
        }
    }
}

fn edited(editor: &mut DefaultEditor) -> Line {
    match editor.readline("› ") {
        Ok(text) => {
            // A line that cannot be remembered can still be sent.
            let _ = editor.add_history_entry(&text);
            Line::Text(text)
        }
        Err(ReadlineError::Interrupted) => Line::Interrupted,
        Err(ReadlineError::Eof) => Line::End,
        Err(error) => Line::Failed(error.to_string()),
    }
}

fn plain() -> Line {
    let mut line = String::new();
    match io::stdin().read_line(&mut line) {
        Ok(0) => Line::End,
        Ok(_) => Line::Text(line.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => Line::Failed(error.to_string()),
    }
}
