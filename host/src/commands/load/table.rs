//! The report as tables, for people.

use super::report::{Level, Report};
use super::statistics::{Latencies, Measure};
use std::fmt::{self, Display};

/// The report as tables.
pub(super) struct Table<'a> {
    pub(super) report: &'a Report,
    pub(super) target: &'a str,
}

impl Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.report;
        write!(f, "{}", self.target)?;
        if report.followers > 1 {
            write!(f, ", {} followers each", report.followers)?;
        }
        if let Some(model) = report.model {
            let (words, speaks) = (model.words_per_second, model.speaks_s);
            write!(
                f,
                "; a model that says {words} words a second for {speaks} s"
            )?;
        }
        writeln!(f)?;
        for level in &report.levels {
            writeln!(f)?;
            show(level, f)?;
        }
        if let Some(bend) = &report.bend {
            writeln!(
                f,
                "\nit bends at {} at once: {}",
                bend.runs_at_once, bend.because
            )?;
        }
        if report.interrupted {
            writeln!(f, "\ninterrupted: the last level is not whole")?;
        }
        Ok(())
    }
}

fn show(level: &Level, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        f,
        "{} at once: {} turns in {:.1} s ({:.1}/s), {} events ({:.0}/s)",
        level.runs_at_once,
        level.turns_ended,
        level.duration_s,
        level.turns_per_s,
        level.events,
        level.events_per_s
    )?;
    if level.turns_unfinished > 0 {
        write!(f, ", {} not finished", level.turns_unfinished)?;
    }
    writeln!(f)?;
    for failure in &level.failures {
        writeln!(f, "  {} failed: {}", failure.count, failure.reason)?;
    }
    if level.latencies.is_empty() {
        return Ok(());
    }
    let heads = ["50 %", "90 %", "99 %", "99.9 %", "max"];
    write!(f, "  {:<18}{:>9}", "", "count")?;
    for head in heads {
        write!(f, "{head:>11}")?;
    }
    writeln!(f)?;
    for (measure, times) in &level.latencies {
        row(*measure, times, f)?;
    }
    Ok(())
}

fn row(measure: Measure, times: &Latencies, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "  {:<18}{:>9}", measure.words(), times.count)?;
    for (_, ms) in times.percentiles() {
        write!(f, "{:>11}", time(ms))?;
    }
    writeln!(f)
}

/// Formats a time in the best unit.
pub(super) fn time(ms: f64) -> String {
    match ms {
        _ if ms < 10.0 => format!("{ms:.2} ms"),
        _ if ms < 100.0 => format!("{ms:.1} ms"),
        _ if ms < 10_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_their_unit_and_three_digits() {
        let shown = [0.004, 2.345_6, 23.456, 234.56, 23_456.0].map(time);
        assert_eq!(shown, ["0.00 ms", "2.35 ms", "23.5 ms", "235 ms", "23.5 s"]);
    }
}
