#[cfg(feature = "model-check")]
mod canonical;

use crate::Timestamp;
use crate::run::protocol::TimerKey;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The time, and what is due when: all the clocks of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Clocks {
    now: Timestamp,
    deadlines: Deadlines,
    /// The time since which the clocks are paused: the app is in the background.
    paused_at: Option<Timestamp>,
    /// The rest of the turn's time while the user is asked.
    turn_left: Option<Duration>,
    /// Since when the turn's time runs; nothing while the user is asked.
    running_since: Option<Timestamp>,
}

impl Clocks {
    /// Checks that a run can have stored such clocks.
    ///
    /// # Errors
    /// No run writes that.
    pub(crate) fn check_stored(&self) -> Result<(), &'static str> {
        let is_past = |at: Option<Timestamp>| at.is_none_or(|at| at <= self.clock());
        if !self.deadlines.0.is_sorted_by(|one, other| one.0 < other.0) {
            return Err("timers out of order");
        }
        if self.clock() > self.now || !is_past(self.running_since) {
            return Err("a clock that was stopped in the future");
        }
        Ok(())
    }

    /// Takes the time; a step back is clamped.
    #[inline]
    pub(crate) fn tick(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }

    #[inline]
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// The time that deadlines are counted from; it does not advance while the clocks are paused.
    #[inline]
    fn clock(&self) -> Timestamp {
        self.paused_at.unwrap_or(self.now)
    }

    /// Starts a timer, unless it has no limit.
    #[inline]
    pub(crate) fn set(&mut self, key: TimerKey, after: Option<Duration>) {
        if let Some(after) = after {
            self.deadlines.set(key, self.clock().after(after));
        }
    }

    /// Starts a timer that runs even while the clocks are paused.
    pub(crate) fn set_from_now(&mut self, key: TimerKey, after: Option<Duration>) {
        if let Some(after) = after {
            self.deadlines.set(key, self.now.after(after));
        }
    }

    pub(crate) fn runs(&self, key: TimerKey) -> bool {
        self.deadline(key).is_some()
    }

    /// Returns when a timer is due, if it runs.
    pub(crate) fn deadline(&self, key: TimerKey) -> Option<Timestamp> {
        self.deadlines.deadline(key)
    }

    #[inline]
    pub(crate) fn stop(&mut self, key: TimerKey) {
        self.deadlines.stop(key);
    }

    pub(crate) fn stop_all(&mut self) {
        self.deadlines.stop_all();
    }

    /// Stops a timer, and returns the time that it had left.
    pub(crate) fn take(&mut self, key: TimerKey) -> Option<Duration> {
        let left = self.deadlines.deadline(key)?.since(self.clock());
        self.stop(key);
        Some(left)
    }

    /// Returns each deadline with its timer.
    pub(crate) fn timers(&self) -> impl Iterator<Item = (TimerKey, Timestamp)> + '_ {
        self.deadlines.0.iter().copied()
    }

    /// The next deadline that counts, and what it is for.
    pub(crate) fn next(&self) -> Option<(TimerKey, Timestamp)> {
        let is_paused = self.paused_at.is_some();
        self.deadlines
            .next(|key| !(is_paused && key.stops_in_background()))
    }

    /// Takes out the earliest timer that is due.
    pub(crate) fn take_due(&mut self) -> Option<TimerKey> {
        let (key, _) = self.next().filter(|&(_, at)| at <= self.now)?;
        self.stop(key);
        Some(key)
    }

    /// The app is in the background.
    pub(crate) fn pause(&mut self) {
        self.paused_at.get_or_insert(self.now);
    }

    /// The app is in the foreground again: the clocks run on.
    pub(crate) fn run_on(&mut self) {
        if let Some(paused_at) = self.paused_at.take() {
            let paused = self.now.since(paused_at);
            self.deadlines.shift(paused);
            self.running_since = self.running_since.map(|since| since.after(paused));
        }
    }

    /// The turn begins.
    pub(crate) fn begin_turn(&mut self, most: Option<Duration>) {
        self.set(TimerKey::Turn, most);
        self.running_since = Some(self.clock());
    }

    /// The user is asked: their time is not the turn's. How long the turn ran, since it last stood still.
    pub(crate) fn pause_turn(&mut self) -> Duration {
        if let Some(deadline) = self.deadlines.deadline(TimerKey::Turn) {
            self.turn_left = Some(deadline.since(self.clock()));
            self.stop(TimerKey::Turn);
        }
        let ran = self.running();
        self.running_since = None;
        ran
    }

    /// The user has answered: the turn's clock runs on with what was left.
    pub(crate) fn resume_turn(&mut self) {
        let left = self.turn_left.take();
        self.set(TimerKey::Turn, left);
        self.running_since.get_or_insert(self.clock());
    }

    /// Returns how long the turn has run since its clock was last stopped.
    pub(crate) fn running(&self) -> Duration {
        let running = self.running_since.map(|since| self.clock().since(since));
        running.unwrap_or_default()
    }
}

/// The deadlines of a run, one for each thing that has one, sorted by what they are for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Deadlines(Vec<(TimerKey, Timestamp)>);

impl Deadlines {
    fn set(&mut self, key: TimerKey, at: Timestamp) {
        match self.0.binary_search_by_key(&key, |timer| timer.0) {
            Ok(index) => self.0[index].1 = at,
            Err(index) => self.0.insert(index, (key, at)),
        }
    }

    fn deadline(&self, key: TimerKey) -> Option<Timestamp> {
        let index = self.0.binary_search_by_key(&key, |timer| timer.0).ok()?;
        Some(self.0[index].1)
    }

    fn stop(&mut self, key: TimerKey) {
        self.0.retain(|timer| timer.0 != key);
    }

    fn stop_all(&mut self) {
        self.0.clear();
    }

    /// The next deadline of those that count, and what it is for.
    fn next(&self, counts: impl Fn(TimerKey) -> bool) -> Option<(TimerKey, Timestamp)> {
        let counting = self.0.iter().copied().filter(|&(key, _)| counts(key));
        counting.min_by_key(|&(key, at)| (at, key))
    }

    /// The clocks that stood still run on.
    fn shift(&mut self, by: Duration) {
        for (_, at) in self
            .0
            .iter_mut()
            .filter(|timer| timer.0.stops_in_background())
        {
            *at = at.after(by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(second: u64) -> Timestamp {
        Timestamp(0).after(SECOND * u32::try_from(second).unwrap())
    }

    #[test]
    fn the_clocks_stand_still_in_the_background() {
        let mut clocks = Clocks::default();
        clocks.set(TimerKey::Silence, Some(SECOND * 10));
        clocks.set(TimerKey::Retry, None);
        assert!(!clocks.runs(TimerKey::Retry), "without an end");
        clocks.tick(at(4));
        clocks.pause();
        clocks.tick(at(20));
        assert_eq!(clocks.take_due(), None);
        clocks.run_on();
        assert_eq!(clocks.next(), Some((TimerKey::Silence, at(26))));
        clocks.tick(at(3));
        assert_eq!(clocks.now(), at(20), "a step back is clamped");
        clocks.tick(at(26));
        assert_eq!(clocks.take_due(), Some(TimerKey::Silence));
        assert_eq!(clocks.next(), None);
    }

    #[test]
    fn the_time_of_the_user_is_not_the_turns() {
        let mut clocks = Clocks::default();
        clocks.begin_turn(Some(SECOND * 10));
        clocks.tick(at(3));
        assert_eq!(clocks.pause_turn(), SECOND * 3);
        assert!(!clocks.runs(TimerKey::Turn));
        clocks.tick(at(100));
        assert_eq!(clocks.running(), Duration::ZERO);
        clocks.resume_turn();
        assert_eq!(clocks.next(), Some((TimerKey::Turn, at(107))));
        clocks.tick(at(102));
        assert_eq!(clocks.running(), SECOND * 2);
    }
}
