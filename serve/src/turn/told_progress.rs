//! The progress of running tools, in a log that is kept: of reports that come faster than the interval, only the last
//! is written.

use std::collections::BTreeMap;
use std::time::Duration;
use stepwell_core::ToolCallId;
use stepwell_core::event::Event;
use tokio::time::Instant;

/// The time between two reports of a call.
const INTERVAL: Duration = Duration::from_millis(500);

/// The progress reports of a turn's calls.
#[derive(Debug, Default)]
pub(crate) struct ToldProgress {
    calls: BTreeMap<ToolCallId, Vec<Report>>,
}

/// Reports of one kind.
#[derive(Debug)]
struct Report {
    name: String,
    /// When the next report may be sent.
    until: Instant,
    waiting: Option<Event>,
}

impl ToldProgress {
    /// Returns the report to send now: nothing, if the call has just sent one of the kind.
    pub(crate) fn say(&mut self, call: ToolCallId, event: Event, now: Instant) -> Option<Event> {
        let Event::Custom(custom) = &event else {
            return Some(event);
        };
        let reports = self.calls.entry(call).or_default();
        let report = match reports
            .iter_mut()
            .position(|report| report.name == custom.name)
        {
            Some(place) => &mut reports[place],
            None => {
                reports.push(Report {
                    name: custom.name.clone(),
                    until: now,
                    waiting: None,
                });
                reports.last_mut()?
            }
        };
        if now < report.until {
            report.waiting = Some(event);
            return None;
        }
        report.until = now + INTERVAL;
        report.waiting = None;
        Some(event)
    }

    /// Returns when the next waiting report is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let reports = self.calls.values().flatten();
        let waiting = reports.filter(|report| report.waiting.is_some());
        waiting.map(|report| report.until).min()
    }

    /// Takes a report that has waited for long enough.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Event> {
        let mut reports = self.calls.values_mut().flatten();
        let report = reports.find(|report| report.waiting.is_some() && report.until <= now)?;
        report.until = now + INTERVAL;
        report.waiting.take()
    }

    /// Drops the waiting reports of a call that is over.
    pub(crate) fn end(&mut self, call: &ToolCallId) {
        self.calls.remove(call);
    }
}

#[cfg(test)]
mod tests {
    use super::{INTERVAL, ToldProgress};
    use crate::turn::ending::custom;
    use serde_json::json;
    use stepwell_core::ToolCallId;
    use stepwell_core::event::Event;
    use tokio::time::Instant;

    fn progress(message: &str) -> Event {
        custom("tool_progress", json!(message))
    }

    fn say(told: &mut ToldProgress, call: &str, message: &str, now: Instant) -> Option<Event> {
        told.say(ToolCallId::from(call), progress(message), now)
    }

    #[test]
    fn of_a_burst_of_reports_the_first_is_sent_now_and_the_last_later() {
        let now = Instant::now();
        let mut told = ToldProgress::default();
        assert!(say(&mut told, "a", "1", now).is_some());
        assert!(say(&mut told, "a", "2", now).is_none());
        assert!(say(&mut told, "a", "3", now).is_none());
        assert!(say(&mut told, "b", "1", now).is_some(), "a call of its own");
        assert_eq!(told.due(now), None);
        let later = now + INTERVAL;
        assert_eq!(told.deadline(), Some(later));
        assert_eq!(told.due(later), Some(progress("3")));
        assert_eq!((told.due(later), told.deadline()), (None, None));
    }

    #[test]
    fn reports_of_an_ended_call_are_dropped() {
        let now = Instant::now();
        let mut told = ToldProgress::default();
        say(&mut told, "a", "1", now);
        say(&mut told, "a", "2", now);
        told.end(&ToolCallId::from("a"));
        assert_eq!((told.deadline(), told.due(now + INTERVAL)), (None, None));
    }
}
