use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};
use std::io::{self, IsTerminal};
use std::sync::mpsc as blocking;
use stepwell_demo::Failure;
use tokio::sync::mpsc;

/// Where the user's lines come from: an editor on a terminal, else standard input as it is.
///
/// Reading blocks, so it has a thread of its own, which ends with the program.
pub(crate) struct Prompt {
    ask: blocking::Sender<Question>,
    lines: mpsc::Receiver<(u64, Line)>,
    is_interactive: bool,
    /// How many questions were asked, and how many lines have come.
    asked: u64,
    answered: u64,
}

/// What a line is read for.
struct Question {
    number: u64,
    prompt: &'static str,
    /// What stands in the line to begin with.
    initial: String,
}

/// What the user said.
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
    /// Starts to read. An editor completes these words at the beginning of a line.
    pub(crate) fn start(words: Vec<String>) -> Result<Self, Failure> {
        let is_interactive = Self::is_watched();
        let mut read: Box<dyn FnMut(&Question) -> Line + Send> = if is_interactive {
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

    /// Whether there is a user to type lines, and to read what is said.
    pub(crate) fn is_watched() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// Whether a user types the lines.
    pub(crate) fn is_interactive(&self) -> bool {
        self.is_interactive
    }

    /// Waits for the next line, with `initial` in it to begin with.
    pub(crate) async fn next(&mut self, initial: &str) -> Line {
        self.ask(NEXT, initial).await
    }

    /// Waits for the answer to a question, with `initial` in the line to begin with. May be dropped: what the user
    /// types to a question that nobody waits for is no answer to the next one. A pipe has no questions: each takes its
    /// next line.
    pub(crate) async fn ask(&mut self, prompt: &'static str, initial: &str) -> Line {
        if self.is_interactive || self.asked == self.answered {
            self.asked += 1;
            let question = Question {
                number: self.asked,
                prompt,
                initial: initial.to_owned(),
            };
            if self.ask.send(question).is_err() {
                return Line::End;
            }
        }
        loop {
            let (number, line) = tokio::select! {
                line = self.lines.recv() => match line {
                    Some(line) => line,
                    None => return Line::End,
                },
                // An editor sees Ctrl-C itself; without one it ends the program, as it does everywhere.
                Ok(()) = tokio::signal::ctrl_c(), if !self.is_interactive => return Line::End,
            };
            self.answered = number;
            if number == self.asked {
                return line;
            }
        }
    }
}

type LineEditor = Editor<Words, DefaultHistory>;

/// What a line may begin with.
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

/// What stands before a line that says something to the model.
const NEXT: &str = "› ";

fn edited(editor: &mut LineEditor, question: &Question) -> Line {
    match editor.readline_with_initial(question.prompt, (&question.initial, "")) {
        Ok(text) => {
            if question.prompt == NEXT {
                // A line that cannot be remembered can still be sent.
                let _ = editor.add_history_entry(&text);
            }
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
