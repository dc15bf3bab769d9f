//! The retries of a hop, by kind of failure.

use super::problem::ErrorKind;
use crate::hash::fnv1a;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The policy for retries: one table by kind of failure, for an error by its status or in the stream, a connection that
/// fails or breaks, a silent model, an empty answer and a call that cannot be read. The app sees each retry as
/// [`RunEvent::Retrying`](crate::run::RunEvent::Retrying).
///
/// By default a hop is retried after [`RateLimit`](ErrorKind::RateLimit), [`Overloaded`](ErrorKind::Overloaded),
/// [`ServerError`](ErrorKind::ServerError), [`Connection`](ErrorKind::Connection) and [`Timeout`](ErrorKind::Timeout), up to
/// `attempts` times, the first included; after [`OutputInvalid`](ErrorKind::OutputInvalid) up to three times. A row of
/// `by_kind` changes that for a kind, or adds one.
///
/// A retry always begins from what the user has seen: a request is sent again only while nothing of its answer was shown, or
/// where the backend can resume the stream ([`Quirks::resumption`](crate::dialect::Quirks::resumption)). A row may say
/// otherwise for its kind ([`Retry::after_text`]): what was shown then stays, marked as cut, and the next hop asks for the
/// answer again, which is a message of its own. After an empty answer, and after calls whose arguments are no JSON, the next hop asks again and tells the model why. A typed answer that
/// does not fit is corrected in the conversation, as often as [`OutputType::retries`](crate::tool::OutputType::retries) says.
///
/// The attempts of all kinds together are limited, too: see [`RetryPolicy::max_attempts`].
///
/// ```
/// use std::time::Duration;
/// use stepwell_core::run::{ErrorKind, Retry, RetryPolicy};
///
/// let policy = RetryPolicy::default()
///     .with(Retry::after(ErrorKind::RateLimit).attempts(6).first_delay(Duration::from_secs(2)))
///     .with(Retry::after(ErrorKind::OutputInvalid).attempts(1));
/// assert_eq!(policy.attempts_after(ErrorKind::RateLimit), 6);
/// assert_eq!(policy.attempts_after(ErrorKind::OutputInvalid), 1);
/// assert_eq!(policy.attempts_after(ErrorKind::Overloaded), 4);
/// assert_eq!(policy.attempts_after(ErrorKind::Authentication), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct RetryPolicy {
    /// The maximum number of attempts for one hop, the first included. 0 counts as 1.
    pub attempts: u32,
    /// The pause after the first failure; it doubles with each further failure of the same kind.
    pub first_delay: Duration,
    /// The longest pause.
    pub max_delay: Duration,
    /// The longest `Retry-After` that the run waits for; the run fails if the provider asks for more.
    pub max_retry_after: Duration,
    /// The share by which a pause may be shorter or longer: 0.2 is a fifth.
    pub jitter: f64,
    /// The seed of the jitter, so that hosts differ. Equal seeds give equal pauses.
    pub seed: u64,
    /// The kinds of failure that have other numbers. If a kind has two rows, the last one counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_kind: Vec<Retry>,
    /// Whether an answer without text, a tool call or media is a success, for apps in which a tool is the answer. Otherwise
    /// it is retried as [`ErrorKind::OutputInvalid`], and then ends the turn as
    /// [`Incomplete::Empty`](crate::run::Incomplete::Empty). Reasoning alone is no answer. The run of an AG-UI agent never
    /// counts as empty, since the agent may do its work by state or events.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub accept_empty: bool,
}

/// The retries after one kind of failure: a row of [`RetryPolicy::by_kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Retry {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The maximum number of attempts for one hop, the first included: 1 for no retry. Without a number it is the policy's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The pause after the first failure of this kind. Without a time it is the policy's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_delay: Option<Duration>,
    /// Whether the answer is asked for again even after a part of it was shown. That part stays, marked as cut; the model is
    /// not sent it. An AG-UI agent is never asked again: it may have begun to work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_text: bool,
}

impl Retry {
    /// Creates a row with the policy's numbers.
    #[must_use]
    pub fn after(kind: ErrorKind) -> Self {
        Self {
            kind,
            attempts: None,
            first_delay: None,
            after_text: false,
        }
    }

    /// Asks for the answer again even after a part of it was shown.
    #[must_use]
    pub fn after_text(mut self) -> Self {
        self.after_text = true;
        self
    }

    /// Sets the maximum number of attempts, the first included.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// Sets the pause after the first failure.
    #[must_use]
    pub fn first_delay(mut self, delay: Duration) -> Self {
        self.first_delay = Some(delay);
        self
    }
}

/// The most attempts at an answer that is not empty and can be read. Each costs as much as a complete answer.
const OUTPUT_ATTEMPTS: u32 = 3;

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(8),
            max_retry_after: Duration::from_secs(120),
            jitter: 0.2,
            seed: 0,
            by_kind: Vec::new(),
            accept_empty: false,
        }
    }
}

/// A failed attempt of a hop, for [`RetryPolicy::next_try`].
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct FailedTry<'a> {
    /// The kind of failure.
    pub(in crate::run) kind: ErrorKind,
    /// The number of retries that the hop has had after failures of this kind.
    pub(in crate::run) after_kind: u32,
    /// The number of retries that the hop has had after any failure.
    pub(in crate::run) in_hop: u32,
    /// The wait that the provider asks for.
    pub(in crate::run) wanted: Option<Duration>,
    /// The turn, for the jitter.
    pub(in crate::run) turn: &'a str,
    /// The hop, for the jitter.
    pub(in crate::run) hop: u32,
}

impl RetryPolicy {
    /// Returns the policy with this row, instead of any other one of its kind.
    #[must_use]
    pub fn with(mut self, row: Retry) -> Self {
        self.by_kind.retain(|other| other.kind != row.kind);
        self.by_kind.push(row);
        self
    }

    /// Returns the maximum number of attempts for a hop that fails with this kind only, the first included: 1 if such a
    /// failure is not retried.
    #[must_use]
    pub fn attempts_after(&self, kind: ErrorKind) -> u32 {
        let row = self
            .row(kind)
            .map(|row| row.attempts.unwrap_or(self.attempts));
        let attempts = row.unwrap_or(match kind {
            ErrorKind::RateLimit
            | ErrorKind::Overloaded
            | ErrorKind::ServerError
            | ErrorKind::Connection
            | ErrorKind::Timeout => self.attempts,
            ErrorKind::OutputInvalid => self.attempts.min(OUTPUT_ATTEMPTS),
            _ => 1,
        });
        attempts.max(1)
    }

    /// Returns the maximum number of attempts for a hop whatever its failures are, the first included: the largest number of
    /// the table. Attempts by another model, or on another network, are counted apart.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        let rows = self.by_kind.iter().filter_map(|row| row.attempts);
        rows.chain([self.attempts, 1]).max().unwrap_or(1)
    }

    /// Returns the pause before the next attempt after this one; `None` if there is no next attempt. The pause is never
    /// shorter than the provider asks for.
    pub(in crate::run) fn next_try(&self, failed: FailedTry<'_>) -> Option<Duration> {
        let FailedTry {
            kind,
            after_kind,
            in_hop,
            wanted,
            ..
        } = failed;
        if after_kind.saturating_add(1) >= self.attempts_after(kind)
            || in_hop.saturating_add(1) >= self.max_attempts()
            || wanted.is_some_and(|wait| wait > self.max_retry_after)
        {
            return None;
        }
        let backoff = self.backoff(failed);
        Some(wanted.map_or(backoff, |wait| wait.max(backoff)))
    }

    /// Returns whether an answer is asked for again after such a failure even if a part of it was shown.
    #[must_use]
    pub fn retries_after_text(&self, kind: ErrorKind) -> bool {
        self.row(kind).is_some_and(|row| row.after_text)
    }

    fn row(&self, kind: ErrorKind) -> Option<&Retry> {
        self.by_kind.iter().rev().find(|row| row.kind == kind)
    }

    /// Returns the pause of the table, with its jitter.
    fn backoff(&self, failed: FailedTry<'_>) -> Duration {
        let row = self.row(failed.kind);
        let first = row.and_then(|row| row.first_delay);
        let doubled = first
            .unwrap_or(self.first_delay)
            .saturating_mul(1 << failed.after_kind.min(20));
        let pause = doubled.min(self.max_delay).as_secs_f64();
        let attempt = u64::from(failed.in_hop).saturating_add(1);
        let place = fnv1a(failed.turn.as_bytes()) ^ (u64::from(failed.hop) << 32);
        let mut state = self.seed ^ place ^ attempt;
        // SplitMix64: one step is enough to spread the bits.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let unit = f64::from(u32::try_from(state >> 32).unwrap_or(0)) / f64::from(u32::MAX);
        let factor = 1.0 + self.jitter.clamp(0.0, 1.0) * (2.0 * unit - 1.0);
        Duration::try_from_secs_f64(pause * factor).unwrap_or(self.max_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn failed(kind: ErrorKind, after_kind: u32, in_hop: u32) -> FailedTry<'static> {
        FailedTry {
            kind,
            after_kind,
            in_hop,
            wanted: None,
            turn: "turn",
            hop: 0,
        }
    }

    /// A hop that fails with this kind only: the number of its attempts.
    fn attempts(policy: &RetryPolicy, kind: ErrorKind) -> u32 {
        let failures = (0..20).take_while(|&n| policy.next_try(failed(kind, n, n)).is_some());
        1 + u32::try_from(failures.count()).unwrap()
    }

    #[test]
    fn the_default_table_has_every_kind() {
        let policy = RetryPolicy::default();
        for &kind in ErrorKind::ALL {
            let expected = match kind {
                ErrorKind::RateLimit
                | ErrorKind::Overloaded
                | ErrorKind::ServerError
                | ErrorKind::Connection
                | ErrorKind::Timeout => 4,
                ErrorKind::OutputInvalid => 3,
                _ => 1,
            };
            assert_eq!(policy.attempts_after(kind), expected, "{kind:?}");
            assert_eq!(attempts(&policy, kind), expected, "{kind:?}");
        }
        assert_eq!(policy.max_attempts(), 4);
    }

    #[test]
    fn one_attempt_is_no_retry_of_any_kind() {
        for most in [0, 1] {
            let policy = RetryPolicy {
                attempts: most,
                ..RetryPolicy::default()
            };
            let tried = ErrorKind::ALL.iter().map(|&kind| attempts(&policy, kind));
            assert!(tried.eq(ErrorKind::ALL.iter().map(|_| 1)));
        }
    }

    #[test]
    fn a_row_counts_for_its_kind_alone() {
        for &kind in ErrorKind::ALL {
            let policy = RetryPolicy::default().with(Retry::after(kind).attempts(9));
            let policy = policy.with(Retry::after(kind).attempts(7));
            assert_eq!(policy.by_kind.len(), 1);
            let default = RetryPolicy::default();
            for &other in ErrorKind::ALL {
                let expected = if other == kind {
                    7
                } else {
                    default.attempts_after(other)
                };
                assert_eq!(attempts(&policy, other), expected, "{kind:?}, {other:?}");
            }
            let policy = RetryPolicy::default().with(Retry::after(kind));
            assert_eq!(attempts(&policy, kind), 4, "the policy's number: {kind:?}");
        }
    }

    #[test]
    fn the_last_of_two_rows_counts() {
        let rows = [2, 3].map(|attempts| Retry::after(ErrorKind::Timeout).attempts(attempts));
        let policy = RetryPolicy {
            by_kind: rows.to_vec(),
            ..RetryPolicy::default()
        };
        assert_eq!(policy.attempts_after(ErrorKind::Timeout), 3);
    }

    #[test]
    fn pauses_double_by_kind_from_the_rows_first() {
        let long = Duration::from_secs(3);
        let policy = RetryPolicy {
            jitter: 0.0,
            ..RetryPolicy::default()
        };
        let policy = policy.with(Retry::after(ErrorKind::RateLimit).first_delay(long));
        let pause = |kind, after_kind| policy.next_try(failed(kind, after_kind, 2)).unwrap();
        assert_eq!(pause(ErrorKind::RateLimit, 0), long);
        assert_eq!(pause(ErrorKind::RateLimit, 1), 2 * long);
        assert_eq!(pause(ErrorKind::RateLimit, 2), policy.max_delay);
        assert_eq!(pause(ErrorKind::Connection, 0), policy.first_delay);
        assert_eq!(pause(ErrorKind::Connection, 2), 4 * policy.first_delay);
    }

    #[test]
    fn a_wait_is_as_long_in_every_replay() {
        let policy = RetryPolicy {
            seed: 7,
            ..RetryPolicy::default()
        };
        let pause = |turn, hop, in_hop| {
            let failed = FailedTry {
                turn,
                hop,
                in_hop,
                ..failed(ErrorKind::Connection, 1, 0)
            };
            policy.next_try(failed).unwrap().as_micros()
        };
        let pauses = [("a", 0, 0), ("b", 0, 0), ("a", 1, 0), ("a", 0, 1)];
        let pauses = pauses.map(|(turn, hop, in_hop)| pause(turn, hop, in_hop));
        assert_eq!(pauses, [1_041_980, 912_670, 1_026_621, 1_133_666]);
    }

    #[test]
    fn the_longest_wait_that_a_provider_may_ask_for_is_waited() {
        let policy = RetryPolicy::default();
        let after = |wanted| {
            let wanted = Some(wanted);
            policy.next_try(FailedTry {
                wanted,
                ..failed(ErrorKind::RateLimit, 0, 0)
            })
        };
        let longest = policy.max_retry_after;
        assert_eq!(after(longest), Some(longest));
        assert_eq!(after(longest + Duration::from_millis(1)), None);
    }

    fn policies() -> impl Strategy<Value = RetryPolicy> {
        let delay = || (0..20_000u64).prop_map(Duration::from_millis);
        let row = (
            proptest::sample::select(ErrorKind::ALL),
            proptest::option::of(0..9u32),
            proptest::option::of(delay()),
        );
        let row = row.prop_map(|(kind, attempts, first_delay)| Retry {
            kind,
            attempts,
            first_delay,
            after_text: false,
        });
        let rows = proptest::collection::vec(row, 0..5);
        (0..6u32, delay(), delay(), rows, 0.0..2.0f64, any::<u64>()).prop_map(
            |(attempts, first_delay, max_retry_after, by_kind, jitter, seed)| RetryPolicy {
                attempts,
                first_delay,
                max_retry_after,
                by_kind,
                jitter,
                seed,
                ..RetryPolicy::default()
            },
        )
    }

    proptest! {
        /// Whatever the failures of a hop are, and in whatever order: the table's numbers hold, for each kind and for all
        /// together, and no pause is shorter than the provider asks for.
        #[test]
        fn no_hop_makes_more_requests_than_the_table_allows(
            policy in policies(),
            failures in proptest::collection::vec(
                (proptest::sample::select(ErrorKind::ALL), proptest::option::of(0..30_000u64)),
                0..40,
            ),
        ) {
            let mut by_kind = std::collections::BTreeMap::<ErrorKind, u32>::new();
            let mut in_hop = 0;
            for (kind, wanted) in failures {
                let after_kind = by_kind.entry(kind).or_default();
                let wanted = wanted.map(Duration::from_millis);
                let failed = FailedTry { wanted, ..failed(kind, *after_kind, in_hop) };
                let Some(pause) = policy.next_try(failed) else {
                    let is_used_up = *after_kind + 1 == policy.attempts_after(kind)
                        || in_hop + 1 == policy.max_attempts();
                    prop_assert!(is_used_up || wanted > Some(policy.max_retry_after));
                    break;
                };
                prop_assert!(pause >= wanted.unwrap_or_default());
                *after_kind += 1;
                in_hop += 1;
                prop_assert!(*after_kind < policy.attempts_after(kind));
                prop_assert!(in_hop < policy.max_attempts());
            }
        }
    }
}
