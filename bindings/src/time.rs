//! Times, for which each language has its own types.

use serde::{Deserialize, Serialize};

/// A length of time, in whole milliseconds: `kotlin.time.Duration` in Kotlin, `Duration` in Swift, seconds in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(u64);

/// A point in time, in milliseconds since the epoch: `java.time.Instant` in Kotlin, `Date` in Swift, `datetime` in
/// Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Duration {
    /// Creates a duration of this number of milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the duration in milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

impl From<std::time::Duration> for Duration {
    fn from(time: std::time::Duration) -> Self {
        Self(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for std::time::Duration {
    fn from(time: Duration) -> Self {
        Self::from_millis(time.0)
    }
}

impl From<stepwell_core::Timestamp> for Timestamp {
    fn from(at: stepwell_core::Timestamp) -> Self {
        Self(at.0)
    }
}

impl From<Timestamp> for stepwell_core::Timestamp {
    fn from(at: Timestamp) -> Self {
        Self(at.0)
    }
}

impl Timestamp {
    /// Creates the time this number of milliseconds after the epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the time in milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

#[cfg(feature = "uniffi")]
uniffi::custom_type!(Duration, u64, {
    lower: |time| time.as_millis(),
    try_lift: |millis| Ok(Duration::from_millis(millis)),
});

#[cfg(feature = "uniffi")]
uniffi::custom_type!(Timestamp, u64, {
    lower: |at| at.as_millis(),
    try_lift: |millis| Ok(Timestamp::from_millis(millis)),
});
