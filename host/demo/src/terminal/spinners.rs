use super::{Call, Progress};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io;
use std::time::Duration;

/// A spinner for each running call. Once no call of a round is running, lines replace them all.
pub(super) struct Spinners {
    bars: MultiProgress,
    /// The calls of the round, in the order in which they began.
    rows: Vec<Row>,
}

struct Row {
    id: String,
    bar: ProgressBar,
    /// The line that replaces the spinner; `None` while the call is running.
    line: Option<String>,
}

impl Spinners {
    pub(super) fn new() -> Self {
        Self {
            bars: bars(),
            rows: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.rows.iter().any(|row| row.id == id)
    }

    /// Begins the spinner of a call.
    pub(super) fn begin(&mut self, id: &str) {
        let bar = self.bars.add(ProgressBar::new_spinner());
        bar.set_style(style("{spinner:.cyan} {wide_msg}"));
        bar.enable_steady_tick(Duration::from_millis(80));
        self.rows.push(Row {
            id: id.to_owned(),
            bar,
            line: None,
        });
    }

    /// Shows how far a call is; `line` is what stays of it when it is no longer running.
    pub(super) fn update(&mut self, call: &Call, line: String) {
        let Some(row) = self.rows.iter_mut().find(|row| row.id == call.id) else {
            return;
        };
        match call.progress {
            Progress::Running => {
                row.bar.set_message(call.title.clone());
                row.line = None;
            }
            Progress::Done(_) | Progress::Failed(_) => {
                row.bar.disable_steady_tick();
                row.bar.set_style(style("{wide_msg}"));
                row.bar.finish_with_message(line.clone());
                row.line = Some(line);
            }
        }
    }

    /// Stops the spinners that are left, each with its title behind `sign` as its line.
    pub(super) fn stop(&mut self, sign: &str) {
        for row in &mut self.rows {
            let title = row.bar.message();
            row.line.get_or_insert_with(|| format!("{sign} {title}"));
        }
    }

    /// Removes the spinners and returns their lines, once no call is running.
    pub(super) fn settle(&mut self) -> io::Result<Option<Vec<String>>> {
        if self.rows.is_empty() || self.rows.iter().any(|row| row.line.is_none()) {
            return Ok(None);
        }
        for row in &self.rows {
            row.bar.finish_and_clear();
        }
        self.bars.clear()?;
        self.bars = bars();
        let rows = self.rows.drain(..);
        Ok(Some(rows.filter_map(|row| row.line).collect()))
    }
}

fn bars() -> MultiProgress {
    MultiProgress::with_draw_target(ProgressDrawTarget::stdout())
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
