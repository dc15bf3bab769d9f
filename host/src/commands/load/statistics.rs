//! The measurements of a level: latencies, and the outcomes of its turns.

use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

/// The significant digits of a time, up to an hour.
const SIGNIFICANT_DIGITS: u8 = 3;
const MAX_TIME_US: u64 = 3_600_000_000;

/// A measured latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Measure {
    /// From the request to the response that a turn of a session has begun.
    Accepted,
    /// From the request to the first event.
    FirstEvent,
    /// From the request to the first word of an answer.
    FirstText,
    /// Between two arrivals of events at one client.
    BetweenArrivals,
    /// From the model's word to its arrival at a client.
    Delivery,
    /// From the request to the turn's last event.
    Turn,
    /// From a request to its refusal.
    Refused,
}

impl Measure {
    /// Returns its name for people.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::FirstEvent => "first event",
            Self::FirstText => "first text",
            Self::BetweenArrivals => "between arrivals",
            Self::Delivery => "delivery",
            Self::Turn => "turn",
            Self::Refused => "refused",
        }
    }
}

/// The latencies of one kind: their number and their percentiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Latencies {
    pub(super) count: u64,
    pub(super) p50_ms: f64,
    pub(super) p90_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) p99_9_ms: f64,
    pub(super) max_ms: f64,
}

impl Latencies {
    fn of(histogram: &Histogram<u64>) -> Self {
        let millis = |us: u64| us as f64 / 1e3;
        let at = |part| millis(histogram.value_at_quantile(part));
        Self {
            count: histogram.len(),
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p99_9_ms: at(0.999),
            max_ms: millis(histogram.max()),
        }
    }

    /// Returns the percentiles with their names.
    pub(super) fn percentiles(&self) -> [(&'static str, f64); 5] {
        [
            ("50 %", self.p50_ms),
            ("90 %", self.p90_ms),
            ("99 %", self.p99_ms),
            ("99.9 %", self.p99_9_ms),
            ("max", self.max_ms),
        ]
    }
}

/// The counters of a running level.
#[derive(Debug, Default)]
pub(super) struct Tally {
    histograms: BTreeMap<Measure, Histogram<u64>>,
    /// The turns that have ended.
    pub(super) ended: u64,
    /// The turns that the user interrupted.
    pub(super) unfinished: u64,
    /// The events that all clients received.
    pub(super) events: u64,
    failures: BTreeMap<String, u64>,
}

impl Tally {
    pub(super) fn record(&mut self, measure: Measure, time: Duration) {
        let histogram = match self.histograms.entry(measure) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                match Histogram::new_with_bounds(1, MAX_TIME_US, SIGNIFICANT_DIGITS) {
                    Ok(new) => place.insert(new),
                    // Of other bounds than these.
                    Err(_) => return,
                }
            }
        };
        // A longer time counts as an hour.
        histogram.saturating_record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    pub(super) fn fail(&mut self, reason: String) {
        *self.failures.entry(reason).or_default() += 1;
    }

    pub(super) fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    pub(super) fn latencies(&self) -> BTreeMap<Measure, Latencies> {
        let kinds = self.histograms.iter();
        kinds
            .map(|(measure, histogram)| (*measure, Latencies::of(histogram)))
            .collect()
    }

    /// Returns why turns failed, the most frequent reason first.
    pub(super) fn failures(&self) -> Vec<(&str, u64)> {
        let mut failures: Vec<_> = self
            .failures
            .iter()
            .map(|(reason, count)| (reason.as_str(), *count))
            .collect();
        failures.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: impl IntoIterator<Item = Duration>) -> Latencies {
        let mut tally = Tally::default();
        for time in times {
            tally.record(Measure::Turn, time);
        }
        tally.latencies()[&Measure::Turn]
    }

    /// Within the three digits that are kept.
    #[track_caller]
    fn assert_near(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() <= expected / 1_000.0,
            "{value} is not {expected}"
        );
    }

    #[test]
    fn percentiles_match_recorded_times() {
        let found = of((1..=10_000).rev().map(Duration::from_millis));
        assert_eq!(found.count, 10_000);
        assert_near(found.p50_ms, 5_000.0);
        assert_near(found.p90_ms, 9_000.0);
        assert_near(found.p99_ms, 9_900.0);
        assert_near(found.p99_9_ms, 9_990.0);
        assert_near(found.max_ms, 10_000.0);
    }

    #[test]
    fn one_time_of_a_thousand_is_in_the_maximum_and_in_no_percentile() {
        let fast = std::iter::repeat_n(Duration::from_micros(250), 999);
        let found = of(fast.chain([Duration::from_secs(7)]));
        assert_near(found.p99_9_ms, 0.25);
        assert_near(found.max_ms, 7_000.0);
    }

    #[test]
    fn times_out_of_range_are_counted() {
        let found = of([Duration::ZERO, Duration::from_secs(100_000)]);
        assert_eq!(found.count, 2);
        assert_near(found.max_ms, 3_600_000.0);
    }

    #[test]
    fn failures_are_counted_by_their_reason() {
        let mut tally = Tally::default();
        for reason in ["a", "b", "b"] {
            tally.fail(reason.to_owned());
        }
        assert_eq!(tally.failures(), [("b", 2), ("a", 1)]);
        assert_eq!(tally.failed(), 3);
        assert!(tally.latencies().is_empty());
    }
}
