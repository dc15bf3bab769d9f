use super::spinners::Spinners;
use super::{Call, Progress, Prose, Terminal};
use console::{Style, Term};
use std::env;
use std::io::{self, IsTerminal, Write};

/// Standard output, where turns are shown. On a terminal tokens are styled and running tools have spinners; elsewhere
/// it gets plain lines, without what only a user who watches needs. The texts that it receives are clean already.
pub struct Screen {
    out: Box<dyn Terminal + Send>,
    /// Whether lines may move and have colours.
    is_live: bool,
    /// Whether a user reads along.
    is_watched: bool,
    /// The writer of the model's text, if it is not written as it is.
    prose: Option<Box<dyn Prose>>,
    /// Whether `prose` has written since it ended last.
    prose_is_open: bool,
    spinners: Spinners,
    /// Text that came while spinners turn: it cannot be written below them.
    held: String,
    at_line_start: bool,
    is_thinking: bool,
}

impl Screen {
    /// Creates the screen on standard output. If it is live, `prose` writes the model's words.
    #[must_use]
    pub fn new(prose: Option<Box<dyn Prose>>) -> Self {
        let is_watched = io::stdout().is_terminal();
        let is_live = is_watched && allows_styles();
        let prose = prose.filter(|_| is_live);
        Self::on(Box::new(Term::stdout()), is_live, is_watched, prose)
    }

    fn on(
        out: Box<dyn Terminal + Send>,
        is_live: bool,
        is_watched: bool,
        prose: Option<Box<dyn Prose>>,
    ) -> Self {
        Self {
            out,
            is_live,
            is_watched,
            prose,
            prose_is_open: false,
            spinners: Spinners::new(),
            held: String::new(),
            at_line_start: true,
            is_thinking: false,
        }
    }

    /// Shows a question that the user did not type.
    pub(super) fn question(&mut self, text: &str) -> io::Result<()> {
        self.line(&format!("› {text}"), &self.style().bold())
    }

    /// Shows a delta of the answer.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        if !self.spinners.is_empty() {
            self.held.push_str(text);
            return Ok(());
        }
        if std::mem::take(&mut self.is_thinking) {
            self.begin_line()?;
        }
        self.say(text)
    }

    /// Shows a delta of the model's reasoning, if lines are live.
    pub(super) fn reasoning(&mut self, text: &str) -> io::Result<()> {
        if !self.is_live || !self.spinners.is_empty() {
            return Ok(());
        }
        if self.prose_is_open {
            self.begin_line()?;
        }
        self.is_thinking = true;
        self.write(text, &self.style().dim())
    }

    /// Shows a tool call in its current state.
    pub(super) fn call(&mut self, call: &Call) -> io::Result<()> {
        let title = &call.title;
        let line = match &call.progress {
            Progress::Running => String::new(),
            Progress::Done(result) => {
                format!("{} {title} → {result}", self.style().green().apply_to("✓"))
            }
            Progress::Failed(reason) => {
                format!("{} {title} → {reason}", self.style().red().apply_to("✗"))
            }
        };
        if !self.is_live {
            return match call.progress {
                Progress::Running => Ok(()),
                Progress::Done(_) | Progress::Failed(_) => self.line(&line, &Style::new()),
            };
        }
        if !self.spinners.has(&call.id) {
            self.begin_line()?;
            self.is_thinking = false;
            self.spinners.begin(&call.id);
        }
        let (_, columns) = self.out.size();
        let columns = usize::from(columns).saturating_sub(1);
        let line = console::truncate_str(&line, columns, "…").into_owned();
        self.spinners.update(call, line);
        self.settle()
    }

    /// Shows a note that is not part of the answer to a user who watches.
    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        match self.is_watched {
            true => self.line(text, &self.style().dim()),
            false => Ok(()),
        }
    }

    /// Shows that a request failed and is retried. A program that reads the answer does not get it: it goes to standard
    /// error then.
    pub(super) fn retry(&mut self, text: &str) -> io::Result<()> {
        if !self.is_watched {
            writeln!(io::stderr(), "stepwell: {text}")?;
        }
        self.note(text)
    }

    /// Stops all that moves, since the user types now.
    pub(super) fn pause(&mut self) -> io::Result<()> {
        self.spinners.stop("…");
        self.settle()?;
        self.begin_line()?;
        self.out.flush()
    }

    /// Ends the turn.
    pub(super) fn end(&mut self) -> io::Result<()> {
        // Calls that the turn's end overtook.
        let sign = self.style().red().apply_to("✗").to_string();
        self.spinners.stop(&sign);
        self.settle()?;
        self.begin_line()?;
        self.is_thinking = false;
        self.out.flush()
    }

    /// Shows a line of the program's own.
    pub(super) fn remark(&mut self, text: &str) -> io::Result<()> {
        self.line(text, &self.style().dim())
    }

    fn style(&self) -> Style {
        Style::new().force_styling(self.is_live)
    }

    fn write(&mut self, text: &str, style: &Style) -> io::Result<()> {
        let Some(last) = text.chars().last() else {
            return Ok(());
        };
        self.at_line_start = last == '\n';
        self.put(&style.apply_to(text).to_string())
    }

    fn line(&mut self, text: &str, style: &Style) -> io::Result<()> {
        self.begin_line()?;
        self.put(&format!("{}\n", style.apply_to(text)))
    }

    /// Writes in one call: a reader of a pipe gets complete lines.
    fn put(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    fn begin_line(&mut self) -> io::Result<()> {
        if let Some(prose) = self.prose.as_mut().filter(|_| self.prose_is_open) {
            self.prose_is_open = false;
            prose.end(&mut *self.out)?;
        }
        if !self.at_line_start {
            self.at_line_start = true;
            self.put("\n")?;
        }
        Ok(())
    }

    /// Writes a delta of the answer.
    fn say(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.prose.is_none() {
            return self.write(text, &Style::new().force_styling(false));
        }
        if !self.prose_is_open && !self.at_line_start {
            self.put("\n")?;
        }
        self.at_line_start = true;
        self.prose_is_open = true;
        if let Some(prose) = &mut self.prose {
            prose.text(text, &mut *self.out)?;
        }
        self.out.flush()
    }

    /// Replaces the spinners by lines, once no call is running.
    fn settle(&mut self) -> io::Result<()> {
        let Some(lines) = self.spinners.settle()? else {
            return Ok(());
        };
        for line in lines {
            self.put(&format!("{line}\n"))?;
        }
        let held = std::mem::take(&mut self.held);
        self.say(&held)
    }
}

/// Returns whether the environment allows colours and moving lines: <https://no-color.org>.
fn allows_styles() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Pipe(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic holds it").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Terminal for Pipe {
        fn size(&self) -> (u16, u16) {
            (24, 80)
        }
    }

    #[test]
    fn plain_tool_line_is_a_line_of_its_own() {
        let pipe = Pipe::default();
        let mut screen = Screen::on(Box::new(pipe.clone()), false, false, None);
        let call = |progress| Call {
            id: "c".to_owned(),
            title: "clock {}".to_owned(),
            progress,
        };
        screen.text("One moment.").expect("written");
        screen.call(&call(Progress::Running)).expect("written");
        screen
            .call(&call(Progress::Failed("stopped".to_owned())))
            .expect("written");
        screen.text("Noon").expect("written");
        screen.end().expect("written");
        screen.end().expect("written");
        let out = pipe.0.lock().expect("no panic holds it").clone();
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "One moment.\n✗ clock {} → stopped\nNoon\n"
        );
    }
}
