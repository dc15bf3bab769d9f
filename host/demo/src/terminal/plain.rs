use super::{Call, Progress, Screen};
use std::io::{self, Write};

/// Lines, for a pipe, a file, or a terminal that wants no more.
pub(crate) struct Plain<W> {
    out: W,
    /// Whether a user reads along.
    is_watched: bool,
    at_line_start: bool,
}

impl<W: Write> Plain<W> {
    pub(crate) fn new(out: W, is_watched: bool) -> Self {
        Self {
            out,
            is_watched,
            at_line_start: true,
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) -> io::Result<()> {
        if !self.at_line_start {
            writeln!(self.out)?;
        }
        self.at_line_start = true;
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }
}

impl<W: Write> Screen for Plain<W> {
    fn question(&mut self, text: &str) -> io::Result<()> {
        self.line(format_args!("› {text}"))
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        if let Some(last) = text.chars().last() {
            self.at_line_start = last == '\n';
        }
        write!(self.out, "{text}")?;
        self.out.flush()
    }

    fn reasoning(&mut self, _text: &str) -> io::Result<()> {
        Ok(())
    }

    fn call(&mut self, call: &Call) -> io::Result<()> {
        let title = &call.title;
        match &call.progress {
            Progress::Running => Ok(()),
            Progress::Done(result) => self.line(format_args!("✓ {title} → {result}")),
            Progress::Failed(reason) => self.line(format_args!("✗ {title} → {reason}")),
        }
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        if self.is_watched {
            self.line(format_args!("{text}"))?;
        }
        Ok(())
    }

    fn retry(&mut self, text: &str) -> io::Result<()> {
        if self.is_watched {
            return self.line(format_args!("{text}"));
        }
        // A program that reads the answer is not to read this.
        writeln!(io::stderr(), "stepwell: {text}")
    }

    fn pause(&mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        if !self.at_line_start {
            writeln!(self.out)?;
            self.at_line_start = true;
        }
        self.out.flush()
    }

    fn remark(&mut self, text: &str) -> io::Result<()> {
        self.line(format_args!("{text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_line_stands_on_its_own() {
        let mut out = Vec::new();
        let mut screen = Plain::new(&mut out, false);
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
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "One moment.\n✗ clock {} → stopped\nNoon\n"
        );
    }
}
