use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::sync::mpsc as blocking;
use stepwell_demo::Failure;
use tokio::sync::mpsc;

/// Reads the user's lines: with an editor on a terminal, else from standard input as it is.
///
/// Reading blocks, so a thread of its own does it, which ends with the program.
pub(crate) struct Prompt {
    ask: blocking::Sender<Question>,
    lines: mpsc::Receiver<(u64, Result<Line, Failure>)>,
    is_interactive: bool,
    /// The numbers of the last question and of the last line.
    asked: u64,
    answered: u64,
}

/// Reads the line that a question asks for.
type LineReader = Box<dyn FnMut(&Question) -> Result<Line, Failure> + Send>;

/// A request for a line.
struct Question {
    number: u64,
    prompt: &'static str,
    /// The text that the line begins with.
    initial: String,
}

/// The user's input.
#[derive(Debug)]
pub(crate) enum Line {
    /// A line.
    Text(String),
    /// Ctrl-C on a line that is not finished.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    End,
}

impl Prompt {
    /// Starts to read. The editor completes `words` at the beginning of a line.
    pub(crate) fn start(words: Vec<String>) -> Result<Self, Failure> {
        let is_interactive = Self::is_watched();
        let mut read: LineReader = if is_interactive {
            let mut editor = LineEditor::new().map_err(Failure::failed)?;
            editor.set_helper(Some(Words(words)));
            Box::new(move |question| edited(&mut editor, question))
        } else {
            Box::new(|_| plain())
        };
        let (ask, asked) = blocking::channel::<Question>();
        let (answer, lines) = mpsc::channel(1);
        std::thread::Builder::new()
            .name("prompt".to_owned())
            .spawn(move || {
                while let Ok(question) = asked.recv() {
                    let line = read(&question);
                    if answer.blocking_send((question.number, line)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            ask,
            lines,
            is_interactive,
            asked: 0,
            answered: 0,
        })
    }

    /// Returns whether a user types the lines and reads the output.
    pub(crate) fn is_watched() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// Returns whether a user types the lines.
    pub(crate) fn is_interactive(&self) -> bool {
        self.is_interactive
    }

    /// Waits for the next line to the model, which begins with `initial`.
    pub(crate) async fn next(&mut self, initial: &str) -> Result<Line, Failure> {
        self.ask(NEXT, initial).await
    }

    /// Waits for the answer to a question, in a line that begins with `initial`. It may be dropped: what the user then
    /// types is no answer to the next question. In a pipe each question takes the next line.
    pub(crate) async fn ask(
        &mut self,
        prompt: &'static str,
        initial: &str,
    ) -> Result<Line, Failure> {
        if self.is_interactive || self.asked == self.answered {
            self.asked += 1;
            let question = Question {
                number: self.asked,
                prompt,
                initial: initial.to_owned(),
            };
            if self.ask.send(question).is_err() {
                return Ok(Line::End);
            }
        }
        loop {
            let (number, line) = tokio::select! {
                line = self.lines.recv() => match line {
                    Some(line) => line,
                    None => return Ok(Line::End),
                },
                // An editor sees Ctrl-C itself; without one it ends the program, as it does everywhere.
                Ok(()) = tokio::signal::ctrl_c(), if !self.is_interactive => return Ok(Line::End),
            };
            self.answered = number;
            if number == self.asked {
                return line;
            }
        }
    }
}

type LineEditor = Editor<Words, DefaultHistory>;

/// The words that a line may begin with.
struct Words(Vec<String>);

impl Completer for Words {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        place: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..place).unwrap_or_default();
        let fits = |word: &&String| !begun.is_empty() && word.starts_with(begun);
        Ok((0, self.0.iter().filter(fits).cloned().collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}

impl Validator for Words {}

impl Helper for Words {}

/// The prompt of a line to the model.
const NEXT: &str = "› ";

fn edited(editor: &mut LineEditor, question: &Question) -> Result<Line, Failure> {
    match editor.readline_with_initial(question.prompt, (&question.initial, "")) {
        Ok(text) => {
            if question.prompt == NEXT {
                // A line that the history refuses can still be sent.
                let _ = editor.add_history_entry(&text);
            }
            Ok(Line::Text(text))
        }
        Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
        Err(ReadlineError::Eof) => Ok(Line::End),
        Err(error) => Err(unreadable(error)),
    }
}

fn plain() -> Result<Line, Failure> {
    let mut line = String::new();
    match io::stdin().read_line(&mut line) {
        Ok(0) => Ok(Line::End),
        Ok(_) => Ok(Line::Text(line.trim_end_matches(['\r', '\n']).to_owned())),
        Err(error) => Err(unreadable(error)),
    }
}

fn unreadable(error: impl Display) -> Failure {
    Failure::failed(format!("standard input: {error}"))
}
