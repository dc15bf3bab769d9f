use super::{Call, Progress, Prose, Screen};
use console::{Style, Term};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write};
use std::time::Duration;

/// A terminal: tokens as they come, and a spinner for each tool at work.
pub(crate) struct Live {
    term: Term,
    /// What writes the model's words, if not this.
    prose: Option<Box<dyn Prose>>,
    /// It has written, and not ended.
    prose_is_open: bool,
    /// The calls of the round that is shown, in the order in which they came.
    round: Vec<Row>,
    spinners: MultiProgress,
    /// Text that came while spinners turn. It cannot be written below them.
    held: String,
    at_line_start: bool,
    thinking: bool,
}

struct Row {
    id: String,
    spinner: ProgressBar,
    /// The line that stays.
    last_line: Option<String>,
}

impl Live {
    pub(crate) fn new(prose: Option<Box<dyn Prose>>) -> Self {
        Self {
            term: Term::stdout(),
            prose,
            prose_is_open: false,
            round: Vec::new(),
            spinners: no_spinners(),
            held: String::new(),
            at_line_start: true,
            thinking: false,
        }
    }

    fn write(&mut self, text: &str, style: &Style) -> io::Result<()> {
        let Some(last) = text.chars().last() else {
            return Ok(());
        };
        self.at_line_start = last == '\n';
        write!(self.term, "{}", style.apply_to(text))?;
        self.term.flush()
    }

    /// A piece of the answer.
    fn say(&mut self, text: &str) -> io::Result<()> {
        let Some(prose) = self.prose.as_mut().filter(|_| !text.is_empty()) else {
            return self.write(text, &Style::new());
        };
        if !self.prose_is_open && !self.at_line_start {
            writeln!(self.term)?;
        }
        self.at_line_start = true;
        self.prose_is_open = true;
        prose.text(text, &mut self.term)?;
        self.term.flush()
    }

    fn begin_line(&mut self) -> io::Result<()> {
        if let Some(prose) = self.prose.as_mut().filter(|_| self.prose_is_open) {
            self.prose_is_open = false;
            prose.end(&mut self.term)?;
        }
        if !self.at_line_start {
            self.at_line_start = true;
            writeln!(self.term)?;
        }
        Ok(())
    }

    fn line(&mut self, text: &str, style: &Style) -> io::Result<()> {
        self.begin_line()?;
        writeln!(self.term, "{}", style.apply_to(text))?;
        self.term.flush()
    }

    /// Puts lines in the place of the spinners, once none turns any more.
    fn settle_round(&mut self) -> io::Result<()> {
        if self.round.iter().any(|row| row.last_line.is_none()) {
            return Ok(());
        }
        for row in &self.round {
            row.spinner.finish_and_clear();
        }
        self.spinners.clear()?;
        self.spinners = no_spinners();
        for row in std::mem::take(&mut self.round) {
            if let Some(line) = row.last_line {
                writeln!(self.term, "{line}")?;
            }
        }
        let held = std::mem::take(&mut self.held);
        self.say(&held)
    }

    fn fits(&self, line: &str) -> String {
        let (_, columns) = self.term.size();
        console::truncate_str(line, usize::from(columns).saturating_sub(1), "…").into_owned()
    }
}

fn no_spinners() -> MultiProgress {
    MultiProgress::with_draw_target(ProgressDrawTarget::stdout())
}

fn spinner_style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner:.cyan} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn still() -> ProgressStyle {
    ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn style() -> Style {
    Style::new().force_styling(true)
}

impl Screen for Live {
    fn question(&mut self, text: &str) -> io::Result<()> {
        self.line(&format!("› {text}"), &style().bold())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        if !self.round.is_empty() {
            self.held.push_str(text);
            return Ok(());
        }
        if std::mem::take(&mut self.thinking) {
            self.begin_line()?;
        }
        self.say(text)
    }

    fn reasoning(&mut self, text: &str) -> io::Result<()> {
        if !self.round.is_empty() {
            return Ok(());
        }
        if self.prose_is_open {
            self.begin_line()?;
        }
        self.thinking = true;
        self.write(text, &style().dim())
    }

    fn call(&mut self, call: &Call) -> io::Result<()> {
        let place = self.round.iter().position(|row| row.id == call.id);
        let place = match place {
            Some(place) => place,
            None => {
                self.begin_line()?;
                self.thinking = false;
                let spinner = self.spinners.add(ProgressBar::new_spinner());
                spinner.set_style(spinner_style());
                spinner.enable_steady_tick(Duration::from_millis(80));
                self.round.push(Row {
                    id: call.id.clone(),
                    spinner,
                    last_line: None,
                });
                self.round.len() - 1
            }
        };
        let title = &call.title;
        let last_line = match &call.progress {
            Progress::Running => None,
            Progress::Done(result) => {
                let sign = style().green().apply_to("✓");
                Some(format!("{sign} {title} → {result}"))
            }
            Progress::Failed(reason) => {
                let sign = style().red().apply_to("✗");
                Some(format!("{sign} {title} → {reason}"))
            }
        };
        let last_line = last_line.map(|line| self.fits(&line));
        let row = &mut self.round[place];
        match &last_line {
            None => row.spinner.set_message(title.clone()),
            Some(line) => {
                row.spinner.disable_steady_tick();
                row.spinner.set_style(still());
                row.spinner.finish_with_message(line.clone());
            }
        }
        row.last_line = last_line;
        self.settle_round()
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.line(text, &style().dim())
    }

    fn retry(&mut self, text: &str) -> io::Result<()> {
        self.note(text)
    }

    fn pause(&mut self) -> io::Result<()> {
        for row in &mut self.round {
            let title = row.spinner.message();
            row.last_line.get_or_insert_with(|| format!("… {title}"));
        }
        self.settle_round()?;
        self.begin_line()?;
        self.term.flush()
    }

    fn end(&mut self) -> io::Result<()> {
        // A call that the turn's end overtook.
        for row in &mut self.round {
            let title = row.spinner.message();
            let sign = style().red().apply_to("✗");
            row.last_line
                .get_or_insert_with(|| format!("{sign} {title}"));
        }
        self.settle_round()?;
        self.begin_line()?;
        self.thinking = false;
        self.term.flush()
    }

    fn remark(&mut self, text: &str) -> io::Result<()> {
        self.line(text, &style().dim())
    }
}
