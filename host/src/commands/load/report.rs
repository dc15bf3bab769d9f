//! The report, in the JSON format of docs/guides/load.md.

use super::level::Done;
use super::statistics::{Latencies, Measure};
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of the format. It is raised when a field is removed or changes its meaning.
pub(super) const SCHEMA: u32 = 1;

/// The results of all levels.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) schema: u32,
    /// The version of this program.
    pub(super) stepwell: &'static str,
    /// The start, as in RFC 3339.
    pub(super) started_at: String,
    pub(super) url: String,
    pub(super) kind: TargetKind,
    pub(super) message: String,
    pub(super) followers: usize,
    pub(super) thread_turns: usize,
    /// The model, if this program played it.
    pub(super) model: Option<PlayedModel>,
    /// Whether the user interrupted it: the last level is incomplete.
    pub(super) interrupted: bool,
    pub(super) levels: Vec<Level>,
    pub(super) bend: Option<Bend>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TargetKind {
    Agent,
    Sessions,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct PlayedModel {
    pub(super) words_per_second: u32,
    pub(super) speaks_s: u32,
}

/// The results with a number of concurrent runs.
#[derive(Debug, Serialize)]
pub(super) struct Level {
    pub(super) runs_at_once: usize,
    /// The time until the last turn had ended.
    pub(super) duration_s: f64,
    pub(super) turns_ended: u64,
    pub(super) turns_failed: u64,
    pub(super) turns_unfinished: u64,
    pub(super) turns_per_s: f64,
    /// The events that all clients received.
    pub(super) events: u64,
    pub(super) events_per_s: f64,
    pub(super) failures: Vec<FailureCount>,
    pub(super) latencies: BTreeMap<Measure, Latencies>,
}

#[derive(Debug, Serialize)]
pub(super) struct FailureCount {
    pub(super) reason: String,
    pub(super) count: u64,
}

/// The level at which the server degrades.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Bend {
    pub(super) runs_at_once: usize,
    pub(super) because: String,
}

impl Level {
    pub(super) fn of(runs_at_once: usize, done: &Done) -> Self {
        let tally = &done.tally;
        let duration_s = done.took.as_secs_f64();
        let per_second = |count: u64| rounded(count as f64 / duration_s.max(1e-6));
        let failures = tally.failures().into_iter();
        Self {
            runs_at_once,
            duration_s: rounded(duration_s),
            turns_ended: tally.ended,
            turns_failed: tally.failed(),
            turns_unfinished: tally.unfinished,
            turns_per_s: per_second(tally.ended),
            events: tally.events,
            events_per_s: per_second(tally.events),
            failures: failures
                .map(|(reason, count)| FailureCount {
                    reason: reason.to_owned(),
                    count,
                })
                .collect(),
            latencies: tally.latencies(),
        }
    }

    fn p99_ms(&self, measure: Measure) -> Option<f64> {
        self.latencies.get(&measure).map(|times| times.p99_ms)
    }
}

/// Rounds to three decimals.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// The shortest delay that users notice.
const NOTICED_MS: f64 = 100.0;

/// Returns the first level at which turns begin to fail, a run gets less than half of the turns of the first level's, or
/// 99 of 100 words (first events, if this program did not play the model) are four times as late and users notice.
pub(super) fn bend(levels: &[Level]) -> Option<Bend> {
    let (first, others) = levels.split_first()?;
    let is_delivery = first.latencies.contains_key(&Measure::Delivery);
    let late = if is_delivery {
        Measure::Delivery
    } else {
        Measure::FirstEvent
    };
    let of_a_run = |level: &Level| level.turns_per_s / level.runs_at_once as f64;
    others.iter().find_map(|level| {
        let mut because = Vec::new();
        if level.turns_failed > 0 && first.turns_failed == 0 {
            because.push(format!("{} turns failed", level.turns_failed));
        }
        let part = of_a_run(level) / of_a_run(first);
        if part < 0.5 {
            because.push(format!(
                "a run has {part:.2} of the turns that it has at {}",
                first.runs_at_once
            ));
        }
        if let (Some(before), Some(now)) = (first.p99_ms(late), level.p99_ms(late))
            && now > 4.0 * before
            && now > NOTICED_MS
        {
            because.push(format!(
                "99 % of `{}` take up to {now:.0} ms, where they took {before:.1}",
                late.words()
            ));
        }
        (!because.is_empty()).then(|| Bend {
            runs_at_once: level.runs_at_once,
            because: because.join("; "),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Tally;
    use super::*;
    use std::time::Duration;

    /// Returns a level of ten seconds with these ended and failed turns, and this delay of each word.
    fn level(at_once: usize, ended: u64, failed: usize, delay_ms: u64) -> Level {
        let mut tally = Tally::default();
        (tally.ended, tally.events) = (ended, ended * 5);
        for _ in 0..failed {
            tally.fail("503 too_many_runs".to_owned());
        }
        tally.record(Measure::Delivery, Duration::from_millis(delay_ms));
        let took = Duration::from_secs(10);
        let threads = Vec::new();
        Level::of(
            at_once,
            &Done {
                tally,
                took,
                threads,
            },
        )
    }

    fn bends_at(levels: &[Level]) -> Option<usize> {
        bend(levels).map(|bend| bend.runs_at_once)
    }

    #[test]
    fn rates_are_those_of_the_whole_time() {
        let level = level(8, 400, 2, 1);
        assert!((level.turns_per_s - 40.0).abs() < 1e-9);
        assert!((level.events_per_s - 200.0).abs() < 1e-9);
        assert_eq!((level.turns_ended, level.turns_failed), (400, 2));
        assert_eq!(level.failures[0].count, 2);
    }

    #[test]
    fn proportional_growth_is_no_bend() {
        assert_eq!(
            bends_at(&[
                level(1, 10, 0, 2),
                level(8, 80, 0, 3),
                level(64, 600, 0, 90)
            ]),
            None
        );
        assert_eq!(bends_at(&[level(8, 80, 0, 3)]), None);
        assert_eq!(bends_at(&[]), None);
    }

    #[test]
    fn bends_where_runs_starve() {
        let levels = [
            level(1, 10, 0, 2),
            level(8, 60, 0, 2),
            level(16, 70, 0, 2),
            level(32, 70, 0, 2),
        ];
        assert_eq!(bends_at(&levels), Some(16));
    }

    #[test]
    fn bends_where_turns_fail() {
        assert_eq!(bends_at(&[level(1, 10, 0, 2), level(8, 80, 1, 2)]), Some(8));
    }

    #[test]
    fn bends_where_words_are_late() {
        assert_eq!(bends_at(&[level(1, 10, 0, 2), level(8, 80, 0, 99)]), None);
        assert_eq!(
            bends_at(&[level(1, 10, 0, 2), level(8, 80, 0, 150)]),
            Some(8)
        );
        assert_eq!(bends_at(&[level(1, 10, 0, 90), level(8, 80, 0, 150)]), None);
    }
}
