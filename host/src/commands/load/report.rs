//! What was measured, as JSON has it: its form is in docs/guides/load.md.

use super::level::Done;
use super::statistics::{Latencies, Measure};
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of the form. It grows when something is taken away or means something else.
pub(super) const SCHEMA: u32 = 1;

/// What was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) schema: u32,
    /// The program that measured.
    pub(super) stepwell: &'static str,
    /// When it began, as RFC 3339 has it.
    pub(super) started_at: String,
    pub(super) url: String,
    pub(super) kind: Kind,
    pub(super) message: String,
    pub(super) followers: usize,
    pub(super) thread_turns: usize,
    /// The model that was played, if one was.
    pub(super) model: Option<PlayedModel>,
    /// The user stopped it: the last level is not whole.
    pub(super) interrupted: bool,
    pub(super) levels: Vec<Level>,
    pub(super) bend: Option<Bend>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Agent,
    Sessions,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct PlayedModel {
    pub(super) words_per_second: u32,
    pub(super) speaks_s: u32,
}

/// So many runs at once.
#[derive(Debug, Serialize)]
pub(super) struct Level {
    pub(super) runs_at_once: usize,
    /// Until the last turn was over.
    pub(super) duration_s: f64,
    pub(super) turns_ended: u64,
    pub(super) turns_failed: u64,
    pub(super) turns_unfinished: u64,
    pub(super) turns_per_s: f64,
    /// At all clients.
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

/// Where it bends.
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

/// To three places.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Users notice a delay from here on.
const NOTICED_MS: f64 = 100.0;

/// The first level at which turns fail that did not before, a run gets less than half of the turns of the first level's,
/// or 99 of 100 words (first events, without a model that says the time) come four times as late, and so that users
/// notice it.
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

    /// A level of ten seconds: turns that ended and failed, and how long each word was on its way.
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
    fn what_grows_with_its_runs_does_not_bend() {
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
    fn it_bends_at_the_first_level_where_runs_starve() {
        let levels = [
            level(1, 10, 0, 2),
            level(8, 60, 0, 2),
            level(16, 70, 0, 2),
            level(32, 70, 0, 2),
        ];
        assert_eq!(bends_at(&levels), Some(16));
    }

    #[test]
    fn it_bends_where_turns_begin_to_fail() {
        assert_eq!(bends_at(&[level(1, 10, 0, 2), level(8, 80, 1, 2)]), Some(8));
    }

    #[test]
    fn it_bends_where_words_come_so_late_that_users_notice() {
        assert_eq!(bends_at(&[level(1, 10, 0, 2), level(8, 80, 0, 99)]), None);
        assert_eq!(
            bends_at(&[level(1, 10, 0, 2), level(8, 80, 0, 150)]),
            Some(8)
        );
        assert_eq!(bends_at(&[level(1, 10, 0, 90), level(8, 80, 0, 150)]), None);
    }
}
